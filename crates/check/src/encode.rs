//! Certificate to bytes. Units are written as the model file has them, not as the network stores
//! them, so that a checker with a loader of its own can read them.

use std::collections::{BTreeMap, BTreeSet};

use deepconcolic_network::Network;

use crate::bytes::Writer;
use crate::certificate::{Certificate, Entry, Leaf, Proof, Split, Tree, Unit};
use crate::digest::sha256;

/// The first bytes of a certificate file: its name and version.
pub(crate) const MAGIC: &[u8; 8] = b"DCCERT2\n";

impl Certificate {
    /// The bytes of a certificate file about a network. The last 32 are the SHA-256 of the others.
    pub fn to_bytes(&self, network: &Network) -> Vec<u8> {
        let mut out = Writer::default();
        let names = Names::of(self, network);
        out.raw(MAGIC);
        out.raw(&self.model);
        names.write(&mut out);
        out.count(self.regions.len() as u64);
        for region in &self.regions {
            out.count(region.lower.len() as u64);
            for &end in region.lower.iter().chain(&region.upper) {
                out.double(end);
            }
        }
        out.count(self.entries.len() as u64);
        for entry in &self.entries {
            write_entry(&mut out, entry, &names);
        }
        let seal = sha256(&out.0);
        out.raw(&seal);
        out.0
    }
}

/// The nodes that units are of, as the model file names them.
struct Names<'a> {
    network: &'a Network,
    /// Node, and its place among those named.
    numbers: BTreeMap<u32, u32>,
}

impl<'a> Names<'a> {
    fn of(certificate: &Certificate, network: &'a Network) -> Self {
        let proofs = certificate.entries.iter().flat_map(|entry| &entry.proofs);
        let mut nodes = BTreeSet::new();
        for tree in proofs.flatten().flatten() {
            match tree {
                Tree::Split(Split::Phase(unit)) => {
                    nodes.insert(unit.node);
                }
                Tree::Leaf(leaf) => nodes.extend(leaf.slopes.iter().map(|(unit, _)| unit.node)),
                Tree::Split(Split::Input { .. }) | Tree::Corner => {}
            }
        }
        let numbers = nodes.into_iter().zip(0..).collect();
        Self { network, numbers }
    }

    fn write(&self, out: &mut Writer) {
        out.count(self.numbers.len() as u64);
        for &node in self.numbers.keys() {
            // A unit of no node says so on being read back.
            let known = (node as usize) < self.network.nodes();
            let name = if known {
                self.network.node_name(node as usize)
            } else {
                ""
            };
            out.count(name.len() as u64);
            out.raw(name.as_bytes());
        }
    }

    /// The unit as it is written: number of the name, element in the file's order, part.
    fn unit(&self, unit: Unit) -> Unit {
        let (node, stored) = (unit.node as usize, unit.element as usize);
        let known =
            node < self.network.nodes() && stored < self.network.node_shape(node).elements();
        let element = if known {
            self.network.node_file_index(node, stored) as u32
        } else {
            u32::MAX
        };
        Unit {
            node: self.numbers.get(&unit.node).copied().unwrap_or(u32::MAX),
            element,
            part: unit.part,
        }
    }
}

fn write_entry(out: &mut Writer, entry: &Entry, names: &Names<'_>) {
    out.count(entry.requirement.len() as u64);
    out.raw(entry.requirement.as_bytes());
    for proofs in &entry.proofs {
        out.count(proofs.len() as u64);
        for proof in proofs {
            write_proof(out, proof, names);
        }
    }
}

fn write_unit(out: &mut Writer, unit: Unit) {
    out.count(unit.node.into());
    out.count(unit.element.into());
    out.count(unit.part.into());
}

fn write_proof(out: &mut Writer, proof: &Proof, names: &Names<'_>) {
    out.count(proof.len() as u64);
    for node in proof {
        match node {
            Tree::Leaf(leaf) => {
                out.byte(0);
                write_leaf(out, leaf, names);
            }
            Tree::Split(Split::Phase(unit)) => {
                out.byte(1);
                write_unit(out, names.unit(*unit));
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

fn write_leaf(out: &mut Writer, leaf: &Leaf, names: &Names<'_>) {
    out.count(leaf.factors.len() as u64);
    for &(atom, factor) in &leaf.factors {
        out.count(atom.into());
        out.single(factor);
    }
    // Units in ascending order, so that most differ from the one before by little.
    out.count(leaf.slopes.len() as u64);
    let slopes = leaf.slopes.iter();
    let mut slopes: Vec<(Unit, u8)> = slopes.map(|&(unit, s)| (names.unit(unit), s)).collect();
    slopes.sort_by_key(|&(unit, _)| unit);
    let mut last = (0, 0);
    for (unit, slope) in slopes {
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
