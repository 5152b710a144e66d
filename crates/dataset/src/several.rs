//! Data for a model with several inputs: an archive with an array for each, by the names of the inputs.

use std::path::Path;

use crate::arrays::NpzReader;
use crate::dataset::Dataset;
use crate::elements::Elements;
use crate::error::DatasetError;
use crate::format::has_extension;
use crate::npz_labels::Labels;
use crate::samples::Samples;

/// One input of a model.
#[derive(Debug, Clone, Copy)]
pub struct ModelInput<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its shape, without the batch axis.
    pub shape: &'a [usize],
    /// Whether its elements are integers, which are never scaled.
    pub integer: bool,
}

/// One input within the samples of several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SamplePart {
    /// Its name.
    pub name: String,
    /// Number of values of it in a sample.
    pub features: usize,
    /// Whether it is an image rather than a row of a table.
    pub image: bool,
}

/// Most values that the arrays of one archive may become together.
const MAX_VALUES: usize = 1 << 28;

/// Whether the path is an archive that has an array of the name of every input.
pub fn has_arrays_of(path: &Path, inputs: &[ModelInput<'_>]) -> bool {
    let named = |archive: NpzReader| {
        let mut inputs = inputs.iter();
        inputs.all(|input| archive.names().any(|name| name == input.name))
    };
    has_extension(path, &["npz"]) && NpzReader::open(path).is_ok_and(named)
}

impl Samples {
    /// The samples of an archive with an array for each input: one vector each, the inputs one after the other. Of
    /// one input alone, its array.
    pub fn of_inputs(
        path: &Path,
        inputs: &[ModelInput<'_>],
        scale: Option<f32>,
        limit: Option<usize>,
    ) -> Result<Self, DatasetError> {
        let names: Vec<&str> = inputs.iter().map(|input| input.name).collect();
        if !has_extension(path, &["npz"]) {
            return Err(DatasetError::malformed(
                path,
                format!(
                    "the model has {} inputs that are tested; give an .npz archive with an array for each ({}), or \
                     fix some with --fix-input",
                    names.len(),
                    names.join(", ")
                ),
            ));
        }
        let mut archive = NpzReader::open(path)?;
        if let Some(missing) = inputs.iter().find(|i| archive.shape(i.name).is_none()) {
            return Err(DatasetError::malformed(
                path,
                format!(
                    "no array of numbers \"{}\"; found {}; give an array for each input that is tested ({})",
                    missing.name,
                    archive.listing(),
                    names.join(", ")
                ),
            ));
        }
        let labels = Labels::beside(&mut archive, path, &names)?;
        let declared = inputs.first().and_then(|input| archive.samples(input.name));
        let mut arrays = Vec::new();
        for input in inputs {
            let (shape, elements) =
                archive.with_source(input.name, |source| Elements::read(source, limit))?;
            let dataset = Dataset::new(path, &shape, elements)?.with_array(input.name);
            let scale = if input.integer { Some(1.0) } else { scale };
            arrays.push(dataset.prepare(input.shape, scale)?);
        }
        let (samples, scale) = match arrays.as_slice() {
            [only] => (only.clone(), only.preparation().divisor()),
            _ => (joined(path, inputs, &arrays)?, None),
        };
        let dataset = labels.give(samples.dataset().clone(), declared)?;
        let labelled = dataset.prepare(samples.shape(), scale)?;
        Ok(labelled.with_parts(samples.parts().to_vec()))
    }
}

/// One vector a sample.
fn joined(
    path: &Path,
    inputs: &[ModelInput<'_>],
    arrays: &[Samples],
) -> Result<Samples, DatasetError> {
    let count = arrays.first().map_or(0, Samples::len);
    for (input, array) in inputs.iter().zip(arrays) {
        if array.len() != count {
            return Err(DatasetError::malformed(
                path,
                format!(
                    "the array \"{}\" has {} samples, and \"{}\" has {count}; give as many of each",
                    input.name,
                    array.len(),
                    inputs[0].name
                ),
            ));
        }
    }
    let total: usize = arrays.iter().map(Samples::features).sum();
    if count.saturating_mul(total) > MAX_VALUES {
        return Err(DatasetError::malformed(
            path,
            format!("{count} samples of {total} values are too many; use fewer with --limit"),
        ));
    }
    let mut values = vec![0.0; count * total];
    for (index, mut sample) in values.chunks_exact_mut(total.max(1)).enumerate() {
        for array in arrays {
            let (part, rest) = sample.split_at_mut(array.features());
            array.gather(&[index], part);
            sample = rest;
        }
    }
    let parts = inputs.iter().zip(arrays).map(|(input, array)| SamplePart {
        name: input.name.to_owned(),
        features: array.features(),
        image: is_image(array) && !input.integer,
    });
    let dataset = Dataset::new(path, &[total], Elements::F32(values.into()))?;
    let samples = dataset.prepare(&[total], None)?;
    Ok(samples.with_parts(parts.collect()))
}

/// One of several inputs may be any tensor; that it is an image is said by its values too.
fn is_image(samples: &Samples) -> bool {
    let (low, high) = samples.observed_range();
    samples.is_image() && low.iter().all(|&x| x >= 0.0) && high.iter().all(|&x| x <= 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::NpzWriter;

    const INPUTS: [ModelInput<'static>; 2] = [
        ModelInput {
            name: "image",
            shape: &[1, 2, 2],
            integer: false,
        },
        ModelInput {
            name: "y",
            shape: &[],
            integer: true,
        },
    ];

    fn archive(fill: impl FnOnce(&mut NpzWriter)) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.npz");
        let mut writer = NpzWriter::create(&path).unwrap();
        fill(&mut writer);
        writer.finish().unwrap();
        (folder, path)
    }

    #[test]
    fn arrays_of_the_inputs_become_one_vector_each() {
        let (_folder, path) = archive(|npz| {
            npz.add("y", &[2], &[7_i64, 9]).unwrap();
            npz.add("image", &[2, 2, 2], &[0_u8, 51, 102, 153, 204, 255, 0, 51])
                .unwrap();
            npz.add("labels", &[2], &[1_i64, 0]).unwrap();
        });
        assert!(has_arrays_of(&path, &INPUTS));
        let samples = Samples::of_inputs(&path, &INPUTS, None, None).unwrap();
        assert_eq!(samples.sample(1), [0.8, 1.0, 0.0, 0.2, 9.0]);
        assert_eq!(samples.labels(), Some(&[1, 0][..]));
        let images: Vec<bool> = samples.parts().iter().map(|part| part.image).collect();
        assert_eq!(images, [true, false]);
        let fewer = Samples::of_inputs(&path, &INPUTS, None, Some(1)).unwrap();
        assert_eq!((fewer.len(), fewer.labels()), (1, Some(&[1][..])));
    }

    #[test]
    fn one_named_array_is_as_if_it_were_alone() {
        let (_folder, path) = archive(|npz| {
            npz.add("other", &[1], &[0.0_f32]).unwrap();
            npz.add("image", &[1, 2, 2], &[0_u8, 51, 102, 153]).unwrap();
        });
        let samples = Samples::of_inputs(&path, &INPUTS[..1], None, None).unwrap();
        assert!(samples.is_image() && samples.parts().is_empty());
        assert_eq!(samples.sample(0), [0.0, 0.2, 0.4, 0.6]);
    }

    #[test]
    fn what_does_not_fit_is_told_by_name() {
        let (_folder, path) = archive(|npz| {
            npz.add("image", &[2, 2, 2], &[0_u8; 8]).unwrap();
            npz.add("y", &[3], &[0_i64; 3]).unwrap();
        });
        let message = |path: &Path, inputs| {
            let refused = Samples::of_inputs(path, inputs, None, None);
            refused.unwrap_err().to_string()
        };
        assert!(message(&path, &INPUTS).contains("\"y\" has 3 samples"));
        let absent = [ModelInput {
            name: "sound",
            ..INPUTS[0]
        }];
        assert!(message(&path, &absent).contains("\"sound\"; found \"image\""));
        assert!(message(Path::new("x.csv"), &INPUTS).contains("array for each (image, y)"));
    }
}
