//! The header of an npy array: magic, version, and a Python dictionary in text.
//!
//! The dictionary is read with a cursor and no recursion, so that no text, however nested, can exhaust
//! the stack.

use std::io::Read;

use super::dtype::{Dtype, Scalar};
use crate::error::{ArrayError, excerpt};
use crate::shape::{Shape, element_count};

/// What numpy itself is willing to parse is 10,000; text beyond this is an attack or noise.
const LONGEST_TEXT: usize = 1 << 16;
/// numpy's own limit on the number of axes.
const MAX_AXES: usize = 64;

/// What the header of an array declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    pub dtype: Dtype,
    pub fortran_order: bool,
    pub shape: Vec<usize>,
}

impl Header {
    /// Reads a header and leaves the reader at the first element; also gives the bytes it took.
    pub(crate) fn read(reader: &mut impl Read) -> Result<(Self, usize), ArrayError> {
        let mut start = [0; 8];
        reader.read_exact(&mut start)?;
        if &start[..6] != b"\x93NUMPY" {
            return Err(broken("these are not the bytes of a numpy array"));
        }
        let (length, field) = match start[6] {
            1 => {
                let mut bytes = [0; 2];
                reader.read_exact(&mut bytes)?;
                (usize::from(u16::from_le_bytes(bytes)), bytes.len())
            }
            2 | 3 => {
                let mut bytes = [0; 4];
                reader.read_exact(&mut bytes)?;
                (u32::from_le_bytes(bytes) as usize, bytes.len())
            }
            version => return Err(broken(&format!("unknown npy version {version}"))),
        };
        if length > LONGEST_TEXT {
            return Err(broken(&format!("{length} bytes of header text")));
        }
        let mut text = vec![0; length];
        reader.read_exact(&mut text)?;
        let text = str::from_utf8(&text).map_err(|_| broken("the text is not UTF-8"))?;
        Ok((Self::parse(text)?, start.len() + field + length))
    }

    fn parse(text: &str) -> Result<Self, ArrayError> {
        let mut cursor = Cursor { rest: text };
        let (mut dtype, mut fortran_order, mut shape) = (None, None, None);
        cursor.expect('{')?;
        while !cursor.eat('}') {
            let key = cursor.string()?;
            cursor.expect(':')?;
            match key {
                "descr" => dtype = Some(cursor.dtype()?),
                "fortran_order" => fortran_order = Some(cursor.boolean()?),
                "shape" => shape = Some(cursor.shape()?),
                _ => return Err(broken(&format!("unknown key {}", excerpt(key)))),
            }
            if !cursor.eat(',') {
                cursor.expect('}')?;
                break;
            }
        }
        let missing = |key: &str| broken(&format!("no '{key}'"));
        Ok(Self {
            dtype: dtype.ok_or_else(|| missing("descr"))?,
            fortran_order: fortran_order.ok_or_else(|| missing("fortran_order"))?,
            shape: shape.ok_or_else(|| missing("shape"))?,
        })
    }

    /// Number of elements, once it is certain that `available` bytes could hold them all.
    pub(crate) fn count_within(&self, available: u64) -> Result<usize, ArrayError> {
        let needed = |count: usize| count as u128 * self.dtype.scalar.size() as u128;
        match element_count(&self.shape) {
            Some(count) if needed(count) <= u128::from(available) => Ok(count),
            count => Err(ArrayError::TooLarge {
                shape: Shape(&self.shape).to_string(),
                needed: count.map_or(u128::MAX, needed),
                available,
            }),
        }
    }

    /// Whether the elements are bytes, which are kept as they are.
    pub(crate) fn is_u8(&self) -> bool {
        self.dtype.scalar == Scalar::U8
    }
}

fn broken(detail: &str) -> ArrayError {
    ArrayError::Header(detail.to_owned())
}

/// Reads Python literals from the front of a text; space between them does not matter.
struct Cursor<'a> {
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    fn eat(&mut self, symbol: char) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(symbol) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, symbol: char) -> Result<(), ArrayError> {
        if self.eat(symbol) {
            Ok(())
        } else {
            let found = excerpt(self.rest);
            Err(broken(&format!("expected {symbol:?}, found {found}")))
        }
    }

    fn string(&mut self) -> Result<&'a str, ArrayError> {
        let quote = if self.eat('"') {
            '"'
        } else {
            self.expect('\'')?;
            '\''
        };
        let (string, rest) = self
            .rest
            .split_once(quote)
            .ok_or_else(|| broken("a string does not end"))?;
        self.rest = rest;
        Ok(string)
    }

    fn dtype(&mut self) -> Result<Dtype, ArrayError> {
        if self.eat('[') {
            return Err(ArrayError::Unsupported {
                descr: "record".to_owned(),
                reason: "each element has several fields",
            });
        }
        Dtype::parse(self.string()?)
    }

    fn boolean(&mut self) -> Result<bool, ArrayError> {
        self.rest = self.rest.trim_start();
        for (word, value) in [("False", false), ("True", true)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(broken("'fortran_order' is neither True nor False"))
    }

    fn shape(&mut self) -> Result<Vec<usize>, ArrayError> {
        self.expect('(')?;
        let mut shape = Vec::new();
        while !self.eat(')') {
            if shape.len() == MAX_AXES {
                return Err(broken("more axes than numpy allows"));
            }
            shape.push(self.size()?);
            if !self.eat(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(shape)
    }

    fn size(&mut self) -> Result<usize, ArrayError> {
        self.rest = self.rest.trim_start();
        let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = self.rest.split_at(digits);
        // Python 2 wrote long integers as 10L.
        self.rest = rest.strip_prefix('L').unwrap_or(rest);
        number
            .parse()
            .map_err(|_| broken("'shape' holds something other than sizes"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_numpy_writes_is_read() {
        let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }      \n";
        let header = Header::parse(text).unwrap();
        assert_eq!(header.dtype, Dtype::parse("<f4").unwrap());
        assert_eq!(header.shape, [3, 4]);
        assert!(!header.fortran_order);
    }

    #[test]
    fn variants_other_writers_use_are_read() {
        let text = "{\"shape\":(10L,),\"fortran_order\":True,\"descr\":\">i8\"}";
        let header = Header::parse(text).unwrap();
        assert!(header.fortran_order && header.dtype.big_endian);
        assert_eq!(header.shape, [10]);
        let scalar = "{'descr': '|u1', 'fortran_order': False, 'shape': ()}";
        assert!(Header::parse(scalar).unwrap().shape.is_empty());
    }

    #[test]
    fn broken_text_is_an_error() {
        for text in [
            "",
            "{",
            "{}",
            "{'descr': '<f4'}",
            "{'descr': '<f4', 'fortran_order': Maybe, 'shape': ()}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3 4)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
            "{'descr': '<f4, 'fortran_order': False, 'shape': ()}",
        ] {
            assert!(Header::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn records_are_refused_by_name() {
        let text = "{'descr': [('a', '<i4'), ('b', '<f8')], 'fortran_order': False, 'shape': (2,)}";
        assert!(matches!(
            Header::parse(text),
            Err(ArrayError::Unsupported { .. })
        ));
    }

    #[test]
    fn a_header_that_claims_a_long_text_takes_no_memory() {
        let mut bytes = b"\x93NUMPY\x02\x00".to_vec();
        bytes.extend(u32::MAX.to_le_bytes());
        let result = Header::read(&mut &bytes[..]);
        assert!(matches!(result, Err(ArrayError::Header(_))));
    }

    #[test]
    fn a_claim_beyond_the_file_is_refused() {
        let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 1000000)}";
        let header = Header::parse(text).unwrap();
        assert!(matches!(
            header.count_within(100),
            Err(ArrayError::TooLarge { .. })
        ));
        let text =
            "{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999999, 9999999999999)}";
        assert!(Header::parse(text).unwrap().count_within(100).is_err());
    }
}
