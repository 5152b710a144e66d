//! Concrete search: many inputs at once climb towards requirements that are open.
//!
//! Each climber follows the gradient of the sum of its targets' values, one step of a fixed
//! schedule after the other, within reach of its root, and remembers the best point it passed. Where the
//! norm asks for it, gradients of steps before count too, less the longer ago.

mod heading;

use deepconcolic_criteria::{Clearance, Family, Guide, Means, SampleView};
use deepconcolic_geometry::{AllowedRegion, Random};
use deepconcolic_network::{BitSet, Network, Pass, Row, Trace};
use rayon::prelude::*;

use self::heading::Heading;
use crate::limits::{Limits, Passes};

/// Values count up to this, in units of a layer's mean: enough to be clear of the margin, and no
/// reason to climb further once it is reached.
const ENOUGH: f32 = 2e-3;

/// What climbers share.
#[derive(Clone, Copy)]
pub(crate) struct AscentContext<'a> {
    pub network: &'a Network,
    pub family: &'a dyn Family,
    pub guide: &'a dyn Guide,
    pub means: &'a Means,
    pub open: &'a [BitSet],
}

/// The targets of a climber: slots, group by group.
pub(crate) type Targets = Vec<(usize, Vec<u32>)>;

/// The best point that a climber passed.
#[derive(Clone, Debug)]
pub(crate) struct Best {
    /// Open requirements it meets.
    pub gain: usize,
    /// The sum of its targets' values.
    pub value: f64,
    /// The point.
    pub input: Vec<f32>,
}

/// An input on its way.
pub(crate) struct Climber<'a> {
    /// Number of the root seed.
    pub root: usize,
    /// The test it started from.
    pub parent: usize,
    pub reach: AllowedRegion<'a>,
    pub point: Vec<f32>,
    pub targets: Targets,
    pub best: Option<Best>,
    /// Whether it has no more to do.
    pub done: bool,
    heading: Heading,
    /// Where to go from a plateau.
    random: Random,
}

impl<'a> Climber<'a> {
    pub fn new(
        root: usize,
        parent: usize,
        reach: AllowedRegion<'a>,
        mut point: Vec<f32>,
        targets: Targets,
        random: Random,
    ) -> Self {
        reach.hold(&mut point);
        Self {
            root,
            parent,
            heading: Heading::new(reach.inertia()),
            reach,
            point,
            targets,
            best: None,
            done: false,
            random,
        }
    }

    /// Looks round at the point just run; where to climb from there.
    fn look(
        &mut self,
        context: &AscentContext<'_>,
        look: SampleView<'_>,
        input: &[f32],
    ) -> Row<f32> {
        let mut gain = 0;
        context
            .guide
            .met(look, context.open, Clearance::Firm, &mut |_, _| gain += 1);
        let mut seeds = Vec::new();
        let mut value = 0.0;
        for (group, slots) in &self.targets {
            value += context.guide.pull(look, *group, slots, ENOUGH, &mut seeds);
        }
        let better = |best: &Best| (gain, value) > (best.gain, best.value);
        if self.best.as_ref().is_none_or(better) {
            self.best = Some(Best {
                gain,
                value,
                input: input.to_vec(),
            });
        }
        self.done = seeds.is_empty();
        Row {
            sample: look.sample,
            seeds,
        }
    }
}

impl Climber<'_> {
    fn step(&mut self, gradient: &[f32], size: f32) {
        if gradient.iter().all(|&slope| slope == 0.0) {
            // Units that are off hide the way to those behind them; it may show elsewhere.
            self.point = self.reach.draw(&mut self.random);
            self.heading.forget();
            return;
        }
        let before = self.point.clone();
        let direction = self.heading.turned(gradient);
        self.reach.step(&mut self.point, direction, size);
        if self.point == before {
            // At a corner that every slope points out of, no smaller step leads on either. What was remembered may
            // point out of it when the slopes here do not.
            self.done = self.heading.is_fresh();
            self.heading.forget();
        }
    }
}

/// Lets climbers take one step for each size of the schedule. Says whether a limit cut it short.
pub(crate) fn climb(
    context: &AscentContext<'_>,
    climbers: &mut [Climber<'_>],
    schedule: &[f32],
    passes: &mut Passes,
    limits: &Limits<'_>,
) -> bool {
    let points = context.family.points();
    let pass = Pass::keep(points.iter().copied()).differentiating(points);
    let each = context.network.input_elements();
    let mut trace = Trace::default();
    let mut inputs = Vec::new();
    for step in 0..=schedule.len() {
        let mut active: Vec<&mut Climber<'_>> = climbers.iter_mut().filter(|c| !c.done).collect();
        if active.is_empty() {
            return false;
        }
        if limits.is_over() {
            return true;
        }
        inputs.resize(active.len() * each, 0.0);
        active
            .par_iter_mut()
            .zip(inputs.par_chunks_exact_mut(each))
            .for_each(|(climber, input)| {
                climber.reach.settle(&mut climber.point, input);
            });
        context.network.forward_into(&inputs, &pass, &mut trace);
        passes.forward += active.len();
        let rows: Vec<Row<f32>> = active
            .par_iter_mut()
            .zip(inputs.par_chunks_exact(each))
            .enumerate()
            .map(|(sample, (climber, input))| {
                let look = SampleView {
                    trace: &trace,
                    sample,
                    means: context.means,
                };
                climber.look(context, look, input)
            })
            .collect();
        let Some(&size) = schedule.get(step) else {
            return false;
        };
        let rows: Vec<Row<f32>> = rows.into_iter().filter(|r| !r.seeds.is_empty()).collect();
        active.retain(|climber| !climber.done);
        let Some(tape) = trace.tape() else {
            return false;
        };
        let gradients = context.network.vjp(tape, &rows);
        passes.vjp += rows.len();
        active
            .into_par_iter()
            .zip(gradients.par_chunks_exact(each))
            .for_each(|(climber, gradient)| {
                climber.step(gradient, size);
            });
    }
    false
}
