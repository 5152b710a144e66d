//! Numbers to bytes and back. A file is hostile: lengths are compared with what is left of it
//! before memory is taken.

use crate::error::Rejection;

/// Bytes being written.
#[derive(Debug, Default)]
pub(crate) struct Writer(pub Vec<u8>);

impl Writer {
    pub fn raw(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    /// Seven bits a byte, lowest first.
    pub fn count(&mut self, mut count: u64) {
        while count >= 0x80 {
            self.byte((count & 0x7f) as u8 | 0x80);
            count >>= 7;
        }
        self.byte(count as u8);
    }

    pub fn double(&mut self, number: f64) {
        self.raw(&number.to_le_bytes());
    }

    pub fn single(&mut self, number: f32) {
        self.raw(&number.to_le_bytes());
    }
}

/// Bytes being read.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn raw(&mut self, length: usize) -> Result<&'a [u8], Rejection> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or_else(short)?;
        self.rest = rest;
        Ok(taken)
    }

    pub fn byte(&mut self) -> Result<u8, Rejection> {
        Ok(self.raw(1)?[0])
    }

    pub fn count(&mut self) -> Result<u64, Rejection> {
        let mut count = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            count |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(count);
            }
        }
        Err(Rejection::Format("a number is too large".into()))
    }

    pub fn index(&mut self) -> Result<u32, Rejection> {
        u32::try_from(self.count()?).map_err(|_| Rejection::Format("an index is too large".into()))
    }

    /// How many items of at least so many bytes follow.
    pub fn length(&mut self, least: usize) -> Result<usize, Rejection> {
        let length = usize::try_from(self.count()?).map_err(|_| short())?;
        let bytes = length.checked_mul(least).ok_or_else(short)?;
        if bytes > self.rest.len() {
            return Err(short());
        }
        Ok(length)
    }

    pub fn double(&mut self) -> Result<f64, Rejection> {
        let bytes = self.raw(8)?;
        Ok(f64::from_le_bytes(bytes.try_into().map_err(|_| short())?))
    }

    pub fn single(&mut self) -> Result<f32, Rejection> {
        let bytes = self.raw(4)?;
        Ok(f32::from_le_bytes(bytes.try_into().map_err(|_| short())?))
    }
}

fn short() -> Rejection {
    Rejection::Format("the file ends too early".into())
}
