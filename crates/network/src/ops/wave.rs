//! Sin and Cos: functions of one number that bend without end, so that no list of bends describes them.

use std::f64::consts::{FRAC_PI_2, TAU};

use super::outward::{down, up};
use crate::operator::{
    Backward, Batch, Boxes, Evaluate, Nature, Operator, Phase, PhaseRow, Reordered, Scratch,
    shape_of_one,
};
use crate::{Order, Scalar, Shape};

/// A wave of period 2 pi between -1 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wave {
    /// The sine.
    Sin,
    /// The cosine.
    Cos,
}

impl Wave {
    fn value(self, x: f64) -> f64 {
        match self {
            Self::Sin => x.sin(),
            Self::Cos => x.cos(),
        }
    }

    fn slope(self, x: f64) -> f64 {
        match self {
            Self::Sin => x.cos(),
            Self::Cos => -x.sin(),
        }
    }

    /// Where a crest lies; the others are whole periods away, the troughs half a period.
    fn crest(self) -> f64 {
        match self {
            Self::Sin => FRAC_PI_2,
            Self::Cos => 0.0,
        }
    }

    /// Whether a point of the form `at + k 2 pi` may lie in the interval.
    fn meets(l: f64, u: f64, at: f64) -> bool {
        // Arguments as large as this leave no digits to tell; then every interval meets one.
        let slack = 1e-14 * (1.0 + l.abs().max(u.abs()));
        let next = at + ((l - slack - at) / TAU).ceil() * TAU;
        next <= u + slack || slack > 1e-3
    }

    fn range(self, l: f64, u: f64) -> (f64, f64) {
        let width = u - l;
        if width >= TAU || width.is_nan() {
            return (-1.0, 1.0);
        }
        let (a, b) = (self.value(l), self.value(u));
        let crest = Self::meets(l, u, self.crest());
        let trough = Self::meets(l, u, self.crest() + TAU / 2.0);
        // The library's sine is off by less than this.
        let low = if trough { -1.0 } else { a.min(b) - 1e-15 };
        let high = if crest { 1.0 } else { a.max(b) + 1e-15 };
        (low.max(-1.0), high.min(1.0))
    }
}

impl<T: Scalar> Evaluate<T> for Wave {
    fn forward(&self, batch: &Batch<'_, T>, output: &mut [T], _: &mut Scratch<T>) {
        for (y, x) in output.iter_mut().zip(batch.inputs[0].data) {
            *y = T::of(self.value(x.f64()));
        }
    }

    fn phase(&self, batch: &Batch<'_, T>, _: &[T]) -> Phase<T> {
        let slope = |x: &T| T::of(self.slope(x.f64()));
        Phase::Values {
            values: batch.inputs[0].data.iter().map(slope).collect(),
            each: batch.output.elements(),
        }
    }

    fn vjp(
        &self,
        _: usize,
        call: &Backward<'_, T>,
        cotangent: &[T],
        result: &mut [T],
        _: &mut Scratch<T>,
    ) {
        let each = call.output.elements();
        for (row, phase) in call.phases.iter().enumerate() {
            let PhaseRow::Values(slopes) = phase else {
                continue;
            };
            let span = row * each..(row + 1) * each;
            let pairs = cotangent[span.clone()].iter().zip(*slopes);
            for (x, (&g, &slope)) in result[span].iter_mut().zip(pairs) {
                *x = g * slope;
            }
        }
    }

    fn interval(&self, boxes: &Boxes<'_, T>, lower: &mut [T], upper: &mut [T], _: &mut Scratch<T>) {
        let input = &boxes.inputs[0];
        let ends = input.lower.data.iter().zip(input.upper.data);
        for ((l, u), (a, b)) in lower.iter_mut().zip(upper).zip(ends) {
            let (low, high) = self.range(a.f64(), b.f64());
            *l = down(low);
            *u = up(high);
        }
    }
}

impl Operator for Wave {
    fn kind(&self) -> &'static str {
        match self {
            Self::Sin => "Sin",
            Self::Cos => "Cos",
        }
    }

    fn output_shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        shape_of_one(self.kind(), inputs).cloned()
    }

    fn nature(&self, _: &[bool]) -> Nature {
        Nature::Smooth
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
    use super::super::laws::Laws;
    use super::*;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        for wave in [Wave::Sin, Wave::Cos] {
            laws.check(&wave, &[&[1, 3, 20]], &[], (-9.0, 9.0), 7);
            laws.check(&wave, &[&[1, 20]], &[], (-0.5, 0.5), 8);
        }
    }

    #[test]
    fn an_interval_holds_the_crests_inside_it() {
        let near = |a: (f64, f64), b: (f64, f64)| {
            assert!(
                (a.0 - b.0).abs() < 1e-12 && (a.1 - b.1).abs() < 1e-12,
                "{a:?}"
            );
        };
        near(Wave::Sin.range(0.0, 2.0), (0.0, 1.0));
        near(Wave::Sin.range(0.0, 1.0), (0.0, 1f64.sin()));
        near(Wave::Cos.range(-0.5, 0.25), (0.5f64.cos(), 1.0));
        near(Wave::Cos.range(3.0, 3.5), (-1.0, 3.5f64.cos()));
        near(Wave::Sin.range(1e16, 1e16 + 2.0), (-1.0, 1.0));
    }
}
