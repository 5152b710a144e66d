//! Every choice of so many pixels, where there are few: small inputs, such as a row of a table.

use super::trial::{Sparse, State, Tried, best};
use crate::budget::Effort;

/// Most choices of so many pixels that are all tried.
const CHOICES: usize = 64;
/// Most elements of a choice, all corners of whose box are run.
const ELEMENTS: usize = 4;
/// Passes of a search inside the box of a choice.
const IN_BOX: usize = 96;

impl Sparse<'_> {
    /// A witness with fewer pixels than `count`, the smallest numbers first, of which all choices are tried.
    pub fn of_every_choice(&self, count: usize, effort: &mut Effort) -> Option<Tried> {
        (1..count)
            .map_while(|size| choices(self.pixels.count(), size))
            .flatten()
            .find_map(|choice| {
                if self.task.is_over(*effort) {
                    return None;
                }
                self.in_choice(&choice, effort)
            })
    }

    fn in_choice(&self, choice: &[usize], effort: &mut Effort) -> Option<Tried> {
        let elements: Vec<usize> = choice
            .iter()
            .flat_map(|&pixel| self.pixels.elements(pixel))
            .copied()
            .collect();
        let mut starts = vec![self.root().to_vec()];
        if elements.len() <= ELEMENTS {
            let tried = best(self.run(self.corners_of(&elements), effort))?;
            if tried.met.is_some() {
                return Some(tried);
            }
            starts.push(tried.state[0].clone());
        }
        starts.into_iter().find_map(|start| {
            let free = |pixel: usize| choice.contains(&pixel);
            self.search_box(free, &start, IN_BOX, effort)
        })
    }

    /// The root with elements at every combination of their ends.
    fn corners_of(&self, elements: &[usize]) -> Vec<State> {
        let region = &self.task.region;
        let corner = |number: usize| {
            let mut input = self.root().to_vec();
            for (bit, &e) in elements.iter().enumerate() {
                let ends = [region.lower[e], region.upper[e]];
                input[e] = region.settle(e, f64::from(ends[number >> bit & 1]));
            }
            vec![input]
        };
        (0..1usize << elements.len()).map(corner).collect()
    }
}

/// All choices of so many of the first numbers, in order, unless they are too many.
fn choices(of: usize, size: usize) -> Option<Vec<Vec<usize>>> {
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..size {
        let longer = all.iter().flat_map(|choice| {
            let next = choice.last().map_or(0, |last| last + 1);
            (next..of).map(move |one| [choice.as_slice(), &[one]].concat())
        });
        all = longer.take(CHOICES + 1).collect();
        if all.len() > CHOICES {
            return None;
        }
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_all_or_none() {
        assert_eq!(
            choices(3, 2),
            Some(vec![vec![0, 1], vec![0, 2], vec![1, 2]])
        );
        assert_eq!(choices(3, 3), Some(vec![vec![0, 1, 2]]));
        assert_eq!(choices(64, 1).map(|all| all.len()), Some(64));
        assert_eq!(choices(65, 1), None);
        assert_eq!(choices(12, 2), None);
    }
}
