//! CSV: a row a sample, with or without a row of column names, with or without a column of labels.
//!
//! Values are taken as floats, pixels too: give a scale for those. What the columns are is decided in
//! `columns`, what the labels mean in `labels`.

mod columns;
mod labels;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use csv::{ReaderBuilder, StringRecord, Trim};

use crate::dataset::Dataset;
use crate::elements::Elements;
use crate::error::{DatasetError, excerpt};
use crate::format::{Format, OpenOptions, has_extension};
use columns::Columns;

pub(super) struct Csv;

impl Format for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn pattern(&self) -> &'static str {
        "a table (.csv), label column named or last"
    }

    fn recognises(&self, path: &Path) -> bool {
        has_extension(path, &["csv"])
    }

    fn load(&self, path: &Path, options: &OpenOptions) -> Result<Dataset, DatasetError> {
        let mut rows = Rows::open(path)?;
        let Some(first) = rows.next()? else {
            return Err(DatasetError::Empty {
                path: path.to_path_buf(),
            });
        };
        let columns = Columns::decide(path, &first, options.features)?;
        let mut table = Table {
            limit: options.limit.unwrap_or(usize::MAX),
            ..Table::default()
        };
        if !columns.named {
            table.push(&columns, &first, &rows)?;
        }
        // Labels are read to the end whatever the limit: which classes there are is a matter of all rows.
        while table.samples < table.limit || columns.label.is_some() {
            let Some(row) = rows.next()? else { break };
            table.push(&columns, &row, &rows)?;
        }
        let mut dataset = Dataset::new(
            path,
            &[columns.features()],
            Elements::F32(table.values.into()),
        )?;
        if columns.named {
            dataset = dataset.with_feature_names(columns.feature_names(&first));
        }
        match columns.label {
            Some(_) => labels::attach(dataset, &table.labels),
            None => Ok(dataset),
        }
    }
}

/// What has been read so far.
#[derive(Default)]
struct Table {
    limit: usize,
    samples: usize,
    values: Vec<f32>,
    labels: Vec<String>,
}

impl Table {
    fn push(
        &mut self,
        columns: &Columns,
        row: &StringRecord,
        rows: &Rows<'_>,
    ) -> Result<(), DatasetError> {
        if let Some(label) = columns.label {
            self.labels.push(row[label].to_owned());
        }
        if self.samples == self.limit {
            return Ok(());
        }
        self.samples += 1;
        for (column, field) in row.iter().enumerate() {
            if ![columns.label, columns.index].contains(&Some(column)) {
                self.values.push(
                    field
                        .parse()
                        .map_err(|_| rows.not_a_number(column, field))?,
                );
            }
        }
        Ok(())
    }
}

/// The rows of a file, with their place for messages.
struct Rows<'a> {
    path: &'a Path,
    reader: csv::Reader<BufReader<File>>,
    line: u64,
}

impl<'a> Rows<'a> {
    fn open(path: &'a Path) -> Result<Self, DatasetError> {
        let file = File::open(path).map_err(DatasetError::reading(path))?;
        let mut file = BufReader::new(file);
        let start = file.fill_buf().map_err(DatasetError::reading(path))?;
        let sign = comment_sign(start);
        let delimiter = delimiter(&start[sign..]);
        file.consume(sign);
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .delimiter(delimiter)
            .trim(Trim::All)
            .from_reader(file);
        Ok(Self {
            path,
            reader,
            line: 0,
        })
    }

    fn next(&mut self) -> Result<Option<StringRecord>, DatasetError> {
        let mut record = StringRecord::new();
        match self.reader.read_record(&mut record) {
            Ok(true) => {
                self.line = record.position().map_or(0, csv::Position::line);
                Ok(Some(record))
            }
            Ok(false) => Ok(None),
            Err(error) => Err(self.unreadable(&error)),
        }
    }

    /// What is wrong with a row that is none, and the way out.
    fn unreadable(&self, error: &csv::Error) -> DatasetError {
        let line = error.position().map_or(0, csv::Position::line);
        let detail = match error.kind() {
            csv::ErrorKind::UnequalLengths {
                expected_len, len, ..
            } => format!(
                "fields: {len}, and {expected_len} in the rows before; give every row as many, or remove it"
            ),
            csv::ErrorKind::Utf8 { .. } => {
                "text that is not UTF-8; save the file as UTF-8".to_owned()
            }
            _ => return DatasetError::malformed(self.path, error.to_string()),
        };
        DatasetError::Malformed {
            place: format!("{}: line {line}", self.path.display()),
            detail,
        }
    }

    fn not_a_number(&self, column: usize, field: &str) -> DatasetError {
        DatasetError::Malformed {
            place: format!(
                "{}: line {}, column {}",
                self.path.display(),
                self.line,
                column + 1
            ),
            detail: format!(
                "{} is not a number; give one, or remove the row",
                excerpt(field)
            ),
        }
    }
}

/// How many bytes stand before the first row: the sign of a comment, which `numpy.savetxt` puts before the names of
/// columns, and spaces behind it.
fn comment_sign(start: &[u8]) -> usize {
    match start.strip_prefix(b"#") {
        Some(rest) => 1 + rest.iter().take_while(|&&byte| byte == b' ').count(),
        None => 0,
    }
}

/// Comma, unless the first line has none and has semicolons, tabs or, as numpy writes it, spaces.
fn delimiter(start: &[u8]) -> u8 {
    let line = start.split(|&byte| byte == b'\n').next().unwrap_or(start);
    let line = line.trim_ascii();
    [b',', b';', b'\t', b' ']
        .into_iter()
        .find(|delimiter| line.contains(delimiter))
        .unwrap_or(b',')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str, options: OpenOptions) -> Result<Dataset, DatasetError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        std::fs::write(&path, text).unwrap();
        Csv.load(&path, &options)
    }

    fn of_two(text: &str) -> Result<Dataset, DatasetError> {
        load(
            text,
            OpenOptions {
                features: Some(2),
                ..OpenOptions::default()
            },
        )
    }

    #[test]
    fn a_row_that_is_none_is_told_with_its_line_and_the_way_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.csv");
        for (text, says) in [
            (
                &b"a,b\n1,2\n3\n"[..],
                [
                    "line 3",
                    "fields: 1",
                    "2 in the rows before; give every row as many",
                ],
            ),
            (
                &b"a,b\n1,2\n3,\xe9\n"[..],
                ["line 3", "not UTF-8", "save the file as UTF-8"],
            ),
        ] {
            std::fs::write(&path, text).unwrap();
            let message = Csv
                .load(&path, &OpenOptions::default())
                .unwrap_err()
                .to_string();
            for part in says {
                assert!(message.contains(part), "{message} lacks {part}");
            }
        }
    }

    #[test]
    fn rows_become_samples_with_or_without_names_and_labels() {
        for (text, labels) in [
            ("1,2\n3,4\n", None),
            ("a,b\n1,2\n3,4", None),
            ("1;2;0\r\n3;4;1\r\n", Some([0, 1])),
            ("a\tb\tc\n1\t2\t0.0\n3\t4\t1.0\n", Some([0, 1])),
            ("\u{feff}label, a, b\n5, 1, 2\n6, 3, 4\n", Some([5, 6])),
            ("0,1,label\n1,2,5\n3,4,6\n", Some([5, 6])),
        ] {
            let dataset = of_two(text).unwrap();
            let expected = Elements::F32(vec![1.0, 2.0, 3.0, 4.0].into());
            assert_eq!(dataset.elements(), &expected, "{text:?}");
            assert_eq!(dataset.labels(), labels.as_ref().map(<[i64; 2]>::as_slice));
        }
    }

    #[test]
    fn tables_of_numpy_and_pandas_are_read_as_they_were_written() {
        let savetxt =
            "1.5e+00 2.0e+00 0.000000000000000000e+00\n2.5e+00 3.0e+00 1.000000000000000000e+00\n";
        let with_names = format!("# a b label\n{savetxt}");
        let commas = format!("# a,b,label\n{}", savetxt.replace(' ', ","));
        let pandas = ",a,b,target\n0,1.5,2.0,0.0\n1,2.5,3.0,1.0\n";
        for text in [savetxt, &with_names, &commas, pandas] {
            let dataset = of_two(text).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(dataset.labels(), Some(&[0, 1][..]), "{text}");
            let Elements::F32(values) = dataset.elements() else {
                panic!("numbers are floats")
            };
            assert_eq!(values[..], [1.5, 2.0, 2.5, 3.0], "{text}");
        }
        let without_label = of_two(",a,b\n0,1.5,2.0\n1,2.5,3.0\n").unwrap();
        assert_eq!((without_label.len(), without_label.labels()), (2, None));
    }

    #[test]
    fn a_limit_does_not_change_what_classes_there_are() {
        let text = "1,2,wolf\n3,4,ant\n5,6,cow\n";
        let options = OpenOptions {
            features: Some(2),
            limit: Some(1),
        };
        let dataset = load(text, options).unwrap();
        assert_eq!((dataset.len(), dataset.labels()), (1, Some(&[2][..])));
        assert_eq!(dataset.class_names().unwrap(), ["ant", "cow", "wolf"]);
    }

    #[test]
    fn a_bad_cell_is_located() {
        for (text, place) in [
            ("1,2\n3,x\n", "line 2, column 2: \"x\" is not a number"),
            ("1,\n3,4\n", "line 1, column 2: \"\" is not a number"),
            ("a,b\n1,2\nnan,4\n", "sample 1 holds NaN"),
            ("1,2\n3\n", "line 2: fields: 1"),
            ("1,2,3,4\n", "4 columns, but the model takes 2 values"),
        ] {
            let message = of_two(text).unwrap_err().to_string();
            assert!(message.contains(place), "{message}");
        }
    }

    #[test]
    fn a_file_without_rows_is_empty() {
        for text in ["", "\n\n", "a,b\n", "a,b,label\n"] {
            let error = of_two(text).unwrap_err();
            assert!(matches!(error, DatasetError::Empty { .. }), "{error}");
        }
    }
}
