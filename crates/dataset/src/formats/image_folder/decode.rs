//! PNG and JPEG files as 8-bit pixels. What bytes of grey or of red, green, blue cannot hold is refused.

use std::fs;
use std::io::Cursor;
use std::path::Path;

use png::{BitDepth, ColorType, Transformations};
use zune_jpeg::JpegDecoder;
use zune_jpeg::errors::DecodeErrors;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use crate::error::DatasetError;

/// Larger images are not what networks take, and a few bytes can claim them.
const LONGEST_SIDE: usize = 8192;
const MAX_MEMORY: usize = 256 << 20;
/// More bytes than any image of that size needs.
const MAX_FILE: u64 = 1 << 30;
/// How JPEG files begin; all others are PNG files or none that are known.
const JPEG: [u8; 3] = [0xff, 0xd8, 0xff];

/// One image, row by row.
pub(super) struct Image {
    pub height: usize,
    pub width: usize,
    /// One for grey, three for red, green, blue.
    pub channels: usize,
    pub values: Vec<u8>,
}

impl Image {
    /// Reads a file; what it is is told by its first bytes, not by its name.
    pub(super) fn read(path: &Path) -> Result<Self, DatasetError> {
        let size = fs::metadata(path)
            .map_err(DatasetError::reading(path))?
            .len();
        if size > MAX_FILE {
            return Err(DatasetError::malformed(
                path,
                "is larger than any image that is read here",
            ));
        }
        let bytes = fs::read(path).map_err(DatasetError::reading(path))?;
        let read = if bytes.starts_with(&JPEG) {
            jpeg(&bytes)
        } else {
            png(&bytes)
        };
        read.map_err(|detail| DatasetError::malformed(path, detail))
    }
}

fn unusable(error: impl std::fmt::Display) -> String {
    format!("not a usable image: {error}")
}

fn check_size(width: usize, height: usize) -> Result<(), String> {
    if width.max(height) > LONGEST_SIDE {
        return Err(unusable(format_args!(
            "{height}x{width} is more than {LONGEST_SIDE}x{LONGEST_SIDE}"
        )));
    }
    Ok(())
}

fn png(bytes: &[u8]) -> Result<Image, String> {
    let limits = png::Limits { bytes: MAX_MEMORY };
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), limits);
    let header = decoder.read_header_info().map_err(unusable)?;
    let (width, height) = (header.width as usize, header.height as usize);
    check_size(width, height)?;
    // Palettes become colours and few bits become eight.
    decoder.set_transformations(Transformations::EXPAND);
    let mut reader = decoder.read_info().map_err(unusable)?;
    let (colour, depth) = reader.output_color_type();
    if depth != BitDepth::Eight {
        return Err("has more than 8 bits a channel; convert it to 8 bits".into());
    }
    let size = reader.output_buffer_size();
    let size = size.filter(|size| *size <= MAX_MEMORY);
    let mut values = vec![0; size.ok_or_else(|| unusable("too large"))?];
    reader.next_frame(&mut values).map_err(unusable)?;
    let (channels, values) = match colour {
        ColorType::Grayscale => (1, values),
        ColorType::Rgb => (3, values),
        ColorType::GrayscaleAlpha => (1, opaque(&values, 2)?),
        ColorType::Rgba => (3, opaque(&values, 4)?),
        ColorType::Indexed => return Err(unusable("its palette is missing")),
    };
    Ok(Image {
        height,
        width,
        channels,
        values,
    })
}

/// Pixels without their opacity, which must be full.
fn opaque(values: &[u8], samples: usize) -> Result<Vec<u8>, String> {
    let colours = samples - 1;
    if values
        .chunks(samples)
        .any(|pixel| pixel[colours] != u8::MAX)
    {
        return Err("is partly transparent; flatten it onto a background".into());
    }
    let pixels = values.chunks(samples);
    Ok(pixels
        .flat_map(|pixel| &pixel[..colours])
        .copied()
        .collect())
}

fn jpeg(bytes: &[u8]) -> Result<Image, String> {
    let error = |error: DecodeErrors| unusable(format_args!("{error:?}"));
    let options = DecoderOptions::default()
        .set_strict_mode(false)
        .set_max_width(LONGEST_SIDE)
        .set_max_height(LONGEST_SIDE);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(error)?;
    let (width, height) = decoder.dimensions().ok_or_else(|| unusable("no size"))?;
    check_size(width, height)?;
    let (space, channels) = match decoder.input_colorspace() {
        Some(ColorSpace::Luma) => (ColorSpace::Luma, 1),
        _ => (ColorSpace::RGB, 3),
    };
    decoder.set_options(options.jpeg_set_out_colorspace(space));
    let values = decoder.decode().map_err(error)?;
    if values.len() != width * height * channels {
        return Err(unusable("its pixels are not all there"));
    }
    Ok(Image {
        height,
        width,
        channels,
        values,
    })
}
