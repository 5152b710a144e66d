//! Where few positions of an input may change: which, how many of them together, and how far a sum of inputs
//! can then fall.
//!
//! Limits are sets of positions with a number each, nested or apart: "at most one of these, of those at most
//! two, of all at most two". The most that positions can take off a sum is found greedily: those that take
//! off most come first, each as far as all limits round it leave room. That is exact, since nested limits
//! are a matroid. Rounding: each amount is a product or two, so that the sum of those taken errs by a few
//! parts in epsilon of the magnitudes that [`crate::bounds::backward`] adds up; and whichever set is the
//! best in real numbers, by rounded amounts it takes off no more than the one that is taken.

use crate::certificate::Changes;

/// A number of positions that may change.
#[derive(Debug, Clone, Copy)]
struct Limit {
    allowed: u32,
    /// The limit round it.
    parent: Option<u32>,
}

/// Which positions may change, in a part of a region.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    limits: Vec<Limit>,
    /// The innermost limit of every position.
    of: Vec<u32>,
}

impl Limits {
    /// Of a whole region.
    pub fn of(changes: &Changes) -> Self {
        let root = Limit {
            allowed: changes.allowed,
            parent: None,
        };
        Self {
            limits: vec![root],
            of: vec![0; changes.positions.len()],
        }
    }

    /// What is left for a position: the least of all limits round it.
    fn room(&self, limit: u32) -> u32 {
        let mut room = u32::MAX;
        let mut next = Some(limit);
        while let Some(limit) = next {
            let Limit { allowed, parent } = self.limits[limit as usize];
            room = room.min(allowed);
            next = parent;
        }
        room
    }

    /// Whether a position may change.
    pub fn is_open(&self, position: u32) -> bool {
        self.room(self.of[position as usize]) > 0
    }

    /// The two parts of a split: at most `most` of these positions change, or more. The second is none if
    /// no input is there.
    pub fn split(&self, positions: &[u32], most: u32) -> Result<(Self, Option<Self>), String> {
        let ascending = positions.windows(2).all(|pair| pair[0] < pair[1]);
        let (Some(first), Some(last)) = (positions.first(), positions.last()) else {
            return Err("a split names no position".into());
        };
        if !ascending || *last as usize >= self.of.len() {
            return Err("a split names positions that are none".into());
        }
        let limit = self.of[*first as usize];
        if positions.iter().any(|&p| self.of[p as usize] != limit) {
            return Err("the positions of a split lie on both sides of another".into());
        }
        let mut few = self.clone();
        let inner = few.add(most, limit);
        for &position in positions {
            few.of[position as usize] = inner;
        }
        let left = self.room(limit).checked_sub(most.saturating_add(1));
        let many = left.map(|left| {
            let mut many = self.clone();
            let rest = many.add(left, limit);
            for other in &mut many.limits[..rest as usize] {
                if other.parent == Some(limit) {
                    other.parent = Some(rest);
                }
            }
            let mut named = positions.iter().peekable();
            for (position, of) in many.of.iter_mut().enumerate() {
                let is_named = named.next_if(|&&p| p as usize == position).is_some();
                if *of == limit && !is_named {
                    *of = rest;
                }
            }
            many
        });
        Ok((few, many))
    }

    fn add(&mut self, allowed: u32, parent: u32) -> u32 {
        let parent = Some(parent);
        self.limits.push(Limit { allowed, parent });
        self.limits.len() as u32 - 1
    }

    /// Takes one change out of every limit round a position; false if one of them is exhausted.
    fn take(&mut self, position: u32) -> bool {
        let limit = self.of[position as usize];
        if self.room(limit) == 0 {
            return false;
        }
        let mut next = Some(limit);
        while let Some(limit) = next {
            let limit = &mut self.limits[limit as usize];
            limit.allowed -= 1;
            next = limit.parent;
        }
        true
    }
}

/// An input that can move.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mover {
    /// Its variable.
    pub input: u32,
    pub ends: [f64; 2],
    pub centre: f64,
    /// Its position among those that may change or not; none if it changes in any case.
    place: Option<u32>,
}

/// The inputs of a cone over a part of a region: which move, and how many at a time.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub movers: Vec<Mover>,
    /// Positions by place.
    positions: Vec<u32>,
    /// What is left for them.
    limits: Limits,
    /// How many of them may change, where one limit is all there is.
    flat: Option<usize>,
}

impl Choice {
    /// `inputs` are the elements that the variables of a cone stand for, `ends` what each may be. None if no
    /// input is there.
    pub fn of(
        changes: &Changes,
        limits: &Limits,
        inputs: &[usize],
        ends: &[[f64; 2]],
    ) -> Option<Self> {
        let mut limits = limits.clone();
        let has = |[low, high]: [f64; 2], c: f64| low <= c && c <= high;
        // Positions that have left the centre.
        let mut moved: Vec<u32> = Vec::new();
        for (&element, &ends) in inputs.iter().zip(ends) {
            if !has(ends, changes.centre[element]) {
                moved.push(changes.positions[element]);
            }
        }
        moved.sort_unstable();
        moved.dedup();
        if !moved.iter().all(|&position| limits.take(position)) {
            return None;
        }
        let mut choice = Self {
            movers: Vec::new(),
            positions: Vec::new(),
            limits,
            flat: None,
        };
        for (input, (&element, &ends)) in inputs.iter().zip(ends).enumerate() {
            let (centre, position) = (changes.centre[element], changes.positions[element]);
            let free = moved.binary_search(&position).is_ok();
            let [low, high] = ends;
            let fixed = low >= centre && high <= centre;
            let still = fixed || !(free || choice.limits.is_open(position));
            if !still {
                let place = (!free).then_some(position);
                if place.is_some() {
                    choice.positions.push(position);
                }
                choice.movers.push(Mover {
                    input: input as u32,
                    ends,
                    centre,
                    place,
                });
            }
        }
        choice.finish();
        Some(choice)
    }

    /// Numbers the positions, and sees how they are limited.
    fn finish(&mut self) {
        self.positions.sort_unstable();
        self.positions.dedup();
        for mover in &mut self.movers {
            let place = mover.place.map(|p| self.positions.binary_search(&p));
            mover.place = place.and_then(Result::ok).map(|place| place as u32);
        }
        let mut own = self.positions.iter().map(|&p| self.limits.of[p as usize]);
        let first = own.next();
        let same = own.all(|limit| Some(limit) == first);
        self.flat = first.filter(|_| same).map(|limit| {
            let room = self.limits.room(limit) as usize;
            room.min(self.positions.len())
        });
        if first.is_none() {
            self.flat = Some(0);
        }
    }

    /// The places that amounts are added up for.
    pub fn places(&self) -> usize {
        self.positions.len()
    }

    /// The most that positions can take off a sum, given what each takes off; `amounts` are not below 0, and
    /// are put into another order.
    pub fn most(&self, amounts: &mut [f64]) -> f64 {
        match self.flat {
            Some(count) if count >= amounts.len() => amounts.iter().sum(),
            Some(0) => 0.0,
            Some(count) => {
                let falling = |a: &f64, b: &f64| b.total_cmp(a);
                let (first, last, _) = amounts.select_nth_unstable_by(count - 1, falling);
                first.iter().sum::<f64>() + *last
            }
            None => self.most_nested(amounts),
        }
    }

    fn most_nested(&self, amounts: &[f64]) -> f64 {
        let mut order: Vec<usize> = (0..amounts.len()).collect();
        order.sort_by(|&a, &b| amounts[b].total_cmp(&amounts[a]));
        let mut limits = self.limits.clone();
        let mut sum = 0.0;
        for place in order {
            if limits.take(self.positions[place]) {
                sum += amounts[place];
            }
        }
        sum
    }

    /// What an input adds to a sum, given its coefficient, and what it can take off that by changing, with
    /// the place that it takes it off for.
    pub fn share(mover: &Mover, a: f64) -> (f64, Option<(u32, f64)>) {
        let [low, high] = mover.ends;
        let end = if a < 0.0 { high } else { low };
        match mover.place {
            None => (a * end, None),
            Some(place) => (a * mover.centre, Some((place, a * (mover.centre - end)))),
        }
    }
}

/// How much more than the product of a coefficient and the size of its input the numbers of
/// [`Choice::share`] amount to.
pub(crate) const SHARES: f64 = 4.0;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use deepconcolic_testing::Random;
    use num_rational::BigRational;

    use super::*;

    fn changes(elements: usize, channels: usize, allowed: u32) -> Changes {
        Changes {
            centre: vec![0.0; elements],
            positions: (0..elements)
                .map(|e| (e / channels) as u32)
                .collect::<Arc<[u32]>>(),
            allowed,
        }
    }

    fn exact(x: f64) -> BigRational {
        BigRational::from_float(x).expect("finite")
    }

    /// Whether a set of positions is one that splits leave.
    type Holds = Box<dyn Fn(&[bool]) -> bool>;

    /// Limits after some random splits, with the sets of positions that they leave.
    fn random_limits(random: &mut Random, positions: usize, allowed: u32) -> (Limits, Vec<Holds>) {
        let mut limits = Limits::of(&changes(positions, 1, allowed));
        let count = |set: &[bool]| set.iter().filter(|c| **c).count() as u32;
        let mut holds: Vec<Holds> = vec![Box::new(move |set| count(set) <= allowed)];
        for _ in 0..random.below(4) {
            let chosen: Vec<u32> = (0..positions as u32)
                .filter(|_| random.below(2) == 0)
                .collect();
            let most = random.below(3) as u32;
            let named = chosen.clone();
            let inside =
                move |set: &[bool]| named.iter().filter(|p| set[**p as usize]).count() as u32;
            match limits.split(&chosen, most) {
                Ok((_, Some(many))) if random.below(2) == 0 => {
                    limits = many;
                    holds.push(Box::new(move |set| inside(set) > most));
                }
                Ok((few, _)) => {
                    limits = few;
                    holds.push(Box::new(move |set| inside(set) <= most));
                }
                Err(_) => {}
            }
        }
        (limits, holds)
    }

    #[test]
    fn the_most_taken_off_is_that_of_the_best_allowed_set_in_exact_numbers() {
        let mut random = Random::new(11);
        let (mut nested, mut less) = (0, 0);
        for round in 0..600 {
            let positions = 1 + random.below(7);
            let allowed = 1 + random.below(3) as u32;
            let (limits, holds) = random_limits(&mut random, positions, allowed);
            let inputs: Vec<usize> = (0..positions).collect();
            let ends = vec![[-1.0, 2.0]; positions];
            let Some(choice) = Choice::of(&changes(positions, 1, allowed), &limits, &inputs, &ends)
            else {
                continue;
            };
            nested += usize::from(choice.flat.is_none());
            let amounts = random.list(positions, 0.0, 1.0);
            let mut best = None;
            for bits in 0..1usize << positions {
                let set: Vec<bool> = (0..positions).map(|p| bits >> p & 1 == 1).collect();
                if holds.iter().all(|holds| holds(&set)) {
                    let taken = amounts.iter().zip(&set).filter(|(_, taken)| **taken);
                    let sum = taken.map(|(a, _)| exact(*a)).sum::<BigRational>();
                    best = best.max(Some(sum));
                }
            }
            let mut own: Vec<f64> = choice
                .positions
                .iter()
                .map(|&p| amounts[p as usize])
                .collect();
            let found = choice.most(&mut own);
            // More than some of a set may be more than any set has: an empty part may still be bounded.
            if let Some(best) = best {
                assert!(exact(found + 1e-12) >= best, "round {round}");
                if exact(found - 1e-12) <= best {
                    less += 1;
                }
            }
        }
        // Exact where no split says "more", which is most.
        assert!(nested > 50 && less > 400, "{nested} {less}");
    }

    #[test]
    fn one_more_change_takes_off_more() {
        for allowed in 1..4 {
            let all = changes(6, 1, allowed);
            let inputs: Vec<usize> = (0..6).collect();
            let choice = Choice::of(&all, &Limits::of(&all), &inputs, &[[-1.0, 1.0]; 6]).unwrap();
            let mut amounts = [3.0, 7.0, 1.0, 5.0, 2.0, 4.0];
            let most = [7.0, 12.0, 16.0][allowed as usize - 1];
            assert_eq!(choice.most(&mut amounts).to_bits(), f64::to_bits(most));
        }
    }

    #[test]
    fn channels_of_a_pixel_count_once_and_what_left_the_centre_counts() {
        let all = changes(6, 2, 1);
        let inputs: Vec<usize> = (0..6).collect();
        let mut ends = [[-1.0, 1.0]; 6];
        let choice = Choice::of(&all, &Limits::of(&all), &inputs, &ends).unwrap();
        assert_eq!((choice.places(), choice.movers.len()), (3, 6));
        // One channel of the middle pixel is not where it was: the others stay where they are.
        ends[2] = [0.5, 1.0];
        let choice = Choice::of(&all, &Limits::of(&all), &inputs, &ends).unwrap();
        let moving: Vec<u32> = choice.movers.iter().map(|m| m.input).collect();
        assert_eq!((moving, choice.places()), (vec![2, 3], 0));
        ends[5] = [-1.0, -0.5];
        assert!(Choice::of(&all, &Limits::of(&all), &inputs, &ends).is_none());
    }

    #[test]
    fn splits_of_no_positions_or_across_others_are_refused() {
        let limits = Limits::of(&changes(5, 1, 2));
        for (positions, most) in [
            (&[][..], 0),
            (&[5][..], 0),
            (&[1, 1][..], 0),
            (&[2, 1][..], 1),
        ] {
            assert!(limits.split(positions, most).is_err());
        }
        let (few, many) = limits.split(&[0, 1], 0).unwrap();
        assert!(few.split(&[1, 2], 0).is_err());
        assert!(!few.is_open(0) && few.is_open(2));
        assert!(many.is_some_and(|many| many.is_open(0) && many.is_open(2)));
        // More than two of two allowed is nothing; the largest number does not wrap round.
        assert!(limits.split(&[0, 1], 2).unwrap().1.is_none());
        assert!(limits.split(&[0, 1], u32::MAX).unwrap().1.is_none());
        let one = Limits::of(&changes(5, 1, 1));
        let (_, many) = one.split(&[0, 1], 0).unwrap();
        assert!(many.is_some_and(|many| many.is_open(0) && !many.is_open(2)));
    }
}
