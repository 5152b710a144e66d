//! One image as a PNG file.

use std::io::{self, Write};
use std::path::Path;

use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder, ImageError};

use super::AtomicFile;
use super::npy::check_length;
use crate::error::DatasetError;

/// Writes 8-bit pixels, in the order height, width, channels, as a `.png` file; it appears complete
/// or not at all. One channel is grey, three are colours, four are colours and opacity.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use deepconcolic_dataset::write::write_png;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("test.png");
/// write_png(&path, 2, 1, 3, &[255, 0, 0, 0, 0, 255])?;
/// assert!(path.exists());
/// # Ok(())
/// # }
/// ```
pub fn write_png(
    path: &Path,
    height: usize,
    width: usize,
    channels: usize,
    bytes: &[u8],
) -> Result<(), DatasetError> {
    write(path, &png_contents(path, [height, width, channels], bytes)?)
}

/// Writes 16-bit pixels the same way.
pub fn write_png_16(
    path: &Path,
    height: usize,
    width: usize,
    channels: usize,
    values: &[u16],
) -> Result<(), DatasetError> {
    write(
        path,
        &png_contents_16(path, [height, width, channels], values)?,
    )
}

/// What [`write_png`] writes for a height, width and number of channels, to compare a file with; the path
/// is for messages.
pub fn png_contents(path: &Path, size: [usize; 3], bytes: &[u8]) -> Result<Vec<u8>, DatasetError> {
    let colours = [
        ExtendedColorType::L8,
        ExtendedColorType::Rgb8,
        ExtendedColorType::Rgba8,
    ];
    check_length(path, None, &size, bytes)?;
    contents(path, size, colours, bytes)
}

/// What [`write_png_16`] writes.
pub fn png_contents_16(
    path: &Path,
    size: [usize; 3],
    values: &[u16],
) -> Result<Vec<u8>, DatasetError> {
    let colours = [
        ExtendedColorType::L16,
        ExtendedColorType::Rgb16,
        ExtendedColorType::Rgba16,
    ];
    check_length(path, None, &size, values)?;
    // The encoder takes them as they are in memory.
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_ne_bytes())
        .collect();
    contents(path, size, colours, &bytes)
}

/// The bytes of pixels as a file, in the kind that is given for one, three and four channels.
fn contents(
    path: &Path,
    [height, width, channels]: [usize; 3],
    [grey, colour, opaque]: [ExtendedColorType; 3],
    bytes: &[u8],
) -> Result<Vec<u8>, DatasetError> {
    let kind = match channels {
        1 => grey,
        3 => colour,
        4 => opaque,
        _ => {
            return Err(DatasetError::Channels {
                path: path.to_path_buf(),
                channels,
            });
        }
    };
    let failed = |error| DatasetError::io(path, "write")(error);
    let size = |size: usize| u32::try_from(size).map_err(|error| failed(io::Error::other(error)));
    let (width, height) = (size(width)?, size(height)?);
    let mut file = Vec::new();
    PngEncoder::new(&mut file)
        .write_image(bytes, width, height, kind)
        .map_err(|error| match error {
            ImageError::IoError(error) => failed(error),
            other => failed(io::Error::other(other)),
        })?;
    Ok(file)
}

fn write(path: &Path, contents: &[u8]) -> Result<(), DatasetError> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(contents)
        .map_err(DatasetError::io(path, "write"))?;
    file.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_image_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        for channels in [1, 3, 4] {
            let bytes: Vec<u8> = (0..6 * channels).map(|i| (i * 37 % 256) as u8).collect();
            write_png(&path, 2, 3, channels, &bytes).unwrap();
            let read = image::open(&path).unwrap();
            assert_eq!((read.height(), read.width()), (2, 3));
            assert_eq!(usize::from(read.color().channel_count()), channels);
            assert_eq!(read.as_bytes(), bytes);
        }
    }

    #[test]
    fn what_is_no_image_is_refused_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        let message = write_png(&path, 1, 1, 2, &[0; 2]).unwrap_err().to_string();
        assert!(message.contains("a.png: 2 channels"), "{message}");
        assert!(write_png(&path, 2, 2, 1, &[0; 3]).is_err());
        assert!(write_png(&path, 0, 2, 1, &[]).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn sixteen_bits_are_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        let values: Vec<u16> = (0..18).map(|i| i * 3641).collect();
        write_png_16(&path, 2, 3, 3, &values).unwrap();
        let read = image::open(&path).unwrap().into_rgb16();
        assert_eq!(read.into_raw(), values);
    }
}
