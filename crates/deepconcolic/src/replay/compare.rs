//! A saved suite run again: what it shows beside what was claimed.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;

use deepconcolic_campaign::oracle::Verdict;
use deepconcolic_check::{Audit, Until, Witnesses};
use deepconcolic_criteria::{Decision, Family, Means, Prediction};
use deepconcolic_dataset::Samples;
use deepconcolic_formats::Loaded;
use deepconcolic_geometry::{Domain, SearchSpace};
use deepconcolic_network::Network;
use deepconcolic_record::{ArchiveError, RequirementTable, SuiteTable, Summary};
use serde::Serialize;

use super::coverage_change::{CoverageChange, ThenAndNow};
use super::nearest_adversarial;
use super::renumbering::Renumbering;
use super::slopes;
use crate::criterion::properties;
use crate::error::Error;
use crate::event::Event;
use crate::folder::{self, kept, profile_file, region_file};
use crate::gate::{Account, Counts};
use crate::oracle::Court;
use crate::settings::Settings;
use crate::{model, plan};
use deepconcolic_campaign::percent;

/// Which suite is run again, on which model.
pub struct Replay<'a> {
    /// The folder of a run.
    pub dir: &'a Path,
    /// Another model with the same layers, to see what the suite shows of it.
    pub model: Option<&'a Path>,
}

/// What a suite shows now, beside what was claimed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ReplayReport {
    /// The model that the suite was run on.
    pub model: String,
    /// Whether another model was asked for: the suite then guards against losing what the run showed.
    pub regression: bool,
    /// What was compared, then and now.
    pub lines: Vec<String>,
    /// What differs.
    pub findings: Vec<String>,
    /// Tests that do not lie where they may, whatever the model.
    pub misplaced: Vec<String>,
    /// What is met now, requirement by requirement; none where requirements cannot be compared.
    pub coverage: Option<CoverageChange>,
    /// Tests that are adversarial now and were not.
    pub newly_adversarial: Vec<usize>,
    /// Tests that were adversarial and are not now.
    pub no_longer_adversarial: Vec<usize>,
}

impl ReplayReport {
    /// Whether it passes: the run's own model must show just what was saved, another one must lose nothing: no goal
    /// that was covered, no property that no test refuted, and no test may become adversarial.
    pub fn passes(&self) -> bool {
        if self.regression {
            self.misplaced.is_empty() && self.regressions().is_empty()
        } else {
            self.findings.is_empty()
        }
    }

    /// Everything that the other model loses, each in a line of its own.
    pub fn regressions(&self) -> Vec<String> {
        let mut all = Vec::new();
        if let Some(change) = &self.coverage {
            all.extend(
                change
                    .lost
                    .iter()
                    .map(|name| format!("no longer covered: {name}")),
            );
            all.extend(
                change
                    .refuted
                    .iter()
                    .map(|name| format!("newly refuted: {name}")),
            );
        }
        let tests = self.newly_adversarial.iter();
        all.extend(tests.map(|test| format!("newly adversarial: test {test}")));
        all
    }
}

/// What was saved.
struct Saved {
    summary: Summary,
    settings: Settings,
    suite: SuiteTable,
    renumbering: Renumbering,
    table: RequirementTable,
}

impl Saved {
    fn is_of(&self, sha256: &str) -> bool {
        self.settings.sha256 == sha256
    }
}

impl Replay<'_> {
    /// The suite as a model takes it, and how numbers of the run become those of the model.
    fn suite(
        &self,
        settings: &Settings,
        network: &Network,
    ) -> Result<(SuiteTable, Renumbering), Error> {
        let path = self.dir.join(folder::SUITE);
        let renumbering = Renumbering::between(settings, &SuiteTable::shape(&path)?, network)?;
        let suite = SuiteTable::read(&path, network.input_elements())?;
        let suite = renumbering.suite(suite, network.input_elements());
        Ok((suite, renumbering))
    }

    /// The table of requirements, every number of it checked.
    fn table(&self, tests: usize) -> Result<RequirementTable, Error> {
        let table = RequirementTable::read(&self.dir.join(folder::REQUIREMENTS))?;
        match table.misfit(tests) {
            None => Ok(table),
            Some(why) => Err(self.damaged(folder::REQUIREMENTS, why)),
        }
    }

    /// What the run required.
    fn family(
        &self,
        settings: &Settings,
        network: &Network,
        decision: &Decision,
        seeds: &[Vec<f32>],
        space: &SearchSpace,
        renumbering: &Renumbering,
    ) -> Result<Box<dyn Family>, Error> {
        let profile = if plan::needs_profile(settings)? {
            let found = profile_file::load(&self.dir.join(folder::PROFILE), network)?;
            let moved = found.map(|profile| renumbering.profile(profile, network));
            moved
                .transpose()
                .map_err(|why| self.damaged(folder::PROFILE, why))?
        } else {
            None
        };
        plan::family(settings, network, decision, seeds, space, profile.as_ref())
    }

    /// Runs the suite, and compares.
    pub fn run(&self, tell: &mut dyn FnMut(Event)) -> Result<ReplayReport, Error> {
        let summary = self.summary()?;
        let settings =
            Settings::read(&summary.settings).map_err(|e| self.damaged(folder::SUMMARY, e))?;
        let settings = kept::fetched(settings, self.dir);
        let model = settings.model.or_file(self.model);
        let Loaded {
            network,
            sha256,
            notes,
            ..
        } = model::load(&model)?;
        notes.into_iter().map(Event::Note).for_each(tell);
        let (suite, renumbering) = self.suite(&settings, &network)?;
        let saved = Saved {
            table: self.table(suite.len())?,
            suite,
            renumbering,
            summary,
            settings,
        };
        let mut findings = Vec::new();
        let mut out = Vec::new();
        let same_model = saved.is_of(&sha256);
        if same_model {
            out.push(format!("model {}, as it was", model.model.display()));
        } else {
            out.push(format!(
                "model {}: another one than the run's ({}...)",
                model.model.display(),
                saved.settings.sha256.get(..12).unwrap_or_default()
            ));
            if self.model.is_none() {
                findings.push("the model file has changed since the run".to_owned());
            }
        }
        if !saved.renumbering.is_plain() {
            out.push(format!(
                "inputs for this model: {}",
                saved.renumbering.words()
            ));
        }
        // Gone data are no error: verdicts are then not judged again, and that is said.
        let data = saved.settings.data.open(&network).ok();
        let decision = model::decision(saved.settings.decision, &network)?;
        let bench = Bench {
            network: &network,
            same_model,
            decision: &decision,
            data: data.as_ref(),
        };
        let mut report = ReplayReport {
            model: model.model.display().to_string(),
            regression: self.model.is_some() && !same_model,
            ..ReplayReport::default()
        };
        self.compare(&saved, &bench, &mut report, &mut out, &mut findings)?;
        (report.lines, report.findings) = (out, findings);
        Ok(report)
    }

    fn summary(&self) -> Result<Summary, Error> {
        let path = self.dir.join(folder::SUMMARY);
        if !path.exists() && self.dir.join("journal").exists() {
            return Err(Error::Request(format!(
                "{} holds a run that has not ended; end it with `run ... --resume`",
                self.dir.display()
            )));
        }
        Ok(Summary::read(&path)?)
    }

    fn damaged(&self, file: &str, detail: String) -> Error {
        ArchiveError::Damaged {
            path: self.dir.join(file),
            detail,
        }
        .into()
    }

    fn compare(
        &self,
        saved: &Saved,
        bench: &Bench<'_>,
        report: &mut ReplayReport,
        out: &mut Vec<String>,
        findings: &mut Vec<String>,
    ) -> Result<(), Error> {
        let (settings, network) = (&saved.settings, bench.network);
        let inputs = |values: &[f32]| -> Vec<Vec<f32>> {
            let each = values.chunks_exact(network.input_elements().max(1));
            each.map(<[f32]>::to_vec).collect()
        };
        let rows = inputs(&saved.suite.x);
        let count = settings.seeds.len();
        let seeds = saved.suite.all_seeds(count, network.input_elements());
        let seeds =
            seeds.ok_or_else(|| self.damaged(folder::SUITE, saved.suite.lack_of_seeds(count)))?;
        let space = self.space(settings, network, &saved.renumbering)?;
        let decision = bench.decision;
        let family = self.family(
            settings,
            network,
            decision,
            &inputs(&seeds),
            &space,
            &saved.renumbering,
        )?;
        let means = plan::means(settings, network)?;
        let witnesses = Witnesses {
            network,
            family: family.as_ref(),
            guide: plan::guide(family.as_ref()),
            space: &space,
            seeds: &seeds,
            means: &means,
            decision,
            until: Until::NEVER,
        };
        let obstacle = saved.renumbering.obstacle(settings);
        let then = saved.table.clone();
        let then = saved.renumbering.table(then, family.as_ref(), network);
        let claims = match obstacle {
            Some(_) => Vec::new(),
            None => then
                .claims(family.as_ref())
                .map_err(|why| self.damaged(folder::REQUIREMENTS, why))?,
        };
        let audit = match witnesses.audit(&saved.suite.x, &claims) {
            Ok(audit) => audit,
            Err(why) => {
                findings.push(why);
                return Ok(());
            }
        };
        if let Some(why) = obstacle {
            out.push(format!("requirements not compared: {why}"));
        } else {
            let now = RequirementTable::new(family.as_ref(), &audit);
            let properties = properties(settings, family.as_ref());
            let change = CoverageChange::between(family.as_ref(), &then, &now, &properties)
                .map_err(|why| self.damaged(folder::REQUIREMENTS, why))?;
            coverage(saved, &change, bench.same_model, out, findings)?;
            report.coverage = Some(change);
            slopes::compare(
                &saved.summary.lipschitz,
                (network, bench.same_model),
                (family.as_ref(), &space),
                &rows,
                out,
                findings,
            );
        }
        labels(saved, &audit, &means, out, findings)?;
        places(saved, &rows, &space, &mut report.misplaced);
        findings.extend(report.misplaced.iter().cloned());
        let found = self.verdicts(saved, bench, &space, &audit.predictions, out, findings)?;
        let adversarial = |verdict: Option<&u8>| verdict == Some(&(Verdict::Adversarial as u8));
        for test in differing(&saved.suite.verdict, &found) {
            if adversarial(found.get(test)) {
                report.newly_adversarial.push(test);
            } else if adversarial(saved.suite.verdict.get(test)) && !found.is_empty() {
                report.no_longer_adversarial.push(test);
            }
        }
        Ok(())
    }

    fn space(
        &self,
        settings: &Settings,
        network: &Network,
        renumbering: &Renumbering,
    ) -> Result<SearchSpace, Error> {
        let elements = network.input_elements();
        let own = settings.domain.domain(elements).map_err(Error::Request)?;
        let wide = |ends: &[f32]| ends.iter().map(|&end| f64::from(end)).collect();
        let ends = (wide(own.lower()), wide(own.upper()));
        let (lower, upper) = renumbering.boxes(vec![ends]).swap_remove(0);
        let narrow = |ends: Vec<f64>| ends.into_iter().map(|end| end as f32).collect();
        let domain = Domain::new(narrow(lower), narrow(upper)).map_err(Error::Request)?;
        let boxes = if settings.region.is_some() {
            let names = region_file::NAMES.map(|name| self.dir.join(name));
            let path = names.iter().find(|path| path.exists());
            let path = path.ok_or_else(|| {
                self.damaged("region.npz", "the boxes of the run are missing".into())
            })?;
            Some(renumbering.boxes(region_file::load(path, &own)?.boxes))
        } else {
            None
        };
        plan::search_space(settings, network, domain, boxes)
    }
}

/// What a suite is run on.
struct Bench<'a> {
    network: &'a Network,
    /// Whether that is the run's own model.
    same_model: bool,
    decision: &'a Decision,
    data: Option<&'a Samples>,
}

impl Replay<'_> {
    /// What the oracle says of the tests now, and of the nearest adversarial inputs; nothing where it cannot judge.
    fn verdicts(
        &self,
        saved: &Saved,
        bench: &Bench<'_>,
        space: &SearchSpace,
        predictions: &[Prediction],
        out: &mut Vec<String>,
        findings: &mut Vec<String>,
    ) -> Result<Vec<u8>, Error> {
        let (network, decision) = (bench.network, bench.decision);
        if decision.rule().is_none() {
            return Ok(Vec::new());
        }
        let references = match &saved.settings.reference {
            Some(path) => saved.settings.data.open_as(path, network).ok(),
            None => bench.data.cloned(),
        };
        let Some(references) = references else {
            out.push("verdicts not judged again: the reference data are not readable".to_owned());
            return Ok(Vec::new());
        };
        let court = Court {
            settings: &saved.settings,
            network,
            space,
            decision,
        };
        let roots = saved.suite.provenance.roots();
        let judged = court.judge(&references, &saved.suite.x, predictions, roots)?;
        let found: Vec<u8> = judged.iter().map(|j| j.verdict as u8).collect();
        let adversarial = |all: &[u8]| {
            let bad = all.iter().filter(|v| **v == Verdict::Adversarial as u8);
            bad.collect::<Vec<_>>().len()
        };
        out.push(format!(
            "adversarial {} then, {} now",
            adversarial(&saved.suite.verdict),
            adversarial(&found)
        ));
        let changed = differing(&saved.suite.verdict, &found);
        if !changed.is_empty() {
            findings.push(format!(
                "{} tests have another verdict: {}",
                changed.len(),
                few(&changed)
            ));
        }
        let nearest =
            nearest_adversarial::compare(self.dir, &saved.renumbering, &court, &references)?;
        out.extend(nearest.lines);
        findings.extend(nearest.findings);
        Ok(found)
    }
}

fn coverage(
    saved: &Saved,
    change: &CoverageChange,
    same_model: bool,
    out: &mut Vec<String>,
    findings: &mut Vec<String>,
) -> Result<(), Error> {
    let mut parts = vec![format!("{} tests", saved.suite.len())];
    let (mut claimed_goals, mut claimed_properties) = (Counts::default(), Counts::default());
    for account in Account::of_run(&saved.summary) {
        claimed_goals += account.goals;
        claimed_properties += account.properties;
    }
    let ThenAndNow { total, now, .. } = change.goals;
    let claimed = claimed_goals;
    if total > 0 || claimed.total > 0 {
        let percent = |count: usize| percent(count as f64 / total.max(1) as f64, 2);
        let (then, then_share, now_share) = (claimed.met, percent(claimed.met), percent(now));
        let what = if change.properties.total > 0 {
            " goals"
        } else {
            ""
        };
        parts.push(format!(
            "covered {then} then ({then_share:.2} %), {now} now ({now_share:.2} %) of {total}{what}"
        ));
    }
    if (claimed.met, claimed.total) != (now, total) {
        findings.push(format!(
            "coverage {} of {} was claimed",
            claimed.met, claimed.total
        ));
    }
    let ThenAndNow { total, now, .. } = change.properties;
    let claimed = claimed_properties;
    if total > 0 || claimed.total > 0 {
        let what = if change.goals.total > 0 {
            " properties"
        } else {
            ""
        };
        parts.push(format!(
            "refuted {} then, {now} now, of {total}{what}",
            claimed.met
        ));
    }
    if (claimed.met, claimed.total) != (now, total) {
        findings.push(format!(
            "{} of {} properties refuted was claimed",
            claimed.met, claimed.total
        ));
    }
    out.push(parts.join("; "));
    if !same_model {
        out.extend(proofs_left_behind(change));
    }
    findings.extend(change.findings(same_model));
    Ok(())
}

/// What was proven, which says nothing of another model.
fn proofs_left_behind(change: &CoverageChange) -> Option<String> {
    let proven = match (change.goals.proven, change.properties.proven) {
        (0, 0) => return None,
        (goals, 0) => format!("{goals} goals are proven impossible"),
        (0, properties) => format!("{properties} properties are proven"),
        (goals, properties) => {
            format!("{goals} goals are proven impossible and {properties} properties proven")
        }
    };
    Some(format!(
        "{proven} of the run's own model; of this one nothing is proven here"
    ))
}

fn labels(
    saved: &Saved,
    audit: &Audit,
    means: &Means,
    out: &mut Vec<String>,
    findings: &mut Vec<String>,
) -> Result<(), Error> {
    let now: Vec<f64> = audit
        .predictions
        .iter()
        .flat_map(Prediction::values)
        .copied()
        .collect();
    if !now.is_empty() || !saved.suite.output.is_empty() {
        return outputs(saved, &now, means, out, findings);
    }
    let now: Vec<i64> = audit.predictions.iter().map(Prediction::label).collect();
    let changed = differing(&saved.suite.label, &now);
    out.push(format!("labels changed: {}", changed.len()));
    if !changed.is_empty() {
        findings.push(format!(
            "{} tests have another label: {}",
            changed.len(),
            few(&changed)
        ));
    }
    Ok(())
}

/// Compares the outputs of a regression, apart from what rounding in another runtime does to them.
fn outputs(
    saved: &Saved,
    now: &[f64],
    means: &Means,
    out: &mut Vec<String>,
    findings: &mut Vec<String>,
) -> Result<(), Error> {
    let margin = means.margin(means.layers().len());
    let then = &saved.suite.output;
    let outputs = saved.suite.outputs().max(1);
    let tests = saved.suite.len().max(1);
    if then.len() == outputs * tests && now.len() / tests != outputs {
        return Err(Error::Request(format!(
            "the suite cannot be judged on this model: answers of the run are {outputs} numbers a test, and those of \
             this model {}; name a model with as many outputs",
            now.len() / tests
        )));
    }
    let same = |i: usize| match (then.get(i), now.get(i)) {
        (Some(then), Some(now)) => (then - now).abs() <= margin,
        _ => false,
    };
    let mut changed: Vec<usize> = (0..then.len().max(now.len()))
        .filter(|&i| !same(i))
        .map(|i| i / outputs)
        .collect();
    changed.dedup();
    out.push(format!("outputs changed: {}", changed.len()));
    if !changed.is_empty() {
        findings.push(format!(
            "{} tests have another output: {}",
            changed.len(),
            few(&changed)
        ));
    }
    Ok(())
}

/// Whether generated tests lie where they may.
fn places(saved: &Saved, rows: &[Vec<f32>], space: &SearchSpace, findings: &mut Vec<String>) {
    let seeds = saved.suite.seeds();
    let roots: HashMap<i64, usize> = saved.suite.provenance.root[..seeds]
        .iter()
        .enumerate()
        .map(|(row, &root)| (root, row))
        .collect();
    for (test, row) in rows.iter().enumerate().skip(seeds) {
        let violation = match roots.get(&saved.suite.provenance.root[test]) {
            Some(&root) => space.violation(row, &rows[root]),
            None => Some("its root is no seed of the suite".into()),
        };
        if let Some(why) = violation {
            findings.push(format!("test {test} may not be one: {why}"));
        }
    }
}

/// Where two lists differ; every place that only one of them has counts.
fn differing<T: PartialEq>(a: &[T], b: &[T]) -> Vec<usize> {
    let longer = a.len().max(b.len());
    (0..longer).filter(|&i| a.get(i) != b.get(i)).collect()
}

fn few(numbers: &[usize]) -> String {
    let mut text = String::new();
    for (i, number) in numbers.iter().take(8).enumerate() {
        let comma = if i > 0 { ", " } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(text, "{comma}{number}");
    }
    if numbers.len() > 8 {
        text += ", ...";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_differ_where_only_one_has_something() {
        assert_eq!(differing(&[1, 2, 3], &[1, 5]), [1, 2]);
        assert!(differing(&[1], &[1]).is_empty());
    }

    #[test]
    fn long_lists_are_cut() {
        let numbers: Vec<usize> = (0..20).collect();
        assert_eq!(few(&numbers), "0, 1, 2, 3, 4, 5, 6, 7, ...");
    }
}
