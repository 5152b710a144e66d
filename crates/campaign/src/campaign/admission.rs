//! What enters the suite: proposals of stages and finds of others, once the checker has confirmed them.

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
        let (round, tests, standings) = draft.played(Stage::Prove, Vec::new(), self.passes);
        self.take(&round, &tests, &standings);
        Some(round)
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
        let mut candidates: Vec<(Added, Confirmed)> = added
            .into_iter()
            .zip(confirmed)
            .filter_map(|(added, confirmed)| Some((added, confirmed.ok()?)))
            .collect();
        if stage == Stage::Published {
            return self.accept_all(candidates);
        }
        let mut after = self.ledger.clone();
        let mut chosen = Vec::new();
        loop {
            let gains = candidates.iter().map(|(_, test)| after.gain(test));
            // The first of equals.
            let best = gains
                .enumerate()
                .reduce(|best, next| if next.1 > best.1 { next } else { best });
            match best {
                Some((at, gain)) if gain > 0 => {
                    let candidate = candidates.remove(at);
                    after.enter(&candidate.1);
                    chosen.push(candidate);
                }
                _ => return chosen.into_iter().unzip(),
            }
        }
    }

    /// The published tool keeps every input that it does not have yet, whatever that covers.
    fn accept_all(&self, candidates: Vec<(Added, Confirmed)>) -> (Vec<Added>, Vec<Confirmed>) {
        let is_new = |input: &[f32]| self.suite.tests().iter().all(|test| test.input != input);
        let new = candidates.into_iter();
        new.filter(|(added, _)| is_new(&added.input)).unzip()
    }
}
