//! The published raw runs: coverage and adversarial inputs over steps.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::error::BenchError;

/// A row of the file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    pub number: usize,
    pub covered: f64,
    pub tests: usize,
    pub adversarial: usize,
}

/// Runs by name.
pub type Curves = BTreeMap<String, Vec<Step>>;

/// Reads the file; no file is no runs.
pub fn read(path: &Path) -> Result<Curves, BenchError> {
    if !path.exists() {
        println!(
            "{} is not there: the page has no published curves",
            path.display()
        );
        return Ok(Curves::new());
    }
    let text = fs::read_to_string(path).map_err(|e| BenchError::File(path.to_owned(), e))?;
    parse(&text)
        .map_err(|line| BenchError::Campaign(format!("{}: line {line} is no row", path.display())))
}

/// The rows, or the number of one that is none.
fn parse(text: &str) -> Result<Curves, usize> {
    let mut curves = Curves::new();
    for (number, line) in text.lines().enumerate().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let step = || {
            let [_, step, covered, tests, adversarial] = fields[..] else {
                return None;
            };
            Some(Step {
                number: step.parse().ok()?,
                covered: covered.parse().ok()?,
                tests: tests.parse().ok()?,
                adversarial: adversarial.parse().ok()?,
            })
        };
        let step = step().ok_or(number + 1)?;
        curves.entry(fields[0].to_owned()).or_default().push(step);
    }
    Ok(curves)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_by_run() {
        let text = "run,step,coverage,tests,adversarial\na,0,0.5,1,0\nb,0,0.25,1,0\na,9,0.75,4,2\n";
        let curves = parse(text).unwrap();
        assert_eq!(curves["a"].len(), 2);
        assert_eq!(curves["a"][1].adversarial, 2);
        assert_eq!(parse("x\na,0,none,1,0\n"), Err(2));
        assert_eq!(parse("x\na,0\n"), Err(2));
    }
}
