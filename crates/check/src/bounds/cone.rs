//! The part of a network that some elements depend on, as sums and kinked curves over numbered
//! variables. A maximum becomes a chain of comparisons: with `M` the largest of the members before
//! `m`, the largest with it is `M + max(m - M, 0)`; with signs turned, the smallest. A curve whose slope
//! below 0 differs from element to element is `max(x, 0)` and so much of `x - max(x, 0)`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use deepconcolic_network::{AffineRow, Element, Network, Origin, Plain, Span, StraightPart};

use crate::certificate::Unit;
use crate::error::Unsupported;
use crate::until::Until;

/// Most coefficients of a cone: a model may be far too large to be spelled out.
const MAX_TERMS: usize = 1 << 27;

/// `max(x, 0)`: how a comparison goes on.
const GATE: [StraightPart; 2] = [
    StraightPart {
        from: f64::NEG_INFINITY,
        slope: 0.0,
        intercept: 0.0,
    },
    StraightPart {
        from: 0.0,
        slope: 1.0,
        intercept: 0.0,
    },
];

/// Variables that are sums of earlier ones.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    /// The first variable defined here; the others follow.
    pub first: usize,
    /// Terms of variable `first + k` are `starts[k]..starts[k + 1]`.
    pub starts: Vec<usize>,
    pub from: Vec<u32>,
    pub weights: Vec<f64>,
    pub constants: Vec<f64>,
}

impl Sums {
    fn at(first: usize) -> Self {
        Self {
            first,
            starts: vec![0],
            ..Self::default()
        }
    }

    fn push(&mut self, terms: impl IntoIterator<Item = (usize, f64)>, constant: f64) {
        for (from, weight) in terms {
            self.from.push(from as u32);
            self.weights.push(weight);
        }
        self.starts.push(self.from.len());
        self.constants.push(constant);
    }

    pub fn len(&self) -> usize {
        self.constants.len()
    }

    /// Where the terms of each variable begin, and all terms by variable: sums, counted from the first of the step, in
    /// order, and weights.
    pub fn by_variable(&self) -> (Vec<u32>, Vec<(u32, f64)>) {
        let mut starts = vec![0u32; self.first + 1];
        for &variable in &self.from {
            starts[variable as usize + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut terms = vec![(0, 0.0); self.from.len()];
        for k in 0..self.len() {
            for (variable, weight) in self.terms(k) {
                let place = &mut next[variable];
                terms[*place as usize] = (k as u32, weight);
                *place += 1;
            }
        }
        (starts, terms)
    }

    /// The terms of the `k`-th sum.
    pub fn terms(&self, k: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.starts[k]..self.starts[k + 1];
        let from = self.from[range.clone()].iter().map(|&v| v as usize);
        from.zip(self.weights[range].iter().copied())
    }
}

/// Variables that are curves of earlier ones.
#[derive(Debug)]
pub(crate) struct Curves {
    /// The first variable defined here.
    pub first: usize,
    /// The number of the first unit; units are numbered across all steps.
    pub first_unit: usize,
    /// What each is a curve of.
    pub inputs: Vec<u32>,
    pub parts: Arc<[StraightPart]>,
}

/// Variables that are the largest or the smallest of earlier ones, as which a chain of comparisons is spelled out.
#[derive(Debug)]
pub(crate) struct Extremes {
    /// The steps of the chain, of which the last has these variables as its sums.
    pub steps: Range<usize>,
    /// The largest with 1, the smallest with -1.
    pub sign: f64,
    /// For each variable, what it is the largest or smallest of.
    pub members: Vec<Vec<usize>>,
}

#[derive(Debug)]
pub(crate) enum Step {
    Sums(Sums),
    Curves(Curves),
}

/// Variables and how each follows from earlier ones.
#[derive(Debug)]
pub(crate) struct Cone {
    /// The input elements, in the model file's order, that variables `0..` stand for.
    pub inputs: Vec<usize>,
    pub variables: usize,
    pub steps: Vec<Step>,
    /// Chains among the steps, in order.
    pub extremes: Vec<Extremes>,
    /// The name of each unit.
    pub units: Vec<Unit>,
    /// The variables of the elements asked for, in the order asked.
    pub targets: Vec<usize>,
}

/// How many elements are spelled out between looks at the clock.
const BETWEEN_LOOKS: usize = 256;

/// What is needed of each stored tensor: sorted elements.
pub(crate) fn needed(
    network: &Network,
    targets: &[Element],
    until: Until<'_>,
) -> Result<BTreeMap<usize, Vec<usize>>, Unsupported> {
    let mut needed: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for target in targets {
        needed.entry(target.value).or_default().push(target.index);
    }
    let mut row = AffineRow::default();
    for node in (0..network.nodes()).rev() {
        let Some(elements) = needed.get_mut(&network.node_output(node)) else {
            continue;
        };
        elements.sort_unstable();
        elements.dedup();
        let elements = elements.clone();
        let inputs: Vec<usize> = network.plain_inputs(node).collect();
        match network.plain(node) {
            Plain::Affine => {
                let marks = inputs.iter().map(|_| Span::new(false));
                let mut marks: Vec<Span<bool>> = marks.collect();
                for part in elements.chunks(BETWEEN_LOOKS) {
                    until.go_on()?;
                    for &element in part {
                        network.plain_row(node, element, &mut row);
                        for &(input, index, _) in &row.terms {
                            marks[input as usize].set(index as usize, true);
                        }
                    }
                }
                for (value, marks) in inputs.iter().zip(marks) {
                    let marked = marks.entries().filter(|(_, marked)| *marked);
                    let list = needed.entry(*value).or_default();
                    list.extend(marked.map(|(index, _)| index));
                }
            }
            Plain::Curve(_) | Plain::Leaky => {
                needed.entry(inputs[0]).or_default().extend(elements);
            }
            Plain::Largest | Plain::Smallest => {
                for element in elements {
                    for member in network.plain_members(node, element) {
                        needed.entry(member.value).or_default().push(member.index);
                    }
                }
            }
            Plain::Opaque => {
                let kind = network.operators().nth(node).map_or("?", |(kind, _)| kind);
                return Err(Unsupported::Operator { kind: kind.into() });
            }
        }
    }
    for elements in needed.values_mut() {
        elements.sort_unstable();
        elements.dedup();
    }
    Ok(needed)
}

impl Cone {
    /// The cone of some elements.
    pub fn of(
        network: &Network,
        targets: &[Element],
        until: Until<'_>,
    ) -> Result<Self, Unsupported> {
        Self::of_at_most(network, targets, MAX_TERMS, until)
    }

    /// The cone of some elements, if it has no more coefficients than this.
    pub fn of_at_most(
        network: &Network,
        targets: &[Element],
        max_terms: usize,
        until: Until<'_>,
    ) -> Result<Self, Unsupported> {
        let needed = needed(network, targets, until)?;
        let mut builder = Builder {
            network,
            places: BTreeMap::new(),
            cone: Self {
                inputs: Vec::new(),
                variables: 0,
                steps: Vec::new(),
                extremes: Vec::new(),
                units: Vec::new(),
                targets: Vec::new(),
            },
            terms: 0,
            until,
            max_terms,
        };
        for (&value, elements) in &needed {
            if network.origin(value) == Origin::Input {
                builder.cone.inputs = elements
                    .iter()
                    .map(|&e| network.input_file_index(e))
                    .collect();
                builder.cone.variables = elements.len();
                builder.place(value, elements, 0);
            }
        }
        for (&value, elements) in &needed {
            if network.origin(value) == Origin::Constant {
                builder.constants(value, elements)?;
            }
        }
        for node in 0..network.nodes() {
            if let Some(elements) = needed.get(&network.node_output(node)) {
                builder.node(node, elements)?;
            }
        }
        let mut cone = builder.cone;
        cone.targets = targets
            .iter()
            .map(|target| builder.places[&target.value].get(target.index) as usize)
            .collect();
        Ok(cone)
    }
}

struct Builder<'a> {
    network: &'a Network,
    /// For each stored tensor, the variable of each element.
    places: BTreeMap<usize, Span<u32>>,
    cone: Cone,
    terms: usize,
    until: Until<'a>,
    max_terms: usize,
}

impl Builder<'_> {
    fn place(&mut self, value: usize, elements: &[usize], first: usize) {
        let mut places = Span::new(u32::MAX);
        for (k, &element) in elements.iter().enumerate() {
            places.set(element, (first + k) as u32);
        }
        self.places.insert(value, places);
    }

    /// Variables that are part of the model: sums of nothing.
    fn constants(&mut self, value: usize, elements: &[usize]) -> Result<(), Unsupported> {
        let first = self.cone.variables;
        let mut sums = Sums::at(first);
        for &index in elements {
            let constant = self.network.constant_element(Element { value, index });
            sums.push([], constant.ok_or(Unsupported::Size)?);
        }
        self.sums(sums)?;
        self.place(value, elements, first);
        Ok(())
    }

    fn variable(&self, element: Element) -> usize {
        self.places[&element.value].get(element.index) as usize
    }

    fn node(&mut self, node: usize, elements: &[usize]) -> Result<(), Unsupported> {
        let inputs: Vec<usize> = self.network.plain_inputs(node).collect();
        match self.network.plain(node) {
            Plain::Affine => {
                let mut sums = Sums::at(self.cone.variables);
                let mut row = AffineRow::default();
                let places: Vec<&Span<u32>> = inputs.iter().map(|v| &self.places[v]).collect();
                for part in elements.chunks(BETWEEN_LOOKS) {
                    self.until.go_on()?;
                    for &element in part {
                        self.network.plain_row(node, element, &mut row);
                        let terms = row.terms.iter().map(|&(input, index, weight)| {
                            let place = places[input as usize].get(index as usize);
                            (place as usize, weight)
                        });
                        sums.push(terms, row.constant);
                    }
                    if self.terms + sums.from.len() > self.max_terms {
                        return Err(Unsupported::Size);
                    }
                }
                self.sums(sums)?;
            }
            Plain::Curve(parts) => {
                let variables = elements.iter().map(|&index| {
                    let value = inputs[0];
                    self.variable(Element { value, index }) as u32
                });
                let variables = variables.collect();
                let units = elements.iter().map(|&e| unit(node, e, 0)).collect();
                self.curves(variables, units, parts.into());
            }
            Plain::Largest => self.extreme(node, elements, 1.0)?,
            Plain::Smallest => self.extreme(node, elements, -1.0)?,
            Plain::Leaky => self.leaky(node, elements, inputs[0])?,
            // Refused when the elements were traced.
            Plain::Opaque => {}
        }
        let first = self.cone.variables - elements.len();
        self.place(self.network.node_output(node), elements, first);
        Ok(())
    }

    fn sums(&mut self, sums: Sums) -> Result<(), Unsupported> {
        self.terms += sums.from.len();
        if self.terms > self.max_terms {
            return Err(Unsupported::Size);
        }
        self.cone.variables += sums.len();
        self.cone.steps.push(Step::Sums(sums));
        Ok(())
    }

    fn curves(&mut self, inputs: Vec<u32>, units: Vec<Unit>, parts: Arc<[StraightPart]>) {
        let curves = Curves {
            first: self.cone.variables,
            first_unit: self.cone.units.len(),
            inputs,
            parts,
        };
        self.cone.variables += units.len();
        self.cone.units.extend(units);
        self.cone.steps.push(Step::Curves(curves));
    }

    fn leaky(&mut self, node: usize, elements: &[usize], value: usize) -> Result<(), Unsupported> {
        let inputs = elements.iter().map(|&index| {
            let variable = self.variable(Element { value, index });
            variable as u32
        });
        let inputs: Vec<u32> = inputs.collect();
        let units = elements.iter().map(|&e| unit(node, e, 0)).collect();
        let gates = self.cone.variables;
        self.curves(inputs.clone(), units, GATE.into());
        let below = self.cone.variables;
        let mut sums = Sums::at(below);
        for (k, &input) in inputs.iter().enumerate() {
            sums.push([(input as usize, 1.0), (gates + k, -1.0)], 0.0);
        }
        self.sums(sums)?;
        let mut sums = Sums::at(self.cone.variables);
        for (k, &element) in elements.iter().enumerate() {
            let slope = self.network.plain_slope(node, element);
            sums.push([(gates + k, 1.0), (below + k, slope)], 0.0);
        }
        self.sums(sums)
    }

    /// The largest with sign 1, the smallest with -1.
    fn extreme(&mut self, node: usize, elements: &[usize], sign: f64) -> Result<(), Unsupported> {
        let start = self.cone.steps.len();
        // For each output, its members and what the comparisons so far let through.
        let mut chains: Vec<(usize, Vec<usize>, Vec<usize>)> = elements
            .iter()
            .map(|&element| {
                let members = self.network.plain_members(node, element);
                let members = members.into_iter().map(|m| self.variable(m)).collect();
                (element, members, Vec::new())
            })
            .collect();
        let longest = chains.iter().map(|(_, members, _)| members.len()).max();
        for part in 1..longest.unwrap_or(0) {
            let mut sums = Sums::at(self.cone.variables);
            let mut units = Vec::new();
            let at_work = |members: &[usize]| part < members.len();
            for (element, members, gates) in chains.iter().filter(|(_, m, _)| at_work(m)) {
                let before = gates.iter().map(|&gate| (gate, -1.0));
                let ends = [(members[part], sign), (members[0], -sign)];
                sums.push(ends.into_iter().chain(before), 0.0);
                units.push(unit(node, *element, part));
            }
            let first = self.cone.variables;
            let count = units.len();
            self.sums(sums)?;
            let inputs = (first..first + count).map(|v| v as u32).collect();
            self.curves(inputs, units, GATE.into());
            let passing = chains.iter_mut().filter(|(_, m, _)| at_work(m));
            for (k, (_, _, gates)) in passing.enumerate() {
                gates.push(first + count + k);
            }
        }
        let mut sums = Sums::at(self.cone.variables);
        for (_, members, gates) in &chains {
            let gates = gates.iter().map(|&gate| (gate, sign));
            sums.push([(members[0], 1.0)].into_iter().chain(gates), 0.0);
        }
        self.sums(sums)?;
        self.cone.extremes.push(Extremes {
            steps: start..self.cone.steps.len(),
            sign,
            members: chains.into_iter().map(|(_, members, _)| members).collect(),
        });
        Ok(())
    }
}

fn unit(node: usize, element: usize, part: usize) -> Unit {
    Unit {
        node: node as u32,
        element: element as u32,
        part: part as u32,
    }
}
