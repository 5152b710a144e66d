//! A program over a part of a region in which few positions change: what does not depend on them stands where
//! it stands at the centre, and passes go through what moves alone.

#![expect(
    clippy::inline_always,
    reason = "inlined into the function compiled for wide vectors"
)]

use deepconcolic_check::Until;
use deepconcolic_network::vectorised;

use crate::changes::Choice;
use crate::lanes::{LANES, Lanes, all};
use crate::lines::{RelaxationLine, is_settled, lines, range, value};
use crate::program::{Curves, Program, Step, Sums};
use crate::sparse_box_bounds::Readers;

/// What the parts of a region have in common.
pub(crate) struct AtCentre {
    values: Vec<f64>,
    readers: Readers,
    /// For each step of sums, where each variable is among those that occur in them.
    places: Vec<Vec<u32>>,
}

/// A variable that does not occur.
const NOWHERE: u32 = u32::MAX;

impl AtCentre {
    pub fn of(program: &Program, centre: &[f64]) -> Self {
        let mut values = vec![0.0; program.variables];
        values[..centre.len()].copy_from_slice(centre);
        let mut places = Vec::with_capacity(program.steps.len());
        for step in &program.steps {
            let mut own = Vec::new();
            match step {
                Step::Sums(sums) => {
                    for (k, &constant) in sums.constants.iter().enumerate() {
                        let (variables, weights) = sums.rows.row(k);
                        let terms = variables.iter().zip(weights);
                        let terms = terms.map(|(&v, weight)| weight * values[v as usize]);
                        values[sums.first + k] = constant + terms.sum::<f64>();
                    }
                    own = vec![NOWHERE; sums.first];
                    for (place, &variable) in sums.inputs.iter().enumerate() {
                        own[variable as usize] = place as u32;
                    }
                }
                Step::Curves(curves) => {
                    for (k, &input) in curves.inputs.iter().enumerate() {
                        values[curves.first + k] = value(&curves.parts, values[input as usize]);
                    }
                }
            }
            places.push(own);
        }
        Self {
            values,
            readers: Readers::of(program),
            places,
        }
    }

    /// The sums of a step that a variable occurs in, by their numbers there, and its weights.
    fn column<'p>(&self, at: usize, sums: &'p Sums, variable: u32) -> (&'p [u32], &'p [f64]) {
        match self.places[at].get(variable as usize) {
            None | Some(&NOWHERE) => (&[], &[]),
            Some(&place) => sums.columns.row(place as usize),
        }
    }
}

/// A curve that moves, with its lines.
struct Bent {
    variable: u32,
    input: u32,
    low: RelaxationLine,
    high: RelaxationLine,
}

/// What moves of a step.
#[derive(Default)]
struct MovingStep {
    bent: Vec<Bent>,
    /// Sums that move and matter, each with the ends of its constant.
    sums: Vec<(u32, [f64; 2])>,
    /// Variables in those sums, each with the end of its part of `terms`.
    columns: Vec<(u32, u32)>,
    /// Sums and weights.
    terms: Vec<(u32, f64)>,
}

/// What a variable does over a part.
#[derive(Clone, Copy, PartialEq)]
enum State {
    /// It stands where it stands at the centre.
    Still,
    /// It lies between its ends, and nothing more is said of it.
    Confined,
    /// It moves with the inputs.
    Moving,
}

/// A program over one part at a time.
pub(crate) struct MovingBounds<'a> {
    program: &'a Program,
    centre: &'a AtCentre,
    steps: Vec<MovingStep>,
    state: Vec<State>,
    ends: Vec<[f64; 2]>,
    constants: Vec<[f64; 2]>,
    touched: Vec<u32>,
    pub coefficients: Vec<Lanes>,
    constant: Lanes,
    until: Until<'a>,
}

impl<'a> MovingBounds<'a> {
    pub fn new(program: &'a Program, centre: &'a AtCentre, until: Until<'a>) -> Self {
        let steps = program.steps.iter();
        Self {
            program,
            centre,
            steps: steps.map(|_| MovingStep::default()).collect(),
            state: vec![State::Still; program.variables],
            ends: vec![[0.0; 2]; program.variables],
            constants: vec![[0.0; 2]; program.variables],
            touched: Vec::new(),
            coefficients: vec![all(0.0); program.variables],
            constant: all(0.0),
            until,
        }
    }

    /// Moves to another part: tightens bounds of units, which must hold there already.
    pub fn decide(&mut self, choice: &Choice, bounds: &mut [[f64; 2]]) {
        let program = self.program;
        self.start(choice);
        for (at, step) in program.steps.iter().enumerate() {
            match step {
                Step::Sums(sums) => {
                    self.spread(at, sums);
                    // Sums that curves read are collected once those are known.
                    if !matches!(program.steps.get(at + 1), Some(Step::Curves(_))) {
                        self.collect(at, sums);
                    }
                }
                Step::Curves(curves) => {
                    self.tighten(at, curves, choice, bounds);
                    self.bend(at, curves, bounds);
                    if let Some(Step::Sums(sums)) = at.checked_sub(1).map(|b| &program.steps[b]) {
                        self.collect(at - 1, sums);
                    }
                }
            }
        }
    }

    fn start(&mut self, choice: &Choice) {
        self.state.fill(State::Still);
        for (ends, &value) in self.ends.iter_mut().zip(&self.centre.values) {
            *ends = [value; 2];
        }
        self.touched.clear();
        for mover in &choice.movers {
            let [low, high] = mover.ends;
            self.ends[mover.input as usize] = mover.ends;
            self.state[mover.input as usize] = if low < high {
                State::Moving
            } else {
                State::Confined
            };
            self.touched.push(mover.input);
        }
    }

    /// Carries what is not still over to the sums that it occurs in.
    fn spread(&mut self, at: usize, sums: &Sums) {
        let own = sums.first..sums.first + sums.constants.len();
        for (constant, &value) in self.constants[own.clone()]
            .iter_mut()
            .zip(&self.centre.values[own.clone()])
        {
            *constant = [value; 2];
        }
        for &variable in &self.touched {
            let [low, high] = self.ends[variable as usize];
            let centre = self.centre.values[variable as usize];
            let moves = self.state[variable as usize] == State::Moving;
            let (numbers, weights) = self.centre.column(at, sums, variable);
            for (&k, &weight) in numbers.iter().zip(weights) {
                let sum = sums.first + k as usize;
                let (down, up) = (weight * (low - centre), weight * (high - centre));
                let (fall, rise) = (down.min(up), down.max(up));
                self.ends[sum][0] += fall;
                self.ends[sum][1] += rise;
                if moves {
                    self.constants[sum][0] -= weight * centre;
                    self.constants[sum][1] -= weight * centre;
                    self.state[sum] = State::Moving;
                } else {
                    self.constants[sum][0] += fall;
                    self.constants[sum][1] += rise;
                    if self.state[sum] == State::Still {
                        self.state[sum] = State::Confined;
                    }
                }
            }
        }
        let moved = own.filter(|&sum| self.state[sum] != State::Still);
        self.touched.extend(moved.map(|sum| sum as u32));
    }

    /// Bounds the units of a step: by what they read, and where that leaves a curve that moves and bends, by
    /// pulling back, eight at a time.
    fn tighten(&mut self, at: usize, curves: &Curves, choice: &Choice, bounds: &mut [[f64; 2]]) {
        let mut open = Vec::new();
        for (k, &input) in curves.inputs.iter().enumerate() {
            let [l, u] = &mut bounds[curves.first_unit + k];
            let [low, high] = self.ends[input as usize];
            *l = l.max(low).min(high);
            *u = u.min(high).max(*l);
            let moves = self.state[input as usize] == State::Moving;
            if moves && !is_settled(&curves.parts, *l, *u) {
                open.push(k);
            }
        }
        let before = at.checked_sub(1).map(|before| &self.program.steps[before]);
        let from = at - usize::from(matches!(before, Some(Step::Sums(_))));
        for chunk in open.chunks(LANES / 2) {
            // Those left keep the bounds they have.
            if self.until.is_over() {
                break;
            }
            self.clear(at);
            for (pair, &k) in chunk.iter().enumerate() {
                let input = curves.inputs[k] as usize;
                for (lane, sign) in [(2 * pair, 1.0), (2 * pair + 1, -1.0)] {
                    match before {
                        // Its terms are not collected yet.
                        Some(Step::Sums(sums)) if input >= sums.first => {
                            self.seed_row(sums, input - sums.first, lane, sign);
                        }
                        _ => self.seed(input, lane, sign),
                    }
                }
            }
            let lower = self.run(from, 2 * chunk.len(), choice);
            for (pair, &k) in chunk.iter().enumerate() {
                let [l, u] = &mut bounds[curves.first_unit + k];
                *l = l.max(lower[2 * pair]).min(*u);
                *u = u.min(-lower[2 * pair + 1]).max(*l);
            }
        }
        for (k, &input) in curves.inputs.iter().enumerate() {
            if self.state[input as usize] != State::Still {
                self.ends[input as usize] = bounds[curves.first_unit + k];
            }
        }
    }

    fn seed_row(&mut self, sums: &Sums, k: usize, lane: usize, sign: f64) {
        let (variables, weights) = sums.rows.row(k);
        for (&variable, &weight) in variables.iter().zip(weights) {
            if self.state[variable as usize] == State::Moving {
                self.coefficients[variable as usize][lane] += sign * weight;
            }
        }
        let [low, high] = self.constants[sums.first + k];
        self.constant[lane] += sign * if sign < 0.0 { high } else { low };
    }

    /// Lines for the curves of a step that move.
    fn bend(&mut self, at: usize, curves: &Curves, bounds: &[[f64; 2]]) {
        let bent = &mut self.steps[at].bent;
        bent.clear();
        for (k, &input) in curves.inputs.iter().enumerate() {
            let state = self.state[input as usize];
            if state == State::Still {
                continue;
            }
            let [l, u] = bounds[curves.first_unit + k];
            let variable = curves.first + k;
            self.ends[variable] = range(&curves.parts, l, u);
            self.state[variable] = State::Confined;
            self.touched.push(variable as u32);
            let (low, high) = lines(&curves.parts, l, u, None);
            if state == State::Moving && (low.0 != 0.0 || high.0 != 0.0) {
                self.state[variable] = State::Moving;
                bent.push(Bent {
                    variable: variable as u32,
                    input,
                    low,
                    high,
                });
            }
        }
    }

    /// The sums of a step that move, without those that only a curve reads that does not.
    fn collect(&mut self, at: usize, sums: &Sums) {
        for k in 0..sums.constants.len() {
            let reader = self.centre.readers.of_sum(at, k);
            let idle = reader.is_some_and(|curve| self.state[curve] != State::Moving);
            if idle && self.state[sums.first + k] == State::Moving {
                self.state[sums.first + k] = State::Confined;
            }
        }
        let state = &self.state;
        let step = &mut self.steps[at];
        step.sums.clear();
        step.columns.clear();
        step.terms.clear();
        let own = sums.first..sums.first + sums.constants.len();
        let moving = own.filter(|&sum| state[sum] == State::Moving);
        step.sums
            .extend(moving.map(|sum| (sum as u32, self.constants[sum])));
        for &variable in &self.touched {
            if variable as usize >= sums.first || state[variable as usize] != State::Moving {
                continue;
            }
            let (numbers, weights) = self.centre.column(at, sums, variable);
            let from = step.terms.len();
            for (&k, &weight) in numbers.iter().zip(weights) {
                let sum = sums.first + k as usize;
                if state[sum] == State::Moving {
                    step.terms.push((sum as u32, weight));
                }
            }
            if step.terms.len() > from {
                step.columns.push((variable, step.terms.len() as u32));
            }
        }
    }

    fn clear(&mut self, at: usize) {
        self.constant = all(0.0);
        self.coefficients[..self.program.inputs.len()].fill(all(0.0));
        for step in &self.steps[..at] {
            for bent in &step.bent {
                self.coefficients[bent.variable as usize] = all(0.0);
            }
            for &(sum, _) in &step.sums {
                self.coefficients[sum as usize] = all(0.0);
            }
        }
    }

    /// Ready for sums of any variables.
    pub fn begin(&mut self) {
        self.clear(self.steps.len());
    }

    /// Adds a multiple of a variable to the sum of a lane.
    pub fn seed(&mut self, variable: usize, lane: usize, weight: f64) {
        if self.state[variable] == State::Moving {
            self.coefficients[variable][lane] += weight;
        } else {
            let [low, high] = self.ends[variable];
            self.constant[lane] += weight * if weight < 0.0 { high } else { low };
        }
    }

    /// Adds a number to the sum of a lane.
    pub fn constant(&mut self, lane: usize, constant: f64) {
        self.constant[lane] += constant;
    }

    /// Lower bounds of the sums in the first so many lanes, once variables are seeded.
    pub fn lower(&mut self, lanes: usize, choice: &Choice) -> Lanes {
        self.run(self.steps.len(), lanes, choice)
    }

    fn run(&mut self, from: usize, lanes: usize, choice: &Choice) -> Lanes {
        vectorised(|| match lanes {
            0..=4 => self.pull::<4>(from, choice),
            5..=8 => self.pull::<8>(from, choice),
            _ => self.pull::<LANES>(from, choice),
        })
    }

    #[inline(always)]
    fn pull<const N: usize>(&mut self, from: usize, choice: &Choice) -> Lanes {
        let mut constant = [0.0; N];
        constant.copy_from_slice(&self.constant[..N]);
        for step in self.steps[..from].iter().rev() {
            for bent in &step.bent {
                let mut a = [0.0; N];
                a.copy_from_slice(&self.coefficients[bent.variable as usize][..N]);
                let into = &mut self.coefficients[bent.input as usize];
                for lane in 0..N {
                    let (up, down) = (a[lane].max(0.0), a[lane].min(0.0));
                    into[lane] += up * bent.low.0 + down * bent.high.0;
                    constant[lane] += up * bent.low.1 + down * bent.high.1;
                }
            }
            for &(sum, [low, high]) in &step.sums {
                let a = &self.coefficients[sum as usize];
                for lane in 0..N {
                    constant[lane] += a[lane].max(0.0) * low + a[lane].min(0.0) * high;
                }
            }
            let mut start = 0;
            for &(variable, end) in &step.columns {
                let mut sum = [0.0; N];
                sum.copy_from_slice(&self.coefficients[variable as usize][..N]);
                for &(from, weight) in &step.terms[start..end as usize] {
                    let a = &self.coefficients[from as usize];
                    for lane in 0..N {
                        sum[lane] += a[lane] * weight;
                    }
                }
                start = end as usize;
                self.coefficients[variable as usize][..N].copy_from_slice(&sum);
            }
        }
        let mut bound = choice.least(&self.coefficients, N);
        for lane in 0..N {
            bound[lane] += constant[lane];
        }
        bound
    }
}
