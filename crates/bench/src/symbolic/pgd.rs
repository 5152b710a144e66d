//! The slow reference for nearest adversarial inputs: projected gradient steps inside balls whose radius is
//! bisected, and at last bisection on the line to the image. Written plainly, all images together.

use deepconcolic_criteria::Departure;
use deepconcolic_geometry::{Ball, SearchSpace};
use deepconcolic_network::{Network, Pass, Point, Row, Seed};

/// Steps inside one ball.
const STEPS: usize = 1000;
/// The first step and the last, as parts of the radius.
const FIRST: f64 = 0.25;
const LAST: f64 = 0.0025;
/// Radii tried for each image, and places on the line to it.
const RADII: usize = 10;
const HALVINGS: usize = 20;
/// The radius that is tried first, as a part of the usual one of the norm.
const START: f64 = 0.5;

/// An image, what another answer is, and the nearest adversarial input so far.
pub struct Attacked<'a> {
    pub root: &'a [f32],
    pub departure: &'a Departure,
    pub best: Option<Vec<f32>>,
    pub distance: f64,
    /// No adversarial input was found this near.
    failed: f64,
}

/// The nearest adversarial inputs that projected gradient steps find, and how many passes they took.
pub fn attack<'a>(
    network: &Network,
    space: &SearchSpace,
    images: &[(&'a [f32], &'a Departure)],
) -> (Vec<Attacked<'a>>, usize) {
    let mut all: Vec<Attacked<'a>> = images
        .iter()
        .map(|&(root, departure)| Attacked {
            root,
            departure,
            best: None,
            distance: f64::INFINITY,
            failed: 0.0,
        })
        .collect();
    let mut passes = 0;
    for _ in 0..RADII {
        passes += one_radius(network, space, &mut all);
    }
    passes += shorten(network, space, &mut all);
    (all, passes)
}

/// Up to a thousand steps inside a ball for each image; whoever gets to another answer stops.
fn one_radius(network: &Network, space: &SearchSpace, all: &mut [Attacked<'_>]) -> usize {
    let usual = START * space.norm.default_radius();
    let radii: Vec<f64> = all
        .iter()
        .map(
            |image| match (image.distance.is_finite(), image.failed > 0.0) {
                (true, _) => f64::midpoint(image.failed, image.distance),
                (false, true) => 2.0 * image.failed,
                (false, false) => usual,
            },
        )
        .collect();
    let mut points: Vec<Vec<f32>> = all.iter().map(|image| image.root.to_vec()).collect();
    let mut active: Vec<usize> = (0..all.len()).collect();
    let mut passes = 0;
    for step in 0..STEPS {
        if active.is_empty() {
            break;
        }
        let inputs: Vec<f32> = active.iter().flat_map(|&i| points[i].clone()).collect();
        let pass = Pass::keep([Point::Logits]).differentiating([Point::Logits]);
        let trace = network.forward(&inputs, &pass);
        passes += active.len();
        let mut rows = Vec::new();
        let mut left = Vec::new();
        for (sample, &i) in active.iter().enumerate() {
            let logits = trace.sample(Point::Logits, sample);
            let image = &mut all[i];
            if image.departure.holds(logits) {
                let distance = space.distance(&points[i], image.root);
                if distance < image.distance {
                    image.distance = distance;
                    image.best = Some(points[i].clone());
                }
            } else if let Some((_, weights)) = image.departure.nearest(logits) {
                let seed = |(element, weight)| Seed {
                    point: Point::Logits,
                    element,
                    weight,
                };
                rows.push(Row {
                    sample,
                    seeds: weights.into_iter().map(seed).collect(),
                });
                left.push(i);
            }
        }
        passes += rows.len();
        let gradients = trace
            .tape()
            .map(|tape| network.vjp(tape, &rows))
            .unwrap_or_default();
        let part = FIRST + (LAST - FIRST) * step as f64 / (STEPS - 1) as f64;
        let each = network.input_elements();
        for (gradient, &i) in gradients.chunks_exact(each).zip(&left) {
            let ball = Ball {
                root: all[i].root,
                radius: radii[i],
                units: &space.units,
            };
            let ends = deepconcolic_geometry::Ends::of(&space.domain);
            let point = &mut points[i];
            space.norm.step(&ball, &ends, point, gradient, part as f32);
            space.norm.project(&ball, point);
            ends.clamp(point);
        }
        active = left;
    }
    for i in active {
        all[i].failed = all[i].failed.max(radii[i]);
    }
    passes
}

/// Bisection on the line from the image to what was found.
fn shorten(network: &Network, space: &SearchSpace, all: &mut [Attacked<'_>]) -> usize {
    let mut passes = 0;
    for image in all {
        let Some(far) = image.best.clone() else {
            continue;
        };
        let (mut low, mut high) = (0.0f32, 1.0f32);
        for _ in 0..HALVINGS {
            let middle = f32::midpoint(low, high);
            let each = image.root.iter().zip(&far);
            let point: Vec<f32> = each.map(|(a, b)| a + (b - a) * middle).collect();
            passes += 1;
            if image.departure.holds(&network.logits(&point)) {
                high = middle;
                image.distance = image.distance.min(space.distance(&point, image.root));
                image.best = Some(point);
            } else {
                low = middle;
            }
        }
    }
    passes
}
