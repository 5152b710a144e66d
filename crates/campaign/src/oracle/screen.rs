//! Ruling out references for a test, many at once: cheap enough to try on all of them, and never wrong
//! about one that is nearer.
//!
//! References lie side by side, an element's values next to each other, so that every instruction
//! works on as many references as the machine has lanes and each test can visit the elements in the
//! order that suits it. For L-infinity a reference is out when an element leaves a window round the
//! test, which needs no arithmetic and so settles ties too; for the other norms, when a sum in single
//! precision is too large by more than its rounding.

use deepconcolic_geometry::{InputSpace, Norm};
use deepconcolic_network::vectorised;

/// References compared at once: enough independent sums to hide the latency of an addition.
pub const LANES: usize = 32;
/// Elements visited between two looks at whether any reference is left.
const STRIDE: usize = 32;
/// Units are never taken smaller than one over this: for a constant element the bound is large
/// instead of infinite, so that its square is still a number.
const STEEPEST: f64 = 1e15;

/// One value for each of the references that are compared at once.
pub type Lanes = [f32; LANES];

/// What distances are made of.
#[derive(Clone, Debug)]
pub struct Screen {
    norm: Norm,
    widths: Vec<f64>,
    /// One over each width, or less.
    factors: Vec<f32>,
    /// The elements of each pixel; for other norms every element is by itself.
    pixels: Vec<Vec<u32>>,
}

/// A test ready to be compared with references.
#[derive(Clone, Debug)]
pub struct Sight {
    probes: Vec<Probe>,
    /// What a reference must be nearer than, and whether one that is as near will do.
    aim: Option<(f64, bool)>,
    windows: Vec<Window>,
    limit: f32,
}

/// An element of a test.
#[derive(Clone, Copy, Debug)]
struct Probe {
    element: u32,
    value: f32,
    /// What a change counts: one over the unit; for norms that count pixels, 1 at the last element
    /// of a pixel and 0 before it.
    factor: f32,
}

/// The values that an element of a nearer reference can have.
#[derive(Clone, Copy, Debug)]
struct Window {
    element: u32,
    low: f32,
    high: f32,
}

impl Sight {
    /// The bytes one takes for inputs of so many elements.
    pub fn bytes(elements: usize) -> usize {
        elements * (size_of::<Probe>() + size_of::<Window>())
    }
}

impl Screen {
    /// For inputs of so many elements.
    pub fn new(norm: Norm, units: &InputSpace, elements: usize) -> Self {
        let width = |element| units.widths.get(element).copied().unwrap_or(1.0);
        let widths: Vec<f64> = (0..elements).map(width).collect();
        let factor = |&width: &f64| {
            let factor = f64::min(1.0 / width, STEEPEST) as f32;
            // What single precision cannot hold precisely counts as nothing: still a lower bound.
            let precise = factor >= f32::MIN_POSITIVE;
            if precise { factor } else { 0.0 }
        };
        let mut pixels = vec![Vec::new(); elements];
        for element in 0..elements {
            let position = match norm {
                Norm::L0 => units.pixels.position(element, elements),
                _ => element,
            };
            pixels[position].push(element as u32);
        }
        pixels.retain(|pixel| !pixel.is_empty());
        // Where a pixel is one element, counting elements is the same and quicker.
        let single = norm == Norm::L0 && pixels.len() == elements;
        Self {
            norm: if single { Norm::L0Elements } else { norm },
            factors: widths.iter().map(factor).collect(),
            widths,
            pixels,
        }
    }

    /// A test's elements, those first in which references probably differ most from it; `mean` and
    /// `variance` are of the references.
    pub fn sight(&self, test: &[f32], mean: &[f32], variance: &[f32]) -> Sight {
        let expected = |&element: &u32| {
            let e = element as usize;
            let (off, factor) = (test[e] - mean[e], self.factors[e]);
            (off * off + variance[e]) * factor * factor
        };
        let mut order: Vec<(f32, &[u32])> = self
            .pixels
            .iter()
            .map(|pixel| (pixel.iter().map(expected).sum(), pixel.as_slice()))
            .collect();
        order.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let counts = matches!(self.norm, Norm::L0 | Norm::L0Elements);
        let mut probes = Vec::with_capacity(test.len());
        for (_, pixel) in order {
            for (position, &element) in pixel.iter().enumerate() {
                let last = f32::from(u8::from(position + 1 == pixel.len()));
                let factor = self.factors[element as usize];
                probes.push(Probe {
                    element,
                    value: test[element as usize],
                    factor: if counts { last } else { factor },
                });
            }
        }
        Sight {
            probes,
            aim: None,
            windows: Vec::new(),
            limit: f32::INFINITY,
        }
    }

    /// From now on, references must be nearer than `distance`, or as near if `ties` will do.
    pub fn aim(&self, sight: &mut Sight, distance: f64, ties: bool) {
        if sight.aim == Some((distance, ties)) {
            return;
        }
        sight.aim = Some((distance, ties));
        if self.norm == Norm::Linf {
            let window = |probe: &Probe| {
                let width = self.widths[probe.element as usize];
                Window::new(probe, width, distance, ties)
            };
            let windows = sight.probes.iter().map(window);
            sight.windows.clear();
            sight.windows.extend(windows);
        }
        sight.limit = self.limit(distance, ties);
    }

    /// The sum above which a reference is out.
    fn limit(&self, distance: f64, ties: bool) -> f32 {
        let elements = self.widths.len() as f64;
        // A sum of sums of strides, and fewer than ten operations on each element, twice over; below
        // the smallest normal number errors are no longer relative.
        let upper = |exact: f64| {
            let depth = elements / STRIDE as f64 + (STRIDE + 16) as f64;
            let relative = depth * f64::from(f32::EPSILON);
            (exact * (1.0 + relative) + elements * f64::from(f32::MIN_POSITIVE)) as f32
        };
        match self.norm {
            // What is added up is whether a window was left.
            Norm::Linf => 0.5,
            Norm::L1 => upper(distance),
            Norm::L2 => upper(distance * distance),
            // Counts are exact.
            Norm::L0 | Norm::L0Elements if ties => (distance + 0.5) as f32,
            Norm::L0 | Norm::L0Elements => (distance - 0.5) as f32,
        }
    }

    /// For each reference, whether it may be what the sight aims at; nothing if none may.
    /// `columns` holds the references' values of each element.
    #[expect(clippy::float_cmp, reason = "changed means not the same")]
    pub fn left(&self, columns: &[Lanes], sight: &Sight) -> Option<[bool; LANES]> {
        let (probes, limit) = (&sight.probes, sight.limit);
        let at = |probe: &Probe| probe.element;
        vectorised(
            #[inline(always)]
            || match self.norm {
                Norm::Linf => scan(
                    columns,
                    &sight.windows,
                    limit,
                    |window| window.element,
                    |sum, _, x, window| {
                        let outside = x < window.low || x > window.high;
                        *sum = if outside { 1.0 } else { *sum };
                    },
                ),
                Norm::L1 => scan(columns, probes, limit, at, |sum, _, x, probe| {
                    *sum += (x - probe.value).abs() * probe.factor;
                }),
                Norm::L2 => scan(columns, probes, limit, at, |sum, _, x, probe| {
                    let change = (x - probe.value) * probe.factor;
                    *sum += change * change;
                }),
                Norm::L0Elements => scan(columns, probes, limit, at, |sum, _, x, probe| {
                    *sum += if x == probe.value { 0.0 } else { 1.0 };
                }),
                Norm::L0 => scan(columns, probes, limit, at, |sum, seen, x, probe| {
                    let changed = if x == probe.value { *seen } else { 1.0 };
                    *sum += changed * probe.factor;
                    *seen = changed * (1.0 - probe.factor);
                }),
            },
        )
    }
}

impl Window {
    /// What lies outside has been seen to be too far; it is as narrow as can be found cheaply.
    fn new(probe: &Probe, width: f64, distance: f64, ties: bool) -> Self {
        let too_far = |x: f32| {
            let change = (f64::from(x) - f64::from(probe.value)).abs();
            let change = if change == 0.0 { 0.0 } else { change / width };
            if ties {
                change > distance
            } else {
                change >= distance
            }
        };
        let (value, reach) = (f64::from(probe.value), distance * width);
        let rounding = (value.abs() + reach) * 1e-12;
        // A change grows with the distance from the test's value, rounded or not: beyond an end that
        // is too far all else is.
        let end = |guess: f64, rounding: f64, outward: fn(f32) -> f32, inward: fn(f32) -> f32| {
            let guessed = guess as f32;
            let safe = (guess + rounding) as f32;
            let ends = [guessed, outward(guessed), outward(safe)];
            ends.into_iter().find(|&x| too_far(x)).map(inward)
        };
        let low = end(value - reach, -rounding, f32::next_down, f32::next_up);
        let high = end(value + reach, rounding, f32::next_up, f32::next_down);
        Self {
            element: probe.element,
            low: low.unwrap_or(f32::NEG_INFINITY),
            high: high.unwrap_or(f32::INFINITY),
        }
    }
}

/// Lets `step` take each element into the sums, until all of them are beyond the limit. A step gets
/// the sum, a note it left itself, the reference's value and the test's part.
#[expect(
    clippy::inline_always,
    reason = "it must be compiled inside `vectorised`"
)]
#[inline(always)]
fn scan<P>(
    columns: &[Lanes],
    parts: &[P],
    limit: f32,
    element: impl Fn(&P) -> u32,
    step: impl Fn(&mut f32, &mut f32, f32, &P),
) -> Option<[bool; LANES]> {
    let mut totals = [0.0; LANES];
    let mut notes = [0.0; LANES];
    let mut left = [true; LANES];
    for stride in parts.chunks(STRIDE) {
        // Apart from the total, so that rounding grows with the strides and not with the elements.
        let mut sums = [0.0; LANES];
        for part in stride {
            let column = &columns[element(part) as usize];
            for lane in 0..LANES {
                step(&mut sums[lane], &mut notes[lane], column[lane], part);
            }
        }
        let mut some = false;
        for lane in 0..LANES {
            totals[lane] += sums[lane];
            // What overflowed, or is no number, is left for others to judge.
            left[lane] = !(totals[lane] > limit && totals[lane] <= f32::MAX);
            some |= left[lane];
        }
        if !some {
            return None;
        }
    }
    Some(left)
}
