//! `--region FILE`: boxes to search in, as arrays or by hand.
//!
//! Ends are kept as they are written: tests are numbers of single precision between them, and proofs are
//! about all numbers between them. What a box has outside the domain is cut off.

use std::io::Write;
use std::path::Path;

use deepconcolic_dataset::arrays::NpzReader;
use deepconcolic_dataset::write::AtomicFile;
use deepconcolic_geometry::{Domain, Ends};
use deepconcolic_record::RunFolder;
use serde::Deserialize;

use crate::error::Error;

/// A box: lowest and highest values.
pub type Box = (Vec<f64>, Vec<f64>);

/// Boxes within the domain, and what the user should know of them.
pub struct RegionBoxes {
    pub boxes: Vec<Box>,
    pub notes: Vec<String>,
}

/// What a region file is called in the folder of a run.
pub const NAMES: [&str; 2] = ["region.npz", "region.json"];

/// What a given region file is called in the folder of a run.
pub fn saved_name(given: &Path) -> &'static str {
    let is_json = given.extension().is_some_and(|e| e == "json");
    NAMES[usize::from(is_json)]
}

/// Keeps a copy of a region file in the folder of a run; it is there whole or not at all.
pub fn keep(given: &Path, folder: &RunFolder) -> Result<(), Error> {
    let to = folder.file(saved_name(given));
    if to.exists() {
        return Ok(());
    }
    let bytes = std::fs::read(given)
        .map_err(|e| Error::Request(format!("{}: cannot be read: {e}", given.display())))?;
    let mut file = AtomicFile::create(&to)?;
    file.write_all(&bytes)
        .map_err(|e| Error::Request(format!("{}: cannot be written: {e}", to.display())))?;
    Ok(file.commit()?)
}

/// One side of a box in JSON.
#[derive(Deserialize)]
#[serde(untagged)]
enum Side {
    /// The same for every element.
    Uniform(f64),
    /// One number for each.
    PerElement(Vec<f64>),
}

impl Side {
    fn spread(self, elements: usize) -> Vec<f64> {
        match self {
            Self::Uniform(value) => vec![value; elements],
            Self::PerElement(values) => values,
        }
    }
}

#[derive(Deserialize)]
struct Written {
    lower: Side,
    upper: Side,
}

/// The boxes of an `.npz` file (`lower` and `upper`, a box a row, in the model's layout) or a `.json`
/// file (a list of `{"lower": number or list, "upper": number or list}`), within the domain.
pub fn load(path: &Path, domain: &Domain) -> Result<RegionBoxes, Error> {
    let refuse =
        |problem: String| Error::Request(format!("--region {}: {problem}", path.display()));
    let boxes = read(path, domain.lower().len(), &refuse)?;
    if boxes.is_empty() {
        return Err(refuse("it holds no box".into()));
    }
    let mut all = RegionBoxes {
        boxes: Vec::new(),
        notes: Vec::new(),
    };
    for (number, each) in boxes.into_iter().enumerate() {
        is_sound(number, &each, domain.lower().len()).map_err(&refuse)?;
        let cut = cut(number, each, domain, &mut all.notes).map_err(&refuse)?;
        all.boxes.push(with_floats(number, cut, &mut all.notes));
    }
    Ok(all)
}

fn read(path: &Path, elements: usize, refuse: &dyn Fn(String) -> Error) -> Result<Vec<Box>, Error> {
    if path.extension().is_some_and(|e| e == "json") {
        let bytes = std::fs::read(path).map_err(|e| refuse(format!("cannot be read: {e}")))?;
        let written: Vec<Written> = serde_json::from_slice(&bytes).map_err(|e| {
            refuse(format!(
                "{e}; a list of {{\"lower\": ..., \"upper\": ...}} was expected"
            ))
        })?;
        let spread = |w: Written| (w.lower.spread(elements), w.upper.spread(elements));
        return Ok(written.into_iter().map(spread).collect());
    }
    let mut file = NpzReader::open(path)?;
    let lower = file.read::<f64>("lower")?.values;
    let upper = file.read::<f64>("upper")?.values;
    let each = elements.max(1);
    if lower.len() != upper.len() || lower.len() % each != 0 {
        return Err(refuse(format!(
            "`lower` and `upper` must hold {elements} numbers a box"
        )));
    }
    let rows = lower.chunks_exact(each).zip(upper.chunks_exact(each));
    Ok(rows.map(|(l, u)| (l.to_vec(), u.to_vec())).collect())
}

/// What is wrong with a box, if anything is.
fn is_sound(number: usize, (lower, upper): &Box, elements: usize) -> Result<(), String> {
    if lower.len() != elements || upper.len() != elements {
        return Err(format!(
            "box {number} has {} lower and {} upper ends; the model takes {elements} numbers",
            lower.len(),
            upper.len()
        ));
    }
    let ends = || lower.iter().zip(upper);
    match ends().position(|(l, u)| l.is_nan() || u.is_nan() || l > u) {
        None => Ok(()),
        Some(at) => Err(format!(
            "box {number} goes from {} to {} in element {at}; no lower above its upper end, and \
             numbers, were expected",
            lower[at], upper[at]
        )),
    }
}

/// What a box has in common with the domain.
fn cut(
    number: usize,
    (mut lower, mut upper): Box,
    domain: &Domain,
    notes: &mut Vec<String>,
) -> Result<Box, String> {
    let mut elements = 0;
    for at in 0..lower.len() {
        let ends = [domain.lower()[at], domain.upper()[at]].map(f64::from);
        if upper[at] < ends[0] || lower[at] > ends[1] {
            return Err(format!(
                "box {number} lies outside the domain: it goes from {} to {} in element {at}, the domain \
                 from {} to {}; give other boxes or --domain LO..HI",
                lower[at], upper[at], ends[0], ends[1]
            ));
        }
        elements += usize::from(lower[at] < ends[0] || upper[at] > ends[1]);
        lower[at] = lower[at].max(ends[0]);
        upper[at] = upper[at].min(ends[1]);
    }
    if elements > 0 {
        notes.push(format!(
            "box {number} reaches beyond the domain in {elements} elements; what lies outside is left out"
        ));
    }
    Ok((lower, upper))
}

/// A box with a number of single precision in every element: where its ends have none between them, as
/// 0.1 and 0.1 have not, the nearest stands for them.
fn with_floats(number: usize, (mut lower, mut upper): Box, notes: &mut Vec<String>) -> Box {
    let Ends { low, high } = Ends::inward(&(lower.clone(), upper.clone()));
    let mut elements = 0;
    for at in (0..lower.len()).filter(|&at| low[at] > high[at]) {
        let nearest = f64::from((0.5 * lower[at] + 0.5 * upper[at]) as f32);
        lower[at] = lower[at].min(nearest);
        upper[at] = upper[at].max(nearest);
        elements += 1;
    }
    if elements > 0 {
        notes.push(format!(
            "box {number} has no number of single precision between its ends in {elements} elements; the \
             nearest to them is taken in"
        ));
    }
    (lower, upper)
}
