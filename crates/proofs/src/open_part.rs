//! A part of a search region that is not refuted yet; a heap gives the one with the worst bound first.

use std::cmp::Ordering;

/// Such a part.
pub(crate) struct OpenPart<T> {
    /// The bound that does not refute it.
    pub bound: f64,
    /// Its place in the tree: of equal bounds, that of the earlier place comes first, so that nothing depends on chance.
    pub at: usize,
    /// What is known of it.
    pub found: T,
}

impl<T> PartialEq for OpenPart<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T> Eq for OpenPart<T> {}

impl<T> PartialOrd for OpenPart<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for OpenPart<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = other.bound.total_cmp(&self.bound);
        order.then_with(|| other.at.cmp(&self.at))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BinaryHeap;

    use super::*;

    #[test]
    fn the_worst_bound_comes_first_and_of_equals_the_earlier_place() {
        let parts = [(0.5, 0), (-1.0, 3), (-1.0, 1), (-0.5, 2)];
        let parts = parts.map(|(bound, at)| OpenPart {
            bound,
            at,
            found: (),
        });
        let mut heap = BinaryHeap::from(parts);
        let order: Vec<usize> = std::iter::from_fn(|| heap.pop())
            .map(|part| part.at)
            .collect();
        assert_eq!(order, [1, 3, 2, 0]);
    }
}
