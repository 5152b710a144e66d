//! Lines below and above a kinked curve over an interval. Rounded to nearest: what is found here
//! steers the search, and is checked elsewhere.

use deepconcolic_network::StraightPart;

use crate::lanes::{LANES, Lanes};

/// A slope and the value at 0.
pub(crate) type RelaxationLine = (f64, f64);

/// The lines of a unit, lane by lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnitLines {
    pub low_slope: Lanes,
    pub low_cut: Lanes,
    pub high_slope: Lanes,
    pub high_cut: Lanes,
}

impl UnitLines {
    /// Lines at zero.
    pub const NONE: Self = Self {
        low_slope: [0.0; LANES],
        low_cut: [0.0; LANES],
        high_slope: [0.0; LANES],
        high_cut: [0.0; LANES],
    };

    pub fn set(&mut self, lane: usize, (low, high): (RelaxationLine, RelaxationLine)) {
        (self.low_slope[lane], self.low_cut[lane]) = low;
        (self.high_slope[lane], self.high_cut[lane]) = high;
    }

    pub fn all(lines: (RelaxationLine, RelaxationLine)) -> Self {
        let mut unit = Self::NONE;
        for lane in 0..LANES {
            unit.set(lane, lines);
        }
        unit
    }
}

/// Where the free slope lies between the left part's (0) and the right part's (1), by default:
/// touching along the wider part.
pub(crate) fn default_share(kink: f64, l: f64, u: f64) -> f64 {
    if kink - l > u - kink { 0.0 } else { 1.0 }
}

/// Whether the curve is constant over `[l, u]`, so that tighter ends would tell nothing.
pub(crate) fn is_flat(parts: &[StraightPart], l: f64, u: f64) -> bool {
    let at = parts.iter().rposition(|part| part.from <= l).unwrap_or(0);
    parts[at].slope == 0.0 && is_settled(parts, l, u)
}

/// Whether the curve is straight over `[l, u]`, so that tighter ends would not move its lines.
pub(crate) fn is_settled(parts: &[StraightPart], l: f64, u: f64) -> bool {
    let at = parts.iter().rposition(|part| part.from <= l).unwrap_or(0);
    parts.get(at + 1).is_none_or(|next| u <= next.from)
}

/// Lines below and above over `[l, u]`.
pub(crate) fn lines(
    parts: &[StraightPart],
    l: f64,
    u: f64,
    share: Option<f64>,
) -> (RelaxationLine, RelaxationLine) {
    let first = parts.iter().rposition(|part| part.from <= l).unwrap_or(0);
    let inside = parts[first + 1..].iter().take_while(|part| part.from < u);
    let left = parts[first];
    match inside.count() {
        0 => {
            let line = (left.slope, left.intercept);
            (line, line)
        }
        1 => {
            let right = parts[first + 1];
            let kink = right.from;
            let share = share.unwrap_or_else(|| default_share(kink, l, u));
            let free = left.slope + share * (right.slope - left.slope);
            let touching = (free, value(parts, kink) - free * kink);
            let slope = (value(parts, u) - value(parts, l)) / (u - l);
            let chord = (slope, value(parts, l) - slope * l);
            if left.slope < right.slope {
                (touching, chord)
            } else {
                (chord, touching)
            }
        }
        _ => {
            let slope = (value(parts, u) - value(parts, l)) / (u - l);
            let kinks = parts.iter().map(|part| part.from);
            let points = kinks.filter(|&k| l < k && k < u).chain([l, u]);
            let rooms = points.map(|x| value(parts, x) - slope * x);
            let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
            for room in rooms {
                low = low.min(room);
                high = high.max(room);
            }
            ((slope, low), (slope, high))
        }
    }
}

/// The curve at a point.
pub(crate) fn value(parts: &[StraightPart], x: f64) -> f64 {
    let at = parts.iter().rposition(|part| part.from <= x).unwrap_or(0);
    // A flat part of no slope also stands for an infinite end.
    if parts[at].slope == 0.0 {
        parts[at].intercept
    } else {
        parts[at].slope * x + parts[at].intercept
    }
}

/// Bounds of the curve over an interval.
pub(crate) fn range(parts: &[StraightPart], l: f64, u: f64) -> [f64; 2] {
    let kinks = parts.iter().map(|part| part.from);
    let points = kinks.filter(|&k| l < k && k < u).chain([l, u]);
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for x in points {
        let y = value(parts, x);
        low = low.min(y);
        high = high.max(y);
    }
    [low, high]
}
