//! Neuron coverage of the first test images, as the paper's curves begin.

use deepconcolic_criteria::Parameters;

use crate::cores;
use crate::error::BenchError;
use crate::shelf::Shelf;
use crate::speed::pool;
use crate::subject::{PAPER, Subject, counts};
use crate::verdict::Verdict;

/// How many images, and the share in percent to so many decimals.
const EXPECTED: [(usize, &str); 5] = [
    (1, "59.5"),
    (10, "86.4"),
    (100, "92.9"),
    (1_000, "95.8"),
    (10_000, "97.59"),
];

/// Prints a table.
pub fn run(shelf: &Shelf) -> Result<Vec<Verdict>, BenchError> {
    println!("\n== neuron coverage of the first test images, logits counted: {PAPER}");
    let all = pool(cores())?;
    let subject = Subject::load(shelf, PAPER)?;
    let parameters = Parameters {
        with_logits: true,
        ..Parameters::default()
    };
    let families = subject.families(&["nc"], &parameters, None)?;
    println!(
        "{:>7} {:>8} {:>8} {:>9} {:>9}",
        "images", "covered", "of", "percent", "expected"
    );
    let mut agreed = 0;
    for (images, expected) in EXPECTED {
        let measured = all.install(|| subject.measure(0..images.min(subject.len()), &families));
        let (done, total) = counts(families[0].as_ref(), &measured.covered[0]);
        let percent = 100.0 * done as f64 / total as f64;
        let met = agrees(percent, expected);
        agreed += usize::from(met);
        println!(
            "{images:>7} {done:>8} {total:>8} {percent:>9.4} {expected:>9}  {}",
            Verdict::word(met)
        );
    }
    let what = format!(
        "nc of the first 1 to 10,000 images: {agreed} of {} figures agree to the digits given",
        EXPECTED.len()
    );
    Ok(vec![Verdict::new(what, agreed == EXPECTED.len())])
}

/// Whether a number is another one once it is rounded to the other's digits.
fn agrees(number: f64, digits: &str) -> bool {
    let decimals = digits.split_once('.').map_or(0, |(_, after)| after.len());
    format!("{number:.decimals$}") == digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_agree_to_the_digits_given() {
        assert!(agrees(59.46, "59.5") && agrees(97.5949, "97.59") && agrees(3.4, "3"));
        assert!(!agrees(59.44, "59.5") && !agrees(97.6, "97.59") && !agrees(59.56, "59.5"));
    }
}
