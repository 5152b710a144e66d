//! `adversarial/`: the adversarial tests with their true labels, ready for retraining, and as pictures.

use std::fs;
use std::path::Path;

use deepconcolic_concolic::oracle::{Judgement, Verdict};
use deepconcolic_dataset::write::{NpzWriter, write_png};
use deepconcolic_spec::{Domain, ImageShape};

use crate::error::ArchiveError;
use crate::suite::SuiteTable;

/// Most pictures written; the arrays hold all tests.
const PICTURES: usize = 1000;

/// How an input becomes a picture.
#[derive(Clone, Copy, Debug)]
pub struct Picture<'a> {
    /// Its shape.
    pub shape: ImageShape,
    /// The range of its elements, which becomes 0 to 255.
    pub domain: &'a Domain,
}

impl Picture<'_> {
    fn bytes(&self, input: &[f32]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(input.len());
        for row in 0..self.shape.height {
            for column in 0..self.shape.width {
                for channel in 0..self.shape.channels() {
                    let element = self.shape.element(row, column, channel);
                    let (low, high) = (self.domain.lower()[element], self.domain.upper()[element]);
                    let part = (input[element] - low) / (high - low).max(f32::MIN_POSITIVE);
                    bytes.push((part * 255.0).round().clamp(0.0, 255.0) as u8);
                }
            }
        }
        bytes
    }
}

/// Writes the folder anew: `adversarial.npz` (x, y: true label, label: the network's, test: row of the
/// suite, reference, distance), and `test-label-as-label.png` for each where inputs are pictures.
/// Returns how many pictures were left out.
pub fn write_adversarial(
    folder: &Path,
    suite: &SuiteTable,
    judgements: &[Judgement],
    shape: &[usize],
    picture: Option<Picture<'_>>,
) -> Result<usize, ArchiveError> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(ArchiveError::io(folder, "replace"))?;
    }
    let chosen: Vec<usize> = (0..judgements.len())
        .filter(|&t| judgements[t].verdict == Verdict::Adversarial)
        .collect();
    if chosen.is_empty() {
        return Ok(0);
    }
    fs::create_dir_all(folder).map_err(ArchiveError::io(folder, "create"))?;
    let elements: usize = shape.iter().product();
    let input = |t: usize| &suite.x[t * elements..(t + 1) * elements];
    let count = chosen.len();
    let mut whole = vec![count];
    whole.extend(shape);
    let x: Vec<f32> = chosen.iter().flat_map(|&t| input(t)).copied().collect();
    let column =
        |value: &dyn Fn(usize) -> i64| chosen.iter().map(|&t| value(t)).collect::<Vec<_>>();
    let distances: Vec<f32> = chosen
        .iter()
        .map(|&t| judgements[t].distance as f32)
        .collect();
    let mut file = NpzWriter::create(&folder.join("adversarial.npz"))?;
    file.add("x", &whole, &x)?;
    file.add("y", &[count], &column(&|t| judgements[t].truth))?;
    file.add("label", &[count], &column(&|t| suite.label[t]))?;
    file.add("test", &[count], &column(&|t| t as i64))?;
    file.add("reference", &[count], &column(&|t| suite.reference[t]))?;
    file.add("distance", &[count], &distances)?;
    file.finish()?;
    let Some(picture) = picture.filter(|p| matches!(p.shape.channels(), 1 | 3 | 4)) else {
        return Ok(0);
    };
    for &t in chosen.iter().take(PICTURES) {
        let name = format!("{t:06}-{}-as-{}.png", judgements[t].truth, suite.label[t]);
        write_png(
            &folder.join(name),
            picture.shape.height,
            picture.shape.width,
            picture.shape.channels(),
            &picture.bytes(input(t)),
        )?;
    }
    Ok(count.saturating_sub(PICTURES))
}
