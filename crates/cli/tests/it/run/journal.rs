//! Journals that were damaged or edited after the run, and runs that never got one.

use std::process::Output;

use super::bed::{Bed, Left, TABLE, assert_same, assert_says, replay, said};

/// A run of some rounds.
const RUN: [&str; 8] = [
    "--criterion",
    "kmnc",
    "--sections",
    "300",
    "--seeds",
    "3",
    "--max-executions",
    "3000",
];

/// Bytes before the contents of a frame: mark, number, length, checksum.
const HEAD: usize = 16;

fn resume(bed: &Bed, out: &str, more: &[&str]) -> Output {
    let flags = [&RUN[..], &["--resume"], more].concat();
    bed.command(out, TABLE, &flags).output().unwrap()
}

/// Where each frame starts, the settings first, and the end of the last.
fn frames(journal: &[u8]) -> Vec<usize> {
    let mut starts = vec![8];
    while let Some(&at) = starts.last()
        && at < journal.len()
    {
        let length: [u8; 4] = journal[at + 8..at + 12].try_into().unwrap();
        starts.push(at + HEAD + u32::from_le_bytes(length) as usize);
    }
    starts
}

/// Makes the checksum of a frame right again.
fn sign(journal: &mut [u8], start: usize, end: usize) {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&journal[start + 4..start + 12]);
    hasher.update(&journal[start + HEAD..end]);
    journal[start + 12..start + HEAD].copy_from_slice(&hasher.finalize().to_le_bytes());
}

#[test]
fn a_journal_damaged_in_the_middle_is_refused_and_what_is_lost_can_be_given_up() {
    let bed = Bed::new();
    let whole = bed.run("whole", TABLE, &RUN);
    let run = bed.run("run", TABLE, &RUN);
    let mut journal = run.bytes("journal");
    let starts = frames(&journal);
    let rounds = starts.len() - 2;
    assert!(rounds > 4, "{rounds} rounds");
    journal[starts[3] + HEAD + 9] ^= 1;
    std::fs::write(run.0.join("journal"), &journal).unwrap();
    let refused = resume(&bed, "run", &[]);
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    let after = format!("{} rounds after that", rounds - 3);
    let parts = [
        "damaged",
        "2 rounds before it are good",
        &after,
        "--accept-loss",
    ];
    assert_says(&said(&refused), &parts);
    assert_eq!(
        run.bytes("journal"),
        journal,
        "nothing is changed by looking"
    );
    let accepted = resume(&bed, "run", &["--accept-loss"]);
    assert_eq!(accepted.status.code(), Some(0), "{}", said(&accepted));
    assert_eq!(run.bytes("journal.damaged"), journal);
    assert_same(&whole, &run);
    assert_eq!(replay(&run, &[]).0, 0);
}

#[test]
fn numbers_of_a_journal_are_checked_before_they_are_used() {
    let bed = Bed::new();
    let run = bed.run("run", TABLE, &RUN);
    let journal = run.bytes("journal");
    let starts = frames(&journal);
    let mut random = deepconcolic_testing::Random::new(12);
    let mut below = |end: usize| (random.between(0.0, 1.0) * end as f64) as usize;
    let (mut refused, mut accepted) = (0, 0);
    for _ in 0..40 {
        let mut bytes = journal.clone();
        let frame = 1 + below(starts.len() - 2);
        let (start, end) = (starts[frame], starts[frame + 1]);
        for _ in 0..=below(3) {
            let at = start + HEAD + below(end - start - HEAD);
            bytes[at] = [0, 1, 0x7f, 0x80, 0xff][below(5)];
        }
        sign(&mut bytes, start, end);
        std::fs::write(run.0.join("journal"), &bytes).unwrap();
        let output = resume(&bed, "run", &[]);
        let words = said(&output);
        assert!(
            !words.contains("panicked") && !words.contains("internal"),
            "{words}"
        );
        match output.status.code() {
            Some(0) => accepted += 1,
            Some(2) => refused += 1,
            other => panic!("{other:?}: {words}"),
        }
    }
    // Some bytes were what they are now; times may be any.
    assert!(refused > 20, "{refused} refused, {accepted} accepted");
}

#[test]
fn a_root_that_is_no_seed_is_named() {
    let bed = Bed::new();
    let run = bed.run("run", TABLE, &RUN);
    let mut journal = run.bytes("journal");
    let starts = frames(&journal);
    // Stage, seconds, four counts, the number of tests, and where the first comes from, as text.
    let tests = HEAD + 1 + 8 + 4 * 8;
    let root = tests + 4 + 4 + b"{\"root\":".len();
    let has_test = |&&start: &&usize| journal[start + tests] > 0;
    let start = *starts[1..starts.len() - 1].iter().find(has_test).unwrap();
    let end = starts[starts.iter().position(|&s| s == start).unwrap() + 1];
    journal[start + root] = b'7';
    sign(&mut journal, start, end);
    std::fs::write(run.0.join("journal"), &journal).unwrap();
    let refused = resume(&bed, "run", &[]);
    assert_eq!(refused.status.code(), Some(2));
    assert_says(
        &said(&refused),
        &["seed 7 is named as a root, and there are 3"],
    );
}

#[test]
fn a_run_killed_before_its_journal_was_there_can_be_resumed_or_started() {
    let bed = Bed::new();
    let whole = bed.run("whole", TABLE, &RUN);
    for more in [&["--resume"][..], &[]] {
        let out = format!("killed-{}", more.len());
        let run = Left(bed.path(&out));
        std::fs::create_dir(&run.0).unwrap();
        std::fs::write(run.0.join("lock"), "").unwrap();
        std::fs::write(run.0.join(".journal.77-0.tmp"), "dcj").unwrap();
        bed.run(&out, TABLE, &[&RUN[..], more].concat());
        assert_same(&whole, &run);
        assert!(!run.has(".journal.77-0.tmp"));
    }
}

#[test]
fn temporaries_of_a_killed_run_are_gone_after_a_resume() {
    let bed = Bed::new();
    let run = bed.run("run", TABLE, &RUN);
    std::fs::create_dir_all(run.0.join("certificates")).unwrap();
    let left = [
        ".suite.npz.77-1.tmp",
        "certificates/.00000.certificate.77-2.tmp",
    ];
    for name in left {
        std::fs::write(run.0.join(name), "half").unwrap();
    }
    assert_eq!(resume(&bed, "run", &[]).status.code(), Some(0));
    for name in left {
        assert!(!run.has(name), "{name}");
    }
}
