//! Branch and bound on phases: the open unit whose line is furthest off is fixed below and above its
//! kink, and each half is bounded anew with the bounds of all other units kept.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::AddAssign;
use std::sync::atomic::{AtomicUsize, Ordering as Access};

use deepconcolic_check::{Leaf, Proof, Split, Until};
use rayon::prelude::*;

use crate::ascent::{Ascent, CLEAR, Part, Reached, Steps};
use crate::lanes::LANES;
use crate::objective::Condition;
use crate::open_part::OpenPart;
use crate::relaxed::{self, Solved};
use crate::tree::Growing;

/// How far branching may go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort<'a> {
    /// Most parts that are bounded.
    pub nodes: usize,
    /// Steps of ascent at each part below the root.
    pub below: Steps,
    /// When to give up whatever the count; only a caller who was given a time has one.
    pub until: Until<'a>,
    /// Counts the parts that are bounded.
    pub spent: &'a AtomicUsize,
}

impl Effort<'_> {
    pub fn is_over(&self) -> bool {
        self.until.is_over()
    }
}

impl<'a> Effort<'a> {
    /// A count that starts at some parts.
    pub fn nodes_from(&self, count: usize) -> Nodes<'a> {
        Nodes {
            count,
            spent: self.spent,
        }
    }
}

/// Counts parts. However a search ends, they are then booked.
#[derive(Debug)]
pub(crate) struct Nodes<'a> {
    count: usize,
    spent: &'a AtomicUsize,
}

impl Nodes<'_> {
    /// Parts that may still be bounded.
    pub fn left_of(&self, maximum: usize) -> usize {
        maximum.saturating_sub(self.count)
    }
}

impl AddAssign<usize> for Nodes<'_> {
    fn add_assign(&mut self, parts: usize) {
        self.count += parts;
    }
}

impl PartialEq<usize> for Nodes<'_> {
    fn eq(&self, maximum: &usize) -> bool {
        self.count == *maximum
    }
}

impl PartialOrd<usize> for Nodes<'_> {
    fn partial_cmp(&self, maximum: &usize) -> Option<Ordering> {
        self.count.partial_cmp(maximum)
    }
}

impl Drop for Nodes<'_> {
    fn drop(&mut self) {
        self.spent.fetch_add(self.count, Access::Relaxed);
    }
}

/// How a search for a refutation ended.
#[derive(Debug)]
pub(crate) enum End {
    Refuted(Proof),
    Witness(Vec<f32>),
    /// What is left; the conditions' value stays below this.
    Open(f64),
}

/// Steps where every phase is fixed: the multipliers alone must decide the part, with shorter steps
/// each time, since the best ones balance each other to the digit.
fn patient(tries: u8) -> Steps {
    Steps {
        maximum: 120,
        rate: 0.5 * 0.25f64.powi(tries.into()),
    }
}

/// How often such a part is taken up.
const MAX_TRIES: u8 = 6;

/// Turns values of the input variables into an input that really meets the goal, if it does.
pub(crate) type Confirm<'a> = dyn Fn(&[f64]) -> Option<Vec<f32>> + Sync + 'a;

/// Groups of parts bounded at once, on as many threads as there are: a fixed number, so that nothing
/// depends on the threads.
const GROUPS: usize = 4;

/// Up to [`LANES`] parts that are bounded side by side.
struct Group {
    parts: Vec<Part>,
    /// Where each is in the tree, and how often it was taken up with nothing left to split.
    places: Vec<(usize, u8)>,
    steps: Steps,
}

/// Refutes one alternative from what the root reached.
pub(crate) fn refute(
    ascent: &mut Ascent<'_>,
    conditions: &[Condition],
    root: Reached,
    effort: &Effort<'_>,
    confirm: &Confirm<'_>,
) -> End {
    let mut tree = Growing::new();
    let (root, witness) = finish(ascent, conditions, root, confirm);
    if let Some(input) = witness {
        return End::Witness(input);
    }
    if root.bound > CLEAR {
        tree.close(0, leaf(ascent, &root.part));
        return End::Refuted(tree.finish());
    }
    let mut open = BinaryHeap::new();
    open.push(OpenPart {
        bound: root.bound,
        at: 0,
        found: root,
    });
    let mut nodes = effort.nodes_from(1);
    // Workspaces of the groups but the first; most questions end before there are any.
    let mut others: Vec<Ascent<'_>> = Vec::new();
    while let Some(worst) = open.peek() {
        let bound = -worst.bound;
        if nodes >= effort.nodes || effort.is_over() {
            return End::Open(bound);
        }
        let mut groups = Vec::new();
        while groups.len() < GROUPS && nodes < effort.nodes && !open.is_empty() {
            let Some(group) = next_group(ascent, &mut open, &mut tree, effort.below) else {
                // The bound still leaves room: rounding, or a witness that execution does not
                // confirm.
                return End::Open(bound);
            };
            nodes += group.parts.len();
            groups.push(group);
        }
        while others.len() + 1 < groups.len() {
            others.push(ascent.clone());
        }
        let spaces: Vec<&mut Ascent<'_>> =
            std::iter::once(&mut *ascent).chain(&mut others).collect();
        let bounded: Vec<(Vec<Reached>, Option<Vec<f32>>)> = groups
            .par_iter()
            .zip(spaces.into_par_iter())
            .map(|(group, space)| {
                let lanes: Vec<&[Condition]> = vec![conditions; group.parts.len()];
                let reached = space.climb(&lanes, &group.parts, group.steps);
                let mut corners = space.witnesses(&lanes).into_iter();
                let mut witness = corners.find_map(|(_, corner)| confirm(&corner));
                let reached = reached.into_iter().map(|reached| {
                    if witness.is_some() || effort.is_over() {
                        return reached;
                    }
                    let (reached, found) = finish(space, conditions, reached, confirm);
                    witness = found;
                    reached
                });
                (reached.collect(), witness)
            })
            .collect();
        for (group, (reached, witness)) in groups.into_iter().zip(bounded) {
            if let Some(input) = witness {
                return End::Witness(input);
            }
            for (mut reached, (at, tries)) in reached.into_iter().zip(group.places) {
                reached.tries = tries;
                if reached.bound > CLEAR {
                    tree.close(at, leaf(ascent, &reached.part));
                } else {
                    open.push(OpenPart {
                        bound: reached.bound,
                        at,
                        found: reached,
                    });
                }
            }
        }
    }
    End::Refuted(tree.finish())
}

/// Settles a part with nothing left to split, if it is not refuted yet.
fn finish(
    ascent: &mut Ascent<'_>,
    conditions: &[Condition],
    reached: Reached,
    confirm: &Confirm<'_>,
) -> (Reached, Option<Vec<f32>>) {
    if reached.bound > CLEAR || reached.branch.is_some() {
        return (reached, None);
    }
    match relaxed::decide(ascent, conditions, &reached.part) {
        Solved::Refuted(better) => (better, None),
        Solved::Point(point, _) => (reached, confirm(&point)),
        Solved::Unknown => (reached, None),
    }
}

/// The halves of the parts with the worst bounds. None if a part has nothing left to split and has
/// been taken up often enough.
fn next_group(
    ascent: &Ascent<'_>,
    open: &mut BinaryHeap<OpenPart<Reached>>,
    tree: &mut Growing,
    below: Steps,
) -> Option<Group> {
    let mut group = Group {
        parts: Vec::with_capacity(LANES),
        places: Vec::with_capacity(LANES),
        steps: below,
    };
    while group.parts.len() + 1 < LANES
        && let Some(next) = open.pop()
    {
        let Some(branch) = next.found.branch else {
            if next.found.tries == MAX_TRIES {
                return None;
            }
            group.steps = patient(next.found.tries);
            group.parts.push(next.found.part);
            group.places.push((next.at, next.found.tries + 1));
            continue;
        };
        let unit = ascent.program.units[ascent.free[branch as usize].unit];
        let halves = tree.split(next.at, Split::Phase(unit));
        for (half, above) in halves.into_iter().zip([false, true]) {
            let mut part = next.found.part.clone();
            part.phases.push((branch, above));
            part.multipliers.push(0.0);
            group.parts.push(part);
            group.places.push((half, 0));
        }
    }
    Some(group)
}

/// The numbers of a closed part, as a certificate holds them.
pub(crate) fn leaf(ascent: &Ascent<'_>, part: &Part) -> Leaf {
    let factors = part.factors.iter().enumerate();
    let start = ascent.start(part.factors.len());
    let fixed: Vec<u32> = part.phases.iter().map(|&(number, _)| number).collect();
    let moved = (0..part.shares.len()).filter(|&k| {
        let same = part.shares[k].to_bits() == start.shares[k].to_bits();
        !same && !fixed.contains(&(k as u32))
    });
    Leaf {
        factors: factors
            .filter(|(_, factor)| **factor > 0.0)
            .map(|(atom, &factor)| (atom as u32, factor))
            .collect(),
        slopes: moved
            .map(|k| {
                let unit = ascent.program.units[ascent.free[k].unit];
                let share = (f64::from(part.shares[k]) * 255.0).round() as u8;
                (unit, share)
            })
            .collect(),
        multipliers: part.multipliers.clone(),
    }
}
