//! A function of Python's that says which inputs may be tests, asked of many at a time.

use std::sync::{Arc, Mutex, PoisonError};

use deepconcolic::{Cancel, Filter};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;

/// What the function raised, if it did: the run then ends.
pub type Raised = Arc<Mutex<Option<PyErr>>>;

/// A filter that asks a function, which takes inputs as rows of an array and gives a list of bools.
pub fn of(function: Py<PyAny>, cancel: Cancel, raised: Raised) -> Filter {
    Filter::new(move |inputs| {
        if cancel.is_cancelled() {
            return Vec::new();
        }
        Python::attach(|py| {
            ask(py, &function, inputs).unwrap_or_else(|error| {
                cancel.cancel();
                *raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                Vec::new()
            })
        })
    })
}

fn ask(py: Python<'_>, function: &Py<PyAny>, inputs: &[&[f32]]) -> PyResult<Vec<bool>> {
    let values: Vec<f32> = inputs.concat();
    let each = inputs.first().map_or(0, |input| input.len());
    let rows = PyArray1::from_vec(py, values).reshape([inputs.len(), each])?;
    function.call1(py, (rows,))?.extract(py)
}
