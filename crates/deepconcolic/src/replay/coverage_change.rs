//! Coverage then and now: which requirements were lost, which are new.

use std::collections::BTreeMap;

use deepconcolic_check::Slot;
use deepconcolic_criteria::{Family, Group, Polarity};
use deepconcolic_record::{RequirementTable, State};
use serde::Serialize;

/// Requirements named in a message; the data hold all of them.
const NAMED: usize = 50;

/// What a suite covers now, beside what it was said to cover.
#[derive(Clone, Debug, Serialize)]
pub struct CoverageChange {
    /// Requirements.
    pub total: usize,
    /// Covered, as claimed.
    pub then: usize,
    /// Covered now.
    pub now: usize,
    /// Goals that were covered and are not now.
    pub lost: Vec<String>,
    /// Goals that are covered now and were not.
    pub gained: Vec<String>,
    /// Properties that a test refutes now and none did.
    pub refuted: Vec<String>,
    /// Properties that a test refuted and none does now.
    pub no_longer_refuted: Vec<String>,
    /// Requirements that are met as claimed, by other tests.
    pub by_other_tests: Vec<String>,
    /// How many were proven: impossible goals, or properties that hold. Proofs are about the run's own model.
    pub proven: usize,
}

/// The tests that show each covered requirement.
type Covered = BTreeMap<Slot, (i64, i64)>;

impl CoverageChange {
    /// Compares two tables of the same requirements. Rows that name no requirement are an error.
    pub fn between(
        family: &dyn Family,
        then: &RequirementTable,
        now: &RequirementTable,
        polarity: &dyn Fn(&Slot) -> Polarity,
    ) -> Result<Self, String> {
        let is_proven = |state: &&u8| **state == State::Infeasible as u8;
        let proven = then.state.iter().filter(is_proven).count();
        let (then, now) = (covered(family, then)?, covered(family, now)?);
        let label = |slot: &Slot| family.label(slot.group as usize, slot.slot as usize);
        let without = |a: &Covered, b: &Covered, wanted: Polarity| {
            let missing = a.keys().filter(|slot| !b.contains_key(slot));
            let meant = missing.filter(|slot| polarity(slot) == wanted);
            meant.map(label).collect::<Vec<String>>()
        };
        let other = then
            .iter()
            .filter(|(slot, tests)| now.get(slot).is_some_and(|found| found != *tests));
        Ok(Self {
            total: family.groups().iter().map(Group::total).sum(),
            then: then.len(),
            now: now.len(),
            lost: without(&then, &now, Polarity::Goal),
            gained: without(&now, &then, Polarity::Goal),
            refuted: without(&now, &then, Polarity::Property),
            no_longer_refuted: without(&then, &now, Polarity::Property),
            by_other_tests: other.map(|(slot, _)| label(slot)).collect(),
            proven,
        })
    }

    /// What is worth a line each. By which tests of several a requirement is shown matters for the run's own
    /// model alone.
    pub fn findings(&self, same_model: bool) -> Vec<String> {
        let mut findings = Vec::new();
        let mut add = |requirements: &[String], what: &str| {
            if !requirements.is_empty() {
                findings.push(format!(
                    "{} requirements {what}: {}",
                    requirements.len(),
                    some(requirements)
                ));
            }
        };
        add(&self.lost, "that were covered are not covered now");
        add(&self.refuted, "that no test refuted are refuted now");
        add(&self.gained, "that were not covered are covered now");
        add(
            &self.no_longer_refuted,
            "that were refuted are not refuted now",
        );
        if same_model {
            add(
                &self.by_other_tests,
                "are shown by other tests than claimed",
            );
        }
        findings
    }
}

fn covered(family: &dyn Family, table: &RequirementTable) -> Result<Covered, String> {
    let rows = (0..table.state.len()).filter(|&row| table.state[row] == State::Covered as u8);
    rows.map(|row| {
        let slot = table.slot(family, row);
        let slot = slot.ok_or_else(|| format!("row {row} names no requirement"))?;
        Ok((slot, (table.test[row], table.test2[row])))
    })
    .collect()
}

fn some(names: &[String]) -> String {
    let shown = names[..names.len().min(NAMED)].join("; ");
    match names.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown}; and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_and_new_requirements_are_told_apart_and_counted() {
        let change = CoverageChange {
            total: 200,
            then: 100,
            now: 70,
            lost: (0..60).map(|n| format!("a:{n}")).collect(),
            gained: vec!["b:1".into(), "b:2".into(), "b:3".into()],
            refuted: Vec::new(),
            no_longer_refuted: Vec::new(),
            by_other_tests: vec!["c:4".into()],
            proven: 0,
        };
        let findings = change.findings(false);
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert!(
            findings[0].starts_with("60 requirements that were covered are not covered now: a:0; ")
        );
        assert!(
            findings[0].ends_with("a:49; and 10 more"),
            "{}",
            findings[0]
        );
        let gained = "3 requirements that were not covered are covered now: b:1; b:2; b:3";
        assert_eq!(findings[1], gained);
        assert!(change.findings(true)[2].contains("other tests than claimed: c:4"));
        let data = serde_json::to_value(&change).unwrap();
        assert_eq!(data["lost"].as_array().unwrap().len(), 60);
    }
}
