//! What is known over one box: bounds of units, computed here layer by layer, each from those before.

use std::collections::HashMap;
use std::sync::Arc;

use deepconcolic_network::{Element, Network, Plain};
use rayon::prelude::*;

use crate::bounds::backward::{LANES, Magnitudes, Pull, UnitLines};
use crate::bounds::changes::{Choice, Limits};
use crate::bounds::cone::{Cone, Curves, Step, needed};
use crate::bounds::lines::{is_flat, lines, range};
use crate::certificate::{Region, Unit};
use crate::error::Unsupported;
use crate::until::Until;

/// Bounds of units over a box.
pub(crate) struct Context<'a> {
    pub network: &'a Network,
    pub region: &'a Region,
    pub known: HashMap<Unit, [f64; 2]>,
    /// When judging must end.
    pub until: Until<'a>,
}

impl<'a> Context<'a> {
    pub fn new(network: &'a Network, region: &'a Region, until: Until<'a>) -> Self {
        Self {
            network,
            region,
            known: HashMap::new(),
            until,
        }
    }

    /// Computes bounds of every unit that some elements depend on. Some are missing if time was up.
    pub fn prepare(&mut self, targets: &[Element]) -> Result<(), Unsupported> {
        let needed = needed(self.network, targets, self.until)?;
        for node in 0..self.network.nodes() {
            let value = self.network.node_output(node);
            let Some(elements) = needed.get(&value) else {
                continue;
            };
            let curved = !matches!(self.network.plain(node), Plain::Affine | Plain::Opaque);
            if curved {
                self.prepare_node(node, elements)?;
            }
        }
        Ok(())
    }

    fn prepare_node(&mut self, node: usize, elements: &[usize]) -> Result<(), Unsupported> {
        let value = self.network.node_output(node);
        let chained = matches!(self.network.plain(node), Plain::Largest | Plain::Smallest);
        let part = u32::from(chained);
        let unknown: Vec<usize> = elements
            .iter()
            .copied()
            .filter(|&element| {
                let (node, element) = (node as u32, element as u32);
                let unit = Unit {
                    node,
                    element,
                    part,
                };
                !self.known.contains_key(&unit)
            })
            .collect();
        // The channels of one pixel depend on the same inputs; so do all outputs of a dense layer.
        let shape = self.network.node_shape(node).dims();
        let pixel = shape.last().copied().unwrap_or(1).max(1);
        let groups: Vec<&[usize]> = unknown.chunk_by(|a, b| a / pixel == b / pixel).collect();
        let found: Vec<Vec<(Unit, [f64; 2])>> = groups
            .into_par_iter()
            .map(|group| {
                let targets: Vec<Element> = group
                    .iter()
                    .map(|&index| Element { value, index })
                    .collect();
                let cone = Cone::of(self.network, &targets, self.until)?;
                self.bound(&cone)
            })
            .collect::<Result<_, Unsupported>>()?;
        self.known.extend(found.into_iter().flatten());
        Ok(())
    }

    /// Bounds of the units of a cone that are not known yet.
    fn bound(&self, cone: &Cone) -> Result<Vec<(Unit, [f64; 2])>, Unsupported> {
        let mut sweep = Sweep::new(cone, self.region);
        let mut found = Vec::new();
        for (index, step) in cone.steps.iter().enumerate() {
            self.until.go_on()?;
            match step {
                Step::Sums(_) => sweep.step(cone, index),
                Step::Curves(curves) => {
                    let names = &cone.units[curves.first_unit..][..curves.inputs.len()];
                    let open: Vec<usize> = (0..names.len())
                        .filter(|&k| !self.known.contains_key(&names[k]))
                        .collect();
                    for (k, name) in names.iter().enumerate() {
                        if let Some(bounds) = self.known.get(name) {
                            sweep.settle(curves, k, *bounds);
                        }
                    }
                    sweep.tighten(cone, index, &open, self.until)?;
                    for k in open {
                        found.push((names[k], sweep.bounds[curves.first_unit + k]));
                    }
                    sweep.step(cone, index);
                }
            }
        }
        Ok(found)
    }
}

/// Bounds over one box, carried forward step by step.
struct Sweep {
    /// Ends of every variable by interval arithmetic.
    ends: Vec<[f64; 2]>,
    /// Bounds of every unit's input.
    bounds: Vec<[f64; 2]>,
    lines: Vec<UnitLines>,
    reach: Magnitudes,
    pull: Pull,
    /// Whether few inputs may move at a time.
    limited: bool,
}

/// How the inputs of a cone move over a region that limits how many do.
pub(crate) fn choice(cone: &Cone, region: &Region) -> Option<Arc<Choice>> {
    let changes = region.changes.as_ref()?;
    let ends = |&e: &usize| [region.lower[e], region.upper[e]];
    let ends: Vec<[f64; 2]> = cone.inputs.iter().map(ends).collect();
    let choice = Choice::of(changes, &Limits::of(changes), &cone.inputs, &ends);
    choice.map(Arc::new)
}

impl Sweep {
    fn new(cone: &Cone, region: &Region) -> Self {
        let mut ends = vec![[0.0; 2]; cone.variables];
        for (ends, &element) in ends.iter_mut().zip(&cone.inputs) {
            *ends = [region.lower[element], region.upper[element]];
        }
        Self {
            ends,
            bounds: vec![[0.0; 2]; cone.units.len()],
            lines: Vec::with_capacity(cone.units.len()),
            reach: Magnitudes::of(cone, region),
            pull: Pull::new(cone, choice(cone, region)),
            limited: region.changes.is_some(),
        }
    }

    /// The ends of what a step defines, once its units are bounded.
    fn step(&mut self, cone: &Cone, index: usize) {
        let bounds = &self.bounds;
        self.reach.advance(cone, index + 1, |unit| bounds[unit]);
        match &cone.steps[index] {
            Step::Sums(sums) => {
                for k in 0..sums.len() {
                    let ends = self.reach.interval(sums, k, |v| self.ends[v]);
                    self.ends[sums.first + k] = ends;
                }
            }
            Step::Curves(curves) => {
                for k in 0..curves.inputs.len() {
                    let [l, u] = self.bounds[curves.first_unit + k];
                    self.ends[curves.first + k] = range(&curves.parts, l, u);
                    let lines = lines(&curves.parts, l, u, None);
                    self.lines.push(UnitLines::all(lines));
                }
            }
        }
    }

    /// Takes over bounds of a unit.
    fn settle(&mut self, curves: &Curves, k: usize, [l, u]: [f64; 2]) {
        self.bounds[curves.first_unit + k] = [l, u];
    }

    /// Bounds units by intervals, and where those leave a curve that matters, by pulling back.
    fn tighten(
        &mut self,
        cone: &Cone,
        index: usize,
        open: &[usize],
        until: Until<'_>,
    ) -> Result<(), Unsupported> {
        let Step::Curves(curves) = &cone.steps[index] else {
            return Ok(());
        };
        for &k in open {
            let variable = curves.inputs[k] as usize;
            self.bounds[curves.first_unit + k] = self.ends[variable];
        }
        let unsettled: Vec<usize> = open
            .iter()
            .copied()
            .filter(|&k| {
                let [l, u] = self.bounds[curves.first_unit + k];
                // Over a box intervals of the first sums are exact.
                let deep = !self.lines.is_empty() || self.limited;
                deep && !is_flat(&curves.parts, l, u)
            })
            .collect();
        let inputs = &self.ends;
        for chunk in unsettled.chunks(LANES / 2) {
            until.go_on()?;
            self.pull.clear();
            for (pair, &k) in chunk.iter().enumerate() {
                let variable = curves.inputs[k] as usize;
                self.pull.seed(variable, 2 * pair, 1.0, &self.reach);
                self.pull.seed(variable, 2 * pair + 1, -1.0, &self.reach);
            }
            let ends = |input: usize| inputs[input].map(|end| [end; LANES]);
            let lower = self
                .pull
                .run(cone, index, &self.lines, &self.reach, &|_| None, ends);
            for (pair, &k) in chunk.iter().enumerate() {
                let [l, u] = &mut self.bounds[curves.first_unit + k];
                *l = l.max(lower[2 * pair]);
                *u = u.min(-lower[2 * pair + 1]);
            }
        }
        Ok(())
    }
}
