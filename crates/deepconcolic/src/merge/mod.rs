//! Several runs of one job as one: what workers found, joined. Nothing of a part is believed: each test is
//! run again, each certificate that is kept is judged again, and what a part says of its requirements must be
//! borne out by that. Where tests meet everything, certificates have nothing to say and are left out.

mod certificates;
mod parts;
mod same_job;
mod saved;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use deepconcolic_campaign::{Campaign, Limits, Passes, Round};
use deepconcolic_check::Slot;
use deepconcolic_criteria::Family;
use deepconcolic_formats::LoadUntil;
use deepconcolic_record::{JournalEntry, JournalStep, RunFolder, Summary};

use crate::conclude::Ended;
use crate::error::Error;
use crate::folder::certificates::{CertificateFolder, CertificateStore};
use crate::folder::{CERTIFICATES, PROFILE, kept, profile_file, region_file};
use crate::gate::Gates;
use crate::plan;
use crate::prepare::Prepared;
use crate::prove::Proven;
use crate::session::{Listener, Stopwatch};
pub use certificates::{Content, JoinedCertificate, rejected};
use parts::{Joined, Worker};

/// Most names of requirements in a message.
const NAMED: usize = 5;

/// Runs to join, and where to.
#[derive(Clone, Debug, Default)]
pub struct Merge {
    /// The folder to write to; new or empty.
    pub out: PathBuf,
    /// Folders of runs, in any order.
    pub parts: Vec<PathBuf>,
    /// The model, if it does not lie where the parts say.
    pub model: Option<PathBuf>,
    /// A folder with the model and the data, if the parts were to keep them and do not have them any more.
    pub kept: Option<PathBuf>,
    /// How it was asked for, in words, for the record.
    pub command: Vec<String>,
}

impl Merge {
    /// Joins the parts into one run. The order they are given in does not matter.
    pub fn run(self, tell: &mut Listener<'_>) -> Result<Summary, Error> {
        let mut watch = Stopwatch::start();
        let workers = parts::open(&self.parts)?;
        let settings = same_job::joined(&workers)?;
        let dir = &workers[0].part.path;
        let settings = kept::fetched(settings, self.kept.as_deref().unwrap_or(dir));
        let file = self.model.as_deref();
        let prepared = Prepared::of_saved(settings, dir, file, LoadUntil::default(), tell)?;
        let strategy = plan::strategy(&prepared.settings.strategy)?;
        let (subject, rng_seed) = (prepared.subject()?, prepared.settings.rng_seed);
        let limits = Limits::default();
        let mut campaign = Campaign::new(subject, strategy, rng_seed, prepared.runs, &limits)
            .map_err(Error::Request)?;
        let measured = campaign.passes();
        let joined: Vec<Joined> = workers
            .iter()
            .map(|worker| worker.join(&mut campaign, &prepared))
            .collect::<Result<_, Error>>()?;
        let certificates = if parts::need_certificates(&joined, &prepared, &campaign) {
            certificates::joined(&workers, &prepared.network)?
        } else {
            Vec::new()
        };
        let mut proven = Proven::joined(&prepared, &certificates)?;
        agree(prepared.family.as_ref(), &campaign, &proven)?;
        let mut passes = Passes::default();
        let infeasible: BTreeSet<Slot> = proven.infeasible().collect();
        for (worker, joined) in workers.iter().zip(&joined) {
            worker.is_borne_out(joined, prepared.family.as_ref(), &campaign, &infeasible)?;
            proven.take_bounds(&joined.bounds);
            let (done, nodes) = worker.work(measured);
            passes += done;
            proven.nodes += nodes;
            watch.add(worker.times());
        }
        proven.name_certificates(
            &prepared.network,
            prepared.family.as_ref(),
            prepared.digest,
            &Limits::default(),
        )?;
        proven.notes = parts::notes(&workers, &prepared);
        let fragile = fragile(prepared.family.as_ref(), &campaign, &proven);
        proven.notes.extend(fragile);
        let steps = joined.iter().flat_map(|part| &part.entries);
        let folder = write(&self.out, &workers[0], &prepared, steps, &certificates)?;
        watch.lap(|times| &mut times.measure);
        let judgements = prepared.judge(campaign.suite().tests())?;
        watch.lap(|times| &mut times.oracle);
        let stop = parts::stop(&workers, &prepared, &campaign, &proven);
        let ended = Ended {
            settings: serde_json::to_value(&prepared.settings).map_err(Error::json)?,
            prepared: &Arc::new(prepared),
            campaign: &campaign,
            judgements: &judgements,
            proven: &proven,
            passes,
            minimise: false,
            command: self.command,
            gates: Gates::default(),
            limits,
            stop,
        };
        ended.conclude(&mut watch)?.write(&folder)
    }
}

/// Requirements that a test meets and that cannot be met: those it meets by the margin, or not.
fn both(campaign: &Campaign, proven: &Proven, firm: bool) -> Vec<Slot> {
    let ledger = campaign.ledger();
    let is = |slot: &Slot| {
        let uncovered = &ledger.uncovered()[slot.group as usize];
        !uncovered.contains(slot.slot as usize) && ledger.is_open(*slot) != firm
    };
    proven.infeasible().filter(is).collect()
}

fn named(family: &dyn Family, slots: &[Slot]) -> String {
    let label = |slot: &Slot| family.label(slot.group as usize, slot.slot as usize);
    let mut names: Vec<String> = slots.iter().take(NAMED).map(label).collect();
    if slots.len() > NAMED {
        names.push("...".into());
    }
    names.join(", ")
}

/// Nothing is covered, clear of rounding, and impossible.
fn agree(family: &dyn Family, campaign: &Campaign, proven: &Proven) -> Result<(), Error> {
    let contradicting = both(campaign, proven, true);
    if contradicting.is_empty() {
        return Ok(());
    }
    Err(Error::Internal(format!(
        "{} requirements are met by a test, clear of rounding, and proven to be impossible: {}; one of the two \
         is wrong, and no folder was written",
        contradicting.len(),
        named(family, &contradicting)
    )))
}

/// What rounding alone meets, and real arithmetic rules out.
fn fragile(family: &dyn Family, campaign: &Campaign, proven: &Proven) -> Option<String> {
    let fragile = both(campaign, proven, false);
    (!fragile.is_empty()).then(|| {
        format!(
            "{} requirements are proven to be impossible in real arithmetic and met by a test within the margin of \
             rounding; they count as covered: {}",
            fragile.len(),
            named(family, &fragile)
        )
    })
}

/// The folder with everything that a run writes before its end.
fn write<'a>(
    out: &Path,
    first: &Worker,
    prepared: &Prepared,
    entries: impl Iterator<Item = &'a JournalEntry>,
    certificates: &[JoinedCertificate<'_>],
) -> Result<RunFolder, Error> {
    let settings = serde_json::to_value(&prepared.settings).map_err(Error::json)?;
    let (folder, mut journal) = RunFolder::create(out, &settings)?;
    kept::keep(&prepared.settings.model, &prepared.settings.data, &folder)?;
    if let Some(profile) = &prepared.profile {
        profile_file::save(&folder.file(PROFILE), &prepared.network, profile)?;
    }
    if prepared.settings.region.is_some() {
        let names = region_file::NAMES.map(|name| first.part.path.join(name));
        for region in names.iter().filter(|path| path.exists()) {
            region_file::keep(region, &folder)?;
        }
    }
    for entry in entries {
        journal.append(entry)?;
    }
    let store = CertificateFolder(folder.file(CERTIFICATES));
    for (number, certificate) in certificates.iter().enumerate() {
        store.write(number as i32, &certificate.to_bytes(&prepared.network))?;
    }
    Ok(folder)
}

/// A step of a journal that took over a round.
fn entry(round: Round, seconds: f64) -> JournalEntry {
    JournalEntry {
        step: JournalStep::Round(round),
        seconds,
    }
}

#[cfg(test)]
mod tests {
    use deepconcolic_campaign::{Seeds, Strategy};
    use deepconcolic_criteria::{Decision, Means, Written};
    use deepconcolic_geometry::{Domain, Extent, Norm, Pixels, SearchSpace};
    use deepconcolic_language::{RequirementFile, Signature};
    use deepconcolic_network::{NetworkBuilder, Shape};

    use deepconcolic_campaign::Subject;

    use super::*;

    #[test]
    fn what_is_covered_and_proven_impossible_is_an_internal_contradiction() {
        let shape = Shape::new([1, 2]).unwrap();
        let (builder, input) = NetworkBuilder::new("x", shape);
        let network = builder.finish(&[("y", input)], 0).unwrap();
        let file = "exists x: v[x][1,0] > 0\nexists x: v[x][1,0] > 0.5\nexists x: v[x][1,1] > 2\n";
        let file = RequirementFile::parse(file).unwrap();
        let set = file.resolve(&Signature::of(&network)).unwrap();
        let domain = Domain::uniform(2, 0.0, 1.0).unwrap();
        let space = SearchSpace::of(domain, Pixels::Single, Norm::LINF, Extent::Balls(0.1));
        let family = Written::new(&network, &set, &space.units).unwrap();
        let subject = Subject {
            decision: Arc::new(Decision::shown(&network)),
            network: Arc::new(network),
            family: Arc::new(family),
            space: Arc::new(space),
            // Just above 0.5: met, but not by the margin.
            seeds: Arc::new(Seeds::new(vec![0], vec![0.500_000_1, 0.0], 2)),
            means: Arc::new(Means::from_layers(vec![1.0, 1.0])),
        };
        let family = Arc::clone(&subject.family);
        let campaign = Campaign::new(subject, Strategy::Cascade, 0, 0, &Limits::default()).unwrap();
        let proven = |slot| {
            let mut proven = Proven::default();
            proven.refute(family.as_ref(), Slot { group: 0, slot }, 0);
            proven
        };
        let agree = |slot| agree(family.as_ref(), &campaign, &proven(slot));
        let error = agree(0).unwrap_err();
        assert!(matches!(error, Error::Internal(_)), "{error}");
        assert!(error.to_string().contains("v[x][1,0] > 0"), "{error}");
        assert!(agree(1).is_ok() && agree(2).is_ok());
        let note = fragile(family.as_ref(), &campaign, &proven(1)).unwrap();
        assert!(note.contains("v[x][1,0] - 0.5 > 0"), "{note}");
        assert_eq!(fragile(family.as_ref(), &campaign, &proven(2)), None);
    }
}
