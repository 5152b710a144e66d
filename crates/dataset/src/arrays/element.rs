//! The element types a caller can read and write, and how file values become them.

use std::io::Read;

use super::Dtype;
use super::decode::read_in_parts;
use crate::error::ArrayError;

/// A type that arrays can be read into and written from: `f32`, `f64`, `i64` or `u8`.
///
/// Reading converts from whatever number type the file has. Floats round to the nearest; an integer is
/// only made from a value that is one (`3.0`, not `2.5`) and fits.
pub trait Element: Codec {}

impl<T: Codec> Element for T {}

/// The conversions behind [`Element`]; unnameable outside the crate, which seals it.
pub trait Codec: Copy + Send + Sync + 'static {
    /// The type as a numpy header spells it, little endian.
    const DESCR: &'static str;
    /// What a value must be to be converted, for error messages.
    const EXPECTED: &'static str;
    /// The bytes of one element.
    type Bytes: AsRef<[u8]>;

    /// Little-endian bytes.
    fn encode(self) -> Self::Bytes;
    /// From any signed integer of a file.
    fn from_signed(value: i64) -> Option<Self>;
    /// From any unsigned integer (or bool) of a file.
    fn from_unsigned(value: u64) -> Option<Self>;
    /// From any float of a file.
    fn from_float(value: f64) -> Option<Self>;
    /// Reads exactly `count` elements of `dtype`, in file order, and hands them over part by part. No default: a function of
    /// each type is compiled in this crate, once, and not in every crate that reads arrays.
    fn decode(
        reader: &mut dyn Read,
        dtype: Dtype,
        count: usize,
        take: &mut dyn FnMut(&[Self]),
    ) -> Result<(), ArrayError>;
}

/// The body of [`Codec::decode`].
macro_rules! decode {
    () => {
        fn decode(
            reader: &mut dyn Read,
            dtype: Dtype,
            count: usize,
            take: &mut dyn FnMut(&[Self]),
        ) -> Result<(), ArrayError> {
            read_in_parts(reader, dtype, count, take)
        }
    };
}

/// The integer a float is, if it is one. Beyond 2^53 the neighbours of a float are not all integers'
/// floats, so a larger value cannot be trusted to be the number that was meant.
fn exact_integer(value: f64) -> Option<i64> {
    const LIMIT: f64 = 9_007_199_254_740_992.0;
    (value.fract() == 0.0 && value.abs() <= LIMIT).then_some(value as i64)
}

impl Codec for f32 {
    const DESCR: &'static str = "<f4";
    const EXPECTED: &'static str = "a number";
    type Bytes = [u8; 4];

    fn encode(self) -> [u8; 4] {
        self.to_le_bytes()
    }

    fn from_signed(value: i64) -> Option<Self> {
        Some(value as f32)
    }

    fn from_unsigned(value: u64) -> Option<Self> {
        Some(value as f32)
    }

    fn from_float(value: f64) -> Option<Self> {
        Some(value as f32)
    }

    decode!();
}

impl Codec for f64 {
    const DESCR: &'static str = "<f8";
    const EXPECTED: &'static str = "a number";
    type Bytes = [u8; 8];

    fn encode(self) -> [u8; 8] {
        self.to_le_bytes()
    }

    fn from_signed(value: i64) -> Option<Self> {
        Some(value as f64)
    }

    fn from_unsigned(value: u64) -> Option<Self> {
        Some(value as f64)
    }

    fn from_float(value: f64) -> Option<Self> {
        Some(value)
    }

    decode!();
}

impl Codec for i64 {
    const DESCR: &'static str = "<i8";
    const EXPECTED: &'static str = "an integer of 64 bits";
    type Bytes = [u8; 8];

    fn encode(self) -> [u8; 8] {
        self.to_le_bytes()
    }

    fn from_signed(value: i64) -> Option<Self> {
        Some(value)
    }

    fn from_unsigned(value: u64) -> Option<Self> {
        value.try_into().ok()
    }

    fn from_float(value: f64) -> Option<Self> {
        exact_integer(value)
    }

    decode!();
}

impl Codec for u8 {
    const DESCR: &'static str = "|u1";
    const EXPECTED: &'static str = "an integer from 0 to 255";
    type Bytes = [u8; 1];

    fn encode(self) -> [u8; 1] {
        [self]
    }

    fn from_signed(value: i64) -> Option<Self> {
        value.try_into().ok()
    }

    fn from_unsigned(value: u64) -> Option<Self> {
        value.try_into().ok()
    }

    fn from_float(value: f64) -> Option<Self> {
        exact_integer(value)?.try_into().ok()
    }

    decode!();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_made_only_from_integers_that_fit() {
        assert_eq!(i64::from_float(3.0), Some(3));
        assert_eq!(i64::from_float(2.5), None);
        assert_eq!(i64::from_float(f64::NAN), None);
        assert_eq!(i64::from_float(1e300), None);
        assert_eq!(i64::from_unsigned(u64::MAX), None);
        assert_eq!(u8::from_signed(-1), None);
        assert_eq!(u8::from_float(255.0), Some(255));
        assert_eq!(u8::from_float(256.0), None);
    }
}
