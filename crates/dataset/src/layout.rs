//! How the axes of stored samples become those of a model's input: decided once, described in words.

use std::fmt;

use crate::dataset::Dataset;
use crate::error::{DatasetError, Mismatch};
use crate::shape::{Shape, element_count};

/// The way from a stored sample to the model's input. In the order tried, it is:
///
/// - equal shapes, or equal but for axes of size 1: the values as they are;
/// - height x width x channels data and a channels x height x width model, or the reverse: transposed;
/// - one side flat: the values as they are, in the order of the side that has axes.
///
/// Anything else is an error: the order of the values would be a guess.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    order: Order,
    description: String,
}

/// Where each value goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Where it is.
    Same,
    /// The sample is a row-major matrix, to be transposed.
    Transposed {
        /// Rows as stored.
        rows: usize,
        /// Columns as stored.
        columns: usize,
    },
}

impl Layout {
    pub(crate) fn between(dataset: &Dataset, model: &[usize]) -> Result<Self, DatasetError> {
        let data = dataset.shape();
        if element_count(model) != Some(dataset.features()) {
            return Err(wrong_size(dataset, model));
        }
        if data == model {
            return Ok(Self::same(format!("{} as they are", named(data))));
        }
        let (data_axes, model_axes) = (without_ones(data), without_ones(model));
        if data_axes == model_axes {
            return Ok(Self::same(format!(
                "{} reshaped to {}",
                named(data),
                Shape(model)
            )));
        }
        if let Some(layout) =
            channels_moved(data, model).or_else(|| channels_moved(&data_axes, &model_axes))
        {
            return Ok(layout);
        }
        if data_axes.len() <= 1 {
            return Ok(Self::same(format!(
                "{} taken in the model's order {}",
                named(data),
                Shape(model)
            )));
        }
        if model_axes.len() <= 1 {
            return Ok(Self::same(format!(
                "{} data flattened to {} values in the order they are stored",
                Shape(data),
                dataset.features()
            )));
        }
        Err(order_unknown(dataset, model))
    }

    /// The way from a tensor of one model to the same tensor of another, by their shapes without the batch
    /// axis. Unlike data, a flat tensor here has an order of its own: where the other has channels, which
    /// order that is cannot be told.
    pub fn between_models(from: &[usize], to: &[usize]) -> Result<Self, String> {
        let words = || format!("{} and {}", Shape(from), Shape(to));
        if element_count(from) != element_count(to) {
            return Err(format!("{} have different numbers of values", words()));
        }
        let (from_axes, to_axes) = (without_ones(from), without_ones(to));
        if from == to {
            return Ok(Self::same(format!("{} as they are", Shape(from))));
        }
        if from_axes == to_axes {
            return Ok(Self::same(format!("{} as {}", Shape(from), Shape(to))));
        }
        if let Some(layout) =
            channels_moved(from, to).or_else(|| channels_moved(&from_axes, &to_axes))
        {
            return Ok(layout);
        }
        let flat = from_axes.len().min(to_axes.len()) <= 1;
        if flat && from_axes.len().max(to_axes.len()) <= 2 {
            return Ok(Self::same(format!("{} as {}", Shape(from), Shape(to))));
        }
        Err(format!(
            "{} hold the same number of values, in orders that cannot be told from the shapes",
            words()
        ))
    }

    /// Whether every value stays where it is.
    pub fn is_same(&self) -> bool {
        self.order == Order::Same
    }

    /// Where the value that is at a place comes to be.
    pub fn moved(&self, place: usize) -> usize {
        match self.order {
            Order::Same => place,
            Order::Transposed { rows, columns } => (place % columns) * rows + place / columns,
        }
    }

    /// Values of one sample in their new order.
    pub fn arranged<T: Copy>(&self, values: &[T]) -> Vec<T> {
        let mut arranged = values.to_vec();
        for (place, &value) in values.iter().enumerate() {
            arranged[self.moved(place)] = value;
        }
        arranged
    }

    fn same(description: String) -> Self {
        Self {
            order: Order::Same,
            description,
        }
    }

    /// The decision in words, such as `28x28 data reshaped to 1x28x28`.
    pub fn description(&self) -> &str {
        &self.description
    }

    pub(crate) fn order(&self) -> Order {
        self.order
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.description)
    }
}

/// The data by their shape, which for a lone axis would read as a count of samples.
fn named(shape: &[usize]) -> String {
    match shape {
        [values] => format!("flat data of {values} values"),
        shape => format!("{} data", Shape(shape)),
    }
}

fn without_ones(shape: &[usize]) -> Vec<usize> {
    shape.iter().copied().filter(|&size| size != 1).collect()
}

/// The transposition between images with channels last and channels first, if that is what differs.
fn channels_moved(data: &[usize], model: &[usize]) -> Option<Layout> {
    let &[a, b, c] = data else { return None };
    let (rows, columns, from, to) = if model == [c, a, b] {
        (a * b, c, "HWC", "CHW")
    } else if model == [b, c, a] {
        (a, b * c, "CHW", "HWC")
    } else {
        return None;
    };
    Some(Layout {
        order: Order::Transposed { rows, columns },
        description: format!(
            "{from} data ({}) transposed to {to} ({})",
            Shape(data),
            Shape(model)
        ),
    })
}

fn wrong_size(dataset: &Dataset, model: &[usize]) -> DatasetError {
    let wanted =
        element_count(model).map_or_else(|| "too many".to_owned(), |count| count.to_string());
    let whole = dataset.elements().len();
    let way_out = if element_count(model) == Some(whole) && dataset.len() > 1 {
        "if this is a single sample, give it a first axis of size 1"
    } else {
        "give data of that shape"
    };
    mismatch(
        dataset,
        model,
        format!("{wanted} values a sample, not {}", dataset.features()),
        way_out,
    )
}

fn order_unknown(dataset: &Dataset, model: &[usize]) -> DatasetError {
    mismatch(
        dataset,
        model,
        format!(
            "the same {} values a sample, in an order that cannot be told from the shapes",
            dataset.features()
        ),
        "transpose the data to the model's axes, or flatten each sample in the model's order",
    )
}

fn mismatch(
    dataset: &Dataset,
    model: &[usize],
    reason: String,
    way_out: &'static str,
) -> DatasetError {
    let mut whole = vec![dataset.len()];
    whole.extend(dataset.shape());
    DatasetError::Mismatch(Box::new(Mismatch {
        place: dataset.place(),
        data: Shape(&whole).to_string(),
        model: Shape(model).to_string(),
        reason,
        way_out,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elements::Elements;
    use std::path::Path;

    fn between(data: &[usize], model: &[usize]) -> Result<Layout, DatasetError> {
        let features = element_count(data).unwrap();
        let elements = Elements::U8(vec![0; 2 * features].into());
        let dataset = Dataset::new(Path::new("mnist.npz"), data, elements)
            .unwrap()
            .with_array("x");
        Layout::between(&dataset, model)
    }

    #[test]
    fn each_decision_is_described() {
        for (data, model, words) in [
            (
                &[28, 28, 1][..],
                &[28, 28, 1][..],
                "28x28x1 data as they are",
            ),
            (&[28, 28], &[1, 28, 28], "28x28 data reshaped to 1x28x28"),
            (
                &[28, 28, 1],
                &[1, 28, 28],
                "28x28x1 data reshaped to 1x28x28",
            ),
            (&[5], &[1, 1, 5], "flat data of 5 values reshaped to 1x1x5"),
            (
                &[784],
                &[784, 1],
                "flat data of 784 values reshaped to 784x1",
            ),
            (
                &[32, 32, 3],
                &[3, 32, 32],
                "HWC data (32x32x3) transposed to CHW (3x32x32)",
            ),
            (
                &[3, 8, 6],
                &[1, 8, 6, 3],
                "CHW data (3x8x6) transposed to HWC (8x6x3)",
            ),
            (
                &[784],
                &[1, 28, 28],
                "flat data of 784 values taken in the model's order 1x28x28",
            ),
            (
                &[32, 32, 3],
                &[3072],
                "32x32x3 data flattened to 3072 values in the order they are stored",
            ),
        ] {
            assert_eq!(between(data, model).unwrap().to_string(), words);
        }
    }

    #[test]
    fn equal_shapes_are_never_transposed() {
        assert_eq!(
            between(&[3, 3, 3], &[3, 3, 3]).unwrap().order(),
            Order::Same
        );
    }

    #[test]
    fn an_image_one_pixel_high_is_still_an_image() {
        let layout = between(&[1, 5, 3], &[3, 1, 5]).unwrap();
        let expected = Order::Transposed {
            rows: 5,
            columns: 3,
        };
        assert_eq!(layout.order(), expected);
    }

    #[test]
    fn a_wrong_size_says_both_shapes_and_counts() {
        assert_eq!(
            between(&[28, 28], &[3, 32, 32]).unwrap_err().to_string(),
            "mnist.npz: array \"x\" has shape 2x28x28 but the model takes 3x32x32 \
             (3072 values a sample, not 784); give data of that shape"
        );
    }

    #[test]
    fn a_single_sample_without_a_first_axis_is_recognised() {
        let message = between(&[28], &[2, 28]).unwrap_err().to_string();
        assert!(message.ends_with("first axis of size 1"), "{message}");
    }

    #[test]
    fn an_order_that_would_be_a_guess_is_refused() {
        for (data, model) in [
            (&[3, 4, 5][..], &[4, 3, 5][..]),
            (&[28, 28], &[14, 56]),
            (&[32, 32, 3], &[1024, 3]),
            (&[5, 3], &[3, 5]),
        ] {
            let message = between(data, model).unwrap_err().to_string();
            assert!(message.contains("cannot be told"), "{message}");
        }
    }

    #[test]
    fn between_models_channels_move_and_orders_that_cannot_be_told_are_refused() {
        let moved = Layout::between_models(&[2, 2, 3], &[3, 2, 2]).unwrap();
        assert!(!moved.is_same());
        let pixels = [
            "ar", "ag", "ab", "br", "bg", "bb", "cr", "cg", "cb", "dr", "dg", "db",
        ];
        let planes = [
            "ar", "br", "cr", "dr", "ag", "bg", "cg", "dg", "ab", "bb", "cb", "db",
        ];
        assert_eq!(moved.arranged(&pixels), planes);
        let back = Layout::between_models(&[3, 2, 2], &[2, 2, 3]).unwrap();
        assert_eq!(back.arranged(&planes), pixels);
        for (from, to) in [
            (&[1, 28, 28][..], &[28, 28, 1][..]),
            (&[784], &[1, 28, 28]),
            (&[28, 28], &[784]),
            (&[5, 5, 5], &[5, 5, 5]),
        ] {
            assert!(Layout::between_models(from, to).unwrap().is_same());
        }
        for (from, to) in [
            (&[3072][..], &[3, 32, 32][..]),
            (&[32, 32, 3], &[3072]),
            (&[3, 4, 5], &[4, 3, 5]),
        ] {
            let message = Layout::between_models(from, to).unwrap_err();
            assert!(message.contains("cannot be told"), "{message}");
        }
        let message = Layout::between_models(&[4], &[5]).unwrap_err();
        assert!(message.contains("different numbers"), "{message}");
    }
}
