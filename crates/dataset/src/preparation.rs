//! How raw samples become the network's view of them: axis order and scale.

use std::fmt;

use crate::dataset::Dataset;
use crate::elements::Elements;
use crate::error::DatasetError;
use crate::layout::Layout;

/// What a byte is divided by when the user gives no scale, so that pixels lie in 0..1.
const BYTE_SCALE: f32 = 255.0;

/// The decisions made once for a data set and a model. Printed, they read
/// `28x28 data reshaped to 1x28x28, divided by 255`.
#[derive(Debug, Clone, PartialEq)]
pub struct Preparation {
    layout: Layout,
    divisor: Option<f32>,
}

impl Preparation {
    pub(crate) fn new(
        dataset: &Dataset,
        model_input_shape: &[usize],
        scale: Option<f32>,
    ) -> Result<Self, DatasetError> {
        let layout = Layout::between(dataset, model_input_shape)?;
        let divisor = match (scale, dataset.elements()) {
            (Some(scale), elements) => {
                let usable = scale > 0.0 && (elements.largest() / scale).is_finite();
                if !(usable && scale.is_finite()) {
                    return Err(DatasetError::Scale { scale });
                }
                Some(scale)
            }
            (None, Elements::U8(_)) => Some(BYTE_SCALE),
            (None, Elements::F32(_)) => None,
        };
        Ok(Self { layout, divisor })
    }

    /// How the axes of the data become those of the model.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// What every stored value is divided by; `None` when values are taken as they are.
    pub fn divisor(&self) -> Option<f32> {
        self.divisor
    }
}

impl fmt::Display for Preparation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.layout.fmt(f)?;
        match self.divisor {
            Some(divisor) => write!(f, ", divided by {divisor}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn prepare(elements: Elements, scale: Option<f32>) -> Result<Preparation, DatasetError> {
        let dataset = Dataset::new(Path::new("memory"), &[2], elements)?;
        Preparation::new(&dataset, &[2], scale)
    }

    #[test]
    fn bytes_are_divided_by_255_and_floats_are_not() {
        let bytes = Elements::U8(vec![0, 255].into());
        let floats = Elements::F32(vec![0.0, 255.0].into());
        assert_eq!(prepare(bytes.clone(), None).unwrap().divisor(), Some(255.0));
        assert_eq!(prepare(floats.clone(), None).unwrap().divisor(), None);
        for elements in [bytes, floats] {
            let preparation = prepare(elements, Some(128.0)).unwrap();
            assert_eq!(preparation.divisor(), Some(128.0));
            assert_eq!(
                preparation.to_string(),
                "flat data of 2 values as they are, divided by 128"
            );
        }
    }

    #[test]
    fn a_scale_that_breaks_values_is_refused() {
        for scale in [0.0, -1.0, f32::NAN, f32::INFINITY, 1e-45] {
            let floats = Elements::F32(vec![0.0, 255.0].into());
            assert!(matches!(
                prepare(floats, Some(scale)),
                Err(DatasetError::Scale { .. })
            ));
        }
    }
}
