//! The pixels of PNG and JPEG files, as bytes of grey or of red, green, blue.

use std::path::Path;

use image::{DynamicImage, ImageReader, Limits};

use crate::error::DatasetError;

/// Larger images are not what networks take, and a few bytes can claim them.
const LONGEST_SIDE: u32 = 8192;
const MAX_MEMORY: u64 = 256 << 20;

fn decode(path: &Path) -> Result<DynamicImage, DatasetError> {
    let mut limits = Limits::default();
    limits.max_image_width = Some(LONGEST_SIDE);
    limits.max_image_height = Some(LONGEST_SIDE);
    limits.max_alloc = Some(MAX_MEMORY);
    let mut reader = ImageReader::open(path)
        .and_then(ImageReader::with_guessed_format)
        .map_err(DatasetError::reading(path))?;
    reader.limits(limits);
    reader
        .decode()
        .map_err(|error| DatasetError::malformed(path, format!("not a usable image: {error}")))
}

/// Images one after another, height x width x channels. One channel while all are grey, then three.
#[derive(Default)]
pub(super) struct Pixels {
    pub height: usize,
    pub width: usize,
    pub channels: usize,
    pub values: Vec<u8>,
}

impl Pixels {
    /// Decodes a file and adds it; all must have one size.
    pub(super) fn push(&mut self, path: &Path) -> Result<(), DatasetError> {
        let image = decode(path)?;
        let (height, width) = (image.height() as usize, image.width() as usize);
        if self.channels == 0 {
            (self.height, self.width, self.channels) = (height, width, 1);
        }
        if (height, width) != (self.height, self.width) {
            let detail = format!(
                "is {height}x{width} but the images before it are {}x{}; give images of one size",
                self.height, self.width
            );
            return Err(DatasetError::malformed(path, detail));
        }
        check_exact(path, &image)?;
        let grey = !image.color().has_color();
        if !grey && self.channels == 1 {
            self.channels = 3;
            self.values = self.values.iter().flat_map(|&value| [value; 3]).collect();
        }
        if self.channels == 1 {
            self.values.extend(image.to_luma8().into_raw());
        } else {
            self.values.extend(image.to_rgb8().into_raw());
        }
        Ok(())
    }
}

/// Refuses what would be lost in bytes of grey or red, green, blue.
fn check_exact(path: &Path, image: &DynamicImage) -> Result<(), DatasetError> {
    let refuse = |detail: &str| Err(DatasetError::malformed(path, detail));
    let opaque = match image {
        DynamicImage::ImageLuma8(_) | DynamicImage::ImageRgb8(_) => true,
        DynamicImage::ImageLumaA8(pixels) => pixels.pixels().all(|pixel| pixel.0[1] == u8::MAX),
        DynamicImage::ImageRgba8(pixels) => pixels.pixels().all(|pixel| pixel.0[3] == u8::MAX),
        _ => return refuse("has more than 8 bits a channel; convert it to 8 bits"),
    };
    if opaque {
        Ok(())
    } else {
        refuse("is partly transparent; flatten it onto a background")
    }
}
