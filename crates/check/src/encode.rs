//! Certificate to bytes. Units are written as the model file has them, not as the network stores
//! them, so that a checker with a loader of its own can read them.

use std::collections::{BTreeMap, BTreeSet};

use deepconcolic_language::Signature;
use deepconcolic_network::Network;

use crate::bytes::Writer;
use crate::certificate::{Certificate, Changes, Entry, Leaf, Proof, Region, Split, Tree, Unit};
use crate::digest::sha256;
use crate::question::{Case, cases};
use crate::verdict::parse;

/// The first bytes of a certificate file: its name and version.
pub(crate) const MAGIC: &[u8; 8] = b"DCCERT2\n";
/// Those of a certificate with regions that limit how many positions differ from a centre.
pub(crate) const MAGIC_OF_CHANGES: &[u8; 8] = b"DCCERT3\n";

impl Certificate {
    /// The bytes of a certificate file about a network. The last 32 are the SHA-256 of the others.
    pub fn to_bytes(&self, network: &Network) -> Vec<u8> {
        let mut out = Writer::default();
        let names = Names::in_certificate(self, network);
        let limited = self.counts_changes(network);
        out.raw(if limited { MAGIC_OF_CHANGES } else { MAGIC });
        out.raw(&self.model);
        names.write(&mut out);
        out.count(self.regions.len() as u64);
        for region in &self.regions {
            write_region(&mut out, region);
            if limited {
                write_changes(&mut out, region.changes.as_ref());
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

impl Certificate {
    /// Whether a region, a requirement or a split counts positions that differ.
    fn counts_changes(&self, network: &Network) -> bool {
        let mut nodes = self.entries.iter().flat_map(|entry| &entry.proofs);
        let is_split = |tree: &Tree| matches!(tree, Tree::Split(Split::Changes { .. }));
        self.regions.iter().any(|region| region.changes.is_some())
            || nodes.any(|proofs| proofs.iter().flatten().any(is_split))
            || self.limits_changes(network)
    }

    /// Whether some requirement keeps to inputs that differ little from one.
    fn limits_changes(&self, network: &Network) -> bool {
        // Most requirements count no conditions on inputs.
        let counts = |entry: &&Entry| {
            let text = &entry.requirement;
            text.contains("|{") && text.contains("][1,")
        };
        let Some(region) = self.regions.first() else {
            return false;
        };
        let signature = Signature::of(network);
        self.entries.iter().filter(counts).any(|entry| {
            let read = parse(&entry.requirement, &signature).ok();
            let cases = read.and_then(|r| cases(&r, network, region).ok());
            let limited = |case: &Case| case.region.changes.is_some();
            cases.is_some_and(|cases| cases.iter().any(limited))
        })
    }
}

/// The nodes that units are of, as the model file names them.
pub(crate) struct Names<'a> {
    network: &'a Network,
    /// Node, and its place among those named.
    numbers: BTreeMap<u32, u32>,
}

impl<'a> Names<'a> {
    fn in_certificate(certificate: &Certificate, network: &'a Network) -> Self {
        let proofs = certificate.entries.iter().flat_map(|entry| &entry.proofs);
        let mut nodes = BTreeSet::new();
        for tree in proofs.flatten().flatten() {
            match tree {
                Tree::Split(Split::Phase(unit)) => {
                    nodes.insert(unit.node);
                }
                Tree::Leaf(leaf) => nodes.extend(leaf.slopes.iter().map(|(unit, _)| unit.node)),
                Tree::Split(Split::Input { .. } | Split::Changes { .. })
                | Tree::Forward(_)
                | Tree::Corner => {}
            }
        }
        Self::of(nodes, network)
    }

    /// Numbers for some nodes.
    pub fn of(nodes: BTreeSet<u32>, network: &'a Network) -> Self {
        let numbers = nodes.into_iter().zip(0..).collect();
        Self { network, numbers }
    }

    pub fn write(&self, out: &mut Writer) {
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
    pub fn unit(&self, unit: Unit) -> Unit {
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

pub(crate) fn write_region(out: &mut Writer, region: &Region) {
    out.count(region.lower.len() as u64);
    for &end in region.lower.iter().chain(&region.upper) {
        out.double(end);
    }
}

fn write_changes(out: &mut Writer, changes: Option<&Changes>) {
    out.byte(u8::from(changes.is_some()));
    let Some(changes) = changes else {
        return;
    };
    out.count(changes.allowed.into());
    for &number in &changes.centre {
        out.double(number);
    }
    for &position in &*changes.positions {
        out.count(position.into());
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

pub(crate) fn write_unit(out: &mut Writer, unit: Unit) {
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
            Tree::Forward(factors) => {
                out.byte(5);
                write_factors(out, factors);
            }
            Tree::Corner => out.byte(3),
            Tree::Split(Split::Changes { positions, most }) => {
                out.byte(4);
                out.count((*most).into());
                out.count(positions.len() as u64);
                // Ascending: steps from one to the next are small.
                let mut last = 0u32;
                for &position in positions {
                    out.count(position.wrapping_sub(last).into());
                    last = position;
                }
            }
        }
    }
}

fn write_factors(out: &mut Writer, factors: &[(u32, f32)]) {
    out.count(factors.len() as u64);
    for &(atom, factor) in factors {
        out.count(atom.into());
        out.single(factor);
    }
}

fn write_leaf(out: &mut Writer, leaf: &Leaf, names: &Names<'_>) {
    write_factors(out, &leaf.factors);
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
