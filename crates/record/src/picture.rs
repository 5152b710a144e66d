//! Inputs as pictures: which shapes are images, and how exactly a PNG file holds their values.

use deepconcolic_geometry::{Domain, ImageShape, Pixels};

/// Channels that a PNG file can have.
const CHANNELS: [usize; 3] = [1, 3, 4];

/// How inputs become pictures.
#[derive(Clone, Copy, Debug)]
pub struct Picture<'a> {
    shape: ImageShape,
    /// The range of each element, which becomes black to full.
    domain: &'a Domain,
}

impl<'a> Picture<'a> {
    /// For inputs of this shape, without the batch axis; or why they are no pictures.
    pub fn of(shape: &[usize], domain: &'a Domain) -> Result<Self, String> {
        let shape = image(shape)?;
        Ok(Self { shape, domain })
    }

    /// Height, width and channels.
    pub fn size(&self) -> [usize; 3] {
        [self.shape.height, self.shape.width, self.shape.channels()]
    }

    /// The number that stands for each element, row by row and channel by channel, where `levels` stands
    /// for the upper end of its range; and how far the elements are from what those numbers mean.
    pub fn levels(&self, input: &[f32], levels: u16) -> (Vec<u16>, f64) {
        let mut numbers = Vec::with_capacity(input.len());
        let mut off = 0.0_f64;
        let (lower, upper) = (self.domain.lower(), self.domain.upper());
        for row in 0..self.shape.height {
            for column in 0..self.shape.width {
                for channel in 0..self.shape.channels() {
                    let element = self.shape.element(row, column, channel);
                    let range = (lower[element], upper[element]);
                    let (number, error) = level(range, input[element], levels);
                    numbers.push(number);
                    off = off.max(error);
                }
            }
        }
        (numbers, off)
    }
}

/// The number that stands for a value in a range, and how far off it is.
fn level((low, high): (f32, f32), value: f32, levels: u16) -> (u16, f64) {
    let width = f64::from(high) - f64::from(low);
    let part = (f64::from(value) - f64::from(low)) / width.max(f64::MIN_POSITIVE);
    let top = f64::from(levels);
    let number = (part * top).round().clamp(0.0, top) as u16;
    // As the grid of a run has it, and as 8-bit data are read.
    let meant = low + f32::from(number) / f32::from(levels) * (high - low);
    (number, (f64::from(meant) - f64::from(value)).abs())
}

/// The image that inputs of a shape are.
fn image(shape: &[usize]) -> Result<ImageShape, String> {
    let words = || {
        let sizes: Vec<String> = shape.iter().map(ToString::to_string).collect();
        sizes.join("x")
    };
    let is_channels = |size: usize| CHANNELS.contains(&size);
    let (height, width, pixels) = match *shape {
        [height, width] => (height, width, Pixels::Single),
        [1, height, width] if !is_channels(width) || width == 1 => {
            (height, width, Pixels::ChannelsFirst(1))
        }
        [first, _, last] if is_channels(first) && is_channels(last) && (first, last) != (1, 1) => {
            return Err(format!(
                "inputs of shape {} have their channels first or last, which cannot be told",
                words()
            ));
        }
        [height, width, channels] if is_channels(channels) => {
            (height, width, Pixels::ChannelsLast(channels))
        }
        [channels, height, width] if is_channels(channels) => {
            (height, width, Pixels::ChannelsFirst(channels))
        }
        [_, _, _] => {
            return Err(format!(
                "inputs of shape {} have no axis of 1, 3 or 4 channels",
                words()
            ));
        }
        _ => return Err(format!("inputs of shape {} are no images", words())),
    };
    Ok(ImageShape {
        height,
        width,
        pixels,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_with_a_clear_meaning_are_images() {
        for (shape, size) in [
            (&[28, 28][..], [28, 28, 1]),
            (&[5, 5, 3], [5, 5, 3]),
            (&[5, 5, 1], [5, 5, 1]),
            (&[1, 5, 6], [5, 6, 1]),
            (&[3, 6, 5], [6, 5, 3]),
            (&[1, 9, 1], [9, 1, 1]),
        ] {
            let domain = Domain::uniform(shape.iter().product(), 0.0, 1.0).unwrap();
            let picture = Picture::of(shape, &domain).unwrap();
            assert_eq!(picture.size(), size, "{shape:?}");
        }
        let domain = Domain::uniform(1, 0.0, 1.0).unwrap();
        for (shape, why) in [
            (&[13][..], "no images"),
            (&[3, 5, 3], "cannot be told"),
            (&[1, 5, 3], "cannot be told"),
            (&[9, 8, 2], "no axis"),
            (&[2, 3, 4, 5], "no images"),
        ] {
            let message = Picture::of(shape, &domain).unwrap_err();
            assert!(message.contains(why), "{shape:?}: {message}");
        }
    }

    #[test]
    fn what_a_picture_is_off_by_is_measured() {
        let domain = Domain::uniform(4, 0.0, 1.0).unwrap();
        let picture = Picture::of(&[2, 2], &domain).unwrap();
        let on = [0.0, 1.0, 37.0 / 255.0, 254.0 / 255.0];
        assert_eq!(picture.levels(&on, 255), (vec![0, 255, 37, 254], 0.0));
        let fine = [0.0, 1.0, 300.0 / 65535.0, 5.0 / 65535.0];
        assert!(picture.levels(&fine, 255).1 > 0.0006);
        assert_eq!(picture.levels(&fine, 65535), (vec![0, 65535, 300, 5], 0.0));
        let sixteenth = [0.0, 1.0, 1.0 / 16.0, 0.5];
        let (_, off) = picture.levels(&sixteenth, 255);
        assert!((0.0019..0.002).contains(&off), "{off}");
        let wide = Domain::uniform(4, -1.0, 3.0).unwrap();
        let picture = Picture::of(&[2, 2], &wide).unwrap();
        assert_eq!(
            picture.levels(&[-1.0, 3.0, 0.6, 3.0], 255).0,
            [0, 255, 102, 255]
        );
    }
}
