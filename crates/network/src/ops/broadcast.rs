//! Walking two tensors of different shapes together: broadcasting, as `NumPy` has it. Neighbouring
//! axes that both tensors walk alike are merged, so equal shapes are one run, a scalar is one run,
//! and a number per channel is one run a channel.

use crate::{Scalar, Shape, vectorised};

/// One axis, or several merged: its extent and how far each tensor moves along it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Axis {
    extent: usize,
    steps: [usize; 2],
}

/// How the elements of two tensors meet.
#[derive(Debug)]
pub(super) struct Broadcast {
    outer: Vec<Axis>,
    /// Here both steps are 0 or 1.
    inner: Axis,
    /// Elements of each tensor.
    sizes: [usize; 2],
    elements: usize,
}

impl Broadcast {
    /// Of two shapes that combine.
    pub fn new(x: &Shape, y: &Shape) -> Self {
        let mut axes = merged(x, y);
        let inner = axes.pop().unwrap_or(Axis {
            extent: 1,
            steps: [0, 0],
        });
        Self {
            elements: inner.extent * axes.iter().map(|a| a.extent).product::<usize>(),
            outer: axes,
            inner,
            sizes: [x.elements(), y.elements()],
        }
    }

    /// Calls `run(output, [x, y])` with the first index of every run.
    fn runs(&self, mut run: impl FnMut(usize, [usize; 2])) {
        let count = self.outer.iter().map(|a| a.extent).product::<usize>();
        let mut place = vec![0; self.outer.len()];
        let mut from = [0, 0];
        for number in 0..count {
            run(number * self.inner.extent, from);
            for (axis, place) in self.outer.iter().zip(&mut place).rev() {
                *place += 1;
                if *place < axis.extent {
                    from = [0, 1].map(|i| from[i] + axis.steps[i]);
                    break;
                }
                *place = 0;
                from = [0, 1].map(|i| from[i] - axis.steps[i] * (axis.extent - 1));
            }
        }
    }

    /// `output = f(x, y)`, element by element.
    pub fn combine<T: Scalar>(&self, x: &[T], y: &[T], output: &mut [T], f: impl Fn(T, T) -> T) {
        vectorised(
            #[inline(always)]
            || match (self.outer.as_slice(), self.inner.steps) {
                ([], [1, 1]) => pairs(x, y, output, &f),
                // A row for all rows, as channels last have it.
                ([Axis { steps: [_, 0], .. }], [1, 1]) => {
                    let n = y.len().max(1);
                    let rows = x.chunks_exact(n).zip(output.chunks_exact_mut(n));
                    rows.for_each(|(x, output)| pairs(x, y, output, &f));
                }
                _ => self.combine_runs(x, y, output, &f),
            },
        );
    }

    #[expect(
        clippy::inline_always,
        reason = "only what is inlined is compiled for wide vectors"
    )]
    #[inline(always)]
    fn combine_runs<T: Scalar>(&self, x: &[T], y: &[T], output: &mut [T], f: &impl Fn(T, T) -> T) {
        let n = self.inner.extent;
        self.runs(|start, [i, j]| {
            let output = output[start..start + n].iter_mut();
            match self.inner.steps {
                [1, 1] => {
                    let pairs = x[i..i + n].iter().zip(&y[j..j + n]);
                    output.zip(pairs).for_each(|(o, (&x, &y))| *o = f(x, y));
                }
                [1, _] => output.zip(&x[i..i + n]).for_each(|(o, &x)| *o = f(x, y[j])),
                [_, 1] => output.zip(&y[j..j + n]).for_each(|(o, &y)| *o = f(x[i], y)),
                _ => output.for_each(|o| *o = f(x[i], y[j])),
            }
        });
    }

    /// Calls `visit(output, x, y)` with the indices of every element, in order.
    pub fn visit(&self, mut visit: impl FnMut(usize, usize, usize)) {
        let [step_x, step_y] = self.inner.steps;
        self.runs(|start, [i, j]| {
            for k in 0..self.inner.extent {
                visit(start + k, i + k * step_x, j + k * step_y);
            }
        });
    }

    /// Sums `part(output, x, y)` into the elements of one of the tensors that each output comes
    /// from, overwriting `result`.
    pub fn collect<T: Scalar>(
        &self,
        side: usize,
        result: &mut [T],
        part: impl Fn(usize, usize, usize) -> T,
    ) {
        if self.sizes[side] == self.elements {
            return self.visit(|o, i, j| result[o] = part(o, i, j));
        }
        result.fill(T::ZERO);
        self.visit(|o, i, j| result[[i, j][side]] += part(o, i, j));
    }
}

/// Element by element.
#[expect(
    clippy::inline_always,
    reason = "only what is inlined is compiled for wide vectors"
)]
#[inline(always)]
fn pairs<T: Scalar>(x: &[T], y: &[T], output: &mut [T], f: &impl Fn(T, T) -> T) {
    for ((o, &x), &y) in output.iter_mut().zip(x).zip(y) {
        *o = f(x, y);
    }
}

/// The axes of the combined shape, those that both tensors walk alike merged.
fn merged(x: &Shape, y: &Shape) -> Vec<Axis> {
    let rank = x.rank().max(y.rank());
    let (x, y) = (x.widened(rank), y.widened(rank));
    let extents = x.dims().iter().zip(y.dims());
    let strides = x.strides().into_iter().zip(y.strides());
    let mut axes: Vec<Axis> = Vec::with_capacity(rank);
    for ((&x, &y), (step_x, step_y)) in extents.zip(strides) {
        let axis = match (x, y) {
            (1, 1) => continue,
            (1, extent) => Axis {
                extent,
                steps: [0, step_y],
            },
            (extent, 1) => Axis {
                extent,
                steps: [step_x, 0],
            },
            (extent, _) => Axis {
                extent,
                steps: [step_x, step_y],
            },
        };
        match axes.last_mut() {
            Some(last) if last.steps == axis.steps.map(|s| s * axis.extent) => {
                last.extent *= axis.extent;
                last.steps = axis.steps;
            }
            _ => axes.push(axis),
        }
    }
    axes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(x: &[usize], y: &[usize]) -> Broadcast {
        Broadcast::new(&Shape::new(x).unwrap(), &Shape::new(y).unwrap())
    }

    #[test]
    fn axes_walked_alike_are_one_run() {
        assert!(plan(&[2, 3, 4], &[2, 3, 4]).outer.is_empty());
        assert!(plan(&[2, 3, 4], &[]).outer.is_empty());
        assert!(plan(&[1, 1], &[2, 1, 3]).outer.is_empty());
        assert_eq!(plan(&[1, 3, 4, 5], &[3, 1, 1]).outer.len(), 1);
        assert_eq!(plan(&[1, 3, 4, 5], &[3, 1, 1]).inner.extent, 20);
        assert_eq!(plan(&[1, 4, 5, 3], &[3]).outer.len(), 1);
    }

    #[test]
    fn pairs_meet_as_numpy_has_them() {
        let mut met = Vec::new();
        plan(&[2, 1, 2], &[3, 1]).visit(|o, x, y| met.push((o, x, y)));
        let expected: Vec<_> = (0..12).map(|o| (o, o / 6 * 2 + o % 2, o / 2 % 3)).collect();
        assert_eq!(met, expected);
    }

    #[test]
    fn empty_tensors_have_no_pairs() {
        plan(&[0, 3], &[3]).visit(|_, _, _| panic!("nothing to visit"));
        plan(&[3, 0], &[1]).visit(|_, _, _| panic!("nothing to visit"));
    }
}
