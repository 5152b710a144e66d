//! `run --partition i/n` and `merge`: parts are checked like runs, and joined they are one.

use std::collections::BTreeMap;
use std::fs;
use std::process::Output;

use deepconcolic_dataset::arrays::NpzReader;

use super::bed::{Bed, Left, TABLE, assert_same, assert_says, check, deepconcolic, replay, said};

const COVERED: u8 = 1;
const INFEASIBLE: u8 = 2;
const NOT_REQUIRED: u8 = 3;

/// Requirements of a file: some can be met, some cannot, one speaks of two inputs.
const FILE: &str = "exists x: u[x][2,0] > 0\nexists x: u[x][2,1] < 0\nexists x: u[x][2,0] > 1000\n\
                    exists x: v[x][3,0] > 0\nexists x: v[x][3,1] < -1\nexists x: u[x][3,1] >= 0\n";

fn merge(bed: &Bed, out: &str, parts: &[&Left]) -> Output {
    let mut command = deepconcolic(&["merge", &bed.name(out)]);
    command.args(parts.iter().map(|part| &part.0));
    command.output().unwrap()
}

/// A merge that ends well, passes `check`, and replays.
fn merged(bed: &Bed, out: &str, parts: &[&Left]) -> Left {
    let output = merge(bed, out, parts);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let run = Left(bed.path(out));
    let (code, text) = check(&run, &[]);
    assert_eq!(code, 0, "{text}");
    let (code, text) = replay(&run, &[]);
    assert_eq!(code, 0, "{text}");
    run
}

/// A part that passes `check`, and says which it is.
fn part(bed: &Bed, part: &str, flags: &[&str]) -> Left {
    let out = part.replace('/', "of");
    let flags = [flags, &["--partition", part]].concat();
    let run = bed.run(&out, TABLE, &flags);
    let summary = run.summary();
    assert_eq!(summary["partition"], part);
    assert_eq!(summary["settings"]["partition"], part);
    let (code, text) = check(&run, &[]);
    assert_eq!(code, 0, "{text}");
    assert_says(&text, &[&format!("part {part}: ")]);
    run
}

/// Rows of `requirements.npz` by what they stand for.
fn states(run: &Left) -> BTreeMap<Vec<i64>, u8> {
    let mut file = NpzReader::open(&run.0.join("requirements.npz")).unwrap();
    let states = file.read::<u8>("state").unwrap().values;
    let columns: Vec<Vec<i64>> = ["layer", "i", "layer2", "j"]
        .into_iter()
        .filter(|name| file.shape("layer2").is_some() && file.shape(name).is_some())
        .collect::<Vec<_>>()
        .into_iter()
        .map(|name| file.read::<i64>(name).unwrap().values)
        .collect();
    let key = |row: usize| match columns.as_slice() {
        [] => vec![row as i64],
        columns => columns.iter().map(|column| column[row]).collect(),
    };
    let rows = states.iter().enumerate();
    rows.map(|(row, &state)| (key(row), state)).collect()
}

/// The union of what parts covered and proved is what the whole covers and proves. More is covered only
/// where a test of one part meets what another was to look for.
fn assert_union(whole: &Left, parts: &[&Left]) {
    let all = states(whole);
    let mut union: BTreeMap<Vec<i64>, u8> = BTreeMap::new();
    for part in parts {
        for (key, state) in states(part) {
            assert!(all.contains_key(&key), "{key:?}");
            if [COVERED, INFEASIBLE].contains(&state) {
                let known = union.insert(key.clone(), state);
                assert!(known.is_none_or(|known| known == state), "{key:?}");
            }
        }
    }
    for (key, state) in &union {
        assert_eq!(all[key], *state, "{key:?}");
    }
    for (key, &state) in &all {
        assert_ne!(state, NOT_REQUIRED);
        if state == INFEASIBLE {
            assert_eq!(union.get(key), Some(&INFEASIBLE), "{key:?}");
        }
    }
}

/// Sums of `run.json`.
fn executions(run: &Left) -> [u64; 4] {
    let work = &run.summary()["executions"];
    ["forward", "vjp", "lp", "nodes"].map(|name| work[name].as_u64().unwrap())
}

#[test]
fn parts_joined_are_one_run_whatever_their_order() {
    let bed = Bed::new();
    let file = bed.file("own.dr", FILE);
    let subjects = [
        vec!["--criterion", "nc", "--seeds", "2", "--radius", "0.05"],
        vec!["--criterion", "ssc", "--seeds", "2", "--radius", "0.1"],
        vec!["--requirements", &file, "--seeds", "2", "--radius", "0.1"],
    ];
    for (number, flags) in subjects.iter().enumerate() {
        for of in [2, 3] {
            let bed = Bed::new();
            let parts: Vec<Left> = (1..=of)
                .map(|i| part(&bed, &format!("{i}/{of}"), flags))
                .collect();
            let parts: Vec<&Left> = parts.iter().collect();
            let whole = merged(&bed, "whole", &parts);
            assert_union(&whole, &parts);
            // What parts show of a box is one certificate: there are two seeds.
            let shown: usize = parts.iter().map(|part| certificates(part).len()).sum();
            assert!(certificates(&whole).len() <= shown.min(2), "{number}");
            assert_eq!(shown == 0, certificates(&whole).is_empty(), "{number}");
            let total = |run: &Left| run.summary()["requirements"]["total"].as_u64().unwrap();
            let sum: u64 = parts.iter().map(|part| total(part)).sum();
            assert_eq!(total(&whole), sum, "{number}");
            let mut sums = [0; 4];
            for part in &parts {
                let work = executions(part);
                (0..4).for_each(|i| sums[i] += work[i]);
            }
            assert_eq!(executions(&whole), sums);
            assert_eq!(whole.summary()["stop"], "complete");
            let reversed: Vec<&Left> = parts.iter().rev().copied().collect();
            let other = merged(&bed, "other", &reversed);
            assert_same(&whole, &other);
            assert_eq!(certificates(&whole), certificates(&other));
        }
    }
}

fn certificates(run: &Left) -> BTreeMap<String, Vec<u8>> {
    let Ok(entries) = fs::read_dir(run.0.join("certificates")) else {
        return BTreeMap::new();
    };
    let entries = entries.map(|entry| entry.unwrap());
    entries
        .map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, fs::read(entry.path()).unwrap())
        })
        .collect()
}

#[test]
fn parts_of_one_split_are_disjoint_and_together_everything() {
    let bed = Bed::new();
    let flags = ["--criterion", "nc", "--seeds", "2", "--radius", "0.05"];
    let parts = ["1/3", "2/3", "3/3"].map(|name| part(&bed, name, &flags));
    let tables = parts.each_ref().map(states);
    for key in tables[0].keys() {
        let required = tables.iter().filter(|t| t[key] != NOT_REQUIRED).count();
        assert_eq!(required, 1, "{key:?}");
    }
}

#[test]
fn runs_that_overlap_are_joined_once() {
    let bed = Bed::new();
    let flags = |rng_seed| {
        let flags = ["--criterion", "nbc", "--seeds", "2", "--radius", "0.2"];
        [
            &flags[..],
            &["--max-executions", "400", "--rng-seed", rng_seed],
        ]
        .concat()
    };
    let (a, b) = (
        bed.run("a", TABLE, &flags("1")),
        bed.run("b", TABLE, &flags("2")),
    );
    let both = merged(&bed, "both", &[&a, &b]);
    assert_union(&both, &[&a, &b]);
    // Of whole runs on single inputs nothing more can be covered.
    let is_covered = |run: &Left| {
        let covered = states(run)
            .into_iter()
            .filter(|(_, state)| *state == COVERED);
        covered.map(|(key, _)| key).collect::<Vec<_>>()
    };
    let mut union = [is_covered(&a), is_covered(&b)].concat();
    union.sort();
    union.dedup();
    assert_eq!(is_covered(&both), union);
    assert_same(&merged(&bed, "thrice", &[&b, &a, &b, &a]), &both);
    // A merged folder is a part like any other.
    let again = merged(&bed, "again", &[&both, &a]);
    assert_eq!(states(&again), states(&both));
    let one = merged(&bed, "one", &[&a]);
    assert_eq!(states(&one), states(&a));
}

#[test]
fn a_run_that_was_killed_is_a_part_too_and_a_merged_one_goes_on() {
    let bed = Bed::new();
    let flags = ["--criterion", "nbc", "--seeds", "2", "--radius", "0.2"];
    let more = |rng_seed| [&flags[..], &["--rng-seed", rng_seed]].concat();
    let few = |rng_seed| [more(rng_seed), vec!["--max-executions", "300"]].concat();
    let (a, b) = (
        bed.run("a", TABLE, &few("1")),
        bed.run("b", TABLE, &few("2")),
    );
    let before = merged(&bed, "before", &[&a, &b]);
    for file in ["run.json", "suite.npz", "requirements.npz", "statement.md"] {
        fs::remove_file(b.0.join(file)).unwrap();
    }
    let journal = b.bytes("journal");
    fs::write(b.0.join("journal"), &journal[..journal.len() - 3]).unwrap();
    let after = merged(&bed, "after", &[&a, &b]);
    assert_says(&after.summary()["notes"].to_string(), &["killed"]);
    // Nothing was changed by looking.
    assert_eq!(b.bytes("journal"), journal[..journal.len() - 3]);
    let resumed = bed.run("before", TABLE, &[more("1"), vec!["--resume"]].concat());
    let (code, text) = check(&resumed, &[]);
    assert_eq!(code, 0, "{text}");
    assert_eq!(resumed.0, before.0);
    assert_eq!(resumed.summary()["stop"], "complete");
}

#[test]
fn what_is_no_part_of_the_same_job_is_refused_by_name() {
    let bed = Bed::new();
    let flags = ["--criterion", "nc", "--seeds", "2", "--radius", "0.05"];
    let a = bed.run("a", TABLE, &flags);
    let refused = |parts: &[&Left], words: &[&str]| {
        let output = merge(&bed, "refused", parts);
        let errors = said(&output);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
        assert_says(&errors, words);
        assert!(!bed.path("refused").exists());
    };
    let sigmoid = [
        "testdata/sigmoid.onnx",
        "--data",
        "testdata/data_sigmoid.npz",
    ];
    let other = bed.run("model", sigmoid, &flags);
    refused(&[&a, &other], &["no part of the same job", "model.sha256"]);
    let with = |out: &str, from: &str, to: &str| {
        let flags: Vec<&str> = flags.map(|f| if f == from { to } else { f }).into();
        bed.run(out, TABLE, &flags)
    };
    refused(&[&a, &with("criterion", "nc", "ssc")], &["criterion"]);
    refused(&[&a, &with("radius", "0.05", "0.06")], &["radius"]);
    refused(&[&a, &with("seeds", "2", "3")], &["seeds"]);
    refused(&[&a, &Left(bed.path("nothing"))], &["no run to merge"]);
    let output = merge(&bed, "a", &[&a]);
    assert_eq!(output.status.code(), Some(2));
    assert_says(
        &said(&output),
        &["already holds a run", "`deepconcolic resume`"],
    );
    let nothing = deepconcolic(&["resume", &bed.name("nothing")])
        .output()
        .unwrap();
    assert_says(
        &said(&nothing),
        &["no run to resume; `deepconcolic run` starts one"],
    );
    let (code, text) = check(&a, &[]);
    assert_eq!(code, 0, "{text}");
}

#[test]
fn a_part_that_says_what_is_not_so_is_refused() {
    let bed = Bed::new();
    let flags = [
        "--criterion",
        "nc",
        "--seeds",
        "1",
        "--radius",
        "0.01",
        "--no-proofs",
    ];
    let run = bed.run(
        "a",
        TABLE,
        &[&flags[..], &["--max-executions", "400"]].concat(),
    );
    let (state, _) = run.requirements();
    let open = state
        .iter()
        .position(|&state| state == 0)
        .expect("something is open");
    super::bed::change(&run, "requirements.npz", "state", |states| {
        states[open] = 1.0;
    });
    let output = merge(&bed, "refused", &[&run]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert_says(
        &said(&output),
        &["covered, and nothing in the folder shows it"],
    );
    assert!(!bed.path("refused").exists());
}

#[test]
fn a_partition_that_is_none_is_refused() {
    let bed = Bed::new();
    for text in ["0/2", "3/2", "2", "a/b", "1/0"] {
        let output = bed.command("out", TABLE, &["--criterion", "nc", "--partition", text]);
        let output = { output }.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert_says(&said(&output), &["i/n"]);
    }
}
