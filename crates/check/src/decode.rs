//! Bytes to certificate. Units come as the model file has them; what it does not have becomes a unit of
//! no node, which no proof can use.

use deepconcolic_network::Network;

use crate::bytes::Reader;
use crate::certificate::{Certificate, Changes, Entry, Leaf, Proof, Region, Split, Tree, Unit};
use crate::digest::sha256;
use crate::encode::{MAGIC, MAGIC_OF_CHANGES};
use crate::error::Rejection;

impl Certificate {
    /// Reads a certificate file about a network. Nothing is claimed about what it says; see
    /// [`crate::check`].
    pub fn from_bytes(bytes: &[u8], network: &Network) -> Result<Self, Rejection> {
        let mut reader = Reader::new(unsealed(bytes)?);
        let limited = match reader.raw(MAGIC.len())? {
            begin if begin == MAGIC => false,
            begin if begin == MAGIC_OF_CHANGES => true,
            b"DCCERT1\n" => {
                let reason =
                    "an earlier version of this program wrote it; make it again with this one";
                return Err(Rejection::Format(reason.into()));
            }
            _ => return Err(Rejection::Format("it does not begin as one".into())),
        };
        let mut certificate = Self::default();
        certificate.model.copy_from_slice(reader.raw(32)?);
        let names = Names::read(&mut reader, network)?;
        let regions = reader.length(1)?;
        for _ in 0..regions {
            let mut region = region(&mut reader)?;
            if limited {
                region.changes = changes(&mut reader, region.lower.len())?;
            }
            certificate.regions.push(region);
        }
        let entries = reader.length(1)?;
        for _ in 0..entries {
            certificate
                .entries
                .push(entry(&mut reader, regions, &names)?);
        }
        if reader.is_empty() {
            Ok(certificate)
        } else {
            Err(Rejection::Format("something follows its end".into()))
        }
    }
}

/// The bytes that a seal follows, if it fits them.
pub(crate) fn unsealed(bytes: &[u8]) -> Result<&[u8], Rejection> {
    let Some((content, seal)) = bytes.split_last_chunk::<32>() else {
        return Err(Rejection::Format("the file is too short".into()));
    };
    if sha256(content) != *seal {
        let reason = "its seal is broken: it was changed after it was written";
        return Err(Rejection::Format(reason.into()));
    }
    Ok(content)
}

pub(crate) fn region(reader: &mut Reader<'_>) -> Result<Region, Rejection> {
    let elements = reader.length(16)?;
    let mut ends =
        || -> Result<Vec<f64>, Rejection> { (0..elements).map(|_| reader.double()).collect() };
    let (lower, upper) = (ends()?, ends()?);
    Ok(Region {
        lower,
        upper,
        ..Region::default()
    })
}

/// A unit that no network has.
const NOWHERE: u32 = u32::MAX;

/// The nodes that a certificate speaks of, by the numbers it gives them.
pub(crate) struct Names<'a> {
    network: &'a Network,
    nodes: Vec<Option<usize>>,
}

impl<'a> Names<'a> {
    pub fn read(reader: &mut Reader<'_>, network: &'a Network) -> Result<Self, Rejection> {
        let count = reader.length(1)?;
        let nodes = (0..count).map(|_| Ok(network.node_named(text(reader, "a name")?)));
        let nodes = nodes.collect::<Result<_, Rejection>>()?;
        Ok(Self { network, nodes })
    }

    /// The unit as the network stores it.
    pub fn unit(&self, unit: Unit) -> Unit {
        let node = self.nodes.get(unit.node as usize).copied().flatten();
        let stored = node.and_then(|node| {
            let element = self.network.node_stored_index(node, unit.element as usize);
            Some((node as u32, element? as u32))
        });
        let (node, element) = stored.unwrap_or((NOWHERE, NOWHERE));
        Unit {
            node,
            element,
            part: unit.part,
        }
    }
}

pub(crate) fn text<'a>(reader: &mut Reader<'a>, what: &str) -> Result<&'a str, Rejection> {
    let length = reader.length(1)?;
    let text = std::str::from_utf8(reader.raw(length)?);
    text.map_err(|_| Rejection::Format(format!("{what} is not UTF-8")))
}

/// How inputs of a region of so many elements may differ from one of them. The elements were counted against
/// the bytes of the file already.
fn changes(reader: &mut Reader<'_>, elements: usize) -> Result<Option<Changes>, Rejection> {
    match reader.byte()? {
        0 => return Ok(None),
        1 => {}
        _ => return Err(Rejection::Format("an unknown kind of region".into())),
    }
    let allowed = reader.index()?;
    let centre = (0..elements).map(|_| reader.double());
    let centre = centre.collect::<Result<_, _>>()?;
    let positions = (0..elements).map(|_| reader.index());
    let positions = positions.collect::<Result<Vec<u32>, _>>()?;
    Ok(Some(Changes {
        centre,
        positions: positions.into(),
        allowed,
    }))
}

/// The positions of a split, each so much above the one before.
fn positions(reader: &mut Reader<'_>) -> Result<Vec<u32>, Rejection> {
    let count = reader.length(1)?;
    let mut last = 0u32;
    let positions = (0..count).map(|_| {
        let next = last.checked_add(reader.index()?);
        last = next.ok_or_else(|| Rejection::Format("an index is too large".into()))?;
        Ok(last)
    });
    positions.collect()
}

fn entry(reader: &mut Reader<'_>, regions: usize, names: &Names<'_>) -> Result<Entry, Rejection> {
    let text = text(reader, "a requirement")?;
    let mut proofs = Vec::new();
    for _ in 0..regions {
        let cases = reader.length(1)?;
        let each = (0..cases).map(|_| proof(reader, names));
        proofs.push(each.collect::<Result<_, _>>()?);
    }
    Ok(Entry {
        requirement: text.to_owned(),
        proofs,
    })
}

pub(crate) fn unit(reader: &mut Reader<'_>) -> Result<Unit, Rejection> {
    Ok(Unit {
        node: reader.index()?,
        element: reader.index()?,
        part: reader.index()?,
    })
}

fn proof(reader: &mut Reader<'_>, names: &Names<'_>) -> Result<Proof, Rejection> {
    let nodes = reader.length(1)?;
    (0..nodes)
        .map(|_| match reader.byte()? {
            0 => leaf(reader, names).map(Tree::Leaf),
            1 => Ok(Tree::Split(Split::Phase(names.unit(unit(reader)?)))),
            2 => Ok(Tree::Split(Split::Input {
                element: reader.index()?,
                at: reader.double()?,
            })),
            3 => Ok(Tree::Corner),
            4 => Ok(Tree::Split(Split::Changes {
                most: reader.index()?,
                positions: positions(reader)?,
            })),
            5 => factors(reader).map(Tree::Forward),
            _ => Err(Rejection::Format("an unknown kind of node".into())),
        })
        .collect()
}

/// Conditions, and what each is multiplied by.
fn factors(reader: &mut Reader<'_>) -> Result<Vec<(u32, f32)>, Rejection> {
    let count = reader.length(5)?;
    let factors = (0..count).map(|_| Ok((reader.index()?, reader.single()?)));
    factors.collect()
}

fn leaf(reader: &mut Reader<'_>, names: &Names<'_>) -> Result<Leaf, Rejection> {
    let factors = factors(reader)?;
    let count = reader.length(2)?;
    let mut slopes = Vec::with_capacity(count);
    let mut last = Unit {
        node: 0,
        element: 0,
        part: 0,
    };
    for _ in 0..count {
        let step = reader.byte()?;
        if step == 0x7f {
            last = unit(reader)?;
        } else {
            let next = last.element.checked_add(step.into());
            last.element = next.ok_or_else(|| Rejection::Format("an index is too large".into()))?;
            last.part = 0;
        }
        slopes.push((names.unit(last), reader.byte()?));
    }
    slopes.sort_by_key(|&(unit, _)| unit);
    let multipliers = reader.length(4)?;
    let multipliers = (0..multipliers).map(|_| reader.single());
    Ok(Leaf {
        factors,
        slopes,
        multipliers: multipliers.collect::<Result<_, _>>()?,
    })
}
