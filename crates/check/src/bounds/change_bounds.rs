//! Bounds over a part of a region in which few positions may change. Whatever does not depend on them stands
//! where it stands at the centre, and every pass goes through what moves alone: the cost of a part is that of
//! what its positions reach.
//!
//! A sum is what it is at the centre and the changes of its terms: with `C` an enclosure of a variable at the
//! centre and `I` one over the part, `sum = C(sum) + sum of w (I - C)`. Terms that move are left as unknowns,
//! and the others go into a constant that is known between two ends. The argument about rounding is that of
//! [`crate::bounds::backward`]: no number here exceeds a small multiple of the magnitudes there.

#![expect(
    clippy::inline_always,
    reason = "loops over lanes, inlined into the function compiled for wide vectors"
)]

use crate::bounds::backward::{LANES, Lanes, Magnitudes, lowered, max_terms};
use crate::bounds::changes::{Choice, SHARES};
use crate::bounds::cone::{Cone, Curves, Step, Sums};
use crate::bounds::lines::{RelaxationLine, is_settled, lines, range};

/// How much more than the magnitudes of its terms the numbers behind a sum amount to: its value at the
/// centre, changes of twice the size of a term, and what is taken off for terms that move.
const PARTS: f64 = 8.0;

/// What parts of a region have in common.
pub(crate) struct AtCentre {
    /// An enclosure of every variable at the centre.
    pub values: Vec<[f64; 2]>,
    /// For each step of sums, its terms by the variable that they are multiples of.
    pub columns: Vec<Columns>,
    /// For each sum, the curve of the next step that alone reads it, if that is so.
    readers: Vec<Option<u32>>,
}

/// Terms of sums, by variable.
#[derive(Default)]
pub(crate) struct Columns {
    starts: Vec<u32>,
    /// Sums and weights.
    terms: Vec<(u32, f64)>,
}

impl Columns {
    fn of(sums: &Sums) -> Self {
        let (starts, mut terms) = sums.by_variable();
        for (sum, _) in &mut terms {
            *sum += sums.first as u32;
        }
        Self { starts, terms }
    }

    /// The sums that a variable before them occurs in.
    pub fn of_variable(&self, variable: usize) -> &[(u32, f64)] {
        let end = self.starts.get(variable + 1);
        end.map_or(&[], |&end| {
            &self.terms[self.starts[variable] as usize..end as usize]
        })
    }
}

/// An enclosure of every variable of a cone, given the values of its inputs at the centre.
pub(crate) fn at_centre(cone: &Cone, centre: &[f64], reach: &Magnitudes) -> Vec<[f64; 2]> {
    let mut values = vec![[0.0; 2]; cone.variables];
    for (value, &c) in values.iter_mut().zip(centre) {
        *value = [c; 2];
    }
    for step in &cone.steps {
        match step {
            Step::Sums(sums) => {
                for k in 0..sums.len() {
                    values[sums.first + k] = reach.interval(sums, k, |v| values[v]);
                }
            }
            Step::Curves(curves) => {
                for (k, &input) in curves.inputs.iter().enumerate() {
                    let [l, u] = values[input as usize];
                    values[curves.first + k] = range(&curves.parts, l, u);
                }
            }
        }
    }
    values
}

impl AtCentre {
    /// `centre` has the values of the cone's inputs; it lies in the region that the magnitudes are of.
    pub fn of(cone: &Cone, centre: &[f64], reach: &Magnitudes) -> Self {
        let values = at_centre(cone, centre, reach);
        let mut columns = Vec::with_capacity(cone.steps.len());
        let mut reads = vec![0u32; cone.variables];
        let mut readers = vec![None; cone.variables];
        for (at, step) in cone.steps.iter().enumerate() {
            match step {
                Step::Sums(sums) => {
                    for &variable in &sums.from {
                        reads[variable as usize] += 1;
                    }
                    columns.push(Columns::of(sums));
                }
                Step::Curves(curves) => {
                    for (k, &input) in curves.inputs.iter().enumerate() {
                        reads[input as usize] += 1;
                        if let Some(Step::Sums(sums)) = before(cone, at)
                            && input as usize >= sums.first
                        {
                            readers[input as usize] = Some((curves.first + k) as u32);
                        }
                    }
                    columns.push(Columns::default());
                }
            }
        }
        for &variable in &cone.targets {
            reads[variable] += 1;
        }
        for (reader, reads) in readers.iter_mut().zip(reads) {
            reader.take_if(|_| reads > 1);
        }
        Self {
            values,
            columns,
            readers,
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

/// A cone over one part at a time.
pub(crate) struct ChangeBounds<'a> {
    cone: &'a Cone,
    centre: &'a AtCentre,
    reach: &'a Magnitudes,
    steps: Vec<MovingStep>,
    state: Vec<State>,
    /// Enclosures of variables over the part.
    ends: Vec<[f64; 2]>,
    /// For sums that move, the ends of what does not.
    constants: Vec<[f64; 2]>,
    /// Variables before the step at hand that are not still.
    touched: Vec<u32>,
    coefficients: Vec<Lanes>,
    constant: Lanes,
    mass: Lanes,
    amounts: Vec<Lanes>,
}

impl<'a> ChangeBounds<'a> {
    pub fn new(cone: &'a Cone, centre: &'a AtCentre, reach: &'a Magnitudes) -> Self {
        Self {
            cone,
            centre,
            reach,
            steps: cone.steps.iter().map(|_| MovingStep::default()).collect(),
            state: vec![State::Still; cone.variables],
            ends: vec![[0.0; 2]; cone.variables],
            constants: vec![[0.0; 2]; cone.variables],
            touched: Vec::new(),
            coefficients: vec![[0.0; LANES]; cone.variables],
            constant: [0.0; LANES],
            mass: [0.0; LANES],
            amounts: Vec::new(),
        }
    }

    /// Tightens bounds of units that hold over a part of the region; false if they contradict each other, so
    /// that no input is there.
    pub fn settle(&mut self, choice: &Choice, bounds: &mut [[f64; 2]]) -> bool {
        self.start(choice);
        let cone = self.cone;
        for (at, step) in cone.steps.iter().enumerate() {
            match step {
                Step::Sums(sums) => {
                    self.spread(at, sums);
                    // Sums that curves read are collected once those are known.
                    if !matches!(cone.steps.get(at + 1), Some(Step::Curves(_))) {
                        self.collect(at, sums);
                    }
                }
                Step::Curves(curves) => {
                    self.tighten(at, curves, choice, bounds);
                    let mine = &bounds[curves.first_unit..][..curves.inputs.len()];
                    if !mine.iter().all(|[l, u]| l <= u) {
                        return false;
                    }
                    self.bend(at, curves, mine);
                    if let Some(Step::Sums(sums)) = before(cone, at) {
                        self.collect(at - 1, sums);
                    }
                }
            }
        }
        true
    }

    /// At the inputs.
    fn start(&mut self, choice: &Choice) {
        self.state.fill(State::Still);
        self.ends.copy_from_slice(&self.centre.values);
        self.touched.clear();
        for mover in &choice.movers {
            let input = mover.input as usize;
            let [low, high] = mover.ends;
            // A position that may stay where it is has its centre between its ends.
            self.ends[input] = mover.ends;
            self.state[input] = if low < high {
                State::Moving
            } else {
                State::Confined
            };
            self.touched.push(mover.input);
        }
        self.amounts.resize(choice.places(), [0.0; LANES]);
    }

    /// Carries what is not still over to the sums that it occurs in.
    fn spread(&mut self, at: usize, sums: &Sums) {
        let columns = &self.centre.columns[at];
        let range = sums.first..sums.first + sums.len();
        self.constants[range.clone()].fill([0.0; 2]);
        for &variable in &self.touched {
            let variable = variable as usize;
            let [low, high] = self.ends[variable];
            let [c_low, c_high] = self.centre.values[variable];
            let moves = self.state[variable] == State::Moving;
            let change = [low - c_high, high - c_low];
            for &(sum, weight) in columns.of_variable(variable) {
                let sum = sum as usize;
                let by = |[low, high]: [f64; 2]| {
                    if weight < 0.0 {
                        [weight * high, weight * low]
                    } else {
                        [weight * low, weight * high]
                    }
                };
                let [fall, rise] = by(change);
                self.ends[sum][0] += fall;
                self.ends[sum][1] += rise;
                let constant = &mut self.constants[sum];
                if moves {
                    let [low, high] = by([c_low, c_high]);
                    constant[0] -= high;
                    constant[1] -= low;
                    self.state[sum] = State::Moving;
                } else {
                    constant[0] += fall;
                    constant[1] += rise;
                    if self.state[sum] == State::Still {
                        self.state[sum] = State::Confined;
                    }
                }
            }
        }
        for k in 0..sums.len() {
            let sum = sums.first + k;
            if self.state[sum] == State::Still {
                continue;
            }
            let count = (sums.starts[k + 1] - sums.starts[k] + 4) as f64;
            let error = lowering(count, self.reach.mass[sum]);
            let [low, high] = self.centre.values[sum];
            let ends = &mut self.ends[sum];
            *ends = [ends[0] - error, ends[1] + error];
            let constant = &mut self.constants[sum];
            *constant = [low + constant[0] - error, high + constant[1] + error];
            self.touched.push(sum as u32);
        }
    }

    /// Bounds the units of a step: by what they read, and where that leaves a curve that moves and bends, by
    /// pulling back, eight at a time.
    fn tighten(&mut self, at: usize, curves: &Curves, choice: &Choice, bounds: &mut [[f64; 2]]) {
        let mut open = Vec::new();
        for (k, &input) in curves.inputs.iter().enumerate() {
            let [l, u] = &mut bounds[curves.first_unit + k];
            let [low, high] = self.ends[input as usize];
            (*l, *u) = (l.max(low), u.min(high));
            let moves = self.state[input as usize] == State::Moving;
            if moves && *l <= *u && !is_settled(&curves.parts, *l, *u) {
                open.push(k);
            }
        }
        let sums = match before(self.cone, at) {
            Some(Step::Sums(sums)) => Some(sums),
            _ => None,
        };
        let from = at - usize::from(sums.is_some());
        for chunk in open.chunks(LANES / 2) {
            self.clear(at);
            for (pair, &k) in chunk.iter().enumerate() {
                let input = curves.inputs[k] as usize;
                for (lane, sign) in [(2 * pair, 1.0), (2 * pair + 1, -1.0)] {
                    match sums {
                        // Its terms are not collected yet.
                        Some(sums) if input >= sums.first => {
                            self.seed_terms(sums, input - sums.first, lane, sign);
                        }
                        _ => self.seed(input, lane, sign),
                    }
                }
            }
            let lower = self.run(from, 2 * chunk.len(), choice);
            for (pair, &k) in chunk.iter().enumerate() {
                let [l, u] = &mut bounds[curves.first_unit + k];
                *l = l.max(lower[2 * pair]);
                *u = u.min(-lower[2 * pair + 1]);
            }
        }
        for (k, &input) in curves.inputs.iter().enumerate() {
            if self.state[input as usize] != State::Still {
                self.ends[input as usize] = bounds[curves.first_unit + k];
            }
        }
    }

    /// Lines for the curves of a step that move, given the bounds of their units.
    fn bend(&mut self, at: usize, curves: &Curves, bounds: &[[f64; 2]]) {
        let bent = &mut self.steps[at].bent;
        bent.clear();
        for (k, (&input, &[l, u])) in curves.inputs.iter().zip(bounds).enumerate() {
            let state = self.state[input as usize];
            if state == State::Still {
                continue;
            }
            let variable = curves.first + k;
            self.ends[variable] = range(&curves.parts, l, u);
            self.state[variable] = State::Confined;
            self.touched.push(variable as u32);
            let [low, high] = lines(&curves.parts, l, u, None);
            let is_flat = low.slope == 0.0 && high.slope == 0.0;
            if state == State::Moving && !is_flat {
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

    /// The sums of a step that move. Those that only a curve reads that does not are from now on said to be
    /// between their ends and nothing more.
    fn collect(&mut self, at: usize, sums: &Sums) {
        for sum in sums.first..sums.first + sums.len() {
            let reader = self.centre.readers[sum];
            let idle = |curve: u32| self.state[curve as usize] != State::Moving;
            if self.state[sum] == State::Moving && reader.is_some_and(idle) {
                self.state[sum] = State::Confined;
            }
        }
        let state = &self.state;
        let matters = |sum: usize| state[sum] == State::Moving;
        let step = &mut self.steps[at];
        step.sums.clear();
        step.columns.clear();
        step.terms.clear();
        let own = (sums.first..sums.first + sums.len()).filter(|&sum| matters(sum));
        step.sums
            .extend(own.map(|sum| (sum as u32, self.constants[sum])));
        let columns = &self.centre.columns[at];
        for &variable in &self.touched {
            if variable as usize >= sums.first || state[variable as usize] != State::Moving {
                continue;
            }
            let terms = columns.of_variable(variable as usize).iter();
            let kept = terms.filter(|(sum, _)| matters(*sum as usize));
            let from = step.terms.len();
            step.terms.extend(kept.copied());
            if step.terms.len() > from {
                step.columns.push((variable, step.terms.len() as u32));
            }
        }
    }

    /// Ready for sums of variables before step `at`: whatever a pass from there can read is 0.
    fn clear(&mut self, at: usize) {
        self.constant = [0.0; LANES];
        self.mass = [0.0; LANES];
        self.coefficients[..self.cone.inputs.len()].fill([0.0; LANES]);
        for step in &self.steps[..at] {
            for bent in &step.bent {
                self.coefficients[bent.variable as usize] = [0.0; LANES];
            }
            for &(sum, _) in &step.sums {
                self.coefficients[sum as usize] = [0.0; LANES];
            }
        }
    }

    /// Ready for sums of any variables.
    pub fn begin(&mut self) {
        self.clear(self.steps.len());
    }

    /// Adds a multiple of a variable to the sum of a lane.
    pub fn seed(&mut self, variable: usize, lane: usize, weight: f64) {
        self.mass[lane] += weight.abs() * self.reach.size[variable];
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
        self.mass[lane] += constant.abs();
    }

    /// Puts other lines in the place of those of a curve that moves.
    pub fn set_lines(&mut self, variable: usize, [low, high]: [RelaxationLine; 2]) {
        let all = self.steps.iter_mut().flat_map(|step| &mut step.bent);
        for bent in all.filter(|bent| bent.variable as usize == variable) {
            (bent.low, bent.high) = (low, high);
        }
    }

    /// A sum that moves, or minus it, spelled out.
    fn seed_terms(&mut self, sums: &Sums, k: usize, lane: usize, sign: f64) {
        for (variable, weight) in sums.terms(k) {
            if self.state[variable] == State::Moving {
                self.coefficients[variable][lane] += sign * weight;
            }
        }
        let [low, high] = self.constants[sums.first + k];
        self.constant[lane] += sign * if sign < 0.0 { high } else { low };
        self.mass[lane] += PARTS * self.reach.mass[sums.first + k];
    }

    /// Lower bounds of the sums in the first so many lanes, once variables are seeded.
    pub fn lower(&mut self, lanes: usize, choice: &Choice) -> Lanes {
        self.run(self.steps.len(), lanes, choice)
    }

    fn run(&mut self, from: usize, lanes: usize, choice: &Choice) -> Lanes {
        deepconcolic_network::vectorised(|| match lanes {
            0..=4 => self.pull::<4>(from, choice),
            5..=8 => self.pull::<8>(from, choice),
            _ => self.pull::<LANES>(from, choice),
        })
    }

    #[inline(always)]
    fn pull<const N: usize>(&mut self, from: usize, choice: &Choice) -> Lanes {
        let (mut constant, mut mass) = ([0.0; N], [0.0; N]);
        constant.copy_from_slice(&self.constant[..N]);
        mass.copy_from_slice(&self.mass[..N]);
        for step in self.steps[..from].iter().rev() {
            for bent in &step.bent {
                let size = self.reach.size[bent.input as usize];
                let mut a = [0.0; N];
                a.copy_from_slice(&self.coefficients[bent.variable as usize][..N]);
                let into = &mut self.coefficients[bent.input as usize];
                for lane in 0..N {
                    let below = a[lane] >= 0.0;
                    let slope = if below {
                        bent.low.slope
                    } else {
                        bent.high.slope
                    };
                    let share = a[lane] * slope;
                    let part = a[lane] * if below { bent.low.cut } else { bent.high.cut };
                    mass[lane] += (into[lane].abs() + share.abs()) * size + part.abs();
                    into[lane] += share;
                    constant[lane] += part;
                }
            }
            for &(sum, [low, high]) in &step.sums {
                let a = &self.coefficients[sum as usize];
                let size = PARTS * self.reach.mass[sum as usize];
                for lane in 0..N {
                    constant[lane] += a[lane] * if a[lane] < 0.0 { high } else { low };
                    mass[lane] += a[lane].abs() * size;
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
        self.amounts.fill([0.0; LANES]);
        for mover in &choice.movers {
            let a = &self.coefficients[mover.input as usize];
            let size = SHARES * self.reach.size[mover.input as usize];
            for lane in 0..N {
                let (base, amount) = Choice::share(mover, a[lane]);
                constant[lane] += base;
                mass[lane] += a[lane].abs() * size;
                if let Some((place, amount)) = amount {
                    self.amounts[place as usize][lane] += amount;
                }
            }
        }
        let terms = max_terms(self.cone);
        let mut own = vec![0.0; self.amounts.len()];
        let mut bound = [f64::NEG_INFINITY; LANES];
        for lane in 0..N {
            for (own, amounts) in own.iter_mut().zip(&self.amounts) {
                *own = amounts[lane];
            }
            let least = constant[lane] - choice.most(&mut own);
            bound[lane] = lowered(least, mass[lane], terms);
        }
        bound
    }
}

/// More than rounding can add to a sum of so many terms, each of several products.
fn lowering(count: f64, mass: f64) -> f64 {
    -lowered(0.0, PARTS * mass, 2.0 * count)
}

fn before(cone: &Cone, at: usize) -> Option<&Step> {
    at.checked_sub(1).map(|before| &cone.steps[before])
}
