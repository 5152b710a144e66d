//! Shapes of sample tensors, their row-major arithmetic, and permutations of axes.

use std::fmt;

/// Most elements one sample tensor may have. Far above any network for one input, far below what
/// would exhaust memory through a hostile model file.
pub const MAX_ELEMENTS: usize = 1 << 28;

/// The shape of a tensor for *one* sample, as the model file has it with a batch of one (the
/// leading 1 stays).
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Shape(Vec<usize>);

impl Shape {
    /// A shape, unless its element count is absurd.
    pub fn new(dims: impl Into<Vec<usize>>) -> Result<Self, String> {
        let dims = dims.into();
        let elements = dims
            .iter()
            .try_fold(1usize, |product, &d| product.checked_mul(d));
        match elements {
            Some(count) if count <= MAX_ELEMENTS => Ok(Self(dims)),
            _ => Err(format!(
                "a tensor of shape {dims:?} is beyond the limit of {MAX_ELEMENTS} elements"
            )),
        }
    }

    /// The extents.
    pub fn dims(&self) -> &[usize] {
        &self.0
    }

    /// Number of axes.
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// Number of elements.
    pub fn elements(&self) -> usize {
        self.0.iter().product()
    }

    /// Row-major strides.
    pub fn strides(&self) -> Vec<usize> {
        let mut strides = vec![1; self.rank()];
        for axis in (1..self.rank()).rev() {
            strides[axis - 1] = strides[axis] * self.0[axis];
        }
        strides
    }

    /// The axis a possibly negative number means.
    pub fn axis(&self, axis: i64) -> Result<usize, String> {
        let rank = self.rank() as i64;
        if (-rank..rank).contains(&axis) {
            Ok(axis.rem_euclid(rank.max(1)) as usize)
        } else {
            Err(format!("axis {axis} is outside a tensor of rank {rank}"))
        }
    }

    /// Product of the extents before, at and after an axis.
    pub fn around(&self, axis: usize) -> (usize, usize, usize) {
        (
            self.0[..axis].iter().product(),
            self.0[axis],
            self.0[axis + 1..].iter().product(),
        )
    }

    /// The shape with its axes reordered: axis `a` of the result is axis `order[a]` of this.
    pub fn permuted(&self, order: &Order) -> Self {
        Self(order.0.iter().map(|&a| self.0[a]).collect())
    }

    /// The same elements with leading axes of extent 1 added up to `rank`.
    pub fn widened(&self, rank: usize) -> Self {
        let mut dims = vec![1; rank.saturating_sub(self.rank())];
        dims.extend(&self.0);
        Self(dims)
    }

    /// The shape two tensors combine to element by element (`NumPy`'s rule).
    pub fn broadcast(&self, other: &Self) -> Result<Self, String> {
        let rank = self.rank().max(other.rank());
        let (a, b) = (self.widened(rank), other.widened(rank));
        let dims: Option<Vec<usize>> =
            a.0.iter()
                .zip(&b.0)
                .map(|(&x, &y)| match (x, y) {
                    (x, y) if x == y => Some(x),
                    (1, y) => Some(y),
                    (x, 1) => Some(x),
                    _ => None,
                })
                .collect();
        match dims {
            Some(dims) => Self::new(dims),
            None => Err(format!("shapes {self} and {other} do not combine")),
        }
    }

    /// The element that, with this shape broadcast to another, meets an element of the other.
    pub fn broadcast_element(&self, to: &Self, element: usize) -> usize {
        let wide = self.widened(to.rank());
        let (from, strides) = (to.strides(), wide.strides());
        (0..to.rank())
            .filter(|&axis| wide.0[axis] != 1)
            .map(|axis| element / from[axis] % to.0[axis] * strides[axis])
            .sum()
    }

    /// The extents a reader expects: without the batch axis when there is one.
    pub fn without_batch(&self) -> &[usize] {
        match self.0.as_slice() {
            [1, rest @ ..] if !rest.is_empty() => rest,
            all => all,
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("scalar");
        }
        for (i, d) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("x")?;
            }
            write!(f, "{d}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An order of axes, as ONNX writes a Transpose: axis `a` of the result is axis `order[a]` of the
/// argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order(Vec<usize>);

impl Order {
    /// A permutation of `0..n`.
    pub fn new(order: Vec<usize>) -> Result<Self, String> {
        let mut seen = vec![false; order.len()];
        for &a in &order {
            if a >= order.len() || std::mem::replace(&mut seen[a], true) {
                return Err(format!("{order:?} is not a permutation of the axes"));
            }
        }
        Ok(Self(order))
    }

    /// The order that moves nothing.
    pub fn identity(rank: usize) -> Self {
        Self((0..rank).collect())
    }

    /// From channels first to channels last.
    pub fn channels_last(rank: usize) -> Self {
        let mut order = vec![0];
        order.extend(2..rank);
        order.push(1);
        Self(order)
    }

    /// The axes.
    pub fn axes(&self) -> &[usize] {
        &self.0
    }

    /// Whether nothing moves.
    pub fn is_identity(&self) -> bool {
        self.0.iter().enumerate().all(|(i, &a)| i == a)
    }

    /// The order that undoes this one.
    pub fn inverse(&self) -> Self {
        let mut inverse = vec![0; self.0.len()];
        for (to, &from) in self.0.iter().enumerate() {
            inverse[from] = to;
        }
        Self(inverse)
    }

    /// This order, then `next`.
    pub fn then(&self, next: &Self) -> Self {
        Self(next.0.iter().map(|&a| self.0[a]).collect())
    }

    /// Whether the elements of a tensor of this shape keep their order in memory: only axes of
    /// extent 1 move.
    pub fn keeps_memory(&self, shape: &Shape) -> bool {
        let moving: Vec<usize> = self
            .0
            .iter()
            .copied()
            .filter(|&a| shape.dims()[a] != 1)
            .collect();
        moving.is_sorted()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(dims: &[usize]) -> Shape {
        Shape::new(dims).unwrap()
    }

    #[test]
    fn absurd_shapes_are_refused() {
        assert!(Shape::new([1 << 30, 1 << 30, 1 << 30]).is_err());
        assert!(Shape::new([1 << 28, 2]).is_err());
        assert!(Shape::new([0, 5]).is_ok());
    }

    #[test]
    fn an_order_and_its_inverse_cancel() {
        let order = Order::new(vec![2, 0, 3, 1]).unwrap();
        assert!(order.then(&order.inverse()).is_identity());
        let s = shape(&[2, 3, 4, 5]);
        assert_eq!(s.permuted(&order).permuted(&order.inverse()), s);
        assert!(Order::new(vec![0, 0]).is_err());
    }

    #[test]
    fn moving_unit_axes_keeps_memory() {
        let to_last = Order::channels_last(4);
        assert!(to_last.keeps_memory(&shape(&[1, 1, 28, 28])));
        assert!(to_last.keeps_memory(&shape(&[1, 64, 1, 1])));
        assert!(!to_last.keeps_memory(&shape(&[1, 2, 28, 28])));
    }

    #[test]
    fn broadcasting_follows_numpy() {
        let b = |x: &[usize], y: &[usize]| shape(x).broadcast(&shape(y)).ok();
        assert_eq!(b(&[1, 4, 5], &[4, 1]), Some(shape(&[1, 4, 5])));
        assert_eq!(b(&[3], &[]), Some(shape(&[3])));
        assert_eq!(b(&[3], &[4]), None);
    }
}
