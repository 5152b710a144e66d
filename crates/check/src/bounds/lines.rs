//! Lines below and above a kinked curve over an interval, rounded so that they really lie there.

use deepconcolic_network::StraightPart;

/// Relative error of a product and two sums, with room to spare.
const ROUNDING: f64 = 8.0 * f64::EPSILON;
/// More than underflow can take away.
const TINY: f64 = 1e-300;

/// A slope and the value at 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RelaxationLine {
    pub slope: f64,
    pub cut: f64,
}

/// Where a curve of two parts bends.
pub(crate) fn kink(parts: &[StraightPart]) -> Option<f64> {
    match parts {
        [_, right] => Some(right.from),
        _ => None,
    }
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

/// Lines below and above over `[l, u]`. `share` says where the free slope lies between that of the
/// left part (0) and that of the right (1).
pub(crate) fn lines(
    parts: &[StraightPart],
    l: f64,
    u: f64,
    share: Option<f64>,
) -> [RelaxationLine; 2] {
    let first = parts.iter().rposition(|part| part.from <= l).unwrap_or(0);
    let inside: Vec<StraightPart> = parts[first + 1..]
        .iter()
        .take_while(|part| part.from < u)
        .copied()
        .collect();
    let left = parts[first];
    let [right] = inside[..] else {
        if inside.is_empty() {
            let gap = gap(parts);
            let line = |cut: f64| RelaxationLine {
                slope: left.slope,
                cut,
            };
            return [
                line(less(left.intercept, gap)),
                line(more(left.intercept, gap)),
            ];
        }
        let slope = chord(parts, l, u);
        return [below(parts, l, u, slope), above(parts, l, u, slope)];
    };
    let kink = right.from;
    let default = if kink - l > u - kink { 0.0 } else { 1.0 };
    let share = share.unwrap_or(default);
    let free = left.slope + share * (right.slope - left.slope);
    let chord = chord(parts, l, u);
    if left.slope < right.slope {
        [below(parts, l, u, free), above(parts, l, u, chord)]
    } else {
        [below(parts, l, u, chord), above(parts, l, u, free)]
    }
}

/// Bounds of the curve over an interval.
pub(crate) fn range(parts: &[StraightPart], l: f64, u: f64) -> [f64; 2] {
    let low = below(parts, l, u, 0.0).cut;
    let high = above(parts, l, u, 0.0).cut;
    [low, high]
}

/// Any slope is sound; this one is the tightest. Between ends too close to tell, a flat line will do.
fn chord(parts: &[StraightPart], l: f64, u: f64) -> f64 {
    let [_, from] = value(parts, l);
    let [_, to] = value(parts, u);
    let slope = (to - from) / (u - l);
    if slope.is_finite() { slope } else { 0.0 }
}

fn below(parts: &[StraightPart], l: f64, u: f64, slope: f64) -> RelaxationLine {
    let room = |x: f64| {
        let ([value, _], rise) = (value(parts, x), slope * x);
        let exact = slope == 0.0 || x == 0.0;
        value - rise - slack(exact, value.abs() + rise.abs())
    };
    let cut = points(parts, l, u).map(room).fold(f64::INFINITY, f64::min);
    let cut = less(cut, gap(parts));
    RelaxationLine { slope, cut }
}

fn above(parts: &[StraightPart], l: f64, u: f64, slope: f64) -> RelaxationLine {
    let room = |x: f64| {
        let ([_, value], rise) = (value(parts, x), slope * x);
        let exact = slope == 0.0 || x == 0.0;
        value - rise + slack(exact, value.abs() + rise.abs())
    };
    let cut = points(parts, l, u).map(room);
    let cut = cut.fold(f64::NEG_INFINITY, f64::max);
    let cut = more(cut, gap(parts));
    RelaxationLine { slope, cut }
}

/// A linear function is furthest from a kinked one at an end or at a kink.
fn points(parts: &[StraightPart], l: f64, u: f64) -> impl Iterator<Item = f64> + '_ {
    let kinks = parts.iter().map(|part| part.from);
    [l, u]
        .into_iter()
        .chain(kinks.filter(move |&k| l < k && k < u))
}

/// Bounds of the value at a point; at a kink, of both parts that meet there.
fn value(parts: &[StraightPart], x: f64) -> [f64; 2] {
    let at = parts.iter().rposition(|part| part.from <= x).unwrap_or(0);
    let meets = parts[at].from >= x;
    let from = if meets { at.saturating_sub(1) } else { at };
    let each = parts[from..=at].iter().map(|part| {
        let rise = part.slope * x;
        let unit = matches!(part.slope, -1.0 | 1.0);
        // A product that is 0 by underflow is not exact.
        let nothing = part.slope == 0.0 || x == 0.0;
        let exact = nothing || (part.intercept == 0.0 && unit);
        let value = rise + part.intercept;
        let error = slack(exact, rise.abs() + part.intercept.abs());
        [value - error, value + error]
    });
    each.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], [l, h]| {
        [low.min(l), high.max(h)]
    })
}

/// How far parts can be from meeting where one ends and the next begins. Kinks are stored as doubles: those
/// of a curve that is a clipped line lie a rounding error beside where the line is clipped, and the curve is
/// then off what its parts say by no more than this.
pub(crate) fn gap(parts: &[StraightPart]) -> f64 {
    let gap = |part: &StraightPart| {
        let [low, high] = value(parts, part.from);
        (high - low) * (1.0 + ROUNDING)
    };
    parts.iter().skip(1).map(gap).fold(0.0, f64::max)
}

/// A difference, rounded down; exact if nothing is taken off.
fn less(from: f64, amount: f64) -> f64 {
    if amount == 0.0 {
        from
    } else {
        (from - amount).next_down()
    }
}

/// A sum, rounded up; exact if nothing is added.
fn more(to: f64, amount: f64) -> f64 {
    -less(-to, amount)
}

fn slack(exact: bool, size: f64) -> f64 {
    if exact { 0.0 } else { ROUNDING * size + TINY }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RELU: [StraightPart; 2] = [
        StraightPart {
            from: f64::NEG_INFINITY,
            slope: 0.0,
            intercept: 0.0,
        },
        StraightPart {
            from: 0.0,
            slope: 1.0,
            intercept: 0.0,
        },
    ];

    #[test]
    fn lines_lie_below_and_above() {
        let clip = [
            RELU[0],
            RELU[1],
            StraightPart {
                from: 6.0,
                slope: 0.0,
                intercept: 6.0,
            },
        ];
        for parts in [&RELU[..], &clip[..]] {
            for (l, u) in [
                (-1.0, 2.0),
                (-3.0, 7.5),
                (5.0, 9.0),
                (1.0, 2.0),
                (-2.0, -1.0),
            ] {
                for share in [None, Some(0.0), Some(0.3), Some(1.0)] {
                    let [low, high] = lines(parts, l, u, share);
                    for k in 0..=100 {
                        let x = l + (u - l) * f64::from(k) / 100.0;
                        let y = parts.iter().rfind(|p| p.from <= x).unwrap();
                        let y = y.slope * x + y.intercept;
                        assert!(low.slope * x + low.cut <= y + 1e-12);
                        assert!(high.slope * x + high.cut >= y - 1e-12);
                    }
                }
            }
        }
    }

    #[test]
    fn a_settled_curve_is_its_own_line() {
        let line = RelaxationLine {
            slope: 1.0,
            cut: 0.0,
        };
        assert_eq!(lines(&RELU, 0.0, 2.0, None), [line; 2]);
        let flat = RelaxationLine {
            slope: 0.0,
            cut: 0.0,
        };
        assert_eq!(lines(&RELU, -2.0, 0.0, Some(0.4)), [flat; 2]);
    }
}
