//! Properties of the verification competition, against the verdicts that its tools agreed on.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use deepconcolic_check::{Expectation, Region, check, sha256};
use deepconcolic_formats::{LoadOptions, load};
use deepconcolic_language::{Property, Requirement, Signature};
use deepconcolic_network::Network;
use deepconcolic_proofs::{ProofLimits, Verdict as Proven, prove};

use crate::error::BenchError;
use crate::shelf::Shelf;
use crate::verdict::Verdict;

/// Which instances to run, and for how long.
pub struct Plan<'a> {
    /// The benchmark's folder.
    pub name: &'static str,
    /// Every so many instances.
    pub every: usize,
    /// Of these, the ones whose model and property names together contain this text.
    pub named: &'a str,
    /// At most so many seconds each, whatever the benchmark allows.
    pub timeout: Option<f64>,
    /// How many sat and unsat are wanted of all.
    pub wanted: [usize; 2],
}

/// One instance with what is known of it.
struct Instance {
    model: String,
    property: String,
    timeout: f64,
    verdict: String,
    /// The fastest tool's time, on its own machine.
    fastest: String,
}

/// How an instance ended.
struct Ended {
    word: &'static str,
    seconds: f64,
    check_seconds: f64,
    bytes: usize,
}

/// Right answers, wrong ones and times, over all instances.
#[derive(Default)]
struct Totals {
    /// Agreed answers that were found, and that there are: sat, unsat.
    right: [usize; 2],
    expected: [usize; 2],
    wrong: usize,
    /// Seconds of the instances answered, ours and the fastest tool's.
    answered: Vec<[f64; 2]>,
    /// Seconds that made certificates, and that checked them.
    searching: f64,
    checking: f64,
    /// The instances whose check took longer than their search.
    slow_checks: usize,
}

/// The two answers that tools can agree on.
const WORDS: [&str; 2] = ["sat", "unsat"];

/// Prints a line for each instance, and a summary.
pub fn run(shelf: &Shelf, plan: &Plan<'_>) -> Result<Vec<Verdict>, BenchError> {
    println!("\n== verdicts: {}", plan.name);
    let folder = shelf.contest(plan.name);
    let instances = instances(&shelf.contest(&format!("{}_verdicts.csv", plan.name)))?;
    let mut totals = Totals::default();
    let named = |i: &&Instance| format!("{} {}", i.model, i.property).contains(plan.named);
    for instance in instances.iter().step_by(plan.every.max(1)).filter(named) {
        let timeout = plan
            .timeout
            .unwrap_or(instance.timeout)
            .min(instance.timeout);
        let ended = answer(&folder, instance, timeout)?;
        totals.add(instance, &ended);
        println!(
            "{:<42} {:<24} {:>8} {:>8.2} s (check {:>6.2} s, {:>9} bytes)  agreed {:>8}, fastest tool {} s",
            instance.model.trim_start_matches("onnx/"),
            instance.property.trim_start_matches("vnnlib/"),
            ended.word,
            ended.seconds,
            ended.check_seconds,
            ended.bytes,
            instance.verdict,
            instance.fastest
        );
    }
    totals.print();
    let whole = plan.every <= 1 && plan.named.is_empty();
    Ok(totals.verdicts(plan, whole))
}

impl Totals {
    fn add(&mut self, instance: &Instance, ended: &Ended) {
        for (kind, word) in WORDS.into_iter().enumerate() {
            let agreed = instance.verdict == word;
            self.expected[kind] += usize::from(agreed);
            if ended.word == word {
                self.right[kind] += usize::from(agreed);
                self.wrong += usize::from(!agreed && instance.verdict != "unknown");
            }
        }
        if WORDS.contains(&ended.word) {
            let fastest = instance.fastest.parse().unwrap_or(f64::NAN);
            self.answered.push([ended.seconds, fastest]);
        }
        if ended.word == "unsat" {
            // An answer is given only after a check, which is no part of the search.
            let search = ended.seconds - ended.check_seconds;
            self.searching += search;
            self.checking += ended.check_seconds;
            self.slow_checks += usize::from(ended.check_seconds > search);
        }
    }

    fn print(&self) {
        println!(
            "sat {}/{}, unsat {}/{}, wrong {}",
            self.right[0], self.expected[0], self.right[1], self.expected[1], self.wrong
        );
        println!(
            "median of the {} answered: {:.2} s; fastest tool on each of the same, on other machines: {:.2} s",
            self.answered.len(),
            median(self.answered.iter().map(|times| times[0])),
            median(self.answered.iter().map(|times| times[1])),
        );
        println!(
            "certificates: searching {:.1} s, checking {:.1} s, ratio {:.2}; {} took longer to check than to find",
            self.searching,
            self.checking,
            self.checking / self.searching,
            self.slow_checks
        );
    }

    /// Counts are compared with what is wanted only where all instances were run.
    fn verdicts(&self, plan: &Plan<'_>, whole: bool) -> Vec<Verdict> {
        let name = plan.name;
        let mut verdicts = vec![Verdict::new(
            format!("{name}: {} wrong verdicts", self.wrong),
            self.wrong == 0,
        )];
        for (kind, word) in WORDS.into_iter().enumerate() {
            let (right, expected) = (self.right[kind], self.expected[kind]);
            let wanted = plan.wanted[kind];
            verdicts.push(Verdict::new(
                format!("{name}: {right} of {expected} {word}, wanted {wanted}"),
                !whole || right >= wanted,
            ));
        }
        verdicts.push(Verdict::new(
            format!(
                "{name}: checking takes {:.2} of the time of searching",
                self.checking / self.searching
            ),
            // Nothing to check passes too.
            self.checking <= self.searching,
        ));
        verdicts
    }
}

/// The middle of the finite numbers.
fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.filter(|number| number.is_finite()).collect();
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    numbers.get(middle).copied().unwrap_or(f64::NAN)
}

fn instances(path: &Path) -> Result<Vec<Instance>, BenchError> {
    let text = fs::read_to_string(path).map_err(|e| BenchError::File(path.to_owned(), e))?;
    let instance = |line: &str| {
        let mut fields = line.split(',').map(str::to_owned);
        let (model, property) = (fields.next()?, fields.next()?);
        let timeout = fields.next()?.parse().ok()?;
        let verdict = fields.next()?;
        let fastest = fields.nth(1)?;
        Some(Instance {
            model,
            property,
            timeout,
            verdict,
            fastest,
        })
    };
    Ok(text.lines().skip(1).filter_map(instance).collect())
}

fn answer(folder: &Path, instance: &Instance, timeout: f64) -> Result<Ended, BenchError> {
    let start = Instant::now();
    let path = folder.join(&instance.model);
    let network = load(&path, &LoadOptions::default())?.network;
    let read = |path: &Path| fs::read(path).map_err(|e| BenchError::File(path.to_owned(), e));
    let digest = sha256(&read(&path)?);
    let property = read(&folder.join(&instance.property))?;
    let Ok((requirement, region)) = question(&property, &network) else {
        return Ok(Ended {
            word: "unreadable",
            seconds: 0.0,
            check_seconds: 0.0,
            bytes: 0,
        });
    };
    let limits = ProofLimits {
        nodes: usize::MAX,
        deadline: Some(start + Duration::from_secs_f64(timeout)),
        ..ProofLimits::default()
    };
    let verdict = prove(&network, &digest, &requirement, &region, &limits);
    let seconds = start.elapsed().as_secs_f64();
    let mut ended = Ended {
        word: "unknown",
        seconds,
        check_seconds: 0.0,
        bytes: 0,
    };
    match verdict {
        Ok(Proven::Witness(_)) => ended.word = "sat",
        Ok(Proven::Infeasible(accepted)) => {
            let certificate = accepted.certificate();
            let again = Instant::now();
            let expectation = Expectation {
                model: &digest,
                regions: Some(&certificate.regions),
                requirements: None,
            };
            let accepted = check(&network, certificate, &expectation).is_ok();
            ended.word = if accepted { "unsat" } else { "unchecked" };
            ended.check_seconds = again.elapsed().as_secs_f64();
            ended.bytes = certificate.to_bytes(&network).len();
        }
        Ok(Proven::Open { .. }) | Err(_) => {}
    }
    // The search keeps to its deadline, but a check may follow that takes longer.
    if WORDS.contains(&ended.word) && seconds > timeout {
        ended.word = "late";
    }
    Ok(ended)
}

fn question(
    bytes: &[u8],
    network: &Network,
) -> Result<(Requirement, Region), deepconcolic_language::Error> {
    let property = Property::from_bytes(bytes)?;
    let signature = Signature::of(network);
    let requirement = property.requirement(&signature)?;
    let elements = network.input_elements();
    let mut region = Region {
        lower: vec![f64::INFINITY; elements],
        upper: vec![f64::NEG_INFINITY; elements],
        ..Region::default()
    };
    for case in property.cases(&signature)? {
        for element in 0..elements {
            region.lower[element] = region.lower[element].min(case.region.lower.at(element));
            region.upper[element] = region.upper[element].max(case.region.upper.at(element));
        }
    }
    Ok((requirement, region))
}
