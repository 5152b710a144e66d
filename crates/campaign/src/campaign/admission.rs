//! What enters the suite: proposals of stages and finds of others, once the checker has confirmed them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use deepconcolic_check::{Claim, Confirmed, Slot, Standing};

use super::{Added, AddedPair, Campaign, Played, Round};
use crate::identity::TestRef;
use crate::ledger::Ledger;
use crate::limits::Passes;
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

/// Two inputs that are said to meet a requirement together, and the number of their root.
pub struct FoundPair {
    /// The requirement.
    pub slot: Slot,
    /// The inputs.
    pub inputs: [Vec<f32>; 2],
    /// The seed that both lie round.
    pub root: usize,
}

impl Campaign {
    /// Takes in inputs that somebody else found, with the numbers of their roots, and pairs of inputs, if
    /// they are confirmed and meet something open. Returns the round that did it, if any was.
    pub fn admit(
        &mut self,
        inputs: Vec<(Vec<f32>, usize)>,
        pairs: Vec<FoundPair>,
    ) -> Option<Round> {
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
        let draft = self.draft(Stage::Prove, proposed, self.passes);
        if draft.added.is_empty() && draft.pairs.is_empty() {
            return None;
        }
        let played = draft.played(Stage::Prove, Vec::new(), self.passes);
        self.take_own(&played);
        Some(played.0)
    }

    /// What would come of proposals.
    pub(super) fn draft(
        &self,
        stage: Stage,
        (proposals, pairs): (Vec<Proposal>, Vec<PairProposal>),
        mut passes: Passes,
    ) -> Draft {
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
        for proposal in pairs {
            self.draft_pair(stage, proposal, &mut draft);
        }
        draft
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

    fn draft_pair(&self, stage: Stage, proposal: PairProposal, draft: &mut Draft) {
        let first = draft.added.len();
        let (new, confirmed, claims) = self.accept_pairs(stage, proposal, draft);
        draft.added.extend(new);
        let judged = self.stand(&claims, &draft.added);
        draft.passes.forward += 2 * claims.len();
        // An engine that claims what is not so is not believed, and its tests are not kept.
        let judged = judged.unwrap_or_default();
        let slopes = self.slopes(&claims, &draft.added);
        let mut any = false;
        for (number, (claim, standing)) in claims.iter().zip(judged).enumerate() {
            let gained = draft.after.enter_pair(claim.slot, standing);
            let slope = slopes.get(number).copied().flatten();
            if gained != Standing::False || self.steepest.is_beaten(claim.slot, slope) {
                draft.gain += usize::from(gained == Standing::Firm);
                any = true;
                draft.pairs.push(*claim);
                draft.standings.push(standing);
            }
        }
        if any {
            // One of the two may also meet what is asked of one input.
            let after = &mut draft.after;
            draft.gain += confirmed
                .iter()
                .map(|test| after.enter(test))
                .sum::<usize>();
            draft.tests.extend(confirmed);
        } else {
            draft.added.truncate(first);
        }
    }

    /// Confirms the tests of a pair proposal, which come after those of a draft; the root is in the suite
    /// already. Nothing is taken when one of them may not be a test.
    fn accept_pairs(
        &self,
        stage: Stage,
        proposal: PairProposal,
        draft: &mut Draft,
    ) -> (Vec<Added>, Vec<Confirmed>, Vec<AddedPair>) {
        let root = self.subject.seeds.input(proposal.root);
        let seed = TestRef::Seed(proposal.root as u32);
        if let Some(filter) = &self.filter {
            let inputs = proposal.tests.iter().map(Vec::as_slice);
            let inputs: Vec<&[f32]> = inputs.filter(|&input| input != root).collect();
            if filter.allows(&inputs).contains(&false) {
                return (Vec::new(), Vec::new(), Vec::new());
            }
        }
        let mut names = Vec::new();
        let mut new: Vec<Added> = Vec::new();
        for input in proposal.tests {
            if input == root {
                names.push(seed);
            } else {
                names.push(TestRef::Here((draft.added.len() + new.len()) as u32));
                new.push(Added {
                    input,
                    provenance: Provenance {
                        root: proposal.root,
                        parent: Some(seed),
                        stage,
                    },
                });
            }
        }
        let claims: Vec<Claim<'_>> = new.iter().map(|test| self.claim(test)).collect();
        let (open, uncovered) = (self.ledger.open(), self.ledger.uncovered());
        let confirmed = self.witnesses().confirm(&claims, open, uncovered);
        draft.passes.forward += claims.len();
        let Ok(confirmed) = confirmed.into_iter().collect::<Result<Vec<_>, _>>() else {
            return (Vec::new(), Vec::new(), Vec::new());
        };
        let claims = proposal.pairs.iter().map(|&(slot, a, b)| AddedPair {
            slot,
            first: names[a],
            second: names[b],
        });
        (new, confirmed, claims.collect())
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
