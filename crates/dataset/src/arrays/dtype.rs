//! Element types of array files: which there are, and which of numpy's are numbers.

use crate::error::{ArrayError, excerpt};

/// A number type, apart from byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalar {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    F32,
    F64,
}

impl Scalar {
    /// Bytes of one element.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }
}

/// A number type with its byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dtype {
    pub scalar: Scalar,
    pub big_endian: bool,
}

impl Dtype {
    /// Reads numpy's type string: byte order, kind, size; `<f4`.
    pub(crate) fn parse(descr: &str) -> Result<Self, ArrayError> {
        let (order, kind) = match descr.chars().next() {
            Some('<' | '>' | '|' | '=') => descr.split_at(1),
            _ => ("=", descr),
        };
        let scalar = match kind {
            "b1" => Scalar::Bool,
            "i1" => Scalar::I8,
            "i2" => Scalar::I16,
            "i4" => Scalar::I32,
            "i8" => Scalar::I64,
            "u1" => Scalar::U8,
            "u2" => Scalar::U16,
            "u4" => Scalar::U32,
            "u8" => Scalar::U64,
            "f2" => Scalar::F16,
            "f4" => Scalar::F32,
            "f8" => Scalar::F64,
            _ => {
                return Err(ArrayError::Unsupported {
                    descr: excerpt(descr),
                    reason: why_not_a_number(kind),
                });
            }
        };
        Ok(Self {
            scalar,
            // numpy always writes '<' or '>'; '=' is the writer's order, which today is little.
            big_endian: order == ">",
        })
    }
}

fn why_not_a_number(kind: &str) -> &'static str {
    match kind.chars().next() {
        Some('O') => "they are Python objects, which only Python can read (and which can run code)",
        Some('U' | 'S' | 'a') => "they are text",
        Some('V') => "they are raw records",
        Some('M' | 'm') => "they are dates",
        Some('c') => "they are complex",
        Some('f') => "only floats of 16, 32 and 64 bits are portable",
        _ => "the type is unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_types_are_recognised_with_their_order() {
        let big = Dtype::parse(">i4").unwrap();
        assert_eq!((big.scalar, big.big_endian), (Scalar::I32, true));
        let byte = Dtype::parse("|u1").unwrap();
        assert_eq!((byte.scalar, byte.big_endian), (Scalar::U8, false));
    }

    #[test]
    fn other_types_say_why() {
        for (descr, why) in [("|O", "objects"), ("<U9", "text"), ("<c8", "complex")] {
            let message = Dtype::parse(descr).unwrap_err().to_string();
            assert!(
                message.contains(why) && message.contains(descr),
                "{message}"
            );
        }
        for descr in ["", "<", "é", "<f16", "<i3", "|V8"] {
            assert!(Dtype::parse(descr).is_err(), "{descr:?}");
        }
    }
}
