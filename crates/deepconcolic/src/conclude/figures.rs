//! The conclusion of a run: every figure of `run.json`, computed from the suite, the table of requirements
//! and the settings. `run` writes what this says; `check` computes it again from the files and compares.

use std::collections::BTreeMap;
use std::ops::Range;

use deepconcolic_check::Audit;
use deepconcolic_criteria::{Decision, Family, Group, Polarity};
use deepconcolic_network::{BitSet, Network};
use deepconcolic_record::{
    AdversarialSummary, AskedSummary, Baseline, ClassSummary, ConstantCounts, CriterionSummary,
    Executions, LayerSummary, ModelSummary, NearestAdversarialTable, PropertySummary,
    RequirementSummary, RequirementTable, RowGroup, SlopeSummary, Spread, State, SuiteTable,
    Summary, TestSummary, Times, changes, constants,
};
use serde_json::Value;

use super::nearest_adversarial;
use crate::criterion::polarity_of;
use crate::gate::Gates;
use crate::settings::{Settings, hash_text};

/// What the figures are computed from.
pub struct ConclusionInputs<'a> {
    pub network: &'a Network,
    pub family: &'a dyn Family,
    pub decision: &'a Decision,
    pub settings: &'a Settings,
    /// The settings as they are written.
    pub settings_value: &'a Value,
    pub suite: &'a SuiteTable,
    /// The suite, executed.
    pub audit: &'a Audit,
    pub table: &'a RequirementTable,
    /// Nearest adversarial inputs, if they were asked for.
    pub nearest_adversarial: Option<&'a NearestAdversarialTable>,
    /// What is known of the slopes of regions, for a family of ratios.
    pub slopes: &'a [SlopeSummary],
}

/// What no file shows: how the run went, and what was measured on data.
#[derive(Clone)]
pub struct RunRecord {
    pub date: String,
    pub command: Vec<String>,
    pub accuracy: Option<f64>,
    pub misclassified: usize,
    pub baseline: Baseline,
    pub times: Times,
    pub executions: Executions,
    pub stop: String,
    pub notes: Vec<String>,
    /// What it had to come to.
    pub gates: Gates,
    /// SHA-256 of the files beside `run.json`.
    pub files: BTreeMap<String, String>,
}

/// The conclusion.
pub fn conclude(facts: &ConclusionInputs<'_>, record: RunRecord) -> Summary {
    let ConclusionInputs {
        network,
        family,
        decision,
        settings,
        suite,
        audit,
        ..
    } = *facts;
    let groups = family.groups();
    let total: usize = groups.iter().map(Group::total).sum();
    let covered = audit.covered_count();
    let infeasible = infeasible(family, facts.table);
    let refuted: usize = infeasible.iter().map(BitSet::count).sum();
    let properties = properties(facts, &infeasible);
    // Of goals and properties together no share says anything.
    let apart = properties
        .filter(|some| some.total < total)
        .unwrap_or_default();
    let part = |count: usize, of_properties: usize| match total - apart.total {
        0 => 1.0,
        total => (count - of_properties) as f64 / total as f64,
    };
    let seeds = suite.seeds();
    let generated = suite.len() - seeds;
    let mut summary = Summary {
        schema: Summary::SCHEMA,
        tool: format!("deepconcolic {}", settings.version),
        date: record.date,
        command: record.command,
        model: ModelSummary {
            path: settings.model.model.display().to_string(),
            sha256: settings.sha256.clone(),
            layers: network
                .layers()
                .iter()
                .map(|l| l.name().to_owned())
                .collect(),
        },
        criterion: match &settings.requirements {
            Some(file) => file.name.clone(),
            None => settings.criterion.clone().unwrap_or_default(),
        },
        partition: settings.partition,
        norm: settings.parameters.norm.name().into(),
        radius: settings.radius,
        domain: settings.domain_in_words(),
        rng_seed: settings.rng_seed,
        decision: decision.rule(),
        accuracy: record.accuracy,
        requirements: RequirementSummary {
            total,
            covered,
            infeasible: refuted,
            unresolved: total.saturating_sub(covered + refuted),
            fragile: audit.fragile_count(),
        },
        properties,
        coverage: part(covered, apart.refuted),
        resolved: part(covered + refuted, apart.refuted + apart.proven),
        layers: layers(network, groups, &audit.covered, &infeasible),
        criteria: criteria(facts, &infeasible),
        rows: rows(facts),
        lipschitz: facts.slopes.to_vec(),
        constants: curve(facts.slopes),
        classes: classes(decision, suite),
        tests: TestSummary {
            seeds,
            generated,
            misclassified: record.misclassified,
        },
        adversarial: (decision.rule().is_some()).then(|| adversarial(suite, generated)),
        nearest_adversarial: facts
            .nearest_adversarial
            .map(|table| nearest_adversarial::figures(table, suite)),
        distance: Spread::of(suite.distance.iter().skip(seeds).map(|&d| f64::from(d))),
        baseline: record.baseline,
        time_s: record.times,
        executions: record.executions,
        stop: record.stop,
        gates: Vec::new(),
        notes: record.notes,
        files: record.files,
        settings_sha256: hash_text(&facts.settings_value.to_string()),
        settings: facts.settings_value.clone(),
    };
    summary.gates = record.gates.judge_run(&summary);
    summary
}

/// The groups of each criterion that a family joins, by name; empty where it is of one criterion, or of a file.
pub fn parts_of(settings: &Settings, family: &dyn Family) -> Vec<(String, Range<usize>)> {
    let starts = family.starts();
    if starts.len() < 2 {
        return Vec::new();
    }
    let names = settings.criterion.as_deref().unwrap_or_default().split(',');
    let ends = starts[1..].iter().copied().chain([family.groups().len()]);
    let ranges = starts.iter().zip(ends).map(|(&start, end)| start..end);
    names.map(str::to_owned).zip(ranges).collect()
}

/// How the requirements of each of several criteria ended.
fn criteria(facts: &ConclusionInputs<'_>, infeasible: &[BitSet]) -> Vec<CriterionSummary> {
    let (family, audit) = (facts.family, facts.audit);
    let summary = |(criterion, range): (String, Range<usize>)| {
        let groups = &family.groups()[range.clone()];
        let layers = layers(
            facts.network,
            groups,
            &audit.covered[range.clone()],
            &infeasible[range.clone()],
        );
        let sum = |of: fn(&LayerSummary) -> usize| layers.iter().map(of).sum::<usize>();
        let requirements = RequirementSummary {
            total: sum(|l| l.total),
            covered: sum(|l| l.covered),
            infeasible: sum(|l| l.infeasible),
            unresolved: sum(|l| l.unresolved),
            fragile: audit.fragile[range.clone()].iter().map(BitSet::count).sum(),
        };
        let property = polarity_of(facts.settings, family, range.start, 0) == Polarity::Property;
        let share = |count: usize| match requirements.total {
            0 => 1.0,
            total => count as f64 / total as f64,
        };
        CriterionSummary {
            criterion,
            properties: property.then_some(PropertySummary {
                total: requirements.total,
                refuted: requirements.covered,
                proven: requirements.infeasible,
                open: requirements.unresolved,
                fragile: requirements.fragile,
            }),
            coverage: share(requirements.covered),
            resolved: share(requirements.covered + requirements.infeasible),
            requirements,
            layers,
        }
    };
    parts_of(facts.settings, family)
        .into_iter()
        .map(summary)
        .collect()
}

/// How the properties among the requirements ended, if there are any.
fn properties(facts: &ConclusionInputs<'_>, infeasible: &[BitSet]) -> Option<PropertySummary> {
    let mut counts = PropertySummary::default();
    for (number, group) in facts.family.groups().iter().enumerate() {
        for slot in group.not_required.complement().iter() {
            let polarity = polarity_of(facts.settings, facts.family, number, slot);
            if polarity == Polarity::Goal && facts.settings.criterion.is_some() {
                // A criterion speaks for all of its requirements.
                break;
            }
            if polarity == Polarity::Property {
                counts.total += 1;
                counts.refuted += usize::from(facts.audit.covered[number].contains(slot));
                counts.proven += usize::from(infeasible[number].contains(slot));
                counts.fragile += usize::from(facts.audit.fragile[number].contains(slot));
            }
        }
    }
    counts.open = counts.total.saturating_sub(counts.refuted + counts.proven);
    (counts.total > 0).then_some(counts)
}

/// Most requirements that are about no layer and are named one by one.
const NAMED: usize = 2000;

/// What the rows of the table of requirements stand for; rows of pairs, which come last, say it themselves.
fn rows(facts: &ConclusionInputs<'_>) -> Vec<RowGroup> {
    let (network, family) = (facts.network, facts.family);
    let groups = family.groups().iter().enumerate();
    let groups = groups.filter(|(number, _)| family.pairs(*number).is_none());
    let row_group = |(number, group): (usize, &Group)| RowGroup {
        layer: group
            .layer
            .map(|layer| network.layers()[layer].name().to_owned()),
        rows: group.slots(),
        asked: match group.layer {
            Some(_) => Vec::new(),
            None => (0..group.slots().min(NAMED))
                .map(|slot| asked(facts, number, slot))
                .collect(),
        },
    };
    groups.map(row_group).collect()
}

fn asked(facts: &ConclusionInputs<'_>, group: usize, slot: usize) -> AskedSummary {
    let polarity = polarity_of(facts.settings, facts.family, group, slot);
    AskedSummary {
        name: facts.family.label(group, slot),
        property: polarity == Polarity::Property,
    }
}

/// In how many regions constants are refuted or proven, where that changes.
fn curve(slopes: &[SlopeSummary]) -> Vec<ConstantCounts> {
    if slopes.is_empty() {
        return Vec::new();
    }
    changes(&constants(slopes))
}

/// What a table says is infeasible, group by group. A pair that has two rows counts once.
fn infeasible(family: &dyn Family, table: &RequirementTable) -> Vec<BitSet> {
    let mut sets: Vec<BitSet> = family
        .groups()
        .iter()
        .map(|group| BitSet::new(group.slots()))
        .collect();
    for row in (0..table.state.len()).filter(|&r| table.state[r] == State::Infeasible as u8) {
        if let Some(slot) = table.slot(family, row) {
            sets[slot.group as usize].insert(slot.slot as usize);
        }
    }
    sets
}

fn classes(decision: &Decision, suite: &SuiteTable) -> Vec<ClassSummary> {
    let classes = 0..decision.classes();
    let mut rows: Vec<ClassSummary> = classes
        .map(|label| ClassSummary {
            label,
            tests: 0,
            adversarial: 0,
        })
        .collect();
    let class = |test: usize| usize::try_from(suite.label[test]).unwrap_or(usize::MAX);
    for test in 0..suite.len() {
        if let Some(row) = rows.get_mut(class(test)) {
            row.tests += 1;
        }
    }
    for test in suite.adversarial() {
        if let Some(row) = rows.get_mut(class(test)) {
            row.adversarial += 1;
        }
    }
    rows
}

fn adversarial(suite: &SuiteTable, generated: usize) -> AdversarialSummary {
    let distances: Vec<f64> = suite
        .adversarial()
        .map(|test| suite.reference_distance[test])
        .collect();
    let spread = Spread::of(distances.iter().copied());
    AdversarialSummary {
        count: distances.len(),
        fraction: distances.len() as f64 / generated.max(1) as f64,
        min_distance: spread.min,
        median_distance: spread.median,
    }
}

/// Figures by layer, in the order of the layers.
fn layers(
    network: &Network,
    groups: &[Group],
    covered: &[BitSet],
    infeasible: &[BitSet],
) -> Vec<LayerSummary> {
    let mut rows: Vec<LayerSummary> = Vec::new();
    for ((group, covered), infeasible) in groups.iter().zip(covered).zip(infeasible) {
        let name = match group.layer {
            Some(layer) => network.layers()[layer].name(),
            None => "output",
        };
        let done = covered.count_without(&group.not_required);
        let row = LayerSummary {
            name: name.to_owned(),
            total: group.total(),
            covered: done,
            infeasible: infeasible.count(),
            unresolved: group.total().saturating_sub(done + infeasible.count()),
        };
        match rows.iter_mut().find(|r| r.name == name) {
            Some(known) => {
                known.total += row.total;
                known.covered += row.covered;
                known.infeasible += row.infeasible;
                known.unresolved += row.unresolved;
            }
            None => rows.push(row),
        }
    }
    rows
}
