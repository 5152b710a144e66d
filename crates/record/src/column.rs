//! A column of a table in which most rows are blank: as long as all are, it takes no memory. A table of the
//! sections of a large network has tens of millions of rows.

use std::ops::{Index, IndexMut};

use deepconcolic_dataset::DatasetError;
use deepconcolic_dataset::arrays::{Element, NpzReader};
use deepconcolic_dataset::write::NpzWriter;

use crate::error::ArchiveError;

/// Rows of a page.
const PAGE: usize = 8192;

/// Numbers, row by row.
#[derive(Clone, Debug)]
pub struct Column<T> {
    blank: T,
    rows: usize,
    /// The rows in pages, each with a number for every row it has, or without any where all are blank; pages that are
    /// missing at the end are blank.
    pages: Vec<Vec<T>>,
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
            pages: Vec::new(),
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
        self.push_part(&[value]);
    }

    /// Adds so many blank rows.
    pub fn push_blank(&mut self, rows: usize) {
        let last = self.rows / PAGE;
        self.rows += rows;
        if self.is_spelled_out(last) {
            self.spell_out(last);
        }
    }

    /// Takes the last row out.
    pub fn pop(&mut self) {
        let Some(last) = self.rows.checked_sub(1) else {
            return;
        };
        self.rows = last;
        if let Some(page) = self.pages.get_mut(last / PAGE) {
            page.pop();
        }
    }

    /// The rows, first to last.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        self.parts().flat_map(|(rows, values)| {
            let blank = std::iter::repeat_n(self.blank, rows - values.len());
            values.iter().copied().chain(blank)
        })
    }

    /// Whether all rows are blank, as far as that is known without looking at each.
    pub fn is_blank(&self) -> bool {
        self.pages.iter().all(Vec::is_empty)
    }

    /// The first row of which this holds.
    pub fn position(&self, mut holds: impl FnMut(T) -> bool) -> Option<usize> {
        let is_of_blank = holds(self.blank);
        let mut before = 0;
        for (rows, values) in self.parts() {
            let found = if values.is_empty() {
                is_of_blank.then_some(0)
            } else {
                values.iter().position(|&value| holds(value))
            };
            if let Some(row) = found {
                return Some(before + row);
            }
            before += rows;
        }
        None
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

    /// Page by page: how many rows, and their numbers, none if all are blank.
    fn parts(&self) -> impl Iterator<Item = (usize, &[T])> {
        (0..self.rows.div_ceil(PAGE)).map(|page| {
            let values = self.pages.get(page).map_or(&[][..], Vec::as_slice);
            (self.rows_of(page), values)
        })
    }

    /// Adds rows.
    fn push_part(&mut self, mut part: &[T]) {
        while !part.is_empty() {
            let page = self.rows / PAGE;
            let (now, later) = part.split_at(part.len().min(PAGE - self.rows % PAGE));
            if !self.is_spelled_out(page) && now.iter().all(|value| same(value, &self.blank)) {
                self.rows += now.len();
            } else {
                self.spell_out(page);
                self.pages[page].extend_from_slice(now);
                self.rows += now.len();
            }
            part = later;
        }
    }

    fn is_spelled_out(&self, page: usize) -> bool {
        self.pages.get(page).is_some_and(|page| !page.is_empty())
    }

    fn rows_of(&self, page: usize) -> usize {
        self.rows.saturating_sub(page * PAGE).min(PAGE)
    }

    fn spell_out(&mut self, page: usize) {
        let rows = self.rows_of(page);
        if self.pages.len() <= page {
            self.pages.resize(page + 1, Vec::new());
        }
        self.pages[page].resize(rows, self.blank);
    }
}

impl<T: Copy + PartialEq> Index<usize> for Column<T> {
    type Output = T;

    fn index(&self, row: usize) -> &T {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        let page = self.pages.get(row / PAGE);
        page.and_then(|page| page.get(row % PAGE))
            .unwrap_or(&self.blank)
    }
}

impl<T: Copy + PartialEq> IndexMut<usize> for Column<T> {
    fn index_mut(&mut self, row: usize) -> &mut T {
        self.spell_out(row / PAGE);
        &mut self.pages[row / PAGE][row % PAGE]
    }
}

impl<T: Copy + PartialEq> PartialEq for Column<T> {
    fn eq(&self, other: &Self) -> bool {
        self.rows == other.rows && self.iter().zip(other.iter()).all(|(a, b)| same(&a, &b))
    }
}

impl<T: Copy + PartialEq> Column<T> {
    /// Writes it as an array of an archive, whose numbers may be of a wider type.
    pub(crate) fn write<W: Element + Copy + From<T>>(
        &self,
        file: &mut NpzWriter,
        name: &str,
    ) -> Result<(), DatasetError> {
        if self.is_blank() {
            return file.add_repeated(name, self.rows, W::from(self.blank));
        }
        let mut parts = self.parts();
        file.add_in_parts(name, self.rows, &mut |wide: &mut Vec<W>| {
            if let Some((rows, values)) = parts.next() {
                wide.extend(values.iter().map(|&value| W::from(value)));
                wide.resize(rows, W::from(self.blank));
            }
        })
    }

    /// Reads it back.
    pub(crate) fn read<W: Element + Copy>(
        file: &mut NpzReader,
        name: &str,
        blank: T,
        narrow: impl Fn(W) -> T,
    ) -> Result<Self, ArchiveError> {
        let mut column = Self::new(blank);
        let mut narrowed = Vec::new();
        file.read_in_parts(name, &mut |part: &[W]| {
            narrowed.clear();
            narrowed.extend(part.iter().map(|&value| narrow(value)));
            column.push_part(&narrowed);
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
        assert!(column.pages.is_empty() && column.len() == 1000);
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
    fn pages_hold_what_one_list_would() {
        let mut column = Column::new(-1);
        let mut list: Vec<i32> = Vec::new();
        let mut state = 7u64;
        let mut next = |below: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as usize % below
        };
        for _ in 0..400 {
            match next(6) {
                0 => {
                    let rows = next(2 * PAGE);
                    column.push_blank(rows);
                    list.resize(list.len() + rows, -1);
                }
                1 => {
                    let part: Vec<i32> = (0..next(300)).map(|n| n as i32 - 1).collect();
                    column.push_part(&part);
                    list.extend(part);
                }
                2 => {
                    column.pop();
                    list.pop();
                }
                _ if !list.is_empty() => {
                    let row = next(list.len());
                    column[row] = row as i32;
                    list[row] = row as i32;
                }
                _ => {}
            }
        }
        assert!(list.len() > 10 * PAGE && column.len() == list.len());
        assert!(column.iter().eq(list.iter().copied()));
        assert!((0..list.len()).all(|row| column[row] == list[row]));
        for wanted in [-1, 0, 3 * PAGE as i32, i32::MAX] {
            let found = list.iter().position(|&value| value == wanted);
            assert_eq!(column.position(|value| value == wanted), found);
        }
    }

    #[test]
    fn blank_columns_are_written_as_any_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npz");
        let mut all_blank = Column::new(-1);
        (0..20_000).for_each(|_| all_blank.push(-1));
        let mut one_set = all_blank.clone();
        one_set[17] = 4;
        let mut file = NpzWriter::create(&path).unwrap();
        all_blank.write::<i64>(&mut file, "a").unwrap();
        one_set.write::<i64>(&mut file, "b").unwrap();
        file.finish().unwrap();
        let mut file = NpzReader::open(&path).unwrap();
        assert_eq!(file.read::<i64>("a").unwrap().values, vec![-1; 20_000]);
        let narrow = |n: i64| n as i32;
        assert!(Column::read(&mut file, "a", -1, narrow).unwrap() == all_blank);
        assert!(Column::read(&mut file, "b", -1, narrow).unwrap() == one_set);
        assert!(
            one_set.is_blank()
                || one_set
                    .parts()
                    .filter(|(_, values)| !values.is_empty())
                    .count()
                    == 1
        );
    }
}
