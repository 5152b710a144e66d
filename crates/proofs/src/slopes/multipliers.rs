//! Multipliers that make the bound of the checker's quadratic form small: a semidefinite program, by Newton
//! steps on a barrier.
//!
//! With E the squared shares, O the weighted squares of derivatives and `S_k` the product known of unit k, the
//! least `square` is wanted for which `F = square E - O - sum of multiplier_k S_k` has no negative value. The
//! barrier is minus the logarithm of the determinant of F; its weight goes down while steps go well.

use deepconcolic_check::steepness::Quadratic;

use super::matrix::{Factor, Matrix, add_multiple};

/// Most steps.
const STEPS: usize = 60;
/// Multiplications that one search may take, in thousand millions: large forms get fewer steps.
const WORK: f64 = 60e9;
/// How far the bound's square may be from the best, in parts of it.
const TOLERANCE: f64 = 0.01;

/// Multipliers, with what they came to.
pub(super) struct Multipliers {
    /// One for each unit.
    pub values: Vec<f32>,
    /// A square that they show, up to rounding.
    pub square: f64,
    /// For each unit, how much its open slope matters.
    pub influence: Vec<f64>,
}

struct Form {
    outputs: usize,
    objective: Matrix,
    /// The two forms known of each unit.
    low: Matrix,
    high: Matrix,
    /// Ranges of units of one layer, the last layer first.
    blocks: Vec<std::ops::Range<usize>>,
}

impl Form {
    fn of(quadratic: &Quadratic) -> Self {
        let (outputs, units) = (quadratic.outputs(), quadratic.units());
        let n = outputs + units.len();
        let mut objective = Matrix {
            rows: n,
            columns: n,
            entries: quadratic.objective().to_vec(),
        };
        mirror(&mut objective);
        let (mut low, mut high) = (Matrix::zero(units.len(), n), Matrix::zero(units.len(), n));
        for unit in 0..units.len() {
            let known = quadratic.known(unit);
            low.row_mut(unit).copy_from_slice(known[0]);
            high.row_mut(unit).copy_from_slice(known[1]);
        }
        let mut blocks = Vec::new();
        let mut start = 0;
        for same in units.chunk_by(|a, b| (a.node, a.part) == (b.node, b.part)) {
            blocks.push(start..start + same.len());
            start += same.len();
        }
        Self {
            outputs,
            objective,
            low,
            high,
            blocks,
        }
    }

    fn units(&self) -> usize {
        self.low.rows
    }

    /// Adds so much of what is known of some units to a matrix.
    fn add_known(
        &self,
        matrix: &mut Matrix,
        units: std::ops::Range<usize>,
        values: &[f64],
        sign: f64,
    ) {
        let n = self.objective.rows;
        let mut sum = Matrix::zero(n, n);
        for unit in units {
            let half = 0.5 * sign * values[unit];
            for (row, &entry) in self.low.row(unit).iter().enumerate() {
                if entry != 0.0 {
                    add_multiple(sum.row_mut(row), self.high.row(unit), half * entry);
                }
            }
        }
        for row in 0..n {
            for column in 0..n {
                matrix.entries[row * n + column] += sum.at(row, column) + sum.at(column, row);
            }
        }
    }

    /// F
    fn left(&self, square: f64, values: &[f64]) -> Matrix {
        let mut matrix = self.objective.clone();
        matrix.entries.iter_mut().for_each(|entry| *entry = -*entry);
        self.add_known(&mut matrix, 0..self.units(), values, -1.0);
        for output in 0..self.outputs {
            matrix.row_mut(output)[output] += square;
        }
        matrix
    }

    /// Multipliers and a square that leave nothing negative: layer by layer from the input, each large enough
    /// for what the layers before it left.
    fn start(&self) -> Option<(f64, Vec<f64>)> {
        let mut values = vec![0.0; self.units()];
        let mut matrix = self.objective.clone();
        let largest = (0..matrix.rows)
            .map(|k| matrix.at(k, k))
            .fold(0.0, f64::max);
        for block in self.blocks.iter().rev() {
            let range = self.outputs + block.start..self.outputs + block.end;
            let own = matrix.block(range.clone(), range.clone());
            let mut value = 2.0 * own.largest_eigenvalue().max(1e-9 * largest) + f64::MIN_POSITIVE;
            let mut tries = 0;
            let (with, factor) = loop {
                values[block.clone()].fill(value);
                let mut with = matrix.clone();
                self.add_known(&mut with, block.clone(), &values, 1.0);
                let mut own = with.block(range.clone(), range.clone());
                own.entries.iter_mut().for_each(|entry| *entry = -*entry);
                match Factor::of(own) {
                    Some(factor) => break (with, factor),
                    None if tries < 20 => (value, tries) = (2.0 * value, tries + 1),
                    None => return None,
                }
            };
            // What is left once this layer's unknowns are at their worst.
            let beside = with.block(range.clone(), 0..range.start);
            let worst = beside.transposed().times(&factor.solve(beside));
            matrix = with;
            for row in 0..range.start {
                add_multiple(&mut matrix.row_mut(row)[..range.start], worst.row(row), 1.0);
            }
        }
        let shares = matrix.block(0..self.outputs, 0..self.outputs);
        let square = 2.0 * shares.largest_eigenvalue() + f64::MIN_POSITIVE;
        Some((square, values))
    }
}

/// Copies what is right of the diagonal to the left.
fn mirror(matrix: &mut Matrix) {
    for row in 0..matrix.rows {
        for column in 0..row {
            let entry = matrix.at(column, row);
            matrix.row_mut(row)[column] = entry;
        }
    }
}

/// Looks for multipliers; none if the numbers are beyond it.
pub(super) fn search(quadratic: &Quadratic, is_over: &dyn Fn() -> bool) -> Option<Multipliers> {
    let form = Form::of(quadratic);
    let n = form.objective.rows;
    let (mut square, mut values) = form.start()?;
    let mut influence = vec![0.0; values.len()];
    let mut weight = square / n as f64;
    let each = 8.0 * (n as f64).powi(3);
    let steps = ((WORK / each) as usize).clamp(12, STEPS);
    for _ in 0..steps {
        if values.is_empty() || is_over() {
            break;
        }
        let Some(newton) = Newton::at(&form, square, &values, weight) else {
            break;
        };
        influence = newton.influence;
        let Some(length) = form.longest(square, &values, &newton.step) else {
            break;
        };
        square += length * newton.step[0];
        for (value, step) in values.iter_mut().zip(&newton.step[1..]) {
            *value += length * step;
        }
        if length > 0.4 {
            if weight * (n as f64) < TOLERANCE * square {
                break;
            }
            weight *= 0.3;
        }
    }
    Some(Multipliers {
        values: values.iter().map(|&value| value as f32).collect(),
        square,
        influence,
    })
}

impl Form {
    /// How much of a step leaves nothing negative, with a distance from where it would not.
    fn longest(&self, square: f64, values: &[f64], step: &[f64]) -> Option<f64> {
        let mut length = 1.0;
        for _ in 0..60 {
            let moved: Vec<f64> = values
                .iter()
                .zip(&step[1..])
                .map(|(value, step)| value + length * step)
                .collect();
            let inside = moved.iter().all(|&value| value > 0.0);
            if inside && Factor::of(self.left(square + length * step[0], &moved)).is_some() {
                return Some(if length < 1.0 { 0.7 * length } else { 1.0 });
            }
            length *= 0.7;
        }
        None
    }
}

/// A Newton step of the square and the multipliers.
struct Newton {
    step: Vec<f64>,
    influence: Vec<f64>,
}

impl Newton {
    fn at(form: &Form, square: f64, values: &[f64], weight: f64) -> Option<Self> {
        let (n, units) = (form.objective.rows, form.units());
        let inverse = Factor::of(form.left(square, values))?.solve(Matrix::identity(n));
        let low = form.low.times(&inverse);
        let high = form.high.times(&inverse);
        // Products of the known forms by the inverse: low with low, low with high, high with high.
        let high_columns = high.transposed();
        let low_low = form.low.times(&low.transposed());
        let low_high = form.low.times(&high_columns);
        let high_high = form.high.times(&high_columns);
        let size = units + 1;
        let mut curvature = Matrix::zero(size, size);
        let mut slope = vec![0.0; size];
        for a in 0..form.outputs {
            slope[0] -= inverse.at(a, a);
            for b in 0..form.outputs {
                curvature.entries[0] += inverse.at(a, b).powi(2);
            }
        }
        slope[0] += 1.0 / weight;
        for k in 0..units {
            slope[k + 1] = low_high.at(k, k);
            let shares = low.row(k)[..form.outputs].iter().zip(high.row(k));
            let mixed = -shares.map(|(a, b)| a * b).sum::<f64>();
            curvature.row_mut(0)[k + 1] = mixed;
            curvature.row_mut(k + 1)[0] = mixed;
            for l in 0..units {
                let entry =
                    low_high.at(k, l) * low_high.at(l, k) + low_low.at(k, l) * high_high.at(k, l);
                curvature.row_mut(k + 1)[l + 1] = 0.5 * entry;
            }
        }
        let down = Matrix {
            rows: size,
            columns: 1,
            entries: slope.iter().map(|s| -s).collect(),
        };
        let step = solve_damped(&curvature, down)?;
        let influence = (0..units).map(|k| {
            let whole = low_low.at(k, k) + 2.0 * low_high.at(k, k) + high_high.at(k, k);
            values[k] * whole
        });
        Some(Self {
            step: step.entries,
            influence: influence.collect(),
        })
    }
}

/// Solves with a little more on the diagonal, and more of it as long as rounding spoils the factor.
fn solve_damped(matrix: &Matrix, right: Matrix) -> Option<Matrix> {
    let mut damping = 1e-14;
    while damping < 1e-2 {
        let mut damped = matrix.clone();
        for k in 0..damped.rows {
            damped.row_mut(k)[k] *= 1.0 + damping;
        }
        if let Some(factor) = Factor::of(damped) {
            return Some(factor.solve(right));
        }
        damping *= 100.0;
    }
    None
}
