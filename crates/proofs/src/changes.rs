//! Inputs of which few positions may change: who moves, and the corner where a sum of inputs is least.
//! Rounded to nearest; the checker counts changes for itself.

use std::sync::Arc;

use deepconcolic_check::{Changes, Region};

use crate::lanes::{LANES, Lanes, all};

/// Positions of which at most so many change. Groups of one part of a region have no position in common.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    /// Ascending.
    pub positions: Arc<[u32]>,
    pub allowed: usize,
}

impl Group {
    /// All positions of a region.
    pub fn of(changes: &Changes) -> Self {
        let mut positions = changes.positions.to_vec();
        positions.sort_unstable();
        positions.dedup();
        Self {
            positions: positions.into(),
            allowed: changes.allowed as usize,
        }
    }

    /// Whether all of its positions may change at once.
    pub fn is_free(&self) -> bool {
        self.allowed >= self.positions.len()
    }
}

/// An input that can move.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mover {
    /// Its variable.
    pub input: u32,
    pub ends: [f64; 2],
    pub centre: f64,
    /// Its position among those that may change or not, by number; none if it moves freely.
    place: Option<u32>,
}

impl Mover {
    /// The end where a multiple of it is least.
    fn end(&self, a: f64) -> f64 {
        if a < 0.0 { self.ends[1] } else { self.ends[0] }
    }
}

/// How the inputs of a program move.
#[derive(Debug, Clone, Default)]
pub(crate) struct Choice {
    /// In the order of the inputs.
    pub movers: Vec<Mover>,
    /// The positions that places stand for.
    pub positions: Vec<u32>,
    /// Places of one group follow each other: where they end, and how many may change.
    groups: Vec<(usize, usize)>,
}

impl Choice {
    /// `ends` says what each variable of the inputs may be; one whose ends leave the centre out moves freely, as
    /// does one of a group that allows all its positions.
    pub fn of(
        changes: &Changes,
        groups: &[Group],
        inputs: &[usize],
        ends: impl Fn(usize) -> [f64; 2],
    ) -> Self {
        let mut choice = Self::default();
        let mut seen: Vec<u32> = inputs.iter().map(|&e| changes.positions[e]).collect();
        seen.sort_unstable();
        seen.dedup();
        let mut free: Vec<u32> = Vec::new();
        for group in groups.iter().filter(|group| group.allowed > 0) {
            let all = group.positions.iter();
            let own = all.filter(|position| seen.binary_search(position).is_ok());
            if group.is_free() {
                free.extend(own);
            } else {
                choice.positions.extend(own);
                choice.groups.push((choice.positions.len(), group.allowed));
            }
        }
        free.sort_unstable();
        let mut places: Vec<(u32, u32)> = choice.positions.iter().copied().zip(0..).collect();
        places.sort_unstable();
        for (input, &element) in inputs.iter().enumerate() {
            let (position, centre) = (changes.positions[element], changes.centre[element]);
            let ends = ends(input);
            let at = places.binary_search_by_key(&position, |place| place.0);
            let place = at.ok().map(|at| places[at].1);
            let moves = place.is_some() || free.binary_search(&position).is_ok();
            let [low, high] = ends;
            if moves && (low < centre || high > centre) {
                choice.movers.push(Mover {
                    input: input as u32,
                    ends,
                    centre,
                    place,
                });
            }
        }
        choice
    }

    /// Of a whole region, if it limits changes.
    pub fn of_region(region: &Region, inputs: &[usize]) -> Option<Arc<Self>> {
        let changes = region.changes.as_ref()?;
        let groups = [Group::of(changes)];
        let ends = |input: usize| [region.lower[inputs[input]], region.upper[inputs[input]]];
        Some(Arc::new(Self::of(changes, &groups, inputs, ends)))
    }

    /// The least value of the sums of movers in the first so many lanes.
    pub fn least(&self, coefficients: &[Lanes], lanes: usize) -> Lanes {
        let mut amounts = vec![all(0.0); self.positions.len()];
        let mut sum = all(0.0);
        for mover in &self.movers {
            let a = &coefficients[mover.input as usize];
            match mover.place {
                None => {
                    for lane in 0..lanes {
                        sum[lane] += a[lane] * mover.end(a[lane]);
                    }
                }
                Some(place) => {
                    let amounts = &mut amounts[place as usize];
                    for lane in 0..lanes {
                        sum[lane] += a[lane] * mover.centre;
                        amounts[lane] += a[lane] * (mover.centre - mover.end(a[lane]));
                    }
                }
            }
        }
        let mut own: Vec<f64> = Vec::with_capacity(amounts.len());
        for (lane, sum) in sum.iter_mut().enumerate().take(lanes) {
            let mut start = 0;
            for &(end, allowed) in &self.groups {
                own.clear();
                own.extend(amounts[start..end].iter().map(|amounts| amounts[lane]));
                *sum -= largest(&mut own, allowed);
                start = end;
            }
        }
        sum
    }

    /// How much each place takes off a sum of movers by changing.
    pub fn amounts(&self, coefficient: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut amounts = vec![0.0; self.positions.len()];
        for mover in &self.movers {
            if let Some(place) = mover.place {
                let a = coefficient(mover.input as usize);
                amounts[place as usize] += a * (mover.centre - mover.end(a));
            }
        }
        amounts
    }

    /// Where a sum of movers is least: input variables and their values.
    pub fn corner(&self, coefficient: impl Fn(usize) -> f64) -> Vec<(usize, f64)> {
        let amounts = self.amounts(&coefficient);
        let mut taken = vec![false; amounts.len()];
        let mut start = 0;
        for &(end, allowed) in &self.groups {
            let mut order: Vec<usize> = (start..end).collect();
            order.sort_by(|&a, &b| amounts[b].total_cmp(&amounts[a]));
            for place in order.into_iter().take(allowed) {
                taken[place] = true;
            }
            start = end;
        }
        let value = |mover: &Mover| {
            let input = mover.input as usize;
            let moved = mover.place.is_none_or(|place| taken[place as usize]);
            let end = mover.end(coefficient(input));
            (input, if moved { end } else { mover.centre })
        };
        self.movers.iter().map(value).collect()
    }

    /// As [`Choice::corner`], of every lane.
    pub fn corners(&self, coefficients: &[Lanes], values: &mut [Lanes]) {
        for lane in 0..LANES {
            for (input, value) in self.corner(|input| coefficients[input][lane]) {
                values[input][lane] = value;
            }
        }
    }
}

/// The sum of the largest so many.
fn largest(amounts: &mut [f64], count: usize) -> f64 {
    if count >= amounts.len() {
        return amounts.iter().sum();
    }
    if count == 1 {
        return amounts.iter().copied().fold(0.0, f64::max);
    }
    amounts.select_nth_unstable_by(count, |a, b| b.total_cmp(a));
    amounts[..count].iter().sum()
}
