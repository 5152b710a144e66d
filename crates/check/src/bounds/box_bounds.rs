//! Bounds over one small box, where most curves are settled: what is zero all over the box is left out
//! of every pass. The argument about rounding is that of [`crate::bounds::backward`], term by term.

#![expect(
    clippy::inline_always,
    reason = "inlined into the function compiled for wide vectors"
)]

use crate::bounds::backward::{LANES, Lanes, Magnitudes, lowered, max_terms};
use crate::bounds::cone::{Cone, Curves, Step, Sums};
use crate::bounds::lines::{RelaxationLine, is_settled, lines};

/// A curve that is not zero over the box, with its lines.
struct Bent {
    variable: u32,
    input: u32,
    low: RelaxationLine,
    high: RelaxationLine,
}

/// What is left of a step.
#[derive(Default)]
struct SparseStep {
    bent: Vec<Bent>,
    /// Sums that matter, and their constants.
    sums: Vec<(u32, f64)>,
    /// Variables in those sums, each with the end of its part of `terms`.
    columns: Vec<(u32, u32)>,
    /// Sums and weights.
    terms: Vec<(u32, f64)>,
}

/// How a step is read, whatever the box.
struct Layout {
    /// For each sum, the curve of the next step that alone reads it, if that is so.
    readers: Vec<Option<u32>>,
    /// The terms of the sums, sorted by the variable they are multiples of: variable, sum, weight.
    columns: Vec<(u32, u32, f64)>,
}

/// What the boxes of a cone have in common.
pub(crate) struct Layouts(Vec<Layout>);

impl Layouts {
    pub fn of(cone: &Cone) -> Self {
        let mut reads = vec![0u32; cone.variables];
        for step in &cone.steps {
            let read = match step {
                Step::Sums(sums) => &sums.from,
                Step::Curves(curves) => &curves.inputs,
            };
            for &variable in read {
                reads[variable as usize] += 1;
            }
        }
        for &variable in &cone.targets {
            reads[variable] += 1;
        }
        let layout = |(at, step): (usize, &Step)| {
            let mut layout = Layout {
                readers: Vec::new(),
                columns: Vec::new(),
            };
            let Step::Sums(sums) = step else {
                return layout;
            };
            layout.readers = vec![None; sums.len()];
            for k in 0..sums.len() {
                let sum = (sums.first + k) as u32;
                let terms = sums.terms(k);
                let terms = terms.map(|(variable, weight)| (variable as u32, sum, weight));
                layout.columns.extend(terms);
            }
            // Stable: the terms of a sum that name a variable twice stay in their order.
            layout.columns.sort_by_key(|&(variable, _, _)| variable);
            if let Some(Step::Curves(curves)) = cone.steps.get(at + 1) {
                for (k, &input) in curves.inputs.iter().enumerate() {
                    let here = (input as usize).checked_sub(sums.first);
                    if let Some(place) = here
                        && reads[input as usize] == 1
                    {
                        layout.readers[place] = Some((curves.first + k) as u32);
                    }
                }
            }
            layout
        };
        Self(cone.steps.iter().enumerate().map(layout).collect())
    }
}

/// A cone over one box at a time.
pub(crate) struct BoxBounds<'a> {
    cone: &'a Cone,
    layouts: &'a Layouts,
    reach: &'a Magnitudes,
    steps: Vec<SparseStep>,
    /// Whether a variable is 0 all over the box, or only read by something that is.
    zero: Vec<bool>,
    coefficients: Vec<Lanes>,
    constant: Lanes,
    mass: Lanes,
    open: Vec<usize>,
}

impl<'a> BoxBounds<'a> {
    pub fn new(cone: &'a Cone, layouts: &'a Layouts, reach: &'a Magnitudes) -> Self {
        Self {
            cone,
            layouts,
            reach,
            steps: cone.steps.iter().map(|_| SparseStep::default()).collect(),
            zero: vec![false; cone.variables],
            coefficients: vec![[0.0; LANES]; cone.variables],
            constant: [0.0; LANES],
            mass: [0.0; LANES],
            open: Vec::new(),
        }
    }

    /// Tightens bounds of units that hold over the part of a region inside a box; false if they
    /// contradict each other, so that no input is there.
    pub fn settle(&mut self, ends: &[[f64; 2]], bounds: &mut [[f64; 2]]) -> bool {
        let cone = self.cone;
        for (at, step) in cone.steps.iter().enumerate() {
            match step {
                // Sums that curves read are thinned out once those are known.
                Step::Sums(_) if matches!(cone.steps.get(at + 1), Some(Step::Curves(_))) => {}
                Step::Sums(sums) => self.thin(at, sums),
                Step::Curves(curves) => {
                    self.tighten(at, curves, ends, bounds);
                    let mine = &bounds[curves.first_unit..][..curves.inputs.len()];
                    if !mine.iter().all(|[l, u]| l <= u) {
                        return false;
                    }
                    self.bend(at, curves, mine);
                    if let Some(Step::Sums(sums)) = before(cone, at) {
                        self.thin(at - 1, sums);
                    }
                }
            }
        }
        true
    }

    /// Bounds the open units of a step by pulling them back, eight at a time.
    fn tighten(&mut self, at: usize, curves: &Curves, ends: &[[f64; 2]], bounds: &mut [[f64; 2]]) {
        let mut open = std::mem::take(&mut self.open);
        open.clear();
        open.extend((0..curves.inputs.len()).filter(|&k| {
            let [l, u] = bounds[curves.first_unit + k];
            !is_settled(&curves.parts, l, u)
        }));
        let sums = match before(self.cone, at) {
            Some(Step::Sums(sums)) => Some(sums),
            _ => None,
        };
        for chunk in open.chunks(LANES / 2) {
            self.clear(at);
            for (pair, &k) in chunk.iter().enumerate() {
                let input = curves.inputs[k] as usize;
                for (lane, sign) in [(2 * pair, 1.0), (2 * pair + 1, -1.0)] {
                    match sums {
                        Some(sums) if input >= sums.first => {
                            self.seed_terms(sums, input - sums.first, lane, sign);
                        }
                        _ => {
                            self.coefficients[input][lane] += sign;
                            self.mass[lane] += self.reach.size[input];
                        }
                    }
                }
            }
            let from = at - usize::from(sums.is_some());
            let lower = self.run(from, 2 * chunk.len(), ends);
            for (pair, &k) in chunk.iter().enumerate() {
                let [l, u] = &mut bounds[curves.first_unit + k];
                *l = l.max(lower[2 * pair]);
                *u = u.min(-lower[2 * pair + 1]);
            }
        }
        self.open = open;
    }

    /// A sum, or minus it, spelled out.
    fn seed_terms(&mut self, sums: &Sums, k: usize, lane: usize, sign: f64) {
        for (variable, weight) in sums.terms(k) {
            self.coefficients[variable][lane] += sign * weight;
        }
        self.constant[lane] += sign * sums.constants[k];
        self.mass[lane] += self.reach.mass[sums.first + k];
    }

    /// Lines for the curves of a step, given their bounds; curves at zero are dropped.
    fn bend(&mut self, at: usize, curves: &Curves, bounds: &[[f64; 2]]) {
        let bent = &mut self.steps[at].bent;
        bent.clear();
        for (k, (&input, &[l, u])) in curves.inputs.iter().zip(bounds).enumerate() {
            let [low, high] = lines(&curves.parts, l, u, None);
            let zero = [low, high]
                .iter()
                .all(|line| line.slope == 0.0 && line.cut == 0.0);
            let variable = curves.first + k;
            self.zero[variable] = zero;
            if !zero {
                let variable = variable as u32;
                bent.push(Bent {
                    variable,
                    input,
                    low,
                    high,
                });
            }
        }
    }

    /// Leaves out the terms that are zero, and the sums that only a curve at zero reads.
    fn thin(&mut self, at: usize, sums: &Sums) {
        let Layout { readers, columns } = &self.layouts.0[at];
        for (k, reader) in readers.iter().enumerate() {
            self.zero[sums.first + k] = reader.is_some_and(|curve| self.zero[curve as usize]);
        }
        let (zero, thin) = (&self.zero, &mut self.steps[at]);
        thin.sums.clear();
        thin.columns.clear();
        thin.terms.clear();
        let kept = (0..readers.len()).filter(|&k| !zero[sums.first + k]);
        thin.sums
            .extend(kept.map(|k| ((sums.first + k) as u32, sums.constants[k])));
        for column in columns.chunk_by(|a, b| a.0 == b.0) {
            let variable = column[0].0;
            if zero[variable as usize] {
                continue;
            }
            let kept = column.iter().filter(|(_, sum, _)| !zero[*sum as usize]);
            thin.terms
                .extend(kept.map(|&(_, sum, weight)| (sum, weight)));
            thin.columns.push((variable, thin.terms.len() as u32));
        }
    }

    /// Ready for sums of variables before step `at`: whatever a pass from there can read is 0. A
    /// variable may be read by later steps only, so that no pass from here would overwrite it.
    fn clear(&mut self, at: usize) {
        self.constant = [0.0; LANES];
        self.mass = [0.0; LANES];
        self.coefficients[..self.cone.inputs.len()].fill([0.0; LANES]);
        for thin in &self.steps[..at] {
            for bent in &thin.bent {
                self.coefficients[bent.variable as usize] = [0.0; LANES];
            }
            for &(variable, _) in &thin.sums {
                self.coefficients[variable as usize] = [0.0; LANES];
            }
        }
    }

    /// Lower bounds of the sums in the first so many lanes, pulled back through the steps before
    /// `from`.
    fn run(&mut self, from: usize, lanes: usize, ends: &[[f64; 2]]) -> Lanes {
        deepconcolic_network::vectorised(|| match lanes {
            0..=4 => self.pull::<4>(from, ends),
            5..=8 => self.pull::<8>(from, ends),
            _ => self.pull::<LANES>(from, ends),
        })
    }

    #[inline(always)]
    fn pull<const N: usize>(&mut self, from: usize, ends: &[[f64; 2]]) -> Lanes {
        let (mut constant, mut mass) = ([0.0; N], [0.0; N]);
        constant.copy_from_slice(&self.constant[..N]);
        mass.copy_from_slice(&self.mass[..N]);
        for thin in self.steps[..from].iter().rev() {
            for bent in &thin.bent {
                let size = self.reach.size[bent.input as usize];
                let mut a = [0.0; N];
                a.copy_from_slice(&self.coefficients[bent.variable as usize][..N]);
                let into = &mut self.coefficients[bent.input as usize];
                for lane in 0..N {
                    // One factor each, so that what is no number stays none.
                    let below = a[lane] >= 0.0;
                    let share = a[lane]
                        * if below {
                            bent.low.slope
                        } else {
                            bent.high.slope
                        };
                    let part = a[lane] * if below { bent.low.cut } else { bent.high.cut };
                    mass[lane] += (into[lane].abs() + share.abs()) * size + part.abs();
                    into[lane] += share;
                    constant[lane] += part;
                }
            }
            for &(variable, number) in &thin.sums {
                let a = &self.coefficients[variable as usize];
                let size = self.reach.mass[variable as usize];
                for lane in 0..N {
                    constant[lane] += a[lane] * number;
                    mass[lane] += a[lane].abs() * size;
                }
            }
            let mut start = 0;
            for &(variable, end) in &thin.columns {
                let mut sum = [0.0; N];
                sum.copy_from_slice(&self.coefficients[variable as usize][..N]);
                for &(from, weight) in &thin.terms[start..end as usize] {
                    let a = &self.coefficients[from as usize];
                    for lane in 0..N {
                        sum[lane] += a[lane] * weight;
                    }
                }
                start = end as usize;
                self.coefficients[variable as usize][..N].copy_from_slice(&sum);
            }
        }
        for (input, &[low, high]) in ends.iter().enumerate() {
            let a = &self.coefficients[input];
            for lane in 0..N {
                constant[lane] += a[lane] * if a[lane] < 0.0 { high } else { low };
                mass[lane] += a[lane].abs() * self.reach.size[input];
            }
        }
        let terms = max_terms(self.cone);
        let mut bound = [f64::NEG_INFINITY; LANES];
        for lane in 0..N {
            bound[lane] = lowered(constant[lane], mass[lane], terms);
        }
        bound
    }
}

fn before(cone: &Cone, at: usize) -> Option<&Step> {
    at.checked_sub(1).map(|before| &cone.steps[before])
}

#[cfg(test)]
mod tests {
    use deepconcolic_network::{Network, Point};
    use deepconcolic_testing::{Family, Random, network};

    use super::*;
    use crate::bounds::context::Context;
    use crate::certificate::Region;
    use crate::until::Until;

    /// The cone of all logits, its reach over a region and bounds of its units there, if all its
    /// operators are supported.
    fn prepared(network: &Network, region: &Region) -> Option<(Cone, Magnitudes, Vec<[f64; 2]>)> {
        let outputs = network.elements(Point::Logits);
        let targets: Vec<_> = (0..outputs)
            .map(|k| network.element(Point::Logits, k))
            .collect();
        let mut context = Context::new(network, region, Until::NEVER);
        context.prepare(&targets).ok()?;
        let cone = Cone::of(network, &targets, Until::NEVER).ok()?;
        let bounds: Vec<[f64; 2]> = cone.units.iter().map(|unit| context.known[unit]).collect();
        let mut reach = Magnitudes::of(&cone, region);
        reach.advance(&cone, cone.steps.len(), |unit| bounds[unit]);
        Some((cone, reach, bounds))
    }

    /// All variables at a point, in plain arithmetic.
    fn values(cone: &Cone, point: &[f64]) -> Vec<f64> {
        let mut values = point.to_vec();
        for step in &cone.steps {
            match step {
                Step::Sums(sums) => {
                    for k in 0..sums.len() {
                        let terms = sums.terms(k).map(|(v, weight)| weight * values[v]);
                        let sum = terms.sum::<f64>() + sums.constants[k];
                        values.push(sum);
                    }
                }
                Step::Curves(curves) => {
                    for &input in &curves.inputs {
                        let x = values[input as usize];
                        let part = curves.parts.iter().rfind(|part| part.from <= x).unwrap();
                        values.push(part.slope * x + part.intercept);
                    }
                }
            }
        }
        values
    }

    #[test]
    fn bounds_of_boxes_hold_whatever_box_came_before() {
        let mut tightened = 0;
        for seed in 0..12 {
            let family = [Family::Relu, Family::Image, Family::PiecewiseLinear][seed % 3];
            let network = network(family, seed as u64);
            let mut random = Random::new(seed as u64);
            let elements = network.input_elements();
            let region = Region {
                lower: vec![-0.5; elements],
                upper: vec![0.5; elements],
                ..Region::default()
            };
            let Some((cone, reach, known)) = prepared(&network, &region) else {
                continue;
            };
            let layouts = Layouts::of(&cone);
            let mut narrow = BoxBounds::new(&cone, &layouts, &reach);
            for _ in 0..8 {
                let width = random.between(0.01, 0.4);
                let low = random.list(cone.inputs.len(), -0.5, 0.5 - width);
                let ends: Vec<[f64; 2]> = low.iter().map(|&l| [l, l + width]).collect();
                let mut bounds = known.clone();
                assert!(narrow.settle(&ends, &mut bounds));
                let mut fresh = known.clone();
                assert!(BoxBounds::new(&cone, &layouts, &reach).settle(&ends, &mut fresh));
                assert!(bounds == fresh, "what was left of another box shows");
                let both = bounds.iter().zip(&known);
                tightened += both.filter(|(now, before)| now[0] > before[0]).count();
                for _ in 0..20 {
                    let at = random.list(ends.len(), 0.0, 1.0);
                    let point = ends.iter().zip(&at).map(|([l, u], t)| l + t * (u - l));
                    let values = values(&cone, &point.collect::<Vec<f64>>());
                    for curves in cone.steps.iter().filter_map(|step| match step {
                        Step::Curves(curves) => Some(curves),
                        Step::Sums(_) => None,
                    }) {
                        for (k, &input) in curves.inputs.iter().enumerate() {
                            let [l, u] = bounds[curves.first_unit + k];
                            let x = values[input as usize];
                            assert!(l - 1e-9 <= x && x <= u + 1e-9, "{l} {x} {u}");
                        }
                    }
                }
            }
        }
        assert!(tightened > 100, "{tightened}");
    }
}
