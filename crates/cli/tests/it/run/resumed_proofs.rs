//! Proofs of runs that are killed, cut short and edited: what was proven is judged again, not searched for
//! again, and the run ends as if nothing had happened.

#![cfg(unix)]

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::bed::{
    Bed, IMAGES, Left, TABLE, assert_same, assert_says, count, deepconcolic, moment, said,
};

/// Runs that end by themselves, with proofs of single neurons, of formulas and of pairs.
const SUBJECTS: [([&str; 3], &[&str]); 3] = [
    (
        TABLE,
        &[
            "--criterion",
            "kmnc",
            "--sections",
            "40",
            "--seeds",
            "3",
            "--radius",
            "0.05",
        ],
    ),
    (
        IMAGES,
        &[
            "--criterion",
            "nbc",
            "--seeds",
            "2",
            "--radius",
            "0.02",
            "--layers",
            "2",
        ],
    ),
    (
        TABLE,
        &["--criterion", "ssc", "--seeds", "3", "--radius", "0.05"],
    ),
];
const LIMIT: [&str; 4] = ["--max-executions", "20000", "--budget", "none"];

/// Every certificate by name, with its contents and where it lies on the disk.
fn certificates(run: &Left) -> BTreeMap<String, (Vec<u8>, u64)> {
    let Ok(entries) = std::fs::read_dir(run.0.join("certificates")) else {
        return BTreeMap::new();
    };
    let each = entries.map(|entry| {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let contents = std::fs::read(entry.path()).unwrap();
        (name, (contents, entry.metadata().unwrap().ino()))
    });
    each.collect()
}

fn contents(run: &Left) -> Vec<(String, Vec<u8>)> {
    let all = certificates(run).into_iter();
    all.map(|(name, (bytes, _))| (name, bytes)).collect()
}

fn check(run: &Left) -> (i32, String) {
    let output = deepconcolic(&["check", run.0.to_str().unwrap()])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap() + &said(&output);
    (output.status.code().unwrap(), text)
}

fn flags(of: &[&'static str], more: &[&'static str]) -> Vec<&'static str> {
    [of, &LIMIT, more].concat()
}

#[test]
fn a_run_that_is_resumed_at_its_end_proves_nothing_again() {
    let bed = Bed::new();
    for (number, (subject, of)) in SUBJECTS.into_iter().enumerate() {
        let out = format!("run-{number}");
        let run = bed.run(&out, subject, &flags(of, &[]));
        let whole = run.summary();
        assert!(
            whole["requirements"]["infeasible"].as_u64().unwrap() > 0,
            "{of:?}"
        );
        let (before, journal) = (certificates(&run), run.bytes("journal"));
        assert!(!before.is_empty(), "{of:?}");
        std::fs::remove_file(run.0.join("run.json")).unwrap();
        let resumed = bed.command(&out, subject, &flags(of, &["--resume"]));
        let resumed = { resumed }.output().unwrap();
        assert_eq!(resumed.status.code(), Some(0), "{}", said(&resumed));
        // The same files, not files written again; and nothing new to record.
        assert!(certificates(&run) == before, "{of:?}");
        assert!(run.bytes("journal") == journal, "{of:?}");
        let again = run.summary();
        for part in ["requirements", "executions", "notes", "stop", "layers"] {
            assert_eq!(whole[part], again[part], "{of:?}: {part}");
        }
        // And every place where it is said says it.
        let text = String::from_utf8(resumed.stdout).unwrap();
        let printed: Vec<&str> = text
            .lines()
            .filter_map(|l| l.strip_prefix("note: "))
            .collect();
        assert_eq!(serde_json::json!(printed), again["notes"]);
        let stop = again["stop"].as_str().unwrap();
        assert_says(&text, &[&format!("stopped: {stop}")]);
        let statement = String::from_utf8(run.bytes("statement.md")).unwrap();
        assert_says(&statement, &[&format!("| ended | {stop} ")]);
    }
}

#[test]
fn a_run_that_is_resumed_gives_the_reasons_it_gave() {
    let bed = Bed::new();
    // Nothing can be asked about a ball in l1; the last neurons that pairs depend on leave nothing to ask.
    let safety = ["--criterion", "safety", "--norm", "l1", "--radius", "0.02"];
    let pairs = ["--criterion", "vvc", "--radius", "0.5"];
    for (number, (subject, of)) in [(TABLE, &safety[..]), (IMAGES, &pairs)]
        .into_iter()
        .enumerate()
    {
        let out = format!("reasons-{number}");
        let limits = [
            "--seeds",
            "3",
            "--max-executions",
            "1000",
            "--budget",
            "none",
        ];
        let flags = [of, &limits].concat();
        let run = bed.run(&out, subject, &flags);
        let whole = run.summary();
        assert!(whole["requirements"]["unresolved"].as_u64() > Some(0));
        let again = bed.run(&out, subject, &[&flags[..], &["--resume"]].concat());
        for part in ["stop", "notes"] {
            assert_eq!(whole[part], again.summary()[part], "{of:?}: {part}");
        }
    }
}

#[test]
fn killed_while_it_proves_a_run_ends_with_the_same_certificates() {
    let bed = Bed::new();
    let mut random = deepconcolic_testing::Random::new(9);
    for (number, (subject, of)) in SUBJECTS.into_iter().enumerate() {
        let started = Instant::now();
        let whole = bed.run(&format!("whole-{number}"), subject, &flags(of, &[]));
        let took = started.elapsed().as_secs_f64();
        for kill in 0..5 {
            let out = format!("killed-{number}-{kill}");
            let run = Left(bed.path(&out));
            for _ in 0..2 {
                let resume: &[&str] = if run.has("lock") { &["--resume"] } else { &[] };
                let mut command = bed.command(&out, subject, &flags(of, resume));
                let mut child = command
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .spawn()
                    .unwrap();
                let until = Instant::now() + Duration::from_secs_f64(random.between(0.0, took));
                while Instant::now() < until && child.try_wait().unwrap().is_none() {
                    moment();
                }
                let _ = child.kill();
                child.wait().unwrap();
            }
            let resume: &[&str] = if run.has("lock") { &["--resume"] } else { &[] };
            let run = bed.run(&out, subject, &flags(of, resume));
            assert_same(&whole, &run);
            assert!(contents(&whole) == contents(&run), "{of:?}");
        }
    }
}

#[test]
fn a_certificate_that_is_not_accepted_is_set_aside_and_what_rested_on_it_is_tried_again() {
    let bed = Bed::new();
    let (subject, of) = SUBJECTS[0];
    let run = bed.run("run", subject, &flags(of, &[]));
    let infeasible = count(&run.requirements().0, 2);
    let (name, (mut bytes, _)) = certificates(&run).into_iter().next().unwrap();
    let middle = bytes.len() / 2;
    for byte in &mut bytes[middle..middle + 8] {
        *byte ^= 0x55;
    }
    std::fs::write(run.0.join("certificates").join(&name), &bytes).unwrap();
    bed.run("run", subject, &flags(of, &["--resume"]));
    let notes = run.summary()["notes"].to_string();
    assert_says(
        &notes,
        &[
            "certificate 0 was not accepted",
            "00000.rejected",
            "open again",
        ],
    );
    assert_eq!(
        std::fs::read(run.0.join("certificates/00000.rejected")).unwrap(),
        bytes
    );
    assert_eq!(count(&run.requirements().0, 2), infeasible);
    let (code, text) = check(&run);
    assert_eq!(code, 0, "{text}");
}

#[test]
fn what_was_proven_before_time_was_up_is_not_proven_again() {
    let bed = Bed::new();
    // Enough to prove that a second and a half do not suffice.
    let of = [
        "--criterion",
        "kmnc",
        "--sections",
        "20",
        "--seeds",
        "3",
        "--radius",
        "0.05",
    ];
    let run = bed.run("run", IMAGES, &[&of[..], &["--budget", "1.5"]].concat());
    let first = certificates(&run);
    let proven = run.summary()["requirements"]["infeasible"]
        .as_u64()
        .unwrap();
    bed.run(
        "run",
        IMAGES,
        &[&of[..], &["--budget", "6", "--resume"]].concat(),
    );
    let second = certificates(&run);
    for (name, found) in &first {
        assert!(second.get(name) == Some(found), "{name}");
    }
    let now = run.summary()["requirements"]["infeasible"]
        .as_u64()
        .unwrap();
    assert!(now >= proven, "{proven} then, {now} now");
    let (code, text) = check(&run);
    assert_eq!(code, 0, "{text}");
}
