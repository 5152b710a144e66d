//! Certificate to bytes.

use crate::bytes::Writer;
use crate::certificate::{Certificate, Entry, Leaf, Proof, Split, Tree, Unit};
use crate::digest::sha256;

/// The first bytes of a certificate file: its name and version.
pub(crate) const MAGIC: &[u8; 8] = b"DCCERT1\n";

impl Certificate {
    /// The bytes of a certificate file. The last 32 are the SHA-256 of the others.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.raw(MAGIC);
        out.raw(&self.model);
        out.count(self.regions.len() as u64);
        for region in &self.regions {
            out.count(region.lower.len() as u64);
            for &end in region.lower.iter().chain(&region.upper) {
                out.double(end);
            }
        }
        out.count(self.entries.len() as u64);
        for entry in &self.entries {
            write_entry(&mut out, entry);
        }
        let seal = sha256(&out.0);
        out.raw(&seal);
        out.0
    }
}

fn write_entry(out: &mut Writer, entry: &Entry) {
    out.count(entry.requirement.len() as u64);
    out.raw(entry.requirement.as_bytes());
    for proofs in &entry.proofs {
        out.count(proofs.len() as u64);
        for proof in proofs {
            write_proof(out, proof);
        }
    }
}

fn write_unit(out: &mut Writer, unit: Unit) {
    out.count(unit.node.into());
    out.count(unit.element.into());
    out.count(unit.part.into());
}

fn write_proof(out: &mut Writer, proof: &Proof) {
    out.count(proof.len() as u64);
    for node in proof {
        match node {
            Tree::Leaf(leaf) => {
                out.byte(0);
                write_leaf(out, leaf);
            }
            Tree::Split(Split::Phase(unit)) => {
                out.byte(1);
                write_unit(out, *unit);
            }
            Tree::Split(Split::Input { element, at }) => {
                out.byte(2);
                out.count((*element).into());
                out.double(*at);
            }
            Tree::Corner => out.byte(3),
        }
    }
}

fn write_leaf(out: &mut Writer, leaf: &Leaf) {
    out.count(leaf.factors.len() as u64);
    for &(atom, factor) in &leaf.factors {
        out.count(atom.into());
        out.single(factor);
    }
    // Units in ascending order, so that most differ from the one before by little.
    out.count(leaf.slopes.len() as u64);
    let mut last = (0, 0);
    for &(unit, slope) in &leaf.slopes {
        let same = unit.node == last.0 && unit.element >= last.1;
        if same && unit.part == 0 && unit.element - last.1 < 127 {
            out.byte((unit.element - last.1) as u8);
        } else {
            out.byte(0x7f);
            write_unit(out, unit);
        }
        last = (unit.node, unit.element);
        out.byte(slope);
    }
    out.count(leaf.multipliers.len() as u64);
    for &multiplier in &leaf.multipliers {
        out.single(multiplier);
    }
}
