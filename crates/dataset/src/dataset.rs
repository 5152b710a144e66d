//! A set of samples with their labels, as stored; what a network makes of them is in `preparation`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::elements::Elements;
use crate::error::{DatasetError, array_place};
use crate::format::{self, OpenOptions};
use crate::preparation::Preparation;
use crate::samples::Samples;
use crate::shape::element_count;

/// Samples of equal shape, every value finite, with one label each or none at all.
///
/// Cloning is cheap: the values are shared.
#[derive(Debug, Clone)]
pub struct Dataset {
    source: PathBuf,
    array: Option<String>,
    shape: Vec<usize>,
    len: usize,
    elements: Arc<Elements>,
    labels: Option<Labels>,
    class_names: Option<Arc<[String]>>,
    feature_names: Option<Arc<[String]>>,
    unread: Arc<[String]>,
}

/// What is known of every sample.
#[derive(Debug, Clone)]
enum Labels {
    /// Its class.
    Classes(Arc<[i64]>),
    /// A quantity.
    Quantities(Arc<[f64]>),
}

impl Dataset {
    /// Reads the file or folder at `path`, in whichever format of [`formats::ALL`](crate::formats::ALL) recognises it.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use deepconcolic_dataset::{Dataset, OpenOptions};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("flowers.csv");
    /// std::fs::write(&path, "length,width,label\n5.1,3.5,setosa\n6.2,2.9,virginica\n")?;
    ///
    /// // The model takes two values, so the third column is the label.
    /// let options = OpenOptions { features: Some(2), ..OpenOptions::default() };
    /// let dataset = Dataset::open(&path, &options)?;
    /// assert_eq!(dataset.len(), 2);
    /// assert_eq!(dataset.labels(), Some(&[0, 1][..]));
    ///
    /// let samples = dataset.prepare(&[2], None)?;
    /// let mut input = [0.0; 2];
    /// samples.gather(&[1], &mut input);
    /// assert_eq!(input, [6.2, 2.9]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn open(path: &Path, options: &OpenOptions) -> Result<Self, DatasetError> {
        std::fs::metadata(path).map_err(DatasetError::reading(path))?;
        format::recognise(path)
            .ok_or_else(|| DatasetError::UnknownFormat {
                path: path.to_path_buf(),
                known: format::patterns(),
            })?
            .load(path, options)
    }

    /// A data set from values in memory: `shape` is that of one sample, `source` a name for messages.
    pub fn new(source: &Path, shape: &[usize], elements: Elements) -> Result<Self, DatasetError> {
        let features = element_count(shape).unwrap_or(0);
        if features == 0 || elements.is_empty() {
            return Err(DatasetError::Empty {
                path: source.to_path_buf(),
            });
        }
        if !elements.len().is_multiple_of(features) {
            return Err(DatasetError::malformed(
                source,
                format!(
                    "{} values are no whole number of samples of {features}",
                    elements.len()
                ),
            ));
        }
        if let Some((index, value)) = elements.first_not_finite() {
            return Err(DatasetError::NotFinite {
                path: source.to_path_buf(),
                sample: index / features,
                feature: index % features,
                value,
            });
        }
        Ok(Self {
            source: source.to_path_buf(),
            array: None,
            shape: shape.to_vec(),
            len: elements.len() / features,
            elements: Arc::new(elements),
            labels: None,
            class_names: None,
            feature_names: None,
            unread: Arc::default(),
        })
    }

    /// The same samples with a label each.
    pub fn with_labels(mut self, labels: Vec<i64>) -> Result<Self, DatasetError> {
        self.one_each(labels.len())?;
        self.labels = Some(Labels::Classes(labels.into()));
        Ok(self)
    }

    /// The same samples with a quantity each, as a regression has them.
    pub fn with_quantities(mut self, values: Vec<f64>) -> Result<Self, DatasetError> {
        self.one_each(values.len())?;
        if let Some(sample) = values.iter().position(|value| !value.is_finite()) {
            return Err(DatasetError::malformed(
                &self.source,
                format!(
                    "sample {sample} has the label {}; give a number, or remove the sample",
                    values[sample]
                ),
            ));
        }
        self.labels = Some(Labels::Quantities(values.into()));
        Ok(self)
    }

    fn one_each(&self, labels: usize) -> Result<(), DatasetError> {
        if labels == self.len {
            return Ok(());
        }
        Err(DatasetError::LabelCount {
            path: self.source.clone(),
            labels,
            samples: self.len,
        })
    }

    /// The same samples, with the name of class `i` at index `i`.
    #[must_use]
    pub fn with_class_names(mut self, names: Vec<String>) -> Self {
        self.class_names = Some(names.into());
        self
    }

    /// The same samples, with the name of value `i` of each at index `i`.
    #[must_use]
    pub fn with_feature_names(mut self, names: Vec<String>) -> Self {
        self.feature_names = Some(names.into());
        self
    }

    /// Remembers the arrays beside samples without labels that may be labels, and were not read.
    #[must_use]
    pub(crate) fn with_unread(mut self, names: Vec<String>) -> Self {
        self.unread = names.into();
        self
    }

    /// Remembers which array of an archive the samples are, for messages.
    #[must_use]
    pub(crate) fn with_array(mut self, name: &str) -> Self {
        self.array = Some(name.to_owned());
        self
    }

    /// Decides how the samples meet a model's input, whose shape is given without the batch axis.
    ///
    /// Values are divided by `scale`; without one, bytes by 255, floats not at all. How shapes are matched
    /// is told in [`Layout`](crate::Layout).
    pub fn prepare(
        &self,
        model_input_shape: &[usize],
        scale: Option<f32>,
    ) -> Result<Samples, DatasetError> {
        let preparation = Preparation::new(self, model_input_shape, scale)?;
        Ok(Samples::new(self.clone(), preparation, model_input_shape))
    }

    /// Number of samples; never zero.
    #[expect(
        clippy::len_without_is_empty,
        reason = "a data set without samples cannot be built"
    )]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Shape of one sample, as stored.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Number of values of one sample.
    pub fn features(&self) -> usize {
        self.elements.len() / self.len
    }

    /// All values, sample after sample, as stored.
    pub fn elements(&self) -> &Elements {
        &self.elements
    }

    /// The class of every sample, when the data have labels and these are integers.
    pub fn labels(&self) -> Option<&[i64]> {
        match &self.labels {
            Some(Labels::Classes(labels)) => Some(labels),
            Some(Labels::Quantities(_)) | None => None,
        }
    }

    /// The label of a sample as a number, when the data have labels.
    pub fn quantity(&self, index: usize) -> Option<f64> {
        match &self.labels {
            Some(Labels::Classes(labels)) => Some(labels[index] as f64),
            Some(Labels::Quantities(values)) => Some(values[index]),
            None => None,
        }
    }

    /// The name of every class, when the data name them; label `i` is the class at index `i`.
    pub fn class_names(&self) -> Option<&[String]> {
        self.class_names.as_deref()
    }

    /// The name of every value of a sample, when the data name them.
    pub fn feature_names(&self) -> Option<&[String]> {
        self.feature_names.as_deref()
    }

    /// Where there are no labels: arrays of the file that have one number a sample, and no name that labels have.
    pub fn unread(&self) -> &[String] {
        &self.unread
    }

    /// The path the data come from.
    pub fn source(&self) -> &Path {
        &self.source
    }

    /// The start of a message about these data: the path, and the array where there are several.
    pub(crate) fn place(&self) -> String {
        array_place(&self.source, self.array.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dataset(shape: &[usize], elements: Elements) -> Result<Dataset, DatasetError> {
        Dataset::new(Path::new("memory"), shape, elements)
    }

    #[test]
    fn values_that_are_not_finite_are_located() {
        let elements = Elements::F32(vec![0.0, 1.0, 2.0, f32::NAN].into());
        let message = dataset(&[2], elements).unwrap_err().to_string();
        assert!(message.contains("sample 1 holds NaN (value 1"), "{message}");
    }

    #[test]
    fn no_samples_is_an_error() {
        for shape in [&[2][..], &[0], &[]] {
            assert!(matches!(
                dataset(shape, Elements::U8(Vec::new().into())),
                Err(DatasetError::Empty { .. })
            ));
        }
    }

    #[test]
    fn labels_must_pair_with_samples() {
        let data = dataset(&[2], Elements::U8(vec![0; 6].into())).unwrap();
        assert_eq!(data.len(), 3);
        let message = data.with_labels(vec![1, 2]).unwrap_err().to_string();
        assert!(message.contains("2 labels for 3 samples"), "{message}");
    }

    #[test]
    fn a_label_may_be_a_quantity_but_not_nan() {
        let data = dataset(&[2], Elements::U8(vec![0; 4].into())).unwrap();
        let measured = data.clone().with_quantities(vec![0.5, 2.0]).unwrap();
        assert_eq!((measured.labels(), measured.quantity(0)), (None, Some(0.5)));
        let counted = data.clone().with_labels(vec![3, 4]).unwrap();
        assert_eq!(counted.quantity(1), Some(4.0));
        assert_eq!(data.quantity(0), None);
        let message = data.with_quantities(vec![0.5, f64::NAN]).unwrap_err();
        assert!(message.to_string().contains("sample 1 has the label NaN"));
    }

    #[test]
    fn a_path_that_is_not_there_is_answered_with_a_way_out() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("none.npz");
        let message = Dataset::open(&missing, &OpenOptions::default())
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("none.npz: there is no such file")
                && message.contains("; check the path"),
            "{message}"
        );
    }

    #[test]
    fn an_unknown_kind_of_file_lists_the_known_ones() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.xyz");
        std::fs::write(&path, "?").unwrap();
        let message = Dataset::open(&path, &OpenOptions::default())
            .unwrap_err()
            .to_string();
        assert!(
            message.contains(".npz") && message.contains(".csv"),
            "{message}"
        );
    }
}
