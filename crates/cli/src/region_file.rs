//! `--region FILE`: boxes to search in, as arrays or by hand.

use std::path::Path;

use deepconcolic_dataset::arrays::NpzReader;
use serde::Deserialize;

use crate::exit::Failure;

/// A box: lowest and highest values.
pub type Box = (Vec<f32>, Vec<f32>);

/// What a region file is called in the folder of a run.
pub const NAMES: [&str; 2] = ["region.npz", "region.json"];

/// What a given region file is called in the folder of a run.
pub fn saved_name(given: &Path) -> &'static str {
    let is_json = given.extension().is_some_and(|e| e == "json");
    NAMES[usize::from(is_json)]
}

/// One side of a box in JSON.
#[derive(Deserialize)]
#[serde(untagged)]
enum Side {
    /// The same for every element.
    Uniform(f32),
    /// One number for each.
    PerElement(Vec<f32>),
}

impl Side {
    fn spread(self, elements: usize) -> Vec<f32> {
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
/// file (a list of `{"lower": number or list, "upper": number or list}`).
pub fn load(path: &Path, elements: usize) -> Result<Vec<Box>, Failure> {
    let refuse =
        |problem: String| Failure::Usage(format!("--region {}: {problem}", path.display()));
    let boxes = if path.extension().is_some_and(|e| e == "json") {
        let bytes = std::fs::read(path).map_err(|e| refuse(format!("cannot be read: {e}")))?;
        let written: Vec<Written> = serde_json::from_slice(&bytes).map_err(|e| {
            refuse(format!(
                "{e}; a list of {{\"lower\": ..., \"upper\": ...}} was expected"
            ))
        })?;
        let spread = |w: Written| (w.lower.spread(elements), w.upper.spread(elements));
        written.into_iter().map(spread).collect()
    } else {
        let mut file = NpzReader::open(path)?;
        let lower = file.read::<f32>("lower")?.values;
        let upper = file.read::<f32>("upper")?.values;
        if lower.len() != upper.len() || lower.len() % elements.max(1) != 0 {
            return Err(refuse(format!(
                "`lower` and `upper` must hold {elements} numbers a box"
            )));
        }
        let rows = |all: &[f32]| -> Vec<Vec<f32>> {
            all.chunks_exact(elements.max(1))
                .map(<[f32]>::to_vec)
                .collect()
        };
        rows(&lower)
            .into_iter()
            .zip(rows(&upper))
            .collect::<Vec<_>>()
    };
    if boxes.is_empty() {
        return Err(refuse("it holds no box".into()));
    }
    for (number, (lower, upper)) in boxes.iter().enumerate() {
        let sizes = lower.len() == elements && upper.len() == elements;
        if !sizes || !lower.iter().zip(upper).all(|(l, u)| l <= u) {
            return Err(refuse(format!(
                "box {number} must have {elements} lower and upper ends, no lower above its upper"
            )));
        }
    }
    Ok(boxes)
}
