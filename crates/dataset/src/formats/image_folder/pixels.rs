//! The images of a folder, one after another, as bytes of grey or of red, green, blue.

use std::path::Path;

use super::decode::Image;
use crate::error::DatasetError;

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
        let image = Image::read(path)?;
        let (height, width) = (image.height, image.width);
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
        if image.channels == 3 && self.channels == 1 {
            self.channels = 3;
            self.values = in_colours(&self.values);
        }
        if image.channels == self.channels {
            self.values.extend(image.values);
        } else {
            self.values.extend(in_colours(&image.values));
        }
        Ok(())
    }
}

/// Grey as red, green and blue.
fn in_colours(grey: &[u8]) -> Vec<u8> {
    grey.iter().flat_map(|&value| [value; 3]).collect()
}
