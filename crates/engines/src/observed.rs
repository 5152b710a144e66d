//! What the network did on the inputs of a goal, which of them may move, and affine pieces there.

use std::sync::Arc;

use deepconcolic_language::{Input, Observations, Var};
use deepconcolic_network::{Network, Pass, Point, Row, Seed, Trace};

use crate::atom::{Atom, Term};
use crate::budget::Effort;

/// The inputs of a goal and their traces.
#[derive(Clone)]
pub(crate) struct Observed {
    pub inputs: Vec<Vec<f32>>,
    pub moving: Vec<bool>,
    traces: Vec<Executed>,
}

/// One sample of a batch that was run.
#[derive(Clone)]
struct Executed {
    trace: Arc<Trace<f32>>,
    sample: usize,
}

impl Executed {
    fn alone(network: &Network, input: &[f32], pass: &Pass) -> Self {
        Self {
            trace: Arc::new(network.forward(input, pass)),
            sample: 0,
        }
    }
}

/// An atom's left side as a function of the moving inputs: `gradient . x + constant`.
#[derive(Debug, Clone)]
pub(crate) struct Affine {
    /// One number per element of each moving input, one input after the other.
    pub gradient: Vec<f32>,
    pub constant: f64,
}

impl Affine {
    /// Its value at the moving inputs.
    pub fn at<'a>(&self, moving: impl Iterator<Item = &'a [f32]>) -> f64 {
        let elements = moving.flatten().zip(&self.gradient);
        elements.fold(self.constant, |sum, (&x, &a)| {
            sum + f64::from(a) * f64::from(x)
        })
    }
}

impl Observed {
    /// Runs the inputs, keeping these tensors and what derivatives of them need.
    pub fn run(
        network: &Network,
        points: &[Point],
        inputs: Vec<Vec<f32>>,
        moving: Vec<bool>,
        effort: &mut Effort,
    ) -> Self {
        let pass = pass(points);
        effort.forward += inputs.len();
        let traces = inputs
            .iter()
            .map(|x| Executed::alone(network, x, &pass))
            .collect();
        Self {
            inputs,
            moving,
            traces,
        }
    }

    /// As [`run`](Self::run), of many at once, in one batch.
    pub fn run_all(
        network: &Network,
        points: &[Point],
        all: Vec<Vec<Vec<f32>>>,
        moving: &[bool],
        effort: &mut Effort,
    ) -> Vec<Self> {
        let samples: Vec<&[f32]> = all.iter().flatten().map(Vec::as_slice).collect();
        effort.forward += samples.len();
        let trace = Arc::new(network.forward(&samples.concat(), &pass(points)));
        let mut sample = 0;
        let mut executed = |_: &Vec<f32>| {
            sample += 1;
            Executed {
                trace: Arc::clone(&trace),
                sample: sample - 1,
            }
        };
        all.into_iter()
            .map(|inputs| Self {
                traces: inputs.iter().map(&mut executed).collect(),
                inputs,
                moving: moving.to_vec(),
            })
            .collect()
    }

    /// The same with the moving inputs elsewhere.
    pub fn moved(
        &self,
        network: &Network,
        points: &[Point],
        inputs: Vec<Vec<f32>>,
        effort: &mut Effort,
    ) -> Self {
        let pass = pass(points);
        let traces = inputs
            .iter()
            .enumerate()
            .map(|(i, x)| {
                if self.moving[i] {
                    effort.forward += 1;
                    Executed::alone(network, x, &pass)
                } else {
                    self.traces[i].clone()
                }
            })
            .collect();
        Self {
            inputs,
            moving: self.moving.clone(),
            traces,
        }
    }

    /// A tensor on one input.
    pub fn values(&self, input: usize, point: Point) -> &[f32] {
        let executed = &self.traces[input];
        executed.trace.sample(point, executed.sample)
    }

    fn term(&self, term: &Term) -> f64 {
        f64::from(self.values(term.input, term.point)[term.element])
    }

    /// The left side of an atom.
    pub fn value(&self, atom: &Atom) -> f64 {
        let terms = atom.terms.iter();
        terms.fold(atom.constant, |sum, t| sum + t.coefficient * self.term(t))
    }

    /// Whether an atom speaks of an input that can move.
    pub fn can_change(&self, atom: &Atom) -> bool {
        atom.terms.iter().any(|t| self.moving[t.input])
    }

    /// Whether an atom holds, by its margin if it can change.
    pub fn meets(&self, atom: &Atom) -> bool {
        let value = self.value(atom);
        if self.can_change(atom) {
            value >= atom.margin && (!atom.strict || value > 0.0)
        } else if atom.strict {
            value > 0.0
        } else {
            value >= 0.0
        }
    }

    /// So many of some atoms, in their order: those missed by most, each in units of its scale, or met by least.
    pub fn furthest<'a>(&self, atoms: impl Iterator<Item = &'a Atom>, maximum: usize) -> Vec<Atom> {
        let atoms: Vec<&Atom> = atoms.collect();
        let mut ranked: Vec<usize> = (0..atoms.len()).collect();
        if atoms.len() > maximum {
            let values: Vec<f64> = atoms
                .iter()
                .map(|atom| (self.value(atom) - atom.margin) / atom.scale)
                .collect();
            ranked.sort_by(|&a, &b| values[a].total_cmp(&values[b]).then(a.cmp(&b)));
            ranked.truncate(maximum);
            ranked.sort_unstable();
        }
        ranked.into_iter().map(|a| atoms[a].clone()).collect()
    }

    /// The affine pieces of atoms at the inputs.
    pub fn affine(&self, network: &Network, atoms: &[Atom], effort: &mut Effort) -> Vec<Affine> {
        let each = network.input_elements();
        let moving: Vec<usize> = (0..self.moving.len()).filter(|&i| self.moving[i]).collect();
        let mut rows: Vec<Affine> = atoms
            .iter()
            .map(|atom| Affine {
                gradient: vec![0.0; moving.len() * each],
                constant: atom.terms.iter().fold(atom.constant, |sum, t| {
                    sum + t.coefficient * self.term(&steered(network, t))
                }),
            })
            .collect();
        for (slot, &input) in moving.iter().enumerate() {
            let sample = self.traces[input].sample;
            let (which, requests): (Vec<usize>, Vec<Row<f32>>) = atoms
                .iter()
                .enumerate()
                .map(|(a, atom)| (a, request(network, atom, input)))
                .filter(|(_, seeds)| !seeds.is_empty())
                .map(|(a, seeds)| (a, Row { sample, seeds }))
                .unzip();
            let Some(tape) = self.traces[input].trace.tape() else {
                continue;
            };
            effort.vjp += requests.len();
            let gradients = network.vjp(tape, &requests);
            for (gradient, a) in gradients.chunks_exact(each.max(1)).zip(which) {
                rows[a].gradient[slot * each..(slot + 1) * each].copy_from_slice(gradient);
            }
        }
        for row in &mut rows {
            // So far the value here; the constant is what the gradient does not explain.
            let value = row.constant;
            row.constant = 0.0;
            row.constant = value - row.at(self.moving_inputs());
        }
        rows
    }

    /// The inputs that can move, in order.
    pub fn moving_inputs(&self) -> impl Iterator<Item = &[f32]> {
        let inputs = self.inputs.iter().zip(&self.moving);
        inputs
            .filter(|(_, moves)| **moves)
            .map(|(x, _)| x.as_slice())
    }
}

/// What the derivative of an atom along one input is taken of.
pub(crate) fn request(network: &Network, atom: &Atom, input: usize) -> Vec<Seed<f32>> {
    let terms = atom.terms.iter().filter(|term| term.input == input);
    let seed = |term: &Term| {
        let term = steered(network, term);
        Seed {
            point: term.point,
            element: term.element,
            weight: term.coefficient as f32,
        }
    };
    terms.map(seed).collect()
}

/// Keeps these tensors and what derivatives of them need; of activations their inputs too, which
/// [`steered`] terms are read from.
pub(crate) fn pass(points: &[Point]) -> Pass {
    let mut all = points.to_vec();
    for point in points {
        if let Point::Post(layer) = *point
            && !all.contains(&Point::Pre(layer))
        {
            all.push(Point::Pre(layer));
        }
    }
    Pass::keep(all.iter().copied()).differentiating(all)
}

/// Where a silent Relu's output should grow, its input shows the way: u <= v, so what holds of u holds
/// of v.
pub(crate) fn steered(network: &Network, term: &Term) -> Term {
    let point = match term.point {
        Point::Post(layer) if steers(network, term) => Point::Pre(layer),
        point => point,
    };
    Term { point, ..*term }
}

/// Whether a term is read before its activation rather than after.
pub(crate) fn steers(network: &Network, term: &Term) -> bool {
    match term.point {
        Point::Post(layer) => term.coefficient > 0.0 && network.layers()[layer].kind() == "Relu",
        _ => false,
    }
}

impl Observations for Lens<'_> {
    fn tests(&self) -> usize {
        self.observed.inputs.len()
    }

    fn u(&self, test: usize, layer: usize, neuron: usize) -> f32 {
        self.read(test, Var::u(Input::First, layer, neuron))
    }

    fn v(&self, test: usize, layer: usize, neuron: usize) -> f32 {
        self.read(test, Var::v(Input::First, layer, neuron))
    }

    fn input(&self, test: usize) -> &[f32] {
        &self.observed.inputs[test]
    }
}

/// The inputs as the requirement language sees them.
pub(crate) struct Lens<'a> {
    pub observed: &'a Observed,
    pub hidden: usize,
}

impl Lens<'_> {
    fn read(&self, test: usize, var: Var) -> f32 {
        self.observed.values(test, var.point(self.hidden))[var.neuron]
    }
}
