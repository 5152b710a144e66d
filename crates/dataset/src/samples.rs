//! Samples as a network takes them, converted when asked for.

use std::ops::Range;

use crate::dataset::Dataset;
use crate::elements::Elements;
use crate::layout::Order;
use crate::preparation::Preparation;
use crate::several::SamplePart;

/// A data set seen through a [`Preparation`]: in the model's layout and scale.
///
/// Cloning is cheap, and the bytes of an image set are never expanded to `f32` as a whole.
#[derive(Debug, Clone)]
pub struct Samples {
    dataset: Dataset,
    preparation: Preparation,
    shape: Vec<usize>,
    /// The inputs that a sample is made of, where there are several.
    parts: Vec<SamplePart>,
    /// The prepared value of every byte. A table gives the same bits as the division.
    bytes: Box<[f32; 256]>,
}

impl Samples {
    pub(crate) fn new(dataset: Dataset, preparation: Preparation, shape: &[usize]) -> Self {
        let divisor = preparation.divisor().unwrap_or(1.0);
        let bytes = Box::new(std::array::from_fn(|byte| byte as f32 / divisor));
        Self {
            dataset,
            preparation,
            shape: shape.to_vec(),
            parts: Vec::new(),
            bytes,
        }
    }

    /// The same samples, each made of these inputs, one after the other.
    #[must_use]
    pub fn with_parts(mut self, parts: Vec<SamplePart>) -> Self {
        self.parts = parts;
        self
    }

    /// The inputs that a sample is made of, where there are several.
    pub fn parts(&self) -> &[SamplePart] {
        &self.parts
    }

    /// Number of samples; never zero.
    #[expect(
        clippy::len_without_is_empty,
        reason = "a data set without samples cannot be built"
    )]
    pub fn len(&self) -> usize {
        self.dataset.len()
    }

    /// Number of values of one sample.
    pub fn features(&self) -> usize {
        self.dataset.features()
    }

    /// Shape of one sample: the model's, as given to [`Dataset::prepare`].
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The label of every sample, when the data have labels.
    pub fn labels(&self) -> Option<&[i64]> {
        self.dataset.labels()
    }

    /// The label of a sample as a number, when the data have labels.
    pub fn quantity(&self, index: usize) -> Option<f64> {
        self.dataset.quantity(index)
    }

    /// The data as stored.
    pub fn dataset(&self) -> &Dataset {
        &self.dataset
    }

    /// What was decided about layout and scale.
    pub fn preparation(&self) -> &Preparation {
        &self.preparation
    }

    /// The layout decision in words.
    pub fn layout(&self) -> &str {
        self.preparation.layout().description()
    }

    /// Writes the samples of `range`, one after another.
    ///
    /// # Panics
    /// If the range goes past the last sample, or `out` is not `features()` values for each.
    pub fn fill(&self, range: Range<usize>, out: &mut [f32]) {
        self.write(range, out);
    }

    /// Writes the samples at `indices`, one after another.
    ///
    /// # Panics
    /// If an index is past the last sample, or `out` is not `features()` values for each.
    pub fn gather(&self, indices: &[usize], out: &mut [f32]) {
        self.write(indices.iter().copied(), out);
    }

    /// One sample on its own.
    ///
    /// # Panics
    /// If there is no such sample.
    pub fn sample(&self, index: usize) -> Vec<f32> {
        let mut values = vec![0.0; self.features()];
        self.gather(&[index], &mut values);
        values
    }

    /// The smallest and the largest value of every feature, over all samples.
    pub fn observed_range(&self) -> (Vec<f32>, Vec<f32>) {
        let mut low = self.sample(0);
        let mut high = low.clone();
        let mut values = vec![0.0; self.features()];
        for index in 1..self.len() {
            self.gather(&[index], &mut values);
            for ((low, high), &value) in low.iter_mut().zip(&mut high).zip(&values) {
                *low = low.min(value);
                *high = high.max(value);
            }
        }
        (low, high)
    }

    /// Whether the samples are images rather than rows of a table: bytes, or two axes longer than 1 in the
    /// data or in the model's input.
    pub fn is_image(&self) -> bool {
        if !self.parts.is_empty() {
            return self.parts.iter().all(|part| part.image);
        }
        let has_two_axes = |shape: &[usize]| shape.iter().filter(|&&size| size > 1).count() >= 2;
        matches!(self.dataset.elements(), Elements::U8(_))
            || has_two_axes(self.dataset.shape())
            || has_two_axes(&self.shape)
    }

    fn write(&self, indices: impl ExactSizeIterator<Item = usize>, out: &mut [f32]) {
        let features = self.features();
        assert_eq!(
            out.len(),
            indices.len() * features,
            "room for {} samples of {features} values",
            indices.len()
        );
        for (index, out) in indices.zip(out.chunks_exact_mut(features)) {
            let stored = index * features..(index + 1) * features;
            match self.dataset.elements() {
                Elements::U8(values) => {
                    self.arrange(&values[stored], out, |byte| self.bytes[usize::from(byte)]);
                }
                Elements::F32(values) => match self.preparation.divisor() {
                    Some(divisor) => self.arrange(&values[stored], out, |value| value / divisor),
                    None => self.arrange(&values[stored], out, |value| value),
                },
            }
        }
    }

    /// Puts one stored sample in the model's order.
    fn arrange<T: Copy>(&self, stored: &[T], out: &mut [f32], convert: impl Fn(T) -> f32) {
        match self.preparation.layout().order() {
            Order::Same => {
                for (out, &value) in out.iter_mut().zip(stored) {
                    *out = convert(value);
                }
            }
            Order::Transposed { rows, columns } => {
                for (row, values) in stored.chunks_exact(columns).enumerate() {
                    for (column, &value) in values.iter().enumerate() {
                        out[column * rows + row] = convert(value);
                    }
                }
            }
        }
    }
}

// Batches are prepared on many threads; a data set that stopped being `Sync` would break every caller.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Samples>();
};

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "conversions are exact")]
mod tests {
    use super::*;
    use std::path::Path;

    fn samples(shape: &[usize], elements: Elements, model: &[usize]) -> Samples {
        Dataset::new(Path::new("memory"), shape, elements)
            .unwrap()
            .prepare(model, None)
            .unwrap()
    }

    #[test]
    fn every_byte_is_divided_exactly() {
        let samples = samples(&[256], Elements::U8((0..=255).collect()), &[256]);
        for (byte, value) in (0_u8..=255).zip(samples.sample(0)) {
            assert_eq!(value.to_bits(), (f32::from(byte) / 255.0).to_bits());
        }
    }

    #[test]
    fn channels_last_become_channels_first_and_back() {
        // Two pixels of (red, green, blue), twice.
        let last: Vec<f32> = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
            .map(|v| v as f32)
            .into();
        let first: Vec<f32> = [1, 4, 2, 5, 3, 6, 7, 10, 8, 11, 9, 12]
            .map(|v| v as f32)
            .into();
        let mut out = vec![0.0; 12];
        samples(&[1, 2, 3], Elements::F32(last.clone().into()), &[3, 1, 2]).fill(0..2, &mut out);
        assert_eq!(out, first);
        samples(&[3, 1, 2], Elements::F32(first.into()), &[1, 2, 3]).fill(0..2, &mut out);
        assert_eq!(out, last);
    }

    #[test]
    fn gather_takes_any_order_with_repetition() {
        let samples = samples(
            &[2],
            Elements::F32(vec![0.0, 1.0, 2.0, 3.0].into()),
            &[1, 2],
        );
        let mut out = [0.0; 6];
        samples.gather(&[1, 0, 1], &mut out);
        assert_eq!(out, [2.0, 3.0, 0.0, 1.0, 2.0, 3.0]);
    }

    #[test]
    fn the_observed_range_is_per_feature() {
        let samples = samples(&[2], Elements::F32(vec![0.0, 9.0, -2.0, 3.0].into()), &[2]);
        let (low, high) = samples.observed_range();
        assert_eq!((low, high), (vec![-2.0, 3.0], vec![0.0, 9.0]));
    }

    #[test]
    fn images_are_told_from_tables() {
        let floats = |count| Elements::F32(vec![0.0; count].into());
        assert!(samples(&[4], Elements::U8(vec![0; 4].into()), &[4]).is_image());
        assert!(samples(&[2, 2], floats(4), &[4]).is_image());
        assert!(samples(&[4], floats(4), &[1, 2, 2]).is_image());
        assert!(!samples(&[1, 4, 1], floats(4), &[4]).is_image());
    }

    #[test]
    #[should_panic(expected = "room for 2 samples")]
    fn a_wrong_output_size_is_the_callers_bug() {
        samples(&[2], Elements::U8(vec![0; 4].into()), &[2]).fill(0..2, &mut [0.0; 3]);
    }
}
