//! Pairs of tests for the pair criteria, many at a time.
//!
//! Two ways. *Crossing*: with a seed's signs of the conditions' layer kept, step over the hyperplane of
//! each condition, and, on the seed's own side of all of them, flip each decision. A test beyond
//! condition i pairs with every test of the seed's own cell, so c crossings and d flips make up to
//! c x d pairs. *Meeting*: for one pair, let both inputs move; the nearest points on either side of both
//! hyperplanes lie next to each other where these meet, and so close together that other signs hardly
//! ever differ.

use deepconcolic_criteria::PairRequirement;
use deepconcolic_language::Inputs;
use deepconcolic_network::{Pass, Point};

use crate::atom::Scales;
use crate::budget::{Budget, Effort};
use crate::goal::{Goal, Reason};
use crate::meet::meeting_point;
use crate::pair_tree::{pair_tree, sign_change};
use crate::region::Region;
use crate::same_signs::SameSigns;
use crate::sparse::region_round_neurons;
use crate::task::{Moves, Task};
use crate::tree::Tree;
use crate::walk::walk;

/// The pairs of neurons of two layers, and where tests for them may lie.
#[derive(Clone, Copy)]
pub(crate) struct PairSearch<'a> {
    pub goal: Goal<'a>,
    /// The conditions' hidden layer, `0..`.
    pub before: usize,
    /// The decisions' hidden layer, `0..`.
    pub layer: usize,
    /// What a single crossing or meeting may take.
    pub budget: Budget<'a>,
}

/// Two tests that cover a pair of neurons, by their numbers in a [`PairsFound`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct FoundPair {
    pub condition: usize,
    pub decision: usize,
    /// `x1`
    pub first: usize,
    /// `x2`
    pub second: usize,
}

/// Tests and the pairs they cover.
#[derive(Debug, Clone, Default)]
pub(crate) struct PairsFound {
    /// The root first, then the new tests that some pair needs.
    pub tests: Vec<Vec<f32>>,
    /// What they cover, each pair once.
    pub pairs: Vec<FoundPair>,
    /// What it took.
    pub effort: Effort,
}

/// A test near a root, and which side of the conditions it lies on.
struct Neighbour {
    input: Vec<f32>,
    /// The condition whose sign differs from the root's; none in the root's own cell.
    beyond: Option<usize>,
    /// u of the decisions' layer.
    decisions: Vec<f32>,
}

impl<'a> PairSearch<'a> {
    fn scales(&self) -> Scales<'a> {
        Scales::of(&self.goal)
    }

    /// Where tests for some neurons may lie that begin at a start.
    fn region<'b>(
        &self,
        root: &'b [f32],
        start: &[f32],
        neurons: &[(Point, usize)],
        effort: &mut Effort,
    ) -> Result<Region<'b>, Reason>
    where
        'a: 'b,
    {
        let Goal { network, space, .. } = self.goal;
        region_round_neurons(network, space, root, start, neurons, effort)
    }

    /// Crosses these conditions and flips these decisions round a root; pairs that are not `open` are
    /// not reported. For sign-sign pairs only: other changes depend on both tests at once.
    pub fn crossing(
        &self,
        root: &[f32],
        conditions: &[usize],
        decisions: &[usize],
        open: &dyn Fn(usize, usize) -> bool,
    ) -> Result<PairsFound, Reason> {
        let mut effort = Effort::default();
        let mut found = Vec::new();
        for &condition in conditions {
            if self.budget.stop(effort).is_some() {
                break;
            }
            let kept = (0..self.conditions()).filter(|&n| n != condition).collect();
            let flip = (Point::Pre(self.before), condition);
            found.extend(self.neighbour(root, flip, kept, &mut effort)?);
        }
        for &decision in decisions {
            if self.budget.stop(effort).is_some() {
                break;
            }
            let kept = (0..self.conditions()).collect();
            let flip = (Point::Pre(self.layer), decision);
            found.extend(self.neighbour(root, flip, kept, &mut effort)?);
        }
        let pass = Pass::keep([Point::Pre(self.before), Point::Pre(self.layer)]);
        effort.forward += 1;
        let start = self.goal.network.forward(root, &pass);
        // A root with a sign of the conditions' layer that rounding could change is part of no pair.
        let margin = self.margin_of(self.before);
        let is_clear = |u: &f32| *u == 0.0 || f64::from(u.abs()) >= margin;
        let is_test = start.get(Point::Pre(self.before)).iter().all(is_clear);
        let start = is_test.then(|| start.get(Point::Pre(self.layer)));
        Ok(self.paired(root, start, &found, open, effort))
    }

    /// By how much signs of a layer are cleared.
    fn margin_of(&self, layer: usize) -> f64 {
        self.scales().sign(0, Point::Pre(layer), 0, true).margin
    }

    fn conditions(&self) -> usize {
        self.goal.network.layers()[self.before].neurons()
    }

    /// A test near the root with one sign flipped and others kept.
    fn neighbour(
        &self,
        root: &[f32],
        (point, neuron): (Point, usize),
        kept: Vec<usize>,
        effort: &mut Effort,
    ) -> Result<Option<Neighbour>, Reason> {
        let scales = self.scales();
        let tree = Tree::All(vec![
            sign_change(point, neuron, &scales),
            Tree::Same(SameSigns::new(self.before, kept, &scales)?),
        ]);
        let region = self.region(root, root, &[(point, neuron)], effort)?;
        let mut task = Task::of_tree(scales, Inputs::Two, tree, region);
        task.budget = self.budget;
        let decisions = Point::Pre(self.layer);
        if !task.points.contains(&decisions) {
            task.points.push(decisions);
        }
        let observed = task.observe(root, Moves::Last, effort);
        let found = walk(&task, observed, 0, effort).filter(|f| task.region.allows(&f.inputs[1]));
        Ok(found.map(|found| Neighbour {
            beyond: (point == Point::Pre(self.before)).then_some(neuron),
            decisions: found.values(1, decisions).to_vec(),
            input: found.inputs[1].clone(),
        }))
    }

    /// The open pairs that neighbours of a root cover, together with the root if `start` has its values of
    /// the decisions' layer.
    fn paired(
        &self,
        root: &[f32],
        start: Option<&[f32]>,
        found: &[Neighbour],
        open: &dyn Fn(usize, usize) -> bool,
        effort: Effort,
    ) -> PairsFound {
        let margin = self.margin_of(self.layer);
        let start = start.map(|start| (usize::MAX, start));
        let home: Vec<(usize, &[f32])> = start
            .into_iter()
            .chain(
                found
                    .iter()
                    .enumerate()
                    .filter(|(_, n)| n.beyond.is_none())
                    .map(|(index, n)| (index, n.decisions.as_slice())),
            )
            .collect();
        let mut pairs: Vec<(usize, usize, usize, usize)> = Vec::new();
        for (index, neighbour) in found.iter().enumerate() {
            let Some(condition) = neighbour.beyond else {
                continue;
            };
            for (decision, &there) in neighbour.decisions.iter().enumerate() {
                if f64::from(there.abs()) < margin || !open(condition, decision) {
                    continue;
                }
                let differs = |(_, here): &&(usize, &[f32])| {
                    let here = here[decision];
                    f64::from(here.abs()) >= margin && (here >= 0.0) != (there >= 0.0)
                };
                if let Some((first, _)) = home.iter().find(differs) {
                    pairs.push((condition, decision, *first, index));
                }
            }
        }
        collect(root, found, &pairs, effort)
    }

    /// One pair of neurons, both tests free, from where a test lies in the root's region.
    pub fn meeting(
        &self,
        root: &[f32],
        start: &[f32],
        pair: &PairRequirement,
    ) -> Result<PairsFound, Reason> {
        let mut effort = Effort::default();
        let tree = pair_tree(pair, &self.scales())?;
        let neurons = [pair.condition, pair.decision].map(|of| (Point::Pre(of.layer), of.neuron));
        let region = self.region(root, start, &neurons, &mut effort)?;
        let mut task = Task::of_tree(self.scales(), Inputs::Two, tree, region);
        task.budget = self.budget;
        let mut observed = task.observe(start, Moves::Both, &mut effort);
        if let Some(point) = meeting_point(&task, &observed, &mut effort) {
            observed = task.observe(&point, Moves::Both, &mut effort);
        }
        let mut tests = vec![root.to_vec()];
        let mut pairs = Vec::new();
        for variant in 0..task.tree.variants(WAYS) {
            let found = walk(&task, observed.clone(), variant, &mut effort);
            if let Some(witness) = found.and_then(|found| task.witness(&found, root, None)) {
                tests.extend(witness.inputs);
                pairs.push(FoundPair {
                    condition: pair.condition.neuron,
                    decision: pair.decision.neuron,
                    first: 1,
                    second: 2,
                });
                break;
            }
        }
        Ok(PairsFound {
            tests,
            pairs,
            effort,
        })
    }
}

/// Directions of change that a meeting is tried with.
const WAYS: usize = 4;

/// The tests that pairs need, numbered anew.
fn collect(
    root: &[f32],
    found: &[Neighbour],
    pairs: &[(usize, usize, usize, usize)],
    effort: Effort,
) -> PairsFound {
    let mut tests = vec![root.to_vec()];
    let mut numbers: Vec<Option<usize>> = vec![None; found.len()];
    let mut number = |index: usize| match numbers.get_mut(index) {
        None => 0,
        Some(slot) => *slot.get_or_insert_with(|| {
            tests.push(found[index].input.clone());
            tests.len() - 1
        }),
    };
    let pairs = pairs
        .iter()
        .map(|&(condition, decision, first, second)| FoundPair {
            condition,
            decision,
            first: number(first),
            second: number(second),
        })
        .collect();
    PairsFound {
        tests,
        pairs,
        effort,
    }
}
