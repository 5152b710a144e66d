//! A folder of PNG and JPEG files. Sub-folders are classes: their names, when all are integers, are the
//! labels; otherwise the classes are numbered in order of name. Images directly in the folder have no label.

mod decode;
mod pixels;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::dataset::Dataset;
use crate::elements::Elements;
use crate::error::DatasetError;
use crate::format::{Format, OpenOptions, has_extension};
use pixels::Pixels;

pub(super) struct ImageFolder;

impl Format for ImageFolder {
    fn name(&self) -> &'static str {
        "images"
    }

    fn pattern(&self) -> &'static str {
        "a folder of PNG or JPEG files (sub-folders are labels)"
    }

    fn recognises(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn load(&self, path: &Path, options: &OpenOptions) -> Result<Dataset, DatasetError> {
        let Listing {
            files,
            labels,
            class_names,
        } = list(path)?;
        let kept = options.limit.unwrap_or(usize::MAX).min(files.len());
        let mut pixels = Pixels::default();
        for file in &files[..kept] {
            pixels.push(file)?;
        }
        let shape = [pixels.height, pixels.width, pixels.channels];
        let mut dataset = Dataset::new(path, &shape, Elements::U8(pixels.values.into()))?;
        if let Some(mut labels) = labels {
            labels.truncate(kept);
            dataset = dataset.with_labels(labels)?;
        }
        Ok(match class_names {
            Some(names) => dataset.with_class_names(names),
            None => dataset,
        })
    }
}

/// The images of a folder, in order.
struct Listing {
    files: Vec<PathBuf>,
    labels: Option<Vec<i64>>,
    class_names: Option<Vec<String>>,
}

fn list(folder: &Path) -> Result<Listing, DatasetError> {
    let Contents { images, folders } = contents(folder)?;
    if folders.is_empty() {
        return Ok(Listing {
            files: images,
            labels: None,
            class_names: None,
        });
    }
    if let Some(image) = images.first() {
        let detail = "lies beside sub-folders, so its label is unknown; move it into one of them";
        return Err(DatasetError::malformed(image, detail));
    }
    let (classes, class_names) = number(folder, folders)?;
    let (mut files, mut labels) = (Vec::new(), Vec::new());
    for (label, class) in classes {
        let images = contents(&class)?.images;
        labels.extend(std::iter::repeat_n(label, images.len()));
        files.extend(images);
    }
    Ok(Listing {
        files,
        labels: Some(labels),
        class_names,
    })
}

/// Classes with their labels, and their names unless those are the labels.
type Numbered = (Vec<(i64, PathBuf)>, Option<Vec<String>>);

fn number(folder: &Path, classes: Vec<PathBuf>) -> Result<Numbered, DatasetError> {
    let name = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    };
    let integers: Option<Vec<i64>> = classes
        .iter()
        .map(|class| name(class).parse().ok())
        .collect();
    let Some(integers) = integers else {
        let names = classes.iter().map(name).collect();
        return Ok(((0..).zip(classes).collect(), Some(names)));
    };
    let distinct: BTreeSet<i64> = integers.iter().copied().collect();
    if distinct.len() < integers.len() {
        let detail = "two sub-folders have names of the same integer; rename one";
        return Err(DatasetError::malformed(folder, detail));
    }
    let mut numbered: Vec<(i64, PathBuf)> = integers.into_iter().zip(classes).collect();
    numbered.sort();
    Ok((numbered, None))
}

/// What a folder holds that concerns us, each in order of name.
struct Contents {
    images: Vec<PathBuf>,
    folders: Vec<PathBuf>,
}

/// Hidden entries and other kinds of files are passed over: folders collect both.
fn contents(folder: &Path) -> Result<Contents, DatasetError> {
    let (mut images, mut folders) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(folder).map_err(DatasetError::reading(folder))? {
        let entry = entry.map_err(DatasetError::reading(folder))?;
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if path.is_dir() {
            folders.push(path);
        } else if has_extension(&path, &["png", "jpg", "jpeg"]) {
            images.push(path);
        }
    }
    images.sort();
    folders.sort();
    Ok(Contents { images, folders })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::{write_png, write_png_16};

    fn grey(path: &Path, value: u8) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        write_png(path, 2, 3, 1, &[value; 6]).unwrap();
    }

    fn load(folder: &Path, limit: Option<usize>) -> Result<Dataset, DatasetError> {
        let options = OpenOptions {
            limit,
            ..OpenOptions::default()
        };
        ImageFolder.load(folder, &options)
    }

    #[test]
    fn sub_folders_named_by_integers_are_those_labels() {
        let folder = tempfile::tempdir().unwrap();
        for (name, value) in [("10/a.png", 3), ("2/b.png", 2), ("2/a.png", 1)] {
            grey(&folder.path().join(name), value);
        }
        fs::write(folder.path().join("2/notes.txt"), "passed over").unwrap();
        let dataset = load(folder.path(), None).unwrap();
        assert_eq!(dataset.shape(), [2, 3, 1]);
        assert_eq!(dataset.labels(), Some(&[2, 2, 10][..]));
        let Elements::U8(values) = dataset.elements() else {
            panic!("pixels are bytes")
        };
        assert_eq!([values[0], values[6], values[12]], [1, 2, 3]);
    }

    #[test]
    fn other_sub_folders_are_numbered_in_order_of_name() {
        let folder = tempfile::tempdir().unwrap();
        grey(&folder.path().join("dog/a.png"), 1);
        grey(&folder.path().join("ant/a.png"), 2);
        fs::create_dir(folder.path().join("cat")).unwrap();
        let dataset = load(folder.path(), None).unwrap();
        assert_eq!(dataset.labels(), Some(&[0, 2][..]));
        assert_eq!(dataset.class_names().unwrap(), ["ant", "cat", "dog"]);
        assert_eq!(
            load(folder.path(), Some(1)).unwrap().labels(),
            Some(&[0][..])
        );
    }

    #[test]
    fn one_coloured_image_makes_all_coloured() {
        let folder = tempfile::tempdir().unwrap();
        grey(&folder.path().join("a.png"), 7);
        write_png(&folder.path().join("b.png"), 2, 3, 3, &[1, 2, 3].repeat(6)).unwrap();
        grey(&folder.path().join("c.png"), 9);
        let dataset = load(folder.path(), None).unwrap();
        assert_eq!((dataset.shape(), dataset.labels()), (&[2, 3, 3][..], None));
        let Elements::U8(values) = dataset.elements() else {
            panic!("pixels are bytes")
        };
        assert_eq!(values[..3], [7; 3]);
        assert_eq!(values[18..21], [1, 2, 3]);
        assert_eq!(values[36..39], [9; 3]);
    }

    #[test]
    fn jpeg_is_read_as_other_decoders_do() {
        let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
        let folder = tempfile::tempdir().unwrap();
        for (name, channels) in [("grey.jpg", 1), ("colour.jpg", 3), ("progressive.jpg", 3)] {
            let one = folder.path().join(name);
            fs::create_dir(&one).unwrap();
            fs::copy(made.join(name), one.join(name)).unwrap();
            let dataset = load(&one, None).unwrap();
            assert_eq!(dataset.shape(), [12, 17, channels], "{name}");
            let Elements::U8(values) = dataset.elements() else {
                panic!("pixels are bytes")
            };
            // Decoders may round differently, and smooth colours of fewer pixels differently.
            let pillow = fs::read(made.join(format!("{name}.pixels"))).unwrap();
            let off = values.iter().zip(&pillow).map(|(a, b)| a.abs_diff(*b));
            assert_eq!(values.len(), pillow.len());
            assert!(off.max().unwrap() <= 3, "{name}");
        }
    }

    #[test]
    fn what_bytes_cannot_hold_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        write_png_16(&folder.path().join("a.png"), 1, 1, 1, &[300]).unwrap();
        let message = load(folder.path(), None).unwrap_err().to_string();
        assert!(message.contains("more than 8 bits"), "{message}");
        fs::write(folder.path().join("a.png"), b"GIF89a").unwrap();
        let message = load(folder.path(), None).unwrap_err().to_string();
        assert!(message.contains("not a usable image"), "{message}");
    }

    #[test]
    fn images_that_do_not_belong_together_are_named() {
        let folder = tempfile::tempdir().unwrap();
        grey(&folder.path().join("a.png"), 1);
        write_png(&folder.path().join("b.png"), 4, 4, 1, &[0; 16]).unwrap();
        let message = load(folder.path(), None).unwrap_err().to_string();
        assert!(message.contains("b.png: is 4x4 but"), "{message}");
        grey(&folder.path().join("1/a.png"), 1);
        let message = load(folder.path(), None).unwrap_err().to_string();
        assert!(message.contains("a.png: lies beside"), "{message}");
    }

    #[test]
    fn transparency_is_refused_unless_opaque() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        write_png(&path, 1, 1, 4, &[1, 2, 3, 255]).unwrap();
        assert_eq!(load(folder.path(), None).unwrap().features(), 3);
        write_png(&path, 1, 1, 4, &[1, 2, 3, 4]).unwrap();
        assert!(load(folder.path(), None).is_err());
    }

    #[test]
    fn a_folder_without_images_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let error = load(folder.path(), None).unwrap_err();
        assert!(matches!(error, DatasetError::Empty { .. }));
    }
}
