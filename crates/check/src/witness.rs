//! Concrete re-execution: an input counts only after it was run again, in another batch and without
//! anything that a search keeps, and was found to lie where it may and to meet what is open.

use deepconcolic_criteria::{Clearance, Decision, Family, Guide, Means, Prediction, SampleView};
use deepconcolic_geometry::SearchSpace;
use deepconcolic_network::{BitSet, Network, Pass, Point};
use rayon::prelude::*;

use crate::until::Until;

/// One requirement of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    /// Its group.
    pub group: u32,
    /// Its number there.
    pub slot: u32,
}

/// An input that a search thinks well of.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// The input.
    pub input: &'a [f32],
    /// The seed it was made from.
    pub root: &'a [f32],
}

/// An input that was run again. Only this module makes them.
#[derive(Clone, Debug, PartialEq)]
pub struct Confirmed {
    input: Vec<f32>,
    prediction: Prediction,
    distance: f64,
    firm: Vec<Slot>,
    exact: Vec<Slot>,
}

impl Confirmed {
    /// The input.
    pub fn input(&self) -> &[f32] {
        &self.input
    }

    /// What the network says of it.
    pub fn prediction(&self) -> &Prediction {
        &self.prediction
    }

    /// Its distance to its root seed.
    pub fn distance(&self) -> f64 {
        self.distance
    }

    /// The open requirements that it meets by the margin.
    pub fn firm(&self) -> &[Slot] {
        &self.firm
    }

    /// The open requirements that it meets as coverage counts them.
    pub fn exact(&self) -> &[Slot] {
        &self.exact
    }
}

/// Confirms inputs against a family of requirements.
#[derive(Clone, Copy)]
pub struct Witnesses<'a> {
    /// The network.
    pub network: &'a Network,
    /// The requirements.
    pub family: &'a dyn Family,
    /// How those on one input are judged; none for a family of pairs.
    pub guide: Option<&'a dyn Guide>,
    /// Where inputs may lie.
    pub space: &'a SearchSpace,
    /// The seeds, one after the other: the two inputs of a pair lie round one of them.
    pub seeds: &'a [f32],
    /// The scale of each layer.
    pub means: &'a Means,
    /// What the network's answer is.
    pub decision: &'a Decision,
    /// When running a suite again must end.
    pub until: Until<'a>,
}

impl Witnesses<'_> {
    /// Runs generated inputs. Those that may not be tests come back as the reason why.
    pub fn confirm(
        &self,
        claims: &[Claim<'_>],
        firm: &[BitSet],
        exact: &[BitSet],
    ) -> Vec<Result<Confirmed, String>> {
        let run = self.run(claims, firm, exact);
        let judged = claims.iter().zip(run);
        judged
            .map(
                |(claim, confirmed)| match self.space.violation(claim.input, claim.root) {
                    Some(why) => Err(why),
                    None if confirmed.prediction == Prediction::NotFinite => {
                        Err("an output for it is NaN or infinite".into())
                    }
                    None => Ok(confirmed),
                },
            )
            .collect()
    }

    /// Runs seeds, which lie where the user's data lie; outside the boxes of a region they meet nothing.
    pub fn confirm_seeds(
        &self,
        seeds: &[&[f32]],
        firm: &[BitSet],
        exact: &[BitSet],
    ) -> Vec<Confirmed> {
        let claims: Vec<Claim<'_>> = seeds
            .iter()
            .map(|&input| Claim { input, root: input })
            .collect();
        self.run(&claims, firm, exact)
    }

    fn run(&self, claims: &[Claim<'_>], firm: &[BitSet], exact: &[BitSet]) -> Vec<Confirmed> {
        if claims.is_empty() {
            return Vec::new();
        }
        let inputs: Vec<f32> = claims.iter().flat_map(|c| c.input).copied().collect();
        let mut points = self.family.points();
        if !points.contains(&Point::Logits) {
            points.push(Point::Logits);
        }
        let trace = self.network.forward(&inputs, &Pass::keep(points));
        claims
            .par_iter()
            .enumerate()
            .map(|(sample, claim)| {
                let look = SampleView {
                    trace: &trace,
                    sample,
                    means: self.means,
                };
                let met = |among: &[BitSet], clearance| {
                    let mut met = Vec::new();
                    let mut push = |group: usize, slot: usize| {
                        met.push(Slot {
                            group: group as u32,
                            slot: slot as u32,
                        });
                    };
                    if let Some(guide) = self.guide.filter(|_| self.space.has(claim.input)) {
                        guide.met(look, among, clearance, &mut push);
                    }
                    met
                };
                Confirmed {
                    input: claim.input.to_vec(),
                    prediction: self.decision.predict(look.at(Point::Logits)),
                    distance: self.space.distance(claim.input, claim.root),
                    firm: met(firm, Clearance::Firm),
                    exact: met(exact, Clearance::Exact),
                }
            })
            .collect()
    }
}
