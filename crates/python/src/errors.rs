//! Errors of the library as exceptions of the package: one class a kind, so that a caller can tell them apart.

use deepconcolic::Error;
use pyo3::prelude::*;

/// Why something could not be done: which exception, and its words.
pub struct Failure {
    kind: &'static str,
    message: String,
    /// What Python raised, where it was Python.
    raised: Option<PyErr>,
}

impl Failure {
    /// What a caller got wrong.
    pub fn usage(message: impl Into<String>) -> Self {
        Self {
            kind: "usage",
            message: message.into(),
            raised: None,
        }
    }

    /// What we got wrong.
    pub fn internal(message: impl Into<String>) -> Self {
        Self {
            kind: "internal",
            message: message.into(),
            raised: None,
        }
    }

    /// What a function of the caller's raised.
    pub fn raised(error: PyErr) -> Self {
        Self {
            kind: "raised",
            message: String::new(),
            raised: Some(error),
        }
    }

    /// The exception, made by the package's own `errors.py`.
    pub fn exception(&self, py: Python<'_>) -> PyErr {
        if let Some(error) = &self.raised {
            return error.clone_ref(py);
        }
        let made = py
            .import("deepconcolic.errors")
            .and_then(|errors| errors.call_method1("of_kind", (self.kind, &self.message)));
        match made {
            Ok(exception) => PyErr::from_value(exception),
            Err(error) => error,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let kind = match &error {
            Error::Model(_) => "model",
            Error::Data(_) => "data",
            Error::Requirements(_) => "requirements",
            // One that was interrupted has its work in the folder, and no results.
            Error::Archive(_) | Error::Interrupted(_) => "folder",
            Error::Request(_) => "usage",
            Error::Internal(_) => "internal",
        };
        Self {
            kind,
            message: error.to_string(),
            raised: None,
        }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::usage(error.to_string())
    }
}
