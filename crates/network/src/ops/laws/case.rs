//! An operator with what it is run on: arguments and boxes are drawn, and it is run in either number type.

use super::Random;
use crate::operator::{
    Backward, Batch, Boxes, Evaluate, Nature, Operand, Operator, Phase, PhaseRow, Range,
};
use crate::{Scalar, Shape};

/// The operator in one of the number types.
pub(super) trait Precision: Scalar {
    fn of_operator(op: &dyn Operator) -> &dyn Evaluate<Self>;
    fn bits(self) -> u64;
}

impl Precision for f32 {
    fn of_operator(op: &dyn Operator) -> &dyn Evaluate<Self> {
        op
    }
    fn bits(self) -> u64 {
        u64::from(self.to_bits())
    }
}

impl Precision for f64 {
    fn of_operator(op: &dyn Operator) -> &dyn Evaluate<Self> {
        op
    }
    fn bits(self) -> u64 {
        self.to_bits()
    }
}

pub(super) fn converted<T: Scalar>(values: &[f64]) -> Vec<T> {
    values.iter().map(|&x| T::of(x)).collect()
}

pub(super) fn bits<T: Precision>(values: &[T]) -> Vec<u64> {
    values.iter().map(|x| x.bits()).collect()
}

/// Something to be overwritten: a number no test would accept.
pub(super) fn stale<T: Scalar>(n: usize) -> Vec<T> {
    vec![T::of(f64::NAN); n]
}

/// Arguments of a batch: one vector per input.
pub(super) type Inputs = Vec<Vec<f64>>;

/// The ends of boxes: two arguments of the same form.
pub(super) type Ends = [Inputs; 2];

/// An operator with what it is run on.
pub(super) struct Case<'a> {
    pub(super) op: &'a dyn Operator,
    pub(super) shapes: Vec<Shape>,
    pub(super) output: Shape,
    pub(super) constants: Vec<Option<Vec<f64>>>,
    pub(super) range: (f64, f64),
}

impl<'a> Case<'a> {
    pub(super) fn new(
        op: &'a dyn Operator,
        shapes: &[&[usize]],
        constants: &[Option<Vec<f64>>],
        range: (f64, f64),
    ) -> Self {
        let shapes: Vec<Shape> = shapes.iter().map(|&s| Shape::new(s).unwrap()).collect();
        let output = op
            .output_shape(&shapes.iter().collect::<Vec<_>>())
            .expect("shapes fit the operator");
        let constants = (0..shapes.len())
            .map(|i| {
                let given = constants.get(i)?.as_ref()?;
                assert_eq!(given.len(), shapes[i].elements(), "numbers of constant {i}");
                Some(given.iter().map(|&x| f64::from(x as f32)).collect())
            })
            .collect();
        Self {
            op,
            shapes,
            output,
            constants,
            range,
        }
    }

    pub(super) fn nature(&self) -> Nature {
        let constant: Vec<bool> = self.constants.iter().map(Option::is_some).collect();
        self.op.nature(&constant)
    }

    pub(super) fn variable(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.shapes.len()).filter(|&i| self.constants[i].is_none())
    }

    /// Random arguments; now and then a zero, where many operators bend.
    pub(super) fn draw(&self, samples: usize, random: &mut Random) -> Inputs {
        let (low, high) = self.range;
        let mut number = |_| {
            if low <= 0.0 && high >= 0.0 && random.below(16) == 0 {
                0.0
            } else {
                random.between(low, high)
            }
        };
        (0..self.shapes.len())
            .map(|i| {
                self.constants[i].clone().unwrap_or_else(|| {
                    let n = samples * self.shapes[i].elements();
                    (0..n).map(&mut number).collect()
                })
            })
            .collect()
    }

    /// One sample of a batch.
    pub(super) fn sample(&self, inputs: &Inputs, s: usize) -> Inputs {
        (inputs.iter().enumerate())
            .map(|(i, x)| {
                let n = self.shapes[i].elements();
                match self.constants[i] {
                    Some(_) => x.clone(),
                    None => x[s * n..(s + 1) * n].to_vec(),
                }
            })
            .collect()
    }

    pub(super) fn run<T: Precision>(&self, samples: usize, inputs: &Inputs) -> Vec<T> {
        self.traced(samples, inputs).0
    }

    pub(super) fn traced<T: Precision>(
        &self,
        samples: usize,
        inputs: &Inputs,
    ) -> (Vec<T>, Phase<T>) {
        let data: Vec<Vec<T>> = inputs.iter().map(|x| converted(x)).collect();
        let operands = self.operands(&data);
        let batch = Batch {
            samples,
            inputs: &operands,
            output: &self.output,
        };
        let op = T::of_operator(self.op);
        let mut output = stale(samples * self.output.elements());
        op.forward(&batch, &mut output, &mut stale(3));
        let phase = op.phase(&batch, &output);
        (output, phase)
    }

    pub(super) fn operands<'b, T>(&'b self, data: &'b [Vec<T>]) -> Vec<Operand<'b, T>> {
        (0..data.len())
            .map(|i| Operand {
                data: &data[i],
                shape: &self.shapes[i],
                constant: self.constants[i].is_some(),
            })
            .collect()
    }

    pub(super) fn pull<T: Precision>(
        &self,
        input: usize,
        phases: &[PhaseRow<'_, T>],
        cotangent: &[T],
    ) -> Vec<T> {
        let constants: Vec<Option<Vec<T>>> = (self.constants.iter())
            .map(|c| c.as_ref().map(|c| converted(c)))
            .collect();
        let inputs: Vec<(&Shape, Option<&[T]>)> = (self.shapes.iter())
            .zip(constants.iter().map(Option::as_deref))
            .collect();
        let call = Backward {
            rows: phases.len(),
            phases,
            inputs: &inputs,
            output: &self.output,
        };
        let mut result = stale(phases.len() * self.shapes[input].elements());
        let op = T::of_operator(self.op);
        op.vjp(input, &call, cotangent, &mut result, &mut stale(3));
        result
    }

    /// Random boxes of every width, points among them.
    pub(super) fn boxes(&self, samples: usize, random: &mut Random) -> Ends {
        let (a, b) = (self.draw(samples, random), self.draw(samples, random));
        let mut ends = [a.clone(), a.clone()];
        for i in self.variable() {
            let n = self.shapes[i].elements();
            for s in 0..samples {
                let style = random.below(4);
                for e in s * n..(s + 1) * n {
                    let reach = match style {
                        0 => 0.0,
                        1 => 0.01,
                        2 => 1.0,
                        _ => [0.0, 1e-6, 0.1, 1.0][random.below(4)],
                    };
                    let other = a[i][e] + reach * (b[i][e] - a[i][e]);
                    let other = f64::from(other as f32);
                    ends[0][i][e] = a[i][e].min(other);
                    ends[1][i][e] = a[i][e].max(other);
                }
            }
        }
        ends
    }

    /// A point of the boxes: anywhere, or a corner.
    pub(super) fn inside(&self, ends: &Ends, random: &mut Random) -> Inputs {
        let corner = random.below(3) == 0;
        let mut point = ends[0].clone();
        for i in self.variable() {
            for (e, x) in point[i].iter_mut().enumerate() {
                let (low, high) = (ends[0][i][e], ends[1][i][e]);
                *x = if corner {
                    [low, high][random.below(2)]
                } else {
                    random.between(low, high).clamp(low, high)
                };
            }
        }
        point
    }

    pub(super) fn ranges<T: Precision, R>(
        &self,
        samples: usize,
        ends: &Ends,
        call: impl FnOnce(&dyn Evaluate<T>, &Boxes<'_, T>) -> R,
    ) -> R {
        let data = ends
            .each_ref()
            .map(|end| end.iter().map(|x| converted(x)).collect::<Vec<Vec<T>>>());
        let [lower, upper] = data.each_ref().map(|data| self.operands(data));
        let inputs: Vec<Range<'_, T>> = (lower.into_iter().zip(upper))
            .map(|(lower, upper)| Range { lower, upper })
            .collect();
        let boxes = Boxes {
            samples,
            inputs: &inputs,
            output: &self.output,
        };
        call(T::of_operator(self.op), &boxes)
    }

    pub(super) fn interval<T: Precision>(&self, samples: usize, ends: &Ends) -> [Vec<T>; 2] {
        self.ranges(samples, ends, |op, boxes| {
            let mut lower = stale(samples * self.output.elements());
            let mut upper = lower.clone();
            op.interval(boxes, &mut lower, &mut upper, &mut stale(3));
            [lower, upper]
        })
    }
}
