//! Large requirement files and families.

use std::fmt::Write as _;
use std::time::Instant;

use deepconcolic_formats::{LoadOptions, load};
use deepconcolic_language::{Error, RequirementFile, Signature};

use crate::error::BenchError;
use crate::shelf::Shelf;
use crate::subject::PAPER;
use crate::verdict::Verdict;

/// Statements of the large file.
const STATEMENTS: usize = 100_000;
/// Where the mistake is, counted from 1.
const WRONG_LINE: usize = 70_000;
/// Seconds that reading may take.
const LIMIT: f64 = 1.0;
/// Odd, so that the median is one of them.
const RUNS: usize = 9;

/// Prints rates and where mistakes are reported.
pub fn run(shelf: &Shelf) -> Result<Vec<Verdict>, BenchError> {
    println!("\n== requirement language: the layers of {PAPER}, one thread, median of {RUNS} runs");
    let model = shelf.model(PAPER).map_err(BenchError::NoModel)?;
    let signature = Signature::of(&load(&model, &LoadOptions::default())?.network);
    let lines = lines(&signature);
    Ok(vec![
        file(&signature, &lines)?,
        mistakes(&signature, &lines),
        family(&signature)?,
    ])
}

/// A statement for each neuron, and again from the first when they run out.
fn lines(signature: &Signature) -> Vec<String> {
    let hidden = signature.layers.iter().filter(|layer| layer.hidden);
    let neurons = hidden.flat_map(|layer| (0..layer.neurons).map(|i| (layer.number, i)));
    let statement = |(layer, neuron)| format!("exists x: u[x][{layer},{neuron}] - 0.5 > 0");
    neurons.cycle().take(STATEMENTS).map(statement).collect()
}

fn text(lines: &[String]) -> String {
    lines.iter().fold(String::new(), |mut text, line| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{line}");
        text
    })
}

fn file(signature: &Signature, lines: &[String]) -> Result<Verdict, BenchError> {
    let text = text(lines);
    let mut complete = true;
    let (resolved, parsed) = median(|| {
        let start = Instant::now();
        let file = RequirementFile::parse(&text)?;
        let parsed = start.elapsed().as_secs_f64();
        let set = file.resolve(signature)?;
        let resolved = start.elapsed().as_secs_f64();
        complete &= file.statements() == lines.len() && set.len() == lines.len();
        Ok((resolved, parsed))
    })?;
    let count = lines.len();
    println!(
        "{count} statements, {} bytes: parsed in {parsed:.3} s, parsed and resolved in {resolved:.3} s",
        text.len()
    );
    let rate = count as f64 / resolved;
    let what = format!(
        "{count} statements parsed and resolved in {resolved:.3} s, {rate:.0} a second (under {LIMIT} s)"
    );
    Ok(Verdict::new(what, complete && resolved < LIMIT))
}

/// One mistake that the parser sees, one that only the network shows.
fn mistakes(signature: &Signature, lines: &[String]) -> Verdict {
    let mut lines = lines.to_vec();
    let mut met = true;
    for (kind, wrong) in [
        ("syntax", "exists x: u[x][2,0] - 0.5 >> 0"),
        ("layer", "exists x: u[x][99,0] - 0.5 > 0"),
    ] {
        wrong.clone_into(&mut lines[WRONG_LINE - 1]);
        let read = RequirementFile::parse(&text(&lines)).and_then(|f| f.resolve(signature));
        let place = match read {
            Err(Error::At(at)) => Some((at.line, at.column)),
            _ => None,
        };
        let reported = place.is_some_and(|(line, _)| line == WRONG_LINE);
        met &= reported;
        let words = place.map_or("nowhere".to_owned(), |(line, column)| {
            format!("line {line}, column {column}")
        });
        println!("a mistake ({kind}) in line {WRONG_LINE} is reported at {words}");
    }
    let what = format!("mistakes in line {WRONG_LINE} are reported there");
    Verdict::new(what, met)
}

/// One line for every neuron.
fn family(signature: &Signature) -> Result<Verdict, BenchError> {
    const LINE: &str = "for k in hidden, i in neurons(k): exists x: ap[x][k,i]";
    let hidden = signature.layers.iter().filter(|layer| layer.hidden);
    let neurons: usize = hidden.map(|layer| layer.neurons).sum();
    let mut complete = true;
    let (made, resolved) = median(|| {
        let start = Instant::now();
        let set = RequirementFile::parse(LINE)?.resolve(signature)?;
        let resolved = start.elapsed().as_secs_f64();
        let mut members = 0;
        for member in set.iter() {
            std::hint::black_box(member?);
            members += 1;
        }
        complete &= set.len() == neurons && members == neurons;
        Ok((start.elapsed().as_secs_f64(), resolved))
    })?;
    println!("{LINE}");
    println!(
        "  {neurons} requirements: parsed and resolved in {:.1} us, every one made in {made:.3} s",
        1e6 * resolved
    );
    let what = format!(
        "a family of {neurons} requirements in one line: read and every one made in {made:.3} s (under {LIMIT} s)"
    );
    Ok(Verdict::new(what, complete && made < LIMIT))
}

/// The middle one of several runs, by the first of its times.
fn median(mut run: impl FnMut() -> Result<(f64, f64), Error>) -> Result<(f64, f64), Error> {
    let mut times = (0..RUNS).map(|_| run()).collect::<Result<Vec<_>, _>>()?;
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(times[RUNS / 2])
}
