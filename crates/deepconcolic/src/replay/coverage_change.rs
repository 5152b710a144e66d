//! Coverage then and now: which requirements were lost, which are new.

use std::collections::BTreeMap;

use deepconcolic_check::Slot;
use deepconcolic_criteria::{Family, Group};
use deepconcolic_network::BitSet;
use deepconcolic_record::{RequirementTable, State};
use serde::Serialize;

/// Requirements named in a message; the data hold all of them.
const NAMED: usize = 50;

/// What a suite covers now, beside what it was said to cover.
#[derive(Clone, Debug, Serialize)]
pub struct CoverageChange {
    /// Requirements that want a witness.
    pub goals: ThenAndNow,
    /// Requirements that want none.
    pub properties: ThenAndNow,
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
}

/// How many goals are covered, or properties refuted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ThenAndNow {
    /// All of them.
    pub total: usize,
    /// Those that a test meets, as claimed.
    pub then: usize,
    /// Those that a test meets now.
    pub now: usize,
    /// How many were proven: impossible goals, or properties that hold. Proofs are about the run's own model.
    pub proven: usize,
}

/// The tests that show each covered requirement.
type Covered = BTreeMap<Slot, (i32, i32)>;

impl CoverageChange {
    /// Compares two tables of the same requirements, some of which are properties, group by group. Rows that name no
    /// requirement are an error.
    pub fn between(
        family: &dyn Family,
        then: &RequirementTable,
        now: &RequirementTable,
        properties: &[BitSet],
    ) -> Result<Self, String> {
        let is_property =
            |slot: &Slot| properties[slot.group as usize].contains(slot.slot as usize);
        let mut counts = [ThenAndNow::default(); 2];
        for slot in with_state(family, then, State::Infeasible) {
            counts[usize::from(is_property(&slot?.0))].proven += 1;
        }
        let then: Covered = with_state(family, then, State::Covered).collect::<Result<_, _>>()?;
        let now: Covered = with_state(family, now, State::Covered).collect::<Result<_, _>>()?;
        for slot in then.keys() {
            counts[usize::from(is_property(slot))].then += 1;
        }
        for slot in now.keys() {
            counts[usize::from(is_property(slot))].now += 1;
        }
        let [mut goals, mut of_properties] = counts;
        of_properties.total = properties.iter().map(BitSet::count).sum();
        let all: usize = family.groups().iter().map(Group::total).sum();
        goals.total = all.saturating_sub(of_properties.total);
        let label = |slot: &Slot| family.label(slot.group as usize, slot.slot as usize);
        let without = |a: &Covered, b: &Covered, of_properties: bool| {
            let missing = a.keys().filter(|slot| !b.contains_key(slot));
            let meant = missing.filter(|slot| is_property(slot) == of_properties);
            meant.map(label).collect::<Vec<String>>()
        };
        let other = then
            .iter()
            .filter(|(slot, tests)| now.get(slot).is_some_and(|found| found != *tests));
        Ok(Self {
            goals,
            properties: of_properties,
            lost: without(&then, &now, false),
            gained: without(&now, &then, false),
            refuted: without(&now, &then, true),
            no_longer_refuted: without(&then, &now, true),
            by_other_tests: other.map(|(slot, _)| label(slot)).collect(),
        })
    }

    /// What is worth a line each. By which tests of several a requirement is shown matters for the run's own
    /// model alone.
    pub fn findings(&self, same_model: bool) -> Vec<String> {
        let mut findings = Vec::new();
        let mut add = |requirements: &[String], what: &str| {
            if !requirements.is_empty() {
                findings.push(format!(
                    "{} {what}: {}",
                    requirements.len(),
                    some(requirements)
                ));
            }
        };
        add(&self.lost, "goals that were covered are not covered now");
        add(
            &self.refuted,
            "properties that no test refuted are refuted now",
        );
        add(&self.gained, "goals that were not covered are covered now");
        add(
            &self.no_longer_refuted,
            "properties that were refuted are not refuted now",
        );
        if same_model {
            add(
                &self.by_other_tests,
                "requirements are shown by other tests than claimed",
            );
        }
        findings
    }
}

/// The requirements of a table that ended so, with their tests.
fn with_state(
    family: &dyn Family,
    table: &RequirementTable,
    state: State,
) -> impl Iterator<Item = Result<(Slot, (i32, i32)), String>> {
    let rows = (0..table.state.len()).filter(move |&row| table.state[row] == state as u8);
    rows.map(move |row| {
        let slot = table.slot(family, row);
        let slot = slot.ok_or_else(|| format!("row {row} names no requirement"))?;
        Ok((slot, (table.test[row], table.test2[row])))
    })
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
            goals: ThenAndNow {
                total: 200,
                then: 100,
                now: 70,
                proven: 0,
            },
            properties: ThenAndNow::default(),
            lost: (0..60).map(|n| format!("a:{n}")).collect(),
            gained: vec!["b:1".into(), "b:2".into(), "b:3".into()],
            refuted: Vec::new(),
            no_longer_refuted: Vec::new(),
            by_other_tests: vec!["c:4".into()],
        };
        let findings = change.findings(false);
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert!(findings[0].starts_with("60 goals that were covered are not covered now: a:0; "));
        assert!(
            findings[0].ends_with("a:49; and 10 more"),
            "{}",
            findings[0]
        );
        let gained = "3 goals that were not covered are covered now: b:1; b:2; b:3";
        assert_eq!(findings[1], gained);
        assert!(change.findings(true)[2].contains("other tests than claimed: c:4"));
        let data = serde_json::to_value(&change).unwrap();
        assert_eq!(data["lost"].as_array().unwrap().len(), 60);
    }
}
