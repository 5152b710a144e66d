//! A table read at computed positions: class labels by class index.

use crate::operator::{Backward, Batch, Boxes, Evaluate, Nature, Operator, Reordered, Scratch};
use crate::{Order, Scalar, Shape};

/// Each element is replaced by the table's entry of that number.
#[derive(Debug, Clone)]
pub struct Lookup {
    table: Vec<f64>,
}

impl Lookup {
    /// From this table, which must have entries.
    pub fn new(table: Vec<f64>) -> Result<Self, String> {
        if table.is_empty() {
            return Err("an empty table".into());
        }
        Ok(Self { table })
    }
}

impl<T: Scalar> Evaluate<T> for Lookup {
    fn forward(&self, batch: &Batch<'_, T>, output: &mut [T], _: &mut Scratch<T>) {
        for (y, x) in output.iter_mut().zip(batch.inputs[0].data) {
            let position = (x.f64().max(0.0) as usize).min(self.table.len() - 1);
            *y = T::of(self.table[position]);
        }
    }

    fn vjp(&self, _: usize, _: &Backward<'_, T>, _: &[T], result: &mut [T], _: &mut Scratch<T>) {
        result.fill(T::ZERO);
    }

    fn interval(&self, _: &Boxes<'_, T>, lower: &mut [T], upper: &mut [T], _: &mut Scratch<T>) {
        let entries = || self.table.iter().map(|&v| T::of(v));
        lower.fill(entries().fold(T::INFINITY, T::min));
        upper.fill(entries().fold(T::NEG_INFINITY, T::max));
    }
}

impl Operator for Lookup {
    fn kind(&self) -> &'static str {
        "ArrayFeatureExtractor"
    }

    fn output_shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        Ok(inputs[0].clone())
    }

    fn nature(&self, _: &[bool]) -> Nature {
        Nature::Discrete
    }

    fn cone(&self, _: usize, _: &[&Shape], _: &Shape, elements: &[usize]) -> Vec<usize> {
        elements.to_vec()
    }

    fn reordered(&self, _: &Order) -> Reordered {
        Reordered::Same
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        let lookup = Lookup::new(vec![3.0, -1.0, 7.0]).unwrap();
        laws.check(&lookup, &[&[2, 3]], &[None], (0.0, 2.0), 1);
    }
}
