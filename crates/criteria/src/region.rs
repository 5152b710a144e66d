//! Regions of inputs: balls round seeds, or the whole domain.

use deepconcolic_geometry::{InputSpace, Norm};
use deepconcolic_language::{Bound, Formula, Input, InputBox};

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

/// Where the inputs of a requirement lie.
#[derive(Clone, Debug, PartialEq)]
pub enum Region {
    /// Anywhere in the domain.
    Domain,
    /// Near a seed.
    Ball(Ball),
}

impl Region {
    /// Whether an input lies here.
    pub fn contains(&self, input: &[f32], space: &InputSpace) -> bool {
        match self {
            Self::Domain => true,
            Self::Ball(ball) => ball.norm.distance(&ball.centre, input, space) <= ball.radius,
        }
    }

    /// The condition that an input lies here, where a box can say it.
    pub fn formula(&self, input: Input, space: &InputSpace) -> Result<Formula, String> {
        let ball = match self {
            Self::Domain => return Ok(Formula::constant(true)),
            Self::Ball(ball) => ball,
        };
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
