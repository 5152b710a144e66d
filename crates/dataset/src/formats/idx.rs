//! IDX, the format MNIST came in: a magic number, big-endian sizes, values; often gzipped. Labels are in a
//! file of their own, found by its name (`...images-idx3-ubyte` beside `...labels-idx1-ubyte`).

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use crate::arrays::{ArraySource, Dtype, Header, Scalar, inflated_at_most};
use crate::dataset::Dataset;
use crate::elements::Elements;
use crate::error::{ArrayError, DatasetError};
use crate::format::{Format, OpenOptions, has_extension};

pub(super) struct Idx;

impl Format for Idx {
    fn name(&self) -> &'static str {
        "idx"
    }

    fn pattern(&self) -> &'static str {
        "an IDX file (-ubyte, .idx, also .gz)"
    }

    fn recognises(&self, path: &Path) -> bool {
        let name = match path.file_name().and_then(|name| name.to_str()) {
            Some(name) => name.to_ascii_lowercase(),
            None => return false,
        };
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        name.ends_with("-ubyte") || has_extension(Path::new(name), &["idx"])
    }

    fn load(&self, path: &Path, options: &OpenOptions) -> Result<Dataset, DatasetError> {
        let source = open(path)?;
        let declared = source.header.shape.first().copied();
        let (shape, elements) =
            Elements::read(source, options.limit).map_err(|problem| problem.in_file(path))?;
        let dataset = Dataset::new(path, &shape, elements)?;
        let Some(labels_path) = labels_beside(path) else {
            return Ok(dataset);
        };
        let mut labels = open(&labels_path)?
            .read::<i64>(None)
            .map_err(|problem| problem.in_file(&labels_path))?
            .values;
        if declared == Some(labels.len()) {
            labels.truncate(dataset.len());
        }
        dataset.with_labels(labels)
    }
}

fn open(path: &Path) -> Result<ArraySource<Box<dyn Read>>, DatasetError> {
    let file = File::open(path).map_err(DatasetError::reading(path))?;
    let length = file.metadata().map_err(DatasetError::reading(path))?.len();
    let file = BufReader::new(file);
    let (mut reader, available): (Box<dyn Read>, u64) = if has_extension(path, &["gz"]) {
        let reader = BufReader::new(MultiGzDecoder::new(file));
        (Box::new(reader), inflated_at_most(length))
    } else {
        (Box::new(file), length)
    };
    let header = read_header(&mut reader).map_err(|problem| problem.in_file(path))?;
    let taken = 4 + 4 * header.shape.len() as u64;
    Ok(ArraySource {
        reader,
        header,
        available: available.saturating_sub(taken),
    })
}

fn read_header(reader: &mut impl Read) -> Result<Header, ArrayError> {
    let mut magic = [0; 4];
    reader.read_exact(&mut magic)?;
    let [0, 0, element, axes] = magic else {
        return Err(ArrayError::Header(
            "the file does not start as IDX does, with two zero bytes".to_owned(),
        ));
    };
    let scalar = match element {
        0x08 => Scalar::U8,
        0x09 => Scalar::I8,
        0x0b => Scalar::I16,
        0x0c => Scalar::I32,
        0x0d => Scalar::F32,
        0x0e => Scalar::F64,
        _ => {
            return Err(ArrayError::Header(format!(
                "unknown element type 0x{element:02x}"
            )));
        }
    };
    let mut shape = Vec::with_capacity(axes.into());
    for _ in 0..axes {
        let mut size = [0; 4];
        reader.read_exact(&mut size)?;
        shape.push(u32::from_be_bytes(size) as usize);
    }
    Ok(Header {
        dtype: Dtype {
            scalar,
            big_endian: true,
        },
        fortran_order: false,
        shape,
    })
}

/// The file of labels that belongs to a file of images, gzipped or not.
fn labels_beside(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let name = name.strip_suffix(".gz").unwrap_or(name);
    if !name.contains("images") || !name.contains("idx3") {
        return None;
    }
    let labels = name.replace("images", "labels").replace("idx3", "idx1");
    [labels.clone(), format!("{labels}.gz")]
        .into_iter()
        .map(|name| path.with_file_name(name))
        .find(|labels| labels.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    const IMAGES: &[u8] = &[
        0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 10, 20, 30, 40,
    ];
    const LABELS: &[u8] = &[0, 0, 8, 1, 0, 0, 0, 2, 7, 9];

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn load(files: &[(&str, &[u8])], limit: Option<usize>) -> Result<Dataset, DatasetError> {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            std::fs::write(folder.path().join(name), bytes).unwrap();
        }
        let options = OpenOptions {
            limit,
            ..OpenOptions::default()
        };
        Idx.load(&folder.path().join(files[0].0), &options)
    }

    #[test]
    fn images_find_their_labels() {
        let gz = gzip(IMAGES);
        for files in [
            [
                ("t-images-idx3-ubyte", IMAGES),
                ("t-labels-idx1-ubyte", LABELS),
            ],
            [
                ("t-images.idx3-ubyte.gz", &gz),
                ("t-labels.idx1-ubyte", LABELS),
            ],
        ] {
            let dataset = load(&files, None).unwrap();
            assert_eq!((dataset.len(), dataset.shape()), (2, &[1, 2][..]));
            assert_eq!(
                dataset.elements(),
                &Elements::U8(vec![10, 20, 30, 40].into())
            );
            assert_eq!(dataset.labels(), Some(&[7, 9][..]));
            let dataset = load(&files, Some(1)).unwrap();
            assert_eq!(dataset.labels(), Some(&[7][..]));
        }
    }

    #[test]
    fn labels_are_optional() {
        let dataset = load(&[("t-images-idx3-ubyte", IMAGES)], None).unwrap();
        assert_eq!(dataset.labels(), None);
    }

    #[test]
    fn floats_are_big_endian() {
        let mut bytes = vec![0, 0, 0x0d, 2, 0, 0, 0, 1, 0, 0, 0, 1];
        bytes.extend(0.5_f32.to_be_bytes());
        let dataset = load(&[("a.idx", &bytes)], None).unwrap();
        assert_eq!(dataset.elements(), &Elements::F32(vec![0.5].into()));
    }

    #[test]
    fn claims_beyond_the_file_are_refused() {
        let huge = [
            0, 0, 8, 3, 255, 255, 255, 255, 0, 0, 255, 255, 0, 0, 255, 255, 1,
        ];
        for (name, bytes) in [("a.idx", huge.to_vec()), ("a.idx.gz", gzip(&huge))] {
            let error = load(&[(name, &bytes)], None).unwrap_err();
            assert!(error.to_string().contains("claims shape"), "{error}");
        }
    }

    #[test]
    fn a_stream_longer_than_its_sizes_is_not_read_on() {
        let mut bytes = IMAGES.to_vec();
        bytes.resize(1 << 24, 0);
        let error = load(&[("a.idx.gz", &gzip(&bytes))], None).unwrap_err();
        assert!(error.to_string().contains("follow the end"), "{error}");
    }
}
