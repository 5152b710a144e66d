//! Linear arithmetic over neuron values: the atoms `a ⋈ 0` of the paper's grammar.

use std::collections::HashMap;

use deepconcolic_network::Point;

use super::Relation;

/// Which of a requirement's inputs a value belongs to: `x` and `x1` are the first, `x2` the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Input {
    /// `x`, or `x1` of a pair.
    First,
    /// `x2` of a pair.
    Second,
}

/// A neuron's value before or after its activation function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Activation {
    /// u, the pre-activation.
    Pre,
    /// v, the post-activation.
    Post,
}

/// One value: `u[x][k,i]` or `v[x][k,i]`. In layer 1, the logits K and the output K+1 of a network that
/// ends in a Softmax or Sigmoid, u is v.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Var {
    /// Of which input.
    pub input: Input,
    /// u or v.
    pub activation: Activation,
    /// The layer's number k.
    pub layer: usize,
    /// The neuron's index i, counted from 0.
    pub neuron: usize,
}

impl Var {
    /// `u[input][layer,neuron]`
    pub fn u(input: Input, layer: usize, neuron: usize) -> Self {
        let activation = Activation::Pre;
        Self {
            input,
            activation,
            layer,
            neuron,
        }
    }

    /// `v[input][layer,neuron]`
    pub fn v(input: Input, layer: usize, neuron: usize) -> Self {
        let activation = Activation::Post;
        Self {
            input,
            activation,
            layer,
            neuron,
        }
    }
}

impl Var {
    /// The tensor it is an element of, in a network with so many hidden layers.
    pub fn point(self, hidden: usize) -> Point {
        match (self.layer, self.activation) {
            (1, _) => Point::Input,
            (k, _) if k == hidden + 2 => Point::Logits,
            (k, _) if k == hidden + 3 => Point::Answer,
            (k, Activation::Pre) => Point::Pre(k - 2),
            (k, Activation::Post) => Point::Post(k - 2),
        }
    }
}

/// A sum of multiples of neuron values, and a constant.
///
/// ```
/// use deepconcolic_language::{Input, Linear, Var};
///
/// let u = Var::u(Input::First, 2, 0);
/// let sum = Linear { terms: vec![(2.0, u), (-2.0, u)], constant: 1.0 };
/// assert_eq!(sum.simplified(), Linear::constant(1.0));
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Linear {
    /// Coefficients and what they multiply.
    pub terms: Vec<(f64, Var)>,
    /// What is added to the terms.
    pub constant: f64,
}

impl Linear {
    /// A number.
    pub fn constant(constant: f64) -> Self {
        let terms = Vec::new();
        Self { terms, constant }
    }

    /// One neuron value.
    pub fn variable(var: Var) -> Self {
        let terms = vec![(1.0, var)];
        Self {
            terms,
            constant: 0.0,
        }
    }

    /// Adds `factor` times `other`; like terms stay apart until [`simplified`](Self::simplified).
    pub fn add(&mut self, factor: f64, other: &Self) {
        let scaled = other.terms.iter().map(|&(c, var)| (factor * c, var));
        self.terms.extend(scaled);
        self.constant += factor * other.constant;
    }

    /// `factor` times this.
    #[must_use]
    pub fn scaled(mut self, factor: f64) -> Self {
        for (coefficient, _) in &mut self.terms {
            *coefficient *= factor;
        }
        self.constant *= factor;
        self
    }

    /// The same sum with each value named once, in the order of first mention, zeros left out.
    #[must_use]
    pub fn simplified(self) -> Self {
        let mut place = HashMap::with_capacity(self.terms.len());
        let mut terms: Vec<(f64, Var)> = Vec::with_capacity(self.terms.len());
        for (coefficient, var) in self.terms {
            let at = *place.entry(var).or_insert(terms.len());
            match terms.get_mut(at) {
                Some((sum, _)) => *sum += coefficient,
                None => terms.push((coefficient, var)),
            }
        }
        terms.retain(|&(coefficient, _)| coefficient != 0.0);
        Self {
            terms,
            constant: self.constant,
        }
    }

    /// Whether every number in it is finite.
    pub(crate) fn is_finite(&self) -> bool {
        self.constant.is_finite() && self.terms.iter().all(|(c, _)| c.is_finite())
    }
}

/// A linear atom: `linear ⋈ 0`.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The left side; the right side is 0.
    pub linear: Linear,
    /// How the two compare.
    pub relation: Relation,
}
