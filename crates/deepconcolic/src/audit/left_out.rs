//! What there was no time to check: the parts of a folder that are still ahead, named and counted.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::error::Error;

/// How long a check may take unless the user says otherwise.
pub const CHECK_BUDGET: Duration = Duration::from_hours(1);

/// Something of a folder that there was no time to check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// What it is.
    pub what: String,
    /// How many of them.
    pub count: usize,
}

/// Why a check ends before its end.
pub enum Halt {
    /// Time is up.
    Late,
    /// It could not go on.
    Failed(Error),
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// When a check with a budget that begins now must end; never without one.
pub fn deadline(budget: Option<Duration>) -> Option<Instant> {
    budget.and_then(|budget| Instant::now().checked_add(budget))
}

/// The parts of a run's folder, in the order in which they are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Seeds and settings, beside the data.
    Seeds,
    /// `certificates/`
    Certificates,
    /// `requirements.npz`
    Rows,
    /// `suite.npz`
    Tests,
    /// What lies beside the suite.
    Beside,
    /// What follows from all that.
    Figures,
}

impl Part {
    /// What it consists of.
    fn words(self) -> &'static str {
        match self {
            Self::Seeds => "seeds, beside the data that they are from",
            Self::Certificates => "certificates",
            Self::Rows => "rows of requirements.npz",
            Self::Tests => "tests of suite.npz",
            Self::Beside => "other files beside the suite",
            Self::Figures => "files with figures (run.json, statement.md)",
        }
    }
}

/// The parts of a folder that are still to be checked.
pub struct Ahead(BTreeMap<Part, LeftOut>);

impl Ahead {
    /// Of parts of so many things each.
    pub fn of(parts: impl IntoIterator<Item = (Part, usize)>) -> Self {
        let parts = parts.into_iter().filter(|(_, count)| *count > 0);
        let left_out = |(part, count): (Part, usize)| {
            let what = part.words().to_owned();
            (part, LeftOut { what, count })
        };
        Self(parts.map(left_out).collect())
    }

    /// A part is done.
    pub fn done(&mut self, part: Part) {
        self.0.remove(&part);
    }

    /// So many things of a part are left, the first of them called so.
    pub fn left(&mut self, part: Part, count: usize, first: &str) {
        let what = format!("{}, the first {first}", part.words());
        self.0.insert(part, LeftOut { what, count });
    }

    /// What is not done.
    pub fn left_out(self) -> Vec<LeftOut> {
        self.0.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ahead_is_left_out_from_where_it_stopped() {
        let parts = [
            (Part::Rows, 7),
            (Part::Certificates, 5),
            (Part::Seeds, 3),
            (Part::Tests, 0),
        ];
        let mut ahead = Ahead::of(parts);
        ahead.done(Part::Seeds);
        ahead.left(Part::Certificates, 2, "certificates/3.certificate");
        let left: Vec<(String, usize)> = ahead
            .left_out()
            .into_iter()
            .map(|left| (left.what, left.count))
            .collect();
        let first = "certificates, the first certificates/3.certificate".to_owned();
        assert_eq!(
            left,
            [(first, 2), ("rows of requirements.npz".to_owned(), 7)]
        );
    }
}
