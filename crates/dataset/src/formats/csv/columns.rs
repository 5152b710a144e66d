//! Which column is the label, and whether the first row names the columns.
//!
//! The number of values the model takes decides: as many columns, no label; one more, the column called
//! label, class, target or y, else the last. When it is not known, only a column so called is a label. A first column
//! without a name, as pandas writes it, numbers the rows and is passed over where the others fit.

use std::path::Path;

use csv::StringRecord;

use super::labels::is_number;
use crate::error::DatasetError;

/// Names of a column of labels, the surest first: `y` may also be a coordinate.
const LABEL_NAMES: [&str; 4] = ["label", "class", "target", "y"];

/// What the columns are.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Columns {
    pub count: usize,
    pub label: Option<usize>,
    /// The numbers of rows, which pandas writes in front.
    pub index: Option<usize>,
    /// Whether the first row names the columns.
    pub named: bool,
}

impl Columns {
    pub(super) fn decide(
        path: &Path,
        first: &StringRecord,
        features: Option<usize>,
    ) -> Result<Self, DatasetError> {
        let count = first.len();
        let called_label = LABEL_NAMES
            .iter()
            .find_map(|name| position(first, name))
            .filter(|&label| names_columns(first, Some(label)));
        let index = counts_rows(first) && names_columns(first, called_label);
        let without_index = count.checked_sub(1).filter(|_| index);
        let label = match features {
            Some(features) if without_index == Some(features) && called_label.is_none() => {
                return Ok(Self::indexed(count, None));
            }
            Some(features) if without_index.is_some_and(|n| Some(n) == features.checked_add(1)) => {
                let label = called_label.unwrap_or(count - 1);
                return Ok(Self::indexed(count, Some(label)));
            }
            None => called_label,
            Some(features) if count == features => None,
            Some(features) if features.checked_add(1) == Some(count) => {
                Some(called_label.unwrap_or(features))
            }
            Some(features) => {
                let detail = format!(
                    "{count} columns, but the model takes {features} values; \
                     give {features} columns, or one more with the label"
                );
                return Err(DatasetError::malformed(path, detail));
            }
        };
        Ok(Self {
            count,
            label,
            index: None,
            named: names_columns(first, label),
        })
    }

    /// Columns with names, the first of which numbers the rows.
    fn indexed(count: usize, label: Option<usize>) -> Self {
        Self {
            count,
            label,
            index: Some(0),
            named: true,
        }
    }

    /// What the row of names calls the columns that are values.
    pub(super) fn feature_names(&self, first: &StringRecord) -> Vec<String> {
        let named = first.iter().enumerate();
        let others = [self.label, self.index];
        let features = named.filter(|&(column, _)| !others.contains(&Some(column)));
        features.map(|(_, name)| name.to_owned()).collect()
    }

    /// How many columns are values.
    pub(super) fn features(&self) -> usize {
        let others = [self.label, self.index];
        self.count - others.iter().flatten().count()
    }
}

/// Whether a row of names begins like one of pandas, whose first column numbers the rows.
fn counts_rows(row: &StringRecord) -> bool {
    let first = row.get(0).unwrap_or_default().to_ascii_lowercase();
    ["", "unnamed: 0", "index"].contains(&first.as_str())
}

fn position(row: &StringRecord, name: &str) -> Option<usize> {
    row.iter()
        .position(|field| field.eq_ignore_ascii_case(name))
}

/// Whether a first row names the columns: apart from the label no field is a number. A row with some
/// numbers is data, so that a missing value in it is reported rather than taken for a name.
fn names_columns(row: &StringRecord, label: Option<usize>) -> bool {
    let others = || {
        row.iter()
            .enumerate()
            .filter(move |&(column, _)| Some(column) != label)
            .map(|(_, field)| field)
    };
    // pandas calls unnamed columns 0, 1, 2, ...; without the word beside them they would be data.
    let counted = || {
        let has_label = LABEL_NAMES
            .iter()
            .any(|name| label.is_some() && position(row, name) == label);
        has_label
            && others()
                .enumerate()
                .all(|(index, field)| field == index.to_string())
    };
    others().all(|field| !is_number(field)) || counted()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(first: &[&str], features: Option<usize>) -> Option<(Option<usize>, bool)> {
        Columns::decide(Path::new("t.csv"), &first.to_vec().into(), features)
            .ok()
            .map(|columns| (columns.label, columns.named))
    }

    #[test]
    fn the_model_decides_whether_there_is_a_label() {
        assert_eq!(decide(&["1", "2", "3"], Some(3)), Some((None, false)));
        assert_eq!(decide(&["1", "2", "3"], Some(2)), Some((Some(2), false)));
        assert_eq!(decide(&["1", "2", "cat"], Some(2)), Some((Some(2), false)));
        assert_eq!(decide(&["1", "2", "3"], Some(5)), None);
        assert_eq!(decide(&["1"], Some(usize::MAX - 1)), None);
    }

    #[test]
    fn a_column_called_so_is_the_label() {
        assert_eq!(decide(&["Class", "a", "b"], Some(2)), Some((Some(0), true)));
        assert_eq!(decide(&["y", "a", "label"], Some(2)), Some((Some(2), true)));
        assert_eq!(decide(&["y", "a"], None), Some((Some(0), true)));
        assert_eq!(decide(&["a", "b"], None), Some((None, true)));
    }

    #[test]
    fn coordinates_called_x_and_y_are_features() {
        assert_eq!(decide(&["x", "y"], Some(2)), Some((None, true)));
    }

    #[test]
    fn a_class_called_y_does_not_make_its_row_names() {
        assert_eq!(decide(&["1.5", "2", "y"], Some(2)), Some((Some(2), false)));
    }

    #[test]
    fn counted_names_need_the_word_label() {
        assert_eq!(decide(&["0", "1", "label"], Some(2)), Some((Some(2), true)));
        assert_eq!(decide(&["0", "1", "2"], Some(2)), Some((Some(2), false)));
    }
}
