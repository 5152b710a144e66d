//! A column of a table in which most rows are blank: as long as all are, it takes no memory. A table of the
//! sections of a large network has tens of millions of rows.

use std::ops::{Index, IndexMut};

use deepconcolic_dataset::DatasetError;
use deepconcolic_dataset::arrays::{Element, NpzReader};
use deepconcolic_dataset::write::NpzWriter;

use crate::error::ArchiveError;

/// Numbers, row by row.
#[derive(Clone, Debug)]
pub struct Column<T> {
    blank: T,
    rows: usize,
    /// One for each row, or none if all are blank.
    values: Vec<T>,
}

/// Whether two numbers are the same, as numbers that are none are too.
#[expect(clippy::eq_op, reason = "what differs from itself is no number")]
fn same<T: PartialEq>(a: &T, b: &T) -> bool {
    a == b || (a != a && b != b)
}

impl<T: Copy + PartialEq> Column<T> {
    /// Without rows.
    pub fn new(blank: T) -> Self {
        Self {
            blank,
            rows: 0,
            values: Vec::new(),
        }
    }

    /// So many rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Adds a row.
    pub fn push(&mut self, value: T) {
        let spelled_out = !self.values.is_empty();
        if spelled_out || !same(&value, &self.blank) {
            self.spell_out();
            self.values.push(value);
        }
        self.rows += 1;
    }

    /// Adds so many blank rows.
    pub fn push_blank(&mut self, rows: usize) {
        self.rows += rows;
        if !self.values.is_empty() {
            self.spell_out();
        }
    }

    /// Takes the last row out.
    pub fn pop(&mut self) {
        self.values.pop();
        self.rows = self.rows.saturating_sub(1);
    }

    /// The rows, first to last.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        let blank = std::iter::repeat_n(self.blank, self.rows - self.values.len());
        self.values.iter().copied().chain(blank)
    }

    /// Whether all rows are blank, as far as that is known without looking at each.
    pub fn is_blank(&self) -> bool {
        self.values.is_empty()
    }

    /// The first row of which this holds.
    pub fn position(&self, mut holds: impl FnMut(T) -> bool) -> Option<usize> {
        if self.is_blank() {
            return (self.rows > 0 && holds(self.blank)).then_some(0);
        }
        self.values.iter().position(|&value| holds(value))
    }

    /// Some rows, in the order given.
    #[must_use]
    pub fn pick(&self, rows: &[usize]) -> Self {
        let mut picked = Self::new(self.blank);
        for &row in rows {
            picked.push(self[row]);
        }
        picked
    }

    fn spell_out(&mut self) {
        self.values.resize(self.rows, self.blank);
    }
}

impl<T: Copy + PartialEq> Index<usize> for Column<T> {
    type Output = T;

    fn index(&self, row: usize) -> &T {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        self.values.get(row).unwrap_or(&self.blank)
    }
}

impl<T: Copy + PartialEq> IndexMut<usize> for Column<T> {
    fn index_mut(&mut self, row: usize) -> &mut T {
        self.spell_out();
        &mut self.values[row]
    }
}

impl<T: Copy + PartialEq> PartialEq for Column<T> {
    fn eq(&self, other: &Self) -> bool {
        self.rows == other.rows && self.iter().zip(other.iter()).all(|(a, b)| same(&a, &b))
    }
}

impl<T: Element + Copy + PartialEq> Column<T> {
    /// Writes it as an array of an archive.
    pub(crate) fn write(&self, file: &mut NpzWriter, name: &str) -> Result<(), DatasetError> {
        if self.values.is_empty() {
            file.add_repeated(name, self.rows, self.blank)
        } else {
            file.add(name, &[self.rows], &self.values)
        }
    }

    /// Reads it back.
    pub(crate) fn read(file: &mut NpzReader, name: &str, blank: T) -> Result<Self, ArchiveError> {
        let mut column = Self::new(blank);
        file.read_in_parts(name, &mut |part: &[T]| {
            if part.iter().all(|value| same(value, &blank)) {
                column.push_blank(part.len());
            } else {
                column.spell_out();
                column.values.extend_from_slice(part);
                column.rows += part.len();
            }
        })?;
        Ok(column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_what_was_pushed_and_blank_rows_take_no_memory() {
        let mut column = Column::new(f32::NAN);
        for _ in 0..1000 {
            column.push(f32::NAN);
        }
        assert!(column.values.capacity() == 0 && column.len() == 1000);
        assert!(column.is_blank() && column.iter().filter(|value| value.is_nan()).count() == 1000);
        assert_eq!(column.position(f32::is_nan), Some(0));
        assert_eq!(Column::new(0).position(|_| true), None);
        assert!(column[999].is_nan());
        column.push(2.0);
        column.push(f32::NAN);
        assert_eq!(column[1000].to_bits(), 2f32.to_bits());
        assert!(column[3].is_nan() && column[1001].is_nan());
        column[3] = 1.0;
        column.push_blank(2);
        assert!(column.len() == 1004 && column[1003].is_nan());
        column.pop();
        column.pop();
        let picked = column.pick(&[1000, 3, 4]);
        assert_eq!(picked.len(), 3);
        assert!(picked[2].is_nan());
        assert!(column == column.clone() && column != picked);
        assert_eq!(column.position(|value| value > 1.5), Some(1000));
        assert_eq!(column.position(|value| value > 2.5), None);
        column.pop();
        assert_eq!(column.len(), 1001);
    }

    #[test]
    fn blank_columns_are_written_as_any_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npz");
        let mut all_blank = Column::new(-1i64);
        (0..20_000).for_each(|_| all_blank.push(-1));
        let mut one_set = all_blank.clone();
        one_set[17] = 4;
        let mut file = NpzWriter::create(&path).unwrap();
        all_blank.write(&mut file, "a").unwrap();
        one_set.write(&mut file, "b").unwrap();
        file.finish().unwrap();
        let mut file = NpzReader::open(&path).unwrap();
        assert_eq!(file.read::<i64>("a").unwrap().values, vec![-1; 20_000]);
        assert!(Column::read(&mut file, "a", -1).unwrap() == all_blank);
        assert!(Column::read(&mut file, "b", -1).unwrap() == one_set);
    }
}
