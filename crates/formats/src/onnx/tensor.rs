//! `TensorProto` to [`Array`]: the numbers of one constant, wherever they are stored.
//!
//! The element count from the shape is compared with the bytes that are really there
//! before anything is allocated, so a file cannot ask for more memory than it brings.

use super::array::{Array, Data};
use super::dtype::DType;
use super::error::OnnxError;
use super::external::{ExternalFault, ExternalFiles};
use super::half::{bf16_to_f32, f16_to_f32};
use super::proto::{EXTERNAL, TensorProto};
use super::shape::{self, ShapeFault};

/// Why the numbers of a tensor cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TensorFault {
    /// A code outside the specification.
    #[error("the element type has code {code}, which ONNX does not define; export the model again")]
    UnknownType {
        /// The code in the file.
        code: i32,
    },
    /// Packed and 8-bit floats, complex numbers.
    #[error(
        "elements of type {dtype} are not supported; \
         re-export with float, double, float16, bfloat16 or 8- to 64-bit integer weights"
    )]
    UnsupportedType {
        /// The type in the file.
        dtype: DType,
    },
    /// The shape is impossible.
    #[error(transparent)]
    Shape(#[from] ShapeFault),
    /// Shape and stored bytes disagree.
    #[error(
        "shape {shape:?} of {dtype} needs {needed} bytes, but {found} are stored; \
         the file is damaged or incomplete, export or download it again"
    )]
    ByteCount {
        /// The element type.
        dtype: DType,
        /// The shape in the file.
        shape: Vec<usize>,
        /// Bytes the shape asks for.
        needed: u64,
        /// Bytes there are.
        found: u64,
    },
    /// Shape and stored elements disagree.
    #[error(
        "shape {shape:?} needs {needed} elements, but {field} holds {found}; \
         the file is damaged or incomplete, export or download it again"
    )]
    ElementCount {
        /// The field of `TensorProto` for this type.
        field: &'static str,
        /// The shape in the file.
        shape: Vec<usize>,
        /// Elements the shape asks for.
        needed: u64,
        /// Elements there are.
        found: u64,
    },
    /// A number its type cannot have, or (`uint64`) beyond `i64`.
    #[error("element {index} is {value}, out of range for {dtype} tensors here")]
    OutOfRange {
        /// Position of the first element at fault.
        index: usize,
        /// The number in the file.
        value: i128,
        /// The declared type.
        dtype: DType,
    },
    /// Numbers both as bytes and as a list.
    #[error("the values are stored twice, as raw_data and as a list; export the model again")]
    StoredTwice,
    /// A feature no exporter uses.
    #[error("the values are stored in segments, which is not supported; export the model again")]
    Segmented,
    /// The numbers should be in another file.
    #[error(transparent)]
    External(#[from] ExternalFault),
}

/// Decodes the tensor; `place` says in messages which one it is.
pub(super) fn decode(
    tensor: TensorProto,
    place: impl FnOnce() -> String,
    files: &mut ExternalFiles,
) -> Result<Array, OnnxError> {
    decode_array(tensor, files).map_err(|fault| OnnxError::Tensor {
        place: place(),
        fault,
    })
}

fn decode_array(tensor: TensorProto, files: &mut ExternalFiles) -> Result<Array, TensorFault> {
    let code = tensor.data_type.unwrap_or_default();
    let dtype = DType::from_code(code.into()).ok_or(TensorFault::UnknownType { code })?;
    let shape = shape::stored(&tensor.dims)?;
    let data = if dtype == DType::String {
        Data::Unsupported("strings".to_owned())
    } else {
        decode_data(tensor, dtype, &shape, files)?
    };
    Ok(Array { dtype, shape, data })
}

fn decode_data(
    tensor: TensorProto,
    dtype: DType,
    shape: &[usize],
    files: &mut ExternalFiles,
) -> Result<Data, TensorFault> {
    let width = dtype
        .width()
        .ok_or(TensorFault::UnsupportedType { dtype })?;
    if tensor.segment.is_some() {
        return Err(TensorFault::Segmented);
    }
    let elements: u64 = shape.iter().map(|&length| length as u64).product();
    let needed = elements * width as u64;
    if tensor.data_location == Some(EXTERNAL) {
        let bytes = files.read(&tensor.external_data, needed)?;
        return from_bytes(&bytes, dtype);
    }
    match &tensor.raw_data {
        // An empty raw_data beside a list is how some writers spell "not used".
        Some(raw) if !raw.is_empty() => {
            if has_list(&tensor) {
                return Err(TensorFault::StoredTwice);
            }
            let found = raw.len() as u64;
            if found != needed {
                return Err(TensorFault::ByteCount {
                    dtype,
                    shape: shape.to_vec(),
                    needed,
                    found,
                });
            }
            from_bytes(raw, dtype)
        }
        _ => from_list(tensor, dtype, shape, elements),
    }
}

fn has_list(tensor: &TensorProto) -> bool {
    !(tensor.float_data.is_empty()
        && tensor.int32_data.is_empty()
        && tensor.int64_data.is_empty()
        && tensor.double_data.is_empty()
        && tensor.uint64_data.is_empty())
}

/// Decodes `raw_data`, little endian by the specification. The length was checked.
fn from_bytes(bytes: &[u8], dtype: DType) -> Result<Data, TensorFault> {
    let data = match dtype {
        DType::Float => Data::F32(chunks(bytes, f32::from_le_bytes)),
        DType::Float16 => Data::F32(chunks(bytes, |b| f16_to_f32(u16::from_le_bytes(b)))),
        DType::Bfloat16 => Data::F32(chunks(bytes, |b| bf16_to_f32(u16::from_le_bytes(b)))),
        DType::Double => Data::F64(chunks(bytes, f64::from_le_bytes)),
        DType::Int8 => Data::I64(chunks(bytes, |b| i8::from_le_bytes(b).into())),
        DType::Int16 => Data::I64(chunks(bytes, |b| i16::from_le_bytes(b).into())),
        DType::Int32 => Data::I64(chunks(bytes, |b| i32::from_le_bytes(b).into())),
        DType::Int64 => Data::I64(chunks(bytes, i64::from_le_bytes)),
        DType::Uint8 => Data::I64(chunks(bytes, |b| u8::from_le_bytes(b).into())),
        DType::Uint16 => Data::I64(chunks(bytes, |b| u16::from_le_bytes(b).into())),
        DType::Uint32 => Data::I64(chunks(bytes, |b| u32::from_le_bytes(b).into())),
        DType::Uint64 => {
            let numbers: Vec<u64> = chunks(bytes, u64::from_le_bytes);
            return unsigned(&numbers, dtype);
        }
        DType::Bool => Data::I64(chunks(bytes, |b: [u8; 1]| (b != [0]).into())),
        _ => return Err(TensorFault::UnsupportedType { dtype }),
    };
    Ok(data)
}

/// Straight into the list that is kept: weights of hundreds of megabytes are not copied once more.
fn chunks<const WIDTH: usize, T, L: FromIterator<T>>(
    bytes: &[u8],
    decode: impl Fn([u8; WIDTH]) -> T,
) -> L {
    let (chunks, _) = bytes.as_chunks();
    chunks.iter().map(|chunk| decode(*chunk)).collect()
}

/// Decodes the list field that belongs to the type. `int32_data` serves all small
/// types; for the 16-bit floats it carries their bit patterns.
fn from_list(
    tensor: TensorProto,
    dtype: DType,
    shape: &[usize],
    elements: u64,
) -> Result<Data, TensorFault> {
    let (field, found) = match dtype {
        DType::Float => ("float_data", tensor.float_data.len()),
        DType::Double => ("double_data", tensor.double_data.len()),
        DType::Int64 => ("int64_data", tensor.int64_data.len()),
        DType::Uint32 | DType::Uint64 => ("uint64_data", tensor.uint64_data.len()),
        _ => ("int32_data", tensor.int32_data.len()),
    };
    if found as u64 != elements {
        return Err(TensorFault::ElementCount {
            field,
            shape: shape.to_vec(),
            needed: elements,
            found: found as u64,
        });
    }
    let small = &tensor.int32_data;
    match dtype {
        DType::Float => Ok(Data::F32(tensor.float_data.into())),
        DType::Double => Ok(Data::F64(tensor.double_data)),
        DType::Int64 => Ok(Data::I64(tensor.int64_data)),
        DType::Uint32 => narrow::<_, u32, _>(&tensor.uint64_data, dtype).map(Data::I64),
        DType::Uint64 => unsigned(&tensor.uint64_data, dtype),
        DType::Int32 => narrow::<_, i32, _>(small, dtype).map(Data::I64),
        DType::Int16 => narrow::<_, i16, _>(small, dtype).map(Data::I64),
        DType::Int8 => narrow::<_, i8, _>(small, dtype).map(Data::I64),
        DType::Uint16 => narrow::<_, u16, _>(small, dtype).map(Data::I64),
        DType::Uint8 => narrow::<_, u8, _>(small, dtype).map(Data::I64),
        DType::Bool => Ok(Data::I64(small.iter().map(|&v| (v != 0).into()).collect())),
        DType::Float16 => half_list(small, dtype, f16_to_f32),
        DType::Bfloat16 => half_list(small, dtype, bf16_to_f32),
        _ => Err(TensorFault::UnsupportedType { dtype }),
    }
}

fn half_list(bits: &[i32], dtype: DType, widen: fn(u16) -> f32) -> Result<Data, TensorFault> {
    let bits: Vec<u16> = narrow::<_, u16, _>(bits, dtype)?;
    Ok(Data::F32(bits.into_iter().map(widen).collect()))
}

fn unsigned(values: &[u64], dtype: DType) -> Result<Data, TensorFault> {
    narrow::<_, i64, _>(values, dtype).map(Data::I64)
}

/// Squeezes each number through its declared type.
fn narrow<Wide, Narrow, Out>(values: &[Wide], dtype: DType) -> Result<Vec<Out>, TensorFault>
where
    Wide: Copy + Into<i128>,
    Narrow: TryFrom<Wide>,
    Out: From<Narrow>,
{
    values
        .iter()
        .enumerate()
        .map(|(index, &value)| {
            let narrow = Narrow::try_from(value).map_err(|_| TensorFault::OutOfRange {
                index,
                value: value.into(),
                dtype,
            })?;
            Ok(Out::from(narrow))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{floats, raw};
    use super::super::proto::TensorProto;
    use super::{DType, Data, ExternalFiles, TensorFault, decode_array};

    fn data(tensor: TensorProto) -> Result<Data, TensorFault> {
        decode_array(tensor, &mut ExternalFiles::beside(None)).map(|array| array.data)
    }

    fn small(dtype: DType, values: &[i32]) -> TensorProto {
        TensorProto {
            dims: vec![values.len() as i64],
            data_type: Some(dtype as i32),
            int32_data: values.to_vec(),
            ..TensorProto::default()
        }
    }

    #[test]
    fn every_numeric_type_is_read_from_raw_bytes() {
        let integers = |values: &[i64]| Data::I64(values.to_vec());
        let cases = [
            (
                DType::Float,
                vec![0, 0, 0x80, 0x3f],
                Data::F32([1.0].into()),
            ),
            (DType::Float16, vec![0, 0xc0], Data::F32([-2.0].into())),
            (DType::Bfloat16, vec![0x80, 0x3f], Data::F32([1.0].into())),
            (
                DType::Double,
                2.5_f64.to_le_bytes().to_vec(),
                Data::F64(vec![2.5]),
            ),
            (DType::Int8, vec![0xff], integers(&[-1])),
            (DType::Uint8, vec![0xff], integers(&[255])),
            (DType::Int16, vec![0xfe, 0xff], integers(&[-2])),
            (DType::Uint16, vec![0xfe, 0xff], integers(&[0xfffe])),
            (DType::Int32, vec![0, 0, 0, 0x80], integers(&[-(1 << 31)])),
            (DType::Uint32, vec![0, 0, 0, 0x80], integers(&[1 << 31])),
            (DType::Int64, vec![0xff; 8], integers(&[-1])),
            (
                DType::Uint64,
                i64::MAX.to_le_bytes().to_vec(),
                integers(&[i64::MAX]),
            ),
            (DType::Bool, vec![2], integers(&[1])),
        ];
        for (dtype, bytes, expected) in cases {
            assert_eq!(data(raw("w", dtype, &[1], &bytes)).unwrap(), expected);
        }
    }

    #[test]
    fn small_types_are_read_from_int32_data() {
        let cases = [
            (DType::Int8, -128, Data::I64(vec![-128])),
            (DType::Uint8, 255, Data::I64(vec![255])),
            (DType::Int16, -5, Data::I64(vec![-5])),
            (DType::Uint16, 65535, Data::I64(vec![65535])),
            (DType::Int32, i32::MIN, Data::I64(vec![i32::MIN.into()])),
            (DType::Bool, 1, Data::I64(vec![1])),
            (DType::Float16, 0xc000, Data::F32([-2.0].into())),
            (DType::Bfloat16, 0x3f80, Data::F32([1.0].into())),
        ];
        for (dtype, value, expected) in cases {
            assert_eq!(data(small(dtype, &[value])).unwrap(), expected);
        }
    }

    #[test]
    fn wide_types_are_read_from_their_own_lists() {
        let base = |dtype: DType| TensorProto {
            dims: vec![1],
            data_type: Some(dtype as i32),
            ..TensorProto::default()
        };
        let mut tensor = base(DType::Int64);
        tensor.int64_data = vec![-7];
        assert_eq!(data(tensor).unwrap(), Data::I64(vec![-7]));
        let mut tensor = base(DType::Double);
        tensor.double_data = vec![0.1];
        assert_eq!(data(tensor).unwrap(), Data::F64(vec![0.1]));
        for dtype in [DType::Uint32, DType::Uint64] {
            let mut tensor = base(dtype);
            tensor.uint64_data = vec![9];
            assert_eq!(data(tensor).unwrap(), Data::I64(vec![9]));
        }
        assert_eq!(
            data(floats("w", &[1], &[3.0])).unwrap(),
            Data::F32([3.0].into())
        );
    }

    #[test]
    fn numbers_their_type_cannot_have_are_refused() {
        for (dtype, value) in [
            (DType::Int8, 128),
            (DType::Uint8, -1),
            (DType::Int16, 1 << 15),
            (DType::Uint16, 1 << 16),
            (DType::Float16, -1),
        ] {
            let fault = data(small(dtype, &[0, value])).unwrap_err();
            assert!(matches!(fault, TensorFault::OutOfRange { index: 1, .. }));
        }
        let beyond = (i64::MAX as u64 + 1).to_le_bytes();
        let fault = data(raw("w", DType::Uint64, &[1], &beyond)).unwrap_err();
        assert!(matches!(fault, TensorFault::OutOfRange { index: 0, .. }));
    }

    #[test]
    fn scalars_and_empty_tensors_are_tensors() {
        let scalar = raw("s", DType::Int8, &[], &[5]);
        assert_eq!(data(scalar).unwrap(), Data::I64(vec![5]));
        let empty = raw("roi", DType::Float, &[0], &[]);
        assert_eq!(data(empty).unwrap(), Data::F32([].into()));
    }

    #[test]
    fn an_empty_raw_data_does_not_hide_a_list() {
        let mut tensor = floats("w", &[2], &[1.0, 2.0]);
        tensor.raw_data = Some(bytes::Bytes::new());
        assert_eq!(data(tensor).unwrap(), Data::F32([1.0, 2.0].into()));
    }

    #[test]
    fn a_shape_larger_than_its_bytes_is_refused() {
        let fault = data(raw("w", DType::Float, &[1 << 38], &[0; 16])).unwrap_err();
        assert!(matches!(fault, TensorFault::ByteCount { found: 16, .. }));
        let fault = data(floats("w", &[1 << 38], &[0.0])).unwrap_err();
        assert!(matches!(fault, TensorFault::ElementCount { found: 1, .. }));
    }

    #[test]
    fn bytes_and_list_together_are_refused() {
        let mut tensor = raw("w", DType::Float, &[1], &[0; 4]);
        tensor.float_data = vec![1.0];
        assert!(matches!(data(tensor), Err(TensorFault::StoredTwice)));
    }

    #[test]
    fn strings_are_kept_as_a_marker_and_other_types_refused() {
        let strings = raw("names", DType::String, &[3], &[]);
        assert_eq!(data(strings).unwrap(), Data::Unsupported("strings".into()));
        for dtype in [DType::Int4, DType::Float8e4m3fn, DType::Complex64] {
            let fault = data(raw("w", dtype, &[2], &[0; 16])).unwrap_err();
            assert!(fault.to_string().contains(dtype.name()), "{fault}");
        }
        let mut tensor = floats("w", &[1], &[1.0]);
        tensor.data_type = Some(99);
        assert!(matches!(
            data(tensor),
            Err(TensorFault::UnknownType { code: 99 })
        ));
    }
}
