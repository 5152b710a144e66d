//! What the texts in a column of labels mean.

use std::collections::BTreeSet;

use crate::dataset::Dataset;
use crate::error::{DatasetError, excerpt};

/// Gives the samples their labels. Texts that are all integers are the labels; texts that are all numbers
/// are quantities; otherwise they are names of classes, numbered in order of name. There may be more texts
/// than samples: those beyond still count as classes.
pub(super) fn attach(dataset: Dataset, texts: &[String]) -> Result<Dataset, DatasetError> {
    let kept = dataset.len().min(texts.len());
    if let Some(mut labels) = integers(texts) {
        labels.truncate(kept);
        return dataset.with_labels(labels);
    }
    if let Some(mut values) = finite_numbers(texts) {
        values.truncate(kept);
        return dataset.with_quantities(values);
    }
    let names_nothing = |text: &&String| text.is_empty() || is_fraction(text);
    if let Some((row, text)) = texts
        .iter()
        .enumerate()
        .find(|(_, text)| names_nothing(text))
    {
        let text = excerpt(text);
        let detail = format!("sample {row} has the label {text}; give a number or a class name");
        return Err(DatasetError::malformed(dataset.source(), detail));
    }
    let classes: BTreeSet<&String> = texts.iter().collect();
    let classes: Vec<String> = classes.into_iter().cloned().collect();
    let labels = texts[..kept]
        .iter()
        .map(|text| classes.partition_point(|class| class < text) as i64)
        .collect();
    Ok(dataset.with_labels(labels)?.with_class_names(classes))
}

/// Whether a field is a number of any kind.
pub(super) fn is_number(field: &str) -> bool {
    field.parse::<f64>().is_ok()
}

/// A number that is no integer is a measurement, not a class.
fn is_fraction(text: &str) -> bool {
    is_number(text) && integer(text).is_none()
}

fn integers(texts: &[String]) -> Option<Vec<i64>> {
    texts.iter().map(|text| integer(text)).collect()
}

fn finite_numbers(texts: &[String]) -> Option<Vec<f64>> {
    let number = |text: &String| text.parse::<f64>().ok().filter(|v| v.is_finite());
    texts.iter().map(number).collect()
}

/// `3`, or `3.0` or `3.000e+00` as floats are printed.
fn integer(text: &str) -> Option<i64> {
    let exact = |value: &f64| value.fract() == 0.0 && value.abs() < (1_u64 << 53) as f64;
    let float = || text.parse().ok().filter(exact).map(|value| value as i64);
    text.parse().ok().or_else(float)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elements::Elements;
    use std::path::Path;

    fn attach_to_two(texts: &[&str]) -> Result<Dataset, DatasetError> {
        let dataset = Dataset::new(Path::new("t.csv"), &[1], Elements::F32(vec![0.0; 2].into()));
        let texts: Vec<String> = texts.iter().copied().map(str::to_owned).collect();
        attach(dataset.unwrap(), &texts)
    }

    #[test]
    fn integers_are_labels() {
        let dataset = attach_to_two(&["7", "-1.0"]).unwrap();
        assert_eq!(dataset.labels(), Some(&[7, -1][..]));
        assert_eq!(dataset.class_names(), None);
    }

    #[test]
    fn names_are_numbered_in_order() {
        let dataset = attach_to_two(&["setosa", "7", "iris"]).unwrap();
        assert_eq!(dataset.labels(), Some(&[2, 0][..]));
        assert_eq!(dataset.class_names().unwrap(), ["7", "iris", "setosa"]);
    }

    #[test]
    fn numbers_that_are_not_all_integers_are_quantities() {
        let dataset = attach_to_two(&["0.5", "1"]).unwrap();
        assert_eq!((dataset.labels(), dataset.quantity(0)), (None, Some(0.5)));
    }

    #[test]
    fn measurements_among_names_and_gaps_are_refused() {
        for texts in [["a", ""], ["0.5", "a"], ["nan", "1"]] {
            let message = attach_to_two(&texts).unwrap_err().to_string();
            assert!(message.contains("class name"), "{message}");
        }
    }
}
