//! What enters the suite: proposals of stages and finds of others, once the checker has confirmed them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use deepconcolic_check::{Claim, Confirmed, PairClaim, Slot, Standing};
use rayon::prelude::*;

use super::{Added, AddedPair, Campaign, Played, Round};
use crate::identity::TestRef;
use crate::ledger::Ledger;
use crate::limits::{Limits, Passes};
use crate::provenance::{Provenance, Stage};
use crate::stages::{PairProposal, Proposal};

/// A round while it is made up.
pub(super) struct Draft {
    added: Vec<Added>,
    tests: Vec<Confirmed>,
    pairs: Vec<AddedPair>,
    standings: Vec<Standing>,
    /// What would be open after it.
    after: Ledger,
    gain: usize,
    /// All passes of the campaign up to its end.
    passes: Passes,
}

impl Draft {
    /// The finished round, of a campaign that had made so many passes before.
    pub fn played(self, stage: Stage, tried: Vec<Slot>, before: Passes) -> Played {
        let round = Round {
            stage,
            passes: self.passes - before,
            tests: self.added,
            pairs: self.pairs,
            tried,
            starts: Vec::new(),
            reasons: Vec::new(),
            gain: self.gain,
        };
        (round, self.tests, self.standings)
    }
}

/// A proposal, and what running it again showed.
type Candidate = (Added, Confirmed);

/// Proposals of pairs that are run at a time, which bounds the memory that they take.
const SIDE_BY_SIDE: usize = 64;

/// A proposal of pairs, and what running it again showed.
struct PairsRun {
    /// What tests are numbered from: the root is 0, a new test one more than its place in `added`.
    root: TestRef,
    added: Vec<Added>,
    /// Of each new test; empty when one of them may not be a test.
    confirmed: Vec<Confirmed>,
    claims: Vec<PairClaim>,
    standings: Vec<Standing>,
    slopes: Vec<Option<f64>>,
    /// Passes that it took.
    forward: usize,
}

/// Two inputs that are said to meet a requirement together, and the number of their root.
pub struct FoundPair {
    /// The requirement.
    pub slot: Slot,
    /// The inputs.
    pub inputs: [Vec<f32>; 2],
    /// The seed that both lie round.
    pub root: usize,
}

/// Passes that confirming a proposal takes, at most.
fn passes_of(proposal: &PairProposal) -> usize {
    proposal.tests.len() + 2 * proposal.pairs.len()
}

/// What became of finds of somebody else.
pub struct Admitted {
    /// The round that took some in, if any was.
    pub round: Option<Round>,
    /// How many inputs there were no passes for.
    pub inputs_left: usize,
    /// The requirements of pairs that there were no passes for.
    pub pairs_left: Vec<Slot>,
}

impl Campaign {
    /// Takes in inputs that somebody else found, with the numbers of their roots, and pairs of inputs, if
    /// they are confirmed and meet something open. Confirming them takes passes: what limits leave none for is left.
    pub fn admit(
        &mut self,
        mut inputs: Vec<(Vec<f32>, usize)>,
        pairs: Vec<FoundPair>,
        limits: &Limits<'_>,
    ) -> Admitted {
        let affordable = inputs.len().min(limits.left(self.passes));
        let inputs_left = inputs.len() - affordable;
        inputs.truncate(affordable);
        let proposals = inputs.into_iter().map(|(input, root)| Proposal {
            input,
            root,
            parent: root,
        });
        let pairs = pairs.into_iter().map(|found| PairProposal {
            root: found.root,
            tests: found.inputs.into(),
            pairs: vec![(found.slot, 0, 1)],
        });
        let proposed = (proposals.collect(), pairs.collect());
        let (draft, left) = self.draft(Stage::Prove, proposed, self.passes, limits);
        let pairs_left = left.iter().flat_map(|proposal| &proposal.pairs);
        let mut admitted = Admitted {
            round: None,
            inputs_left,
            pairs_left: pairs_left.map(|&(slot, ..)| slot).collect(),
        };
        // Passes that found nothing to keep are made all the same.
        if !draft.added.is_empty() || !draft.pairs.is_empty() || draft.passes != self.passes {
            let played = draft.played(Stage::Prove, Vec::new(), self.passes);
            self.take_own(&played);
            admitted.round = Some(played.0);
        }
        admitted
    }

    /// What would come of proposals, and the pairs that limits leave no passes for.
    pub(super) fn draft(
        &self,
        stage: Stage,
        (proposals, pairs): (Vec<Proposal>, Vec<PairProposal>),
        mut passes: Passes,
        limits: &Limits<'_>,
    ) -> (Draft, Vec<PairProposal>) {
        let (added, tests) = self.accept(stage, self.allowed(proposals), &mut passes);
        let mut after = self.ledger.clone();
        let mut draft = Draft {
            gain: tests.iter().map(|test| after.enter(test)).sum(),
            added,
            tests,
            pairs: Vec::new(),
            standings: Vec::new(),
            after,
            passes,
        };
        let mut pairs = self.pairs_allowed(pairs).into_iter().peekable();
        loop {
            // Which pairs stand depends on nothing that the round brings, and most proposals are of two tests: side by
            // side they keep all threads busy, one after the other none.
            let mut left = limits.left(draft.passes);
            let mut some: Vec<PairProposal> = Vec::new();
            while some.len() < SIDE_BY_SIDE
                && let Some(proposal) = pairs.next_if(|next| passes_of(next) <= left)
            {
                left -= passes_of(&proposal);
                some.push(proposal);
            }
            if some.is_empty() {
                return (draft, pairs.collect());
            }
            let run = some.into_par_iter();
            let run: Vec<PairsRun> = run.map(|pairs| self.run_pairs(stage, pairs)).collect();
            for pairs in run {
                self.draft_pairs(pairs, &mut draft);
            }
        }
    }

    /// The proposals that the caller's filter allows.
    fn allowed(&self, proposals: Vec<Proposal>) -> Vec<Proposal> {
        let Some(filter) = &self.filter else {
            return proposals;
        };
        let inputs: Vec<&[f32]> = proposals.iter().map(|p| p.input.as_slice()).collect();
        let mut allowed = filter.allows(&inputs).into_iter();
        let mut kept = proposals;
        kept.retain(|_| allowed.next() == Some(true));
        kept
    }

    /// The proposals of pairs of which the caller's filter allows every test but the root.
    fn pairs_allowed(&self, proposals: Vec<PairProposal>) -> Vec<PairProposal> {
        let Some(filter) = &self.filter else {
            return proposals;
        };
        let new = |proposal: &PairProposal| {
            let root = self.subject.seeds.input(proposal.root);
            let places = 0..proposal.tests.len();
            places
                .filter(move |&at| proposal.tests[at] != root)
                .collect()
        };
        let new: Vec<Vec<usize>> = proposals.iter().map(new).collect();
        let inputs = proposals.iter().zip(&new);
        let inputs: Vec<&[f32]> = inputs
            .flat_map(|(proposal, new)| new.iter().map(|&at| proposal.tests[at].as_slice()))
            .collect();
        let mut allowed = filter.allows(&inputs).into_iter();
        let all_allowed: Vec<bool> = new
            .iter()
            .map(|new| allowed.by_ref().take(new.len()).filter(|&ok| ok).count() == new.len())
            .collect();
        let kept = proposals.into_iter().zip(all_allowed);
        kept.filter_map(|(proposal, allowed)| allowed.then_some(proposal))
            .collect()
    }

    /// Runs the tests of a pair proposal again and judges its pairs. Nothing of it stands when one of its tests may not
    /// be one.
    fn run_pairs(&self, stage: Stage, proposal: PairProposal) -> PairsRun {
        let (root, seed) = (
            self.subject.seeds.input(proposal.root),
            TestRef::Seed(proposal.root as u32),
        );
        let mut run = PairsRun {
            root: seed,
            added: Vec::new(),
            confirmed: Vec::new(),
            claims: Vec::new(),
            standings: Vec::new(),
            slopes: Vec::new(),
            forward: 0,
        };
        let mut numbers = Vec::new();
        for input in proposal.tests {
            if input == root {
                numbers.push(0);
                continue;
            }
            run.added.push(Added {
                input,
                provenance: Provenance {
                    root: proposal.root,
                    parent: Some(seed),
                    stage,
                },
            });
            numbers.push(run.added.len() as u32);
        }
        let tests: Vec<Claim<'_>> = run.added.iter().map(|test| self.claim(test)).collect();
        let (open, uncovered) = (self.ledger.open(), self.ledger.uncovered());
        let confirmed = self.witnesses().confirm(&tests, open, uncovered);
        run.forward = tests.len();
        let Ok(confirmed) = confirmed.into_iter().collect() else {
            return run;
        };
        run.confirmed = confirmed;
        let claims = proposal.pairs.iter().map(|&(slot, a, b)| PairClaim {
            slot,
            first: numbers[a],
            second: numbers[b],
        });
        run.claims = claims.collect();
        run.forward += 2 * run.claims.len();
        let input = |number: u32| match number.checked_sub(1) {
            None => root,
            Some(new) => run.added[new as usize].input.as_slice(),
        };
        let judge = self.judge();
        // An engine that claims what is not so is not believed, and its tests are not kept.
        let standings = judge.judge(&run.claims, &input).unwrap_or_default();
        let slopes = judge.slopes(&run.claims, &input);
        (run.standings, run.slopes) = (standings, slopes);
        run
    }

    /// Takes in what was run of a pair proposal, if one of its pairs brings something.
    fn draft_pairs(&self, run: PairsRun, draft: &mut Draft) {
        draft.passes.forward += run.forward;
        let first = draft.added.len() as u32;
        let name = |number: u32| match number.checked_sub(1) {
            None => run.root,
            Some(new) => TestRef::Here(first + new),
        };
        let mut any = false;
        let judged = run.claims.iter().zip(&run.standings).zip(&run.slopes);
        for ((claim, &standing), &slope) in judged {
            let gained = draft.after.enter_pair(claim.slot, standing);
            if gained != Standing::False || self.steepest.is_beaten(claim.slot, slope) {
                draft.gain += usize::from(gained == Standing::Firm);
                any = true;
                draft.pairs.push(AddedPair {
                    slot: claim.slot,
                    first: name(claim.first),
                    second: name(claim.second),
                });
                draft.standings.push(standing);
            }
        }
        if any {
            // One of the two may also meet what is asked of one input.
            let after = &mut draft.after;
            draft.gain += run
                .confirmed
                .iter()
                .map(|test| after.enter(test))
                .sum::<usize>();
            draft.added.extend(run.added);
            draft.tests.extend(run.confirmed);
        }
    }

    /// Confirms proposals and picks, best first, those that meet something none before them does.
    fn accept(
        &self,
        stage: Stage,
        proposals: Vec<Proposal>,
        passes: &mut Passes,
    ) -> (Vec<Added>, Vec<Confirmed>) {
        let added: Vec<Added> = proposals
            .into_iter()
            .map(|proposal| Added {
                input: proposal.input,
                provenance: Provenance {
                    root: proposal.root,
                    parent: Some(self.suite.name(proposal.parent)),
                    stage,
                },
            })
            .collect();
        let claims: Vec<Claim<'_>> = added.iter().map(|test| self.claim(test)).collect();
        let (open, uncovered) = (self.ledger.open(), self.ledger.uncovered());
        let confirmed = self.witnesses().confirm(&claims, open, uncovered);
        passes.forward += claims.len();
        let candidates: Vec<Candidate> = added
            .into_iter()
            .zip(confirmed)
            .filter_map(|(added, confirmed)| Some((added, confirmed.ok()?)))
            .collect();
        let chosen = match stage {
            Stage::Published => self.not_had_yet(candidates),
            // Whatever is drawn meets about as much as any other: the order says nothing, and there are many.
            Stage::Random => self.in_turn(candidates),
            _ => self.best_first(candidates),
        };
        chosen.into_iter().unzip()
    }

    /// Those that meet something none before them does.
    fn in_turn(&self, mut candidates: Vec<Candidate>) -> Vec<Candidate> {
        let mut after = self.ledger.clone();
        candidates.retain(|(_, test)| after.enter(test) > 0);
        candidates
    }

    /// Those that meet something, each time the one that meets most of what is left; the first of equals.
    fn best_first(&self, candidates: Vec<Candidate>) -> Vec<Candidate> {
        let mut after = self.ledger.clone();
        let mut candidates: Vec<Option<Candidate>> = candidates.into_iter().map(Some).collect();
        // What a test adds only falls as others are chosen, so that a count made earlier is a bound: the first in the
        // queue is the best if it still is when it is counted anew.
        let mut queue: BinaryHeap<(usize, Reverse<usize>)> = candidates
            .iter()
            .enumerate()
            .filter_map(|(at, test)| Some((after.gain(&test.as_ref()?.1), Reverse(at))))
            .collect();
        let mut chosen = Vec::new();
        while let Some((_, Reverse(at))) = queue.pop() {
            let Some((_, test)) = &candidates[at] else {
                continue;
            };
            let now = (after.gain(test), Reverse(at));
            if now.0 == 0 {
                continue;
            }
            if queue.peek().is_some_and(|&next| next > now) {
                queue.push(now);
                continue;
            }
            after.enter(test);
            chosen.extend(candidates[at].take());
        }
        chosen
    }

    /// The published tool keeps every input that it does not have yet, whatever that covers.
    fn not_had_yet(&self, mut candidates: Vec<Candidate>) -> Vec<Candidate> {
        let is_new = |input: &[f32]| self.suite.tests().iter().all(|test| test.input != input);
        candidates.retain(|(added, _)| is_new(&added.input));
        candidates
    }
}
