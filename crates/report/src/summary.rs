//! The summary of a run, for people. It depends on the run alone, not on how long it took.

use std::io::{self, Write};

use deepconcolic_record::{AdversarialSummary, LayerSummary, Summary};

/// Prints it.
pub fn print(out: &mut dyn Write, summary: &Summary) -> io::Result<()> {
    let radius = match summary.radius {
        Some(radius) => format!("within {radius} ({}) of a seed", summary.norm),
        None => "anywhere in the search region".into(),
    };
    writeln!(
        out,
        "{}: tests {radius}, domain {}",
        summary.criterion, summary.domain
    )?;
    if let Some(rule) = summary.decision {
        writeln!(out, "decision: {}", rule.words())?;
    }
    if let Some(accuracy) = summary.accuracy {
        writeln!(
            out,
            "accuracy {:.2} % on {} samples",
            accuracy * 100.0,
            summary.baseline.data_inputs
        )?;
    }
    print_layers(out, summary)?;
    let tests = &summary.tests;
    let plural = if tests.seeds == 1 { "" } else { "s" };
    write!(out, "tests: {} seed{plural}", tests.seeds)?;
    if tests.misclassified > 0 {
        write!(
            out,
            " ({} misclassified ones set aside)",
            tests.misclassified
        )?;
    }
    write!(out, ", {} generated", tests.generated)?;
    if let (Some(median), Some(max)) = (summary.distance.median, summary.distance.max) {
        write!(
            out,
            ", {median:.4} from their seeds in the median, {max:.4} at most"
        )?;
    }
    writeln!(out)?;
    if let Some(bad) = &summary.adversarial {
        print_adversarial(out, bad)?;
    }
    let baseline = &summary.baseline;
    if let (Some(random), Some(data)) = (baseline.random_coverage, baseline.data_coverage) {
        writeln!(
            out,
            "for comparison: as many random tests cover {:.2} %, {} samples of the data {:.2} %",
            random * 100.0,
            baseline.data_inputs,
            data * 100.0
        )?;
    }
    let work = &summary.executions;
    writeln!(
        out,
        "{} forward and {} backward passes, {} linear programs; stopped: {}",
        work.forward, work.vjp, work.lp, summary.stop
    )?;
    for note in &summary.notes {
        writeln!(out, "note: {note}")?;
    }
    Ok(())
}

fn print_adversarial(out: &mut dyn Write, bad: &AdversarialSummary) -> io::Result<()> {
    write!(
        out,
        "adversarial: {} ({:.2} % of generated)",
        bad.count,
        bad.fraction * 100.0
    )?;
    if let (Some(min), Some(median)) = (bad.min_distance, bad.median_distance) {
        write!(
            out,
            ", {min:.4} from real data at least, {median:.4} in the median"
        )?;
    }
    writeln!(out)
}

fn print_layers(out: &mut dyn Write, summary: &Summary) -> io::Result<()> {
    let width = summary
        .layers
        .iter()
        .map(|layer| layer.name.chars().count())
        .chain(["layer".len()])
        .max()
        .unwrap_or(0);
    writeln!(
        out,
        "\n{:width$}  {:>9} {:>9} {:>10} {:>10} {:>9}",
        "layer", "required", "covered", "infeasible", "unresolved", "coverage"
    )?;
    let all = &summary.requirements;
    let total = LayerSummary {
        name: "all".into(),
        total: all.total,
        covered: all.covered,
        infeasible: all.infeasible,
        unresolved: all.unresolved,
    };
    for layer in summary.layers.iter().chain([&total]) {
        let percent = 100.0 * layer.covered as f64 / layer.total.max(1) as f64;
        writeln!(
            out,
            "{:width$}  {:>9} {:>9} {:>10} {:>10} {percent:>7.2} %",
            layer.name, layer.total, layer.covered, layer.infeasible, layer.unresolved
        )?;
    }
    if all.fragile > 0 {
        writeln!(
            out,
            "{} of the covered ones only within the margin of rounding (fragile)",
            all.fragile
        )?;
    }
    writeln!(out)
}
