//! Boxes still open, in the order they are taken up.

use std::collections::BTreeMap;

/// A box that is not refuted yet, and what is known of it.
pub(crate) struct Cell {
    pub ends: Vec<[f64; 2]>,
    /// Bounds of the units over it.
    pub bounds: Vec<[f64; 2]>,
    /// Its place in the tree.
    pub at: usize,
    pub bound: f64,
    /// The input variables that may be worth halving, one or two.
    pub halve: [usize; 2],
}

/// Where a number stands among all others.
fn rank(number: f64) -> i64 {
    let bits = number.to_bits() as i64;
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

/// More open boxes than this are too many to hold: those that are almost refuted come first then.
const MANY: usize = 1 << 15;

/// Open boxes, by bound.
#[derive(Default)]
pub(crate) struct Frontier(BTreeMap<(i64, usize), Cell>);

impl Frontier {
    pub fn push(&mut self, cell: Cell) {
        self.0.insert((rank(cell.bound), cell.at), cell);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The worst bound.
    pub fn worst(&self) -> Option<f64> {
        self.0.first_key_value().map(|(_, cell)| cell.bound)
    }

    /// The next so many.
    pub fn take(&mut self, count: usize) -> Vec<Cell> {
        let many = self.0.len() > MANY;
        let next = || {
            let cell = if many {
                self.0.pop_last()
            } else {
                self.0.pop_first()
            };
            cell.map(|(_, cell)| cell)
        };
        std::iter::from_fn(next).take(count).collect()
    }
}
