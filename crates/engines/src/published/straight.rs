//! The network up to its first maxima, with every phase held: each neuron is then a linear function of the input.
//!
//! Unlike a run, an inactive neuron stays at zero even where its own sum is positive, as in the published
//! program. So the sums are read as plain data, and computed in double precision.

use deepconcolic_network::{AffineRow, Network, Origin, Plain, Point};
use rayon::prelude::*;

/// Most terms of all sums together: beyond it the program would take gigabytes.
const MAX_TERMS: usize = 100_000_000;

/// What lies between the input and a stored tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    /// Sums and Relus.
    Straight,
    /// Maxima of such, and sums of them.
    Pooled,
    /// An activation behind a maximum, or an operator of another kind.
    Beyond,
}

/// A node whose inputs are straight.
enum Work {
    Sum(Sums),
    Relu(usize),
}

/// Sums over elements of earlier tensors, one after the other.
struct Sums {
    starts: Vec<usize>,
    terms: Vec<(u32, u32, f32)>,
    constants: Vec<f64>,
}

/// The straight part of a network.
pub(super) struct Straight {
    work: Vec<(usize, Work)>,
    reach: Vec<Reach>,
    sizes: Vec<usize>,
    input: usize,
}

/// All straight tensors at one input, by stored tensor.
pub(super) struct Values(Vec<Vec<f64>>);

impl Values {
    pub fn of(&self, value: usize) -> &[f64] {
        &self.0[value]
    }
}

/// A linear function of the input in the model file's order.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub coefficients: Vec<f64>,
    pub constant: f64,
}

impl Straight {
    /// Reads it off a network, or says why that cannot be.
    pub fn of(network: &Network) -> Result<Self, String> {
        let values = network.values();
        let mut straight = Self {
            work: Vec::new(),
            reach: vec![Reach::Straight; values],
            sizes: (0..values).map(|v| network.value_elements(v)).collect(),
            input: (0..values)
                .find(|&value| network.origin(value) == Origin::Input)
                .ok_or("the network has no input")?,
        };
        let mut terms = 0;
        for node in 0..network.nodes() {
            let before = (network
                .plain_inputs(node)
                .map(|value| straight.reach[value]))
            .max()
            .unwrap_or(Reach::Straight);
            let output = network.node_output(node);
            let plain = network.plain(node);
            straight.reach[output] = reach(&plain, before);
            if straight.reach[output] != Reach::Straight {
                continue;
            }
            let work = if plain == Plain::Affine {
                let sums = sums(network, node);
                terms += sums.terms.len();
                if terms > MAX_TERMS {
                    return Err(format!(
                        "the published program holds every weight of every neuron, and here these are more than {MAX_TERMS}"
                    ));
                }
                Work::Sum(sums)
            } else {
                let input = network.plain_inputs(node).next().unwrap_or_default();
                Work::Relu(input)
            };
            straight.work.push((output, work));
        }
        Ok(straight)
    }

    pub fn reach(&self, value: usize) -> Reach {
        self.reach[value]
    }

    /// Every straight tensor at an input, with the phases that `held` has, or those of the input itself.
    pub fn run(&self, network: &Network, input: &[f32], held: Option<&Values>) -> Values {
        let mut values: Vec<Vec<f64>> = self.sizes.iter().map(|_| Vec::new()).collect();
        values[self.input] = (0..self.sizes[self.input])
            .map(|stored| f64::from(input[network.input_file_index(stored)]))
            .collect();
        for (output, work) in &self.work {
            values[*output] = match work {
                Work::Sum(sums) => sums.run(&values),
                Work::Relu(from) => {
                    let phases = held.map_or(&values[*from], |held| &held.0[*from]);
                    let pairs = values[*from].iter().zip(phases);
                    pairs
                        .map(|(&u, &at)| if at >= 0.0 { u } else { 0.0 })
                        .collect()
                }
            };
        }
        Values(values)
    }

    /// A straight neuron as a function of the input, with the phases of a test.
    pub fn row(&self, network: &Network, point: Point, element: usize, test: &Values) -> Row {
        let start = network.element(point, element);
        let mut weights: Vec<Vec<f64>> = self.sizes.iter().map(|_| Vec::new()).collect();
        weights[start.value] = vec![0.0; self.sizes[start.value]];
        weights[start.value][start.index] = 1.0;
        let mut constant = 0.0;
        for (output, work) in self.work.iter().rev() {
            let own = std::mem::take(&mut weights[*output]);
            let own = own.iter().enumerate().filter(|(_, weight)| **weight != 0.0);
            match work {
                Work::Relu(from) => {
                    for (index, weight) in own {
                        if test.0[*from][index] >= 0.0 {
                            self.at(&mut weights, *from)[index] += weight;
                        }
                    }
                }
                Work::Sum(sums) => {
                    for (index, weight) in own {
                        constant += weight * sums.constants[index];
                        for &(value, element, factor) in sums.row(index) {
                            self.at(&mut weights, value as usize)[element as usize] +=
                                weight * f64::from(factor);
                        }
                    }
                }
            }
        }
        let mut coefficients = vec![0.0; self.sizes[self.input]];
        for (stored, &weight) in weights[self.input].iter().enumerate() {
            coefficients[network.input_file_index(stored)] = weight;
        }
        Row {
            coefficients,
            constant,
        }
    }

    fn at<'a>(&self, weights: &'a mut [Vec<f64>], value: usize) -> &'a mut [f64] {
        let own = &mut weights[value];
        own.resize(self.sizes[value], 0.0);
        own
    }

    /// Whether a neuron that is a sum of maxima grows with one of them: the published program bounds maxima from below
    /// alone, so that it can then be as large as it likes.
    pub fn grows(&self, network: &Network, point: Point, element: usize) -> bool {
        let start = network.element(point, element);
        let mut open = vec![(start.value, start.index, 1.0)];
        let mut row = AffineRow::default();
        while let Some((value, index, weight)) = open.pop() {
            let Origin::Node(node) = network.origin(value) else {
                continue;
            };
            if self.reach[value] != Reach::Pooled {
                continue;
            }
            if network.plain(node) != Plain::Affine {
                if weight > 0.0 {
                    return true;
                }
                continue;
            }
            network.plain_row(node, index, &mut row);
            let inputs: Vec<usize> = network.plain_inputs(node).collect();
            for &(input, element, factor) in &row.terms {
                open.push((inputs[input as usize], element as usize, weight * factor));
            }
        }
        false
    }
}

impl Sums {
    fn row(&self, index: usize) -> &[(u32, u32, f32)] {
        &self.terms[self.starts[index]..self.starts[index + 1]]
    }

    fn run(&self, values: &[Vec<f64>]) -> Vec<f64> {
        let one = |index: usize| {
            let terms = self.row(index).iter();
            terms.fold(self.constants[index], |sum, &(value, element, factor)| {
                sum + f64::from(factor) * values[value as usize][element as usize]
            })
        };
        (0..self.constants.len()).into_par_iter().map(one).collect()
    }
}

fn reach(plain: &Plain, before: Reach) -> Reach {
    match (plain, before) {
        (Plain::Affine, before) => before,
        (Plain::Largest, Reach::Straight) => Reach::Pooled,
        (Plain::Curve(parts), Reach::Straight) if is_relu(parts) => Reach::Straight,
        _ => Reach::Beyond,
    }
}

fn is_relu(parts: &[deepconcolic_network::StraightPart]) -> bool {
    match parts {
        [low, high] => {
            (low.slope, low.intercept) == (0.0, 0.0)
                && high.from == 0.0
                && (high.slope, high.intercept) == (1.0, 0.0)
        }
        _ => false,
    }
}

fn sums(network: &Network, node: usize) -> Sums {
    let output = network.node_output(node);
    let inputs: Vec<u32> = network.plain_inputs(node).map(|v| v as u32).collect();
    let mut sums = Sums {
        starts: vec![0],
        terms: Vec::new(),
        constants: Vec::new(),
    };
    let mut row = AffineRow::default();
    for index in 0..network.value_elements(output) {
        network.plain_row(node, index, &mut row);
        let terms = row.terms.iter();
        sums.terms.extend(
            terms.map(|&(input, element, factor)| (inputs[input as usize], element, factor as f32)),
        );
        sums.starts.push(sums.terms.len());
        sums.constants.push(row.constant);
    }
    sums
}
