//! `PRelu`: a leaky Relu with a slope per element, channel or tensor, from a second, constant
//! input.

use super::broadcast::Broadcast;
use super::envelope;
use super::leaky_relu::LeakyRelu;
use crate::operator::{
    Backward, Batch, Boxes, Evaluate, Nature, Operator, Phase, PhaseRow, Relaxation, Reordered,
    Scratch,
};
use crate::{Order, Scalar, Shape};

/// `x` where `x >= 0`, else `slope x`. A slope that is not constant is refused: nothing here can pull a cotangent
/// back to it.
#[derive(Clone, Copy, Debug)]
pub struct PRelu;

impl Operator for PRelu {
    fn kind(&self) -> &'static str {
        "PRelu"
    }

    fn output_shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        let [x, slope] = inputs else {
            return Err(format!("PRelu takes two inputs, not {}", inputs.len()));
        };
        // Extra leading axes of extent 1 would change the rank of x.
        match x.broadcast(slope) {
            Ok(shape) if shape == **x => Ok(shape),
            _ => Err(format!("a slope of shape {slope} does not spread over {x}")),
        }
    }

    fn nature(&self, _constant: &[bool]) -> Nature {
        Nature::PiecewiseLinear
    }

    fn refusal(&self, constant: &[bool]) -> Option<String> {
        let is_constant = constant.get(1) == Some(&true);
        (!is_constant).then(|| "the slope of PRelu must be constant".into())
    }

    fn is_activation(&self) -> bool {
        true
    }

    fn leaks(&self) -> bool {
        true
    }

    fn cone(
        &self,
        input: usize,
        inputs: &[&Shape],
        output: &Shape,
        elements: &[usize],
    ) -> Vec<usize> {
        let meets = |&e: &usize| inputs[input].broadcast_element(output, e);
        elements.iter().map(meets).collect()
    }

    fn reordered(&self, _order: &Order) -> Reordered {
        Reordered::Same
    }
}

impl<T: Scalar> Evaluate<T> for PRelu {
    fn forward(&self, batch: &Batch<'_, T>, output: &mut [T], _scratch: &mut Scratch<T>) {
        let (x, slope) = (&batch.inputs[0], &batch.inputs[1]);
        let broadcast = Broadcast::new(x.shape, slope.shape);
        let samples = output.chunks_exact_mut(batch.output.elements().max(1));
        for (s, output) in samples.enumerate() {
            broadcast.combine(x.sample(s), slope.sample(s), output, |x, slope| {
                if x >= T::ZERO { x } else { slope * x }
            });
        }
    }

    fn phase(&self, batch: &Batch<'_, T>, _output: &[T]) -> Phase<T> {
        Phase::signs(batch.samples, &batch.inputs[0], |x| x >= T::ZERO)
    }

    fn vjp(
        &self,
        input: usize,
        call: &Backward<'_, T>,
        cotangent: &[T],
        result: &mut [T],
        _scratch: &mut Scratch<T>,
    ) {
        let (&[(x, _), (shape, Some(slope))], 0) = (call.inputs, input) else {
            // No network has a computed slope (`refusal`), and nobody asks for derivatives by a constant.
            return;
        };
        let broadcast = Broadcast::new(x, shape);
        let each = call.output.elements().max(1);
        let rows = cotangent
            .chunks_exact(each)
            .zip(result.chunks_exact_mut(each));
        for ((cotangent, result), phase) in rows.zip(call.phases) {
            let PhaseRow::Signs(bits) = phase else {
                continue;
            };
            broadcast.visit(|o, _, j| {
                let active = bits[o / 64] >> (o % 64) & 1 == 1;
                result[o] = if active {
                    cotangent[o]
                } else {
                    cotangent[o] * slope[j]
                };
            });
        }
    }

    fn interval(
        &self,
        boxes: &Boxes<'_, T>,
        lower: &mut [T],
        upper: &mut [T],
        _scratch: &mut Scratch<T>,
    ) {
        let each = boxes.output.elements().max(1);
        let samples = lower
            .chunks_exact_mut(each)
            .zip(upper.chunks_exact_mut(each));
        for (s, (lower, upper)) in samples.enumerate() {
            visit(boxes, s, |o, l, u, curve| {
                (lower[o], upper[o]) = envelope::interval(curve, l, u);
            });
        }
    }

    fn relax(&self, boxes: &Boxes<'_, T>, _scratch: &mut Scratch<T>) -> Relaxation<T> {
        let mut lines = Vec::with_capacity(boxes.output.elements());
        visit(boxes, 0, |_, l, u, curve| {
            lines.push(envelope::lines(curve, l, u));
        });
        let (lower, upper) = lines.into_iter().unzip();
        Relaxation::Elementwise { lower, upper }
    }
}

/// Calls `each(output, l, u, curve)` for the elements of one box, with the curve that the slope
/// makes of it.
fn visit<T: Scalar>(boxes: &Boxes<'_, T>, s: usize, mut each: impl FnMut(usize, T, T, &LeakyRelu)) {
    let (x, slope) = (&boxes.inputs[0], &boxes.inputs[1].lower);
    let (lower, upper, slopes) = (x.lower.sample(s), x.upper.sample(s), slope.sample(s));
    Broadcast::new(x.lower.shape, slope.shape).visit(|o, i, j| {
        let curve = LeakyRelu::with(slopes[j].f64());
        each(o, lower[i], upper[i], &curve);
    });
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::laws::Laws;
    use super::*;
    use crate::NetworkBuilder;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        let slopes = [0.25, -0.5, 2.0];
        let each = Some(slopes.to_vec());
        let range = (-3.0, 3.0);
        laws.check(
            &PRelu,
            &[&[1, 3, 2, 5], &[1, 3, 1, 1]],
            &[None, each.clone()],
            range,
            1,
        );
        laws.check(
            &PRelu,
            &[&[1, 3, 2, 5], &[3, 1, 1]],
            &[None, each.clone()],
            range,
            2,
        );
        laws.check(&PRelu, &[&[2, 3], &[3]], &[None, each], range, 3);
        for slope in slopes {
            laws.check(
                &PRelu,
                &[&[1, 70], &[]],
                &[None, Some(vec![slope])],
                range,
                4,
            );
        }
    }

    #[test]
    fn the_slope_may_not_widen_the_input() {
        let shape = |dims: &[usize]| Shape::new(dims).unwrap();
        let fits =
            |x: &[usize], slope: &[usize]| PRelu.output_shape(&[&shape(x), &shape(slope)]).is_ok();
        assert!(fits(&[1, 3], &[3]) && fits(&[1, 3], &[1]));
        assert!(!fits(&[1, 1], &[3]) && !fits(&[3], &[1, 3]) && !fits(&[3], &[2]));
    }

    #[test]
    fn a_computed_slope_is_refused_when_the_network_is_built() {
        let (mut builder, x) = NetworkBuilder::new("x", Shape::new([1, 3]).unwrap());
        let refused = builder.add(PRelu, &[x, x], "").unwrap_err();
        assert_eq!(refused, "the slope of PRelu must be constant");
        let slope = builder
            .constant(Shape::new([1]).unwrap(), vec![0.5])
            .unwrap();
        assert!(builder.add(PRelu, &[x, slope], "").is_ok());
    }
}
