//! Criteria by name.

use deepconcolic_criteria::{ALL, Criterion, Polarity};
use deepconcolic_record::Summary;

use crate::error::Error;

/// What a witness of a requirement means in a run; requirements of a file say it one by one.
pub fn polarity(summary: &Summary) -> Polarity {
    let name = summary.settings["criterion"].as_str();
    let criterion = name.and_then(deepconcolic_criteria::find);
    criterion.map_or_else(Polarity::default, Criterion::polarity)
}

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
