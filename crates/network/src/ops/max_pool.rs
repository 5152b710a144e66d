//! Maximum over windows of a channels-last image.

use crate::operator::{
    Backward, Batch, Boxes, Evaluate, Nature, Operator, Phase, PhaseRow, Relaxation, Scratch,
    SparseRows,
};
use crate::{Scalar, Shape};

use super::window::{Window, image};

/// Max pooling for images of one size; padding never wins.
#[derive(Debug)]
pub struct MaxPool {
    input: [usize; 3],
    output: [usize; 2],
    /// For each output pixel, the input pixels in its window.
    members: Vec<Vec<usize>>,
}

impl MaxPool {
    /// `input` is height, width, channels.
    pub fn new(window: &Window, input: [usize; 3]) -> Result<Self, String> {
        let output = window.output([input[0], input[1]])?;
        let members = members(window, input, output);
        if members.iter().any(Vec::is_empty) {
            return Err("a pooling window lies entirely in the padding".into());
        }
        Ok(Self {
            input,
            output,
            members,
        })
    }

    /// Calls `visit(output element, input elements)` for one sample.
    fn windows(&self, mut visit: impl FnMut(usize, &[usize])) {
        let channels = self.input[2];
        for (pixel, members) in self.members.iter().enumerate() {
            let mut elements: Vec<usize> = members.iter().map(|m| m * channels).collect();
            for c in 0..channels {
                visit(pixel * channels + c, &elements);
                for e in &mut elements {
                    *e += 1;
                }
            }
        }
    }

    fn largest<T: Scalar>(&self, samples: usize, input: &[T], output: &mut [T]) {
        let channels = self.input[2];
        let each_in = self.input.iter().product::<usize>();
        let each_out = self.members.len() * channels;
        for s in 0..samples {
            let image = &input[s * each_in..(s + 1) * each_in];
            let result = &mut output[s * each_out..(s + 1) * each_out];
            for (members, y) in self.members.iter().zip(result.chunks_exact_mut(channels)) {
                y.copy_from_slice(&image[members[0] * channels..][..channels]);
                for &m in &members[1..] {
                    let x = &image[m * channels..][..channels];
                    for (y, &x) in y.iter_mut().zip(x) {
                        *y = y.max(x);
                    }
                }
            }
        }
    }
}

/// For each output pixel, the input pixels under its window, row by row.
pub(super) fn members(
    window: &Window,
    [h, w, _]: [usize; 3],
    [oh, ow]: [usize; 2],
) -> Vec<Vec<usize>> {
    let mut members = Vec::with_capacity(oh * ow);
    for oy in 0..oh {
        for ox in 0..ow {
            let columns: Vec<usize> = window.positions(1, ox, w).map(|(_, x)| x).collect();
            members.push(
                window
                    .positions(0, oy, h)
                    .flat_map(|(_, y)| columns.iter().map(move |x| y * w + x))
                    .collect(),
            );
        }
    }
    members
}

impl<T: Scalar> Evaluate<T> for MaxPool {
    fn forward(&self, batch: &Batch<'_, T>, output: &mut [T], _: &mut Scratch<T>) {
        self.largest(batch.samples, batch.inputs[0].data, output);
    }

    fn phase(&self, batch: &Batch<'_, T>, output: &[T]) -> Phase<T> {
        let each = batch.output.elements();
        let channels = self.input[2];
        // A NaN equals nothing and keeps index 0; its derivative is meaningless anyway.
        let mut index = vec![0u32; batch.samples * each];
        for (s, (chosen, largest)) in index
            .chunks_exact_mut(each.max(1))
            .zip(output.chunks_exact(each.max(1)))
            .enumerate()
        {
            let image = batch.inputs[0].sample(s);
            for ((members, chosen), largest) in self
                .members
                .iter()
                .zip(chosen.chunks_exact_mut(channels))
                .zip(largest.chunks_exact(channels))
            {
                // Backwards, so that the first of equals stays.
                for &m in members.iter().rev() {
                    let start = (m * channels) as u32;
                    let pixel = &image[m * channels..][..channels];
                    for (c, ((chosen, &largest), &x)) in
                        chosen.iter_mut().zip(largest).zip(pixel).enumerate()
                    {
                        *chosen = if x == largest {
                            start + c as u32
                        } else {
                            *chosen
                        };
                    }
                }
            }
        }
        Phase::Choice { index, each }
    }

    fn vjp(
        &self,
        _: usize,
        call: &Backward<'_, T>,
        cotangent: &[T],
        result: &mut [T],
        _: &mut Scratch<T>,
    ) {
        result.fill(T::ZERO);
        let each_in = call.inputs[0].0.elements();
        let each_out = call.output.elements();
        for (r, phase) in call.phases.iter().enumerate() {
            if let PhaseRow::Choice(index) = phase {
                let grads = &cotangent[r * each_out..(r + 1) * each_out];
                let into = &mut result[r * each_in..(r + 1) * each_in];
                for (&i, &g) in index.iter().zip(grads) {
                    into[i as usize] += g;
                }
            }
        }
    }

    fn interval(&self, boxes: &Boxes<'_, T>, lower: &mut [T], upper: &mut [T], _: &mut Scratch<T>) {
        self.largest(boxes.samples, boxes.inputs[0].lower.data, lower);
        self.largest(boxes.samples, boxes.inputs[0].upper.data, upper);
    }

    /// Below: the member with the largest lower end. Above: the member that dominates all
    /// others, else the largest upper end.
    fn relax(&self, boxes: &Boxes<'_, T>, _: &mut Scratch<T>) -> Relaxation<T> {
        let (low, high) = (boxes.inputs[0].lower.data, boxes.inputs[0].upper.data);
        let mut lower = SparseRows::default();
        let mut upper = SparseRows::default();
        self.windows(|_, members| {
            let best = members
                .iter()
                .fold(members[0], |b, &m| if low[m] > low[b] { m } else { b });
            let entry = (0, best as u32, T::ONE);
            lower.push([entry], T::ZERO);
            let others = members.iter().filter(|&&m| m != best);
            let ceiling = others.fold(T::NEG_INFINITY, |top, &m| top.max(high[m]));
            if low[best] >= ceiling {
                upper.push([entry], T::ZERO);
            } else {
                upper.push([], ceiling.max(high[best]));
            }
        });
        Relaxation::Sparse { lower, upper }
    }
}

impl Operator for MaxPool {
    fn kind(&self) -> &'static str {
        "MaxPool"
    }

    fn output_shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        pooled_shape(inputs[0], self.input, self.output)
    }

    fn cone(&self, _: usize, _: &[&Shape], _: &Shape, elements: &[usize]) -> Vec<usize> {
        let channels = self.input[2];
        let members = |&e: &usize| {
            let pixels = self.members[e / channels].iter();
            pixels.map(move |m| m * channels + e % channels)
        };
        elements.iter().flat_map(members).collect()
    }

    fn nature(&self, _: &[bool]) -> Nature {
        Nature::PiecewiseLinear
    }

    fn takes_largest(&self) -> bool {
        true
    }
}

/// Shape of a pooled image, after checking that the pooling was built for this input.
pub(super) fn pooled_shape(
    input: &Shape,
    expected: [usize; 3],
    [h, w]: [usize; 2],
) -> Result<Shape, String> {
    let found = image(input)?;
    if found != expected {
        return Err(format!(
            "image of {found:?} where the pooling was built for {expected:?}"
        ));
    }
    Shape::new([1, h, w, expected[2]])
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        let mut window = Window::new([3, 2]);
        laws.check(
            &MaxPool::new(&window, [5, 4, 3]).unwrap(),
            &[&[1, 5, 4, 3]],
            &[None],
            (-1.0, 1.0),
            1,
        );
        window.strides = [2, 2];
        window.before = [1, 0];
        window.dilations = [2, 1];
        laws.check(
            &MaxPool::new(&window, [7, 5, 2]).unwrap(),
            &[&[1, 7, 5, 2]],
            &[None],
            (-1.0, 1.0),
            2,
        );
        window.ceil = true;
        laws.check(
            &MaxPool::new(&window, [8, 5, 2]).unwrap(),
            &[&[1, 8, 5, 2]],
            &[None],
            (-1.0, 1.0),
            3,
        );
    }
}
