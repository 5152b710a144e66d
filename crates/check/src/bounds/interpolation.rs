//! Bounds over parts of the range of one input, all others standing at the centre of the changes: every variable is what it
//! is at both ends of the part, in between what a straight line between the two says, and off that by no more than two
//! numbers ([`crate::bounds::chord`]). At the ends that is an execution. In between the error grows with what bends there, each
//! bend in proportion to the width of the part: half the width leaves about a quarter of it.
//!
//! Several parts of one input are worked on at once, a lane each; no lane's numbers depend on the others. What an input does
//! not reach costs nothing: with `C` the value at the centre, a sum is `C(sum) + sum of w (v - C(v))` over what moves.
//!
//! Rounding. Values at the ends follow from executions of the network with inputs of the region, so that none exceeds
//! twice its size, `sum of |w| size + |constant|` for sums; a sum of n of them errs by less than 8 (n + 8) epsilon times
//! that, which is added to both errors, as is what is not known of values at the centre. Errors are sums of numbers that are not
//! negative and are rounded up in proportion.

#![expect(
    clippy::inline_always,
    reason = "loops over lanes, inlined into the function compiled for wide vectors"
)]

use crate::bounds::backward::lowered;
use crate::bounds::chord::Chord;
use crate::bounds::cone::{Cone, Curves, Extremes, Step, Sums};
use crate::bounds::lines::gap;
use crate::bounds::shared_columns::SharedColumns;
use crate::bounds::spelled::Spelled;
use crate::certificate::Region;

/// Parts worked on at once.
pub(crate) const PARTS: usize = 8;
/// A number for each of them.
type Lanes = [f64; PARTS];

/// How much more than the magnitudes of its terms the numbers behind a value at an end amount to.
const BEHIND: f64 = 8.0;
/// More than a sum of numbers that are not negative loses by rounding.
const INFLATION: f64 = 1.0 + 1e-9;

/// What all parts have in common.
#[derive(Debug)]
pub(crate) struct StandingStill {
    /// The middle of what every variable can be at the centre, and how far from it.
    values: Vec<f64>,
    errors: Vec<f64>,
    /// For sums: what rounding and values at the centre add to both errors where they move.
    slack: Vec<f64>,
    /// For each step of sums that is no part of a chain, its terms by variable.
    columns: Vec<SharedColumns>,
    /// For each step of curves, how far their parts are from meeting.
    gaps: Vec<f64>,
}

impl StandingStill {
    /// `at_centre` encloses every variable at the centre, which lies in the region.
    pub fn of(cone: &Cone, region: &Region, at_centre: &[[f64; 2]]) -> Self {
        let middle = |&[low, high]: &[f64; 2]| 0.5 * low + 0.5 * high;
        let values: Vec<f64> = at_centre.iter().map(middle).collect();
        let each = at_centre.iter().zip(&values);
        let error = |(&[low, high], &middle): (&[f64; 2], &f64)| {
            let error = (high - middle).max(middle - low);
            if error == 0.0 { 0.0 } else { error.next_up() }
        };
        let errors: Vec<f64> = each.map(error).collect();
        let mut still = Self {
            slack: slack(cone, region, &errors),
            values,
            errors,
            columns: Vec::new(),
            gaps: Vec::new(),
        };
        let mut chains = cone
            .extremes
            .iter()
            .flat_map(|e| e.steps.clone())
            .peekable();
        for (at, step) in cone.steps.iter().enumerate() {
            let in_chain = chains.next_if_eq(&at).is_some();
            let (columns, gap) = match step {
                Step::Sums(sums) if !in_chain => (SharedColumns::of(sums), 0.0),
                Step::Sums(_) => (SharedColumns::default(), 0.0),
                Step::Curves(curves) => (SharedColumns::default(), gap(&curves.parts)),
            };
            still.columns.push(columns);
            still.gaps.push(gap);
        }
        still
    }
}

/// For each sum, what rounding and values at the centre add to its errors.
fn slack(cone: &Cone, region: &Region, errors: &[f64]) -> Vec<f64> {
    let mut slack = vec![0.0; cone.variables];
    let mut size = vec![0.0; cone.variables];
    for (size, &element) in size.iter_mut().zip(&cone.inputs) {
        *size = region.lower[element].abs().max(region.upper[element].abs());
    }
    for step in &cone.steps {
        match step {
            Step::Sums(sums) => {
                for k in 0..sums.len() {
                    let (mut mass, mut unknown) = (sums.constants[k].abs(), 0.0);
                    for (variable, weight) in sums.terms(k) {
                        mass += weight.abs() * size[variable];
                        unknown += weight.abs() * errors[variable];
                    }
                    let sum = sums.first + k;
                    let terms = 8.0 + (sums.starts[k + 1] - sums.starts[k]) as f64;
                    size[sum] = mass * INFLATION;
                    slack[sum] = (unknown + errors[sum]) * INFLATION
                        - lowered(0.0, BEHIND * size[sum], terms);
                }
            }
            Step::Curves(curves) => {
                for (k, &input) in curves.inputs.iter().enumerate() {
                    let largest = |part: &deepconcolic_network::StraightPart| {
                        part.slope.abs() * size[input as usize] + part.intercept.abs()
                    };
                    let sizes = curves.parts.iter().map(largest);
                    size[curves.first + k] = sizes.fold(0.0, f64::max) * INFLATION;
                }
            }
        }
    }
    slack
}

/// A variable over all parts.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Spans {
    ends: [Lanes; 2],
    /// How far below and above the line between the ends.
    errors: [Lanes; 2],
}

const NOTHING: Spans = Spans {
    ends: [[0.0; PARTS]; 2],
    errors: [[0.0; PARTS]; 2],
};

impl Spans {
    fn chord(&self, lane: usize) -> Chord {
        Chord {
            ends: [self.ends[0][lane], self.ends[1][lane]],
            below: self.errors[0][lane],
            above: self.errors[1][lane],
        }
    }

    fn set(&mut self, lane: usize, chord: &Chord) {
        for end in 0..2 {
            self.ends[end][lane] = chord.ends[end];
        }
        self.errors[0][lane] = chord.below;
        self.errors[1][lane] = chord.above;
    }

    /// Adds so much of a variable that is this far from where it stands still.
    #[inline(always)]
    fn add(&mut self, weight: f64, away: &Self) {
        // Where a weight is negative, what is below counts above.
        let turned = usize::from(weight < 0.0);
        let size = weight.abs();
        for end in 0..2 {
            let (into, from) = (&mut self.ends[end], &away.ends[end]);
            for (into, from) in into.iter_mut().zip(from) {
                *into += weight * from;
            }
        }
        for side in 0..2 {
            let (into, from) = (&mut self.errors[side], &away.errors[side ^ turned]);
            for (into, from) in into.iter_mut().zip(from) {
                *into += size * from;
            }
        }
    }
}

/// A cone over several parts of the range of one input.
pub(crate) struct Interpolation<'a> {
    cone: &'a Cone,
    still: &'a StandingStill,
    /// What variables are that move in some lane; nothing of all others.
    spans: Vec<Spans>,
    /// The lanes in which a variable moves, a bit each.
    lanes: Vec<u8>,
    /// Variables that move, in order.
    moving: Vec<u32>,
}

impl<'a> Interpolation<'a> {
    pub fn new(cone: &'a Cone, still: &'a StandingStill) -> Self {
        Self {
            cone,
            still,
            spans: vec![NOTHING; cone.variables],
            lanes: vec![0; cone.variables],
            moving: Vec::new(),
        }
    }

    /// Moves to parts of the range of an input, at most [`PARTS`] of them.
    pub fn enter(&mut self, input: usize, parts: &[[f64; 2]]) {
        for &variable in &self.moving {
            self.spans[variable as usize] = NOTHING;
            self.lanes[variable as usize] = 0;
        }
        self.moving.clear();
        for (lane, &ends) in parts.iter().take(PARTS).enumerate() {
            let chord = Chord {
                ends,
                below: 0.0,
                above: 0.0,
            };
            self.spans[input].set(lane, &chord);
            self.lanes[input] |= 1 << lane;
        }
        self.moving.push(input as u32);
        let cone = self.cone;
        deepconcolic_network::vectorised(|| {
            let mut extremes = cone.extremes.iter().peekable();
            for (at, step) in cone.steps.iter().enumerate() {
                if let Some(next) = extremes.peek().filter(|e| e.steps.contains(&at)) {
                    if at + 1 == next.steps.end {
                        if let Step::Sums(sums) = step {
                            self.extremes(sums, next);
                        }
                        extremes.next();
                    }
                    continue;
                }
                match step {
                    Step::Sums(sums) => self.sums(at, sums),
                    Step::Curves(curves) => self.curves(at, curves),
                }
            }
        });
    }

    #[inline(always)]
    fn sums(&mut self, at: usize, sums: &Sums) {
        let columns = &self.still.columns[at];
        let (before, spans) = self.spans.split_at_mut(sums.first);
        let (lanes_before, lanes) = self.lanes.split_at_mut(sums.first);
        for &variable in &self.moving {
            let variable = variable as usize;
            let mut away = before[variable];
            let mine = lanes_before[variable];
            for end in &mut away.ends {
                for (lane, value) in end.iter_mut().enumerate() {
                    // Nothing in lanes in which the variable stands still.
                    let moves = f64::from(mine >> lane & 1);
                    *value -= moves * self.still.values[variable];
                }
            }
            for (first, weights) in columns.runs(variable) {
                let into = &mut spans[first..first + weights.len()];
                for (into, &weight) in into.iter_mut().zip(weights) {
                    into.add(weight, &away);
                }
                for lanes in &mut lanes[first..first + weights.len()] {
                    *lanes |= mine;
                }
            }
        }
        for k in 0..sums.len() {
            let mine = lanes[k];
            if mine == 0 {
                continue;
            }
            let (sum, own) = (sums.first + k, &mut spans[k]);
            for lane in 0..PARTS {
                let moves = f64::from(mine >> lane & 1);
                for end in &mut own.ends {
                    end[lane] += moves * self.still.values[sum];
                }
                for error in &mut own.errors {
                    error[lane] = error[lane] * INFLATION + moves * self.still.slack[sum];
                }
            }
            self.moving.push(sum as u32);
        }
    }

    fn curves(&mut self, at: usize, curves: &Curves) {
        let gap = self.still.gaps[at];
        for (k, &input) in curves.inputs.iter().enumerate() {
            let mine = self.lanes[input as usize];
            if mine == 0 {
                continue;
            }
            let variable = curves.first + k;
            for lane in lanes(mine) {
                let chord = self.spans[input as usize].chord(lane);
                self.set(variable, lane, &chord.through(&curves.parts, gap));
            }
            self.note(variable);
        }
    }

    fn extremes(&mut self, sums: &Sums, extremes: &Extremes) {
        let mut chords = Vec::new();
        for (k, members) in extremes.members.iter().enumerate() {
            let mine = members.iter().fold(0, |all, &m| all | self.lanes[m]);
            if mine == 0 {
                continue;
            }
            let variable = sums.first + k;
            for lane in lanes(mine) {
                chords.clear();
                chords.extend(members.iter().map(|&member| self.chord(member, lane)));
                let extreme = Chord::extreme(&mut chords, extremes.sign);
                self.set(variable, lane, &extreme);
            }
            self.note(variable);
        }
    }

    /// A variable in a lane in which something moves.
    fn set(&mut self, variable: usize, lane: usize, chord: &Chord) {
        let (value, error) = (self.still.values[variable], self.still.errors[variable]);
        let is_exact = error == 0.0 && chord.below == 0.0 && chord.above == 0.0;
        let stands = chord.ends.iter().all(|end| end - value == 0.0);
        if !(is_exact && stands) {
            self.spans[variable].set(lane, chord);
            self.lanes[variable] |= 1 << lane;
        }
    }

    /// Notes a variable that moves in some lane.
    fn note(&mut self, variable: usize) {
        if self.lanes[variable] != 0 {
            self.moving.push(variable as u32);
        }
    }

    /// What a variable is in a lane.
    fn chord(&self, variable: usize, lane: usize) -> Chord {
        if self.lanes[variable] >> lane & 1 == 1 {
            return self.spans[variable].chord(lane);
        }
        let (value, error) = (self.still.values[variable], self.still.errors[variable]);
        Chord {
            ends: [value; 2],
            below: error,
            above: error,
        }
    }

    /// An upper bound of a sum of variables and a number over the part of a lane, and what it is at both ends, to nearest.
    pub fn upper(&self, lane: usize, spelled: &Spelled) -> (f64, [f64; 2]) {
        let (mut ends, mut above) = ([spelled.constant; 2], 0.0);
        let mut mass = spelled.constants;
        for &(variable, weight, size) in &spelled.terms {
            let chord = self.chord(variable, lane);
            for (sum, value) in ends.iter_mut().zip(chord.ends) {
                *sum += weight * value;
            }
            let error = if weight < 0.0 {
                chord.below
            } else {
                chord.above
            };
            above += weight.abs() * error;
            let [a, b] = chord.ends;
            mass += size * (a.abs().max(b.abs()) + error);
        }
        let [a, b] = ends;
        let count = 16.0 + 4.0 * spelled.count;
        (-lowered(-(a.max(b) + above), mass, count), ends)
    }
}

/// The lanes of a set of them.
fn lanes(set: u8) -> impl Iterator<Item = usize> {
    (0..PARTS).filter(move |lane| set >> lane & 1 == 1)
}
