//! Element types, as numbered by `TensorProto.DataType`.

use std::fmt;

/// The type of a tensor's elements, as the file declares it.
///
/// [`Array`](super::Array) stores fewer kinds than this; the declared type is kept
/// because it decides how some operators round and wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
#[expect(missing_docs, reason = "the names are those of the ONNX specification")]
pub enum DType {
    Float = 1,
    Uint8 = 2,
    Int8 = 3,
    Uint16 = 4,
    Int16 = 5,
    Int32 = 6,
    Int64 = 7,
    String = 8,
    Bool = 9,
    Float16 = 10,
    Double = 11,
    Uint32 = 12,
    Uint64 = 13,
    Complex64 = 14,
    Complex128 = 15,
    Bfloat16 = 16,
    Float8e4m3fn = 17,
    Float8e4m3fnuz = 18,
    Float8e5m2 = 19,
    Float8e5m2fnuz = 20,
    Uint4 = 21,
    Int4 = 22,
    Float4e2m1 = 23,
    Float8e8m0 = 24,
    Uint2 = 25,
    Int2 = 26,
}

/// Every type with its name in messages, in the order of the codes.
const TYPES: [(DType, &str); 26] = [
    (DType::Float, "float"),
    (DType::Uint8, "uint8"),
    (DType::Int8, "int8"),
    (DType::Uint16, "uint16"),
    (DType::Int16, "int16"),
    (DType::Int32, "int32"),
    (DType::Int64, "int64"),
    (DType::String, "string"),
    (DType::Bool, "bool"),
    (DType::Float16, "float16"),
    (DType::Double, "double"),
    (DType::Uint32, "uint32"),
    (DType::Uint64, "uint64"),
    (DType::Complex64, "complex64"),
    (DType::Complex128, "complex128"),
    (DType::Bfloat16, "bfloat16"),
    (DType::Float8e4m3fn, "float8e4m3fn"),
    (DType::Float8e4m3fnuz, "float8e4m3fnuz"),
    (DType::Float8e5m2, "float8e5m2"),
    (DType::Float8e5m2fnuz, "float8e5m2fnuz"),
    (DType::Uint4, "uint4"),
    (DType::Int4, "int4"),
    (DType::Float4e2m1, "float4e2m1"),
    (DType::Float8e8m0, "float8e8m0"),
    (DType::Uint2, "uint2"),
    (DType::Int2, "int2"),
];

impl DType {
    /// The type with this ONNX code, also found in attributes such as `to` of Cast.
    pub fn from_code(code: i64) -> Option<Self> {
        let index = usize::try_from(code).ok()?.checked_sub(1)?;
        TYPES.get(index).map(|(dtype, _)| *dtype)
    }

    /// The name ONNX gives the type, in lower case.
    pub fn name(self) -> &'static str {
        TYPES[self as usize - 1].1
    }

    /// Whether this is a floating-point type that [`Array`](super::Array) can hold.
    pub fn is_float(self) -> bool {
        matches!(
            self,
            Self::Float | Self::Double | Self::Float16 | Self::Bfloat16
        )
    }

    /// Whether this is an integer or boolean type that [`Array`](super::Array) can hold.
    pub fn is_integer(self) -> bool {
        self.width().is_some() && !self.is_float()
    }

    /// Bytes per element in `raw_data`; `None` for types whose values are not decoded.
    pub fn width(self) -> Option<usize> {
        match self {
            Self::Uint8 | Self::Int8 | Self::Bool => Some(1),
            Self::Uint16 | Self::Int16 | Self::Float16 | Self::Bfloat16 => Some(2),
            Self::Float | Self::Int32 | Self::Uint32 => Some(4),
            Self::Double | Self::Int64 | Self::Uint64 => Some(8),
            _ => None,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::{DType, TYPES};

    #[test]
    fn every_type_is_found_by_its_own_code() {
        for (dtype, name) in TYPES {
            assert_eq!(DType::from_code(dtype as i64), Some(dtype));
            assert_eq!(dtype.name(), name);
        }
    }

    #[test]
    fn codes_outside_the_table_have_no_type() {
        for code in [i64::MIN, -1, 0, 27, 99, i64::MAX] {
            assert_eq!(DType::from_code(code), None);
        }
    }

    #[test]
    fn a_decoded_type_is_either_float_or_integer() {
        for (dtype, _) in TYPES {
            let kinds = usize::from(dtype.is_float()) + usize::from(dtype.is_integer());
            assert_eq!(kinds, usize::from(dtype.width().is_some()));
        }
    }
}
