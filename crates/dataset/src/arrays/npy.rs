//! One array: header, size check, values. The same path serves npy files, members of an npz, and IDX.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use super::decode::{fortran_to_c, read_values};
use super::{Codec, Element, Header};
use crate::error::{ArrayError, DatasetError};
use crate::shape::Shape;

/// An array in memory, C order.
#[derive(Debug, Clone, PartialEq)]
pub struct Array<T> {
    /// Size of each axis.
    pub shape: Vec<usize>,
    /// The elements, the last axis fastest.
    pub values: Vec<T>,
}

/// Reads a `.npy` file, converting its numbers to `T`.
pub fn read_npy<T: Element>(path: &Path) -> Result<Array<T>, DatasetError> {
    ArraySource::open(path)?
        .read(None)
        .map_err(|problem| problem.in_file(path))
}

/// The most bytes that so many deflated bytes can become: deflate's densest code spends two bits on 258
/// bytes. It bounds what a compressed file can claim before it is decompressed.
pub(crate) fn inflated_at_most(compressed: u64) -> u64 {
    compressed.saturating_mul(1032)
}

/// An array whose header is read and whose elements come next.
pub(crate) struct ArraySource<R> {
    pub reader: R,
    pub header: Header,
    /// The most bytes of elements the file can give.
    pub available: u64,
}

impl ArraySource<BufReader<File>> {
    /// Opens a `.npy` file.
    pub(crate) fn open(path: &Path) -> Result<Self, DatasetError> {
        let file = File::open(path).map_err(DatasetError::reading(path))?;
        let length = file.metadata().map_err(DatasetError::reading(path))?.len();
        Self::new(BufReader::new(file), length).map_err(|problem| problem.in_file(path))
    }
}

impl<R: Read> ArraySource<R> {
    /// Reads an npy header from a reader that can give at most `available` bytes in all.
    pub(crate) fn new(mut reader: R, available: u64) -> Result<Self, ArrayError> {
        let (header, taken) = Header::read(&mut reader)?;
        Ok(Self {
            reader,
            header,
            available: available.saturating_sub(taken as u64),
        })
    }

    /// Reads an array of one axis part by part, and says how long it is.
    pub(crate) fn read_in_parts<T: Codec>(
        mut self,
        take: &mut dyn FnMut(&[T]),
    ) -> Result<usize, ArrayError> {
        let count = self.header.count_within(self.available)?;
        T::decode(&mut self.reader, self.header.dtype, count, take)?;
        expect_end(&mut self.reader, &self.header.shape)?;
        Ok(count)
    }

    /// Reads the array, or with `rows` at most so many entries of its first axis.
    pub(crate) fn read<T: Codec>(mut self, rows: Option<usize>) -> Result<Array<T>, ArrayError> {
        let count = self.header.count_within(self.available)?;
        let mut shape = self.header.shape;
        let dtype = self.header.dtype;
        let kept_rows = rows.filter(|&rows| shape.first().is_some_and(|&all| rows < all));
        let row = count / shape.first().copied().unwrap_or(1).max(1);
        let wanted = match kept_rows {
            // Only in C order are the first rows the first bytes.
            Some(rows) if !self.header.fortran_order => rows * row,
            _ => count,
        };
        let mut values = read_values(&mut self.reader, dtype, wanted)?;
        if wanted == count {
            expect_end(&mut self.reader, &shape)?;
        }
        if self.header.fortran_order {
            values = fortran_to_c(values, &shape)?;
        }
        if let Some(rows) = kept_rows {
            values.truncate(rows * row);
            shape[0] = rows;
        }
        Ok(Array { shape, values })
    }
}

/// Asks for one byte more. There must be none; and reaching the end is what makes a zip member or a gz
/// stream check its checksum.
fn expect_end(reader: &mut impl Read, shape: &[usize]) -> Result<(), ArrayError> {
    let mut byte = [0];
    loop {
        match reader.read(&mut byte) {
            Ok(0) => return Ok(()),
            Ok(_) => return Err(ArrayError::Trailing(Shape(shape).to_string())),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `header` as numpy would frame it, then `body`.
    fn npy(header: &str, body: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(body);
        bytes
    }

    fn read<T: Codec>(bytes: &[u8], rows: Option<usize>) -> Result<Array<T>, ArrayError> {
        ArraySource::new(bytes, bytes.len() as u64)?.read(rows)
    }

    const SMALL: &str = "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 2), }";
    const FORTRAN: &str = "{'descr': '|u1', 'fortran_order': True, 'shape': (3, 2), }";

    #[test]
    fn rows_limit_what_is_read() {
        let bytes = npy(SMALL, &[1, 2, 3, 4, 5, 6]);
        let array: Array<u8> = read(&bytes, Some(2)).unwrap();
        assert_eq!((array.shape, array.values), (vec![2, 2], vec![1, 2, 3, 4]));
        let array: Array<u8> = read(&bytes, Some(9)).unwrap();
        assert_eq!(array.shape, [3, 2]);
    }

    #[test]
    fn rows_limit_fortran_order_too() {
        let bytes = npy(FORTRAN, &[1, 3, 5, 2, 4, 6]);
        let array: Array<u8> = read(&bytes, Some(2)).unwrap();
        assert_eq!((array.shape, array.values), (vec![2, 2], vec![1, 2, 3, 4]));
    }

    #[test]
    fn a_claim_of_a_million_million_elements_takes_no_memory() {
        let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }";
        let result = read::<f32>(&npy(header, &[0; 30]), None);
        assert!(matches!(result, Err(ArrayError::TooLarge { .. })));
    }

    #[test]
    fn bytes_after_the_array_are_an_error() {
        let result = read::<u8>(&npy(SMALL, &[1, 2, 3, 4, 5, 6, 7]), None);
        assert!(matches!(result, Err(ArrayError::Trailing(_))));
    }

    #[test]
    fn an_empty_axis_before_a_huge_one_is_empty() {
        let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (0, 99), }";
        let array: Array<u8> = read(&npy(header, &[]), Some(1)).unwrap();
        assert!(array.values.is_empty());
    }
}
