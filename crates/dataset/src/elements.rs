//! The values of a data set, in the type they are kept in.

use std::io::Read;

use crate::arrays::{Array, ArraySource};
use crate::error::ArrayError;
use crate::values::Values;

/// Values as they are kept in memory: bytes stay bytes, everything else is `f32`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Elements {
    /// Bytes, mostly pixels.
    U8(Values<u8>),
    /// Any other number type of the file.
    F32(Values<f32>),
}

impl Elements {
    /// How many values there are.
    pub fn len(&self) -> usize {
        match self {
            Self::U8(values) => values.len(),
            Self::F32(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Index and value of the first NaN or infinity.
    pub(crate) fn first_not_finite(&self) -> Option<(usize, f32)> {
        match self {
            Self::U8(_) => None,
            Self::F32(values) => values
                .iter()
                .copied()
                .enumerate()
                .find(|(_, value)| !value.is_finite()),
        }
    }

    /// The largest magnitude.
    pub(crate) fn largest(&self) -> f32 {
        match self {
            Self::U8(values) => values.iter().copied().max().unwrap_or(0).into(),
            Self::F32(values) => values
                .iter()
                .fold(0.0, |maximum, value| value.abs().max(maximum)),
        }
    }

    /// Reads an array whose first axis counts samples, at most `rows` of them; also gives the shape of one.
    pub(crate) fn read(
        source: ArraySource<impl Read>,
        rows: Option<usize>,
    ) -> Result<(Vec<usize>, Self), ArrayError> {
        if source.header.shape.is_empty() {
            return Err(ArrayError::Header(
                "it is a single number, not an array of samples".to_owned(),
            ));
        }
        if source.header.is_u8() {
            let Array { shape, values } = source.read(rows)?;
            Ok((shape_of_one(&shape), Self::U8(values.into())))
        } else {
            let Array { shape, values } = source.read(rows)?;
            Ok((shape_of_one(&shape), Self::F32(values.into())))
        }
    }
}

/// The shape without its first axis; samples that are one number each have the shape `[1]`.
fn shape_of_one(shape: &[usize]) -> Vec<usize> {
    match &shape[1..] {
        [] => vec![1],
        axes => axes.to_vec(),
    }
}
