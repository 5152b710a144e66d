//! Small pictures of the nearest adversarial tests on a terminal, each beside its seed: as the terminal takes them, or
//! as half blocks of characters.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

use deepconcolic::Settings;
use deepconcolic_dataset::write::png_contents;
use deepconcolic_record::{Picture, SuiteTable, Summary};

/// Most tests shown.
const SHOWN: usize = 3;
/// Pixels between a seed and its test, and behind both.
const GAP: usize = 2;
/// A picture of a terminal that draws pixels is at least so high.
const HEIGHT: usize = 84;
/// Larger inputs are left to the report.
const LARGEST: usize = 512;

/// Shows the nearest adversarial tests of a run, if they are pictures; what cannot be shown is left out.
pub fn show(
    out: &mut dyn Write,
    folder: &Path,
    summary: &Summary,
    columns: usize,
) -> io::Result<()> {
    let Some(strip) = Strip::of_run(folder, summary, columns) else {
        return Ok(());
    };
    let terminal = Terminal::here(|name| std::env::var(name).ok());
    writeln!(out, "{}", terminal.drawing(&strip.image))?;
    for caption in &strip.captions {
        writeln!(out, "{caption}")?;
    }
    Ok(())
}

/// Colours, row by row.
#[derive(Clone, Debug, PartialEq)]
struct Image {
    width: usize,
    pixels: Vec<[u8; 3]>,
}

impl Image {
    fn black(height: usize, width: usize) -> Self {
        Self {
            width,
            pixels: vec![[0; 3]; height * width],
        }
    }

    fn height(&self) -> usize {
        self.pixels.len() / self.width.max(1)
    }

    /// The colour at a place; black outside.
    fn at(&self, row: usize, column: usize) -> [u8; 3] {
        let inside = column < self.width && row < self.height();
        if inside {
            self.pixels[row * self.width + column]
        } else {
            [0; 3]
        }
    }

    /// The same with every pixel so many times as high and wide.
    fn enlarged(&self, times: usize) -> Self {
        let (height, width) = (self.height() * times, self.width * times);
        let place = |i: usize| self.at(i / width / times, i % width / times);
        Self {
            width,
            pixels: (0..height * width).map(place).collect(),
        }
    }

    /// As a PNG file.
    fn png(&self) -> Vec<u8> {
        let size = [self.height(), self.width, 3];
        png_contents(Path::new("strip.png"), size, self.pixels.as_flattened()).unwrap_or_default()
    }
}

/// Seeds and tests in a row, and what is said of them.
struct Strip {
    image: Image,
    captions: Vec<String>,
}

impl Strip {
    fn of_run(folder: &Path, summary: &Summary, columns: usize) -> Option<Self> {
        let settings = Settings::read(&summary.settings).ok()?;
        let path = folder.join("suite.npz");
        let shape = SuiteTable::shape(&path).ok()?;
        let elements: usize = shape.iter().product();
        let domain = settings.domain.domain(elements).ok()?;
        let picture = Picture::of(&shape, &domain).ok()?;
        let [height, width, channels] = picture.size();
        if height.max(width) > LARGEST {
            return None;
        }
        let suite = SuiteTable::read(&path, elements).ok()?;
        let mut tests: Vec<usize> = suite.adversarial().collect();
        tests.sort_by(|&a, &b| suite.reference_distance[a].total_cmp(&suite.reference_distance[b]));
        let fitting = (columns / (2 * width + 2 * GAP)).clamp(1, SHOWN);
        tests.truncate(fitting);
        if tests.is_empty() {
            return None;
        }
        let drawn = |test: usize| {
            let input = suite.x.get(test * elements..(test + 1) * elements)?;
            let (levels, _) = picture.levels(input, 255);
            let colour = |pixel: &[u16]| match *pixel {
                [grey] => [grey as u8; 3],
                [red, green, blue, ..] => [red as u8, green as u8, blue as u8],
                _ => [0; 3],
            };
            Some(Image {
                width,
                pixels: levels.chunks(channels).map(colour).collect(),
            })
        };
        let mut image = Image::black(height, tests.len() * 2 * (width + GAP));
        let mut captions = Vec::new();
        for (place, &test) in tests.iter().enumerate() {
            let root = suite.provenance.root[test];
            let seed = (0..suite.seeds()).find(|&seed| suite.provenance.root[seed] == root)?;
            for (part, number) in [seed, test].into_iter().enumerate() {
                let from = (2 * place + part) * (width + GAP);
                paste(&mut image, &drawn(number)?, from);
            }
            captions.push(format!(
                "test {test}: {} taken for {}, {:.4} from real data (left: its seed, sample {root} of the data)",
                suite.reference_label[test], suite.label[test], suite.reference_distance[test]
            ));
        }
        Some(Self { image, captions })
    }
}

fn paste(image: &mut Image, part: &Image, from: usize) {
    for row in 0..part.height() {
        for column in 0..part.width {
            let place = row * image.width + from + column;
            image.pixels[place] = part.at(row, column);
        }
    }
}

/// How a terminal draws pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Terminal {
    Kitty,
    Iterm,
    Sixel,
    HalfBlocks,
}

impl Terminal {
    /// What the terminal says of itself. Inside tmux nothing else comes through.
    fn here(variable: impl Fn(&str) -> Option<String>) -> Self {
        let term = variable("TERM").unwrap_or_default();
        let program = variable("TERM_PROGRAM").unwrap_or_default();
        if variable("TMUX").is_some() || term.starts_with("screen") || term.starts_with("tmux") {
            Self::HalfBlocks
        } else if term.contains("kitty")
            || program == "ghostty"
            || variable("KITTY_WINDOW_ID").is_some()
        {
            Self::Kitty
        } else if ["iTerm.app", "WezTerm"].contains(&program.as_str())
            || variable("LC_TERMINAL").as_deref() == Some("iTerm2")
        {
            Self::Iterm
        } else if term.contains("sixel") || term.starts_with("foot") || term.starts_with("mlterm") {
            Self::Sixel
        } else {
            Self::HalfBlocks
        }
    }

    fn drawing(self, image: &Image) -> String {
        let times = HEIGHT.div_ceil(image.height().max(1));
        match self {
            Self::Kitty => kitty(&image.enlarged(times)),
            Self::Iterm => iterm(&image.enlarged(times)),
            Self::Sixel => sixel(&image.enlarged(times)),
            Self::HalfBlocks => half_blocks(image),
        }
    }
}

/// The protocol of kitty: a PNG file in parts of at most 4,096 characters.
fn kitty(image: &Image) -> String {
    let data = base64(&image.png());
    let parts: Vec<&[u8]> = data.as_bytes().chunks(4096).collect();
    let mut text = String::new();
    for (number, part) in parts.iter().enumerate() {
        let more = u8::from(number + 1 < parts.len());
        let first = if number == 0 { "f=100,a=T," } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\x1b_G{first}m={more};{}\x1b\\",
            String::from_utf8_lossy(part)
        );
    }
    text
}

/// The protocol of iTerm: a PNG file in one part.
fn iterm(image: &Image) -> String {
    let png = image.png();
    format!(
        "\x1b]1337;File=inline=1;size={};width={}px;height={}px:{}\x07",
        png.len(),
        image.width,
        image.height(),
        base64(&png)
    )
}

/// Sixels: bands of six rows, colour by colour, of a cube of 6 x 6 x 6 colours.
fn sixel(image: &Image) -> String {
    let cube = |[red, green, blue]: [u8; 3]| {
        let level = |value: u8| (usize::from(value) * 5 + 127) / 255;
        level(red) * 36 + level(green) * 6 + level(blue)
    };
    let colours: Vec<usize> = image.pixels.iter().map(|&pixel| cube(pixel)).collect();
    let mut text = format!("\x1bPq\"1;1;{};{}", image.width, image.height());
    // Writing to a string cannot fail.
    for colour in 0..216 {
        let level = |step: usize| step % 6 * 20;
        let (red, green, blue) = (level(colour / 36), level(colour / 6), level(colour));
        let _ = write!(text, "#{colour};2;{red};{green};{blue}");
    }
    for band in (0..image.height()).step_by(6) {
        let rows = band..(band + 6).min(image.height());
        let mut used: Vec<usize> = rows
            .clone()
            .flat_map(|row| &colours[row * image.width..(row + 1) * image.width])
            .copied()
            .collect();
        used.sort_unstable();
        used.dedup();
        for colour in used {
            let _ = write!(text, "#{colour}");
            for column in 0..image.width {
                let is = |row: &usize| colours[row * image.width + column] == colour;
                let bits = rows.clone().filter(is).map(|row| 1 << (row - band));
                text.push(char::from(63 + bits.sum::<u8>()));
            }
            text.push('$');
        }
        text.push('-');
    }
    text + "\x1b\\"
}

/// Two pixels a character, one above the other.
fn half_blocks(image: &Image) -> String {
    let mut text = String::new();
    for row in (0..image.height()).step_by(2) {
        for column in 0..image.width {
            let [red, green, blue] = image.at(row, column);
            let [below_red, below_green, below_blue] = image.at(row + 1, column);
            // Writing to a string cannot fail.
            let _ = write!(
                text,
                "\x1b[38;2;{red};{green};{blue};48;2;{below_red};{below_green};{below_blue}m▀"
            );
        }
        text.push_str("\x1b[0m");
        if row + 2 < image.height() {
            text.push('\n');
        }
    }
    text
}

/// Bytes as text, as terminals take them.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let byte = |i: usize| u32::from(three.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let known = digit <= three.len();
            let value = (bits >> (18 - 6 * digit)) & 63;
            text.push(if known {
                char::from(DIGITS[value as usize])
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_by_two() -> Image {
        Image {
            width: 2,
            pixels: vec![[255, 0, 0], [0, 255, 0], [0, 0, 255], [255; 3]],
        }
    }

    #[test]
    fn base64_is_as_everywhere() {
        let cases = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ];
        for (bytes, text) in cases {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn half_blocks_show_two_rows_a_line() {
        let text = half_blocks(&two_by_two());
        assert_eq!(
            text,
            "\x1b[38;2;255;0;0;48;2;0;0;255m▀\x1b[38;2;0;255;0;48;2;255;255;255m▀\x1b[0m"
        );
    }

    #[test]
    fn sixels_show_every_pixel_in_its_colour() {
        let text = sixel(&two_by_two());
        // Red is above on the left, blue below it.
        assert!(text.contains("#180@?$"), "{text}");
        assert!(text.contains("#5A?$"), "{text}");
        assert!(text.starts_with("\x1bPq\"1;1;2;2") && text.ends_with("-\x1b\\"));
    }

    #[test]
    fn long_pictures_come_in_parts_and_whole() {
        let mut image = Image::black(64, 64);
        for (i, pixel) in image.pixels.iter_mut().enumerate() {
            *pixel = [
                (i * 37 % 251) as u8,
                (i * 91 % 241) as u8,
                (i * 13 % 239) as u8,
            ];
        }
        let text = kitty(&image);
        assert!(text.starts_with("\x1b_Gf=100,a=T,m=1;iVBOR"));
        let parts: Vec<&str> = text.split("\x1b\\").collect();
        assert!(parts.len() > 2 && parts[parts.len() - 2].starts_with("\x1b_Gm=0;"));
        let sent: String = parts.iter().filter_map(|p| p.split(';').nth(1)).collect();
        assert_eq!(sent, base64(&image.png()));
    }

    #[test]
    fn terminals_are_known_by_what_they_say_of_themselves() {
        let here = |pairs: &[(&str, &str)]| {
            Terminal::here(|name| {
                let found = pairs.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(here(&[("TERM", "xterm-kitty")]), Terminal::Kitty);
        assert_eq!(here(&[("TERM_PROGRAM", "iTerm.app")]), Terminal::Iterm);
        assert_eq!(here(&[("TERM", "foot")]), Terminal::Sixel);
        assert_eq!(here(&[("TERM", "xterm-256color")]), Terminal::HalfBlocks);
        let inside = [("TERM", "xterm-kitty"), ("TMUX", "socket")];
        assert_eq!(here(&inside), Terminal::HalfBlocks);
    }

    #[test]
    fn enlarging_keeps_colours() {
        let large = two_by_two().enlarged(3);
        assert_eq!((large.height(), large.width), (6, 6));
        assert_eq!([large.at(2, 2), large.at(2, 3)], [[255, 0, 0], [0, 255, 0]]);
        assert_eq!(large.at(6, 0), [0; 3]);
    }
}
