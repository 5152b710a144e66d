//! Shapes written in the file, checked so that no later product can overflow.

use super::value_info::Dim;

/// More elements than any network that could be run here; far from overflow, so the
/// layers above may multiply by a batch or an element size without a care.
const MAX_ELEMENTS: u64 = 1 << 40;

/// Nobody writes more axes; a million axes of length 1 would only slow everything down.
const MAX_AXES: usize = 64;

/// Why a shape cannot be believed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeFault {
    /// A stored tensor has a length below zero.
    #[error("axis {axis} has length {length}; the file is damaged, export it again")]
    NegativeLength {
        /// Which axis.
        axis: usize,
        /// The length in the file.
        length: i64,
    },
    /// The product of the lengths is absurd.
    #[error("the shape has more than 2^40 elements; the file is damaged, export it again")]
    TooManyElements,
    /// The rank is absurd.
    #[error("the shape has {axes} axes, more than the 64 supported")]
    TooManyAxes {
        /// The rank in the file.
        axes: usize,
    },
}

/// The shape of a stored tensor; its element count does not overflow.
pub(super) fn stored(dims: &[i64]) -> Result<Vec<usize>, ShapeFault> {
    check_axes(dims.len())?;
    let shape = dims
        .iter()
        .enumerate()
        .map(|(axis, &length)| {
            usize::try_from(length).map_err(|_| ShapeFault::NegativeLength { axis, length })
        })
        .collect::<Result<Vec<_>, _>>()?;
    check_elements(shape.iter().copied())?;
    Ok(shape)
}

/// A declared shape, of which some lengths may be open.
pub(super) fn declared(dims: Vec<Dim>) -> Result<Vec<Dim>, ShapeFault> {
    check_axes(dims.len())?;
    check_elements(dims.iter().filter_map(|dim| match dim {
        Dim::Known(length) => Some(*length),
        Dim::Symbolic(_) | Dim::Unknown => None,
    }))?;
    Ok(dims)
}

fn check_axes(axes: usize) -> Result<(), ShapeFault> {
    if axes > MAX_AXES {
        return Err(ShapeFault::TooManyAxes { axes });
    }
    Ok(())
}

/// A zero does not excuse the other lengths: strides are products that leave it out.
fn check_elements(lengths: impl Iterator<Item = usize>) -> Result<(), ShapeFault> {
    let mut elements: u64 = 1;
    for length in lengths.filter(|&length| length > 0) {
        elements = elements
            .checked_mul(length as u64)
            .filter(|&elements| elements <= MAX_ELEMENTS)
            .ok_or(ShapeFault::TooManyElements)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Dim, ShapeFault, declared, stored};

    #[test]
    fn scalars_and_empty_tensors_have_shapes() {
        assert_eq!(stored(&[]), Ok(vec![]));
        assert_eq!(stored(&[3, 0, 2]), Ok(vec![3, 0, 2]));
    }

    #[test]
    fn negative_lengths_are_refused() {
        let fault = ShapeFault::NegativeLength {
            axis: 1,
            length: -4,
        };
        assert_eq!(stored(&[2, -4]), Err(fault));
    }

    #[test]
    fn products_stop_at_the_limit_whatever_the_order() {
        assert!(stored(&[1 << 20, 1 << 20]).is_ok());
        for dims in [
            vec![1 << 20, 1 << 20, 2],
            vec![i64::MAX, i64::MAX],
            vec![0, i64::MAX],
            vec![1 << 30; 4],
        ] {
            assert_eq!(stored(&dims), Err(ShapeFault::TooManyElements), "{dims:?}");
        }
    }

    #[test]
    fn declared_shapes_count_their_known_lengths_only() {
        let open = vec![Dim::Unknown, Dim::Symbolic("n".into()), Dim::Known(1 << 40)];
        assert_eq!(declared(open.clone()), Ok(open));
        let absurd = vec![Dim::Known(1 << 30); 4];
        assert_eq!(declared(absurd), Err(ShapeFault::TooManyElements));
    }

    #[test]
    fn absurd_ranks_are_refused() {
        let fault = ShapeFault::TooManyAxes { axes: 1000 };
        assert_eq!(stored(&[1; 1000]), Err(fault.clone()));
        assert_eq!(declared(vec![Dim::Unknown; 1000]), Err(fault));
    }
}
