//! A model, for Python: read once to see that it can be, then shown and run.

use std::path::PathBuf;
use std::sync::Arc;

use deepconcolic::{EvalJob, Inspection, KEPT_DATA, KEPT_MODEL, ModelSettings};
use numpy::{IntoPyArray, PyArrayDyn, PyArrayMethods};
use pyo3::prelude::*;
use serde_json::json;

use crate::arrays;
use crate::errors::Failure;
use crate::work::detached;

/// A model file, or its content.
#[pyclass(frozen)]
pub struct Model {
    pub settings: ModelSettings,
}

#[pymethods]
impl Model {
    #[new]
    #[pyo3(signature = (path=None, content=None, mean=None, std=None, input_shape=None))]
    fn new(
        path: Option<PathBuf>,
        content: Option<&[u8]>,
        mean: Option<Vec<f64>>,
        std: Option<Vec<f64>>,
        input_shape: Option<Vec<usize>>,
    ) -> Self {
        Self {
            settings: ModelSettings {
                model: path.unwrap_or_else(|| PathBuf::from(KEPT_MODEL)),
                mean,
                std,
                input_shape,
                content: content.map(Arc::from),
                ..ModelSettings::default()
            },
        }
    }

    /// What is in it, as JSON.
    fn inspection(&self, py: Python<'_>) -> PyResult<String> {
        let settings = self.settings.clone();
        detached(py, 1, move || {
            let inspection = Inspection::of(&settings)?;
            Ok(serde_json::to_string(&inspection)?)
        })
    }

    /// An output, or a hidden layer, of samples.
    #[pyo3(signature = (x, output=None, layer=None, pre=false, scale=None, threads=0))]
    #[expect(clippy::too_many_arguments, reason = "keywords of one call")]
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        output: Option<String>,
        layer: Option<String>,
        pre: bool,
        scale: Option<f32>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        let raise = |failure: Failure| failure.exception(py);
        let mut job = EvalJob {
            model: self.settings.clone(),
            output,
            layer,
            pre,
            ..EvalJob::default()
        };
        job.data.data = PathBuf::from(KEPT_DATA);
        job.data.scale = scale;
        job.data.content = Some(arrays::dataset(x, None, None).map_err(raise)?);
        let done = detached(py, threads, move || Ok(job.run(&mut |_| {})?))?;
        done.values.into_pyarray(py).reshape(done.shape)
    }

    /// How it is read, as JSON: what `mean`, `std` and `input_shape` were.
    fn options(&self) -> String {
        let settings = &self.settings;
        json!({ "mean": settings.mean, "std": settings.std, "input_shape": settings.input_shape })
            .to_string()
    }

    /// The same model, which lies in a file by now.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "Python hands over a path of its own"
    )]
    fn in_file(&self, path: PathBuf) -> Self {
        Self {
            settings: self.settings.or_file(Some(&path)),
        }
    }

    /// The model's content, if it is in memory alone.
    fn content(&self) -> Option<&[u8]> {
        self.settings.content.as_deref()
    }
}
