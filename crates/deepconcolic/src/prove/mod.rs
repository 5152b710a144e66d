//! The stage of a run that tries what is open for infeasibility over the whole search region, with
//! certificates that `check` accepts. Witnesses found on the way enter the suite like any other.

mod balls;
mod bounds;
mod consult;
mod firm;
mod joined;
mod named_certificates;
mod obstacles;
mod pairs;
mod recall;
mod slopes;
mod work;

use std::time::Instant;

use bounds::RequirementBounds;
use deepconcolic_campaign::{Campaign, Limits, Seeds, Stop};
use deepconcolic_check::steepness::AcceptedSlope;
use deepconcolic_check::{Accepted, Digest, ProvenFacts, Slot};
use deepconcolic_criteria::{Family, Means};
use deepconcolic_geometry::SearchSpace;
use deepconcolic_network::{BitSet, Network};
use deepconcolic_record::ProofRecord;
use obstacles::Obstacles;

use crate::conclude::slopes::is_all_ratios;
use crate::error::Error;
use crate::folder::certificates::CertificateStore;
pub use recall::{Recall, remove_needless};
pub use slopes::{SlopeBounds, SlopeQuestions, judge as judge_slope};
use work::Work;

/// What proofs came to.
#[derive(Default)]
pub struct Proven {
    /// By group and slot: a certificate that shows it to be infeasible, -1 for none. Groups of which
    /// nothing is known are empty.
    certificates: Vec<Vec<i32>>,
    /// Upper bounds on the values of requirements.
    bounds: RequirementBounds,
    /// Upper bounds on the slopes of regions.
    pub slopes: SlopeBounds,
    /// What was in the way.
    obstacles: Obstacles,
    /// Parts of the region that were bounded.
    pub nodes: usize,
    /// What was taken of what a limit on passes allows.
    spent: usize,
    /// What the user should know.
    pub notes: Vec<String>,
    /// What certificates say, and how many there are: a later stage goes on from there.
    facts: Option<ProvenFacts>,
    written: i32,
    /// The certificates, with their numbers.
    accepted: Vec<(i32, Accepted)>,
    /// Those about slopes.
    accepted_slopes: Vec<(i32, AcceptedSlope)>,
    /// What earlier sittings of the run proved.
    recall: Recall,
    /// Whether certificates of theirs were taken over that no journal speaks of.
    taken_over: bool,
}

impl Proven {
    /// Nothing yet but what earlier sittings recorded.
    pub fn recalling(recall: Recall) -> Self {
        Self {
            recall,
            ..Self::default()
        }
    }

    /// What proofs left, given what is open in the end.
    pub fn open_notes(&self, open: &[BitSet]) -> Vec<String> {
        self.obstacles.notes(open)
    }

    /// Why a run ended, given why its search did and what is open: it is not complete if proofs were
    /// cut short.
    pub fn stop(&self, search: Stop, open: &[BitSet], interrupted: bool) -> Stop {
        match search {
            Stop::Complete if self.obstacles.is_cut(open) && interrupted => Stop::Interrupted,
            Stop::Complete if self.obstacles.is_cut(open) => Stop::Budget,
            Stop::Complete if self.obstacles.is_spent(open) => Stop::Executions,
            search => search,
        }
    }

    /// Upper bounds on the values of requirements over the whole search region, rounded up.
    pub fn bounds(&self) -> impl Iterator<Item = (Slot, f32)> + '_ {
        self.bounds.iter()
    }

    /// The infeasible requirements of a group.
    pub fn of_group(&self, group: usize, slots: usize) -> BitSet {
        let mut set = BitSet::new(slots);
        for (slot, _) in self.numbers(group) {
            set.insert(slot);
        }
        set
    }

    /// The infeasible requirements of a group and their certificates; -1 where there are none at all, and it takes
    /// none to see that nothing meets the requirement.
    pub fn numbers(&self, group: usize) -> impl Iterator<Item = (usize, i32)> + '_ {
        let group = self.certificates.get(group).map_or(&[][..], Vec::as_slice);
        let known = group.iter().enumerate().filter(|(_, number)| **number >= 0);
        let has_none = self.accepted.is_empty() && self.accepted_slopes.is_empty();
        known.map(move |(slot, &number)| (slot, if has_none { -1 } else { number }))
    }

    /// All infeasible requirements.
    pub fn infeasible(&self) -> impl Iterator<Item = Slot> + '_ {
        (0..self.certificates.len()).flat_map(|group| {
            self.numbers(group).map(move |(slot, _)| Slot {
                group: group as u32,
                slot: slot as u32,
            })
        })
    }

    /// Enters that a requirement is infeasible, by a certificate.
    pub fn refute(&mut self, family: &dyn Family, slot: Slot, certificate: i32) {
        let groups = family.groups();
        self.certificates.resize_with(groups.len(), Vec::new);
        let numbers = &mut self.certificates[slot.group as usize];
        numbers.resize(groups[slot.group as usize].slots(), -1);
        numbers[slot.slot as usize] = certificate;
    }
}

/// What proofs work on.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own about when proofs are tried"
)]
pub struct ProofStage<'a> {
    pub network: &'a Network,
    pub family: &'a dyn Family,
    pub space: &'a SearchSpace,
    pub seeds: &'a Seeds,
    /// The scale of each layer.
    pub means: &'a Means,
    pub model: Digest,
    /// Where certificates are kept.
    pub certificates: &'a dyn CertificateStore,
    /// When to give up: searches go on after proofs.
    pub deadline: Option<Instant>,
    /// Whether witnesses found on the way enter the suite.
    pub admits: bool,
    /// Whether the journal hears of it, so that it can be recalled.
    pub recorded: bool,
    /// Whether the journal goes on behind it: what is not recorded was not tried, and is not now.
    pub closed: bool,
    /// Of pairs of neurons ask only what single neurons tell: a search for them comes first.
    pub neurons_only: bool,
}

/// Takes a question that was asked, with the round that added witnesses.
pub type Recorder<'r> = dyn FnMut(&Campaign, &ProofRecord) -> Result<(), Error> + 'r;

impl ProofStage<'_> {
    /// Tries everything that is open until time is up, after what is proven already. Questions are handed to
    /// `record`.
    pub fn run(
        &self,
        proven: Proven,
        campaign: &mut Campaign,
        limits: &Limits<'_>,
        record: &mut Recorder<'_>,
    ) -> Result<Proven, Error> {
        if is_all_ratios(self.family) {
            return self.slopes(proven, campaign, limits);
        }
        // Slopes come last and get half of the time.
        let stage = ProofStage {
            deadline: match self.family.ratios() {
                Some(_) => self.share_of_time(2),
                None => self.deadline,
            },
            ..*self
        };
        let mut work = Work::new(&stage, limits, proven);
        if self.neurons_only {
            work.neurons(campaign, record)?;
            return Ok(work.finish());
        }
        if !self.family.asks_only_for_two() {
            work.all(campaign, record)?;
            work.balls(campaign, record)?;
        }
        if self.family.has_pairs() {
            work.pairs(campaign, record)?;
        }
        self.slopes(work.finish(), campaign, limits)
    }
}
