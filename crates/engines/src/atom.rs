//! A linear comparison of neuron values, turned so that it asks for "at least 0".

use deepconcolic_language::{Comparison, Input, Relation, Var};
use deepconcolic_network::{Network, Point};

use crate::goal::{Goal, Margin, Reason};

/// One multiple of one value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Term {
    pub coefficient: f64,
    /// 0 for `x` and `x1`, 1 for `x2`.
    pub input: usize,
    pub point: Point,
    pub element: usize,
}

/// `terms + constant >= 0`, or `> 0`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Atom {
    pub terms: Vec<Term>,
    pub constant: f64,
    pub strict: bool,
    /// By how much a generated test must clear it.
    pub margin: f64,
    /// How large its left side usually is.
    pub scale: f64,
}

/// What atoms need to know of the network and the goal.
#[derive(Clone, Copy)]
pub(crate) struct Scales<'a> {
    pub network: &'a Network,
    pub means: &'a [f64],
    pub margin: Margin,
}

impl<'a> Scales<'a> {
    pub fn of(goal: &Goal<'a>) -> Self {
        Self {
            network: goal.network,
            means: goal.means,
            margin: goal.margin,
        }
    }

    /// The tensor that a variable is an element of.
    fn point(&self, var: &Var) -> Option<Point> {
        let hidden = self.network.layers().len();
        if var.layer == 0 || var.layer > hidden + 3 {
            return None;
        }
        let point = var.point(hidden);
        (var.neuron < self.network.elements(point)).then_some(point)
    }

    /// Mean |u| of a tensor.
    fn mean(&self, point: Point) -> f64 {
        let layer = match point {
            Point::Input => 0,
            Point::Pre(layer) | Point::Post(layer) => layer + 1,
            Point::Logits | Point::Output(_) => self.network.layers().len() + 1,
            Point::Answer => self.network.layers().len() + 2,
        };
        self.means.get(layer).copied().unwrap_or(0.0)
    }

    /// An atom from its parts, with its margin.
    pub fn atom(&self, terms: Vec<Term>, constant: f64, strict: bool) -> Atom {
        let size: f64 = terms.iter().map(|t| t.coefficient.abs()).sum();
        let usual: f64 = terms
            .iter()
            .map(|t| t.coefficient.abs() * self.mean(t.point))
            .sum();
        let usual = if usual.is_finite() { usual } else { 0.0 };
        // An input element is no computed value: nothing rounds it.
        let computed = terms.iter().any(|t| t.point != Point::Input);
        let margin = (self.margin.relative * usual).max(self.margin.floor * size);
        Atom {
            margin: if computed { margin } else { 0.0 },
            scale: if usual > 0.0 {
                usual
            } else {
                size.max(f64::MIN_POSITIVE)
            },
            terms,
            constant,
            strict,
        }
    }

    /// A neuron's sign on one input: `sign u >= 0`, strictly for the negative one.
    pub fn sign(&self, input: usize, point: Point, element: usize, positive: bool) -> Atom {
        let term = Term {
            coefficient: if positive { 1.0 } else { -1.0 },
            input,
            point,
            element,
        };
        self.atom(vec![term], 0.0, !positive)
    }

    /// The atom of a comparison, which must not be `!=`.
    pub fn compile(&self, comparison: &Comparison) -> Result<Atom, Reason> {
        let unsupported = |why| Reason::Unsupported {
            part: deepconcolic_language::Formula::Compare(comparison.clone()).to_string(),
            why,
        };
        let (factor, strict) = match comparison.relation {
            Relation::Ge => (1.0, false),
            Relation::Gt => (1.0, true),
            Relation::Le => (-1.0, false),
            Relation::Lt => (-1.0, true),
            Relation::Eq | Relation::Ne => {
                return self.equation(comparison).ok_or_else(|| {
                    unsupported(if self.is_of_inputs(comparison) {
                        "symbolic search moves elements of the input and takes no equation that holds them (a ball in \
                         l0 is made of such)"
                    } else {
                        "an equation of computed values holds only by chance of rounding"
                    })
                });
            }
        };
        let linear = comparison.linear.clone().simplified();
        let mut terms = Vec::with_capacity(linear.terms.len());
        for (coefficient, var) in &linear.terms {
            let point = self
                .point(var)
                .ok_or_else(|| unsupported("the network has no such neuron"))?;
            terms.push(Term {
                coefficient: factor * coefficient,
                input: usize::from(var.input == Input::Second),
                point,
                element: var.neuron,
            });
        }
        Ok(self.atom(terms, factor * linear.constant, strict))
    }

    /// Whether a comparison is of elements of the input alone, which nothing computes.
    fn is_of_inputs(&self, comparison: &Comparison) -> bool {
        let mut terms = comparison.linear.terms.iter();
        terms.all(|(_, var)| self.point(var) == Some(Point::Input))
    }

    /// The one equation that can be met safely: `v = 0` of a Relu, which means `u < 0`.
    fn equation(&self, comparison: &Comparison) -> Option<Atom> {
        let linear = comparison.linear.clone().simplified();
        let [(_, var)] = linear.terms[..] else {
            return None;
        };
        let Some(Point::Post(layer)) = self.point(&var) else {
            return None;
        };
        let zero = linear.constant == 0.0 && comparison.relation == Relation::Eq;
        (zero && self.network.layers()[layer].kind() == "Relu").then(|| {
            let input = usize::from(var.input == Input::Second);
            self.sign(input, Point::Pre(layer), var.neuron, false)
        })
    }
}
