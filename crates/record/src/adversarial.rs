//! `adversarial/`: the adversarial tests with their true labels, ready for retraining, and as pictures.

use std::fs;
use std::io::Write;
use std::path::Path;

use deepconcolic_dataset::arrays::NpzReader;
use deepconcolic_dataset::write::{AtomicFile, NpzWriter, png_contents, png_contents_16};
use deepconcolic_geometry::Domain;

use crate::error::ArchiveError;
use crate::picture::Picture;
use crate::suite::SuiteTable;

/// Most pictures written; the arrays hold all tests.
const PICTURES: usize = 1000;
/// The largest value of a pixel with 8 bits, and with 16.
const EIGHT: u16 = 255;
const SIXTEEN: u16 = 65535;
/// The arrays of all adversarial tests.
pub const ADVERSARIAL_TABLE: &str = "adversarial.npz";

/// `adversarial.npz`.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct AdversarialTable {
    /// The inputs, one after the other.
    pub x: Vec<f32>,
    /// The classes they should have (`y`); empty where the answer is a quantity.
    pub classes: Vec<i64>,
    /// The quantities they should have (`y`), and those that the network gives (`output`), test after test;
    /// empty where the answer is a class.
    pub quantities: Vec<f64>,
    /// What the network gives instead.
    pub output: Vec<f64>,
    /// The classes the network gives them.
    pub label: Vec<i64>,
    /// How sure the network says it is of that class; empty where it does not say.
    pub confidence: Vec<f32>,
    /// Their rows in the suite.
    pub test: Vec<i64>,
    /// The references they were judged by, by their numbers.
    pub reference: Vec<i64>,
    /// How far those are.
    pub distance: Vec<f32>,
}

/// The answers that inputs should have and those that they get, as both tables of adversarial inputs hold them.
#[derive(Default)]
pub(crate) struct AnswerColumns {
    pub classes: Vec<i64>,
    pub quantities: Vec<f64>,
    pub output: Vec<f64>,
    pub confidence: Vec<f32>,
}

impl AnswerColumns {
    /// Answers are quantities where the network's are there, else classes.
    pub fn read(file: &mut NpzReader) -> Result<Self, ArchiveError> {
        let mut answers = Self::default();
        if file.shape("output").is_some() {
            answers.quantities = file.read("y")?.values;
            answers.output = file.read("output")?.values;
        } else {
            answers.classes = file.read("y")?.values;
        }
        if file.shape("confidence").is_some() {
            answers.confidence = file.read("confidence")?.values;
        }
        Ok(answers)
    }
}

impl AdversarialTable {
    /// The adversarial tests of a suite with inputs of so many elements.
    pub fn of(suite: &SuiteTable, elements: usize) -> Self {
        let chosen: Vec<usize> = suite.adversarial().collect();
        let pick = |column: &[i64]| chosen.iter().map(|&t| column[t]).collect();
        let outputs = suite.outputs();
        let rows = |all: &[f64]| -> Vec<f64> {
            let row = |&t: &usize| all[t * outputs..(t + 1) * outputs].iter().copied();
            chosen.iter().flat_map(row).collect()
        };
        let input = |&t: &usize| &suite.x[t * elements..(t + 1) * elements];
        let distance = |&t: &usize| suite.reference_distance[t] as f32;
        Self {
            x: chosen.iter().flat_map(input).copied().collect(),
            classes: if outputs == 0 {
                pick(&suite.reference_label)
            } else {
                Vec::new()
            },
            quantities: rows(&suite.reference_output),
            output: rows(&suite.output),
            label: pick(&suite.label),
            confidence: Vec::new(),
            test: chosen.iter().map(|&t| t as i64).collect(),
            reference: pick(&suite.reference),
            distance: chosen.iter().map(distance).collect(),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.test.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.test.is_empty()
    }

    /// The name of the picture of a row.
    fn picture(&self, row: usize) -> String {
        let test = self.test[row];
        match self.classes.get(row) {
            Some(truth) => format!("{test:06}-{truth}-as-{}.png", self.label[row]),
            None => format!("{test:06}.png"),
        }
    }

    /// Reads it back.
    pub fn read(path: &Path) -> Result<Self, ArchiveError> {
        let mut file = NpzReader::open(path)?;
        let answers = AnswerColumns::read(&mut file)?;
        Ok(Self {
            x: file.read("x")?.values,
            label: file.read("label")?.values,
            test: file.read("test")?.values,
            reference: file.read("reference")?.values,
            distance: file.read("distance")?.values,
            classes: answers.classes,
            quantities: answers.quantities,
            output: answers.output,
            confidence: answers.confidence,
        })
    }

    fn write(&self, path: &Path, shape: &[usize]) -> Result<(), ArchiveError> {
        let count = self.len();
        let mut whole = vec![count];
        whole.extend(shape);
        let mut file = NpzWriter::create(path)?;
        file.add("x", &whole, &self.x)?;
        if self.output.is_empty() {
            file.add("y", &[count], &self.classes)?;
        } else {
            let wide = [count, self.output.len() / count.max(1)];
            let narrow = if wide[1] == 1 { &wide[..1] } else { &wide };
            file.add("y", narrow, &self.quantities)?;
            file.add("output", &wide, &self.output)?;
        }
        file.add("label", &[count], &self.label)?;
        if !self.confidence.is_empty() {
            file.add("confidence", &[count], &self.confidence)?;
        }
        file.add("test", &[count], &self.test)?;
        file.add("reference", &[count], &self.reference)?;
        file.add("distance", &[count], &self.distance)?;
        Ok(file.finish()?)
    }
}

/// Writes the folder anew: `adversarial.npz` (x, y: the true label or quantities, label: the network's
/// class, confidence: how sure it says it is, output: its quantities, test: row of the suite, reference, distance), and
/// `test-label-as-label.png` for each where inputs are pictures.
pub fn write_adversarial(
    folder: &Path,
    table: &AdversarialTable,
    drawn: &Drawn,
    shape: &[usize],
) -> Result<(), ArchiveError> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(ArchiveError::io(folder, "replace"))?;
    }
    if table.is_empty() {
        return Ok(());
    }
    fs::create_dir_all(folder).map_err(ArchiveError::io(folder, "create"))?;
    table.write(&folder.join(ADVERSARIAL_TABLE), shape)?;
    for (name, contents) in &drawn.pictures {
        let path = folder.join(name);
        let mut file = AtomicFile::create(&path)?;
        file.write_all(contents)
            .map_err(ArchiveError::io(&path, "write"))?;
        file.publish()?;
    }
    Ok(())
}

/// Pictures of adversarial tests.
#[derive(Clone, Debug, Default)]
pub struct Drawn {
    /// Their names and contents.
    pub pictures: Vec<(String, Vec<u8>)>,
    /// What the user should know of them.
    pub notes: Vec<String>,
}

/// The pictures of adversarial tests. The folder is for messages.
pub fn draw(
    folder: &Path,
    table: &AdversarialTable,
    shape: &[usize],
    domain: &Domain,
) -> Result<Drawn, ArchiveError> {
    let elements: usize = shape.iter().product();
    let input = |row: usize| &table.x[row * elements..(row + 1) * elements];
    let gallery = Gallery {
        pictures: (0..table.len())
            .map(|row| (table.picture(row), input(row)))
            .collect(),
        what: "adversarial tests",
        table: ADVERSARIAL_TABLE,
    };
    draw_gallery(folder, &gallery, shape, domain)
}

/// Inputs to be drawn.
pub(crate) struct Gallery<'a> {
    /// The name of each picture, and its input.
    pub pictures: Vec<(String, &'a [f32])>,
    /// What the inputs are.
    pub what: &'static str,
    /// The file that has them exactly.
    pub table: &'static str,
}

/// Pictures with 8 bits, or with 16 if only that holds every value exactly. The folder is for messages.
pub(crate) fn draw_gallery(
    folder: &Path,
    gallery: &Gallery<'_>,
    shape: &[usize],
    domain: &Domain,
) -> Result<Drawn, ArchiveError> {
    let Gallery {
        pictures,
        what,
        table,
    } = gallery;
    let mut drawn = Drawn::default();
    if pictures.is_empty() {
        return Ok(drawn);
    }
    let picture = match Picture::of(shape, domain) {
        Ok(picture) => picture,
        Err(why) => {
            drawn.notes.push(format!(
                "{what} have no pictures: {why}; {table} has the tests"
            ));
            return Ok(drawn);
        }
    };
    let shown = &pictures[..pictures.len().min(PICTURES)];
    // Each input is looked at once where 8 bits must do: where one of them needs more than 16, all have 8.
    let mut coarse = 0.0_f64;
    for (name, input) in shown {
        let (values, off) = picture.levels(input, EIGHT);
        coarse = coarse.max(off);
        let bytes: Vec<u8> = values.iter().map(|&value| value as u8).collect();
        let contents = png_contents(&folder.join(name), picture.size(), &bytes)?;
        drawn.pictures.push((name.clone(), contents));
    }
    let is_exact = |input: &[f32]| picture.levels(input, SIXTEEN).1 == 0.0;
    let sixteen = coarse > 0.0 && shown.iter().all(|(_, input)| is_exact(input));
    if sixteen {
        for ((name, input), (_, contents)) in shown.iter().zip(&mut drawn.pictures) {
            let (values, _) = picture.levels(input, SIXTEEN);
            *contents = png_contents_16(&folder.join(name), picture.size(), &values)?;
        }
    }
    if pictures.len() > PICTURES {
        drawn.notes.push(format!(
            "{} {what} have no picture; {table} has them all",
            pictures.len() - PICTURES
        ));
    }
    if coarse > 0.0 && !sixteen {
        drawn.notes.push(format!(
            "pictures of {what} are rounded to 8 bits, values by at most {}; {table} has \
             the tests exactly",
            rounded_up(coarse)
        ));
    }
    Ok(drawn)
}

/// Two digits that are not below the number.
fn rounded_up(number: f64) -> String {
    let digit = 10_f64.powi(number.log10().floor() as i32 - 1);
    let digits = (number / digit).ceil();
    format!("{}", (digits * digit * 1e12).round() / 1e12)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_shown_with_two_digits_and_never_below() {
        assert_eq!(rounded_up(0.001_957), "0.002");
        assert_eq!(rounded_up(0.001_911), "0.002");
        assert_eq!(rounded_up(0.012_01), "0.013");
        assert_eq!(rounded_up(0.5), "0.5");
        assert_eq!(rounded_up(3.01), "3.1");
    }
}
