//! Leaves of a split tree: each must follow from one pull back, sixteen at a time.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use crate::accepted::Bound;
use crate::bounds::backward::{LANES, Lanes, Magnitudes, Pull, UnitLines};
use crate::bounds::box_bounds::{BoxBounds, Layouts};
use crate::bounds::change_bounds::{AtCentre, ChangeBounds};
use crate::bounds::changes::{Choice, Limits};
use crate::bounds::cone::{Cone, Curves, Step};
use crate::bounds::context::{Context, choice};
use crate::bounds::float::{self, up};
use crate::bounds::lines::{kink, lines};
use crate::certificate::{Changes, Leaf, Proof, Region, Split, Tree, Unit};
use crate::question::Atom;

/// A part of the region: a node of the tree with what the splits above it say.
struct Part<'a> {
    /// The node, by number and itself.
    at: usize,
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
    bounds: Arc<[[f64; 2]]>,
    room: Room,
}

/// How inputs move in a box.
#[derive(Clone)]
enum Room {
    /// Each for itself.
    Box,
    /// Few positions at a time.
    Few(Limits),
    /// Splits contradict each other: no input is there.
    Nothing,
}

/// A term of a sum that is pulled back.
enum Seed {
    Variable(usize, f64),
    Constant(f64),
}

/// A part still to come: its node, phases and box.
type Pending = (usize, Vec<(usize, bool)>, Option<Moved>);

/// Deeper trees than any search grows are refused: each level takes memory.
const DEEPEST: usize = 1 << 12;

/// Parts taken up at once, shared out to threads by the sixteen.
const TAKEN: usize = 8 * LANES;

/// Judges the proofs of one alternative.
pub(crate) struct Judge<'a> {
    context: &'a Context<'a>,
    cone: &'a Cone,
    atoms: &'a [Atom],
    /// Number of each unit of the cone.
    numbers: HashMap<Unit, usize>,
    bounds: Vec<[f64; 2]>,
    kinks: Vec<Option<f64>>,
    /// The variables of each unit: what its curve is of, and the curve.
    variables: Vec<(usize, usize)>,
    lines: Vec<UnitLines>,
    reach: Magnitudes,
    /// For each condition, how far executions can be from real values; without limit if conditions confine
    /// units, since nothing is then said of inputs that break one by rounding.
    margins: Vec<f64>,
    /// How inputs move over the whole region, if few may.
    choice: Option<Arc<Choice>>,
    /// Most proofs split no input and need none.
    layouts: OnceLock<Layouts>,
    at_centre: OnceLock<AtCentre>,
}

impl<'a> Judge<'a> {
    /// Of conditions that hold together. `cone` has their terms as targets, in order.
    pub fn new(context: &'a Context<'a>, cone: &'a Cone, atoms: &'a [Atom]) -> Self {
        let mut bounds = known(context, cone);
        let reach = reach(context, cone, &bounds);
        let margins = if confine(cone, atoms, &mut bounds) {
            vec![f64::INFINITY; atoms.len()]
        } else {
            float::margins(cone, &reach, atoms)
        };
        Self::with(context, cone, atoms, (bounds, reach, margins))
    }

    /// Of conditions of several alternatives, which say nothing of each other, on values of which none depends on
    /// another.
    pub fn of_one_place(context: &'a Context<'a>, cone: &'a Cone, atoms: &'a [Atom]) -> Self {
        let bounds = known(context, cone);
        let reach = reach(context, cone, &bounds);
        let margins = float::margins(cone, &reach, atoms);
        Self::with(context, cone, atoms, (bounds, reach, margins))
    }

    fn with(
        context: &'a Context<'a>,
        cone: &'a Cone,
        atoms: &'a [Atom],
        (bounds, reach, margins): (Vec<[f64; 2]>, Magnitudes, Vec<f64>),
    ) -> Self {
        let (mut base, mut kinks, mut variables) = (Vec::new(), Vec::new(), Vec::new());
        for curves in curves(cone) {
            for (k, &input) in curves.inputs.iter().enumerate() {
                let [l, u] = bounds[curves.first_unit + k];
                variables.push((input as usize, curves.first + k));
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
            variables,
            lines: base,
            reach,
            margins,
            choice: choice(cone, context.region),
            layouts: OnceLock::new(),
            at_centre: OnceLock::new(),
        }
    }

    /// How far the weighted conditions of a leaf, read off an execution in single precision, can be from
    /// the real values judged here.
    fn margin(&self, leaf: &Leaf) -> f64 {
        let weighted = leaf.factors.iter().map(|&(atom, factor)| {
            let margin = self.margins.get(atom as usize).copied();
            f64::from(factor) * margin.unwrap_or(f64::INFINITY)
        });
        // A factor may be so small that its product is lost.
        up(weighted.sum::<f64>() + f64::MIN_POSITIVE)
    }

    /// The largest value that the weighted conditions can have over all leaves, and the largest margin of
    /// executions; or what is wrong.
    pub fn judge(&self, proof: &Proof) -> Result<Bound, String> {
        let seconds = second_halves(proof)?;
        if proof.iter().any(|node| matches!(node, Tree::Forward(_))) {
            return Err("a tree has leaves of two kinds".into());
        }
        let splits_inputs = proof.iter().any(|node| {
            matches!(
                node,
                Tree::Split(Split::Input { .. } | Split::Changes { .. })
            )
        });
        let changes = self.context.region.changes.as_ref();
        let moved = splits_inputs.then(|| Moved {
            room: changes.map_or(Room::Box, |changes| Room::Few(Limits::of(changes))),
            ends: (0..self.cone.inputs.len())
                .map(|i| self.ends_of(i))
                .collect(),
            bounds: self.bounds.clone().into(),
        });
        let mut worst = f64::NEG_INFINITY;
        // Next one last.
        let mut pending: Vec<Pending> = vec![(0, Vec::new(), moved)];
        while !pending.is_empty() {
            self.context.until.go_on().map_err(|e| e.to_string())?;
            let mut parts = Vec::with_capacity(TAKEN);
            while parts.len() < TAKEN
                && let Some((at, phases, moved)) = pending.pop()
            {
                let mut part = Part {
                    at,
                    node: &proof[at],
                    second: seconds[at],
                    phases,
                    moved,
                };
                // A phase split alone moves no bounds but its own, and where few positions change only
                // leaves are bounded: nothing to compute.
                match part.node {
                    Tree::Split(_) if part.moved.is_none() || changes.is_some() => {
                        pending.extend(self.halves(&mut part)?);
                    }
                    _ => parts.push(part),
                }
            }
            let found: Vec<f64> = parts
                .par_chunks_mut(LANES)
                .map(|parts| {
                    self.context.until.go_on().map_err(|e| e.to_string())?;
                    self.largest(parts)
                })
                .collect::<Result<_, String>>()?;
            worst = found.into_iter().fold(worst, f64::max);
            for part in parts.iter_mut().rev() {
                pending.extend(self.halves(part)?);
            }
        }
        let leaves = proof.iter().filter_map(Tree::leaf);
        let margin = leaves.map(|leaf| self.margin(leaf)).fold(0.0, f64::max);
        Ok(Bound {
            value: worst,
            margin,
        })
    }

    /// For each of some leaves that are a proof of their own: the largest value that its weighted conditions can have,
    /// and the margin of executions. None of those that something may be wrong with.
    pub fn judge_each(&self, leaves: &[Tree]) -> Vec<Option<Bound>> {
        let found: Vec<Vec<Option<Bound>>> = leaves
            .par_chunks(LANES)
            .map(|leaves| {
                self.values_of(leaves)
                    .unwrap_or_else(|_| vec![None; leaves.len()])
            })
            .collect();
        found.concat()
    }

    /// The same of at most [`LANES`] leaves, unless something is wrong with one.
    fn values_of(&self, leaves: &[Tree]) -> Result<Vec<Option<Bound>>, String> {
        self.context.until.go_on().map_err(|e| e.to_string())?;
        let whole = |node| Part {
            at: 0,
            node,
            second: 0,
            phases: Vec::new(),
            moved: None,
        };
        let mut parts: Vec<Part<'_>> = leaves.iter().map(whole).collect();
        let values = self.values(&mut parts)?;
        let bound = |(part, value): (&Part<'_>, f64)| {
            let margin = self.margin(part.leaf()?);
            Some(Bound { value, margin })
        };
        Ok(parts.iter().zip(values).map(bound).collect())
    }

    /// The two halves of a split part, the second first; none of a leaf.
    fn halves(&self, part: &mut Part<'_>) -> Result<Vec<Pending>, String> {
        let (first, second) = (part.at + 1, part.second);
        match part.node {
            Tree::Leaf(_) | Tree::Forward(_) | Tree::Corner => Ok(Vec::new()),
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
                let phases = std::mem::take(&mut part.phases);
                Ok(vec![
                    (second, phases.clone(), above),
                    (first, phases, below),
                ])
            }
            Tree::Split(Split::Changes { positions, most }) => {
                let rooms = match part.moved.as_ref().map(|moved| &moved.room) {
                    Some(Room::Few(limits)) => {
                        let (few, many) = limits.split(positions, *most)?;
                        [Room::Few(few), many.map_or(Room::Nothing, Room::Few)]
                    }
                    Some(Room::Nothing) => [Room::Nothing, Room::Nothing],
                    Some(Room::Box) | None => {
                        return Err("a split counts changes where any number is allowed".into());
                    }
                };
                let phases = std::mem::take(&mut part.phases);
                let with = |room| part.moved.clone().map(|moved| Moved { room, ..moved });
                let [few, many] = rooms.map(with);
                Ok(vec![(second, phases.clone(), many), (first, phases, few)])
            }
        }
    }

    fn ends_of(&self, place: usize) -> [f64; 2] {
        let element = self.cone.inputs[place];
        let Region { lower, upper, .. } = self.context.region;
        [lower[element], upper[element]]
    }

    /// The largest value over those of at most [`LANES`] parts that are leaves. Bounds of parts with a
    /// box of their own are tightened.
    fn largest(&self, parts: &mut [Part<'_>]) -> Result<f64, String> {
        if let Some(changes) = &self.context.region.changes
            && parts.iter().any(|part| part.moved.is_some())
        {
            return self.largest_of_changes(changes, parts);
        }
        let values = self.values(parts)?.into_iter();
        Ok(values.fold(f64::NEG_INFINITY, f64::max))
    }

    /// For each of at most [`LANES`] parts the largest value over it; nothing of what is no leaf, or where no input is.
    fn values(&self, parts: &mut [Part<'_>]) -> Result<Vec<f64>, String> {
        let mut inhabited = [true; LANES];
        if parts.iter().any(|part| part.moved.is_some()) {
            let layouts = self.layouts.get_or_init(|| Layouts::of(self.cone));
            let mut narrow = BoxBounds::new(self.cone, layouts, &self.reach);
            for (inhabited, part) in inhabited.iter_mut().zip(&mut *parts) {
                *inhabited = self.settle(part, &mut narrow);
            }
        }
        if parts.iter().all(|part| part.leaf().is_none()) {
            return Ok(vec![f64::NEG_INFINITY; parts.len()]);
        }
        let mut ends: Vec<[Lanes; 2]> = (0..self.cone.inputs.len())
            .map(|place| self.ends_of(place).map(|end| [end; LANES]))
            .collect();
        let mut unit_lines = self.lines.clone();
        for (lane, part) in parts.iter().enumerate() {
            inhabited[lane] &= self.shape(lane, part, &mut unit_lines)?;
            if let Some(moved) = &part.moved {
                scatter(lane, &moved.ends, &mut ends);
            }
        }
        let bound = self.pull(parts, &ends, &unit_lines)?;
        let value = |(lane, part): (usize, &Part<'_>)| {
            if inhabited[lane] && part.leaf().is_some() {
                -bound[lane]
            } else {
                f64::NEG_INFINITY
            }
        };
        Ok(parts.iter().enumerate().map(value).collect())
    }

    /// As [`Judge::largest`], of parts in which few positions change: one after the other, each with what its
    /// positions reach.
    fn largest_of_changes(&self, changes: &Changes, parts: &mut [Part<'_>]) -> Result<f64, String> {
        let at_centre = self.at_centre.get_or_init(|| {
            let inputs = self.cone.inputs.iter();
            let centre: Vec<f64> = inputs.map(|&e| changes.centre[e]).collect();
            AtCentre::of(self.cone, &centre, &self.reach)
        });
        let mut narrow = ChangeBounds::new(self.cone, at_centre, &self.reach);
        let mut largest = f64::NEG_INFINITY;
        for part in parts {
            let Some(choice) = self.settle_changes(changes, part, &mut narrow) else {
                continue;
            };
            if let Some(leaf) = part.leaf() {
                let bound = self.pull_changes(part, leaf, &choice, &mut narrow)?;
                largest = largest.max(-bound);
            }
        }
        Ok(largest)
    }

    /// Bounds of all units over a part in which few positions change, and how they do. None if no input is
    /// there.
    fn settle_changes(
        &self,
        changes: &Changes,
        part: &mut Part<'_>,
        narrow: &mut ChangeBounds<'_>,
    ) -> Option<Choice> {
        let moved = part.moved.as_mut()?;
        let Room::Few(limits) = &moved.room else {
            return None;
        };
        let choice = Choice::of(changes, limits, &self.cone.inputs, &moved.ends)?;
        let mut bounds = self.bounds.clone();
        for &(unit, above) in &part.phases {
            bounds[unit] = self.halved(bounds[unit], unit, above);
        }
        let inhabited = narrow.settle(&choice, &mut bounds);
        moved.bounds = bounds.into();
        inhabited.then_some(choice)
    }

    /// The least value of minus the weighted conditions of a leaf over a part that was just settled.
    fn pull_changes(
        &self,
        part: &Part<'_>,
        leaf: &Leaf,
        choice: &Choice,
        narrow: &mut ChangeBounds<'_>,
    ) -> Result<f64, String> {
        let known = part.moved.as_ref().map_or(&self.bounds[..], |m| &m.bounds);
        for (unit, share) in &leaf.slopes {
            let unit = self.numbers.get(unit).copied();
            let unit = unit.ok_or("a slope names a unit that does not matter here")?;
            let ([l, u], share) = (known[unit], f64::from(*share) / 255.0);
            let variable = self.variables[unit].1;
            narrow.set_lines(variable, lines(self.parts_of(unit), l, u, Some(share)));
        }
        narrow.begin();
        self.seed(leaf, &mut |term| match term {
            Seed::Variable(variable, weight) => narrow.seed(variable, 0, weight),
            Seed::Constant(number) => narrow.constant(0, number),
        })?;
        for (unit, [pull, push]) in self.multiples(part, leaf)? {
            narrow.seed(self.variables[unit].0, 0, -pull);
            narrow.constant(0, push);
        }
        Ok(narrow.lower(1, choice)[0])
    }

    /// Bounds of all units over a part with a box of its own, starting from those of the part it was
    /// cut from. False if no input is there.
    fn settle(&self, part: &mut Part<'_>, narrow: &mut BoxBounds<'_>) -> bool {
        let Some(moved) = &mut part.moved else {
            return true;
        };
        if moved.ends.iter().any(|[low, high]| low > high) {
            return false;
        }
        let mut bounds = moved.bounds.to_vec();
        for &(unit, above) in &part.phases {
            bounds[unit] = self.halved(bounds[unit], unit, above);
        }
        let inhabited = narrow.settle(&moved.ends, &mut bounds);
        moved.bounds = bounds.into();
        inhabited
    }

    /// Bounds of a unit on one side of its kink.
    fn halved(&self, [l, u]: [f64; 2], unit: usize, above: bool) -> [f64; 2] {
        let kink = self.kinks[unit].unwrap_or_default();
        if above {
            [l.max(kink), u]
        } else {
            [l, u.min(kink)]
        }
    }

    /// Puts the lines of a leaf into its lane, with its slopes and phases. False if those contradict
    /// the bounds, so that no input is there.
    fn shape(
        &self,
        lane: usize,
        part: &Part<'_>,
        unit_lines: &mut [UnitLines],
    ) -> Result<bool, String> {
        let Some(leaf) = part.leaf() else {
            return Ok(true);
        };
        let known = part.moved.as_ref().map_or(&self.bounds[..], |m| &m.bounds);
        if part.moved.is_some() {
            for curves in curves(self.cone) {
                for unit in curves.first_unit..curves.first_unit + curves.inputs.len() {
                    let [l, u] = known[unit];
                    unit_lines[unit].set(lane, lines(&curves.parts, l.min(u), u, None));
                }
            }
        }
        // Units with a slope or phase of their own: share, bounds.
        let mut touched: BTreeMap<usize, (Option<f64>, [f64; 2])> = BTreeMap::new();
        for (unit, share) in &leaf.slopes {
            let unit = self.numbers.get(unit).copied();
            let unit = unit.ok_or("a slope names a unit that does not matter here")?;
            touched.insert(unit, (Some(f64::from(*share) / 255.0), known[unit]));
        }
        for &(unit, above) in &part.phases {
            let (_, bounds) = touched.entry(unit).or_insert((None, known[unit]));
            *bounds = self.halved(*bounds, unit, above);
        }
        for (&unit, &(share, [l, u])) in &touched {
            unit_lines[unit].set(lane, lines(self.parts_of(unit), l.min(u), u, share));
        }
        Ok(touched.values().all(|(_, [l, u])| l <= u))
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
    ) -> Result<Lanes, String> {
        let mut pull = Pull::new(self.cone, self.choice.clone());
        let mut conditions: HashMap<usize, [Lanes; 2]> = HashMap::new();
        for (lane, part) in parts.iter().enumerate() {
            let Some(leaf) = part.leaf() else {
                continue;
            };
            self.seed(leaf, &mut |term| match term {
                Seed::Variable(variable, weight) => {
                    pull.seed(variable, lane, weight, &self.reach);
                }
                Seed::Constant(number) => pull.constant(lane, number),
            })?;
            for (unit, multiples) in self.multiples(part, leaf)? {
                let condition = conditions.entry(unit).or_default();
                for (into, multiple) in condition.iter_mut().zip(multiples) {
                    into[lane] += multiple;
                }
            }
        }
        let condition = |unit: usize| conditions.get(&unit).copied();
        let ends = |input: usize| ends[input];
        let steps = self.cone.steps.len();
        Ok(pull.run(self.cone, steps, unit_lines, &self.reach, &condition, ends))
    }

    /// For splits of units above a leaf: the multiple of the unit's input that is taken off its sum, and the
    /// number that is added for it.
    fn multiples(&self, part: &Part<'_>, leaf: &Leaf) -> Result<Vec<(usize, [f64; 2])>, String> {
        if leaf.multipliers.len() > part.phases.len() {
            return Err("a leaf has more multipliers than splits".into());
        }
        let each = part.phases.iter().zip(&leaf.multipliers);
        let each = each.map(|(&(unit, above), &multiplier)| {
            if !(multiplier >= 0.0 && multiplier.is_finite()) {
                return Err("a multiplier is negative or no number".into());
            }
            let kink = self.kinks[unit].unwrap_or_default();
            let signed = f64::from(multiplier) * if above { 1.0 } else { -1.0 };
            Ok((unit, [signed, signed * kink]))
        });
        each.collect()
    }

    /// The terms of minus the weighted sum of a leaf's conditions, which must stay above 0.
    fn seed(&self, leaf: &Leaf, add: &mut dyn FnMut(Seed)) -> Result<(), String> {
        for &(atom, factor) in &leaf.factors {
            let at = atom as usize;
            let first: usize = self.atoms.iter().take(at).map(|a| a.terms.len()).sum();
            let atom = self.atoms.get(at).ok_or("a leaf names no condition")?;
            if !(factor > 0.0 && factor.is_finite()) {
                return Err("a factor is not positive".into());
            }
            let factor = -f64::from(factor);
            for (term, &variable) in atom.terms.iter().zip(&self.cone.targets[first..]) {
                add(Seed::Variable(variable, factor * term.weight));
            }
            add(Seed::Constant(factor * atom.constant));
        }
        Ok(())
    }
}

impl<'a> Part<'a> {
    fn leaf(&self) -> Option<&'a Leaf> {
        self.node.leaf()
    }
}

/// What is known of the units of a cone.
fn known(context: &Context<'_>, cone: &Cone) -> Vec<[f64; 2]> {
    let unbounded = [f64::NEG_INFINITY, f64::INFINITY];
    let bounds = |unit| context.known.get(unit).copied().unwrap_or(unbounded);
    cone.units.iter().map(bounds).collect()
}

/// How large the variables of a cone can get.
fn reach(context: &Context<'_>, cone: &Cone, bounds: &[[f64; 2]]) -> Magnitudes {
    let mut reach = Magnitudes::of(cone, context.region);
    reach.advance(cone, cone.steps.len(), |unit| bounds[unit]);
    reach
}

/// Takes from the bounds of units what conditions on one unit each rule out: all that matters are inputs
/// that meet every condition. Whether any bound moved.
fn confine(cone: &Cone, atoms: &[Atom], bounds: &mut [[f64; 2]]) -> bool {
    let mut confined = false;
    let mut targets = cone.targets.iter();
    for atom in atoms {
        let mine: Vec<usize> = targets.by_ref().take(atom.terms.len()).copied().collect();
        let ([term], [variable]) = (&atom.terms[..], &mine[..]) else {
            continue;
        };
        // A multiple of nothing says nothing.
        if term.weight == 0.0 || term.weight.is_nan() {
            continue;
        }
        // A quotient is off by half a step at most; that of 0 is 0.
        let end = -atom.constant / term.weight;
        let [down, up] = match atom.constant {
            0.0 => [0.0; 2],
            _ => [end.next_down(), end.next_up()],
        };
        let (low, high) = if term.weight > 0.0 {
            (down, f64::INFINITY)
        } else {
            (f64::NEG_INFINITY, up)
        };
        for curves in curves(cone) {
            let same = curves.inputs.iter().enumerate();
            let same = same.filter(|(_, input)| **input as usize == *variable);
            for (k, _) in same {
                let [l, u] = &mut bounds[curves.first_unit + k];
                // Where nothing is left the condition itself is out of reach, and its factor shows that.
                if (low > *l || high < *u) && low.max(*l) <= high.min(*u) {
                    (*l, *u) = (low.max(*l), high.min(*u));
                    confined = true;
                }
            }
        }
    }
    confined
}

/// For each split of a tree in depth-first order, where its second half begins.
pub(super) fn second_halves(proof: &Proof) -> Result<Vec<usize>, String> {
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
            Tree::Corner => return Err("a corner is a proof of its own".into()),
            Tree::Leaf(_) | Tree::Forward(_) => match open.pop() {
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
