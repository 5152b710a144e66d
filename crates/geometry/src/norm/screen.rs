//! Ruling out references for a test, many at once: cheap enough to try on all of them, and never wrong
//! about one that is nearer.
//!
//! References lie side by side, an element's values next to each other, so that every instruction
//! works on as many references as the machine has lanes and each test can visit the elements in the
//! order that suits it. What is added up, and from what sum on a reference is out, is the norm's to say:
//! [`Screening`]. The sums are in single precision, and a reference is out when its sum is too large by
//! more than its rounding.

use super::{InputSpace, Norm};

/// References compared at once: enough independent sums to hide the latency of an addition.
pub const LANES: usize = 32;
/// Elements visited between two looks at whether any reference is left.
const STRIDE: usize = 32;
/// Units are never taken smaller than one over this: for a constant element the bound is large
/// instead of infinite, so that its square is still a number.
const STEEPEST: f64 = 1e15;

/// One value for each of the references that are compared at once.
pub type Lanes = [f32; LANES];
/// The references' values, element by element.
pub(super) type Columns<'a> = &'a [Lanes];
/// For each reference, whether it may be what is looked for; nothing if none may.
pub(super) type Left = Option<[bool; LANES]>;

/// How a norm tells far references from near ones.
pub trait Screening: Sync {
    /// What a change of an element counts, given one over the element's width and whether the element is
    /// the last of its pixel.
    fn factor(&self, per_width: f32, _is_last: bool) -> f32 {
        per_width
    }

    /// Whether windows round the elements of a test are looked at, not changes.
    fn by_windows(&self) -> bool {
        false
    }

    /// The sum above which a reference is out that must be nearer than a distance, or as near if `ties`
    /// will do.
    fn limit(&self, distance: f64, ties: bool, elements: usize) -> f32;

    /// For each reference, whether it may be what the sight aims at; nothing if none may.
    fn left(&self, columns: Columns<'_>, sight: &Sight) -> Left;
}

/// What distances are made of.
pub struct Screen {
    screening: &'static dyn Screening,
    widths: Vec<f64>,
    /// One over each width, or less.
    factors: Vec<f32>,
    /// The elements of each pixel; for norms that do not count pixels every element is by itself.
    pixels: Vec<Vec<u32>>,
}

/// A test ready to be compared with references.
#[derive(Clone, Debug)]
pub struct Sight {
    pub(super) probes: Vec<Probe>,
    /// What a reference must be nearer than, and whether one that is as near will do.
    aim: Option<(f64, bool)>,
    pub(super) windows: Vec<Window>,
    pub(super) limit: f32,
}

/// An element of a test.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    pub element: u32,
    pub value: f32,
    /// What a change counts.
    pub factor: f32,
}

/// The values that an element of a nearer reference can have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub element: u32,
    pub low: f32,
    pub high: f32,
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
        let widths: Vec<f64> = (0..elements).map(|e| units.width(e)).collect();
        let factor = |&width: &f64| {
            let factor = f64::min(1.0 / width, STEEPEST) as f32;
            // What single precision cannot hold precisely counts as nothing: still a lower bound.
            let precise = factor >= f32::MIN_POSITIVE;
            if precise { factor } else { 0.0 }
        };
        let mut pixels = vec![Vec::new(); elements];
        for element in 0..elements {
            let position = norm.position(element, elements, units.pixels);
            pixels[position].push(element as u32);
        }
        pixels.retain(|pixel| !pixel.is_empty());
        Self {
            screening: norm.screening(pixels.len() < elements),
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
        let mut probes = Vec::with_capacity(test.len());
        for (_, pixel) in order {
            for (position, &element) in pixel.iter().enumerate() {
                let is_last = position + 1 == pixel.len();
                let per_width = self.factors[element as usize];
                probes.push(Probe {
                    element,
                    value: test[element as usize],
                    factor: self.screening.factor(per_width, is_last),
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
        if self.screening.by_windows() {
            let window = |probe: &Probe| {
                let width = self.widths[probe.element as usize];
                Window::new(probe, width, distance, ties)
            };
            let windows = sight.probes.iter().map(window);
            sight.windows.clear();
            sight.windows.extend(windows);
        }
        sight.limit = self.screening.limit(distance, ties, self.widths.len());
    }

    /// For each reference, whether it may be what the sight aims at; nothing if none may.
    /// `columns` holds the references' values of each element.
    pub fn left(&self, columns: &[Lanes], sight: &Sight) -> Option<[bool; LANES]> {
        self.screening.left(columns, sight)
    }
}

/// More than a sum over so many elements can come to by rounding, if in exact arithmetic it is this.
pub(super) fn rounded_up(exact: f64, elements: usize) -> f32 {
    // A sum of sums of strides, and fewer than ten operations on each element, twice over; below
    // the smallest normal number errors are no longer relative.
    let elements = elements as f64;
    let depth = elements / STRIDE as f64 + (STRIDE + 16) as f64;
    let relative = depth * f64::from(f32::EPSILON);
    (exact * (1.0 + relative) + elements * f64::from(f32::MIN_POSITIVE)) as f32
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
pub(super) fn scan<P>(
    columns: Columns<'_>,
    parts: &[P],
    limit: f32,
    element: impl Fn(&P) -> u32,
    step: impl Fn(&mut f32, &mut f32, f32, &P),
) -> Left {
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
