//! Branch and bound on which positions change, for regions in which few may: of a group of positions "at most k
//! change" becomes "j of the first half, and k - j of the second" for every j. Parts with few positions are
//! small: most units stand still or have one phase. Where all positions that are left may change at once, the
//! box that they span is halved.

use std::collections::{BTreeMap, BinaryHeap};

use deepconcolic_check::{Changes, Leaf, Region, Split, Until};
use rayon::prelude::*;

use crate::ascent::CLEAR;
use crate::changes::{Choice, Group};
use crate::inputs::mixes;
use crate::lanes::{LANES, all};
use crate::moving::{AtCentre, MovingBounds};
use crate::objective::Condition;
use crate::open_part::OpenPart;
use crate::pass::{Follow, forward};
use crate::phases::{Confirm, Effort, End};
use crate::program::Program;
use crate::tree::Growing;

/// Regions that allow more changes than this are split on phases instead: there are too many ways to choose
/// positions.
pub(crate) const FEW: u32 = 4;
/// Parts cut at once: a fixed number, so that nothing depends on the number of threads.
const TAKEN: usize = 2 * LANES;

/// The limit on changes of a region, where it is small enough to split on.
pub(crate) fn few(region: &Region) -> Option<&Changes> {
    let changes = region.changes.as_ref();
    changes.filter(|changes| changes.allowed <= FEW)
}

/// One alternative over a region.
struct Question<'a> {
    program: &'a Program,
    at_centre: AtCentre,
    changes: &'a Changes,
    conditions: &'a [Condition],
    /// Sums of conditions: numbers and factors.
    mixes: Vec<Vec<(usize, f32)>>,
    ends: Vec<[f64; 2]>,
    bounds: Vec<[f64; 2]>,
    until: Until<'a>,
}

/// A part of the region.
#[derive(Debug, Clone)]
struct Part {
    groups: Vec<Group>,
    /// Inputs whose ends splits have moved.
    cuts: Vec<(usize, [f64; 2])>,
}

/// How a part is cut.
#[derive(Debug, Clone)]
enum Cut {
    /// A group, by number, and its positions that matter most.
    Group(usize, Vec<u32>),
    /// An input, at a number.
    Input(usize, f64),
    /// As thin as numbers can be.
    Nowhere,
}

/// What was found of a part.
struct Judged {
    part: Part,
    bound: f64,
    /// The sum of conditions that has this bound.
    mix: usize,
    cut: Cut,
    /// The corner where that bound is taken.
    corner: Vec<(usize, f64)>,
}

/// Refutes one alternative over a region with bounds of all units there, or finds an input that meets it.
pub(crate) fn refute(
    (program, bounds): (&Program, &[[f64; 2]]),
    conditions: &[Condition],
    (region, changes): (&Region, &Changes),
    effort: &Effort<'_>,
    confirm: &Confirm<'_>,
) -> End {
    let centre: Vec<f64> = program.inputs.iter().map(|&e| changes.centre[e]).collect();
    let ends = |&e: &usize| [region.lower[e], region.upper[e]];
    let question = Question {
        at_centre: AtCentre::of(program, &centre),
        ends: program.inputs.iter().map(ends).collect(),
        mixes: mixes(conditions.len()),
        bounds: bounds.to_vec(),
        program,
        changes,
        conditions,
        until: effort.until,
    };
    let mut tree = Growing::new();
    let mut open = BinaryHeap::new();
    let mut parts = vec![(question.whole(), 0)];
    let mut nodes = effort.nodes_from(0);
    loop {
        nodes += parts.len();
        let judged = question.judge(&parts);
        if let Some(input) = question.try_corners(&judged, confirm) {
            return End::Witness(input);
        }
        for (judged, (_, at)) in judged.into_iter().zip(parts) {
            if judged.bound > CLEAR {
                tree.close(at, question.leaf(judged.mix));
            } else {
                open.push(OpenPart {
                    bound: judged.bound,
                    at,
                    found: judged,
                });
            }
        }
        let Some(worst) = open.peek() else {
            return End::Refuted(tree.finish());
        };
        if nodes >= effort.nodes || effort.is_over() {
            return End::Open(-worst.bound);
        }
        parts = Vec::new();
        while parts.len() < TAKEN
            && let Some(next) = open.pop()
        {
            let bound = next.bound;
            match question.cut(next, &mut tree) {
                Some(halves) => parts.extend(halves),
                None => return End::Open(-bound),
            }
        }
    }
}

impl Question<'_> {
    /// All of the region, as far as the program sees it.
    fn whole(&self) -> Part {
        let inputs = self.program.inputs.iter();
        let mut positions: Vec<u32> = inputs.map(|&e| self.changes.positions[e]).collect();
        positions.sort_unstable();
        positions.dedup();
        Part {
            groups: vec![Group {
                positions: positions.into(),
                allowed: self.changes.allowed as usize,
            }],
            cuts: Vec::new(),
        }
    }

    fn choice(&self, part: &Part) -> Choice {
        let ends = |input: usize| {
            let cut = part.cuts.iter().rfind(|(cut, _)| *cut == input);
            cut.map_or(self.ends[input], |(_, ends)| *ends)
        };
        Choice::of(self.changes, &part.groups, &self.program.inputs, ends)
    }

    fn leaf(&self, mix: usize) -> Leaf {
        let factors = self.mixes[mix].iter();
        Leaf {
            factors: factors.map(|&(at, factor)| (at as u32, factor)).collect(),
            ..Leaf::default()
        }
    }

    /// Bounds parts, on all threads.
    fn judge(&self, parts: &[(Part, usize)]) -> Vec<Judged> {
        let judged: Vec<Vec<Judged>> = parts
            .par_chunks(LANES / 2)
            .map(|parts| {
                let mut moving = MovingBounds::new(self.program, &self.at_centre, self.until);
                let parts = parts.iter();
                parts.map(|(p, _)| self.bound(p, &mut moving)).collect()
            })
            .collect();
        judged.into_iter().flatten().collect()
    }

    fn bound(&self, part: &Part, moving: &mut MovingBounds<'_>) -> Judged {
        let choice = self.choice(part);
        let mut bounds = self.bounds.clone();
        moving.decide(&choice, &mut bounds);
        let mut judged = Judged {
            part: part.clone(),
            bound: f64::NEG_INFINITY,
            mix: 0,
            cut: Cut::Nowhere,
            corner: Vec::new(),
        };
        for (number, chunk) in self.mixes.chunks(LANES).enumerate() {
            moving.begin();
            for (lane, mix) in chunk.iter().enumerate() {
                for &(condition, factor) in mix {
                    let (condition, factor) = (&self.conditions[condition], f64::from(factor));
                    for &(variable, weight) in &condition.terms {
                        moving.seed(variable, lane, -factor * weight);
                    }
                    moving.constant(lane, -factor * condition.constant);
                }
            }
            let bound = moving.lower(chunk.len(), &choice);
            for lane in 0..chunk.len() {
                // Of sums of several conditions, what one of them would be worth.
                let bound = bound[lane] / chunk[lane].len() as f64;
                if bound > judged.bound || judged.bound == f64::NEG_INFINITY {
                    judged.bound = bound;
                    judged.mix = number * LANES + lane;
                    let coefficient = |input: usize| moving.coefficients[input][lane];
                    judged.corner = choice.corner(coefficient);
                    judged.cut = next_cut(part, &choice, coefficient);
                }
            }
        }
        judged
    }

    /// The parts of a part, with their places in the tree; none if it cannot be cut.
    fn cut(&self, open: OpenPart<Judged>, tree: &mut Growing) -> Option<Vec<(Part, usize)>> {
        let (judged, at) = (open.found, open.at);
        match judged.cut {
            Cut::Group(number, first) => Some(split_group(&judged.part, number, &first, at, tree)),
            Cut::Input(input, middle) => {
                let split = Split::Input {
                    element: self.program.inputs[input] as u32,
                    at: middle,
                };
                let known = judged.part.cuts.iter().rfind(|(cut, _)| *cut == input);
                let [low, high] = known.map_or(self.ends[input], |(_, ends)| *ends);
                let places = tree.split(at, split);
                let halves = [[low, middle], [middle, high]];
                let half = |(at, ends): (usize, [f64; 2])| {
                    let mut part = judged.part.clone();
                    part.cuts.retain(|(cut, _)| *cut != input);
                    part.cuts.push((input, ends));
                    (part, at)
                };
                Some(places.into_iter().zip(halves).map(half).collect())
            }
            Cut::Nowhere => None,
        }
    }

    /// Executes the corners of parts that are not refuted, where the program says that they meet all
    /// conditions.
    fn try_corners(&self, judged: &[Judged], confirm: &Confirm<'_>) -> Option<Vec<f32>> {
        let open: Vec<&Judged> = judged.iter().filter(|j| j.bound <= CLEAR).collect();
        let inputs = self.program.inputs.len();
        let chunks: Vec<&[&Judged]> = open.chunks(LANES).collect();
        chunks.into_par_iter().find_map_first(|chunk| {
            let mut values = vec![all(0.0); self.program.variables];
            for (value, &element) in values.iter_mut().zip(&self.program.inputs) {
                *value = all(self.changes.centre[element]);
            }
            for (lane, judged) in chunk.iter().enumerate() {
                for &(input, value) in &judged.corner {
                    values[input][lane] = value;
                }
            }
            forward(self.program, &Follow::Curve, &mut values);
            (0..chunk.len()).find_map(|lane| {
                let mut conditions = self.conditions.iter();
                let met = conditions.all(|c| c.value(&values, lane) >= 0.0);
                let point: Vec<f64> = values[..inputs].iter().map(|v| v[lane]).collect();
                met.then(|| confirm(&point)).flatten()
            })
        })
    }
}

/// Cuts a group in two: for every number of changes in the first half a part, found by splits one after the
/// other.
fn split_group(
    part: &Part,
    number: usize,
    first: &[u32],
    at: usize,
    tree: &mut Growing,
) -> Vec<(Part, usize)> {
    let Group { positions, allowed } = &part.groups[number];
    let others = positions.iter().filter(|p| first.binary_search(p).is_err());
    let second: Vec<u32> = others.copied().collect();
    let with = |changed: usize| {
        let mut part = part.clone();
        part.groups.swap_remove(number);
        let halves = [(first, changed), (&second[..], allowed - changed)];
        for (positions, allowed) in halves {
            if allowed > 0 {
                part.groups.push(Group {
                    positions: positions.into(),
                    allowed: allowed.min(positions.len()),
                });
            }
        }
        part
    };
    let largest = (*allowed).min(first.len());
    let mut parts = Vec::with_capacity(largest + 1);
    let mut rest = at;
    for changed in 0..largest {
        let split = Split::Changes {
            positions: first.to_vec(),
            most: changed as u32,
        };
        let [few, more] = tree.split(rest, split);
        parts.push((with(changed), few));
        rest = more;
    }
    parts.push((with(largest), rest));
    parts
}

/// Where to cut a part: the group that takes off most, between the positions that do and the others; where
/// all positions may change, the input that moves the bound most, in the middle.
fn next_cut(part: &Part, choice: &Choice, coefficient: impl Fn(usize) -> f64) -> Cut {
    let amounts = choice.amounts(&coefficient).into_iter();
    let amounts: BTreeMap<u32, f64> = choice.positions.iter().copied().zip(amounts).collect();
    let amount = |position: u32| amounts.get(&position).copied().unwrap_or(0.0);
    let mut best: Option<(f64, usize, Vec<u32>)> = None;
    for (number, group) in part.groups.iter().enumerate() {
        if group.allowed == 0 || group.is_free() {
            continue;
        }
        let mut order: Vec<(f64, u32)> = group.positions.iter().map(|&p| (amount(p), p)).collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let worth: f64 = order.iter().take(group.allowed).map(|(a, _)| a).sum();
        if best.as_ref().is_none_or(|(least, _, _)| worth > *least) {
            order.truncate(order.len() / 2);
            let mut first: Vec<u32> = order.into_iter().map(|(_, p)| p).collect();
            first.sort_unstable();
            best = Some((worth, number, first));
        }
    }
    if let Some((_, number, first)) = best {
        return Cut::Group(number, first);
    }
    let strength = |input: usize| coefficient(input).abs();
    let movers = choice.movers.iter();
    let strongest = movers
        .map(|m| strength(m.input as usize))
        .fold(0.0, f64::max);
    let mut best: Option<(f64, Cut)> = None;
    for mover in &choice.movers {
        let ([low, high], input) = (mover.ends, mover.input as usize);
        let middle = 0.5 * low + 0.5 * high;
        let strength = strength(input).max(0.03 * strongest) + f64::MIN_POSITIVE;
        let effect = strength * (high - low);
        let is_better = best.as_ref().is_none_or(|(least, _)| effect > *least);
        if is_better && low < middle && middle < high {
            best = Some((effect, Cut::Input(input, middle)));
        }
    }
    best.map_or(Cut::Nowhere, |(_, cut)| cut)
}
