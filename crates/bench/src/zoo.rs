//! The conformance set of exporter files: expected answers, and files that must be refused.

use std::fmt;
use std::path::Path;

use deepconcolic_dataset::arrays::NpzReader;
use deepconcolic_formats::{LoadOptions, load};
use deepconcolic_network::{Network, Pass, Point};

use crate::conformance::guarded;
use crate::deviation::{LIMIT, worst};
use crate::error::BenchError;
use crate::shelf::{Shelf, onnx_files, stem};
use crate::verdict::Verdict;

/// Compares every file of the set and prints a table.
pub fn run(shelf: &Shelf) -> Result<Vec<Verdict>, BenchError> {
    let folder = shelf.zoo();
    println!("\n== zoo: exporter files with answers recorded from onnxruntime");
    if !folder.is_dir() {
        println!("skipped: {} is not there", folder.display());
        return Ok(Vec::new());
    }
    let files = onnx_files(&folder)?;
    let (bad, good): (Vec<_>, Vec<_>) = files.iter().partition(|f| stem(f).starts_with("bad_"));
    Ok(vec![expected(&good)?, refused(&bad)])
}

fn expected(files: &[impl AsRef<Path>]) -> Result<Verdict, BenchError> {
    println!(
        "{:32} {:>7} {:>7} {:>11} {:>11}",
        "file", "outputs", "samples", "one sample", "a batch"
    );
    let mut within = 0;
    for file in files {
        let name = stem(file.as_ref());
        match guarded(|| compare(file.as_ref())) {
            Ok(Ok(found)) => {
                let met = found.met();
                within += usize::from(met);
                println!(
                    "{name:32} {found}  {}  {}",
                    Verdict::word(met),
                    found.absent
                );
            }
            Ok(Err(BenchError::Model(error))) => println!("{name:32} FAIL  refused: {error}"),
            Ok(Err(error)) => return Err(error),
            Err(panic) => println!("{name:32} FAIL  {panic}"),
        }
    }
    let count = files.len();
    let what = format!("{within} of {count} zoo files within {LIMIT:e} of the recorded answers");
    println!("{what}");
    Ok(Verdict::new(what, within == count))
}

/// What comparing one file gave.
struct Found {
    /// Outputs of the file that were compared.
    outputs: usize,
    samples: usize,
    /// Worst error where samples were recorded one by one, and where a batch was.
    errors: [Option<f64>; 2],
    /// Outputs that only one side has.
    absent: String,
    /// Whether the record of a batch says something about its samples. Dynamic quantisation takes one
    /// range over a whole batch in onnxruntime, so that samples change each other's answers.
    judges_batches: bool,
}

impl Found {
    fn met(&self) -> bool {
        let judged = if self.judges_batches { 2 } else { 1 };
        let errors = self.errors[..judged].iter().flatten();
        self.outputs > 0 && errors.copied().all(|error| error <= LIMIT)
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>7} {:>7}", self.outputs, self.samples)?;
        for error in self.errors {
            match error {
                Some(error) => write!(f, " {error:>11.2e}")?,
                None => write!(f, " {:>11}", "-")?,
            }
        }
        Ok(())
    }
}

fn compare(file: &Path) -> Result<Found, BenchError> {
    let network = load(file, &LoadOptions::default())?.network;
    let mut recorded = NpzReader::open(&file.with_extension("npz"))?;
    let names: Vec<String> = recorded.names().map(str::to_owned).collect();
    let mut found = Found {
        outputs: 0,
        samples: 0,
        errors: [None; 2],
        absent: absent(&network, &names),
        judges_batches: !network
            .operators()
            .any(|(kind, _)| kind == "DynamicQuantizeLinear"),
    };
    if !found.judges_batches {
        found.absent += "batch not judged: its samples share one range";
    }
    for case in 0.. {
        let input = format!("in{case}.{}", network.input_name());
        if !names.contains(&input) {
            break;
        }
        let inputs = recorded.read::<f32>(&input)?.values;
        let samples = inputs.len() / network.input_elements().max(1);
        found.samples += samples;
        found.outputs = 0;
        for (output, (name, _)) in network.outputs().enumerate() {
            let key = format!("out{case}.{name}");
            if names.contains(&key) {
                let theirs = recorded.read::<f64>(&key)?.values;
                let trace = network.forward(&inputs, &Pass::keep([Point::Output(output)]));
                let error = worst(trace.get(Point::Output(output)), &theirs, samples);
                let slot = &mut found.errors[usize::from(samples > 1)];
                *slot = Some(slot.map_or(error, |before| before.max(error)));
                found.outputs += 1;
            }
        }
    }
    Ok(found)
}

/// Says which outputs only we have or only the record has.
fn absent(network: &Network, names: &[String]) -> String {
    let ours: Vec<&str> = network.outputs().map(|(name, _)| name).collect();
    let theirs: Vec<&str> = names
        .iter()
        .filter_map(|n| n.strip_prefix("out0."))
        .collect();
    let unheard = |what: &str, these: &[&str], those: &[&str]| -> String {
        let missing: Vec<&str> = these
            .iter()
            .filter(|n| !those.contains(n))
            .copied()
            .collect();
        if missing.is_empty() {
            String::new()
        } else {
            format!("{what}: {} ", missing.join(", "))
        }
    };
    unheard("not recorded", &ours, &theirs) + &unheard("we lack", &theirs, &ours)
}

fn refused(files: &[impl AsRef<Path>]) -> Verdict {
    println!("\nfiles that must be refused");
    let mut count = 0;
    for file in files {
        let name = stem(file.as_ref());
        let folder = file.as_ref().parent().unwrap_or(Path::new(""));
        match guarded(|| load(file.as_ref(), &LoadOptions::default())) {
            Ok(Err(error)) => {
                count += 1;
                let message = error.to_string();
                let place = format!("{}/", folder.display());
                println!("{name:28} refused: {}", message.replace(&place, ""));
            }
            Ok(Ok(_)) => println!("{name:28} FAIL  it was loaded"),
            Err(panic) => println!("{name:28} FAIL  {panic}"),
        }
    }
    let what = format!("{count} of {} bad files refused", files.len());
    println!("{what}");
    Verdict::new(what, count == files.len())
}
