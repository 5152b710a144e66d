//! Pictures of adversarial inputs: seed, test and difference side by side in one PNG file.

use std::collections::BTreeMap;
use std::path::Path;

use deepconcolic::{Error, SavedRun};
use deepconcolic_dataset::write::png_contents;
use deepconcolic_record::Picture;

use super::view::{Adversarial, View};

/// Most pictures of a report, and most bytes they take together.
const MOST: usize = 200;
const BYTES: usize = 3_000_000;
/// Pixels between the parts of a picture, before it is enlarged.
const GAP: usize = 1;
/// A part is enlarged to at least so many pixels.
const SHOWN: usize = 112;
/// Rows and columns of larger pictures are left out evenly.
const LARGEST: usize = 224;
/// Less and more than the seed, and no difference: blue and orange round grey.
const LESS: [f64; 3] = [0.0, 114.0, 178.0];
const MORE: [f64; 3] = [213.0, 94.0, 0.0];
const SAME: f64 = 235.0;

/// The pictures of a report, by the names of inputs.
#[derive(Default)]
pub struct Pictures {
    /// What each file holds.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Width and height on a page.
    pub size: (usize, usize),
}

/// Where a picture lies.
pub fn path(name: &str) -> String {
    format!("pictures/{name}.png")
}

impl Pictures {
    /// Those of a run: the nearest inputs, as many as there is room for.
    pub fn of(view: &View) -> Result<Self, Error> {
        Self::of_nearest(view, MOST)
    }

    /// Those of at most so many of the nearest inputs.
    pub fn of_nearest(view: &View, most: usize) -> Result<Self, Error> {
        let run = &view.run;
        let mut pictures = Self::default();
        let Ok(picture) = Picture::of(&run.shape, &run.domain) else {
            return Ok(pictures);
        };
        let [height, width, channels] = picture.size();
        let stride = height.max(width).div_ceil(LARGEST).max(1);
        let canvas = Canvas {
            stride,
            size: [height, width, channels],
        };
        let (rows, columns) = canvas.shown();
        let scale = SHOWN.div_ceil(columns.max(rows).max(1)).max(1);
        pictures.size = ((3 * columns + 2 * GAP) * scale, rows * scale);
        let mut bytes = 0;
        for adversarial in view.adversarial.iter().take(most) {
            let Some(rgba) = drawn(run, &picture, canvas, adversarial) else {
                continue;
            };
            let name = adversarial.name();
            let size = [rows, 3 * columns + 2 * GAP, 4];
            let file = png_contents(Path::new(&path(&name)), size, &rgba)?;
            bytes += file.len();
            if bytes > BYTES {
                break;
            }
            pictures.files.insert(name, file);
        }
        Ok(pictures)
    }

    /// Whether an input has one.
    pub fn has(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// A picture as an address that holds it.
    pub fn embedded(&self, name: &str) -> String {
        let bytes = self.files.get(name).map(Vec::as_slice).unwrap_or_default();
        format!("data:image/png;base64,{}", base64(bytes))
    }
}

/// How large pictures are, and how much of them is shown.
#[derive(Clone, Copy)]
struct Canvas {
    stride: usize,
    size: [usize; 3],
}

impl Canvas {
    /// Rows and columns that are shown.
    fn shown(&self) -> (usize, usize) {
        let [height, width, _] = self.size;
        (height.div_ceil(self.stride), width.div_ceil(self.stride))
    }
}

/// Seed, test and difference, row by row, as red, green, blue and how solid.
fn drawn(
    run: &SavedRun,
    picture: &Picture<'_>,
    canvas: Canvas,
    adversarial: &Adversarial,
) -> Option<Vec<u8>> {
    let seed = run.input(adversarial.seed?);
    let test = adversarial.input(run);
    if test.len() != seed.len() {
        return None;
    }
    let (seed, _) = picture.levels(seed, 255);
    let (test, _) = picture.levels(test, 255);
    let most = seed.iter().zip(&test).map(|(s, t)| s.abs_diff(*t)).max();
    let amplified = 1.0 / f64::from(most.unwrap_or(1).max(1));
    let [_, width, channels] = canvas.size;
    let (rows, columns) = canvas.shown();
    let mut bytes = Vec::with_capacity(rows * (3 * columns + 2 * GAP) * 4);
    for row in 0..rows {
        let at = |column: usize| (row * canvas.stride * width + column * canvas.stride) * channels;
        for part in [&seed, &test] {
            for column in 0..columns {
                let pixel = &part[at(column)..at(column) + channels];
                bytes.extend(colour(pixel));
            }
            bytes.extend([0; 4 * GAP]);
        }
        for column in 0..columns {
            let range = at(column)..at(column) + channels;
            bytes.extend(difference(&seed[range.clone()], &test[range], amplified));
        }
    }
    Some(bytes)
}

fn colour(pixel: &[u16]) -> [u8; 4] {
    let byte = |channel: usize| pixel.get(channel).copied().unwrap_or(0) as u8;
    match pixel.len() {
        1 => [byte(0), byte(0), byte(0), 255],
        4 => [byte(0), byte(1), byte(2), byte(3)],
        _ => [byte(0), byte(1), byte(2), 255],
    }
}

/// The signed difference of the brightness, amplified.
fn difference(seed: &[u16], test: &[u16], amplified: f64) -> [u8; 4] {
    let channels = seed.len().clamp(1, 3) as f64;
    let sum: f64 = seed
        .iter()
        .zip(test)
        .take(3)
        .map(|(&s, &t)| f64::from(t) - f64::from(s))
        .sum();
    let part = (sum / channels * amplified).clamp(-1.0, 1.0);
    let towards = if part < 0.0 { LESS } else { MORE };
    let mix = |channel: usize| (SAME + (towards[channel] - SAME) * part.abs()).round() as u8;
    [mix(0), mix(1), mix(2), 255]
}

/// How much a difference was amplified in its picture; none where it has none.
pub fn amplification(view: &View, adversarial: &Adversarial) -> Option<f64> {
    let run = &view.run;
    let picture = Picture::of(&run.shape, &run.domain).ok()?;
    let seed = run.input(adversarial.seed?);
    let (seed, _) = picture.levels(seed, 255);
    let (test, _) = picture.levels(adversarial.input(run), 255);
    let most = seed.iter().zip(&test).map(|(s, t)| s.abs_diff(*t)).max()?;
    (most > 0).then(|| 255.0 / f64::from(most))
}

/// Bytes as text, by RFC 4648.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for letter in 0..4 {
            if letter <= chunk.len() {
                let six = (bits >> (18 - 6 * letter)) & 63;
                text.push(char::from(LETTERS[six as usize]));
            } else {
                text.push('=');
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_text_as_the_standard_says() {
        let cases = ["", "f", "fo", "foo", "foob", "fooba", "foobar"];
        let texts = cases.map(|case| base64(case.as_bytes()));
        assert_eq!(
            texts,
            [
                "", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"
            ]
        );
    }

    #[test]
    fn a_difference_is_grey_where_there_is_none_and_shows_its_sign() {
        assert_eq!(difference(&[7], &[7], 1.0), [235, 235, 235, 255]);
        let more = difference(&[0], &[10], 0.1);
        let less = difference(&[10], &[0], 0.1);
        assert_eq!((more, less), ([213, 94, 0, 255], [0, 114, 178, 255]));
    }
}
