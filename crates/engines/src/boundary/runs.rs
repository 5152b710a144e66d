//! Many inputs run at once, and comparisons read there.

use deepconcolic_network::{Row, Trace};

use super::ways::Way;
use crate::atom::Atom;
use crate::budget::Effort;
use crate::observed::{Affine, pass, request, steered};
use crate::task::Task;

/// Inputs that were run together.
pub(super) struct Runs<'a> {
    task: &'a Task<'a>,
    pub inputs: Vec<Vec<f32>>,
    trace: Trace<f32>,
}

impl<'a> Runs<'a> {
    /// Runs inputs, keeping what comparisons and their derivatives need.
    pub fn of(task: &'a Task<'a>, inputs: Vec<Vec<f32>>, effort: &mut Effort) -> Self {
        effort.forward += inputs.len();
        let trace = task.network.forward(&inputs.concat(), &pass(&task.points));
        Self {
            task,
            inputs,
            trace,
        }
    }

    /// The left side of a comparison at one of the inputs.
    pub fn value(&self, sample: usize, atom: &Atom) -> f64 {
        let term = |term: &crate::atom::Term| {
            let values = self.trace.sample(term.point, sample);
            term.coefficient * f64::from(values[term.element])
        };
        atom.constant + atom.terms.iter().map(term).sum::<f64>()
    }

    /// Whether a comparison holds by its margin at one of the inputs.
    pub fn meets(&self, sample: usize, atom: &Atom) -> bool {
        let value = self.value(sample, atom);
        value >= atom.margin && (!atom.strict || value > 0.0)
    }

    /// Whether all comparisons of a way hold at one of the inputs.
    pub fn is_way(&self, sample: usize, way: &Way) -> bool {
        way.iter().all(|atom| self.meets(sample, atom))
    }

    /// The first way that holds at one of the inputs, this one before all others.
    pub fn way(&self, sample: usize, ways: &[Way], first: usize) -> Option<usize> {
        if self.is_way(sample, &ways[first]) {
            return Some(first);
        }
        (0..ways.len()).find(|&way| self.is_way(sample, &ways[way]))
    }

    /// How near a way is at one of the inputs, in units of its scale: met above 0.
    pub fn nearness(&self, sample: usize, way: &Way) -> f64 {
        let value = |atom: &Atom| (self.value(sample, atom) - atom.margin) / atom.scale;
        way.iter().map(value).fold(f64::INFINITY, f64::min)
    }

    /// The comparison of a way that is furthest from being met at one of the inputs.
    pub fn farthest<'w>(&self, sample: usize, way: &'w Way) -> Option<&'w Atom> {
        let value = |atom: &Atom| (self.value(sample, atom) - atom.margin) / atom.scale;
        way.iter().min_by(|a, b| value(a).total_cmp(&value(b)))
    }

    /// The affine pieces of comparisons, each at one of the inputs.
    pub fn affine(&self, wanted: &[(usize, &Atom)], effort: &mut Effort) -> Vec<Affine> {
        let network = self.task.network;
        let Some(tape) = self.trace.tape() else {
            return Vec::new();
        };
        let rows: Vec<Row<f32>> = wanted
            .iter()
            .map(|&(sample, atom)| Row {
                sample,
                seeds: request(network, atom, 0),
            })
            .collect();
        effort.vjp += rows.len();
        let gradients = network.vjp(tape, &rows);
        let each = network.input_elements().max(1);
        gradients
            .chunks_exact(each)
            .zip(wanted)
            .map(|(gradient, &(sample, atom))| {
                // Where a silent Relu should grow its input is read, as its derivative is.
                let read = Atom {
                    terms: atom.terms.iter().map(|t| steered(network, t)).collect(),
                    ..atom.clone()
                };
                let mut row = Affine {
                    gradient: gradient.to_vec(),
                    constant: 0.0,
                };
                let explained = row.at(std::iter::once(self.inputs[sample].as_slice()));
                row.constant = self.value(sample, &read) - explained;
                row
            })
            .collect()
    }
}
