//! `nearest-adversarial/`: of seeds with adversarial tests the nearest adversarial input that was found, how near one
//! can be at all, and pictures. The inputs are no tests of the suite: they need not cover anything.

use std::fs;
use std::io::Write;
use std::path::Path;

use deepconcolic_dataset::arrays::NpzReader;
use deepconcolic_dataset::write::{AtomicFile, NpzWriter};
use deepconcolic_geometry::Domain;

use crate::adversarial::{AnswerColumns, Drawn, Gallery, draw_gallery};
use crate::error::ArchiveError;

/// The arrays of all nearest adversarial inputs.
pub const NEAREST_ADVERSARIAL_TABLE: &str = "nearest.npz";
/// How the file of a certificate ends.
const CERTIFICATE: &str = "certificate";

/// `nearest.npz` in the folder, a row a seed.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct NearestAdversarialTable {
    /// The inputs, one after the other.
    pub x: Vec<f32>,
    /// The seeds, by their numbers in the data.
    pub root: Vec<i64>,
    /// How far each input is from its seed.
    pub distance: Vec<f64>,
    /// The classes they should have (`y`); empty where the answer is a quantity.
    pub classes: Vec<i64>,
    /// The quantities they should have (`y`); empty where the answer is a class.
    pub quantities: Vec<f64>,
    /// The classes the network gives them, -1 where its answer is no class.
    pub label: Vec<i64>,
    /// How sure the network says it is of that class; empty where it does not say.
    pub confidence: Vec<f32>,
    /// The quantities the network gives them; empty where the answer is a class.
    pub output: Vec<f64>,
    /// The references they were judged by, by their numbers, and how far those are.
    pub reference: Vec<i64>,
    /// How far those are.
    pub reference_distance: Vec<f64>,
    /// The adversarial test of the suite that is nearest to the same seed.
    pub test: Vec<i64>,
    /// No input of the domain that is at most so far from the seed has another answer than the seed; NaN where
    /// nothing is known.
    pub bound: Vec<f64>,
    /// The certificate that shows it, by its number in the folder; -1 where nothing does.
    pub certificate: Vec<i64>,
}

impl NearestAdversarialTable {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.root.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.root.is_empty()
    }

    /// The input of a row, of so many elements.
    pub fn input(&self, row: usize, elements: usize) -> &[f32] {
        &self.x[row * elements..(row + 1) * elements]
    }

    fn picture(&self, row: usize) -> String {
        let root = self.root[row];
        match self.classes.get(row) {
            Some(truth) => format!("{root:06}-{truth}-as-{}.png", self.label[row]),
            None => format!("{root:06}.png"),
        }
    }

    /// Their pictures; the folder is for messages.
    pub fn draw(
        &self,
        folder: &Path,
        shape: &[usize],
        domain: &Domain,
    ) -> Result<Drawn, ArchiveError> {
        let elements: usize = shape.iter().product();
        let rows = 0..self.len();
        let gallery = Gallery {
            pictures: rows
                .map(|row| (self.picture(row), self.input(row, elements)))
                .collect(),
            what: "nearest adversarial inputs",
            table: "nearest-adversarial/nearest.npz",
        };
        draw_gallery(folder, &gallery, shape, domain)
    }

    /// Reads it back; `elements` is the size of one input.
    pub fn read(path: &Path, elements: usize) -> Result<Self, ArchiveError> {
        let mut file = NpzReader::open(path)?;
        let answers = AnswerColumns::read(&mut file)?;
        let table = Self {
            x: file.read("x")?.values,
            root: file.read("root")?.values,
            distance: file.read("distance")?.values,
            label: file.read("label")?.values,
            reference: file.read("reference")?.values,
            reference_distance: file.read("reference_distance")?.values,
            test: file.read("test")?.values,
            bound: file.read("bound")?.values,
            certificate: file.read("certificate")?.values,
            classes: answers.classes,
            quantities: answers.quantities,
            output: answers.output,
            confidence: answers.confidence,
        };
        if table.fits(elements) {
            Ok(table)
        } else {
            let detail =
                format!("its arrays do not fit each other or inputs of {elements} elements");
            Err(ArchiveError::damaged(path, detail))
        }
    }

    fn fits(&self, elements: usize) -> bool {
        let rows = self.len();
        let columns = [
            self.distance.len(),
            self.label.len(),
            self.reference.len(),
            self.reference_distance.len(),
            self.test.len(),
            self.bound.len(),
            self.certificate.len(),
        ];
        let answers = if self.output.is_empty() {
            self.classes.len() == rows
        } else {
            self.output.len() == self.quantities.len()
                && self.output.len().is_multiple_of(rows.max(1))
        };
        let sure = [0, rows].contains(&self.confidence.len());
        columns.iter().all(|&length| length == rows)
            && sure
            && answers
            && self.x.len() == rows * elements
    }

    fn write(&self, path: &Path, shape: &[usize]) -> Result<(), ArchiveError> {
        let count = self.len();
        let mut whole = vec![count];
        whole.extend(shape);
        let mut file = NpzWriter::create(path)?;
        file.add("x", &whole, &self.x)?;
        file.add("root", &[count], &self.root)?;
        file.add("distance", &[count], &self.distance)?;
        if self.output.is_empty() {
            file.add("y", &[count], &self.classes)?;
        } else {
            let wide = [count, self.output.len() / count.max(1)];
            file.add("y", &wide, &self.quantities)?;
            file.add("output", &wide, &self.output)?;
        }
        file.add("label", &[count], &self.label)?;
        if !self.confidence.is_empty() {
            file.add("confidence", &[count], &self.confidence)?;
        }
        file.add("reference", &[count], &self.reference)?;
        file.add("reference_distance", &[count], &self.reference_distance)?;
        file.add("test", &[count], &self.test)?;
        file.add("bound", &[count], &self.bound)?;
        file.add("certificate", &[count], &self.certificate)?;
        Ok(file.finish()?)
    }
}

/// The name of a certificate in the folder.
pub fn nearest_certificate_name(number: usize) -> String {
    format!("{number:05}.{CERTIFICATE}")
}

/// Writes the folder anew: the table, a picture of each input where inputs are pictures, and the certificates of the
/// lower bounds in the order of their numbers. Without inputs there is no folder.
pub fn write_nearest_adversarial(
    folder: &Path,
    table: &NearestAdversarialTable,
    drawn: &Drawn,
    certificates: &[Vec<u8>],
    shape: &[usize],
) -> Result<(), ArchiveError> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(ArchiveError::io(folder, "replace"))?;
    }
    if table.is_empty() {
        return Ok(());
    }
    fs::create_dir_all(folder).map_err(ArchiveError::io(folder, "create"))?;
    table.write(&folder.join(NEAREST_ADVERSARIAL_TABLE), shape)?;
    let numbered = certificates.iter().enumerate();
    let numbered = numbered.map(|(number, bytes)| (nearest_certificate_name(number), bytes));
    let pictures = drawn.pictures.iter();
    let pictures = pictures.map(|(name, contents)| (name.clone(), contents));
    for (name, contents) in pictures.chain(numbered) {
        let path = folder.join(name);
        let mut file = AtomicFile::create(&path)?;
        file.write_all(contents)
            .map_err(ArchiveError::io(&path, "write"))?;
        file.commit()?;
    }
    Ok(())
}
