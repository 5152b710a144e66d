//! One position of a large network changes: every position is looked at by itself, with bounds that go
//! forward from it. What it does not reach stands still, so that a pixel of a convolutional network costs its
//! window; bounds over the whole region, which cost most there, are not needed. Where bounds leave room, the range
//! of an element is cut into pieces.
//!
//! The bounds are the checker's own. What is decided here is where to cut.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use deepconcolic_check::{
    Case, Changes, ForwardPart, ForwardProblem, Proof, Region, Split, Unsupported, Until,
    UpperBound,
};
use deepconcolic_network::Network;
use rayon::prelude::*;

use crate::phases::Effort;
use crate::tree::Growing;

/// Networks with fewer coefficients, as far as a question depends on them, are bounded region by region.
const LARGE: usize = 1 << 20;
/// Positions bounded at once: a fixed number, so that nothing depends on the number of threads.
const TAKEN: usize = 64;
/// Positions that a thread takes up at a time.
const CHUNK: usize = 4;
/// Pieces that the range of a single element is cut into at first, and most pieces that a part is cut into.
const PIECES: usize = 8;
/// Most parts of one position, on average: what is left after that is too close to call.
const EACH: usize = 64;

/// Turns an input into one that really meets the goal by way of an alternative, if it does.
pub(crate) type Confirm<'a> = dyn Fn(usize, &[f64]) -> Option<Vec<f32>> + Sync + 'a;

/// How all alternatives of a question ended.
pub(crate) enum Answer {
    /// A proof for each.
    Refuted(Vec<Proof>),
    Witness(Vec<f32>),
    /// What is left; the conditions' value stays below this.
    Open(f64),
}

/// What the elements of a position may be.
struct Part {
    elements: Vec<(usize, [f64; 2])>,
    /// Alternatives that are not refuted here, and the place of the part in the tree of each.
    open: Vec<(usize, usize)>,
}

/// A position with what is left of it.
struct Position {
    parts: Vec<Part>,
    /// The largest value that bounds leave to an alternative somewhere.
    worst: f64,
    /// Names it among those with the same value.
    number: usize,
}

/// What was found of a part: its alternatives in order, each refuted by a condition or not.
struct Judged {
    refuted: Vec<Option<u32>>,
    worst: f64,
    /// The element to cut, by number, and into how many pieces.
    cut: usize,
    pieces: usize,
    /// Where the value that is left is taken.
    corner: Vec<f64>,
    /// The alternative that it is left to.
    case: usize,
}

impl PartialEq for Position {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Position {}

impl PartialOrd for Position {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Position {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = self.worst.total_cmp(&other.worst);
        order.then_with(|| other.number.cmp(&self.number))
    }
}

/// The limit of a region that lets one position change.
fn one_change(region: &Region) -> Option<&Changes> {
    let changes = region.changes.as_ref();
    changes.filter(|changes| changes.allowed == 1)
}

/// Whether alternatives, all over the same region, are looked at position by position: one may change there, and the
/// network is large.
pub(crate) fn applies(
    network: &Network,
    cases: &[&Case],
    until: Until<'_>,
) -> Result<bool, Unsupported> {
    match cases.first() {
        Some(first) if one_change(&first.region).is_some() => {
            ForwardProblem::exceeds(network, cases, LARGE, until)
        }
        _ => Ok(false),
    }
}

/// Such alternatives, ready for bounds.
pub(crate) fn problem(
    network: &Network,
    cases: &[&Case],
    until: Until<'_>,
) -> Result<Option<ForwardProblem>, Unsupported> {
    let region = cases.first().map(|first| &first.region);
    let Some((region, changes)) = region.and_then(|r| Some((r, one_change(r)?))) else {
        return Ok(None);
    };
    ForwardProblem::new(network, (region, changes), cases, until).map(Some)
}

/// Refutes all alternatives, or finds an input that meets one.
pub(crate) fn refute(
    problem: &ForwardProblem,
    cases: &[&Case],
    effort: &Effort<'_>,
    confirm: &Confirm<'_>,
) -> Answer {
    let Some(changes) = one_change(&cases[0].region) else {
        return Answer::Open(f64::INFINITY);
    };
    let search = Search {
        problem,
        cases,
        changes,
    };
    let mut trees: Vec<Growing> = cases.iter().map(|_| Growing::new()).collect();
    let mut open = search.positions(&mut trees);
    // A part costs what its position reaches, so that limits are those of each position.
    let maximum = effort.nodes.min(EACH).saturating_mul(open.len());
    let mut nodes = effort.nodes_from(0);
    while let Some(worst) = open.peek() {
        let bound = worst.worst;
        if nodes >= maximum || effort.is_over() {
            return Answer::Open(bound);
        }
        let positions: Vec<Position> = (0..TAKEN).map_while(|_| open.pop()).collect();
        nodes += positions.iter().map(|p| p.parts.len()).sum::<usize>();
        let judged: Vec<Option<Vec<Judged>>> = positions
            .par_chunks(CHUNK)
            .map_init(
                || problem.part(),
                |bounds, positions| {
                    let judge = |position: &Position| {
                        (!effort.is_over()).then(|| search.judge(&position.parts, bounds))
                    };
                    positions.iter().map(judge).collect::<Vec<_>>()
                },
            )
            .flatten_iter()
            .collect();
        if let Some(input) = search.try_corners(&positions, &judged, confirm) {
            return Answer::Witness(input);
        }
        for (position, judged) in positions.into_iter().zip(judged) {
            let Some(judged) = judged else {
                return Answer::Open(bound);
            };
            match left(position, &judged, &mut trees) {
                Ok(position) => open.extend(position),
                Err(left) => return Answer::Open(left),
            }
        }
    }
    Answer::Refuted(trees.into_iter().map(Growing::finish).collect())
}

struct Search<'a> {
    problem: &'a ForwardProblem,
    cases: &'a [&'a Case],
    changes: &'a Changes,
}

impl Search<'_> {
    /// Every position by itself, in every tree; its range in pieces that are bounded at once.
    fn positions(&self, trees: &mut [Growing]) -> BinaryHeap<Position> {
        let region = &self.cases[0].region;
        let mut elements: Vec<(u32, usize)> = self
            .problem
            .elements()
            .iter()
            .map(|&e| (self.changes.positions[e], e))
            .collect();
        elements.sort_unstable();
        let groups: Vec<&[(u32, usize)]> = elements.chunk_by(|a, b| a.0 == b.0).collect();
        let numbers: Vec<u32> = groups.iter().map(|group| group[0].0).collect();
        let mut places = vec![Vec::new(); groups.len()];
        for (case, tree) in trees.iter_mut().enumerate() {
            for (number, at) in apart(&numbers, tree) {
                places[number].push((case, at));
            }
        }
        let each = groups.iter().zip(places).enumerate();
        let position = |(number, (group, open)): (usize, (&&[(u32, usize)], _))| {
            let ends = |&(_, e): &(u32, usize)| (e, [region.lower[e], region.upper[e]]);
            let elements: Vec<_> = group.iter().map(ends).collect();
            let pieces = if elements.len() == 1 { PIECES } else { 1 };
            Position {
                parts: Part { elements, open }.pieces(0, pieces, trees),
                worst: f64::INFINITY,
                number,
            }
        };
        each.map(position).collect()
    }

    /// Which alternatives bounds refute over parts of a position, each by one of its conditions.
    fn judge(&self, parts: &[Part], bounds: &mut ForwardPart<'_>) -> Vec<Judged> {
        let ends: Vec<&[(usize, [f64; 2])]> = parts.iter().map(|part| &part.elements[..]).collect();
        let mut judged = Vec::with_capacity(parts.len());
        while judged.len() < parts.len() {
            let from = judged.len();
            let entered = bounds.enter(&ends[from..]);
            for (place, part) in parts[from..].iter().take(entered.max(1)).enumerate() {
                judged.push(self.judge_part(part, (entered > 0).then_some((&*bounds, place))));
            }
        }
        judged
    }

    /// One of the parts at hand, if bounds reach it.
    fn judge_part(&self, part: &Part, bounds: Option<(&ForwardPart<'_>, usize)>) -> Judged {
        let mut judged = Judged {
            refuted: vec![None; part.open.len()],
            worst: f64::NEG_INFINITY,
            cut: 0,
            pieces: 0,
            corner: Vec::new(),
            case: 0,
        };
        let Some((bounds, place)) = bounds else {
            judged.worst = f64::INFINITY;
            return judged;
        };
        for (refuted, &(case, _)) in judged.refuted.iter_mut().zip(&part.open) {
            let conditions = 0..self.cases[case].atoms.len() as u32;
            let each = conditions.filter_map(|condition| {
                // A condition of the case with a factor that is positive is never refused.
                let upper = bounds.upper(place, case, &[(condition, 1.0)]).ok()?;
                Some((condition, upper))
            });
            let best = each.min_by(|(_, a), (_, b)| a.value.total_cmp(&b.value));
            match best {
                Some((condition, upper)) if upper.value < 0.0 => *refuted = Some(condition),
                Some((_, upper)) => {
                    judged.pieces = judged.pieces.max(pieces(&upper));
                    if upper.value > judged.worst || judged.corner.is_empty() {
                        judged.worst = upper.value;
                        judged.case = case;
                        judged.corner = corner(&part.elements, &upper.slopes);
                        judged.cut = widest(&part.elements, &upper.slopes);
                    }
                }
                None => judged.worst = f64::INFINITY,
            }
        }
        judged
    }

    /// Executes the corners where bounds leave most.
    fn try_corners(
        &self,
        positions: &[Position],
        judged: &[Option<Vec<Judged>>],
        confirm: &Confirm<'_>,
    ) -> Option<Vec<f32>> {
        let both = positions.iter().zip(judged);
        let both = both.flat_map(|(position, judged)| {
            let judged = judged.iter().flatten();
            position.parts.iter().zip(judged)
        });
        let both = both.filter(|(_, judged)| !judged.corner.is_empty());
        let both: Vec<(&Part, &Judged)> = both.collect();
        both.into_par_iter().find_map_first(|(part, judged)| {
            let mut point = self.changes.centre.clone();
            for (&(element, _), &value) in part.elements.iter().zip(&judged.corner) {
                point[element] = value;
            }
            confirm(judged.case, &point)
        })
    }
}

impl Part {
    /// Cut into equal pieces along an element, in every tree in which it is open.
    fn pieces(self, element: usize, count: usize, trees: &mut [Growing]) -> Vec<Self> {
        let (mut rest, mut pieces) = (self, Vec::with_capacity(count));
        for left in (2..=count).rev() {
            let (number, [low, high]) = rest.elements[element];
            let at = low + (high - low) / left as f64;
            if !(low < at && at < high) {
                break;
            }
            let mut piece = Self {
                elements: rest.elements.clone(),
                open: Vec::with_capacity(rest.open.len()),
            };
            piece.elements[element].1 = [low, at];
            rest.elements[element].1 = [at, high];
            for (case, place) in &mut rest.open {
                let split = Split::Input {
                    element: number as u32,
                    at,
                };
                let [first, second] = trees[*case].split(*place, split);
                piece.open.push((*case, first));
                *place = second;
            }
            pieces.push(piece);
        }
        pieces.push(rest);
        pieces
    }
}

/// Closes what is refuted and cuts the rest: none if nothing is left. What is left where numbers are too close to be cut.
fn left(
    position: Position,
    judged: &[Judged],
    trees: &mut [Growing],
) -> Result<Option<Position>, f64> {
    let (mut parts, mut worst) = (Vec::new(), f64::NEG_INFINITY);
    for (mut part, judged) in position.parts.into_iter().zip(judged) {
        let mut refuted = judged.refuted.iter();
        part.open.retain(|&(case, at)| {
            let condition = refuted.next().copied().flatten();
            if let Some(condition) = condition {
                trees[case].close_forward(at, vec![(condition, 1.0)]);
            }
            condition.is_none()
        });
        if part.open.is_empty() {
            continue;
        }
        if judged.cut >= part.elements.len() {
            return Err(judged.worst);
        }
        let pieces = part.pieces(judged.cut, judged.pieces.max(2), trees);
        if pieces.len() < 2 {
            return Err(judged.worst);
        }
        worst = worst.max(judged.worst);
        parts.extend(pieces);
    }
    Ok((!parts.is_empty()).then_some(Position {
        parts,
        worst,
        number: position.number,
    }))
}

/// Into how many pieces a part that is not refuted is cut. Where bounds tell how much of a value is their own error, that is
/// about in proportion to the square of the width.
fn pieces(upper: &UpperBound) -> usize {
    let Some(reached) = upper.reached.filter(|&reached| reached < 0.0) else {
        return 2;
    };
    let enough = 1.2 * ((upper.value - reached) / -reached).sqrt();
    // What is no number becomes the least.
    (enough.ceil().min(PIECES as f64) as usize).max(2)
}

/// Splits a tree until every position stands alone; the place of each, by number.
fn apart(positions: &[u32], tree: &mut Growing) -> Vec<(usize, usize)> {
    let mut places = Vec::with_capacity(positions.len());
    let mut pending = vec![(0, positions.len(), 0)];
    while let Some((from, to, at)) = pending.pop() {
        if to - from <= 1 {
            places.push((from, at));
            continue;
        }
        let middle = usize::midpoint(from, to);
        let split = Split::Changes {
            positions: positions[from..middle].to_vec(),
            most: 0,
        };
        // Where none of the first half changes, one of the second may.
        let [second, first] = tree.split(at, split);
        pending.extend([(from, middle, first), (middle, to, second)]);
    }
    places
}

/// Where a line is largest.
fn corner(moving: &[(usize, [f64; 2])], slopes: &[f64]) -> Vec<f64> {
    let each = moving.iter().zip(slopes);
    let end = |(&(_, [low, high]), &slope): (&(usize, [f64; 2]), &f64)| {
        if slope < 0.0 { low } else { high }
    };
    each.map(end).collect()
}

/// The element that moves a line most, or else moves most.
fn widest(moving: &[(usize, [f64; 2])], slopes: &[f64]) -> usize {
    let steepest = slopes
        .iter()
        .fold(0.0, |most: f64, slope| most.max(slope.abs()));
    let each = moving.iter().zip(slopes).enumerate();
    let effects = each.map(|(number, (&(_, [low, high]), slope))| {
        (
            slope.abs().max(0.1 * steepest).max(1e-9) * (high - low),
            number,
        )
    });
    let best = effects.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    best.map_or(0, |(_, number)| number)
}

#[cfg(test)]
mod tests;
