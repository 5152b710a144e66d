//! Two inputs that claim to meet a requirement together: both are run, and the claim is judged by the
//! requirement's own definition.

use deepconcolic_network::{Network, Pass, Point, Trace};
use deepconcolic_spec::criteria::{Change, Family, Means, Pairs, Scope};
use deepconcolic_spec::{Assignment, Evaluator, Input, InputSpace, Inputs, Observations, Var};

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Not met.
    False,
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
    /// How distances are measured.
    pub units: &'a InputSpace,
    /// The scale of each layer.
    pub means: &'a Means,
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

    /// Runs the tests that claims name, each pair for itself, and judges every claim. `input` gives
    /// a test by number.
    pub fn judge<'b>(
        &self,
        claims: &[PairClaim],
        input: &dyn Fn(u32) -> &'b [f32],
    ) -> Result<Vec<Standing>, String> {
        /// Tests run at a time.
        const BATCH: usize = 64;
        let pass = Pass::keep(self.points());
        let mut standings = Vec::with_capacity(claims.len());
        let mut trace = Trace::default();
        for batch in claims.chunks(BATCH) {
            let mut tests: Vec<u32> = batch.iter().flat_map(|c| [c.first, c.second]).collect();
            tests.sort_unstable();
            tests.dedup();
            let inputs: Vec<f32> = tests.iter().flat_map(|&t| input(t)).copied().collect();
            self.network.forward_into(&inputs, &pass, &mut trace);
            for claim in batch {
                let row = |test: u32| tests.partition_point(|&t| t < test);
                standings.push(self.standing(
                    claim.slot,
                    &trace,
                    [row(claim.first), row(claim.second)],
                )?);
            }
        }
        Ok(standings)
    }

    fn standing(
        &self,
        slot: Slot,
        trace: &Trace<f32>,
        rows: [usize; 2],
    ) -> Result<Standing, String> {
        let (group, number) = (slot.group as usize, slot.slot as usize);
        if let Some(pairs) = self.family.pairs() {
            return Ok(self.neurons(pairs, group, number, trace, rows));
        }
        let requirement = self.family.requirement(group, number)?;
        if requirement.inputs != Inputs::Two {
            return Err(format!("requirement {number} speaks of one input"));
        }
        let seen = Both {
            trace,
            samples: rows,
            hidden: self.network.layers().len(),
        };
        let evaluator = Evaluator::new(&seen, self.units);
        let (tests, goal) = (Assignment::Two(0, 1), requirement.goal());
        let value = evaluator.value(&goal, tests, self.means.layers());
        Ok(match evaluator.satisfies(&goal, tests) {
            false => Standing::False,
            // A value is relative to the layers' means already.
            true if value >= self.means.relative_margin() => Standing::Firm,
            true => Standing::Fragile,
        })
    }

    /// A pair of neurons, by the definition of its criterion.
    fn neurons(
        &self,
        pairs: &dyn Pairs,
        group: usize,
        slot: usize,
        trace: &Trace<f32>,
        rows: [usize; 2],
    ) -> Standing {
        let (before, layer) = pairs.layers(group);
        let (condition, decision) = pairs.neurons(group, slot);
        let u = |layer: usize| rows.map(|row| trace.sample(Point::Pre(layer), row));
        let ([a, b], [c, d]) = (u(before), u(layer));
        let same = |n: usize| (a[n] >= 0.0) == (b[n] >= 0.0);
        let (condition_change, decision_change) = pairs.changes();
        let exempt = condition_change == Change::Sign;
        let kept = |n: usize| same(n) || (exempt && n == condition);
        let others = match pairs.scope() {
            Scope::Layer => (0..a.len()).all(kept),
            Scope::Field => {
                let field = self.network.conditions(before, layer, decision);
                field.into_iter().all(kept)
            }
        };
        let changed = |change: Change, x1: f32, x2: f32| match change {
            Change::Sign => (x1 >= 0.0) != (x2 >= 0.0),
            Change::Value(factor) => {
                x1 != 0.0 && f64::from(x2).abs() >= factor * f64::from(x1).abs()
            }
        };
        let sign_kept = (c[decision] >= 0.0) == (d[decision] >= 0.0);
        let met = others
            && changed(condition_change, a[condition], b[condition])
            && changed(decision_change, c[decision], d[decision])
            && (decision_change == Change::Sign || sign_kept);
        if !met {
            return Standing::False;
        }
        let clear = |layer: usize, x1: f32, x2: f32| {
            let margin = self.means.margin(layer + 2);
            [x1, x2].iter().all(|&x| f64::from(x).abs() >= margin)
        };
        let firm =
            clear(before, a[condition], b[condition]) && clear(layer, c[decision], d[decision]);
        if firm {
            Standing::Firm
        } else {
            Standing::Fragile
        }
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
