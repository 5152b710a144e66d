//! `neurons.npz`: the range of u that a suite shows of every neuron of the layers that were looked at.

use std::path::Path;

use deepconcolic_check::audit::SeenLayer;
use deepconcolic_dataset::arrays::NpzReader;
use deepconcolic_dataset::write::NpzWriter;

use crate::error::ArchiveError;
use crate::requirements::FIRST_HIDDEN;

/// The ranges of all layers that were looked at, in the order of the layers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NeuronRanges(pub Vec<SeenLayer>);

impl NeuronRanges {
    /// What was seen of a hidden layer, numbered from 0.
    pub fn of_layer(&self, layer: usize) -> Option<&SeenLayer> {
        self.0.iter().find(|seen| seen.layer == layer)
    }

    /// Writes them: the numbers of the layers as in requirement files, the neurons of each, and `low` and `high` of
    /// all neurons, one layer after the other.
    pub fn write(&self, path: &Path) -> Result<(), ArchiveError> {
        let layers = self.0.iter().map(|seen| (seen.layer + FIRST_HIDDEN) as i64);
        let layers: Vec<i64> = layers.collect();
        let neurons: Vec<i64> = self.0.iter().map(|seen| seen.low.len() as i64).collect();
        let ends = |of: fn(&SeenLayer) -> &Vec<f32>| -> Vec<f32> {
            self.0.iter().flat_map(of).copied().collect()
        };
        let (low, high) = (ends(|seen| &seen.low), ends(|seen| &seen.high));
        let mut file = NpzWriter::create(path)?;
        file.add("layer", &[layers.len()], &layers)?;
        file.add("neurons", &[neurons.len()], &neurons)?;
        file.add("low", &[low.len()], &low)?;
        file.add("high", &[high.len()], &high)?;
        Ok(file.finish()?)
    }

    /// Reads them back.
    pub fn read(path: &Path) -> Result<Self, ArchiveError> {
        let mut file = NpzReader::open(path)?;
        let layers: Vec<i64> = file.read("layer")?.values;
        let neurons: Vec<i64> = file.read("neurons")?.values;
        let low: Vec<f32> = file.read("low")?.values;
        let high: Vec<f32> = file.read("high")?.values;
        let parts = split(&layers, &neurons, &low, &high);
        parts.ok_or_else(|| ArchiveError::damaged(path, "its arrays do not fit each other"))
    }
}

/// The layers of the arrays, if these fit each other.
fn split(layers: &[i64], neurons: &[i64], low: &[f32], high: &[f32]) -> Option<NeuronRanges> {
    let mut seen = Vec::new();
    let mut first = 0_usize;
    for (&layer, &count) in layers.iter().zip(neurons) {
        let end = first.checked_add(usize::try_from(count).ok()?)?;
        seen.push(SeenLayer {
            layer: usize::try_from(layer).ok()?.checked_sub(FIRST_HIDDEN)?,
            low: low.get(first..end)?.to_vec(),
            high: high.get(first..end)?.to_vec(),
        });
        first = end;
    }
    let fits = layers.len() == neurons.len() && low.len() == first && high.len() == first;
    fits.then_some(NeuronRanges(seen))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_back_and_arrays_that_do_not_fit_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("neurons.npz");
        let layer = |layer, low: &[f32], high: &[f32]| SeenLayer {
            layer,
            low: low.to_vec(),
            high: high.to_vec(),
        };
        let ranges = NeuronRanges(vec![
            layer(0, &[-1.0, 0.5], &[2.0, 0.5]),
            layer(2, &[3.0], &[4.0]),
        ]);
        ranges.write(&path).unwrap();
        assert_eq!(NeuronRanges::read(&path).unwrap(), ranges);
        assert_eq!(ranges.of_layer(2).unwrap().high, [4.0]);
        assert!(ranges.of_layer(1).is_none());
        let (low, high) = ([0.0; 3], [1.0; 3]);
        assert!(split(&[2], &[3], &low, &high).is_some());
        for (layers, neurons) in [
            (&[2][..], &[4][..]),
            (&[2], &[2]),
            (&[2], &[-3]),
            (&[1], &[3]),
            (&[2, 3], &[3]),
            (&[2, 3], &[i64::MAX, 3]),
        ] {
            assert!(split(layers, neurons, &low, &high).is_none(), "{neurons:?}");
        }
        assert!(split(&[2], &[3], &low, &high[..2]).is_none());
    }
}
