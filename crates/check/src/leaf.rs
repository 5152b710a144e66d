//! Leaves of a split tree: each must follow from one pull back, sixteen at a time.

use std::collections::HashMap;

use crate::backward::{LANES, Lanes, Pull, Reach, UnitLines};
use crate::certificate::{Leaf, Proof, Region, Split, Tree, Unit};
use crate::cone::{Cone, Curves, Step};
use crate::context::Context;
use crate::float;
use crate::lines::{is_flat, kink, lines, range};
use crate::question::Atom;

/// A part of the region: a node of the tree with what the splits above it say.
struct Part<'a> {
    node: &'a Tree,
    /// Where the second half begins, if the node is a split.
    second: usize,
    /// Units and whether each lies at or above its kink, from the root down.
    phases: Vec<(usize, bool)>,
    /// Ends of the cone's inputs and bounds of its units, where splits of inputs moved them.
    moved: Option<Moved>,
}

/// A box of its own.
#[derive(Clone)]
struct Moved {
    ends: Vec<[f64; 2]>,
    bounds: Vec<[f64; 2]>,
}

/// Deeper trees than any search grows are refused: each level takes memory.
const DEEPEST: usize = 1 << 12;

/// Judges the proofs of one alternative.
pub(crate) struct Judge<'a> {
    context: &'a Context<'a>,
    cone: &'a Cone,
    atoms: &'a [Atom],
    /// Number of each unit of the cone.
    numbers: HashMap<Unit, usize>,
    bounds: Vec<[f64; 2]>,
    kinks: Vec<Option<f64>>,
    lines: Vec<UnitLines>,
    reach: Reach,
}

impl<'a> Judge<'a> {
    /// `cone` has the terms of the atoms as targets, in order.
    pub fn new(context: &'a Context<'a>, cone: &'a Cone, atoms: &'a [Atom]) -> Self {
        let bounds: Vec<[f64; 2]> = cone
            .units
            .iter()
            .map(|unit| {
                let unbounded = [f64::NEG_INFINITY, f64::INFINITY];
                context.known.get(unit).copied().unwrap_or(unbounded)
            })
            .collect();
        let mut reach = Reach::of(cone, context.region);
        reach.advance(cone, cone.steps.len(), |unit| bounds[unit]);
        let (mut base, mut kinks) = (Vec::new(), Vec::new());
        for curves in curves(cone) {
            for k in 0..curves.inputs.len() {
                let [l, u] = bounds[curves.first_unit + k];
                base.push(UnitLines::all(lines(&curves.parts, l, u, None)));
                kinks.push(kink(&curves.parts));
            }
        }
        let numbers = cone.units.iter().enumerate().map(|(n, &unit)| (unit, n));
        Self {
            context,
            cone,
            atoms,
            numbers: numbers.collect(),
            bounds,
            kinks,
            lines: base,
            reach,
        }
    }

    /// How far executions in single precision can be from the values judged here.
    pub fn margin(&self) -> f64 {
        float::margin(self.cone, &self.reach, self.atoms)
    }

    /// The largest value that the weighted conditions can have over all leaves, or what is wrong.
    pub fn judge(&self, proof: &Proof) -> Result<f64, String> {
        let seconds = second_halves(proof)?;
        let splits_inputs = proof
            .iter()
            .any(|node| matches!(node, Tree::Split(Split::Input { .. })));
        let moved = splits_inputs.then(|| Moved {
            ends: (0..self.cone.inputs.len())
                .map(|i| self.ends_of(i))
                .collect(),
            bounds: self.bounds.clone(),
        });
        let mut worst = f64::NEG_INFINITY;
        let mut pull = Pull::new(self.cone);
        // Parts still to come, next one last.
        let mut pending = vec![(0, Vec::new(), moved)];
        while !pending.is_empty() {
            let mut parts = Vec::with_capacity(LANES);
            while parts.len() < LANES
                && let Some((at, phases, moved)) = pending.pop()
            {
                let part = Part {
                    node: &proof[at],
                    second: seconds[at],
                    phases,
                    moved,
                };
                // A phase split alone moves no bounds but its own: nothing to compute.
                match part.node {
                    Tree::Split(Split::Phase(_)) if part.moved.is_none() => {
                        pending.extend(self.halves(at, part)?);
                    }
                    _ => parts.push((at, part)),
                }
            }
            let (places, mut parts): (Vec<usize>, Vec<Part<'_>>) = parts.into_iter().unzip();
            for value in self.values(&mut parts, &mut pull)?.into_iter().flatten() {
                worst = worst.max(value);
            }
            for (at, part) in places.into_iter().zip(parts).rev() {
                pending.extend(self.halves(at, part)?);
            }
        }
        Ok(worst)
    }

    /// The two halves of a split part, the second first; none of a leaf.
    #[expect(clippy::type_complexity, reason = "read once, next to its only caller")]
    fn halves(
        &self,
        at: usize,
        part: Part<'_>,
    ) -> Result<Vec<(usize, Vec<(usize, bool)>, Option<Moved>)>, String> {
        let (first, second) = (at + 1, part.second);
        match part.node {
            Tree::Leaf(_) => Ok(Vec::new()),
            Tree::Split(Split::Phase(unit)) => {
                let known = self.numbers.get(unit).copied();
                let unit = known.ok_or("a split names a unit that does not matter here")?;
                if self.kinks[unit].is_none() {
                    return Err("a split names a unit with several kinks".into());
                }
                let with = |above: bool| {
                    let mut phases = part.phases.clone();
                    phases.push((unit, above));
                    phases
                };
                Ok(vec![
                    (second, with(true), part.moved.clone()),
                    (first, with(false), part.moved.clone()),
                ])
            }
            Tree::Split(Split::Input { element, at }) => {
                let mut inputs = self.cone.inputs.iter();
                let place = inputs.position(|&e| e == *element as usize);
                let place = place.ok_or("a split names an input that does not matter here")?;
                if !at.is_finite() {
                    return Err("a split is at no number".into());
                }
                let with = |pick: fn([f64; 2], f64) -> [f64; 2]| {
                    let mut moved = part.moved.clone();
                    if let Some(moved) = &mut moved {
                        moved.ends[place] = pick(moved.ends[place], *at);
                    }
                    moved
                };
                let above = with(|[low, high], at| [low.max(at), high]);
                let below = with(|[low, high], at| [low, high.min(at)]);
                Ok(vec![
                    (second, part.phases.clone(), above),
                    (first, part.phases, below),
                ])
            }
        }
    }

    fn ends_of(&self, place: usize) -> [f64; 2] {
        let element = self.cone.inputs[place];
        let Region { lower, upper } = self.context.region;
        [lower[element], upper[element]]
    }

    /// The largest value over each of at most [`LANES`] parts that is a leaf. Bounds of parts with a
    /// box of their own are tightened.
    fn values(&self, parts: &mut [Part<'_>], pull: &mut Pull) -> Result<Vec<Option<f64>>, String> {
        let mut ends: Vec<[Lanes; 2]> = (0..self.cone.inputs.len())
            .map(|place| self.ends_of(place).map(|end| [end; LANES]))
            .collect();
        let mut bounds: Vec<[Lanes; 2]> = self
            .bounds
            .iter()
            .map(|bounds| bounds.map(|bound| [bound; LANES]))
            .collect();
        let mut empty = [false; LANES];
        for (lane, part) in parts.iter().enumerate() {
            if let Some(moved) = &part.moved {
                empty[lane] = moved.ends.iter().any(|[low, high]| low > high);
                // Where no input is, whatever box stands in for it will do.
                if !empty[lane] {
                    scatter(lane, &moved.ends, &mut ends);
                    scatter(lane, &moved.bounds, &mut bounds);
                }
            }
            for &(unit, above) in &part.phases {
                let kink = self.kinks[unit].unwrap_or_default();
                let end = &mut bounds[unit][usize::from(!above)][lane];
                *end = if above { end.max(kink) } else { end.min(kink) };
            }
        }
        let mut unit_lines = self.lines.clone();
        if parts.iter().any(|part| part.moved.is_some()) {
            self.bound_again(&ends, &mut bounds, &mut unit_lines, pull);
            for (lane, part) in parts.iter_mut().enumerate() {
                if let Some(moved) = &mut part.moved {
                    for (mine, bounds) in moved.bounds.iter_mut().zip(&bounds) {
                        *mine = bounds.map(|end| end[lane]);
                    }
                }
            }
        }
        if parts.iter().all(|part| part.leaf().is_none()) {
            return Ok(vec![None; parts.len()]);
        }
        for (lane, part) in parts.iter().enumerate() {
            self.shape(lane, part, &mut bounds, &mut unit_lines, &mut empty)?;
        }
        let bound = self.pull(parts, &ends, &unit_lines, pull)?;
        let value = |(lane, part): (usize, &Part<'_>)| {
            let nothing = if empty[lane] {
                f64::NEG_INFINITY
            } else {
                -bound[lane]
            };
            part.leaf().map(|_| nothing)
        };
        Ok(parts.iter().enumerate().map(value).collect())
    }

    /// Bounds of all units over the boxes of the lanes, as [`Context`] has them over the region.
    fn bound_again(
        &self,
        ends: &[[Lanes; 2]],
        bounds: &mut [[Lanes; 2]],
        unit_lines: &mut [UnitLines],
        pull: &mut Pull,
    ) {
        let mut intervals = vec![[[0.0; LANES]; 2]; self.cone.variables];
        intervals[..ends.len()].copy_from_slice(ends);
        for (index, step) in self.cone.steps.iter().enumerate() {
            match step {
                Step::Sums(sums) => {
                    for k in 0..sums.len() {
                        let ends = self.reach.intervals(sums, k, |v| intervals[v]);
                        intervals[sums.first + k] = ends;
                    }
                }
                Step::Curves(curves) => {
                    for k in 0..curves.inputs.len() {
                        let (unit, input) = (curves.first_unit + k, curves.inputs[k] as usize);
                        meet(&mut bounds[unit], &intervals[input]);
                        let flat = flat_lanes(curves, &bounds[unit]);
                        if curves.first_unit > 0 && flat != [true; LANES] {
                            let mut pulled = self.unit_ends(input, index, unit_lines, ends, pull);
                            // No lane's bounds may depend on which others it is worked on with.
                            for lane in (0..LANES).filter(|&lane| flat[lane]) {
                                pulled[0][lane] = f64::NEG_INFINITY;
                                pulled[1][lane] = f64::INFINITY;
                            }
                            meet(&mut bounds[unit], &pulled);
                        }
                        for lane in 0..LANES {
                            let [l, u] = bounds[unit].map(|end| end[lane]);
                            let (l, u) = (l.min(u), u);
                            unit_lines[unit].set(lane, lines(&curves.parts, l, u, None));
                            let [low, high] = range(&curves.parts, l, u);
                            intervals[curves.first + k][0][lane] = low;
                            intervals[curves.first + k][1][lane] = high;
                        }
                    }
                }
            }
        }
    }

    fn unit_ends(
        &self,
        variable: usize,
        step: usize,
        unit_lines: &[UnitLines],
        ends: &[[Lanes; 2]],
        pull: &mut Pull,
    ) -> [Lanes; 2] {
        let mut bound = |weight: f64| {
            pull.clear();
            for lane in 0..LANES {
                pull.seed(variable, lane, weight, &self.reach);
            }
            let ends = |input: usize| ends[input];
            pull.run(self.cone, step, unit_lines, &self.reach, &|_| None, ends)
        };
        let low = bound(1.0);
        [low, bound(-1.0).map(|b| -b)]
    }

    /// Puts the slopes and phases of a leaf into its lane.
    fn shape(
        &self,
        lane: usize,
        part: &Part<'_>,
        bounds: &mut [[Lanes; 2]],
        unit_lines: &mut [UnitLines],
        empty: &mut [bool; LANES],
    ) -> Result<(), String> {
        let Some(leaf) = part.leaf() else {
            return Ok(());
        };
        let mut shares: HashMap<usize, f64> = HashMap::new();
        for (unit, share) in &leaf.slopes {
            let unit = self.numbers.get(unit);
            let unit = unit.ok_or("a slope names a unit that does not matter here")?;
            shares.insert(*unit, f64::from(*share) / 255.0);
        }
        let split = part.phases.iter().map(|&(unit, _)| unit);
        let mut touched: Vec<usize> = shares.keys().copied().chain(split).collect();
        touched.sort_unstable();
        touched.dedup();
        for unit in touched {
            let [l, u] = bounds[unit].map(|end| end[lane]);
            // The bounds contradict the phases above: no input is there.
            empty[lane] |= l > u;
            let parts = self.parts_of(unit);
            let share = shares.get(&unit).copied();
            unit_lines[unit].set(lane, lines(parts, l.min(u), u, share));
        }
        Ok(())
    }

    fn parts_of(&self, unit: usize) -> &[deepconcolic_network::StraightPart] {
        let mut all = curves(self.cone);
        let mine = all.find(|c| (c.first_unit..c.first_unit + c.inputs.len()).contains(&unit));
        mine.map_or(&[], |curves| &curves.parts)
    }

    fn pull(
        &self,
        parts: &[Part<'_>],
        ends: &[[Lanes; 2]],
        unit_lines: &[UnitLines],
        pull: &mut Pull,
    ) -> Result<Lanes, String> {
        pull.clear();
        let mut conditions: HashMap<usize, [Lanes; 2]> = HashMap::new();
        for (lane, part) in parts.iter().enumerate() {
            let Some(leaf) = part.leaf() else {
                continue;
            };
            self.seed(lane, leaf, pull)?;
            if leaf.multipliers.len() > part.phases.len() {
                return Err("a leaf has more multipliers than splits".into());
            }
            for (&(unit, above), &multiplier) in part.phases.iter().zip(&leaf.multipliers) {
                if !(multiplier >= 0.0 && multiplier.is_finite()) {
                    return Err("a multiplier is negative or no number".into());
                }
                let kink = self.kinks[unit].unwrap_or_default();
                let signed = f64::from(multiplier) * if above { 1.0 } else { -1.0 };
                let condition = conditions.entry(unit).or_default();
                condition[0][lane] += signed;
                condition[1][lane] += signed * kink;
            }
        }
        let condition = |unit: usize| conditions.get(&unit).copied();
        let ends = |input: usize| ends[input];
        let steps = self.cone.steps.len();
        Ok(pull.run(self.cone, steps, unit_lines, &self.reach, &condition, ends))
    }

    /// Minus the weighted sum of the conditions: what must stay above 0.
    fn seed(&self, lane: usize, leaf: &Leaf, pull: &mut Pull) -> Result<(), String> {
        for &(atom, factor) in &leaf.factors {
            let at = atom as usize;
            let first: usize = self.atoms.iter().take(at).map(|a| a.terms.len()).sum();
            let atom = self.atoms.get(at).ok_or("a leaf names no condition")?;
            if !(factor > 0.0 && factor.is_finite()) {
                return Err("a factor is not positive".into());
            }
            let factor = -f64::from(factor);
            for (term, &variable) in atom.terms.iter().zip(&self.cone.targets[first..]) {
                pull.seed(variable, lane, factor * term.weight, &self.reach);
            }
            pull.constant(lane, factor * atom.constant);
        }
        Ok(())
    }
}

impl<'a> Part<'a> {
    fn leaf(&self) -> Option<&'a Leaf> {
        match self.node {
            Tree::Leaf(leaf) => Some(leaf),
            Tree::Split(_) => None,
        }
    }
}

/// For each split of a tree in depth-first order, where its second half begins.
fn second_halves(proof: &Proof) -> Result<Vec<usize>, String> {
    let mut seconds = vec![0; proof.len()];
    // Splits whose second half is still to come, innermost last.
    let mut open: Vec<usize> = Vec::new();
    let mut finished = false;
    for (at, node) in proof.iter().enumerate() {
        if finished {
            return Err("something follows the last leaf".into());
        }
        match node {
            Tree::Split(_) => open.push(at),
            Tree::Leaf(_) => match open.pop() {
                Some(split) => seconds[split] = at + 1,
                None => finished = true,
            },
        }
        if open.len() > DEEPEST {
            return Err(format!("the tree is deeper than {DEEPEST}"));
        }
    }
    if finished {
        Ok(seconds)
    } else {
        Err("a part of the region has no leaf".into())
    }
}

fn scatter(lane: usize, from: &[[f64; 2]], into: &mut [[Lanes; 2]]) {
    for (into, from) in into.iter_mut().zip(from) {
        (into[0][lane], into[1][lane]) = (from[0], from[1]);
    }
}

fn curves(cone: &Cone) -> impl Iterator<Item = &Curves> {
    cone.steps.iter().filter_map(|step| match step {
        Step::Curves(curves) => Some(curves),
        Step::Sums(_) => None,
    })
}

/// In which lanes a unit's curve is constant.
fn flat_lanes(curves: &Curves, [low, high]: &[Lanes; 2]) -> [bool; LANES] {
    std::array::from_fn(|lane| is_flat(&curves.parts, low[lane], high[lane]))
}

/// The tighter of two bounds, lane by lane.
fn meet(bounds: &mut [Lanes; 2], other: &[Lanes; 2]) {
    for lane in 0..LANES {
        bounds[0][lane] = bounds[0][lane].max(other[0][lane]);
        bounds[1][lane] = bounds[1][lane].min(other[1][lane]);
    }
}
