//! Neuron coverage of the first test images, as the paper's curves begin.

use deepconcolic::CoverageJob;

use crate::cores;
use crate::error::BenchError;
use crate::inputs::data_of;
use crate::shelf::Shelf;
use crate::speed::pool;
use crate::subject::PAPER;
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
    let model = shelf.model(PAPER).map_err(BenchError::NoModel)?;
    let data = data_of(PAPER).ok_or_else(|| BenchError::NoData(PAPER.to_owned()))?;
    let mut job = CoverageJob::new(model, shelf.data(data), &["nc"]);
    job.parameters.with_logits = true;
    job.no_noise = true;
    println!(
        "{:>7} {:>8} {:>8} {:>9} {:>9}",
        "images", "covered", "of", "percent", "expected"
    );
    let mut agreed = 0;
    for (images, expected) in EXPECTED {
        job.data.limit = Some(images);
        let measured = all.install(|| job.run(&mut |_| {}))?;
        let (done, total) = (measured.criteria[0].covered, measured.criteria[0].total);
        let percent = 100.0 * measured.criteria[0].coverage.unwrap_or_default();
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
