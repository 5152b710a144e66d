//! Boolean formulas with every layer and neuron resolved to a number: what engines work on.

use std::sync::Arc;

use deepconcolic_geometry::Norm;

use super::{Comparison, Input, Linear, Relation, Var};

/// One side of a box: the same number for every input element, or one each.
#[derive(Debug, Clone, PartialEq)]
pub enum Bound {
    /// The same for every element.
    Uniform(f64),
    /// One number per element; shared, since every member of a family has the same list.
    PerElement(Arc<[f64]>),
}

impl Bound {
    /// The bound of one element.
    pub fn at(&self, element: usize) -> f64 {
        match self {
            Self::Uniform(bound) => *bound,
            Self::PerElement(bounds) => bounds[element],
        }
    }
}

/// A closed box of inputs, in the input's own units.
#[derive(Debug, Clone, PartialEq)]
pub struct InputBox {
    /// The smallest allowed value of each element.
    pub lower: Bound,
    /// The largest allowed value of each element.
    pub upper: Bound,
}

impl InputBox {
    /// Whether the input lies in the box, faces included.
    pub fn contains(&self, input: &[f32]) -> bool {
        input.iter().enumerate().all(|(element, &value)| {
            let value = f64::from(value);
            self.lower.at(element) <= value && value <= self.upper.at(element)
        })
    }
}

/// A Boolean formula over one or two inputs (the paper's `e`).
///
/// `And` of nothing is true and `Or` of nothing is false.
///
/// ```
/// use deepconcolic_language::{Formula, Input};
///
/// // The sign of neuron 3 of layer 2 changes: the heart of the MC/DC criteria.
/// let changes = Formula::Xor(
///     Box::new(Formula::active(Input::First, 2, 3)),
///     Box::new(Formula::active(Input::Second, 2, 3)),
/// );
/// assert!(changes.is_negation_free());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Formula {
    /// A linear comparison with 0.
    Compare(Comparison),
    /// `x in box(lower, upper)`: a region condition.
    Within {
        /// Which input.
        input: Input,
        /// Where it lies.
        region: InputBox,
    },
    /// `dist[norm](x1, x2) ⋈ radius`: a distance condition.
    Distance {
        /// How the distance is measured.
        norm: Norm,
        /// How it compares with the radius.
        relation: Relation,
        /// In units of the domain's width.
        radius: f64,
    },
    /// Negation.
    Not(Box<Formula>),
    /// Conjunction.
    And(Vec<Formula>),
    /// Disjunction.
    Or(Vec<Formula>),
    /// Both true or both false: `ap[x1][k,i] = ap[x2][k,i]`.
    Iff(Box<Formula>, Box<Formula>),
    /// Exactly one true: `ap[x1][k,i] != ap[x2][k,i]`.
    Xor(Box<Formula>, Box<Formula>),
    /// `|{of}| ⋈ count`: how many of the formulas are true.
    Count {
        /// The formulas counted.
        of: Vec<Formula>,
        /// How the number of true ones compares.
        relation: Relation,
        /// With what.
        count: usize,
    },
}

impl Formula {
    /// `linear ⋈ 0`
    pub fn compare(linear: Linear, relation: Relation) -> Self {
        Self::Compare(Comparison { linear, relation })
    }

    /// `ap[input][layer,neuron]`: u >= 0, exactly and not strictly (paper, Definition 1).
    pub fn active(input: Input, layer: usize, neuron: usize) -> Self {
        let u = Linear::variable(Var::u(input, layer, neuron));
        Self::compare(u, Relation::Ge)
    }

    /// The formula that is always true, or never.
    pub fn constant(truth: bool) -> Self {
        if truth {
            Self::And(Vec::new())
        } else {
            Self::Or(Vec::new())
        }
    }

    /// Whether the formula is in DR+: it has no negation. `iff` and `xor` of two atoms count as
    /// negation-free, as the paper counts them, since an atom's complement is an atom.
    pub fn is_negation_free(&self) -> bool {
        match self {
            Self::Compare(_) | Self::Within { .. } | Self::Distance { .. } => true,
            Self::Not(_) => false,
            Self::And(of) | Self::Or(of) | Self::Count { of, .. } => {
                of.iter().all(Self::is_negation_free)
            }
            Self::Iff(a, b) | Self::Xor(a, b) => {
                a.has_atomic_complement() && b.has_atomic_complement()
            }
        }
    }

    /// Hands on every value that the formula speaks of.
    pub fn each_variable(&self, visit: &mut impl FnMut(Var)) {
        match self {
            Self::Compare(comparison) => {
                for &(_, var) in &comparison.linear.terms {
                    visit(var);
                }
            }
            Self::Within { .. } | Self::Distance { .. } => {}
            Self::Not(inner) => inner.each_variable(visit),
            Self::And(of) | Self::Or(of) | Self::Count { of, .. } => {
                for part in of {
                    part.each_variable(visit);
                }
            }
            Self::Iff(a, b) | Self::Xor(a, b) => {
                a.each_variable(visit);
                b.each_variable(visit);
            }
        }
    }

    fn has_atomic_complement(&self) -> bool {
        match self {
            Self::Compare(_) | Self::Distance { .. } => true,
            Self::And(of) | Self::Or(of) => of.is_empty(),
            _ => false,
        }
    }
}
