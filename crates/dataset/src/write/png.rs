//! One image as a PNG file.

use std::io::{self, Write};
use std::path::Path;

use png::{BitDepth, ColorType, Compression, Encoder, EncodingError, Filter};

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
    check_length(path, None, &size, bytes)?;
    contents(path, size, BitDepth::Eight, bytes)
}

/// What [`write_png_16`] writes.
pub fn png_contents_16(
    path: &Path,
    size: [usize; 3],
    values: &[u16],
) -> Result<Vec<u8>, DatasetError> {
    check_length(path, None, &size, values)?;
    // As the format has them: the high byte first.
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_be_bytes())
        .collect();
    contents(path, size, BitDepth::Sixteen, &bytes)
}

/// The bytes of pixels as a file.
fn contents(
    path: &Path,
    [height, width, channels]: [usize; 3],
    depth: BitDepth,
    bytes: &[u8],
) -> Result<Vec<u8>, DatasetError> {
    let colour = match channels {
        1 => ColorType::Grayscale,
        3 => ColorType::Rgb,
        4 => ColorType::Rgba,
        _ => {
            return Err(DatasetError::Channels {
                path: path.to_path_buf(),
                channels,
            });
        }
    };
    let failed = |error| DatasetError::io(path, "write")(error);
    let size = |size: usize| u32::try_from(size).map_err(|error| failed(io::Error::other(error)));
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, size(width)?, size(height)?);
    encoder.set_color(colour);
    encoder.set_depth(depth);
    encoder.set_compression(Compression::Fast);
    encoder.set_filter(Filter::Adaptive);
    let written = encoder.write_header().and_then(|mut writer| {
        writer.write_image_data(bytes)?;
        writer.finish()
    });
    written.map_err(|error| match error {
        EncodingError::IoError(error) => failed(error),
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

    /// Height, width, channels and bytes of a file.
    fn read(path: &Path) -> ([usize; 3], Vec<u8>) {
        let file = std::io::BufReader::new(std::fs::File::open(path).unwrap());
        let mut reader = png::Decoder::new(file).read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let frame = reader.next_frame(&mut bytes).unwrap();
        let size = [frame.height as usize, frame.width as usize];
        ([size[0], size[1], frame.color_type.samples()], bytes)
    }

    #[test]
    fn every_kind_of_image_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        for channels in [1, 3, 4] {
            let bytes: Vec<u8> = (0..6 * channels).map(|i| (i * 37 % 256) as u8).collect();
            write_png(&path, 2, 3, channels, &bytes).unwrap();
            assert_eq!(read(&path), ([2, 3, channels], bytes));
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
        let (size, bytes) = read(&path);
        let high_first = |bytes: &[u8]| u16::from_be_bytes([bytes[0], bytes[1]]);
        assert_eq!(size, [2, 3, 3]);
        assert_eq!(bytes.chunks(2).map(high_first).collect::<Vec<_>>(), values);
    }
}
