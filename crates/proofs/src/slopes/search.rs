//! The bound of a region: whole first, then part by part, those with the largest bounds first.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use deepconcolic_check::steepness::{
    AcceptedSlope, Eliminated, Quadratic, SlopeCertificate, SlopeLeaf, SlopePart, SlopeProblem,
    SlopeSubject,
};
use deepconcolic_check::{Digest, Region, Rejection, Unit, Unsupported, Until};
use deepconcolic_network::Network;
use rayon::prelude::*;

use super::growing::Growing;
use super::largest;
use super::multipliers;

/// How far to go for one region.
#[derive(Debug, Clone, Copy)]
pub struct SlopeLimits<'a> {
    /// A bound that is small enough: nothing below it is looked for.
    pub enough: f64,
    /// Most parts that are bounded.
    pub parts: usize,
    /// Most work for all parts together: the cube of unknowns and outputs, part by part, and so many multiplications
    /// of factorisations as take as long.
    pub work: f64,
    /// Most unknowns of a form; with more, early layers are eliminated first, which costs tightness.
    pub unknowns: usize,
    /// When to give up, for callers who were given a time.
    pub deadline: Option<Instant>,
    /// Raised when the user wants an end.
    pub interrupt: Option<&'a AtomicBool>,
}

impl Default for SlopeLimits<'_> {
    fn default() -> Self {
        Self {
            enough: 0.0,
            parts: 200,
            work: 2e7,
            unknowns: 520,
            deadline: None,
            interrupt: None,
        }
    }
}

impl SlopeLimits<'_> {
    fn until(&self) -> Until<'_> {
        Until {
            deadline: self.deadline,
            interrupt: self.interrupt,
        }
    }

    fn is_over(&self) -> bool {
        self.until().is_over()
    }

    /// Whether time would be up if so much more of it were spent.
    fn is_over_in(&self, more: Duration) -> bool {
        let late = |end: Instant| Instant::now() + more >= end;
        self.is_over() || self.deadline.is_some_and(late)
    }
}

/// A bound with its certificate.
#[derive(Debug, Clone)]
pub struct SlopeProof {
    /// The certificate.
    pub certificate: SlopeCertificate,
    /// What the check says of it.
    pub accepted: AcceptedSlope,
    /// Parts that were bounded.
    pub parts: usize,
}

/// Bounds taken up at once: whatever the number of threads, the same parts are looked at.
const TOGETHER: usize = 4;

/// Factors that are tried, in multiples of an eigenvalue that is near the largest, from below.
const BEYOND: [f64; 3] = [1.003, 1.03, 1.3];

/// Multiplications of a factorisation that take as long as multipliers for a form with one unknown.
const PER_CUBE: f64 = 400.0;

/// Why there is no bound.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoSlope {
    /// The question is beyond proofs.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// Time was up before anything was found.
    #[error("time was up before a bound was found")]
    Late,
    /// Numbers got too large.
    #[error("no finite bound was found")]
    Unbounded,
    /// The checker does not accept what was found.
    #[error("the bound found was not accepted: {0}")]
    Rejected(#[from] Rejection),
}

/// Bounds how steep outputs are over a region.
pub fn prove_slope(
    network: &Network,
    model: &Digest,
    region: &Region,
    subject: &SlopeSubject,
    limits: &SlopeLimits<'_>,
) -> Result<SlopeProof, NoSlope> {
    // Segments between inputs of the region must lie in it.
    let region = &region.hull();
    let problem = SlopeProblem::new(network, region, subject, limits.until())?;
    let problem = problem.ok_or(NoSlope::Late)?;
    let mut bound = 0.0;
    let (mut parts, mut proofs) = (0, Vec::new());
    let mut checking = Duration::ZERO;
    for case in 0..problem.cases() {
        // What one case reaches no other needs to go below.
        let limits = SlopeLimits {
            enough: limits.enough.max(bound),
            ..*limits
        };
        let search = Search {
            problem: &problem,
            case,
            limits: &limits,
            reserved: checking,
        };
        let found = search.run().ok_or_else(|| {
            if limits.is_over() {
                NoSlope::Late
            } else {
                NoSlope::Unbounded
            }
        })?;
        bound = f64::max(bound, found.bound);
        parts += found.parts;
        checking += found.checking;
        proofs.push(found.tree.finish());
    }
    let certificate = SlopeCertificate {
        model: *model,
        region: region.clone(),
        subject: subject.clone(),
        bound,
        proofs,
    };
    let accepted = problem.judge(&certificate, Until::NEVER)?;
    Ok(SlopeProof {
        certificate,
        accepted,
        parts,
    })
}

/// One case of a region.
struct Search<'a> {
    problem: &'a SlopeProblem,
    case: usize,
    limits: &'a SlopeLimits<'a>,
    /// What the checker will take for the cases before.
    reserved: Duration,
}

struct Found {
    bound: f64,
    tree: Growing,
    parts: usize,
    checking: Duration,
}

/// A part with its bound.
#[derive(Clone)]
struct Bounded {
    bound: f64,
    leaf: SlopeLeaf,
    /// The unit to split next.
    split: Option<Unit>,
    work: f64,
    /// What the checker will take to eliminate groups again.
    checking: Duration,
}

/// A part of the tree.
struct Open {
    at: usize,
    phases: Vec<(Unit, bool)>,
    bounded: Bounded,
}

impl Search<'_> {
    fn run(&self) -> Option<Found> {
        let whole = self.bounded(&[], None)?;
        let mut tree = Growing::new(whole.leaf.clone());
        let (mut work, mut parts) = (whole.work, 1);
        let mut open = vec![Open {
            at: 0,
            phases: Vec::new(),
            bounded: whole,
        }];
        loop {
            open.sort_by(|a, b| {
                let bounds = b.bounded.bound.total_cmp(&a.bounded.bound);
                bounds.then(a.at.cmp(&b.at))
            });
            let bound = open[0].bounded.bound;
            let next: Vec<usize> = (0..open.len().min(TOGETHER))
                .take_while(|&k| open[k].bounded.split.is_some())
                .filter(|&k| open[k].bounded.bound > self.limits.enough)
                .collect();
            let spent = parts >= self.limits.parts || work >= self.limits.work;
            let checking: Duration = open.iter().map(|open| open.bounded.checking).sum();
            if next.is_empty() || spent || self.limits.is_over_in(self.reserved + checking) {
                return Some(Found {
                    bound,
                    tree,
                    parts,
                    checking,
                });
            }
            let halves: Vec<Option<[Open; 2]>> =
                next.par_iter().map(|&k| self.halves(&open[k])).collect();
            for (&k, halves) in next.iter().zip(halves) {
                let (parent, Some([first, second])) = (&mut open[k], halves) else {
                    open[k].bounded.split = None;
                    continue;
                };
                parts += 2;
                work += first.bounded.work + second.bounded.work;
                let larger = first.bounded.bound.max(second.bounded.bound);
                // Halves have the multipliers of the whole to start from: only rounding makes them worse.
                let is_no_worse = larger <= parent.bounded.bound * (1.0 + 1e-7);
                let Some(unit) = parent.bounded.split.take().filter(|_| is_no_worse) else {
                    continue;
                };
                let leaves = [&first, &second].map(|half| half.bounded.leaf.clone());
                let places = tree.split(parent.at, unit, leaves);
                *parent = Open {
                    at: places[0],
                    ..first
                };
                open.push(Open {
                    at: places[1],
                    ..second
                });
            }
        }
    }

    /// Both halves of a part; none if time is up.
    fn halves(&self, open: &Open) -> Option<[Open; 2]> {
        let unit = open.bounded.split?;
        let half = |above: bool| {
            let mut phases = open.phases.clone();
            phases.push((unit, above));
            let bounded = self.bounded(&phases, Some(&open.bounded))?;
            Some(Open {
                at: 0,
                phases,
                bounded,
            })
        };
        Some([half(false)?, half(true)?])
    }

    /// The best bound of a part that is found; none if it is not finite.
    fn bounded(&self, phases: &[(Unit, bool)], whole: Option<&Bounded>) -> Option<Bounded> {
        if self.limits.is_over() && !phases.is_empty() {
            return None;
        }
        let part = self.problem.part(self.case, phases, Until::NEVER).ok()?;
        if part.is_empty() {
            return Some(Bounded {
                bound: 0.0,
                leaf: SlopeLeaf::Magnitudes {
                    eliminated: Eliminated::default(),
                },
                split: None,
                work: 0.0,
                checking: Duration::ZERO,
            });
        }
        // Where nothing is eliminated, ways to do so are the same.
        let ways: &[bool] = if part.open_units() <= self.limits.unknowns {
            &[false]
        } else {
            &[true, false]
        };
        let mut best = Elimination::of(part).by_magnitudes();
        let mut work = 0.0;
        for &by_factors in ways {
            let mut elimination =
                Elimination::of(self.problem.part(self.case, phases, Until::NEVER).ok()?);
            let found = self.eliminating(&mut elimination, by_factors, whole);
            work += elimination.multiplications / PER_CUBE;
            if let Some(found) = found.filter(|found| found.bound <= best.bound) {
                best = found;
            }
        }
        best.work += work;
        Some(best).filter(|bounded| bounded.bound.is_finite())
    }

    /// The best bound that is found while groups are eliminated, until the rest is small enough for a form; none
    /// if time is up before that.
    fn eliminating(
        &self,
        elimination: &mut Elimination<'_>,
        by_factors: bool,
        whole: Option<&Bounded>,
    ) -> Option<Bounded> {
        let mut best = elimination.by_magnitudes();
        loop {
            if self.limits.is_over_in(self.reserved + elimination.checking) {
                return None;
            }
            let part = &elimination.part;
            if part.open_units() <= self.limits.unknowns
                && let Some(quadratic) = part.quadratic(Until::NEVER)
            {
                let found = self.by_form(elimination, &quadratic, whole);
                return Some(
                    found
                        .filter(|found| found.bound <= best.bound)
                        .unwrap_or(best),
                );
            }
            if part.cut() == self.problem.groups() {
                return Some(best);
            }
            if !(by_factors && elimination.by_factor(self.limits)) {
                elimination.by_sizes(self.limits);
            }
            let next = elimination.by_magnitudes();
            if next.bound < best.bound {
                best = next;
            }
        }
    }

    /// A bound by multipliers: new ones, or those of the part that this one was cut from.
    fn by_form(
        &self,
        elimination: &Elimination<'_>,
        quadratic: &Quadratic,
        whole: Option<&Bounded>,
    ) -> Option<Bounded> {
        let part = &elimination.part;
        let found = multipliers::search(quadratic, &|| self.limits.is_over());
        let ranked = found.iter().flat_map(|found| &found.influence);
        let ranked = ranked.zip(quadratic.units());
        let split = ranked
            .max_by(|a, b| a.0.total_cmp(b.0))
            .map(|(_, unit)| *unit);
        let own = found.map(|found| (found.square, found.values));
        let kept = whole.and_then(|whole| {
            let square = part.square_of(whole.bound);
            Some((square, whole.multipliers_of(part, quadratic)?))
        });
        let shown = [own, kept]
            .into_iter()
            .flatten()
            .filter_map(|(near, values)| {
                let holds = |square: f64| quadratic.is_bounded(square, &values, Until::NEVER);
                let square = least(near, holds, || self.limits.is_over())?;
                Some((square, values))
            });
        let (square, values) = shown.min_by(|a, b| a.0.total_cmp(&b.0))?;
        // Rounded so that the check computes this square, or a larger one, from the bound.
        let mut bound = part.bound_of(square);
        while part.square_of(bound) < square {
            bound *= 1.0 + 1e-14;
        }
        let multipliers = quadratic.units().iter().copied().zip(values);
        let size = (quadratic.units().len() + quadratic.outputs()) as f64;
        Some(Bounded {
            bound,
            leaf: SlopeLeaf::Quadratic {
                eliminated: elimination.eliminated(),
                multipliers: multipliers.collect(),
            },
            split,
            work: size.powi(3),
            checking: elimination.checking,
        })
    }
}

impl Bounded {
    /// The multipliers of its leaf for the units of a smaller part, if they are of the same cut.
    fn multipliers_of(&self, part: &SlopePart<'_>, quadratic: &Quadratic) -> Option<Vec<f32>> {
        let SlopeLeaf::Quadratic {
            eliminated,
            multipliers,
        } = &self.leaf
        else {
            return None;
        };
        let known: HashMap<Unit, f32> = multipliers.iter().copied().collect();
        let units = quadratic.units().iter();
        let values = units.map(|unit| known.get(unit).copied());
        (eliminated.groups as usize == part.cut()).then(|| values.collect())?
    }
}

/// A part of which groups are eliminated, one after the other.
struct Elimination<'a> {
    part: SlopePart<'a>,
    factors: Vec<(u32, f32)>,
    /// How many of them factorisations took.
    multiplications: f64,
    /// How long the checker will take for the same.
    checking: Duration,
}

impl<'a> Elimination<'a> {
    fn of(part: SlopePart<'a>) -> Self {
        Self {
            part,
            factors: Vec::new(),
            multiplications: 0.0,
            checking: Duration::ZERO,
        }
    }

    /// Eliminates the next group by a factor that the checker accepts; false, and nothing done, if none is found.
    fn by_factor(&mut self, limits: &SlopeLimits<'_>) -> bool {
        let Some(reading) = self.part.reading() else {
            return false;
        };
        let Some(near) = largest::eigenvalue(&reading, limits.until()) else {
            return false;
        };
        let group = self.part.cut() as u32;
        for factor in BEYOND.map(|beyond| (near * beyond) as f32) {
            self.multiplications += reading.work();
            let start = Instant::now();
            if self.part.advance_within(factor, limits.until()) {
                self.checking += start.elapsed();
                self.factors.push((group, factor));
                return true;
            }
        }
        false
    }

    fn by_sizes(&mut self, limits: &SlopeLimits<'_>) {
        let start = Instant::now();
        self.part.advance(limits.until());
        self.checking += start.elapsed();
    }

    fn eliminated(&self) -> Eliminated {
        Eliminated {
            groups: self.part.cut() as u32,
            factors: self.factors.clone(),
        }
    }

    fn by_magnitudes(&self) -> Bounded {
        Bounded {
            // A second checker rounds otherwise: a billionth to spare.
            bound: self.part.by_magnitudes() * (1.0 + 1e-9),
            leaf: SlopeLeaf::Magnitudes {
                eliminated: self.eliminated(),
            },
            split: None,
            work: 0.0,
            checking: self.checking,
        }
    }
}

/// About the least number that holds, given one that may; none if nothing near does. If time is up, one that holds will do.
fn least(near: f64, holds: impl Fn(f64) -> bool, is_over: impl Fn() -> bool) -> Option<f64> {
    let mut high = near;
    let mut tries = 0;
    while !holds(high) {
        if is_over() {
            return None;
        }
        high *= [1.0 + 1e-9, 1.0 + 1e-6, 1.001, 1.1, 2.0, 10.0].get(tries)?;
        tries += 1;
    }
    // The first guess is a few per cent too large at most.
    let mut low = 0.9 * high;
    while low > 0.0 && !is_over() && holds(low) {
        (low, high) = (if low < 1e-6 * near { 0.0 } else { 0.5 * low }, low);
    }
    while low > 0.0 && high > low * (1.0 + 2e-8) && !is_over() {
        let middle = 0.5 * (low + high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}
