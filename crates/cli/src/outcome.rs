//! What a run leaves: files in its folder, and a summary for people.

use std::io::{self, Write};
use std::time::Instant;

use deepconcolic_campaign::oracle::Judgement;
use deepconcolic_campaign::{
    Accuracy, Answers, Inputs, Limits, Passes, Seeds, Stop, Suite, sanity,
};
use deepconcolic_check::{Audit, PairClaim, Witnesses};
use deepconcolic_criteria::{Decision, Family, Means};
use deepconcolic_geometry::SearchSpace;
use deepconcolic_network::{BitSet, Network};
use deepconcolic_record::{
    AdversarialSummary, Baseline, Executions, LayerSummary, RequirementTable, RunFolder, State,
    SuiteTable, Summary, Times, write_adversarial,
};
use serde_json::Value;

use crate::conclusion::{Facts, Record, conclude};
use crate::controls::{CONTROL, Controls};
use crate::exit::Failure;
use crate::minimise::minimise;
use crate::prove::Proven;
use crate::settings::Settings;
use crate::statement::{self, Page, verdicts};
use crate::{date, fingerprints, paths, plan};

/// Names of the files in the folder of a run.
pub const SUITE: &str = "suite.npz";
pub const REQUIREMENTS: &str = "requirements.npz";
pub const SUMMARY: &str = "run.json";
pub const PROFILE: &str = "profile.npz";
pub const STATEMENT: &str = "statement.md";
pub const NEAREST: &str = "nearest.npz";
pub const ADVERSARIAL: &str = "adversarial";

/// Seconds that comparing may take when time is up.
const GRACE: f64 = 2.0;

/// Where the time went.
pub struct Stopwatch {
    pub started: Instant,
    last: Instant,
    before: f64,
    pub times: Times,
}

impl Stopwatch {
    /// From now on.
    pub fn start() -> Self {
        let now = Instant::now();
        Self {
            started: now,
            last: now,
            before: 0.0,
            times: Times::default(),
        }
    }

    /// Takes in the time of earlier sittings, which is counted as search.
    pub fn carry(&mut self, seconds: f64) {
        self.before = seconds;
        self.times.ascend += seconds;
    }

    /// Seconds so far, over all sittings.
    pub fn seconds(&self) -> f64 {
        self.before + self.started.elapsed().as_secs_f64()
    }

    /// Books the time since the last lap.
    pub fn lap(&mut self, of: impl FnOnce(&mut Times) -> &mut f64) {
        let now = Instant::now();
        *of(&mut self.times) += (now - self.last).as_secs_f64();
        self.last = now;
    }
}

/// A campaign that has ended.
pub struct Finished<'a> {
    pub folder: &'a RunFolder,
    pub network: &'a Network,
    pub family: &'a dyn Family,
    pub space: &'a SearchSpace,
    pub means: &'a Means,
    pub seeds: &'a Seeds,
    pub suite: &'a Suite,
    pub judgements: &'a [Judgement],
    pub claims: &'a [PairClaim],
    pub minimise: bool,
    pub proven: &'a Proven,
    pub data: &'a dyn Inputs,
    /// Names of classes, where the data give them by name.
    pub class_names: Option<&'a [String]>,
    pub decision: &'a Decision,
    pub limits: &'a Limits<'a>,
    pub passes: Passes,
    pub stop: Stop,
    pub settings: &'a Settings,
    pub settings_value: Value,
    pub misclassified: usize,
    pub notes: Vec<String>,
}

impl Finished<'_> {
    /// Writes everything. What is claimed is computed from the suite as it was read back from disk.
    pub fn save(mut self, watch: &mut Stopwatch) -> Result<Summary, Failure> {
        let shape = self.network.input_shape().without_batch().to_vec();
        // Until it is written anew, no earlier summary vouches for the files below.
        self.folder.remove(SUMMARY)?;
        let path = self.folder.file(SUITE);
        SuiteTable::new(self.suite, self.seeds, self.judgements).write(&path, &shape)?;
        let suite = SuiteTable::read(&path, self.network.input_elements())?;
        let witnesses = Witnesses {
            network: self.network,
            family: self.family,
            guide: plan::guide(self.family),
            space: self.space,
            seeds: self.seeds.values(),
            means: self.means,
            decision: self.decision,
        };
        let audit = witnesses
            .audit(&suite.x, self.claims)
            .map_err(Failure::Internal)?;
        let mut table = RequirementTable::new(self.family, &audit);
        for group in 0..self.family.groups().len() {
            table.refute(self.family, &audit, group, self.proven.numbers(group));
        }
        for (slot, bound) in self.proven.bounds() {
            let row = RequirementTable::row(self.family, slot);
            if table.state[row] == State::Unresolved as u8 {
                table.bound[row] = bound;
            }
        }
        self.settle(&audit);
        table.write(&self.folder.file(REQUIREMENTS))?;
        let mut passes = self.passes;
        if self.minimise {
            let path = self.folder.file(NEAREST);
            let done = minimise(&path, &witnesses, self.seeds, &suite, &table, self.limits)?;
            passes.forward += done.effort.forward;
            passes.vjp += done.effort.vjp;
            passes.lp += done.effort.lp;
            self.notes.push(done.to_string());
            watch.lap(|times| &mut times.symbolic);
        } else {
            // Of an earlier sitting.
            self.folder.remove(NEAREST)?;
        }
        self.passes = passes;
        self.notes.extend(write_adversarial(
            &self.folder.file(ADVERSARIAL),
            &suite,
            &shape,
            &self.space.domain,
        )?);
        watch.lap(|times| &mut times.measure);
        let (baseline, answers) = self.controls(suite.len());
        if let Some(answers) = &answers {
            self.notes
                .extend(sanity::findings(answers, self.class_names));
            let (domain, words) = (&self.space.domain, &self.settings.domain.words);
            self.notes.extend(sanity::outside(self.data, domain, words));
        }
        let accuracy = answers
            .and_then(|answers| answers.accuracy())
            .map(Accuracy::share);
        watch.lap(|times| &mut times.controls);
        watch.times.total = watch.seconds();
        let record = Record {
            date: date::now(),
            command: paths::command_line(),
            accuracy,
            misclassified: self.misclassified,
            baseline,
            times: watch.times,
            executions: Executions {
                forward: self.passes.forward,
                vjp: self.passes.vjp,
                lp: self.passes.lp,
                nodes: self.proven.nodes,
            },
            stop: self.stop.name().into(),
            notes: self.notes,
            files: fingerprints::of_folder(self.folder.path())?,
        };
        let facts = Facts {
            network: self.network,
            family: self.family,
            decision: self.decision,
            settings: self.settings,
            settings_value: &self.settings_value,
            suite: &suite,
            audit: &audit,
            table: &table,
        };
        let summary = conclude(&facts, record);
        let page = Page {
            summary: &summary,
            settings: self.settings,
            space: self.space,
            verdicts: verdicts(self.family, &table, self.settings),
        };
        statement::write(&self.folder.file(STATEMENT), &page)?;
        summary.write(&self.folder.file(SUMMARY))?;
        Ok(summary)
    }

    /// Words that depend on what is open in the end: why the run ended, and what proofs left.
    fn settle(&mut self, audit: &Audit) {
        let groups = self.family.groups().iter().enumerate();
        let open = groups.map(|(g, group)| {
            let infeasible = self.proven.of_group(g, group.slots());
            let required = group.void.complement();
            required.without(&audit.covered[g]).without(&infeasible)
        });
        let open: Vec<BitSet> = open.collect();
        let interrupted = self.limits.is_interrupted();
        self.stop = self.proven.stop(self.stop, &open, interrupted);
        self.notes.extend(self.proven.open_notes(&open));
    }

    /// What as many random inputs, and the data alone, cover. Left out when the user wants an end.
    fn controls(&self, tests: usize) -> (Baseline, Option<Answers>) {
        let mut baseline = Baseline {
            random_coverage: None,
            random_inputs: 0,
            data_coverage: None,
            data_inputs: 0,
        };
        if self.limits.is_interrupted() {
            return (baseline, None);
        }
        let controls = Controls {
            network: self.network,
            family: self.family,
            decision: self.decision,
        };
        let started = Instant::now();
        let random = controls.random(self.space, self.seeds, tests, self.settings.rng_seed);
        baseline.random_coverage = Some(random);
        baseline.random_inputs = tests;
        // Controls may take a little longer than the budget, not much.
        let each = started.elapsed().as_secs_f64() / tests.max(1) as f64;
        let affordable = self.limits.deadline.map_or(CONTROL, |end| {
            let left = end.saturating_duration_since(Instant::now()).as_secs_f64();
            (left.max(GRACE) / each) as usize
        });
        let len = self.data.len().min(CONTROL).min(affordable.max(1));
        let (data, answers) = controls.data(self.data, len);
        baseline.data_coverage = Some(data);
        baseline.data_inputs = len;
        (baseline, Some(answers))
    }
}

/// Prints a summary for people. It depends on the run alone, not on how long it took.
pub fn print(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    let radius = match summary.radius {
        Some(radius) => format!("within {radius} ({}) of a seed", summary.norm),
        None => "anywhere in the search region".into(),
    };
    writeln!(
        out,
        "{}: tests {radius}, domain {}",
        summary.criterion, summary.domain
    )?;
    if let Some(rule) = summary.decision {
        writeln!(out, "decision: {}", rule.words())?;
    }
    if let Some(accuracy) = summary.accuracy {
        writeln!(
            out,
            "accuracy {:.2} % on {} samples",
            accuracy * 100.0,
            summary.baseline.data_inputs
        )?;
    }
    print_layers(out, summary)?;
    let tests = &summary.tests;
    let plural = if tests.seeds == 1 { "" } else { "s" };
    write!(out, "tests: {} seed{plural}", tests.seeds)?;
    if tests.misclassified > 0 {
        write!(
            out,
            " ({} misclassified ones set aside)",
            tests.misclassified
        )?;
    }
    write!(out, ", {} generated", tests.generated)?;
    if let (Some(median), Some(max)) = (summary.distance.median, summary.distance.max) {
        write!(
            out,
            ", {median:.4} from their seeds in the median, {max:.4} at most"
        )?;
    }
    writeln!(out)?;
    if let Some(bad) = &summary.adversarial {
        print_adversarial(out, bad)?;
    }
    let baseline = &summary.baseline;
    if let (Some(random), Some(data)) = (baseline.random_coverage, baseline.data_coverage) {
        writeln!(
            out,
            "for comparison: as many random tests cover {:.2} %, {} samples of the data {:.2} %",
            random * 100.0,
            baseline.data_inputs,
            data * 100.0
        )?;
    }
    let work = &summary.executions;
    writeln!(
        out,
        "{} forward and {} backward passes, {} linear programs; stopped: {}",
        work.forward, work.vjp, work.lp, summary.stop
    )?;
    for note in &summary.notes {
        writeln!(out, "note: {note}")?;
    }
    Ok(())
}

fn print_adversarial(out: &mut impl Write, bad: &AdversarialSummary) -> io::Result<()> {
    write!(
        out,
        "adversarial: {} ({:.2} % of generated)",
        bad.count,
        bad.fraction * 100.0
    )?;
    if let (Some(min), Some(median)) = (bad.min_distance, bad.median_distance) {
        write!(
            out,
            ", {min:.4} from real data at least, {median:.4} in the median"
        )?;
    }
    writeln!(out)
}

fn print_layers(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    let width = summary
        .layers
        .iter()
        .map(|layer| layer.name.chars().count())
        .chain(["layer".len()])
        .max()
        .unwrap_or(0);
    writeln!(
        out,
        "\n{:width$}  {:>9} {:>9} {:>10} {:>10} {:>9}",
        "layer", "required", "covered", "infeasible", "unresolved", "coverage"
    )?;
    let all = &summary.requirements;
    let total = LayerSummary {
        name: "all".into(),
        total: all.total,
        covered: all.covered,
        infeasible: all.infeasible,
        unresolved: all.unresolved,
    };
    for layer in summary.layers.iter().chain([&total]) {
        let percent = 100.0 * layer.covered as f64 / layer.total.max(1) as f64;
        writeln!(
            out,
            "{:width$}  {:>9} {:>9} {:>10} {:>10} {percent:>7.2} %",
            layer.name, layer.total, layer.covered, layer.infeasible, layer.unresolved
        )?;
    }
    if all.fragile > 0 {
        writeln!(
            out,
            "{} of the covered ones only within the margin of rounding (fragile)",
            all.fragile
        )?;
    }
    writeln!(out)
}
