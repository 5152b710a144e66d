//! `.npy`: one array whose first axis counts samples; it has no room for labels.

use std::path::Path;

use crate::arrays::ArraySource;
use crate::dataset::Dataset;
use crate::elements::Elements;
use crate::error::DatasetError;
use crate::format::{Format, OpenOptions, has_extension};

pub(super) struct Npy;

impl Format for Npy {
    fn name(&self) -> &'static str {
        "npy"
    }

    fn pattern(&self) -> &'static str {
        "a numpy array (.npy)"
    }

    fn recognises(&self, path: &Path) -> bool {
        has_extension(path, &["npy"])
    }

    fn load(&self, path: &Path, options: &OpenOptions) -> Result<Dataset, DatasetError> {
        let source = ArraySource::open(path)?;
        let (shape, elements) =
            Elements::read(source, options.limit).map_err(|problem| problem.in_file(path))?;
        Dataset::new(path, &shape, elements)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::write_npy;

    #[test]
    fn the_first_axis_counts_samples() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        write_npy(&path, &[3, 2, 1], &[1_i64, 2, 3, 4, 5, 6]).unwrap();
        let dataset = Npy.load(&path, &OpenOptions::default()).unwrap();
        assert_eq!((dataset.len(), dataset.shape()), (3, &[2, 1][..]));
        let expected = Elements::F32(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0].into());
        assert_eq!(dataset.elements(), &expected);
        assert_eq!(dataset.labels(), None);
    }

    #[test]
    fn the_limit_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        write_npy(&path, &[3], &[1_u8, 2, 3]).unwrap();
        let options = OpenOptions {
            limit: Some(2),
            ..OpenOptions::default()
        };
        let dataset = Npy.load(&path, &options).unwrap();
        assert_eq!(dataset.elements(), &Elements::U8(vec![1, 2].into()));
    }

    #[test]
    fn a_lone_number_is_no_data_set() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        write_npy(&path, &[], &[1.0_f32]).unwrap();
        assert!(Npy.load(&path, &OpenOptions::default()).is_err());
    }
}
