//! The part of a network that some elements depend on, flattened: numbered variables, each a sum of
//! earlier ones or a kinked curve of one. Questions about a convolution's neuron thus see its own
//! patch of the input and nothing else.
//!
//! A maximum is a chain of comparisons, as in [`deepconcolic_check::Unit`]: every nonlinear
//! operator is then a curve, and one kind of relaxation and one kind of split serve them all.

use std::sync::Arc;

use deepconcolic_check::{Unit, Unsupported, Until};
use deepconcolic_network::{AffineRow, Element, Network, Origin, Plain, Span, StraightPart};

/// Most coefficients of a program.
const MAX_TERMS: usize = 1 << 25;
/// How many elements are spelled out between looks at the clock.
const BETWEEN_LOOKS: usize = 256;
/// Stands for no variable.
const NOWHERE: u32 = u32::MAX;

/// A sparse matrix: variables by variables of one step.
#[derive(Debug, Default)]
pub(crate) struct Matrix {
    pub starts: Vec<u32>,
    pub index: Vec<u32>,
    pub weight: Vec<f64>,
}

impl Matrix {
    #[inline]
    pub fn row(&self, k: usize) -> (&[u32], &[f64]) {
        let range = self.starts[k] as usize..self.starts[k + 1] as usize;
        (&self.index[range.clone()], &self.weight[range])
    }
}

/// Variables that are sums of earlier ones.
#[derive(Debug)]
pub(crate) struct Sums {
    pub first: usize,
    pub constants: Vec<f64>,
    /// For each sum, its terms.
    pub rows: Matrix,
    /// The variables that occur in the sums, ascending.
    pub inputs: Vec<u32>,
    /// For each of `inputs`, the sums it occurs in.
    pub columns: Matrix,
}

/// Variables that are curves of earlier ones.
#[derive(Debug)]
pub(crate) struct Curves {
    pub first: usize,
    pub first_unit: usize,
    pub inputs: Vec<u32>,
    pub parts: Arc<[StraightPart]>,
}

impl Curves {
    /// Where the curve bends, if that is one place.
    pub fn kink(&self) -> Option<f64> {
        match *self.parts {
            [_, right] => Some(right.from),
            _ => None,
        }
    }
}

#[derive(Debug)]
pub(crate) enum Step {
    Sums(Sums),
    Curves(Curves),
}

/// Variables and how each follows from earlier ones.
#[derive(Debug)]
pub(crate) struct Program {
    /// The input elements, in the model file's order, that variables `0..` stand for.
    pub inputs: Vec<usize>,
    pub variables: usize,
    pub steps: Vec<Step>,
    pub units: Vec<Unit>,
    /// The variables of the elements asked for.
    pub targets: Vec<usize>,
}

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

/// What one node needs of the nodes before it.
enum Need {
    Rows(Vec<AffineRow>),
    Curve(Vec<StraightPart>),
    /// The largest of these with sign 1, the smallest with -1.
    Members(Vec<Vec<Element>>, f64),
    /// Slopes below 0.
    Leaky(Vec<f64>),
}

/// What some elements depend on: for each stored tensor, sorted elements. `keep` gets what each
/// node needs, last node first.
fn trace(
    network: &Network,
    targets: &[Element],
    until: Until<'_>,
    mut keep: impl FnMut(usize, Need),
) -> Result<Vec<Vec<usize>>, Unsupported> {
    let mut wanted: Vec<Vec<usize>> = vec![Vec::new(); network.values()];
    for target in targets {
        wanted[target.value].push(target.index);
    }
    let mut tracer = Tracer {
        network,
        terms: 0,
        until,
    };
    for node in (0..network.nodes()).rev() {
        let output = network.node_output(node);
        wanted[output].sort_unstable();
        wanted[output].dedup();
        if wanted[output].is_empty() {
            continue;
        }
        let elements = std::mem::take(&mut wanted[output]);
        let need = tracer.need(node, &elements, &mut wanted)?;
        wanted[output] = elements;
        keep(node, need);
    }
    for (value, elements) in wanted.iter_mut().enumerate() {
        if !matches!(network.origin(value), Origin::Node(_)) {
            elements.sort_unstable();
            elements.dedup();
        }
    }
    Ok(wanted)
}

/// For each stored tensor, the elements that some elements depend on.
pub(crate) fn influences(
    network: &Network,
    targets: &[Element],
    until: Until<'_>,
) -> Result<Vec<Vec<usize>>, Unsupported> {
    trace(network, targets, until, |_, _| ())
}

impl Program {
    /// The program of some elements.
    pub fn of(
        network: &Network,
        targets: &[Element],
        until: Until<'_>,
    ) -> Result<Self, Unsupported> {
        let mut needed: Vec<Option<Need>> = (0..network.nodes()).map(|_| None).collect();
        let keep = |node: usize, need| needed[node] = Some(need);
        let wanted = trace(network, targets, until, keep)?;
        let mut builder = Builder::new(network);
        for (value, elements) in wanted.iter().enumerate() {
            if network.origin(value) == Origin::Input {
                builder.start(value, elements);
            }
        }
        for (value, elements) in wanted.iter().enumerate() {
            if network.origin(value) == Origin::Constant && !elements.is_empty() {
                builder.constants(value, elements);
            }
        }
        for (node, need) in needed.into_iter().enumerate() {
            if let Some(need) = need {
                until.go_on()?;
                builder.node(node, &wanted[network.node_output(node)], need);
            }
        }
        let places = &builder.places;
        let variable = |t: &Element| places[t.value].get(t.index) as usize;
        let targets = targets.iter().map(variable).collect();
        Ok(Self {
            targets,
            ..builder.program
        })
    }

    /// How many coefficients there are: what a pass costs.
    pub fn terms(&self) -> usize {
        let terms = |step: &Step| match step {
            Step::Sums(sums) => sums.rows.index.len(),
            Step::Curves(_) => 0,
        };
        self.steps.iter().map(terms).sum()
    }

    /// The curves, first to last.
    pub fn curves(&self) -> impl Iterator<Item = &Curves> {
        self.steps.iter().filter_map(|step| match step {
            Step::Curves(curves) => Some(curves),
            Step::Sums(_) => None,
        })
    }
}

/// Asks nodes what they need, as long as that is not too much.
struct Tracer<'a> {
    network: &'a Network,
    /// Coefficients so far.
    terms: usize,
    until: Until<'a>,
}

impl Tracer<'_> {
    fn need(
        &mut self,
        node: usize,
        elements: &[usize],
        wanted: &mut [Vec<usize>],
    ) -> Result<Need, Unsupported> {
        let network = self.network;
        let inputs: Vec<usize> = network.plain_inputs(node).collect();
        match network.plain(node) {
            Plain::Affine => {
                let mut marks: Vec<Span<bool>> = inputs.iter().map(|_| Span::new(false)).collect();
                let mut rows = Vec::with_capacity(elements.len());
                for part in elements.chunks(BETWEEN_LOOKS) {
                    self.until.go_on()?;
                    for &element in part {
                        let mut row = AffineRow::default();
                        network.plain_row(node, element, &mut row);
                        self.terms += row.terms.len();
                        if self.terms > MAX_TERMS {
                            return Err(Unsupported::Size);
                        }
                        for &(input, index, _) in &row.terms {
                            marks[input as usize].set(index as usize, true);
                        }
                        rows.push(row);
                    }
                }
                for (&value, marks) in inputs.iter().zip(marks) {
                    let marked = marks.entries().filter(|(_, marked)| *marked);
                    wanted[value].extend(marked.map(|(index, _)| index));
                }
                Ok(Need::Rows(rows))
            }
            Plain::Curve(parts) => {
                wanted[inputs[0]].extend(elements);
                Ok(Need::Curve(parts))
            }
            Plain::Leaky => {
                wanted[inputs[0]].extend(elements);
                let slope = |&e: &usize| network.plain_slope(node, e);
                Ok(Need::Leaky(elements.iter().map(slope).collect()))
            }
            plain @ (Plain::Largest | Plain::Smallest) => {
                let members = elements.iter().map(|&e| network.plain_members(node, e));
                let members: Vec<Vec<Element>> = members.collect();
                for member in members.iter().flatten() {
                    wanted[member.value].push(member.index);
                }
                let sign = if plain == Plain::Largest { 1.0 } else { -1.0 };
                Ok(Need::Members(members, sign))
            }
            Plain::Opaque => {
                let kind = network.operators().nth(node).map_or("?", |(kind, _)| kind);
                Err(Unsupported::Operator { kind: kind.into() })
            }
        }
    }
}

struct Builder<'a> {
    network: &'a Network,
    places: Vec<Span<u32>>,
    program: Program,
}

impl<'a> Builder<'a> {
    fn new(network: &'a Network) -> Self {
        Self {
            network,
            places: (0..network.values()).map(|_| Span::new(NOWHERE)).collect(),
            program: Program {
                inputs: Vec::new(),
                variables: 0,
                steps: Vec::new(),
                units: Vec::new(),
                targets: Vec::new(),
            },
        }
    }

    fn start(&mut self, value: usize, elements: &[usize]) {
        let file_index = |&e: &usize| self.network.input_file_index(e);
        self.program.inputs = elements.iter().map(file_index).collect();
        self.program.variables = elements.len();
        self.place(value, elements, 0);
    }

    fn place(&mut self, value: usize, elements: &[usize], first: usize) {
        for (k, &element) in elements.iter().enumerate() {
            self.places[value].set(element, (first + k) as u32);
        }
    }

    /// Variables that are part of the model: sums of nothing.
    fn constants(&mut self, value: usize, elements: &[usize]) {
        let first = self.program.variables;
        let constant = |&index: &usize| {
            let constant = self.network.constant_element(Element { value, index });
            (Vec::new(), constant.unwrap_or_default())
        };
        let rows = elements.iter().map(constant).collect();
        self.sums(rows);
        self.place(value, elements, first);
    }

    fn node(&mut self, node: usize, elements: &[usize], need: Need) {
        let inputs: Vec<usize> = self.network.plain_inputs(node).collect();
        match need {
            Need::Rows(rows) => {
                let rows = rows.into_iter().map(|row| {
                    let terms = row.terms.iter().map(|&(input, index, weight)| {
                        let places = &self.places[inputs[input as usize]];
                        let place = places.get(index as usize);
                        (place, weight)
                    });
                    (terms.collect(), row.constant)
                });
                let rows = rows.collect();
                self.sums(rows);
            }
            Need::Curve(parts) => {
                let variables = elements.iter().map(|&e| self.places[inputs[0]].get(e));
                let variables = variables.collect();
                let units = elements.iter().map(|&e| unit(node, e, 0)).collect();
                self.curves(variables, units, parts.into());
            }
            Need::Members(members, sign) => self.extreme(node, elements, &members, sign),
            Need::Leaky(slopes) => {
                let inputs: Vec<u32> = elements
                    .iter()
                    .map(|&e| self.places[inputs[0]].get(e))
                    .collect();
                self.leaky(node, elements, &inputs, &slopes);
            }
        }
        let first = self.program.variables - elements.len();
        self.place(self.network.node_output(node), elements, first);
    }

    fn sums(&mut self, rows: Vec<(Vec<(u32, f64)>, f64)>) {
        let mut matrix = Matrix {
            starts: vec![0],
            ..Matrix::default()
        };
        let mut constants = Vec::with_capacity(rows.len());
        for (terms, constant) in rows {
            matrix.index.extend(terms.iter().map(|(v, _)| *v));
            matrix.weight.extend(terms.iter().map(|(_, w)| *w));
            matrix.starts.push(matrix.index.len() as u32);
            constants.push(constant);
        }
        let first = self.program.variables;
        let (inputs, columns) = transposed(&matrix, first);
        self.program.variables += constants.len();
        self.program.steps.push(Step::Sums(Sums {
            first,
            constants,
            rows: matrix,
            inputs,
            columns,
        }));
    }

    fn curves(&mut self, inputs: Vec<u32>, units: Vec<Unit>, parts: Arc<[StraightPart]>) {
        let curves = Curves {
            first: self.program.variables,
            first_unit: self.program.units.len(),
            inputs,
            parts,
        };
        self.program.variables += units.len();
        self.program.units.extend(units);
        self.program.steps.push(Step::Curves(curves));
    }

    fn leaky(&mut self, node: usize, elements: &[usize], inputs: &[u32], slopes: &[f64]) {
        let units = elements.iter().map(|&e| unit(node, e, 0)).collect();
        let gates = self.program.variables as u32;
        self.curves(inputs.to_vec(), units, GATE.into());
        let gates = gates..gates + inputs.len() as u32;
        let rows = inputs.iter().zip(gates.clone());
        let rows = rows.map(|(&input, gate)| (vec![(input, 1.0), (gate, -1.0)], 0.0));
        let below = self.program.variables as u32;
        self.sums(rows.collect());
        let rows = gates.zip(below..).zip(slopes);
        let rows = rows.map(|((gate, below), &slope)| (vec![(gate, 1.0), (below, slope)], 0.0));
        self.sums(rows.collect());
    }

    fn extreme(&mut self, node: usize, elements: &[usize], members: &[Vec<Element>], sign: f64) {
        let members: Vec<Vec<u32>> = members
            .iter()
            .map(|members| {
                let place = |m: &Element| self.places[m.value].get(m.index);
                members.iter().map(place).collect()
            })
            .collect();
        let mut gates: Vec<Vec<u32>> = vec![Vec::new(); members.len()];
        let longest = members.iter().map(Vec::len).max().unwrap_or(0);
        for part in 1..longest {
            let at_work: Vec<usize> = (0..members.len())
                .filter(|&k| part < members[k].len())
                .collect();
            let rows = at_work.iter().map(|&k| {
                let mut terms = vec![(members[k][part], sign), (members[k][0], -sign)];
                terms.extend(gates[k].iter().map(|&gate| (gate, -1.0)));
                (terms, 0.0)
            });
            let first = self.program.variables as u32;
            let rows = rows.collect();
            self.sums(rows);
            let count = at_work.len() as u32;
            let units = at_work.iter().map(|&k| unit(node, elements[k], part));
            let units = units.collect();
            self.curves((first..first + count).collect(), units, GATE.into());
            for (place, &k) in at_work.iter().enumerate() {
                gates[k].push(first + count + place as u32);
            }
        }
        let rows = members.iter().zip(&gates).map(|(members, gates)| {
            let first = members.iter().take(1).map(|&member| (member, 1.0));
            let gates = gates.iter().map(|&gate| (gate, sign));
            (first.chain(gates).collect(), 0.0)
        });
        self.sums(rows.collect());
    }
}

fn unit(node: usize, element: usize, part: usize) -> Unit {
    Unit {
        node: node as u32,
        element: element as u32,
        part: part as u32,
    }
}

/// The variables that occur in a matrix, all before `end`, and where.
pub(crate) fn transposed(rows: &Matrix, end: usize) -> (Vec<u32>, Matrix) {
    let mut counts = vec![0u32; end];
    for &variable in &rows.index {
        counts[variable as usize] += 1;
    }
    let inputs: Vec<u32> = (0..end as u32)
        .filter(|&v| counts[v as usize] > 0)
        .collect();
    let mut starts = Vec::with_capacity(inputs.len() + 1);
    let mut next = vec![0u32; end];
    let mut total = 0;
    for &variable in &inputs {
        starts.push(total);
        next[variable as usize] = total;
        total += counts[variable as usize];
    }
    starts.push(total);
    let mut index = vec![0u32; rows.index.len()];
    let mut weight = vec![0.0; rows.index.len()];
    for k in 0..rows.starts.len() - 1 {
        let (variables, weights) = rows.row(k);
        for (&variable, &w) in variables.iter().zip(weights) {
            let at = &mut next[variable as usize];
            index[*at as usize] = k as u32;
            weight[*at as usize] = w;
            *at += 1;
        }
    }
    let columns = Matrix {
        starts,
        index,
        weight,
    };
    (inputs, columns)
}
