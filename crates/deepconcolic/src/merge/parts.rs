//! The parts of a merge: what each brings, and whether what it says of itself is so.

use std::collections::BTreeSet;
use std::path::PathBuf;

use deepconcolic_campaign::{
    Added, AddedPair, Campaign, Passes, Round, Stage, Stop, TestId, TestRef,
};
use deepconcolic_check::{Digest, Slot};
use deepconcolic_criteria::{Family, Group, Partition};
use deepconcolic_record::{JournalEntry, Part, RequirementTable, State, SuiteTable, Times};

use super::entry;
use crate::error::Error;
use crate::folder::certificates::EXTENSION;
use crate::folder::{CERTIFICATES, REQUIREMENTS, SUITE, SUMMARY};
use crate::prepare::Prepared;
use crate::prove::Proven;
use crate::settings::Settings;

/// A part with its settings.
pub struct Worker {
    pub part: Part,
    pub settings: Settings,
    identity: Digest,
}

/// What is left of a part once its tests are in a campaign.
#[derive(Default)]
pub struct Joined {
    /// Steps for the journal.
    pub entries: Vec<JournalEntry>,
    /// What it calls infeasible.
    infeasible: Vec<Slot>,
    /// Bounds that it has; nobody can check them, here or there.
    pub bounds: Vec<(Slot, f32)>,
}

/// Opens folders, in an order that is theirs. One that holds the same work as another is left out.
pub fn open(paths: &[PathBuf]) -> Result<Vec<Worker>, Error> {
    let mut workers = Vec::new();
    for path in paths {
        let part = Part::read(path, SUMMARY, CERTIFICATES, EXTENSION)?;
        let settings = Settings::read(&part.settings)
            .map_err(|why| Error::Request(format!("{}: {why}", path.display())))?;
        workers.push(Worker {
            identity: part.identity(),
            part,
            settings,
        });
    }
    // Which of two folders with the same work is used does not matter, but for what it says of times.
    workers.sort_by(|a, b| (a.order(), &a.part.path).cmp(&(b.order(), &b.part.path)));
    workers.dedup_by_key(|worker| worker.identity);
    if workers.is_empty() {
        return Err(Error::Request("there is no part to merge".into()));
    }
    Ok(workers)
}

impl Worker {
    /// Parts in order, then by what they hold.
    fn order(&self) -> (Option<Partition>, u64, Digest) {
        (
            self.settings.partition,
            self.settings.rng_seed,
            self.identity,
        )
    }

    fn refuse(&self, why: &str) -> Error {
        let path = self.part.path.display();
        Error::Request(format!(
            "{path}: {why}; `deepconcolic check {path}` says more"
        ))
    }

    /// Takes its tests into a campaign, which must then meet what its table calls covered.
    pub fn join(&self, campaign: &mut Campaign, prepared: &Prepared) -> Result<Joined, Error> {
        let mut entries = Vec::new();
        // Time of steps that bring nothing is that of the next that does.
        let mut seconds = 0.0;
        for (number, step) in self.part.entries.iter().enumerate() {
            seconds += step.seconds;
            if let Some(round) = step.admitted() {
                let joined = campaign.join(round).map_err(|why| {
                    self.refuse(&format!(
                        "step {number} of its journal cannot be repeated: {why}"
                    ))
                })?;
                entries.push(entry(joined, std::mem::take(&mut seconds)));
            }
        }
        let mut joined = Joined {
            entries,
            ..Joined::default()
        };
        // A table can have tens of millions of rows: it is read once, and what is left to be borne out is kept.
        let Some(table) = self.table()? else {
            return Ok(joined);
        };
        if let Some(round) = self.claimed(&table, prepared, campaign)? {
            let round = campaign
                .join(&round)
                .map_err(|why| self.refuse(&format!("{REQUIREMENTS} cannot be repeated: {why}")))?;
            joined.entries.push(entry(round, seconds));
        }
        let family = prepared.family.as_ref();
        for slot in slots_with(&table, family, State::Covered) {
            if campaign.ledger().uncovered()[slot.group as usize].contains(slot.slot as usize) {
                return Err(self.refuse_claim(family, slot, "covered"));
            }
        }
        joined.infeasible = slots_with(&table, family, State::Infeasible).collect();
        let rows = (0..table.bound.len()).filter(|&row| !table.bound[row].is_nan());
        let bound = |row| Some((table.slot(family, row)?, table.bound[row]));
        joined.bounds = rows.filter_map(bound).collect();
        Ok(joined)
    }

    /// What its table says of requirements, if it came to an end. Every number in it can be used.
    fn table(&self) -> Result<Option<RequirementTable>, Error> {
        if self.part.summary.is_none() {
            return Ok(None);
        }
        let table = RequirementTable::read(&self.part.path.join(REQUIREMENTS))?;
        let tests = SuiteTable::count(&self.part.path.join(SUITE))?;
        match table.misfit(tests) {
            Some(why) => Err(self.refuse(&format!("{REQUIREMENTS}: {why}"))),
            None => Ok(Some(table)),
        }
    }

    /// Pairs of its tests that its table names, without those of requirements that are met already. Some that nobody
    /// looked for are in no round.
    fn claimed(
        &self,
        table: &RequirementTable,
        prepared: &Prepared,
        campaign: &Campaign,
    ) -> Result<Option<Round>, Error> {
        let claims = table.claims(prepared.family.as_ref());
        let mut claims = claims.map_err(|why| self.refuse(&why))?;
        claims.retain(|claim| !campaign.is_met(claim.slot));
        if claims.is_empty() {
            return Ok(None);
        }
        // The suite is the seeds and then what the journal admitted, so that it need not be read.
        let admitted: Vec<&Added> = self.part.rounds().flat_map(|round| &round.tests).collect();
        let name = |test: u32| -> Result<TestRef, Error> {
            let seeds = prepared.seeds.len();
            let Some(number) = (test as usize).checked_sub(seeds) else {
                return Ok(TestRef::Seed(test));
            };
            let test = admitted.get(number).ok_or_else(|| {
                self.refuse(&format!(
                    "{REQUIREMENTS} names test {test}, and its journal has {seeds} seeds and {} tests",
                    admitted.len()
                ))
            })?;
            Ok(TestRef::Known(TestId::of(
                test.provenance.root,
                &test.input,
            )))
        };
        let pairs = claims.iter().map(|claim| {
            Ok(AddedPair {
                slot: claim.slot,
                first: name(claim.first)?,
                second: name(claim.second)?,
            })
        });
        Ok(Some(Round {
            stage: Stage::Merge,
            passes: Passes::default(),
            tests: Vec::new(),
            pairs: pairs.collect::<Result<_, Error>>()?,
            tried: Vec::new(),
            starts: Vec::new(),
            reasons: Vec::new(),
            gain: 0,
        }))
    }

    /// Whether everything that it calls infeasible is, or a test meets it.
    pub fn is_borne_out(
        &self,
        joined: &Joined,
        family: &dyn Family,
        campaign: &Campaign,
        infeasible: &BTreeSet<Slot>,
    ) -> Result<(), Error> {
        let uncovered = campaign.ledger().uncovered();
        for slot in &joined.infeasible {
            let is_open = uncovered[slot.group as usize].contains(slot.slot as usize);
            if is_open && !infeasible.contains(slot) {
                return Err(self.refuse_claim(family, *slot, "infeasible"));
            }
        }
        Ok(())
    }

    fn refuse_claim(&self, family: &dyn Family, slot: Slot, words: &str) -> Error {
        let label = family.label(slot.group as usize, slot.slot as usize);
        self.refuse(&format!(
            "{REQUIREMENTS}: it calls {label} {words}, and nothing in the folder shows it"
        ))
    }

    /// Work it did, given what measuring the seeds takes: passes, and parts bounded in proofs.
    pub fn work(&self, measured: Passes) -> (Passes, usize) {
        if let Some(summary) = &self.part.summary {
            let done = summary.executions;
            let passes = Passes {
                forward: done.forward,
                vjp: done.vjp,
                lp: done.lp,
            };
            return (passes, done.nodes);
        }
        let mut passes = measured;
        for round in self.part.rounds() {
            passes += round.passes;
        }
        let proofs = self.part.entries.iter().filter_map(JournalEntry::proof);
        (passes, proofs.map(|proof| proof.nodes).sum())
    }

    /// Where its time went; that of a run that was killed is counted as search.
    pub fn times(&self) -> Times {
        if let Some(summary) = &self.part.summary {
            return summary.time_s;
        }
        let seconds = self.part.entries.iter().map(|entry| entry.seconds).sum();
        Times {
            total: seconds,
            ascend: seconds,
            ..Times::default()
        }
    }

    fn is_complete(&self) -> bool {
        let stop = self.part.summary.as_ref().map(|summary| &summary.stop);
        stop.is_some_and(|stop| stop == Stop::Complete.name())
    }

    fn words(&self) -> String {
        let part = match self.settings.partition {
            Some(partition) => format!("part {partition}"),
            None => "a whole run".into(),
        };
        let stop = match &self.part.summary {
            Some(summary) => summary.stop.clone(),
            None => "killed".into(),
        };
        format!(
            "{part} (random numbers of seed {}, {stop})",
            self.settings.rng_seed
        )
    }
}

/// Requirements that a table calls so.
fn slots_with<'a>(
    table: &'a RequirementTable,
    family: &'a dyn Family,
    state: State,
) -> impl Iterator<Item = Slot> + 'a {
    let rows = (0..table.state.len()).filter(move |&row| table.state[row] == state as u8);
    rows.filter_map(move |row| table.slot(family, row))
}

/// Whether certificates can say anything that counts: something is not covered, or a part calls something infeasible, which
/// must then not be covered. Of slopes they always do.
pub fn need_certificates(joined: &[Joined], prepared: &Prepared, campaign: &Campaign) -> bool {
    let ledger = campaign.ledger();
    ledger.covered_count() < ledger.total()
        || prepared.family.ratios().is_some()
        || joined.iter().any(|part| !part.infeasible.is_empty())
}

/// Requirements that no part was asked for.
fn left_out(workers: &[Worker], prepared: &Prepared) -> usize {
    let partitions = workers.iter().map(|worker| worker.settings.partition);
    // One that was asked for everything leaves nothing out.
    let Some(partitions) = partitions.collect::<Option<Vec<Partition>>>() else {
        return 0;
    };
    let left = prepared.family.groups().iter().map(|group| {
        let mut left = group.not_required.complement();
        for partition in &partitions {
            left = left.without(&partition.of_group(group).not_required.complement());
        }
        left.count()
    });
    left.sum()
}

/// Why it all ended: as complete as its parts, if these are the whole.
pub fn stop(workers: &[Worker], prepared: &Prepared, campaign: &Campaign, proven: &Proven) -> Stop {
    let all = [
        Stop::Complete,
        Stop::Executions,
        Stop::Budget,
        Stop::Interrupted,
    ];
    let mut groups = prepared.family.groups().iter().enumerate();
    let is_settled = |(number, group): (usize, &Group)| {
        let open = &campaign.ledger().uncovered()[number];
        open.without(&proven.of_group(number, group.slots()))
            .count()
            == 0
    };
    if groups.all(is_settled) {
        return Stop::Complete;
    }
    if left_out(workers, prepared) > 0 {
        return Stop::Interrupted;
    }
    let stops = workers.iter().map(|worker| {
        let name = worker.part.summary.as_ref().map(|summary| &summary.stop);
        let known = |stop: &&Stop| name.is_some_and(|name| name == stop.name());
        all.iter()
            .position(|stop| known(&stop))
            .unwrap_or(all.len() - 1)
    });
    all[stops.max().unwrap_or(0)]
}

/// What the user should know of the parts.
pub fn notes(workers: &[Worker], prepared: &Prepared) -> Vec<String> {
    let words: Vec<String> = workers.iter().map(Worker::words).collect();
    let mut notes = vec![format!("merged from {}", words.join(", "))];
    let missing = left_out(workers, prepared);
    if missing > 0 {
        notes.push(format!(
            "{missing} requirements belong to parts that were not merged, and nobody looked for them"
        ));
    }
    let cut = workers
        .iter()
        .filter(|worker| !worker.is_complete())
        .count();
    if cut > 0 {
        notes.push(format!(
            "{cut} of the parts did not come to their end: with more time they may find more"
        ));
    }
    notes
}
