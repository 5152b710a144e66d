//! A number that follows another between two ends, by what it is at both: its chord, and how far it can be below and
//! above that. What curves and maxima make of such numbers.
//!
//! Curves: with `x` on the chord and `d` how far the number is from it, `f(x + d)` less the chord of `f` is linear on every
//! part of the rectangle of all `(x, d)` that lines `x + d = kink` cut off, so that it is least and largest at a corner of one.
//! Maxima: the largest of several lines less a line is largest at an end. The least is a linear program in one unknown, decided
//! by one line or by two that cross.

use deepconcolic_network::StraightPart;

use crate::bounds::lines::is_settled;

/// More than a few operations can err, in proportion to the numbers behind them.
const ROUNDING: f64 = 32.0 * f64::EPSILON;
/// More than underflow can take away.
const TINY: f64 = 1e-300;

/// A number between two ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Chord {
    /// The values of the chord at both ends.
    pub ends: [f64; 2],
    /// How far the number can be below the chord, and above it.
    pub below: f64,
    pub above: f64,
}

impl Chord {
    /// Nothing is known.
    const UNKNOWN: Self = Self {
        ends: [0.0; 2],
        below: f64::INFINITY,
        above: f64::INFINITY,
    };

    fn is_finite(&self) -> bool {
        // Written so that anything that is no number is not finite.
        let [a, b] = self.ends;
        a.abs() + b.abs() + self.below + self.above < f64::INFINITY
    }

    /// A kinked curve of the number, whose parts are no further than `gap` from meeting.
    pub fn through(&self, parts: &[StraightPart], gap: f64) -> Self {
        if !self.is_finite() {
            return Self::UNKNOWN;
        }
        let [a, b] = self.ends;
        let low = (a.min(b) - self.below).next_down();
        let high = (a.max(b) + self.above).next_up();
        if is_settled(parts, low, high) {
            self.along(part_at(parts, low), gap)
        } else {
            self.bent(parts, gap)
        }
    }

    /// A straight part of a curve of the number.
    fn along(&self, part: StraightPart, gap: f64) -> Self {
        let size = part.slope.abs();
        let ends = self.ends.map(|x| part.slope * x + part.intercept);
        let is_unit = matches!(part.slope, -1.0 | 1.0);
        let is_exact = size == 0.0 || (is_unit && part.intercept == 0.0);
        let mut slack = gap;
        if !is_exact {
            let [a, b] = self.ends;
            let largest = a.abs().max(b.abs()) + self.below + self.above;
            slack += ROUNDING * (size * largest + part.intercept.abs()) + TINY;
        }
        let (below, above) = if part.slope < 0.0 {
            (self.above, self.below)
        } else {
            (self.below, self.above)
        };
        Self {
            ends,
            below: size * below + slack,
            above: size * above + slack,
        }
    }

    /// A curve of the number where it may bend.
    fn bent(&self, parts: &[StraightPart], gap: f64) -> Self {
        let [a, b] = self.ends;
        let ends = self.ends.map(|x| value(parts, x));
        let [first, last] = ends;
        let (mut least, mut largest) = (0.0f64, 0.0f64);
        let mut corner = |value: f64, chord: f64| {
            least = least.min(value - chord);
            largest = largest.max(value - chord);
        };
        for (x, chord) in [(a, first), (b, last)] {
            corner(value(parts, x - self.below), chord);
            corner(value(parts, x + self.above), chord);
        }
        for kink in parts[1..].iter().map(|part| part.from) {
            let there = value(parts, kink);
            for (x, chord) in [(a, first), (b, last)] {
                if x - self.below < kink && kink < x + self.above {
                    corner(there, chord);
                }
            }
            for x in [kink + self.below, kink - self.above] {
                if a.min(b) < x && x < a.max(b) {
                    let share = ((x - a) / (b - a)).clamp(0.0, 1.0);
                    corner(there, first + share * (last - first));
                }
            }
        }
        let size = |part: &StraightPart| {
            let x = a.abs().max(b.abs()) + self.below + self.above;
            part.slope.abs() * x + part.intercept.abs()
        };
        let size = parts.iter().map(size).fold(0.0, f64::max);
        let slack = ROUNDING * size + TINY + gap;
        Self {
            ends,
            below: slack - least,
            above: slack + largest,
        }
    }

    /// The number with its sign turned.
    fn negated(&self) -> Self {
        Self {
            ends: self.ends.map(|x| -x),
            below: self.above,
            above: self.below,
        }
    }

    /// The largest of several numbers with sign 1, the smallest with -1.
    pub fn extreme(members: &mut [Self], sign: f64) -> Self {
        if sign < 0.0 {
            for member in &mut *members {
                *member = member.negated();
            }
            largest(members).negated()
        } else {
            largest(members)
        }
    }
}

/// The largest of several numbers.
fn largest(members: &[Chord]) -> Chord {
    if members.is_empty() || !members.iter().all(Chord::is_finite) {
        return Chord::UNKNOWN;
    }
    let top = |end: usize| {
        let each = members.iter().map(|member| member.ends[end]);
        each.fold(f64::NEG_INFINITY, f64::max)
    };
    let ends = [top(0), top(1)];
    let mut above = 0.0f64;
    // How far each member leaves the chord of the largest above it, at both ends: sums of numbers that are not negative.
    let falls = |member: &Chord| {
        [0, 1].map(|end| {
            let fall = (ends[end] - member.ends[end]) + member.below;
            fall * (1.0 + ROUNDING)
        })
    };
    for member in members {
        for (end, top) in ends.iter().enumerate() {
            let short = top - member.ends[end];
            above = above.max(member.above - short + ROUNDING * short);
        }
    }
    let mut below = f64::INFINITY;
    for (number, member) in members.iter().enumerate() {
        let own = falls(member);
        below = below.min(own[0].max(own[1]));
        for other in &members[..number] {
            below = below.min(lesser_of(own, falls(other)));
        }
    }
    Chord {
        ends,
        below,
        above: above * (1.0 + ROUNDING),
    }
}

/// The largest value that the lesser of two lines takes, given what both are at the ends: numbers that are not negative.
fn lesser_of(a: [f64; 2], b: [f64; 2]) -> f64 {
    let [first, last] = [a[0].min(b[0]), a[1].min(b[1])];
    let (before, after) = (a[0] - b[0], a[1] - b[1]);
    let (mut most, change) = (first.max(last), before - after);
    if (before < 0.0) != (after < 0.0) && change != 0.0 {
        let share = (before / change).clamp(0.0, 1.0);
        let crossing = a[0] + share * (a[1] - a[0]);
        let size = a[0].max(a[1]).max(b[0]).max(b[1]);
        most = most.max(crossing + ROUNDING * size);
    }
    most
}

/// The part of a curve that a number lies on.
fn part_at(parts: &[StraightPart], x: f64) -> StraightPart {
    let at = parts.iter().rposition(|part| part.from <= x).unwrap_or(0);
    parts[at]
}

/// The value of a curve, to nearest.
fn value(parts: &[StraightPart], x: f64) -> f64 {
    let part = part_at(parts, x);
    part.slope * x + part.intercept
}

#[cfg(test)]
mod tests {
    use deepconcolic_testing::Random;

    use super::*;

    const STEPS: usize = 24;

    fn part(from: f64, slope: f64, intercept: f64) -> StraightPart {
        StraightPart {
            from,
            slope,
            intercept,
        }
    }

    fn chord(random: &mut Random) -> Chord {
        let mut error = || [0.0, random.between(0.0, 0.6)][random.below(2)];
        let (below, above) = (error(), error());
        Chord {
            ends: [random.between(-1.0, 1.0), random.between(-1.0, 1.0)],
            below,
            above,
        }
    }

    /// What a chord says at a share of the way: its line, the least and the largest.
    fn at(chord: &Chord, share: f64) -> [f64; 3] {
        let [a, b] = chord.ends;
        let line = a + share * (b - a);
        [line, line - chord.below, line + chord.above]
    }

    fn shares() -> impl Iterator<Item = f64> {
        (0..=STEPS).map(|k| k as f64 / STEPS as f64)
    }

    #[test]
    fn curves_lie_between_errors_that_are_no_larger_than_they_must_be() {
        let infinite = f64::NEG_INFINITY;
        let relu = vec![part(infinite, 0.0, 0.0), part(0.0, 1.0, 0.0)];
        let absolute = vec![part(infinite, -1.0, 0.0), part(0.0, 1.0, 0.0)];
        let mut clip = relu.clone();
        clip.push(part(0.5, 0.0, 0.5));
        let mut random = Random::new(3);
        for number in 0..3000 {
            let parts = [&relu, &absolute, &clip][number % 3];
            let of = chord(&mut random);
            let through = of.through(parts, 0.0);
            let (mut least, mut largest) = (0.0f64, 0.0f64);
            for share in shares() {
                let [_, low, high] = at(&of, share);
                let [line, ..] = at(&through, share);
                for part in shares() {
                    let away = value(parts, low + part * (high - low)) - line;
                    (least, largest) = (least.min(away), largest.max(away));
                }
            }
            assert!(-least <= through.below + 1e-12, "case {number}: below");
            assert!(largest <= through.above + 1e-12, "case {number}: above");
            // A grid misses corners by no more than its width.
            let width = 2.0 * 3.2 / STEPS as f64;
            assert!(through.below <= width - least, "case {number}: far below");
            assert!(through.above <= width + largest, "case {number}: far above");
        }
    }

    #[test]
    fn extremes_lie_between_errors_that_are_no_larger_than_they_must_be() {
        let mut random = Random::new(4);
        for number in 0..3000 {
            let sign = [1.0, -1.0][number % 2];
            let count = 1 + random.below(4);
            let members: Vec<Chord> = (0..count).map(|_| chord(&mut random)).collect();
            let found = Chord::extreme(&mut members.clone(), sign);
            let (mut least, mut largest) = (0.0f64, 0.0f64);
            for share in shares() {
                let [line, ..] = at(&found, share);
                // The largest is least and largest where all members are.
                for end in [1, 2] {
                    let each = members.iter().map(|member| sign * at(member, share)[end]);
                    let away = sign * each.fold(f64::NEG_INFINITY, f64::max) - line;
                    (least, largest) = (least.min(away), largest.max(away));
                }
            }
            assert!(-least <= found.below + 1e-12, "case {number}: below");
            assert!(largest <= found.above + 1e-12, "case {number}: above");
            let width = 4.0 / STEPS as f64;
            assert!(found.below <= width - least, "case {number}: far below");
            assert!(found.above <= width + largest, "case {number}: far above");
        }
    }

    #[test]
    fn nothing_is_known_of_what_is_no_number() {
        let relu = [part(f64::NEG_INFINITY, 0.0, 0.0), part(0.0, 1.0, 0.0)];
        let mut of = Chord {
            ends: [f64::NAN, -1.0],
            below: 0.0,
            above: 0.0,
        };
        assert!(of.through(&relu, 0.0).above.is_infinite());
        assert!(Chord::extreme(&mut [of], 1.0).above.is_infinite());
        of.ends = [-2.0, -1.0];
        of.above = f64::INFINITY;
        assert!(of.through(&relu, 0.0).above.is_infinite());
        of.above = 0.5;
        let dead = of.through(&relu, 0.0);
        assert_eq!((dead.ends, dead.below, dead.above), ([0.0; 2], 0.0, 0.0));
    }
}
