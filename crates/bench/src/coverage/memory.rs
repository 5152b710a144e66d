//! The most memory that is held while coverage is measured.

use deepconcolic_criteria::Parameters;

use crate::allocator::{in_use, peak};
use crate::cores;
use crate::error::BenchError;
use crate::shelf::Shelf;
use crate::speed::pool;
use crate::subject::{NEURON_CRITERIA, PAPER, Subject, counts};
use crate::verdict::Verdict;

/// Bytes that may be held.
const LIMIT: usize = 1_500_000_000;

/// Measures all images once and prints what was held.
pub fn run(shelf: &Shelf) -> Result<Vec<Verdict>, BenchError> {
    println!("\n== memory of measuring: {PAPER}");
    let (measured, maximum) = pool(cores())?.install(|| peak(|| measure(shelf)));
    measured?;
    println!("at most held at one time: {} MB", megabytes(maximum));
    if let Some(resident) = resident() {
        println!("most that the system saw resident, code and stacks included: {resident}");
    }
    let what = format!(
        "{} over all images: {} MB of heap at the peak, network and data included (below {})",
        NEURON_CRITERIA.join(" + "),
        megabytes(maximum),
        megabytes(LIMIT)
    );
    Ok(vec![Verdict::new(what, maximum < LIMIT)])
}

/// All that a user's measurement does, from opening the files on.
fn measure(shelf: &Shelf) -> Result<(), BenchError> {
    let before = in_use();
    let subject = Subject::load(shelf, PAPER)?;
    let opened = in_use();
    let profile = subject.profile();
    let parameters = Parameters::default();
    let families = subject.families(&NEURON_CRITERIA, &parameters, Some(&profile))?;
    let ready = in_use();
    println!(
        "network and {} images: {} MB; profile and families: {} MB",
        subject.len(),
        megabytes(opened.saturating_sub(before)),
        megabytes(ready.saturating_sub(opened))
    );
    let measured = subject.measure(0..subject.len(), &families);
    println!("{:6} {:>12} {:>12} {:>9}", "", "covered", "of", "share");
    for ((name, family), covered) in NEURON_CRITERIA.iter().zip(&families).zip(&measured.covered) {
        let (done, total) = counts(family.as_ref(), covered);
        let share = 100.0 * done as f64 / total as f64;
        println!("{name:6} {done:>12} {total:>12} {share:>7.2} %");
    }
    Ok(())
}

fn megabytes(bytes: usize) -> String {
    format!("{:.1}", bytes as f64 / 1e6)
}

/// The system's own figure of the process's peak, where it gives one.
fn resident() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    Some(line.trim().to_owned())
}
