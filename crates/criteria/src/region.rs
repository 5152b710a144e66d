//! Regions of inputs: balls round seeds, boxes, or the whole domain.

use std::collections::BTreeMap;

use deepconcolic_geometry::{InputSpace, Norm};
use deepconcolic_language::{Bound, Formula, Input, InputBox, Linear, Relation, Var};

/// A ball round a seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Ball {
    /// The seed.
    pub centre: Vec<f32>,
    /// How far from it, in units of the domain's width.
    pub radius: f64,
    /// In which norm.
    pub norm: Norm,
}

impl Ball {
    /// "At most so many positions differ": a cardinality, with one member for each pixel or element.
    fn few_changes(&self, input: Input, space: &InputSpace, allowed: usize) -> Formula {
        let elements = self.centre.len();
        let mut members: BTreeMap<usize, Vec<Formula>> = BTreeMap::new();
        for (element, &centre) in self.centre.iter().enumerate() {
            let mut change = Linear::variable(Var::v(input, 1, element));
            change.constant = -f64::from(centre);
            let position = self.norm.position(element, elements, space.pixels);
            let differs = Formula::compare(change, Relation::Ne);
            members.entry(position).or_default().push(differs);
        }
        let member = |mut channels: Vec<Formula>| match channels.len() {
            1 => channels.swap_remove(0),
            _ => Formula::Or(channels),
        };
        Formula::Count {
            of: members.into_values().map(member).collect(),
            relation: Relation::Le,
            count: allowed,
        }
    }
}

/// Where the inputs of a requirement lie.
#[derive(Clone, Debug, PartialEq)]
pub enum Region {
    /// Anywhere in the domain.
    Domain,
    /// Near a seed.
    Ball(Ball),
    /// Between these ends.
    Box {
        /// Lowest values.
        lower: Vec<f64>,
        /// Highest values.
        upper: Vec<f64>,
    },
}

impl Region {
    /// Whether an input lies here.
    pub fn contains(&self, input: &[f32], space: &InputSpace) -> bool {
        match self {
            Self::Domain => true,
            Self::Ball(ball) => {
                let (centre, radius) = (&ball.centre, ball.radius);
                ball.norm.is_within(centre, input, radius, space)
            }
            Self::Box { lower, upper } => {
                let ends = lower.iter().zip(upper);
                let mut values = input.iter().map(|&x| f64::from(x)).zip(ends);
                values.all(|(x, (low, high))| *low <= x && x <= *high)
            }
        }
    }

    /// The condition that an input lies here, where a box or a count of changed elements can say it.
    pub fn formula(&self, input: Input, space: &InputSpace) -> Result<Formula, String> {
        let ball = match self {
            Self::Domain => return Ok(Formula::constant(true)),
            Self::Ball(ball) => ball,
            Self::Box { lower, upper } => {
                return Ok(Formula::Within {
                    input,
                    region: InputBox {
                        lower: Bound::PerElement(lower.as_slice().into()),
                        upper: Bound::PerElement(upper.as_slice().into()),
                    },
                });
            }
        };
        if let Some(allowed) = ball.norm.changes(ball.radius) {
            return Ok(ball.few_changes(input, space, allowed));
        }
        if !ball.norm.is_box() {
            return Err(format!(
                "a ball in the norm {} is not a box, and the language knows only boxes round \
                 fixed inputs",
                ball.norm.name()
            ));
        }
        let side = |sign: f64| {
            let bounds = ball.centre.iter().zip(&space.widths);
            let bounds = bounds.map(|(&c, w)| f64::from(c) + sign * ball.radius * w);
            Bound::PerElement(bounds.collect())
        };
        Ok(Formula::Within {
            input,
            region: InputBox {
                lower: side(-1.0),
                upper: side(1.0),
            },
        })
    }
}
