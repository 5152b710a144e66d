//! A certificate of steepness as bytes, and back.

use std::collections::BTreeSet;

use deepconcolic_geometry::Norm;
use deepconcolic_network::Network;

use crate::bytes::{Reader, Writer};
use crate::certificate::Unit;
use crate::decode::{self, region, text, unit, unsealed};
use crate::digest::sha256;
use crate::encode::{self, write_region, write_unit};
use crate::error::Rejection;
use crate::steepness::certificate::{Eliminated, SlopeCertificate, SlopeLeaf, SlopeTree};
use crate::steepness::subject::SlopeSubject;

/// The first bytes: name and version.
const MAGIC: &[u8; 8] = b"DCSLOPE1";

/// Kinds of nodes.
const MAGNITUDES: u8 = 0;
const SPLIT: u8 = 1;
const QUADRATIC: u8 = 2;
const MAGNITUDES_BY_FACTORS: u8 = 3;
const QUADRATIC_BY_FACTORS: u8 = 4;

impl SlopeCertificate {
    /// Whether some bytes begin as such a certificate does.
    pub fn begins(bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC)
    }

    /// The bytes of a file about a network. The last 32 are the SHA-256 of the others.
    pub fn to_bytes(&self, network: &Network) -> Vec<u8> {
        let mut out = Writer::default();
        let names = encode::Names::of(self.nodes(), network);
        out.raw(MAGIC);
        out.raw(&self.model);
        names.write(&mut out);
        write_region(&mut out, &self.region);
        let SlopeSubject {
            outputs,
            norm,
            widths,
        } = &self.subject;
        out.count(widths.len() as u64);
        for &width in widths {
            out.double(width);
        }
        out.count(outputs.len() as u64);
        for &output in outputs {
            out.count(output.into());
        }
        out.count(norm.name().len() as u64);
        out.raw(norm.name().as_bytes());
        out.double(self.bound);
        out.count(self.proofs.len() as u64);
        for proof in &self.proofs {
            out.count(proof.len() as u64);
            for node in proof {
                write_node(&mut out, node, &names);
            }
        }
        let seal = sha256(&out.0);
        out.raw(&seal);
        out.0
    }

    /// Reads a file about a network. Nothing is claimed about what it says; see [`super::check_slopes`].
    pub fn from_bytes(bytes: &[u8], network: &Network) -> Result<Self, Rejection> {
        let mut reader = Reader::new(unsealed(bytes)?);
        if reader.raw(MAGIC.len())? != MAGIC {
            return Err(Rejection::Format("it does not begin as one".into()));
        }
        let mut model = [0; 32];
        model.copy_from_slice(reader.raw(32)?);
        let names = decode::Names::read(&mut reader, network)?;
        let region = region(&mut reader)?;
        let widths = reader.length(8)?;
        let widths = (0..widths).map(|_| reader.double());
        let widths = widths.collect::<Result<_, _>>()?;
        let outputs = reader.length(1)?;
        let outputs = (0..outputs).map(|_| reader.index());
        let outputs = outputs.collect::<Result<_, _>>()?;
        let norm = Norm::from_name(text(&mut reader, "a norm")?)
            .ok_or_else(|| Rejection::Format("a norm that is not known".into()))?;
        let bound = reader.double()?;
        let proofs = reader.length(1)?;
        let proofs = (0..proofs).map(|_| {
            let nodes = reader.length(1)?;
            (0..nodes).map(|_| node(&mut reader, &names)).collect()
        });
        let certificate = Self {
            model,
            region,
            subject: SlopeSubject {
                outputs,
                norm,
                widths,
            },
            bound,
            proofs: proofs.collect::<Result<_, Rejection>>()?,
        };
        if reader.is_empty() {
            Ok(certificate)
        } else {
            Err(Rejection::Format("something follows its end".into()))
        }
    }

    /// The nodes that units are of.
    fn nodes(&self) -> BTreeSet<u32> {
        let mut nodes = BTreeSet::new();
        for node in self.proofs.iter().flatten() {
            match node {
                SlopeTree::Split(unit) => {
                    nodes.insert(unit.node);
                }
                SlopeTree::Leaf(SlopeLeaf::Quadratic { multipliers, .. }) => {
                    nodes.extend(multipliers.iter().map(|(unit, _)| unit.node));
                }
                SlopeTree::Leaf(SlopeLeaf::Magnitudes { .. }) => {}
            }
        }
        nodes
    }
}

fn write_node(out: &mut Writer, node: &SlopeTree, names: &encode::Names<'_>) {
    match node {
        SlopeTree::Leaf(SlopeLeaf::Magnitudes { eliminated }) => {
            write_eliminated(out, [MAGNITUDES, MAGNITUDES_BY_FACTORS], eliminated);
        }
        SlopeTree::Split(unit) => {
            out.byte(SPLIT);
            write_unit(out, names.unit(*unit));
        }
        SlopeTree::Leaf(SlopeLeaf::Quadratic {
            eliminated,
            multipliers,
        }) => {
            write_eliminated(out, [QUADRATIC, QUADRATIC_BY_FACTORS], eliminated);
            out.count(multipliers.len() as u64);
            for &(unit, multiplier) in multipliers {
                write_unit(out, names.unit(unit));
                out.single(multiplier);
            }
        }
    }
}

/// The kind of a node, without and with factors, and what is eliminated.
fn write_eliminated(out: &mut Writer, kinds: [u8; 2], Eliminated { groups, factors }: &Eliminated) {
    out.byte(kinds[usize::from(!factors.is_empty())]);
    out.count((*groups).into());
    if !factors.is_empty() {
        out.count(factors.len() as u64);
        for &(group, factor) in factors {
            out.count(group.into());
            out.single(factor);
        }
    }
}

fn node(reader: &mut Reader<'_>, names: &decode::Names<'_>) -> Result<SlopeTree, Rejection> {
    let kind = reader.byte()?;
    let by_factors = matches!(kind, MAGNITUDES_BY_FACTORS | QUADRATIC_BY_FACTORS);
    match kind {
        MAGNITUDES | MAGNITUDES_BY_FACTORS => {
            let eliminated = eliminated(reader, by_factors)?;
            Ok(SlopeTree::Leaf(SlopeLeaf::Magnitudes { eliminated }))
        }
        SPLIT => Ok(SlopeTree::Split(names.unit(unit(reader)?))),
        QUADRATIC | QUADRATIC_BY_FACTORS => {
            let eliminated = eliminated(reader, by_factors)?;
            let count = reader.length(7)?;
            let multipliers = (0..count).map(|_| {
                let unit: Unit = names.unit(unit(reader)?);
                Ok((unit, reader.single()?))
            });
            let multipliers = multipliers.collect::<Result<_, Rejection>>()?;
            Ok(SlopeTree::Leaf(SlopeLeaf::Quadratic {
                eliminated,
                multipliers,
            }))
        }
        _ => Err(Rejection::Format("an unknown kind of node".into())),
    }
}

fn eliminated(reader: &mut Reader<'_>, by_factors: bool) -> Result<Eliminated, Rejection> {
    let groups = reader.index()?;
    let count = if by_factors { reader.length(5)? } else { 0 };
    let factors = (0..count).map(|_| Ok((reader.index()?, reader.single()?)));
    Ok(Eliminated {
        groups,
        factors: factors.collect::<Result<_, Rejection>>()?,
    })
}
