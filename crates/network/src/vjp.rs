//! Vector-Jacobian products at recorded points: for each row, the gradient with respect to the
//! input of a weighted sum of neurons, which may lie in several layers.
//!
//! With phases fixed a piecewise-linear network is affine, so a row is also the affine piece of
//! its target: `u = row . x + c` for all x in the cell.

use rayon::prelude::*;

use crate::Scalar;
use crate::network::{Network, Point, Source, ValueId};
use crate::operator::{Backward, PhaseRow};
use crate::ops::reorder;
use crate::tape::Tape;
use crate::workspace::{Buffer, Workspace};

/// A term of a row's target: one element of a tensor, in the model file's order, and its weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seed<T> {
    /// Which tensor.
    pub point: Point,
    /// Which element.
    pub element: usize,
    /// Its weight in the sum.
    pub weight: T,
}

/// One vector-Jacobian product.
#[derive(Debug, Clone)]
pub struct Row<T> {
    /// The sample of the tape whose phases hold.
    pub sample: usize,
    /// The weighted sum to differentiate.
    pub seeds: Vec<Seed<T>>,
}

impl<T: Scalar> Row<T> {
    /// The derivative of one element.
    pub fn of(sample: usize, point: Point, element: usize) -> Self {
        Self {
            sample,
            seeds: vec![Seed {
                point,
                element,
                weight: T::ONE,
            }],
        }
    }
}

impl Network {
    /// One gradient per row with respect to the input, in the model file's order.
    ///
    /// # Panics
    /// When a row names a sample or tensor that the tape does not cover.
    pub fn vjp<T: Scalar>(&self, tape: &Tape<T>, rows: &[Row<T>]) -> Vec<T> {
        let each = self.input_elements();
        // Rows that start deepest come first, so that the rows at work at any operator are the
        // first so many: shallow targets cost nothing in the layers above them.
        let depths: Vec<usize> = rows.iter().map(|row| self.depth(row)).collect();
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|&r| std::cmp::Reverse(depths[r]));
        let chunk = self.chunk::<T>(&vec![true; self.nodes.len()]);
        let workspaces = T::workspaces(&self.workspaces);
        let parts: Vec<Vec<T>> = order
            .par_chunks(chunk)
            .map(|part| {
                let rows: Vec<&Row<T>> = part.iter().map(|&r| &rows[r]).collect();
                let depths: Vec<usize> = part.iter().map(|&r| depths[r]).collect();
                workspaces.with(|w| Sweep::new(self, tape, &rows, &depths).run(w))
            })
            .collect();
        let mut gradients = vec![T::ZERO; rows.len() * each];
        for (part, indices) in parts.iter().zip(order.chunks(chunk)) {
            for (gradient, &r) in part.chunks_exact(each.max(1)).zip(indices) {
                let target = &mut gradients[r * each..(r + 1) * each];
                reorder(&self.input.order, &self.input.shape, gradient, target);
            }
        }
        gradients
    }

    /// How far up a row starts: one more than the node of its deepest seed, 0 for the input.
    fn depth<T>(&self, row: &Row<T>) -> usize {
        let depth = |seed: &Seed<T>| self.height(self.place(seed.point).value);
        row.seeds.iter().map(depth).max().unwrap_or(0)
    }

    fn height(&self, value: ValueId) -> usize {
        match self.values[value].source {
            Source::Node(node) => node + 1,
            Source::Input | Source::Constant(_) => 0,
        }
    }
}

/// One chunk of rows on its way down.
struct Sweep<'a, T> {
    network: &'a Network,
    tape: &'a Tape<T>,
    rows: &'a [&'a Row<T>],
    /// For each node, how many of the rows are at work there.
    active: Vec<usize>,
}

impl<'a, T: Scalar> Sweep<'a, T> {
    fn new(
        network: &'a Network,
        tape: &'a Tape<T>,
        rows: &'a [&'a Row<T>],
        depths: &[usize],
    ) -> Self {
        let active = (0..network.nodes.len())
            .map(|node| depths.partition_point(|&d| d > node))
            .collect();
        Self {
            network,
            tape,
            rows,
            active,
        }
    }

    fn run(&self, workspace: &mut Workspace<T>) -> Vec<T> {
        let network = self.network;
        let mut cotangents: Vec<Option<Buffer<T>>> =
            (0..network.values.len()).map(|_| None).collect();
        self.plant(&mut cotangents, workspace);
        for (index, node) in network.nodes.iter().enumerate().rev() {
            let Some(cotangent) = cotangents[node.output].take() else {
                continue;
            };
            let rows = self.active[index];
            let phases: Vec<PhaseRow<'_, T>> = self.rows[..rows]
                .iter()
                .map(|row| self.tape.phase(index, row.sample))
                .collect();
            let inputs: Vec<_> = node
                .inputs
                .iter()
                .map(|(value, shape)| {
                    let constant = network.values[*value].constant().map(T::constant);
                    (shape, constant)
                })
                .collect();
            let call = Backward {
                rows,
                phases: &phases,
                inputs: &inputs,
                output: &node.shape,
            };
            for (position, (value, shape)) in node.inputs.iter().enumerate() {
                if inputs[position].1.is_some() {
                    continue;
                }
                let mut result = workspace.take(rows * shape.elements());
                T::evaluate(node.op.as_ref()).vjp(
                    position,
                    &call,
                    &cotangent,
                    &mut result,
                    &mut workspace.scratch,
                );
                self.collect(&mut cotangents[*value], *value, result, workspace);
            }
            workspace.give(cotangent);
        }
        let mut gradient = vec![T::ZERO; self.rows.len() * network.input_elements()];
        if let Some(cotangent) = cotangents[network.input.value].take() {
            gradient[..cotangent.len()].copy_from_slice(&cotangent);
            workspace.give(cotangent);
        }
        gradient
    }

    /// Puts the seeds of all rows where they belong.
    fn plant(&self, cotangents: &mut [Option<Buffer<T>>], workspace: &mut Workspace<T>) {
        for (r, row) in self.rows.iter().enumerate() {
            for seed in &row.seeds {
                let place = self.network.place(seed.point);
                let each = place.shape.elements();
                let cotangent = cotangents[place.value]
                    .get_or_insert_with(|| workspace.zeros(self.rows_at(place.value) * each));
                cotangent[r * each + place.stored_index(seed.element)] += seed.weight;
            }
        }
    }

    /// Rows that have a cotangent at a stored tensor.
    fn rows_at(&self, value: ValueId) -> usize {
        match self.network.values[value].source {
            Source::Node(node) => self.active[node],
            Source::Input | Source::Constant(_) => self.rows.len(),
        }
    }

    /// Adds what one reader of a tensor pulled back, for its active rows, to the tensor's own.
    fn collect(
        &self,
        slot: &mut Option<Buffer<T>>,
        value: ValueId,
        mut result: Buffer<T>,
        workspace: &mut Workspace<T>,
    ) {
        if let Some(sum) = slot {
            for (sum, &part) in sum.iter_mut().zip(result.iter()) {
                *sum += part;
            }
            workspace.give(result);
        } else {
            let whole = self.rows_at(value) * self.network.values[value].elements;
            result.extend_to(whole);
            *slot = Some(result);
        }
    }
}
