//! Constant tensors in memory, and their numbers as the caller wants them.

use std::borrow::Cow;
use std::sync::Arc;

use super::dtype::DType;

/// A constant tensor: an initializer or a tensor attribute.
///
/// ```
/// use deepconcolic_formats::onnx::{Array, DType, Data};
///
/// let axes = Array { dtype: DType::Int64, shape: vec![2], data: Data::I64(vec![0, -1]) };
/// assert_eq!(axes.to_f32()?.as_ref(), [0.0, -1.0]);
/// # Ok::<(), deepconcolic_formats::onnx::ValueError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// The element type the file declares.
    pub dtype: DType,
    /// Lengths of the axes; empty for a scalar.
    pub shape: Vec<usize>,
    /// The elements, last axis fastest.
    pub data: Data,
}

/// Elements, widened to the smallest of three types that holds all their values.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// float, float16 and bfloat16.
    F32(Arc<[f32]>),
    /// double.
    F64(Vec<f64>),
    /// Integers and booleans.
    I64(Vec<i64>),
    /// Elements that are not numbers (strings). Harmless while nobody needs them, so
    /// only asking for the values is an error; the text says what they are.
    Unsupported(String),
}

/// Why an [`Array`] cannot give its elements in the form asked for.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ValueError {
    /// See [`Data::Unsupported`].
    #[error("the tensor holds {what}; only numbers are supported")]
    NotNumbers {
        /// What the elements are.
        what: String,
    },
    /// An integer was needed.
    #[error("element {index} of the tensor is {value}; an integer is needed here")]
    NotAnInteger {
        /// Position of the first element at fault.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// A single number was needed.
    #[error("the tensor has shape {shape:?}; a single number is needed here")]
    NotAScalar {
        /// The shape found.
        shape: Vec<usize>,
    },
}

impl Array {
    /// Number of elements according to the shape; 1 for a scalar.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether some axis has length 0.
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// All elements, rounded to `f32` where the file holds more digits.
    pub fn to_f32(&self) -> Result<Cow<'_, [f32]>, ValueError> {
        match &self.data {
            Data::F32(values) => Ok(Cow::Borrowed(values)),
            Data::F64(values) => Ok(values.iter().map(|&value| value as f32).collect()),
            Data::I64(values) => Ok(values.iter().map(|&value| value as f32).collect()),
            Data::Unsupported(what) => Err(ValueError::not_numbers(what)),
        }
    }

    /// All elements as `f64`; only integers beyond 2^53 are rounded.
    pub fn to_f64(&self) -> Result<Cow<'_, [f64]>, ValueError> {
        match &self.data {
            Data::F32(values) => Ok(values.iter().copied().map(f64::from).collect()),
            Data::F64(values) => Ok(Cow::Borrowed(values)),
            Data::I64(values) => Ok(values.iter().map(|&value| value as f64).collect()),
            Data::Unsupported(what) => Err(ValueError::not_numbers(what)),
        }
    }

    /// All elements as integers; a fraction, an infinity or a NaN is an error.
    pub fn to_i64(&self) -> Result<Cow<'_, [i64]>, ValueError> {
        match &self.data {
            Data::F32(values) => integers(values.iter().copied().map(f64::from)),
            Data::F64(values) => integers(values.iter().copied()),
            Data::I64(values) => Ok(Cow::Borrowed(values)),
            Data::Unsupported(what) => Err(ValueError::not_numbers(what)),
        }
    }

    /// The only element. Exporters write scalars with shape `[]`, `[1]` or `[1, 1]`
    /// as it pleases them, so any shape with one element will do.
    pub fn scalar(&self) -> Result<f64, ValueError> {
        self.check_scalar()?;
        Ok(self.to_f64()?[0])
    }

    /// The only element, which must be an integer; see [`Array::scalar`].
    pub fn scalar_i64(&self) -> Result<i64, ValueError> {
        self.check_scalar()?;
        Ok(self.to_i64()?[0])
    }

    fn check_scalar(&self) -> Result<(), ValueError> {
        let elements = match &self.data {
            Data::F32(values) => values.len(),
            Data::F64(values) => values.len(),
            Data::I64(values) => values.len(),
            Data::Unsupported(what) => return Err(ValueError::not_numbers(what)),
        };
        if elements != 1 {
            let shape = self.shape.clone();
            return Err(ValueError::NotAScalar { shape });
        }
        Ok(())
    }
}

impl ValueError {
    fn not_numbers(what: &str) -> Self {
        Self::NotNumbers {
            what: what.to_owned(),
        }
    }
}

fn integers(values: impl Iterator<Item = f64>) -> Result<Cow<'static, [i64]>, ValueError> {
    // 2^63 itself is not an i64, -2^63 is.
    let range = -(2_f64.powi(63))..2_f64.powi(63);
    values
        .enumerate()
        .map(|(index, value)| {
            if value.fract() == 0.0 && range.contains(&value) {
                Ok(value as i64)
            } else {
                Err(ValueError::NotAnInteger { index, value })
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Array, DType, Data, ValueError};

    fn doubles(values: &[f64]) -> Array {
        Array {
            dtype: DType::Double,
            shape: vec![values.len()],
            data: Data::F64(values.to_vec()),
        }
    }

    #[test]
    fn whole_floats_are_integers() {
        let array = doubles(&[-0.0, 3.0, -(2_f64.powi(63))]);
        assert_eq!(array.to_i64().unwrap().as_ref(), [0, 3, i64::MIN]);
    }

    #[test]
    fn other_floats_are_not() {
        for value in [0.5, f64::NAN, f64::INFINITY, 2_f64.powi(63)] {
            let fault = doubles(&[1.0, value]).to_i64().unwrap_err();
            assert!(matches!(fault, ValueError::NotAnInteger { index: 1, .. }));
        }
    }

    #[test]
    fn numbers_of_the_stored_type_are_borrowed() {
        let array = doubles(&[1.0]);
        assert!(matches!(
            array.to_f64().unwrap(),
            std::borrow::Cow::Borrowed(_)
        ));
        assert_eq!(array.to_f32().unwrap().as_ref(), [1.0]);
    }

    #[test]
    fn a_scalar_is_one_element_of_any_rank() {
        let mut array = doubles(&[7.0]);
        for shape in [vec![], vec![1], vec![1, 1]] {
            array.shape = shape;
            assert_eq!(array.scalar(), Ok(7.0));
            assert_eq!(array.scalar_i64(), Ok(7));
        }
        let fault = ValueError::NotAScalar { shape: vec![2] };
        assert_eq!(doubles(&[1.0, 2.0]).scalar(), Err(fault));
        assert!(doubles(&[]).scalar().is_err());
    }

    #[test]
    fn strings_fail_only_when_asked_for() {
        let array = Array {
            dtype: DType::String,
            shape: vec![],
            data: Data::Unsupported("strings".into()),
        };
        assert_eq!(array.len(), 1);
        let message = "the tensor holds strings; only numbers are supported";
        assert_eq!(array.to_f32().unwrap_err().to_string(), message);
        assert_eq!(array.to_f64().unwrap_err().to_string(), message);
        assert_eq!(array.to_i64().unwrap_err().to_string(), message);
        assert_eq!(array.scalar().unwrap_err().to_string(), message);
    }
}
