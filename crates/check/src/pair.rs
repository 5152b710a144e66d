//! Two inputs that claim to meet a requirement together: both are run, and the claim is judged by the
//! requirement's own definition.

use deepconcolic_criteria::{Contrast, Family, Means, Objective, PairRequirement};
use deepconcolic_geometry::{SearchSpace, Together};
use deepconcolic_language::{Assignment, Evaluator, Input, Inputs, Observations, Var};
use deepconcolic_network::{Network, Pass, Point, Trace};
use rayon::prelude::*;

use crate::slope::certain_ratio;
use crate::until::Until;
use crate::witness::Slot;

/// Two tests, by number, that are said to meet a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PairClaim {
    /// The requirement.
    pub slot: Slot,
    /// `x1`
    pub first: u32,
    /// `x2`
    pub second: u32,
}

/// What became of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// Not met.
    False,
    /// Not met by a ratio that is one all the same: the steepest that is known, perhaps.
    Below,
    /// Met, but within the margin of rounding.
    Fragile,
    /// Met, clear of rounding.
    Firm,
}

/// Judges claims about pairs of inputs.
#[derive(Clone, Copy)]
pub struct PairJudge<'a> {
    /// The network.
    pub network: &'a Network,
    /// The requirements.
    pub family: &'a dyn Family,
    /// Where inputs may lie.
    pub space: &'a SearchSpace,
    /// The seeds, one after the other.
    pub seeds: &'a [f32],
    /// The scale of each layer.
    pub means: &'a Means,
    /// When judging must end.
    pub until: Until<'a>,
}

impl PairJudge<'_> {
    /// What must be kept of a run of the two inputs.
    fn points(&self) -> Vec<Point> {
        let mut points = self.family.points();
        if !points.contains(&Point::Input) {
            points.push(Point::Input);
        }
        points
    }

    /// Runs the tests that claims name and judges every claim, unless time is up before. Two inputs that lie in
    /// no ball or box together meet nothing together. `input` gives a test by number.
    pub fn judge<'b>(
        &self,
        claims: &[PairClaim],
        input: &dyn Fn(u32) -> &'b [f32],
    ) -> Result<Vec<Standing>, String> {
        let is_ratio = |claim: &PairClaim| self.family.is_about_ratios(claim.slot.group as usize);
        let (ratios, others): (Vec<PairClaim>, Vec<PairClaim>) =
            claims.iter().partition(|claim| is_ratio(claim));
        let (mut ratios, mut others) = (
            self.ratios(&ratios, input).into_iter(),
            self.formulas(&others, input)?.into_iter(),
        );
        self.until.go_on().map_err(|e| e.to_string())?;
        let judged = claims.iter().filter_map(|claim| {
            if is_ratio(claim) {
                ratios.next()
            } else {
                others.next()
            }
        });
        Ok(judged.collect())
    }

    /// Claims about formulas and pairs of neurons.
    fn formulas<'b>(
        &self,
        claims: &[PairClaim],
        input: &dyn Fn(u32) -> &'b [f32],
    ) -> Result<Vec<Standing>, String> {
        /// Tests run at a time.
        const BATCH: usize = 64;
        if claims.is_empty() {
            return Ok(Vec::new());
        }
        let pass = Pass::keep(self.points());
        let named = tests_of(claims);
        let inputs: Vec<&[f32]> = named.iter().map(|&test| input(test)).collect();
        let together = Together::of_each(self.space, self.seeds, &inputs);
        // Claims about the same tests are neighbours, so that few tests are run more than once.
        let mut order: Vec<usize> = (0..claims.len()).collect();
        order.sort_by_key(|&claim| (claims[claim].first, claims[claim].second));
        let mut standings = vec![Standing::False; claims.len()];
        let mut trace = Trace::default();
        for batch in order.chunks(BATCH) {
            self.until.go_on().map_err(|e| e.to_string())?;
            let tests = tests_of(batch.iter().map(|&number| &claims[number]));
            let inputs: Vec<f32> = tests.iter().flat_map(|&t| input(t)).copied().collect();
            self.network.forward_into(&inputs, &pass, &mut trace);
            for &number in batch {
                let claim = &claims[number];
                let [a, b] = places(&named, claim);
                if together.may_pair(a, b) {
                    let rows = places(&tests, claim);
                    standings[number] = self.standing(claim.slot, &trace, rows)?;
                }
            }
        }
        Ok(standings)
    }

    /// How steep the network is for certain between the two tests of each claim that is about a ratio, and that
    /// there is time for.
    pub fn slopes<'b>(
        &self,
        claims: &[PairClaim],
        input: &dyn Fn(u32) -> &'b [f32],
    ) -> Vec<Option<f64>> {
        let inputs: Vec<[&[f32]; 2]> = claims
            .iter()
            .map(|claim| [input(claim.first), input(claim.second)])
            .collect();
        let slope = |(claim, inputs): (&PairClaim, &[&[f32]; 2])| {
            let (group, ratios) = self.family.ratios()?;
            if claim.slot.group as usize != group || self.until.is_over() {
                return None;
            }
            let ratio = ratios.ratio(claim.slot.slot as usize);
            certain_ratio(self.network, &ratio, *inputs, &self.space.units)
        };
        let claims = claims.par_iter().zip(inputs.par_iter());
        claims.map(slope).collect()
    }

    /// Claims about ratios: a constant is exceeded for certain or not at all.
    fn ratios<'b>(&self, claims: &[PairClaim], input: &dyn Fn(u32) -> &'b [f32]) -> Vec<Standing> {
        let constant = |claim: &PairClaim| {
            let (_, ratios) = self.family.ratios()?;
            ratios.ratio(claim.slot.slot as usize).constant
        };
        let slopes = self.slopes(claims, input);
        let judged = claims.iter().zip(slopes);
        judged
            .map(|(claim, slope)| match (slope, constant(claim)) {
                (None, _) => Standing::False,
                (Some(slope), Some(constant)) if slope > constant => Standing::Firm,
                (Some(_), _) => Standing::Below,
            })
            .collect()
    }

    fn standing(
        &self,
        slot: Slot,
        trace: &Trace<f32>,
        rows: [usize; 2],
    ) -> Result<Standing, String> {
        let (group, number) = (slot.group as usize, slot.slot as usize);
        let (goal, inputs) = match self.family.objective(group, number)? {
            Objective::PairOfChanges(pair) => return Ok(self.neurons(&pair, trace, rows)),
            Objective::Formula { formula, inputs } => (formula, inputs),
            Objective::Ratio(_) => return Err("ratios are judged apart from formulas".into()),
        };
        if inputs != Inputs::Two {
            return Err(format!("requirement {number} speaks of one input"));
        }
        let seen = Both {
            trace,
            samples: rows,
            hidden: self.network.layers().len(),
        };
        let evaluator = Evaluator::new(&seen, &self.space.units);
        let tests = Assignment::Two(0, 1);
        let value = evaluator.value(&goal, tests, self.means.layers());
        Ok(match evaluator.satisfies(&goal, tests) {
            false => Standing::False,
            // A value is relative to the layers' means already.
            true if value >= self.means.relative_margin() => Standing::Firm,
            true => Standing::Fragile,
        })
    }

    /// A pair of neurons: as firm as the least firm of all that it asks for, the signs that stay among it.
    fn neurons(&self, pair: &PairRequirement, trace: &Trace<f32>, rows: [usize; 2]) -> Standing {
        let side = |layer: usize| {
            let u = rows.map(|row| trace.sample(Point::Pre(layer), row));
            (u, self.means.margin(layer + 2))
        };
        let sides = [pair.condition.layer, pair.decision.layer].map(|layer| (layer, side(layer)));
        let mut worst = Standing::Firm;
        for (layer, neuron, contrast) in pair.contrasts() {
            let of = usize::from(layer == sides[1].0);
            let ([first, second], margin) = sides[of].1;
            worst = worst.min(shown(contrast, first[neuron], second[neuron], margin));
            if worst == Standing::False {
                break;
            }
        }
        worst
    }
}

/// The tests that claims name, each once, in order.
fn tests_of<'c>(claims: impl IntoIterator<Item = &'c PairClaim>) -> Vec<u32> {
    let claims = claims.into_iter();
    let mut tests: Vec<u32> = claims.flat_map(|c| [c.first, c.second]).collect();
    tests.sort_unstable();
    tests.dedup();
    tests
}

/// Where the two tests of a claim are among tests in order.
fn places(tests: &[u32], claim: &PairClaim) -> [usize; 2] {
    [claim.first, claim.second].map(|test| tests.partition_point(|&t| t < test))
}

/// Whether a value is on its side of 0 however a runtime rounds.
fn is_clear(u: f32, margin: f64) -> bool {
    f64::from(u).abs() >= margin
}

/// How clearly two values of a neuron, each of which rounding may move by the margin, show what is asked.
fn shown(contrast: Contrast, first: f32, second: f32, margin: f64) -> Standing {
    let clear = is_clear(first, margin) && is_clear(second, margin);
    let (met, firm) = match contrast {
        Contrast::SignChanges => ((first >= 0.0) != (second >= 0.0), clear),
        Contrast::SignStays => {
            // A neuron that is exactly 0 on both has nothing to round: no weight or no input reaches it.
            let dead = first == 0.0 && second == 0.0;
            ((first >= 0.0) == (second >= 0.0), clear || dead)
        }
        Contrast::Grows(factor) => {
            let (small, large) = (f64::from(first).abs(), f64::from(second).abs());
            let met = small != 0.0 && large >= factor * small;
            // Both values may be off by the margin.
            let room = large - factor * small - (1.0 + factor) * margin;
            (met, clear && room >= 0.0)
        }
    };
    match (met, firm) {
        (false, _) => Standing::False,
        (true, true) => Standing::Firm,
        (true, false) => Standing::Fragile,
    }
}

/// Two samples of a trace, as the evaluator sees them.
struct Both<'a> {
    trace: &'a Trace<f32>,
    samples: [usize; 2],
    hidden: usize,
}

impl Both<'_> {
    fn value(&self, test: usize, var: Var) -> f32 {
        self.trace
            .sample(var.point(self.hidden), self.samples[test])[var.neuron]
    }
}

impl Observations for Both<'_> {
    fn tests(&self) -> usize {
        2
    }

    fn u(&self, test: usize, layer: usize, neuron: usize) -> f32 {
        self.value(test, Var::u(Input::First, layer, neuron))
    }

    fn v(&self, test: usize, layer: usize, neuron: usize) -> f32 {
        self.value(test, Var::v(Input::First, layer, neuron))
    }

    fn input(&self, test: usize) -> &[f32] {
        self.trace.sample(Point::Input, self.samples[test])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_that_stays_by_rounding_alone_is_fragile() {
        let stays = |first, second| shown(Contrast::SignStays, first, second, 1e-5);
        assert_eq!(stays(0.5, 0.1), Standing::Firm);
        assert_eq!(stays(0.5, 1e-8), Standing::Fragile);
        assert_eq!(stays(-1e-8, -0.5), Standing::Fragile);
        assert_eq!(stays(-1e-8, 0.5), Standing::False);
        // No weight reaches the neuron: there is nothing to round.
        assert_eq!(stays(0.0, -0.0), Standing::Firm);
        assert_eq!(stays(0.0, 0.5), Standing::Fragile);
    }

    #[test]
    fn a_change_is_firm_when_both_values_may_move_by_the_margin() {
        let flips = |first, second| shown(Contrast::SignChanges, first, second, 1e-3);
        assert_eq!(flips(-0.5, 0.5), Standing::Firm);
        assert_eq!(flips(-0.5, 1e-4), Standing::Fragile);
        let doubles = |first, second| shown(Contrast::Grows(2.0), first, second, 1e-3);
        assert_eq!(doubles(0.5, 1.1), Standing::Firm);
        assert_eq!(doubles(0.5, 1.002), Standing::Fragile);
        assert_eq!(doubles(0.5, 0.9), Standing::False);
        assert_eq!(doubles(0.0, 0.9), Standing::False);
    }
}
