//! What is known over one box: bounds of units, computed layer by layer, each from those before. All
//! questions about the box share it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use deepconcolic_check::{Region, Unit, Unsupported, Until};
use deepconcolic_network::{Element, Network, Plain};
use rayon::prelude::*;

use crate::changes::Choice;
use crate::lanes::{LANES, Lanes, all};
use crate::lines::{UnitLines, is_flat, lines, range};
use crate::pass::Backward;
use crate::program::{Curves, Program, Step, influences};

/// Units and what their inputs lie between.
type Found = Vec<(Unit, [f64; 2])>;

/// Bounds of units over a box.
#[derive(Debug)]
pub(crate) struct Knowledge<'a> {
    pub network: &'a Network,
    pub region: Region,
    known: HashMap<Unit, [f64; 2]>,
    /// How long all that took to compute.
    pub took: Duration,
}

impl<'a> Knowledge<'a> {
    pub fn new(network: &'a Network, region: Region) -> Self {
        Self {
            network,
            region,
            known: HashMap::new(),
            took: Duration::ZERO,
        }
    }

    /// Computes bounds of every unit that some elements depend on, as far as there is time.
    pub fn prepare(&mut self, targets: &[Element], until: Until<'_>) -> Result<(), Unsupported> {
        let start = Instant::now();
        let prepared = self.prepare_nodes(targets, until);
        self.took += start.elapsed();
        prepared
    }

    fn prepare_nodes(&mut self, targets: &[Element], until: Until<'_>) -> Result<(), Unsupported> {
        let wanted = influences(self.network, targets, until)?;
        for node in 0..self.network.nodes() {
            let elements = &wanted[self.network.node_output(node)];
            let curved = !matches!(self.network.plain(node), Plain::Affine | Plain::Opaque);
            if curved && !elements.is_empty() {
                self.prepare_node(node, elements, until)?;
            }
        }
        Ok(())
    }

    fn prepare_node(
        &mut self,
        node: usize,
        elements: &[usize],
        until: Until<'_>,
    ) -> Result<(), Unsupported> {
        let value = self.network.node_output(node);
        let chained = matches!(self.network.plain(node), Plain::Largest | Plain::Smallest);
        let part = u32::from(chained);
        let is_new = |element: usize| {
            let (node, element) = (node as u32, element as u32);
            !self.known.contains_key(&Unit {
                node,
                element,
                part,
            })
        };
        let unknown: Vec<usize> = elements.iter().copied().filter(|&e| is_new(e)).collect();
        // The channels of one pixel depend on the same inputs; so do all outputs of a dense layer.
        let shape = self.network.node_shape(node).dims();
        let pixel = shape.last().copied().unwrap_or(1).max(1);
        let groups: Vec<&[usize]> = unknown.chunk_by(|a, b| a / pixel == b / pixel).collect();
        let found: Vec<Result<Found, Unsupported>> = groups
            .into_par_iter()
            .map(|group| {
                let targets: Vec<Element> = group
                    .iter()
                    .map(|&index| Element { value, index })
                    .collect();
                let program = Program::of(self.network, &targets, until)?;
                self.bound(&program, until)
            })
            .collect();
        // What was bounded before time was up need not be bounded again.
        let mut ended = Ok(());
        for found in found {
            match found {
                Ok(found) => self.known.extend(found),
                Err(reason) => ended = ended.and(Err(reason)),
            }
        }
        ended
    }

    /// The box of a program's inputs, in every lane.
    pub fn ends(&self, program: &Program) -> Vec<[Lanes; 2]> {
        let ends = |&e: &usize| [all(self.region.lower[e]), all(self.region.upper[e])];
        program.inputs.iter().map(ends).collect()
    }

    /// How a program's inputs move, if few may.
    pub fn choice(&self, program: &Program) -> Option<Arc<Choice>> {
        Choice::of_region(&self.region, &program.inputs)
    }

    /// The bounds of a program's units, all of which must be known.
    pub fn bounds(&self, program: &Program) -> Vec<[f64; 2]> {
        let unbounded = [f64::NEG_INFINITY, f64::INFINITY];
        let bounds = |unit| self.known.get(unit).copied().unwrap_or(unbounded);
        program.units.iter().map(bounds).collect()
    }

    /// Bounds of the units of a program that are not known yet.
    fn bound(&self, program: &Program, until: Until<'_>) -> Result<Found, Unsupported> {
        let mut sweep = Sweep {
            intervals: vec![[0.0; 2]; program.variables],
            lines: Vec::with_capacity(program.units.len()),
            backward: Backward::new(program),
            ends: self.ends(program),
            choice: self.choice(program),
            until,
        };
        for (interval, &e) in sweep.intervals.iter_mut().zip(&program.inputs) {
            *interval = [self.region.lower[e], self.region.upper[e]];
        }
        let mut found = Vec::new();
        for (index, step) in program.steps.iter().enumerate() {
            until.go_on()?;
            match step {
                Step::Sums(sums) => {
                    for k in 0..sums.constants.len() {
                        let (variables, weights) = sums.rows.row(k);
                        let mut sum = [sums.constants[k]; 2];
                        for (&variable, &weight) in variables.iter().zip(weights) {
                            let [l, u] = sweep.intervals[variable as usize];
                            let (low, high) = if weight < 0.0 { (u, l) } else { (l, u) };
                            sum[0] += weight * low;
                            sum[1] += weight * high;
                        }
                        sweep.intervals[sums.first + k] = sum;
                    }
                }
                Step::Curves(curves) => {
                    let names = &program.units[curves.first_unit..][..curves.inputs.len()];
                    let known: Vec<Option<[f64; 2]>> =
                        names.iter().map(|u| self.known.get(u).copied()).collect();
                    let bounds = sweep.curves(program, index, curves, &known)?;
                    for ((name, known), bounds) in names.iter().zip(known).zip(bounds) {
                        if known.is_none() {
                            found.push((*name, bounds));
                        }
                    }
                }
            }
        }
        Ok(found)
    }
}

/// Bounds over one box, carried forward step by step.
struct Sweep<'a> {
    intervals: Vec<[f64; 2]>,
    lines: Vec<UnitLines>,
    backward: Backward,
    ends: Vec<[Lanes; 2]>,
    /// How inputs move, if few may.
    choice: Option<Arc<Choice>>,
    until: Until<'a>,
}

impl Sweep<'_> {
    fn curves(
        &mut self,
        program: &Program,
        step: usize,
        curves: &Curves,
        known: &[Option<[f64; 2]>],
    ) -> Result<Vec<[f64; 2]>, Unsupported> {
        let inputs = curves.inputs.iter().map(|&v| self.intervals[v as usize]);
        let mut bounds: Vec<[f64; 2]> = inputs
            .zip(known)
            .map(|(interval, known)| known.unwrap_or(interval))
            .collect();
        let open: Vec<usize> = (0..bounds.len())
            .filter(|&k| {
                let [l, u] = bounds[k];
                // Over a box intervals of the first sums are exact.
                let deep = curves.first_unit > 0 || self.choice.is_some();
                let deep = deep && known[k].is_none();
                deep && !is_flat(&curves.parts, l, u)
            })
            .collect();
        for chunk in open.chunks(LANES / 2) {
            self.until.go_on()?;
            self.backward.clear(curves.first);
            for (pair, &k) in chunk.iter().enumerate() {
                let variable = curves.inputs[k] as usize;
                self.backward.seed(variable, 2 * pair, 1.0);
                self.backward.seed(variable, 2 * pair + 1, -1.0);
            }
            self.backward.run(program, step, &self.lines, &[]);
            let lower = self.backward.lower(&self.ends, self.choice.as_deref());
            for (pair, &k) in chunk.iter().enumerate() {
                let [l, u] = &mut bounds[k];
                *l = l.max(lower[2 * pair]);
                *u = u.min(-lower[2 * pair + 1]).max(*l);
            }
        }
        for (k, &[l, u]) in bounds.iter().enumerate() {
            self.intervals[curves.first + k] = range(&curves.parts, l, u);
            let lines = lines(&curves.parts, l, u, None);
            self.lines.push(UnitLines::all(lines));
        }
        Ok(bounds)
    }
}
