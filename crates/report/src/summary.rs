//! The summary of a run, for people. It depends on the run alone, not on how long it took.

use std::io::{self, Write};
use std::path::Path;

use deepconcolic::{Account, Polarity, Table, percent, polarity};
use deepconcolic_record::{
    AdversarialSummary, LayerSummary, NearestAdversarialSummary, SlopeSummary, Spread, Summary,
};

use crate::run::Look;

/// Notes and layers that are shown unless all are asked for.
const NOTES: usize = 6;
const LAYERS: usize = 12;

/// Prints it: what may be wrong first, then what came of it.
pub fn print(out: &mut dyn Write, summary: &Summary, look: &Look) -> io::Result<()> {
    let radius = match summary.radius {
        Some(radius) => format!("within {radius} ({}) of a seed", summary.norm),
        None => "anywhere in the search region".into(),
    };
    writeln!(
        out,
        "{}: tests {radius}, domain {}",
        summary.criterion, summary.domain
    )?;
    print_notes(out, &summary.notes, look)?;
    if let Some(rule) = summary.decision {
        writeln!(out, "decision: {}", rule.words())?;
    }
    if let Some(accuracy) = summary.accuracy {
        writeln!(
            out,
            "accuracy {:.2} % on {} samples",
            percent(accuracy, 2),
            summary.baseline.data_inputs
        )?;
    }
    print_layers(out, summary, look)?;
    let accounts = Account::of_run(summary);
    for account in &accounts {
        if accounts.len() > 1 {
            write!(out, "{}: ", account.name)?;
        }
        print_account(out, account)?;
    }
    print_slopes(out, &summary.lipschitz)?;
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
    if let Some(near) = &summary.nearest_adversarial {
        print_nearest(out, near)?;
    }
    let baseline = &summary.baseline;
    if let (Some(random), Some(data)) = (baseline.random_coverage, baseline.data_coverage) {
        let properties = summary.properties.map_or(0, |some| some.total);
        let together = match summary.requirements.total - properties.min(summary.requirements.total)
        {
            0 => "",
            _ if summary.criteria.len() > 1 => " of all goals together",
            _ if properties > 0 => " of the goals",
            _ => "",
        };
        let meet = match polarity(summary) {
            Polarity::Goal => "cover",
            Polarity::Property => "refute",
        };
        writeln!(
            out,
            "for comparison: as many random tests {meet} {:.2} %{together}, {} samples of the data {:.2} %",
            percent(random, 2),
            baseline.data_inputs,
            percent(data, 2)
        )?;
    }
    let work = &summary.executions;
    writeln!(
        out,
        "stopped: {}, after {} forward and {} backward passes, {} linear programs",
        summary.stop, work.forward, work.vjp, work.lp
    )?;
    if look.verbose {
        explain(out, summary)?;
    }
    Ok(())
}

/// The command that a user most likely wants next.
pub fn next_command(summary: &Summary, folder: &Path) -> String {
    let folder = folder.display();
    let open = summary.requirements.unresolved;
    match summary.stop.as_str() {
        "interrupted" => format!("deepconcolic resume {folder}"),
        "budget" if open > 0 => {
            format!("deepconcolic resume {folder} --budget 20m  (time ran out with {open} open)")
        }
        _ => format!("deepconcolic check {folder}"),
    }
}

fn print_notes(out: &mut dyn Write, notes: &[String], look: &Look) -> io::Result<()> {
    let shown = if look.verbose { notes.len() } else { NOTES };
    for note in notes.iter().take(shown) {
        writeln!(out, "note: {note}")?;
    }
    match notes.len().saturating_sub(shown) {
        0 => Ok(()),
        more => writeln!(out, "note: and {more} more in statement.md (-v shows them)"),
    }
}

/// How requirements ended, goals and properties apart.
fn print_account(out: &mut dyn Write, account: &Account) -> io::Result<()> {
    let (goals, properties) = (&account.goals, &account.properties);
    if goals.total > 0 && goals.feasible() == 0 {
        writeln!(
            out,
            "nothing can be covered: all {} are proven impossible",
            goals.total
        )?;
    } else if goals.total > 0 {
        let share = percent(goals.met as f64 / goals.feasible().max(1) as f64, 2);
        writeln!(
            out,
            "covered {} of the {} that can be ({share:.2} %); {} proven impossible, {} open",
            goals.met,
            goals.feasible(),
            goals.impossible,
            goals.open()
        )?;
    }
    if properties.total > 0 {
        writeln!(
            out,
            "properties: {} of {} refuted, {} proven, {} open",
            properties.met,
            properties.total,
            properties.impossible,
            properties.open()
        )?;
    }
    Ok(())
}

/// What the words of the summary mean.
fn explain(out: &mut dyn Write, summary: &Summary) -> io::Result<()> {
    writeln!(out)?;
    let mut words = Vec::new();
    for table in Table::of_run(summary) {
        let (met, impossible) = match table.polarity {
            Polarity::Goal => (
                "a test of the suite shows it, and was run again",
                "a certificate shows that no input of the search region meets it",
            ),
            Polarity::Property => (
                "a test of the suite shows that it does not hold, and was run again",
                "a certificate shows that it holds for every input of the search region",
            ),
        };
        words.extend([
            (table.polarity.met(), met),
            (table.polarity.impossible(), impossible),
            (
                table.polarity.open(),
                "neither; that it was not found says nothing",
            ),
        ]);
    }
    words.extend([
        (
            "adversarial",
            "the network answers otherwise than for the nearest real input",
        ),
        (
            "random",
            "as many inputs drawn from the search region, for comparison",
        ),
    ]);
    for (word, meaning) in words {
        writeln!(out, "{word:12} {meaning}")?;
    }
    Ok(())
}

/// How steep the network is, over all regions.
fn print_slopes(out: &mut dyn Write, regions: &[SlopeSummary]) -> io::Result<()> {
    // A search that is asked about a constant ends where it is refuted: there may be steeper pairs that nobody looked for.
    let constant = regions.first().and_then(|region| region.constant);
    let found = match constant {
        None => "steepest pairs found".to_owned(),
        Some(constant) => {
            format!("pairs found, a search ends at the first steeper than {constant}")
        }
    };
    let figures = [
        (&found[..], spread(regions, |region| region.found)),
        (
            "certified upper bounds",
            spread(regions, |region| region.upper),
        ),
        (
            "steepest random pairs",
            spread(regions, |region| region.random),
        ),
    ];
    for (name, (count, spread)) in figures {
        if let (Some(min), Some(median), Some(max)) = (spread.min, spread.median, spread.max) {
            writeln!(
                out,
                "{name}: {min:.4} at least, {median:.4} in the median, {max:.4} at most ({count} of {} regions)",
                regions.len()
            )?;
        }
    }
    Ok(())
}

fn spread(regions: &[SlopeSummary], of: fn(&SlopeSummary) -> Option<f64>) -> (usize, Spread) {
    let known: Vec<f64> = regions.iter().filter_map(of).collect();
    (known.len(), Spread::of(known))
}

fn print_adversarial(out: &mut dyn Write, bad: &AdversarialSummary) -> io::Result<()> {
    write!(
        out,
        "adversarial: {} ({:.2} % of generated)",
        bad.count,
        percent(bad.fraction, 2)
    )?;
    if let (Some(min), Some(median)) = (bad.min_distance, bad.median_distance) {
        write!(
            out,
            ", {min:.4} from real data at least, {median:.4} in the median"
        )?;
    }
    writeln!(out)
}

fn print_nearest(out: &mut dyn Write, near: &NearestAdversarialSummary) -> io::Result<()> {
    // Where there are none, a note says why.
    let (Some(min), Some(median)) = (near.min, near.median) else {
        return Ok(());
    };
    write!(
        out,
        "nearest adversarial: {min:.4} from a seed at least, {median:.4} in the median of {} seeds",
        near.count
    )?;
    if let Some(bound) = near.median_bound {
        write!(
            out,
            "; certified for {}: none nearer than {bound:.4} in the median",
            near.bounds
        )?;
    }
    writeln!(out)
}

fn print_layers(out: &mut dyn Write, summary: &Summary, look: &Look) -> io::Result<()> {
    let tables = Table::of_run(summary);
    let mixed = tables.len() > 1;
    for table in &tables {
        print_table(out, table, mixed, look)?;
    }
    for table in tables.iter().filter(|table| table.fragile > 0) {
        writeln!(
            out,
            "{} of the {} ones only within the margin of rounding (fragile)",
            table.fragile,
            table.polarity.met()
        )?;
    }
    writeln!(out)
}

/// How requirements ended, layer by layer; those of a run with both kinds are named.
fn print_table(out: &mut dyn Write, table: &Table, mixed: bool, look: &Look) -> io::Result<()> {
    let shown = if look.verbose {
        table.layers.len()
    } else {
        LAYERS
    };
    let mut layers: Vec<&LayerSummary> = table.layers.iter().collect();
    let hidden = layers.len().saturating_sub(shown);
    if hidden > 0 {
        // Those with most to do, in the order of the network.
        let mut open: Vec<usize> = (0..layers.len()).collect();
        open.sort_by_key(|&layer| std::cmp::Reverse(layers[layer].unresolved));
        open.truncate(shown);
        open.sort_unstable();
        layers = open.into_iter().map(|layer| layers[layer]).collect();
    }
    let polarity = table.polarity;
    let (heading, all) = match (mixed, polarity) {
        (false, _) => ("layer", "all"),
        (true, Polarity::Goal) => ("goals", "all goals"),
        (true, Polarity::Property) => ("properties", "all properties"),
    };
    let width = layers
        .iter()
        .map(|layer| layer.name.chars().count())
        .chain([heading.len(), all.len()])
        .max()
        .unwrap_or(0);
    let words = [polarity.met(), polarity.impossible(), polarity.open()];
    // Of a property no percentage says anything: nothing refuted is not nothing done.
    let has_share = polarity == Polarity::Goal;
    let shared = |text: String| if has_share { text } else { String::new() };
    let coverage = |percent: f64| shared(format!(" {percent:>7.2} %"));
    let last = shared(format!(" {:>9}", "coverage"));
    writeln!(
        out,
        "\n{heading:width$}  {:>9} {:>9} {:>10} {:>10}{last}",
        "required", words[0], words[1], words[2]
    )?;
    let total = LayerSummary {
        name: all.into(),
        ..table.all.clone()
    };
    for layer in layers.into_iter().chain([&total]) {
        let percent = percent(layer.covered as f64 / layer.total.max(1) as f64, 2);
        writeln!(
            out,
            "{:width$}  {:>9} {:>9} {:>10} {:>10}{}",
            layer.name,
            layer.total,
            layer.covered,
            layer.infeasible,
            layer.unresolved,
            coverage(percent)
        )?;
    }
    if hidden > 0 {
        writeln!(
            out,
            "({hidden} more layers, with fewer unresolved; -v shows them)"
        )?;
    }
    Ok(())
}
