//! What came of a run: computed from its state by running the whole suite again, as data. Writing it is apart
//! from that.

use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use deepconcolic_campaign::oracle::Judgement;
use deepconcolic_campaign::{Accuracy, Answers, Campaign, Limits, Passes, Stop, sanity};
use deepconcolic_check::{Audit, Until, Witnesses};
use deepconcolic_criteria::{Family, Means};
use deepconcolic_dataset::write::AtomicFile;
use deepconcolic_network::BitSet;
use deepconcolic_record::{
    AdversarialTable, Baseline, Drawn, Executions, NeuronRanges, RequirementTable, RunFolder,
    SlopeSummary, State, SuiteTable, Summary, constants, csv, draw, write_adversarial,
    write_nearest_adversarial,
};
use serde_json::Value;

use super::confidence::adversarial_tests;
use super::controls::{CONTROL, Controls};
use super::figures::{ConclusionInputs, RunRecord, conclude, parts_of};
use super::minimise::{self, Minimised, minimise};
use super::nearest_adversarial::{NearestAdversarial, nearest_adversarial};
use super::slopes::{RANDOM_PAIRS, Regions, is_all_ratios, random_share};
use super::statement::{self, Page, verdicts};
use crate::error::Error;
use crate::folder::{
    ADVERSARIAL, NEAREST, NEAREST_ADVERSARIAL, NEURONS, REQUIREMENTS, SLOPES, STATEMENT, SUITE,
    SUMMARY, date, fingerprints, requirements_of,
};
use crate::gate::Gates;
use crate::plan;
use crate::prepare::Prepared;
use crate::prove::Proven;
use crate::samples;
use crate::session::Stopwatch;
use crate::settings::Settings;

/// The share of the time left before saving that random inputs may take, and the share that all controls may take.
const RANDOM_SHARE: f64 = 0.5;
const CONTROLS_SHARE: f64 = 0.8;
/// The share of the time left that a search for what is nearest may take: controls come after it.
const MINIMISE_SHARE: f64 = 0.8;

/// What came of a run.
pub struct Conclusion {
    prepared: Arc<Prepared>,
    settings: Value,
    /// The suite.
    pub suite: SuiteTable,
    /// How every requirement ended.
    pub requirements: RequirementTable,
    /// The adversarial tests.
    pub adversarial: AdversarialTable,
    /// The nearest witnesses, if they were asked for.
    pub nearest: Option<Minimised>,
    /// The nearest adversarial inputs, if they were asked for.
    nearest_adversarial: Option<NearestOutput>,
    drawn: Drawn,
    audit: Audit,
    slopes: Vec<SlopeSummary>,
    record: RunRecord,
}

impl Conclusion {
    /// Every figure of it, as `run.json` has them.
    pub fn summary(&self) -> Summary {
        conclude(&self.facts(), self.record.clone())
    }

    /// Writes everything into a folder. The summary comes last: a folder that has one is complete.
    pub fn write(&mut self, folder: &RunFolder) -> Result<Summary, Error> {
        let shape = self.prepared.network.input_shape().without_batch().to_vec();
        // Until it is written anew, no earlier summary vouches for the files below.
        folder.remove(SUMMARY)?;
        self.write_suite(&folder.file(SUITE), &shape)?;
        self.requirements.write(&folder.file(REQUIREMENTS))?;
        let family = self.prepared.family.as_ref();
        for (name, part) in parts(&self.prepared.settings, family, &self.requirements) {
            part.write(&folder.file(&requirements_of(&name)))?;
        }
        if self.audit.seen.is_empty() {
            folder.remove(NEURONS)?;
        } else {
            let seen = NeuronRanges(self.audit.seen.clone());
            seen.write(&folder.file(NEURONS))?;
        }
        match &self.nearest {
            Some(nearest) => minimise::write(&folder.file(NEAREST), &shape, &nearest.found)?,
            // Of an earlier sitting.
            None => folder.remove(NEAREST)?,
        }
        self.write_slopes(folder)?;
        let pictures = folder.file(ADVERSARIAL);
        write_adversarial(&pictures, &self.adversarial, &self.drawn, &shape)?;
        let none = NearestOutput::default();
        let nearest = self.nearest_adversarial.as_ref().unwrap_or(&none);
        nearest.write(&folder.file(NEAREST_ADVERSARIAL), &shape)?;
        self.record.files = fingerprints::of_folder(folder.path())?;
        let summary = self.summary();
        let prepared = &self.prepared;
        let page = Page {
            summary: &summary,
            settings: &prepared.settings,
            space: &prepared.space,
            verdicts: verdicts(
                prepared.family.as_ref(),
                &self.requirements,
                &prepared.settings,
            ),
        };
        statement::write(&folder.file(STATEMENT), &page)?;
        summary.write(&folder.file(SUMMARY))?;
        Ok(summary)
    }

    /// Writes how many regions each constant is refuted or proven in.
    fn write_slopes(&self, folder: &RunFolder) -> Result<(), Error> {
        if self.slopes.is_empty() {
            return Ok(());
        }
        let mut file = AtomicFile::create(&folder.file(SLOPES))?;
        let text = csv(&constants(&self.slopes));
        file.write_all(text.as_bytes())
            .map_err(|e| Error::Request(format!("{SLOPES} cannot be written: {e}")))?;
        Ok(file.commit()?)
    }

    /// Writes the suite and reads it back: every figure was computed from just these numbers.
    fn write_suite(&self, path: &Path, shape: &[usize]) -> Result<(), Error> {
        self.suite.write(path, shape)?;
        let read = SuiteTable::read(path, self.prepared.network.input_elements())?;
        if read.is_same(&self.suite) {
            Ok(())
        } else {
            Err(Error::Internal(format!(
                "{} is not read back as it was written",
                path.display()
            )))
        }
    }

    fn facts(&self) -> ConclusionInputs<'_> {
        let prepared = &self.prepared;
        ConclusionInputs {
            network: &prepared.network,
            family: prepared.family.as_ref(),
            decision: &prepared.decision,
            settings: &prepared.settings,
            settings_value: &self.settings,
            suite: &self.suite,
            audit: &self.audit,
            table: &self.requirements,
            nearest_adversarial: self.nearest_adversarial.as_ref().map(|o| &o.done.table),
            slopes: &self.slopes,
        }
    }
}

/// Nearest adversarial inputs, and pictures of them.
#[derive(Default)]
struct NearestOutput {
    done: NearestAdversarial,
    drawn: Drawn,
}

impl NearestOutput {
    /// Writes the folder anew; without inputs there is none.
    fn write(&self, folder: &Path, shape: &[usize]) -> Result<(), Error> {
        let Self { done, drawn } = self;
        let (table, certificates) = (&done.table, &done.certificates);
        Ok(write_nearest_adversarial(
            folder,
            table,
            drawn,
            certificates,
            shape,
        )?)
    }
}

/// The rows of each of several criteria.
pub fn parts(
    settings: &Settings,
    family: &dyn Family,
    table: &RequirementTable,
) -> Vec<(String, RequirementTable)> {
    let part = |(name, groups): (String, Range<usize>)| (name, table.part(family, groups));
    parts_of(settings, family).into_iter().map(part).collect()
}

/// A run that has ended.
pub struct Ended<'a> {
    pub prepared: &'a Arc<Prepared>,
    pub campaign: &'a Campaign,
    pub judgements: &'a [Judgement],
    pub proven: &'a Proven,
    pub settings: Value,
    /// Work done.
    pub passes: Passes,
    pub minimise: bool,
    pub command: Vec<String>,
    /// What the run must come to.
    pub gates: Gates,
    /// What ends all work but saving.
    pub limits: Limits<'a>,
    pub stop: Stop,
}

impl Ended<'_> {
    /// Runs the suite again, counts, and compares.
    pub fn conclude(self, watch: &mut Stopwatch) -> Result<Conclusion, Error> {
        let prepared = self.prepared;
        let network = &prepared.network;
        let suite = SuiteTable::new(self.campaign.suite(), &prepared.seeds, self.judgements);
        let means = self.campaign.means();
        let witnesses = self.witnesses(&means);
        let began = Instant::now();
        let audit = witnesses
            .audit(&suite.x, self.campaign.claims())
            .map_err(Error::Internal)?;
        let audited = began.elapsed().as_secs_f64() / suite.len().max(1) as f64;
        let table = self.table(&audit);
        let open = self.open(&audit);
        let stop = self
            .proven
            .stop(self.stop, &open, self.limits.is_interrupted());
        let mut notes = prepared.notes.clone();
        notes.extend_from_slice(self.campaign.reasons());
        notes.extend_from_slice(&self.proven.notes);
        notes.extend(self.proven.open_notes(&open));
        notes.extend(self.nothing_made(stop, watch));
        let mut passes = self.passes;
        let nearest = self.minimise.then(|| {
            let seeds = &prepared.seeds;
            let limits = self.limits_for_witnesses(&suite);
            let done = minimise(&witnesses, seeds, &suite, &table, &limits);
            passes.forward += done.effort.forward;
            passes.vjp += done.effort.vjp;
            passes.lp += done.effort.lp;
            notes.push(done.to_string());
            watch.lap(|times| &mut times.symbolic);
            done
        });
        let nearest_adversarial = self.nearest_adversarial(&suite, means.layers())?;
        if let Some(NearestOutput { done, drawn }) = &nearest_adversarial {
            passes.forward += done.effort.forward;
            passes.vjp += done.effort.vjp;
            passes.lp += done.effort.lp;
            notes.extend(done.notes.iter().chain(&drawn.notes).cloned());
            watch.lap(|times| &mut times.symbolic);
        }
        let adversarial = adversarial_tests(network, &prepared.decision, &suite);
        let shape = network.input_shape().without_batch().to_vec();
        let drawn = draw(
            Path::new(ADVERSARIAL),
            &adversarial,
            &shape,
            &prepared.space.domain,
        )?;
        notes.extend_from_slice(&drawn.notes);
        watch.lap(|times| &mut times.measure);
        let (mut baseline, answers) = self.controls(suite.len(), audited)?;
        notes.extend(reduced(&baseline, suite.len(), prepared.family.as_ref()));
        let slopes = self.slopes(passes, &mut baseline);
        if let Some(answers) = &answers {
            // That data cannot be right for the model matters more than all else.
            notes.splice(0..0, self.about_data(answers)?);
        }
        let accuracy = answers
            .and_then(|answers| answers.accuracy())
            .map(Accuracy::share);
        watch.lap(|times| &mut times.controls);
        watch.times.total = watch.seconds();
        let record = RunRecord {
            date: date::now(),
            command: self.command,
            accuracy,
            misclassified: prepared.misclassified.len(),
            baseline,
            times: watch.times,
            executions: Executions {
                forward: passes.forward,
                vjp: passes.vjp,
                lp: passes.lp,
                nodes: self.proven.nodes,
            },
            stop: stop.name().into(),
            notes,
            gates: self.gates,
            files: std::collections::BTreeMap::new(),
        };
        Ok(Conclusion {
            prepared: Arc::clone(prepared),
            settings: self.settings,
            suite,
            requirements: table,
            adversarial,
            nearest,
            nearest_adversarial,
            drawn,
            audit,
            slopes,
            record,
        })
    }

    /// What a run would have needed that had no time to make a test.
    fn nothing_made(&self, stop: Stop, watch: &Stopwatch) -> Option<String> {
        let (tests, seeds) = (self.campaign.suite().len(), self.prepared.seeds.len());
        let made = tests.saturating_sub(seeds);
        if stop != Stop::Budget || made > 0 || self.campaign.ledger().open_count() == 0 {
            return None;
        }
        let run = if tests < seeds {
            format!("{tests} of {seeds} seeds, before all of which no test is made,")
        } else {
            format!("{seeds} seeds")
        };
        let times = &watch.times;
        Some(format!(
            "no test was made: reading the model and the data and running {run} took {:.1} s, proofs {:.1} s; give \
             --budget {}s or more",
            times.measure,
            times.prove,
            (3.0 * watch.seconds()).ceil()
        ))
    }

    /// The nearest adversarial inputs, if they are asked for.
    fn nearest_adversarial(
        &self,
        suite: &SuiteTable,
        means: &[f64],
    ) -> Result<Option<NearestOutput>, Error> {
        if !self.minimise {
            return Ok(None);
        }
        let prepared = self.prepared;
        let limits = self.limits_for_share(MINIMISE_SHARE);
        let done = nearest_adversarial(prepared, suite, means, &limits)?;
        let shape = prepared.network.input_shape().without_batch().to_vec();
        let folder = Path::new(NEAREST_ADVERSARIAL);
        let drawn = done.table.draw(folder, &shape, &prepared.space.domain)?;
        Ok(Some(NearestOutput { done, drawn }))
    }

    /// What ends the search for nearest witnesses: half of the time is left for adversarial inputs, if there are any.
    fn limits_for_witnesses(&self, suite: &SuiteTable) -> Limits<'_> {
        let shared = suite.adversarial().next().is_some();
        self.limits_for_share(MINIMISE_SHARE * if shared { 0.5 } else { 1.0 })
    }

    /// What ends a part that may take this share of the time left.
    fn limits_for_share(&self, share: f64) -> Limits<'_> {
        let now = Instant::now();
        let part = |end: Instant| now + end.saturating_duration_since(now).mul_f64(share);
        Limits {
            deadline: self.limits.deadline.map(part),
            ..self.limits
        }
    }

    /// What runs the suite again.
    fn witnesses<'w>(&'w self, means: &'w Means) -> Witnesses<'w> {
        let prepared = self.prepared;
        let family = prepared.family.as_ref();
        Witnesses {
            network: &prepared.network,
            family,
            guide: plan::guide(family),
            space: &prepared.space,
            seeds: prepared.seeds.values(),
            means,
            decision: &prepared.decision,
            until: Until::NEVER,
        }
    }

    /// How every requirement ended.
    fn table(&self, audit: &Audit) -> RequirementTable {
        let family = self.prepared.family.as_ref();
        let mut table = RequirementTable::new(family, audit);
        for group in 0..family.groups().len() {
            table.refute(family, audit, group, self.proven.numbers(group));
        }
        for (slot, bound) in self.proven.bounds() {
            let row = RequirementTable::row(family, slot);
            if table.state[row] == State::Unresolved as u8 {
                table.bound[row] = bound;
            }
        }
        table
    }

    /// What is neither covered nor proven infeasible, group by group.
    fn open(&self, audit: &Audit) -> Vec<BitSet> {
        let groups = self.prepared.family.groups().iter().enumerate();
        let open = groups.map(|(g, group)| {
            let infeasible = self.proven.of_group(g, group.slots());
            let required = group.not_required.complement();
            required.without(&audit.covered[g]).without(&infeasible)
        });
        open.collect()
    }

    /// What the user should know about the data.
    fn about_data(&self, answers: &Answers) -> Result<Vec<String>, Error> {
        let prepared = self.prepared;
        let mut notes = samples::about_labels(answers, &prepared.data);
        let (domain, words) = (&prepared.space.domain, &prepared.settings.domain.words);
        let data = samples::inputs(&prepared.data, &prepared.decision)?;
        notes.extend(sanity::outside(&data, domain, words));
        Ok(notes)
    }

    /// What is known of the slopes of every region, beside random pairs that take as many passes as the search
    /// took, or as there is time for.
    fn slopes(&self, passes: Passes, baseline: &mut Baseline) -> Vec<SlopeSummary> {
        let prepared = self.prepared;
        let regions = Regions {
            network: &prepared.network,
            family: prepared.family.as_ref(),
            space: &prepared.space,
            seeds: &prepared.seeds,
            rng_seed: prepared.settings.rng_seed,
        };
        let is_alone = is_all_ratios(prepared.family.as_ref());
        let limits = self.limits_for_control(1.0);
        let random = (passes.total() / 2)
            .checked_div(regions.slots().len())
            .filter(|_| !self.limits.is_interrupted())
            .and_then(|wanted| {
                let wanted = wanted.clamp(1, RANDOM_PAIRS);
                let pairs = regions.affordable_pairs(wanted, self.left_for_controls());
                let drawn = regions.random(pairs, &limits).filter(|_| pairs > 0)?;
                if is_alone {
                    baseline.random_inputs = 2 * pairs * drawn.len();
                } else {
                    baseline.random_pairs = Some(pairs);
                }
                Some(drawn)
            })
            .unwrap_or_default();
        let steepest = self.campaign.steepest();
        let found = |slot: usize| {
            let (claim, ratio) = steepest.of(slot)?;
            Some((claim.first, claim.second, ratio))
        };
        let summaries = regions.summaries(&found, &self.proven.slopes, &random);
        if is_alone && !random.is_empty() {
            baseline.random_coverage = random_share(&summaries);
        }
        summaries
    }

    /// Seconds that controls may take. Where passes are counted they take what they take: a figure that depends on the
    /// clock would differ from run to run.
    fn left_for_controls(&self) -> f64 {
        let deadline = self.limits.deadline.filter(|_| !self.counts_passes());
        deadline.map_or(f64::INFINITY, |end| {
            let left = end.saturating_duration_since(Instant::now());
            left.as_secs_f64() * CONTROLS_SHARE
        })
    }

    fn counts_passes(&self) -> bool {
        self.limits.executions.is_some()
    }

    /// What ends a control that may take this share of the time for controls.
    fn limits_for_control(&self, share: f64) -> Limits<'_> {
        if self.counts_passes() {
            return self.limits;
        }
        let seconds = self.left_for_controls() * share;
        Limits {
            deadline: Duration::try_from_secs_f64(seconds)
                .ok()
                .map(|time| Instant::now() + time),
            ..self.limits
        }
    }

    /// What as many random inputs, and the data alone, cover, as far as there is time: to measure an input took so many
    /// seconds in the audit. Left out when the user wants an end.
    fn controls(&self, tests: usize, each: f64) -> Result<(Baseline, Option<Answers>), Error> {
        let prepared = self.prepared;
        let mut baseline = Baseline::default();
        if self.limits.is_interrupted() {
            return Ok((baseline, None));
        }
        let controls = Controls {
            network: &prepared.network,
            family: prepared.family.as_ref(),
            decision: &prepared.decision,
            settings: &prepared.settings,
        };
        if is_all_ratios(prepared.family.as_ref()) {
            // Slopes of data and of random inputs are not counted like coverage.
            let data = samples::inputs(&prepared.data, &prepared.decision)?;
            let limits = self.limits_for_control(RANDOM_SHARE);
            let (answers, inputs) =
                controls.answers(&data, prepared.data.len().min(CONTROL), &limits);
            baseline.data_inputs = inputs;
            return Ok((baseline, (inputs > 0).then_some(answers)));
        }
        let affordable = |limits: &Limits<'_>| {
            let end = limits.deadline.filter(|_| !self.counts_passes());
            end.map_or(usize::MAX, |end| {
                let left = end.saturating_duration_since(Instant::now());
                (left.as_secs_f64() / each) as usize
            })
        };
        let limits = self.limits_for_control(RANDOM_SHARE);
        let wanted = tests.min(affordable(&limits));
        let (space, seeds) = (&prepared.space, &prepared.seeds);
        let rng_seed = prepared.settings.rng_seed;
        let (random, inputs) = controls.random(space, seeds, wanted, rng_seed, &limits);
        baseline.random_coverage = (inputs > 0).then_some(random.share);
        baseline.random_inputs = inputs;
        let limits = self.limits_for_control(1.0);
        let data = samples::inputs(&prepared.data, &prepared.decision)?;
        let wanted = prepared.data.len().min(CONTROL).min(affordable(&limits));
        let (data, answers, inputs) = controls.data(&data, wanted, &limits);
        baseline.data_coverage = (inputs > 0).then_some(data.share);
        baseline.data_inputs = inputs;
        if baseline.random_inputs > 0 && inputs > 0 {
            baseline.layers = random.beside(&data);
        }
        Ok((baseline, (inputs > 0).then_some(answers)))
    }
}

/// Says that there was no time to compare with as many random inputs as there are tests.
fn reduced(baseline: &Baseline, tests: usize, family: &dyn Family) -> Option<String> {
    let drawn = baseline.random_inputs;
    if is_all_ratios(family) || drawn >= tests {
        return None;
    }
    Some(format!(
        "the suite of {tests} tests is compared with {drawn} random inputs: there was time for no more"
    ))
}
