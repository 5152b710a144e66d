//! Trying inputs: many are run in one batch and judged by how near they come to the goal.

use deepconcolic_language::Inputs;
use deepconcolic_network::Point;

use super::pixels::PixelMap;
use super::support::allowed;
use crate::budget::{Budget, Effort};
use crate::observed::Observed;
use crate::region::Region;
use crate::task::{Met, Task};

/// Inputs run at a time.
const BATCH: usize = 128;

/// The inputs of a goal, one or two.
pub(super) type State = Vec<Vec<f32>>;

/// A search for few pixels.
pub(super) struct Sparse<'t> {
    pub task: &'t Task<'t>,
    pub pixels: PixelMap,
    /// Pixels that may change.
    pub allowed: usize,
}

/// Inputs that were run.
#[derive(Clone)]
pub(super) struct Tried {
    pub state: State,
    /// How near to the goal; at least 0 where it is met.
    pub value: f64,
    /// The witness that the inputs are, if they are one.
    pub met: Option<Met>,
}

impl<'t> Sparse<'t> {
    pub fn new(task: &'t Task<'t>) -> Self {
        let pixels = PixelMap::new(task.region.space);
        Self {
            task,
            allowed: allowed(task.region.space, &pixels),
            pixels,
        }
    }

    pub fn root(&self) -> &'t [f32] {
        self.task.region.root
    }

    pub fn is_single(&self) -> bool {
        self.task.inputs == Inputs::One
    }

    /// Passes that may still be made.
    pub fn left(&self, effort: Effort) -> usize {
        let passes = self.task.budget.passes;
        passes.map_or(usize::MAX, |all| all.saturating_sub(effort.passes()))
    }

    /// One input of a goal on one input, with what derivatives need.
    pub fn look(&self, input: &[f32], effort: &mut Effort) -> Observed {
        let inputs = vec![input.to_vec()];
        Observed::run(
            self.task.network,
            &self.task.points,
            inputs,
            vec![true],
            effort,
        )
    }

    /// Runs states, as many of the first as the budget has passes for; none when it is over.
    pub fn run(&self, states: Vec<State>, effort: &mut Effort) -> Vec<Tried> {
        self.run_keeping(&self.task.points, states, effort, |_| ())
            .into_iter()
            .map(|(tried, ())| tried)
            .collect()
    }

    /// The same with these tensors kept, and what a look at each tells.
    pub fn run_keeping<T>(
        &self,
        points: &[Point],
        states: Vec<State>,
        effort: &mut Effort,
        look: impl Fn(&Observed) -> T,
    ) -> Vec<(Tried, T)> {
        let mut tried = Vec::with_capacity(states.len());
        let mut states = states.into_iter();
        loop {
            let each = match self.task.inputs {
                Inputs::One => 1,
                Inputs::Two => 2,
            };
            let count = BATCH.min(self.left(*effort) / each);
            let batch: Vec<State> = states.by_ref().take(count).collect();
            if batch.is_empty() || self.task.budget.interruption().is_some() {
                return tried;
            }
            let moving = vec![true; each];
            let all = Observed::run_all(self.task.network, points, batch, &moving, effort);
            tried.extend(all.into_iter().map(|observed| {
                let told = look(&observed);
                (self.judge(observed), told)
            }));
        }
    }

    pub fn judge(&self, observed: Observed) -> Tried {
        let value = self.task.tree.value(&observed);
        let value = if value.is_nan() {
            f64::NEG_INFINITY
        } else {
            value
        };
        let met = if value >= 0.0 {
            self.task.witness(&observed, self.root(), None)
        } else {
            None
        };
        Tried {
            state: observed.inputs,
            value,
            met,
        }
    }

    /// The pixels that a state changes.
    pub fn changed(&self, state: &State) -> Vec<usize> {
        self.pixels.changed(state, self.root())
    }

    /// A state with some pixels as they are in the root.
    pub fn without(&self, state: &State, pixels: &[usize]) -> State {
        let mut state = state.clone();
        for &pixel in pixels {
            self.pixels.take_back(&mut state, self.root(), pixel);
        }
        state
    }

    /// The task in the box of some pixels, with at most so many passes.
    pub fn boxed(&self, free: impl Fn(usize) -> bool, passes: usize) -> Task<'t> {
        let mut region: Region<'t> = self.task.region.clone();
        region.fix_all_but(|e| free(self.pixels.of(e)));
        let mut task = self.task.within(region);
        task.budget = Budget {
            passes: Some(passes),
            ..self.task.budget
        };
        task
    }
}

/// The best of what was tried: a witness before all others, then the nearest to the goal; of equal ones the first.
pub(super) fn best(tried: Vec<Tried>) -> Option<Tried> {
    let rank = |tried: &Tried| (tried.met.is_some(), tried.value);
    tried.into_iter().reduce(|best, next| {
        if rank(&next) > rank(&best) {
            next
        } else {
            best
        }
    })
}
