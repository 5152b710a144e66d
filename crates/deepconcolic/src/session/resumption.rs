//! Going on with a run: what is asked for then, and what must be as it was.

use std::path::{Path, PathBuf};

use deepconcolic_campaign::Filter;
use deepconcolic_record::OnDamage;

use crate::error::Error;
use crate::gate::Gates;
use crate::job::Job;
use crate::settings::Settings;

/// How to go on with the run in a folder.
#[derive(Clone, Debug)]
pub struct Resumption {
    /// For so many seconds more.
    pub budget: Option<f64>,
    /// Until so many passes were made in all.
    pub max_executions: Option<usize>,
    /// Where the model lies, if not where the run found it.
    pub model: Option<PathBuf>,
    /// Also look for what is nearest; a run that did so goes on doing so.
    pub minimise: bool,
    /// What tests are held to besides, as those of the run were: no folder keeps a function.
    pub filter: Option<Filter>,
    /// What to do where the journal is damaged.
    pub on_damage: OnDamage,
    /// What the run must come to.
    pub gates: Gates,
    /// How it was asked for.
    pub command: Vec<String>,
}

impl Default for Resumption {
    fn default() -> Self {
        Self {
            budget: Some(Job::BUDGET.as_secs_f64()),
            max_executions: None,
            model: None,
            minimise: false,
            filter: None,
            on_damage: OnDamage::Refuse,
            gates: Gates::default(),
            command: Vec::new(),
        }
    }
}

impl Resumption {
    /// Refuses to go on without the filter of the run, or with one that its tests so far were not held to.
    pub(super) fn fit_filter(&self, settings: &Settings, folder: &Path) -> Result<(), Error> {
        let folder = folder.display();
        match (settings.filtered, self.filter.is_some()) {
            (true, false) => Err(Error::Request(format!(
                "{folder}: its tests were held to a function of the caller's, which no folder keeps, and from now on all inputs \
                 might be tests; go on from the program that has the function, in Python with run(..., out=folder, resume=True, \
                 validity=...), in Rust with Resumption::filter"
            ))),
            (false, true) => Err(Error::Request(format!(
                "{folder}: its tests so far were held to no function; go on without one, or begin a run of its own"
            ))),
            _ => Ok(()),
        }
    }
}
