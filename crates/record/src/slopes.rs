//! What a run knows of slopes: for each region the steepest pair found and the certified bound, and how many
//! regions each constant is refuted or proven in.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::finite;

/// One region.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlopeSummary {
    /// What a person calls the region.
    pub region: String,
    /// The seed that it lies round, by its number in the data; none where it lies round no seed.
    pub root: Option<usize>,
    /// The constant that was asked about; none where the largest was searched.
    #[serde(serialize_with = "finite::option")]
    pub constant: Option<f64>,
    /// The largest ratio of two tests, less what rounding can have added.
    #[serde(serialize_with = "finite::option")]
    pub found: Option<f64>,
    /// The two tests, -1 if there are none.
    pub test: i64,
    /// The second of them.
    pub test2: i64,
    /// No ratio in the region is above this: a certificate says so.
    #[serde(serialize_with = "finite::option")]
    pub upper: Option<f64>,
    /// The number of that certificate, -1 if there is none.
    pub certificate: i64,
    /// The largest ratio of random pairs, for comparison.
    #[serde(serialize_with = "finite::option")]
    pub random: Option<f64>,
}

/// In how many regions a constant is refuted by a pair that was found, proven, refuted by a random pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ConstantCounts {
    /// The constant.
    #[serde(serialize_with = "finite::number")]
    pub constant: f64,
    /// Regions where a pair is steeper.
    pub refuted: usize,
    /// Regions where no pair is.
    pub proven: usize,
    /// The others.
    pub open: usize,
    /// Regions where a random pair is steeper.
    pub random: usize,
}

/// Constants of the paper's figure: 0.01, 0.02, ... 20.
const STEPS: usize = 2000;
const STEPS_A_UNIT: f64 = 100.0;

/// The counts of every constant of the paper's figure, 0.01 to 20 in steps of 0.01.
pub fn constants(regions: &[SlopeSummary]) -> Vec<ConstantCounts> {
    let count = |holds: &dyn Fn(&SlopeSummary) -> bool| regions.iter().filter(|r| holds(r)).count();
    let counts = |step: usize| {
        let constant = step as f64 / STEPS_A_UNIT;
        let above = |ratio: Option<f64>| ratio.is_some_and(|ratio| ratio > constant);
        let refuted = count(&|region| above(region.found));
        let proven = count(&|region| {
            !above(region.found) && region.upper.is_some_and(|upper| upper <= constant)
        });
        ConstantCounts {
            constant,
            refuted,
            proven,
            open: regions.len() - refuted - proven,
            random: count(&|region| above(region.random)),
        }
    };
    (1..=STEPS).map(counts).collect()
}

/// Of counts, those that differ from the ones before: each holds up to the next.
pub fn changes(all: &[ConstantCounts]) -> Vec<ConstantCounts> {
    let key = |c: &ConstantCounts| (c.refuted, c.proven, c.random);
    let mut changes: Vec<ConstantCounts> = Vec::new();
    for counts in all {
        if changes.last().is_none_or(|last| key(last) != key(counts)) {
            changes.push(*counts);
        }
    }
    changes
}

/// All counts as a table for spreadsheets.
pub fn csv(all: &[ConstantCounts]) -> String {
    let mut text = String::from("constant,refuted,proven,open,random\n");
    for c in all {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:.2},{},{},{},{}",
            c.constant, c.refuted, c.proven, c.open, c.random
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(found: Option<f64>, upper: Option<f64>, random: Option<f64>) -> SlopeSummary {
        SlopeSummary {
            region: String::new(),
            root: None,
            constant: None,
            found,
            test: -1,
            test2: -1,
            upper,
            certificate: -1,
            random,
        }
    }

    #[test]
    fn a_constant_is_refuted_below_what_was_found_and_proven_from_the_bound_on() {
        let regions = [
            region(Some(3.0), Some(5.0), Some(1.0)),
            region(None, Some(0.5), None),
            region(Some(30.0), None, Some(2.005)),
        ];
        let all = constants(&regions);
        assert_eq!(all.len(), 2000);
        let at = |constant: f64| all[(constant * 100.0).round() as usize - 1];
        let counts = |c: ConstantCounts| (c.refuted, c.proven, c.open, c.random);
        assert_eq!(counts(at(0.01)), (2, 0, 1, 2));
        assert_eq!(counts(at(0.5)), (2, 1, 0, 2));
        // Not above itself.
        assert_eq!(counts(at(1.0)), (2, 1, 0, 1));
        assert_eq!(counts(at(2.0)), (2, 1, 0, 1));
        assert_eq!(counts(at(2.01)), (2, 1, 0, 0));
        assert_eq!(counts(at(3.0)), (1, 1, 1, 0));
        assert_eq!(counts(at(5.0)), (1, 2, 0, 0));
        assert_eq!(counts(at(20.0)), (1, 2, 0, 0));
        let changes = changes(&all);
        let starts: Vec<f64> = changes.iter().map(|c| c.constant).collect();
        assert_eq!(starts, [0.01, 0.5, 1.0, 2.01, 3.0, 5.0]);
        assert_eq!(csv(&all).lines().nth(50), Some("0.50,2,1,0,2"));
    }
}
