//! Properties of the verification competition, against the verdicts that its tools agreed on.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use deepconcolic_check::{Expectation, Region, check, sha256};
use deepconcolic_formats::{LoadOptions, load};
use deepconcolic_network::Network;
use deepconcolic_proofs::{Limits, Verdict as Proven, prove};
use deepconcolic_spec::{Property, Requirement, Signature};

use crate::error::BenchError;
use crate::shelf::Shelf;
use crate::verdict::Verdict;

/// Which instances to run, and for how long.
pub struct Plan {
    /// The benchmark's folder.
    pub name: &'static str,
    /// Every so many instances.
    pub every: usize,
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

/// Prints a line for each instance, and a summary.
pub fn run(shelf: &Shelf, plan: &Plan) -> Result<Vec<Verdict>, BenchError> {
    println!("\n== verdicts: {}", plan.name);
    let folder = shelf.contest(plan.name);
    let instances = instances(&shelf.contest(&format!("{}_verdicts.csv", plan.name)))?;
    let mut right = [0; 2];
    let mut expected = [0; 2];
    let (mut wrong, mut times, mut checks) = (0, Vec::new(), [0.0; 2]);
    for instance in instances.iter().step_by(plan.every.max(1)) {
        let timeout = plan
            .timeout
            .unwrap_or(instance.timeout)
            .min(instance.timeout);
        let ended = answer(&folder, instance, timeout)?;
        for (kind, word) in ["sat", "unsat"].into_iter().enumerate() {
            expected[kind] += usize::from(instance.verdict == word);
            let same = instance.verdict == word && ended.word == word;
            right[kind] += usize::from(same);
            wrong += usize::from(
                ended.word == word && instance.verdict != word && instance.verdict != "unknown",
            );
        }
        if ended.word != "unknown" {
            times.push(ended.seconds);
        }
        checks[0] += ended.seconds - ended.check_seconds;
        checks[1] += ended.check_seconds;
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
    times.sort_by(f64::total_cmp);
    let median = times.get(times.len() / 2).copied().unwrap_or(f64::NAN);
    println!(
        "sat {}/{}, unsat {}/{}, wrong {wrong}; median of the answered {median:.2} s; searching {:.0} s, checking {:.0} s",
        right[0], expected[0], right[1], expected[1], checks[0], checks[1]
    );
    let enough = |kind: usize| {
        let all = [plan.wanted[kind], right[kind]];
        plan.every > 1 || all[1] >= all[0]
    };
    Ok(vec![
        Verdict::new(format!("{}: {wrong} wrong verdicts", plan.name), wrong == 0),
        Verdict::new(
            format!(
                "{}: {} of {} sat, wanted {}",
                plan.name, right[0], expected[0], plan.wanted[0]
            ),
            enough(0),
        ),
        Verdict::new(
            format!(
                "{}: {} of {} unsat, wanted {}",
                plan.name, right[1], expected[1], plan.wanted[1]
            ),
            enough(1),
        ),
    ])
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
    let limits = Limits {
        nodes: usize::MAX,
        deadline: Some(start + Duration::from_secs_f64(timeout)),
        ..Limits::default()
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
        Ok(Proven::Infeasible(certificate)) => {
            let again = Instant::now();
            let expectation = Expectation {
                model: &digest,
                regions: Some(&certificate.regions),
                requirements: None,
            };
            let accepted = check(&network, &certificate, &expectation).is_ok();
            ended.word = if accepted { "unsat" } else { "unchecked" };
            ended.check_seconds = again.elapsed().as_secs_f64();
            ended.bytes = certificate.to_bytes().len();
        }
        Ok(Proven::Open { .. }) | Err(_) => {}
    }
    Ok(ended)
}

fn question(
    bytes: &[u8],
    network: &Network,
) -> Result<(Requirement, Region), deepconcolic_spec::Error> {
    let property = Property::from_bytes(bytes)?;
    let signature = Signature::of(network);
    let requirement = property.requirement(&signature)?;
    let elements = network.input_elements();
    let mut region = Region {
        lower: vec![f64::INFINITY; elements],
        upper: vec![f64::NEG_INFINITY; elements],
    };
    for case in property.cases(&signature)? {
        for element in 0..elements {
            region.lower[element] = region.lower[element].min(case.region.lower.at(element));
            region.upper[element] = region.upper[element].max(case.region.upper.at(element));
        }
    }
    Ok((requirement, region))
}
