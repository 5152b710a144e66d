//! What can go wrong in this crate, and the way out of it.

use crate::diagnostic::Diagnostic;

/// Every failure of this crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Something is wrong at one place of a `.dr` or `.vnnlib` text.
    #[error(transparent)]
    At(Box<Diagnostic>),

    /// A set of requirements was asked for one that it does not have.
    #[error("there is no requirement {index}: the set has {len}, counted from 0")]
    NoSuchRequirement {
        /// The index asked for.
        index: usize,
        /// How many there are.
        len: usize,
    },

    /// The property speaks of another number of inputs or outputs than the network has.
    #[error(
        "the property declares {declared} {what}, the network has {actual}; \
         is this the network the property was written for?"
    )]
    Shape {
        /// `inputs (X)` or `outputs (Y)`.
        what: &'static str,
        /// How many the property declares.
        declared: usize,
        /// How many the network has.
        actual: usize,
    },

    /// The gzip stream is damaged.
    #[error("the gzip data cannot be expanded: {0}; is the file complete?")]
    Gzip(#[source] std::io::Error),

    /// The gzip stream expands to more than is reasonable for a property.
    #[error("the gzip data expands to more than {limit} bytes, the most that is read")]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
    },
}

impl From<Diagnostic> for Error {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::At(Box::new(diagnostic))
    }
}

impl Error {
    /// The same error, with the file's name where the error points into a text.
    #[must_use]
    pub fn in_file(self, name: &str) -> Self {
        match self {
            Self::At(mut diagnostic) => {
                diagnostic.file = Some(name.to_owned());
                Self::At(diagnostic)
            }
            other => other,
        }
    }
}
