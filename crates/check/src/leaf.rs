//! Leaves of a split tree: each must follow from one pull back, eight at a time.

use std::collections::HashMap;

use crate::backward::{LANES, Lanes, Pull, Reach, UnitLines};
use crate::certificate::{Leaf, Proof, Region, Split, Tree, Unit};
use crate::cone::{Cone, Curves, Step};
use crate::context::Context;
use crate::lines::{kink, lines, range};
use crate::question::Atom;

/// A leaf with the part of the region it stands for.
struct Part<'a> {
    leaf: &'a Leaf,
    /// Units and whether each lies at or above its kink, from the root down.
    phases: Vec<(usize, bool)>,
    /// Input variables of the cone and their ends, where a split moved them.
    ends: Vec<(usize, [f64; 2])>,
}

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

    /// The largest value that the weighted conditions can have over all leaves, or what is wrong.
    pub fn judge(&self, proof: &Proof) -> Result<f64, String> {
        let parts = self.parts(proof)?;
        let mut worst = f64::NEG_INFINITY;
        let mut pull = Pull::new(self.cone);
        for chunk in parts.chunks(LANES) {
            for value in self.values(chunk, &mut pull)? {
                worst = worst.max(value);
            }
        }
        Ok(worst)
    }

    /// The leaves, each with the splits above it.
    fn parts<'p>(&self, proof: &'p Proof) -> Result<Vec<Part<'p>>, String> {
        let mut parts = Vec::new();
        // Parts of the region still to come, next one last.
        let mut pending = vec![(Vec::new(), Vec::new())];
        for node in proof {
            let Some((phases, ends)) = pending.pop() else {
                return Err("something follows the last leaf".into());
            };
            match node {
                Tree::Leaf(leaf) => parts.push(Part { leaf, phases, ends }),
                Tree::Split(Split::Phase(unit)) => {
                    let known = self.numbers.get(unit).copied();
                    let unit = known.ok_or("a split names a unit that does not matter here")?;
                    if self.kinks[unit].is_none() {
                        return Err("a split names a unit with several kinks".into());
                    }
                    let with = |above: bool| {
                        let mut phases: Vec<(usize, bool)> = phases.clone();
                        phases.push((unit, above));
                        phases
                    };
                    pending.push((with(true), ends.clone()));
                    pending.push((with(false), ends));
                }
                Tree::Split(Split::Input { element, at }) => {
                    let mut places = self.cone.inputs.iter();
                    let place = places.position(|&e| e == *element as usize);
                    let place = place.ok_or("a split names an input that does not matter here")?;
                    if !at.is_finite() {
                        return Err("a split is at no number".into());
                    }
                    let [low, high] = self.ends_of(place, &ends);
                    let with = |new: [f64; 2]| {
                        let mut ends: Vec<(usize, [f64; 2])> = ends.clone();
                        ends.push((place, new));
                        ends
                    };
                    pending.push((phases.clone(), with([at.max(low), high])));
                    pending.push((phases, with([low, at.min(high)])));
                }
            }
        }
        if pending.is_empty() {
            Ok(parts)
        } else {
            Err("a part of the region has no leaf".into())
        }
    }

    fn ends_of(&self, place: usize, moved: &[(usize, [f64; 2])]) -> [f64; 2] {
        let last = moved.iter().rfind(|(input, _)| *input == place);
        last.map_or_else(
            || {
                let element = self.cone.inputs[place];
                let Region { lower, upper } = self.context.region;
                [lower[element], upper[element]]
            },
            |(_, ends)| *ends,
        )
    }

    /// The largest value over each of at most [`LANES`] leaves.
    fn values(&self, parts: &[Part<'_>], pull: &mut Pull) -> Result<Vec<f64>, String> {
        let mut ends: Vec<[Lanes; 2]> = (0..self.cone.inputs.len())
            .map(|place| self.ends_of(place, &[]).map(|end| [end; LANES]))
            .collect();
        let mut empty = [false; LANES];
        for (lane, part) in parts.iter().enumerate() {
            for &(place, [low, high]) in &part.ends {
                ends[place][0][lane] = low;
                ends[place][1][lane] = high;
                empty[lane] |= low > high;
            }
        }
        for (lane, empty) in empty.iter().enumerate() {
            if *empty {
                // No input is there; whatever box stands in for it will do.
                for (place, ends) in ends.iter_mut().enumerate() {
                    let [low, high] = self.ends_of(place, &[]);
                    (ends[0][lane], ends[1][lane]) = (low, high);
                }
            }
        }
        let mut bounds: Vec<[Lanes; 2]> = self
            .bounds
            .iter()
            .map(|bounds| bounds.map(|bound| [bound; LANES]))
            .collect();
        for (lane, part) in parts.iter().enumerate() {
            for &(unit, above) in &part.phases {
                let kink = self.kinks[unit].unwrap_or_default();
                let end = &mut bounds[unit][usize::from(!above)][lane];
                *end = if above { end.max(kink) } else { end.min(kink) };
            }
        }
        let moved = parts.iter().any(|part| !part.ends.is_empty());
        let mut unit_lines = self.lines.clone();
        if moved {
            self.bound_again(&ends, &mut bounds, &mut unit_lines, pull);
        }
        for (lane, part) in parts.iter().enumerate() {
            self.shape(lane, part, &mut bounds, &mut unit_lines, &mut empty)?;
        }
        let bound = self.pull(parts, &ends, &unit_lines, pull)?;
        Ok((0..parts.len())
            .map(|lane| {
                if empty[lane] {
                    f64::NEG_INFINITY
                } else {
                    -bound[lane]
                }
            })
            .collect())
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
                        if curves.first_unit > 0 && self.unsettled(unit, &bounds[unit]) {
                            let pulled = self.unit_ends(input, index, unit_lines, ends, pull);
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

    fn unsettled(&self, unit: usize, [low, high]: &[Lanes; 2]) -> bool {
        self.kinks[unit].is_none_or(|kink| {
            let mut lanes = low.iter().zip(high);
            lanes.any(|(&l, &u)| l < kink && kink < u)
        })
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
        let mut shares: HashMap<usize, f64> = HashMap::new();
        for (unit, share) in &part.leaf.slopes {
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
            self.seed(lane, part.leaf, pull)?;
            if part.leaf.multipliers.len() > part.phases.len() {
                return Err("a leaf has more multipliers than splits".into());
            }
            for (&(unit, above), &multiplier) in part.phases.iter().zip(&part.leaf.multipliers) {
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

fn curves(cone: &Cone) -> impl Iterator<Item = &Curves> {
    cone.steps.iter().filter_map(|step| match step {
        Step::Curves(curves) => Some(curves),
        Step::Sums(_) => None,
    })
}

/// The tighter of two bounds, lane by lane.
fn meet(bounds: &mut [Lanes; 2], other: &[Lanes; 2]) {
    for lane in 0..LANES {
        bounds[0][lane] = bounds[0][lane].max(other[0][lane]);
        bounds[1][lane] = bounds[1][lane].min(other[1][lane]);
    }
}
