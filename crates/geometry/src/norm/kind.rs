//! What every norm says of itself.

use std::fmt;

use super::screen::Screening;
use super::{Ball, ConvexNorm, Ends, InputSpace, Pixels};
use crate::Random;

/// What a norm or a region cannot do, and why: nothing else is done in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported {
    /// Which norm or region.
    pub what: &'static str,
    /// Why it cannot.
    pub why: &'static str,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.why)
    }
}

impl std::error::Error for Unsupported {}

/// A norm on the difference of two inputs. Each implementation is one file beside this one; the laws they
/// are tested against are in `laws.rs`.
pub trait NormKind: Sync {
    /// The name in requirement files and on the command line.
    fn name(&self) -> &'static str;

    /// What it measures, in a few words.
    fn help(&self) -> &'static str;

    /// What radii are counted in.
    fn unit(&self) -> &'static str {
        "units of the domain's width"
    }

    /// The radius of search regions when none is given.
    fn default_radius(&self) -> f64;

    /// Why a number is no radius in this norm, if it is none. It is finite and not negative.
    fn check_radius(&self, _radius: f64) -> Result<(), Unsupported> {
        Ok(())
    }

    /// The distance of two inputs.
    fn distance(&self, a: &[f32], b: &[f32], space: &InputSpace) -> f64;

    /// Whether the distance of two inputs is at most a radius; quick where it is far more.
    fn is_within(&self, a: &[f32], b: &[f32], radius: f64, space: &InputSpace) -> bool;

    /// Whether every ball is a box: its elements can move independently of each other.
    fn is_box(&self) -> bool {
        false
    }

    /// The most widths of the domain that one element can move within a radius; infinite where only the
    /// domain limits it. The box of such changes round the centre is the smallest that holds the ball.
    fn span(&self, radius: f64) -> f64;

    /// How many positions ([`NormKind::position`]) may differ within a radius, where that is all that it limits.
    fn changes(&self, _radius: f64) -> Option<usize> {
        None
    }

    /// Moves a point to the nearest place of the ball, up to rounding; a point of the ball stays.
    fn project(&self, ball: &Ball<'_>, point: &mut [f32]);

    /// Moves a point along a gradient, by a part of the radius. The point may leave the ball by as much; what
    /// leaves the ends is of no use.
    fn step(&self, ball: &Ball<'_>, ends: &Ends, point: &mut [f32], gradient: &[f32], part: f32);

    /// The part of the direction so far that the next step of a climb keeps, from 0 to below 1; 0 where every step
    /// follows the gradient at its own place alone.
    fn inertia(&self) -> f32 {
        0.0
    }

    /// A point drawn so that it fills the ball evenly; it may leave the ends.
    fn draw(&self, ball: &Ball<'_>, ends: &Ends, random: &mut Random) -> Vec<f32>;

    /// The most that the product of a gradient with a change can be over all changes within a radius: the
    /// dual norm times the radius. Where only the domain limits a change it is at most one width.
    fn dual(&self, gradient: &[f32], radius: f64, space: &InputSpace) -> f64;

    /// The norm as programs state it, or why they cannot.
    fn convex(&self) -> Result<&'static dyn ConvexNorm, Unsupported>;

    /// Which of the things that it measures an element belongs to: itself, or its pixel.
    fn position(&self, element: usize, _elements: usize, _pixels: Pixels) -> usize {
        element
    }

    /// How far references are told from near ones. `grouped` says whether some elements share a position.
    fn screening(&self, grouped: bool) -> &'static dyn Screening;
}
