//! Something about each element of a tensor, for the range of elements that turn up: a neuron that sees a
//! window of a large tensor costs what the window costs.

/// What is known of elements, by number; those that nothing was said of are blank.
#[derive(Debug)]
pub struct Span<T> {
    from: usize,
    of: Vec<T>,
    blank: T,
}

impl<T: Copy> Span<T> {
    /// Nothing was said of any element.
    pub fn new(blank: T) -> Self {
        Self {
            from: 0,
            of: Vec::new(),
            blank,
        }
    }

    /// Says something of an element.
    pub fn set(&mut self, element: usize, to: T) {
        if self.of.is_empty() {
            self.from = element;
        }
        if element < self.from {
            // By as much again as there is, so that elements may turn up in any order.
            let room = (self.from - element).max(self.of.len()).min(self.from);
            self.of.splice(0..0, std::iter::repeat_n(self.blank, room));
            self.from -= room;
        }
        let at = element - self.from;
        if at >= self.of.len() {
            self.of.resize(at + 1, self.blank);
        }
        self.of[at] = to;
    }

    /// What was said of an element last.
    pub fn get(&self, element: usize) -> T {
        let at = element.checked_sub(self.from);
        let entry = at.and_then(|at| self.of.get(at));
        entry.copied().unwrap_or(self.blank)
    }

    /// Elements of the range and what is known of them, in order.
    pub fn entries(self) -> impl Iterator<Item = (usize, T)> {
        (self.from..).zip(self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_may_turn_up_in_any_order() {
        for order in [
            [7, 900, 3, 905, 0],
            [905, 900, 7, 3, 0],
            [0, 3, 7, 900, 905],
        ] {
            let mut span = Span::new(0);
            for (number, &element) in order.iter().enumerate() {
                span.set(element, number + 1);
            }
            for element in 0..1000 {
                let place = order.iter().position(|&e| e == element);
                assert_eq!(span.get(element), place.map_or(0, |place| place + 1));
            }
            let set = span.entries().filter(|(_, number)| *number > 0);
            let set: Vec<usize> = set.map(|(element, _)| element).collect();
            assert_eq!(set, [0, 3, 7, 900, 905]);
        }
    }

    #[test]
    fn a_window_costs_what_it_spans() {
        let mut span = Span::new(false);
        (1_000_000..1_000_100).for_each(|element| span.set(element, true));
        assert_eq!(span.of.len(), 100);
    }
}
