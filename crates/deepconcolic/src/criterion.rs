//! Criteria by name.

use deepconcolic_criteria::{ALL, Criterion};

use crate::error::Error;

/// The criterion of a name given by the user.
pub fn find(name: &str) -> Result<&'static dyn Criterion, Error> {
    deepconcolic_criteria::find(name).ok_or_else(|| {
        let names: Vec<&str> = ALL.iter().map(|c| c.name()).collect();
        Error::Request(format!(
            "there is no criterion `{name}`; there are {}",
            names.join(", ")
        ))
    })
}
