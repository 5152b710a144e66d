//! Trees whose leaves are bounded by what goes forward from the inputs that move there: by interpolation where that is one
//! ([`crate::bounds::interpolation`]), else by lines ([`crate::bounds::forward`]). All alternatives of a
//! region are judged together: leaves of the same part share its bounds, and no bounds over the whole region are
//! needed, which cost most on large networks.

use std::sync::OnceLock;

use deepconcolic_network::{Element, Network};
use rayon::prelude::*;

use crate::accepted::Bound;
use crate::bounds::backward::Magnitudes;
use crate::bounds::change_bounds::{AtCentre, at_centre};
use crate::bounds::changes::{Choice, Limits};
use crate::bounds::cone::Cone;
use crate::bounds::float::{self, up};
use crate::bounds::forward::{ForwardBounds, MAX_MOVING, Moving, magnitudes};
use crate::bounds::interpolation::{Interpolation, PARTS, StandingStill};
use crate::bounds::leaf::second_halves;
use crate::bounds::spelled::Spelled;
use crate::certificate::{Changes, Proof, Region, Split, Tree};
use crate::error::Unsupported;
use crate::question::{Atom, Case};
use crate::until::Until;

/// Most coefficients of a network that is spelled out for this: each takes some 30 bytes.
const MAX_TERMS: usize = 1 << 24;
/// Lots of parts that a thread takes up at a time.
const TAKEN: usize = 4;

/// A condition `sum of terms + constant >= 0` over variables of the cone.
struct Condition {
    sum: Spelled,
    /// How far executions can be from real values.
    margin: f64,
}

/// The alternatives of a question over a region that limits changes, ready for bounds by lines that go forward.
pub struct ForwardProblem {
    cone: Cone,
    region: Region,
    changes: Changes,
    /// How large variables can get.
    reach: Magnitudes,
    /// What stands still, for interpolation and for lines.
    still: OnceLock<StandingStill>,
    centre: OnceLock<AtCentre>,
    ends: Vec<[f64; 2]>,
    /// The conditions of each alternative.
    cases: Vec<Vec<Condition>>,
}

/// Parts of a [`ForwardProblem`], few at a time.
pub struct ForwardPart<'a> {
    problem: &'a ForwardProblem,
    lines: Option<ForwardBounds<'a>>,
    interpolation: Option<Interpolation<'a>>,
    /// Whether the parts at hand are bounded by interpolation.
    interpolates: bool,
}

/// An upper bound of weighted conditions over a part.
#[derive(Clone, Copy, Debug)]
pub struct UpperBound {
    /// The bound.
    pub value: f64,
    /// How it changes with each of the elements that move.
    pub slopes: [f64; MAX_MOVING],
    /// The value at an end of the part, where bounds tell.
    pub reached: Option<f64>,
}

/// A leaf with the box of its part.
struct LeafAt<'p> {
    moving: Vec<Moving>,
    case: usize,
    factors: &'p [(u32, f32)],
}

impl LeafAt<'_> {
    /// Sorts leaves by their part.
    fn key(&self) -> impl Iterator<Item = (u32, u64, u64)> {
        let bits = |&(input, [low, high]): &Moving| (input, low.to_bits(), high.to_bits());
        self.moving.iter().map(bits)
    }

    /// The inputs that move.
    fn inputs(&self) -> impl Iterator<Item = u32> {
        self.moving.iter().map(|&(input, _)| input)
    }
}

impl ForwardProblem {
    /// Whether the network has more coefficients than this, as far as alternatives depend on it. No more than these are
    /// spelled out to tell.
    pub fn exceeds(
        network: &Network,
        cases: &[&Case],
        terms: usize,
        until: Until<'_>,
    ) -> Result<bool, Unsupported> {
        let targets = targets(network, cases);
        match Cone::of_at_most(network, &targets, terms, until) {
            Ok(_) => Ok(false),
            Err(Unsupported::Size) => Ok(true),
            Err(why) => Err(why),
        }
    }

    /// Alternatives over one region and its limit on changes.
    pub fn new(
        network: &Network,
        (region, changes): (&Region, &Changes),
        cases: &[&Case],
        until: Until<'_>,
    ) -> Result<Self, Unsupported> {
        let atoms: Vec<Atom> = cases.iter().flat_map(|c| c.atoms.clone()).collect();
        let targets = targets(network, cases);
        let cone = Cone::of_at_most(network, &targets, MAX_TERMS, until)?;
        let reach: Magnitudes = magnitudes(&cone, region);
        let ends = |&e: &usize| [region.lower[e], region.upper[e]];
        let ends = cone.inputs.iter().map(ends).collect();
        let mut margins = float::margins(&cone, &reach, &atoms).into_iter();
        let mut variables = cone.targets.iter();
        let mut condition = |atom: &Atom| {
            let terms = atom.terms.iter().zip(variables.by_ref());
            let terms: Vec<(usize, f64)> = terms.map(|(term, &v)| (v, term.weight)).collect();
            Condition {
                sum: Spelled::of(&cone, &terms, atom.constant),
                margin: margins.next().unwrap_or(f64::INFINITY),
            }
        };
        let cases = cases
            .iter()
            .map(|case| case.atoms.iter().map(&mut condition).collect())
            .collect();
        Ok(Self {
            region: region.clone(),
            reach,
            still: OnceLock::new(),
            centre: OnceLock::new(),
            cone,
            changes: changes.clone(),
            ends,
            cases,
        })
    }

    /// The input elements that matter.
    pub fn elements(&self) -> &[usize] {
        &self.cone.inputs
    }

    /// Ready for parts.
    pub fn part(&self) -> ForwardPart<'_> {
        ForwardPart {
            problem: self,
            lines: None,
            interpolation: None,
            interpolates: false,
        }
    }

    /// The values of the inputs that matter at the centre.
    fn inputs(&self) -> Vec<f64> {
        let inputs = self.cone.inputs.iter();
        inputs.map(|&e| self.changes.centre[e]).collect()
    }

    fn still(&self) -> &StandingStill {
        self.still.get_or_init(|| {
            let values = at_centre(&self.cone, &self.inputs(), &self.reach);
            StandingStill::of(&self.cone, &self.region, &values)
        })
    }

    fn centre(&self) -> &AtCentre {
        self.centre
            .get_or_init(|| AtCentre::of(&self.cone, &self.inputs(), &self.reach))
    }

    /// For each alternative with its tree, the largest value of its weighted conditions over all leaves, or what
    /// is wrong. Once it is time to stop, nothing counts.
    pub(crate) fn judge(&self, proofs: &[&Proof], until: Until<'_>) -> Vec<Result<Bound, String>> {
        let mut found: Vec<Result<Bound, String>> = Vec::with_capacity(proofs.len());
        let mut leaves = Vec::new();
        for (case, proof) in proofs.iter().enumerate() {
            found.push(self.leaves(case, proof).map(|own| {
                leaves.extend(own);
                Bound::NONE
            }));
        }
        leaves.sort_by(|a: &LeafAt<'_>, b: &LeafAt<'_>| a.key().cmp(b.key()));
        let parts: Vec<&[LeafAt<'_>]> = leaves.chunk_by(|a, b| a.key().eq(b.key())).collect();
        let together: Vec<&[&[LeafAt<'_>]]> = parts
            .chunk_by(|a, b| a[0].inputs().eq(b[0].inputs()))
            .flat_map(|parts| parts.chunks(PARTS))
            .collect();
        let bounds: Vec<Vec<(usize, Result<Bound, String>)>> = together
            .par_chunks(TAKEN)
            .map_init(
                || self.part(),
                |part, chunk| {
                    let each = chunk.iter().flat_map(|parts| {
                        if until.is_over() {
                            ForwardPart::give_up(parts)
                        } else {
                            part.judge(parts)
                        }
                    });
                    each.collect()
                },
            )
            .collect();
        for (case, bound) in bounds.into_iter().flatten() {
            let so_far = std::mem::replace(&mut found[case], Ok(Bound::NONE));
            found[case] = match (so_far, bound) {
                (Ok(a), Ok(b)) => Ok(a.or(b)),
                (Err(reason), _) | (_, Err(reason)) => Err(reason),
            };
        }
        found
    }

    /// The leaves of an alternative's tree that inputs lie in.
    fn leaves<'p>(&self, case: usize, proof: &'p Proof) -> Result<Vec<LeafAt<'p>>, String> {
        let seconds = second_halves(proof)?;
        let mut leaves = Vec::new();
        let mut pending = vec![(0, Limits::of(&self.changes), self.ends.clone())];
        while let Some((at, limits, ends)) = pending.pop() {
            let (first, second) = (at + 1, seconds[at]);
            match &proof[at] {
                Tree::Forward(factors) => {
                    leaves.extend(self.leaf(case, factors, &limits, &ends)?);
                }
                Tree::Split(Split::Changes { positions, most }) => {
                    let (few, many) = limits.split(positions, *most)?;
                    pending.extend(many.map(|many| (second, many, ends.clone())));
                    pending.push((first, few, ends));
                }
                Tree::Split(Split::Input { element, at }) => {
                    let mut inputs = self.cone.inputs.iter();
                    let place = inputs.position(|&e| e == *element as usize);
                    let place = place.ok_or("a split names an input that does not matter here")?;
                    if !at.is_finite() {
                        return Err("a split is at no number".into());
                    }
                    let [low, high] = ends[place];
                    let (mut below, mut above) = (ends.clone(), ends);
                    below[place] = [low, high.min(*at)];
                    above[place] = [low.max(*at), high];
                    pending.push((second, limits.clone(), above));
                    pending.push((first, limits, below));
                }
                Tree::Split(Split::Phase(_)) => {
                    return Err("a unit is split above a leaf that is bounded by lines".into());
                }
                Tree::Leaf(_) | Tree::Corner => {
                    return Err("a tree has leaves of two kinds".into());
                }
            }
        }
        Ok(leaves)
    }

    /// A leaf with its box; none if no input is there.
    fn leaf<'p>(
        &self,
        case: usize,
        factors: &'p [(u32, f32)],
        limits: &Limits,
        ends: &[[f64; 2]],
    ) -> Result<Option<LeafAt<'p>>, String> {
        if ends.iter().any(|[low, high]| low > high) {
            return Ok(None);
        }
        let Some(choice) = Choice::of(&self.changes, limits, &self.cone.inputs, ends) else {
            return Ok(None);
        };
        if choice.movers.len() > MAX_MOVING {
            return Err("more inputs move in a leaf than lines go forward from".into());
        }
        let moving = choice.movers.iter().map(|m| (m.input, m.ends)).collect();
        Ok(Some(LeafAt {
            moving,
            case,
            factors,
        }))
    }
}

/// The elements that conditions of alternatives are about, term by term.
fn targets(network: &Network, cases: &[&Case]) -> Vec<Element> {
    let atoms = cases.iter().flat_map(|case| &case.atoms);
    let terms = atoms.flat_map(|atom| &atom.terms);
    terms
        .map(|term| network.element(term.point, term.element))
        .collect()
}

impl ForwardPart<'_> {
    /// Moves to parts in each of which the same input elements move between their ends, at most three of them, and all others
    /// stand at the centre. How many of the parts, from the first on, are then at hand: none if more elements move, or one
    /// does not matter.
    pub fn enter(&mut self, parts: &[&[(usize, [f64; 2])]]) -> usize {
        let inputs = &self.problem.cone.inputs;
        let place = |&(element, ends): &(usize, [f64; 2])| {
            let place = inputs.iter().position(|&e| e == element)?;
            Some((place as u32, ends))
        };
        let Some(&first) = parts.first() else {
            return 0;
        };
        let moving: Option<Vec<Moving>> = first.iter().map(place).collect();
        let Some(moving) = moving.filter(|moving| moving.len() <= MAX_MOVING) else {
            return 0;
        };
        let &[(input, _)] = &moving[..] else {
            self.enter_one(&moving);
            return 1;
        };
        let alike = |part: &&&[(usize, [f64; 2])]| part.len() == 1 && part[0].0 == first[0].0;
        let lanes = parts.iter().take(PARTS).take_while(alike);
        let lanes: Vec<[f64; 2]> = lanes.map(|part| part[0].1).collect();
        self.interpolate(input, &lanes);
        lanes.len()
    }

    fn interpolate(&mut self, input: u32, parts: &[[f64; 2]]) {
        let problem = self.problem;
        self.interpolates = true;
        self.interpolation
            .get_or_insert_with(|| Interpolation::new(&problem.cone, problem.still()))
            .enter(input as usize, parts);
    }

    /// Moves to one part in which any number of inputs but one move.
    fn enter_one(&mut self, moving: &[Moving]) {
        let problem = self.problem;
        self.interpolates = false;
        self.lines
            .get_or_insert_with(|| ForwardBounds::new(&problem.cone, problem.centre()))
            .enter(moving);
    }

    /// An upper bound of the weighted conditions of an alternative over one of the parts at hand, by its place among
    /// those that were entered.
    pub fn upper(
        &self,
        part: usize,
        case: usize,
        factors: &[(u32, f32)],
    ) -> Result<UpperBound, String> {
        let conditions = &self.problem.cases[case];
        let mut weighted = Vec::with_capacity(factors.len());
        for &(condition, factor) in factors {
            let condition = conditions.get(condition as usize);
            let condition = condition.ok_or("a leaf names no condition")?;
            if !(factor > 0.0 && factor.is_finite()) {
                return Err("a factor is not positive".into());
            }
            weighted.push((&condition.sum, f64::from(factor)));
        }
        let sum = Spelled::weighted(weighted);
        let interpolation = self.interpolation.as_ref().filter(|_| self.interpolates);
        if let Some(interpolation) = interpolation {
            let (value, [first, last]) = interpolation.upper(part, &sum);
            return Ok(UpperBound {
                value,
                slopes: [last - first, 0.0, 0.0],
                reached: Some(first.max(last)),
            });
        }
        let bounds = self.lines.as_ref().ok_or("no part is at hand")?;
        let (value, slopes) = bounds.upper(&sum);
        Ok(UpperBound {
            value,
            slopes,
            reached: None,
        })
    }

    /// All leaves of a few parts in which the same inputs move.
    fn judge(&mut self, parts: &[&[LeafAt<'_>]]) -> Vec<(usize, Result<Bound, String>)> {
        let mut found = Vec::new();
        let ends: Vec<&[Moving]> = parts.iter().map(|leaves| &leaves[0].moving[..]).collect();
        if let Some(&[(input, _)]) = ends.first() {
            let lanes: Vec<[f64; 2]> = ends.iter().map(|moving| moving[0].1).collect();
            self.interpolate(*input, &lanes);
            for (lane, leaves) in parts.iter().enumerate() {
                found.extend(leaves.iter().map(|leaf| self.judge_leaf(lane, leaf)));
            }
            return found;
        }
        for (moving, leaves) in ends.iter().zip(parts) {
            self.enter_one(moving);
            found.extend(leaves.iter().map(|leaf| self.judge_leaf(0, leaf)));
        }
        found
    }

    fn judge_leaf(&self, part: usize, leaf: &LeafAt<'_>) -> (usize, Result<Bound, String>) {
        let bound = self.upper(part, leaf.case, leaf.factors);
        let bound = bound.map(|upper| Bound {
            value: upper.value,
            margin: self.margin(leaf),
        });
        (leaf.case, bound)
    }

    /// Leaves that there was no time for.
    fn give_up(parts: &[&[LeafAt<'_>]]) -> Vec<(usize, Result<Bound, String>)> {
        let leaves = parts.iter().flat_map(|leaves| leaves.iter());
        let late = |leaf: &LeafAt<'_>| (leaf.case, Err("time was up".to_owned()));
        leaves.map(late).collect()
    }

    /// How far the weighted conditions, read off an execution, can be from their real values.
    fn margin(&self, leaf: &LeafAt<'_>) -> f64 {
        let conditions = &self.problem.cases[leaf.case];
        let weighted = leaf.factors.iter().map(|&(condition, factor)| {
            let margin = conditions.get(condition as usize).map(|c| c.margin);
            f64::from(factor) * margin.unwrap_or(f64::INFINITY)
        });
        // A factor may be so small that its product is lost.
        up(weighted.sum::<f64>() + f64::MIN_POSITIVE)
    }
}
