//! Trees whose leaves are bounded by lines that go forward ([`crate::bounds::forward`]). All alternatives of a
//! region are judged together: leaves of the same part share its bounds, and no bounds over the whole region are
//! needed, which cost most on large networks.

use deepconcolic_network::{Element, Network};
use rayon::prelude::*;

use crate::accepted::Bound;
use crate::bounds::backward::Magnitudes;
use crate::bounds::change_bounds::AtCentre;
use crate::bounds::changes::{Choice, Limits};
use crate::bounds::cone::Cone;
use crate::bounds::float::{self, up};
use crate::bounds::forward::{ForwardBounds, MAX_MOVING, Moving, magnitudes};
use crate::bounds::leaf::second_halves;
use crate::certificate::{Changes, Proof, Region, Split, Tree};
use crate::error::Unsupported;
use crate::question::{Atom, Case};
use crate::until::Until;

/// Most coefficients of a network that is spelled out for this: each takes some 30 bytes.
const MAX_TERMS: usize = 1 << 24;
/// Parts that a thread takes up at a time.
const TAKEN: usize = 16;

/// A condition `sum of terms + constant >= 0` over variables of the cone.
struct Condition {
    terms: Vec<(usize, f64)>,
    constant: f64,
    /// How far executions can be from real values.
    margin: f64,
}

/// The alternatives of a question over a region that limits changes, ready for bounds by lines that go forward.
pub struct ForwardProblem {
    cone: Cone,
    centre: AtCentre,
    changes: Changes,
    ends: Vec<[f64; 2]>,
    /// The conditions of each alternative.
    cases: Vec<Vec<Condition>>,
}

/// One part at a time of a [`ForwardProblem`].
pub struct ForwardPart<'a> {
    problem: &'a ForwardProblem,
    bounds: ForwardBounds<'a>,
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
        let centre: Vec<f64> = cone.inputs.iter().map(|&e| changes.centre[e]).collect();
        let centre = AtCentre::of(&cone, &centre, &reach);
        let ends = |&e: &usize| [region.lower[e], region.upper[e]];
        let ends = cone.inputs.iter().map(ends).collect();
        let mut margins = float::margins(&cone, &reach, &atoms).into_iter();
        let mut variables = cone.targets.iter();
        let mut condition = |atom: &Atom| Condition {
            terms: atom
                .terms
                .iter()
                .zip(variables.by_ref())
                .map(|(term, &variable)| (variable, term.weight))
                .collect(),
            constant: atom.constant,
            margin: margins.next().unwrap_or(f64::INFINITY),
        };
        let cases = cases
            .iter()
            .map(|case| case.atoms.iter().map(&mut condition).collect())
            .collect();
        Ok(Self {
            cone,
            centre,
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
            bounds: ForwardBounds::new(&self.cone, &self.centre),
        }
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
        let bounds: Vec<Vec<(usize, Result<Bound, String>)>> = parts
            .par_chunks(TAKEN)
            .map_init(
                || self.part(),
                |part, chunk| {
                    let each = chunk.iter().flat_map(|leaves| {
                        if until.is_over() {
                            ForwardPart::give_up(leaves)
                        } else {
                            part.judge(leaves)
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
    /// Moves to the part in which these input elements move between their ends, at most three of them, and all
    /// others stand at the centre. False if there are more, or one does not matter.
    pub fn enter(&mut self, elements: &[(usize, [f64; 2])]) -> bool {
        let inputs = &self.problem.cone.inputs;
        let place = |&(element, ends): &(usize, [f64; 2])| {
            let place = inputs.iter().position(|&e| e == element)?;
            Some((place as u32, ends))
        };
        let moving: Option<Vec<Moving>> = elements.iter().map(place).collect();
        let Some(moving) = moving.filter(|moving| moving.len() <= MAX_MOVING) else {
            return false;
        };
        self.bounds.enter(&moving);
        true
    }

    /// An upper bound of the weighted conditions of an alternative over the part, and the coefficients of the
    /// elements that move in the line that has it.
    pub fn upper(
        &mut self,
        case: usize,
        factors: &[(u32, f32)],
    ) -> Result<(f64, [f64; MAX_MOVING]), String> {
        let conditions = &self.problem.cases[case];
        let mut terms = Vec::new();
        let mut constant = 0.0;
        for &(condition, factor) in factors {
            let condition = conditions.get(condition as usize);
            let condition = condition.ok_or("a leaf names no condition")?;
            if !(factor > 0.0 && factor.is_finite()) {
                return Err("a factor is not positive".into());
            }
            let factor = f64::from(factor);
            terms.extend(
                condition
                    .terms
                    .iter()
                    .map(|&(v, weight)| (v, factor * weight)),
            );
            constant += factor * condition.constant;
        }
        Ok(self.bounds.upper(&terms, constant))
    }

    /// All leaves of one part.
    fn judge(&mut self, leaves: &[LeafAt<'_>]) -> Vec<(usize, Result<Bound, String>)> {
        if let Some(leaf) = leaves.first() {
            self.bounds.enter(&leaf.moving);
        }
        let each = leaves.iter().map(|leaf| {
            let bound = self.upper(leaf.case, leaf.factors).map(|(value, _)| Bound {
                value,
                margin: self.margin(leaf),
            });
            (leaf.case, bound)
        });
        each.collect()
    }

    /// Leaves that there was no time for.
    fn give_up(leaves: &[LeafAt<'_>]) -> Vec<(usize, Result<Bound, String>)> {
        let late = |leaf: &LeafAt<'_>| (leaf.case, Err("time was up".to_owned()));
        leaves.iter().map(late).collect()
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
