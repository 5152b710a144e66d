//! Sliding windows over the two spatial axes: what convolution and pooling share.

use crate::{MAX_ELEMENTS, Shape};

/// Kernel size, strides, dilations and padding along height and width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Extent of the kernel.
    pub kernel: [usize; 2],
    /// Steps between windows.
    pub strides: [usize; 2],
    /// Steps between kernel elements.
    pub dilations: [usize; 2],
    /// Padding before each axis.
    pub before: [usize; 2],
    /// Padding after each axis.
    pub after: [usize; 2],
    /// Whether a last, partial window counts (pooling's `ceil_mode`).
    pub ceil: bool,
}

/// Largest kernel, stride, dilation or padding believed; a hostile file may say anything.
const MAX: usize = 1 << 16;

impl Window {
    /// A plain window: stride 1, no padding.
    pub fn new(kernel: [usize; 2]) -> Self {
        Self {
            kernel,
            strides: [1; 2],
            dilations: [1; 2],
            before: [0; 2],
            after: [0; 2],
            ceil: false,
        }
    }

    /// Distance from the first to the last element under the kernel.
    pub fn reach(&self, axis: usize) -> usize {
        (self.kernel[axis] - 1) * self.dilations[axis]
    }

    /// Height and width of the output for an input of that height and width.
    pub fn output(&self, input: [usize; 2]) -> Result<[usize; 2], String> {
        let mut output = [0; 2];
        for a in 0..2 {
            let positive = [self.kernel[a], self.strides[a], self.dilations[a]];
            if positive.contains(&0) {
                return Err("kernel, strides and dilations must be at least 1".into());
            }
            let all = [positive.as_slice(), &[self.before[a], self.after[a]]].concat();
            if let Some(absurd) = all.iter().find(|&&v| v > MAX) {
                return Err(format!("a kernel, stride or padding of {absurd} is absurd"));
            }
            let padded = input[a] + self.before[a] + self.after[a];
            let Some(room) = padded.checked_sub(self.reach(a) + 1) else {
                return Err(format!(
                    "a window of {} does not fit an input of {} with padding {}+{}",
                    self.reach(a) + 1,
                    input[a],
                    self.before[a],
                    self.after[a]
                ));
            };
            output[a] = room / self.strides[a] + 1;
            if self.ceil {
                output[a] = room.div_ceil(self.strides[a]) + 1;
                // A last window that starts in the trailing padding does not count.
                if (output[a] - 1) * self.strides[a] >= input[a] + self.before[a] {
                    output[a] -= 1;
                }
            }
        }
        let padded = |a: usize| input[a] + self.before[a] + self.after[a];
        let visited = (output[0] * output[1]).saturating_mul(self.kernel[0] * self.kernel[1]);
        if visited.max(padded(0) * padded(1)) > MAX_ELEMENTS {
            return Err(format!(
                "windows of {:?} over an input of {input:?} are beyond the limit",
                self.kernel
            ));
        }
        Ok(output)
    }

    /// The input positions under window `index` along an axis: kernel element and position.
    pub fn positions(
        &self,
        axis: usize,
        index: usize,
        extent: usize,
    ) -> impl Iterator<Item = (usize, usize)> + use<> {
        let start = index * self.strides[axis];
        let (before, dilation) = (self.before[axis], self.dilations[axis]);
        (0..self.kernel[axis]).filter_map(move |k| {
            let position = (start + k * dilation).checked_sub(before)?;
            (position < extent).then_some((k, position))
        })
    }
}

/// Height, width and channels of a channels-last image tensor.
pub fn image(shape: &Shape) -> Result<[usize; 3], String> {
    match *shape.dims() {
        [1, h, w, c] => Ok([h, w, c]),
        _ => Err(format!(
            "shape {shape} is not one image with height, width and channels"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ceil_mode_adds_a_partial_window_that_starts_inside() {
        let mut w = Window::new([2, 2]);
        w.strides = [2, 2];
        assert_eq!(w.output([5, 4]), Ok([2, 2]));
        w.ceil = true;
        assert_eq!(w.output([5, 4]), Ok([3, 2]));
        // The third window would start in the trailing padding: it does not count.
        w.after = [1, 0];
        w.kernel = [1, 2];
        assert_eq!(w.output([4, 4]), Ok([2, 2]));
    }

    #[test]
    fn zero_and_absurd_sizes_are_refused() {
        let mut w = Window::new([2, 2]);
        w.strides = [0, 1];
        assert!(w.output([4, 4]).is_err());
        let mut w = Window::new([2, 2]);
        w.before = [usize::MAX, 0];
        assert!(w.output([4, 4]).is_err());
        assert!(Window::new([5, 5]).output([4, 4]).is_err());
    }

    #[test]
    fn positions_skip_the_padding() {
        let mut w = Window::new([3, 3]);
        w.before = [1, 1];
        let at = |i| w.positions(0, i, 4).collect::<Vec<_>>();
        assert_eq!(at(0), [(1, 0), (2, 1)]);
        assert_eq!(at(1), [(0, 0), (1, 1), (2, 2)]);
    }
}
