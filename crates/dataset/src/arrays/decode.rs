//! From the bytes of an array to values of the type the caller asks for.
//!
//! The code for twelve types of a file is large, so there is one copy for each type of the caller, whatever the reader:
//! readers are asked for thousands of elements at a time, and it costs nothing that they are `dyn`.

use std::fmt;
use std::io::Read;

use super::dtype::{Dtype, Scalar};
use super::{Codec, float16};
use crate::error::ArrayError;

/// Elements converted between two reads.
const CHUNK: usize = 8192;

/// Reads exactly `count` elements of `dtype`, in file order, and not a byte more.
pub(crate) fn read_values<T: Codec>(
    reader: &mut dyn Read,
    dtype: Dtype,
    count: usize,
) -> Result<Vec<T>, ArrayError> {
    let mut values = reserve(count)?;
    T::decode(reader, dtype, count, &mut |part| {
        values.extend_from_slice(part);
    })?;
    Ok(values)
}

/// The same, part by part: what every type's [`Codec::decode`] does.
pub(super) fn read_in_parts<T: Codec>(
    reader: &mut dyn Read,
    dtype: Dtype,
    count: usize,
    take: &mut dyn FnMut(&[T]),
) -> Result<(), ArrayError> {
    let mut items = Items {
        reader,
        count,
        big_endian: dtype.big_endian,
        take,
    };
    match dtype.scalar {
        Scalar::Bool => items.read(|[byte]| Number::Unsigned((byte != 0).into())),
        Scalar::I8 => items.read(|bytes| Number::Signed(i8::from_le_bytes(bytes).into())),
        Scalar::I16 => items.read(|bytes| Number::Signed(i16::from_le_bytes(bytes).into())),
        Scalar::I32 => items.read(|bytes| Number::Signed(i32::from_le_bytes(bytes).into())),
        Scalar::I64 => items.read(|bytes| Number::Signed(i64::from_le_bytes(bytes))),
        Scalar::U8 => items.read(|bytes| Number::Unsigned(u8::from_le_bytes(bytes).into())),
        Scalar::U16 => items.read(|bytes| Number::Unsigned(u16::from_le_bytes(bytes).into())),
        Scalar::U32 => items.read(|bytes| Number::Unsigned(u32::from_le_bytes(bytes).into())),
        Scalar::U64 => items.read(|bytes| Number::Unsigned(u64::from_le_bytes(bytes))),
        Scalar::F16 => {
            items.read(|bytes| Number::Float(float16::from_bits(u16::from_le_bytes(bytes)).into()))
        }
        Scalar::F32 => items.read(|bytes| Number::Float(f32::from_le_bytes(bytes).into())),
        Scalar::F64 => items.read(|bytes| Number::Float(f64::from_le_bytes(bytes))),
    }
}

/// A number of a file.
#[derive(Clone, Copy)]
enum Number {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
}

impl Number {
    /// The same in the type the caller asks for, if that can hold it.
    #[inline]
    fn into_element<T: Codec>(self) -> Option<T> {
        match self {
            Self::Signed(value) => T::from_signed(value),
            Self::Unsigned(value) => T::from_unsigned(value),
            Self::Float(value) => T::from_float(value),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signed(value) => value.fmt(f),
            Self::Unsigned(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
        }
    }
}

struct Items<'a, T> {
    reader: &'a mut dyn Read,
    count: usize,
    big_endian: bool,
    take: &'a mut dyn FnMut(&[T]),
}

impl<T: Codec> Items<'_, T> {
    /// Reads chunk by chunk; `number` is what the bytes of an element stand for.
    fn read<const N: usize>(
        &mut self,
        number: impl Fn([u8; N]) -> Number,
    ) -> Result<(), ArrayError> {
        let size = CHUNK.min(self.count);
        let (mut buffer, mut part) = (vec![0; N * size], Vec::with_capacity(size));
        let mut done = 0;
        while done < self.count {
            let wanted = CHUNK.min(self.count - done);
            let bytes = &mut buffer[..N * wanted];
            self.reader.read_exact(bytes)?;
            part.clear();
            for &item in bytes.as_chunks::<N>().0 {
                let mut item = item;
                if self.big_endian {
                    item.reverse();
                }
                let number = number(item);
                let element = number.into_element();
                part.push(element.ok_or_else(|| ArrayError::Value {
                    index: done + part.len(),
                    value: number.to_string(),
                    expected: T::EXPECTED,
                })?);
            }
            (self.take)(&part);
            done += wanted;
        }
        Ok(())
    }
}

/// An empty vector with room for `count`; running out of memory is an error, not an abort.
fn reserve<T>(count: usize) -> Result<Vec<T>, ArrayError> {
    let mut values = Vec::new();
    values
        .try_reserve_exact(count)
        .map_err(|_| ArrayError::Memory(count as u128 * size_of::<T>() as u128))?;
    Ok(values)
}

/// Reorders values stored with the first axis fastest (Fortran) to the last axis fastest (C).
pub(crate) fn fortran_to_c<T: Copy>(values: Vec<T>, shape: &[usize]) -> Result<Vec<T>, ArrayError> {
    if shape.len() < 2 || values.is_empty() {
        return Ok(values);
    }
    let strides: Vec<usize> = shape
        .iter()
        .scan(1, |stride, &size| {
            let this = *stride;
            *stride *= size;
            Some(this)
        })
        .collect();
    let mut reordered = reserve(values.len())?;
    let mut index = vec![0; shape.len()];
    let mut offset = 0;
    for _ in 0..values.len() {
        reordered.push(values[offset]);
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            offset += strides[axis];
            if index[axis] < shape[axis] {
                break;
            }
            offset -= strides[axis] * shape[axis];
            index[axis] = 0;
        }
    }
    Ok(reordered)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: Codec>(descr: &str, bytes: &[u8]) -> Result<Vec<T>, ArrayError> {
        let dtype = Dtype::parse(descr).unwrap();
        let count = bytes.len() / dtype.scalar.size();
        read_values(&mut &bytes[..], dtype, count)
    }

    #[test]
    fn every_number_type_becomes_f32() {
        assert_eq!(read::<f32>("|b1", &[0, 1, 2]).unwrap(), [0.0, 1.0, 1.0]);
        assert_eq!(read::<f32>("|i1", &[0xff]).unwrap(), [-1.0]);
        assert_eq!(read::<f32>("<i2", &[0xfe, 0xff]).unwrap(), [-2.0]);
        assert_eq!(read::<f32>(">i4", &[0, 0, 1, 0]).unwrap(), [256.0]);
        assert_eq!(read::<f32>(">u2", &[1, 0]).unwrap(), [256.0]);
        assert_eq!(
            read::<f32>("<u8", &u64::MAX.to_le_bytes()).unwrap(),
            [18_446_744_073_709_551_615.0]
        );
        assert_eq!(read::<f32>(">f2", &[0x3c, 0]).unwrap(), [1.0]);
        assert_eq!(
            read::<f32>("<f4", &0.1_f32.to_le_bytes()).unwrap(),
            [0.1_f32]
        );
        assert_eq!(
            read::<f32>(">f8", &0.1_f64.to_be_bytes()).unwrap(),
            [0.1_f32]
        );
    }

    #[test]
    fn a_label_that_is_no_integer_is_named() {
        let bytes: Vec<u8> = [3.0_f32, 2.5]
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect();
        let message = read::<i64>("<f4", &bytes).unwrap_err().to_string();
        assert!(message.starts_with("value 1 is 2.5"), "{message}");
    }

    #[test]
    fn reading_stops_after_the_last_element() {
        let bytes = [1_u8, 2, 3, 4];
        let mut reader = &bytes[..];
        let values: Vec<u8> = read_values(&mut reader, Dtype::parse("|u1").unwrap(), 3).unwrap();
        assert_eq!(values, [1, 2, 3]);
        assert_eq!(reader, [4]);
    }

    #[test]
    fn bytes_that_end_early_are_an_error() {
        let dtype = Dtype::parse("<f8").unwrap();
        let result = read_values::<f32>(&mut &[0_u8; 15][..], dtype, 2);
        assert!(matches!(result, Err(ArrayError::Truncated)));
    }

    #[test]
    fn fortran_order_is_undone() {
        // np.arange(24).reshape(2, 3, 4) stored with order='F'.
        let stored: Vec<usize> = (0..4)
            .flat_map(|k| (0..3).flat_map(move |j| (0..2).map(move |i| 12 * i + 4 * j + k)))
            .collect();
        let expected: Vec<usize> = (0..24).collect();
        assert_eq!(fortran_to_c(stored, &[2, 3, 4]).unwrap(), expected);
    }
}
