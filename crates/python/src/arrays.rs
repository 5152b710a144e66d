//! Arrays of numpy as data of the library, without a copy, and back.

use std::path::Path;
use std::sync::Arc;

use deepconcolic_dataset::{Dataset, Elements, Values};
use numpy::{Element, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::errors::Failure;

/// The memory of an array, which stays alive with this.
struct Held<T: Element> {
    /// Owns the memory.
    _array: Py<PyArrayDyn<T>>,
    first: *const T,
    count: usize,
}

// SAFETY: the memory is read alone, and numpy frees or moves it only when nobody refers to the array any more. A caller
// who writes to the array while it is in use gets wrong results, as with every library that does not copy.
unsafe impl<T: Element> Send for Held<T> {}
unsafe impl<T: Element> Sync for Held<T> {}

impl<T: Element> AsRef<[T]> for Held<T> {
    fn as_ref(&self) -> &[T] {
        // SAFETY: `held` saw an aligned array in one piece with so many elements, and `_array` keeps it.
        unsafe { std::slice::from_raw_parts(self.first, self.count) }
    }
}

/// Shape and values of an array.
type Shaped<T> = (Vec<usize>, Values<T>);

/// Shape and memory of an array in one piece; none if it is of another type.
fn held<T: Element + Send + Sync + 'static>(
    array: &Bound<'_, PyAny>,
) -> Result<Option<Shaped<T>>, Failure> {
    let Ok(array) = array.cast::<PyArrayDyn<T>>() else {
        return Ok(None);
    };
    let first = array.data().cast_const();
    if !array.is_c_contiguous() || !first.is_aligned() || first.is_null() {
        return Err(Failure::usage("the array is not in one piece"));
    }
    let shape = array.shape().to_vec();
    let held = Held {
        count: shape.iter().product(),
        _array: array.clone().unbind(),
        first,
    };
    Ok(Some((shape, Values::Shared(Arc::new(held)))))
}

/// Samples and labels of arrays. The Python half has seen to types, order and lengths.
pub fn dataset(
    x: &Bound<'_, PyAny>,
    labels: Option<Vec<i64>>,
    quantities: Option<Vec<f64>>,
) -> Result<Dataset, Failure> {
    let (shape, elements) = if let Some((shape, values)) = held::<u8>(x)? {
        (shape, Elements::U8(values))
    } else if let Some((shape, values)) = held::<f32>(x)? {
        (shape, Elements::F32(values))
    } else {
        return Err(Failure::usage("x is neither uint8 nor float32"));
    };
    let one = match shape.get(1..) {
        None => return Err(Failure::usage("x is a single number")),
        Some([]) => vec![1],
        Some(axes) => axes.to_vec(),
    };
    let library = |error| Failure::from(deepconcolic::Error::from(error));
    let mut dataset = Dataset::new(Path::new("x"), &one, elements).map_err(library)?;
    if let Some(labels) = labels {
        dataset = dataset.with_labels(labels).map_err(library)?;
    } else if let Some(values) = quantities {
        dataset = dataset.with_quantities(values).map_err(library)?;
    }
    Ok(dataset)
}
