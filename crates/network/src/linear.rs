//! Backward linear bounds (CROWN, DeepPoly): a weighted sum of neurons is bounded by a linear
//! function of the input, found by pulling its coefficients back through the operators and
//! replacing each nonlinear one by a line below or above.
//!
//! Exact arithmetic would make these bounds sound; here they are rounded to nearest. They steer
//! searches. What is reported as proven is checked elsewhere with rounding accounted for.

use crate::Scalar;
use crate::interval::Bounds;
use crate::network::{Network, Node, ValueId};
use crate::operator::{
    Backward, Batch, Boxes, Nature, Operand, PhaseRow, Relaxation, Scratch, SparseRows,
};
use crate::vjp::Seed;

/// Rows of coefficients over each stored tensor.
type Coefficients<T> = Vec<Option<Vec<T>>>;

impl Network {
    /// A lower bound of each weighted sum of elements, over the one box that `bounds` was computed
    /// for. An upper bound is the negated lower bound of the negated sum.
    ///
    /// # Panics
    /// When `bounds` is not of exactly one box.
    pub fn linear_lower<T: Scalar>(&self, bounds: &Bounds<T>, sums: &[Vec<Seed<T>>]) -> Vec<T> {
        assert_eq!(bounds.samples(), 1, "linear bounds are taken over one box");
        let rows = sums.len();
        let mut coefficients: Coefficients<T> = vec![None; self.values.len()];
        let mut constants = vec![T::ZERO; rows];
        for (r, seed) in sums
            .iter()
            .enumerate()
            .flat_map(|(r, s)| s.iter().map(move |s| (r, s)))
        {
            let place = self.place(seed.point);
            let each = place.shape.elements();
            let row = coefficients[place.value].get_or_insert_with(|| vec![T::ZERO; rows * each]);
            row[r * each + place.stored_index(seed.element)] += seed.weight;
        }
        let mut scratch = Vec::new();
        for node in self.nodes.iter().rev() {
            if let Some(output) = coefficients[node.output].take() {
                let step = Step {
                    network: self,
                    node,
                    bounds,
                    rows,
                };
                step.pull(&output, &mut coefficients, &mut constants, &mut scratch);
            }
        }
        if let Some(input) = &coefficients[self.input.value] {
            let each = self.input_elements();
            let (low, high) = (
                &bounds.lower[self.input.value],
                &bounds.upper[self.input.value],
            );
            for (constant, row) in constants.iter_mut().zip(input.chunks_exact(each)) {
                for ((&a, &l), &u) in row.iter().zip(low).zip(high) {
                    *constant += if a < T::ZERO { a * u } else { a * l };
                }
            }
        }
        constants
    }
}

/// One node on the way down.
struct Step<'a, T> {
    network: &'a Network,
    node: &'a Node,
    bounds: &'a Bounds<T>,
    rows: usize,
}

impl<T: Scalar> Step<'_, T> {
    fn pull(
        &self,
        output: &[T],
        coefficients: &mut Coefficients<T>,
        constants: &mut [T],
        scratch: &mut Scratch<T>,
    ) {
        if self.node.nature == Nature::Affine {
            self.pull_affine(output, coefficients, constants, scratch);
            return;
        }
        let ranges = self.network.ranges(self.bounds, &self.node.inputs);
        let boxes = Boxes {
            samples: 1,
            inputs: &ranges,
            output: &self.node.shape,
        };
        match T::evaluate(self.node.op.as_ref()).relax(&boxes, scratch) {
            Relaxation::Elementwise { lower, upper } => {
                let value = self.variable();
                let each = self.node.shape.elements();
                let mut input = vec![T::ZERO; self.rows * each];
                for (r, constant) in constants.iter_mut().enumerate() {
                    for e in 0..each {
                        let a = output[r * each + e];
                        let line = if a < T::ZERO { &upper } else { &lower };
                        input[r * each + e] = a * line.0[e];
                        // An unbounded side with a zero coefficient must not make a NaN.
                        if a != T::ZERO {
                            *constant += a * line.1[e];
                        }
                    }
                }
                add(&mut coefficients[value], input);
            }
            Relaxation::Sparse { lower, upper } => {
                self.pull_sparse(output, (&lower, &upper), coefficients, constants);
            }
        }
    }

    /// The input that is not a constant.
    fn variable(&self) -> ValueId {
        let mut inputs = self.node.inputs.iter().map(|(value, _)| *value);
        inputs
            .find(|&value| self.network.values[value].constant().is_none())
            .unwrap_or(self.network.input.value)
    }

    /// An affine operator is its derivative and its value at zero.
    fn pull_affine(
        &self,
        output: &[T],
        coefficients: &mut Coefficients<T>,
        constants: &mut [T],
        scratch: &mut Scratch<T>,
    ) {
        let op = T::evaluate(self.node.op.as_ref());
        let known: Vec<Option<&[T]>> = self
            .node
            .inputs
            .iter()
            .map(|(value, _)| self.network.values[*value].constant().map(T::constant))
            .collect();
        let zeros = vec![T::ZERO; self.largest_input()];
        let operands: Vec<Operand<'_, T>> = self
            .node
            .inputs
            .iter()
            .zip(&known)
            .map(|((_, shape), known)| Operand {
                data: known.unwrap_or(&zeros[..shape.elements()]),
                shape,
                constant: known.is_some(),
            })
            .collect();
        let each = self.node.shape.elements();
        let mut offset = vec![T::ZERO; each];
        let batch = Batch {
            samples: 1,
            inputs: &operands,
            output: &self.node.shape,
        };
        op.forward(&batch, &mut offset, scratch);
        for (constant, row) in constants.iter_mut().zip(output.chunks_exact(each.max(1))) {
            *constant += row.iter().zip(&offset).map(|(&a, &b)| a * b).sum::<T>();
        }
        let phases = vec![PhaseRow::Fixed; self.rows];
        let inputs: Vec<_> = self
            .node
            .inputs
            .iter()
            .zip(&known)
            .map(|((_, shape), known)| (shape, *known))
            .collect();
        let call = Backward {
            rows: self.rows,
            phases: &phases,
            inputs: &inputs,
            output: &self.node.shape,
        };
        for (position, (value, shape)) in self.node.inputs.iter().enumerate() {
            if known[position].is_none() {
                let mut input = vec![T::ZERO; self.rows * shape.elements()];
                op.vjp(position, &call, output, &mut input, scratch);
                add(&mut coefficients[*value], input);
            }
        }
    }

    fn largest_input(&self) -> usize {
        let sizes = self.node.inputs.iter().map(|(_, shape)| shape.elements());
        sizes.max().unwrap_or(0)
    }

    fn pull_sparse(
        &self,
        output: &[T],
        (lower, upper): (&SparseRows<T>, &SparseRows<T>),
        coefficients: &mut Coefficients<T>,
        constants: &mut [T],
    ) {
        let each = self.node.shape.elements();
        let mut pulled: Vec<Vec<T>> = self
            .node
            .inputs
            .iter()
            .map(|(_, shape)| vec![T::ZERO; self.rows * shape.elements()])
            .collect();
        for (r, constant) in constants.iter_mut().enumerate() {
            for e in 0..each {
                let a = output[r * each + e];
                if a == T::ZERO {
                    continue;
                }
                let line = if a < T::ZERO { upper } else { lower };
                *constant += a * line.constants[e];
                for &(input, element, slope) in &line.entries[line.starts[e]..line.starts[e + 1]] {
                    let (input, element) = (input as usize, element as usize);
                    let (value, shape) = &self.node.inputs[input];
                    match self.network.values[*value].constant() {
                        Some(known) => *constant += a * slope * T::constant(known)[element],
                        None => pulled[input][r * shape.elements() + element] += a * slope,
                    }
                }
            }
        }
        for ((value, _), part) in self.node.inputs.iter().zip(pulled) {
            if self.network.values[*value].constant().is_none() {
                add(&mut coefficients[*value], part);
            }
        }
    }
}

fn add<T: Scalar>(slot: &mut Option<Vec<T>>, part: Vec<T>) {
    match slot {
        Some(sum) => {
            for (sum, part) in sum.iter_mut().zip(part) {
                *sum += part;
            }
        }
        None => *slot = Some(part),
    }
}
