//! Runs that are killed, interrupted or out of time end like one that never was, once resumed.

use std::process::{Child, Command, Stdio};

use super::bed::{Bed, IMAGES, Left, assert_same, assert_says, moment, replay, said};

/// A run of some dozens of rounds.
const LONG: [&str; 8] = [
    "--criterion",
    "kmnc",
    "--sections",
    "20",
    "--seeds",
    "3",
    "--max-executions",
    "4000",
];

/// Starts the run in the background.
fn start(bed: &Bed, out: &str, more: &[&str]) -> Child {
    let mut command = bed.command(out, IMAGES, &[&LONG[..], more].concat());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// Waits until a journal has so many bytes, or the process has ended.
fn wait_for_bytes(child: &mut Child, run: &Left, bytes: u64) {
    let length = || std::fs::metadata(run.0.join("journal")).map_or(0, |m| m.len());
    while length() < bytes && child.try_wait().unwrap().is_none() {
        moment();
    }
}

fn kill(mut child: Child) {
    // SIGKILL; a process that has ended already is fine.
    let _ = child.kill();
    child.wait().unwrap();
}

/// Resumes, or starts anew where there is nothing to resume.
fn finish(bed: &Bed, out: &str) -> Left {
    let begun = Left(bed.path(out)).has("journal");
    let resume: &[&str] = if begun { &["--resume"] } else { &[] };
    bed.run(out, IMAGES, &[&LONG[..], resume].concat())
}

fn uninterrupted(bed: &Bed) -> (Left, u64) {
    let run = bed.run("whole", IMAGES, &LONG);
    let bytes = run.bytes("journal").len() as u64;
    (run, bytes)
}

#[test]
fn killed_anywhere_a_run_ends_as_if_nothing_had_happened() {
    const KILLS: u64 = 12;
    let bed = Bed::new();
    let (whole, bytes) = uninterrupted(&bed);
    let mut halfway = 0;
    for number in 0..KILLS {
        let out = format!("killed-{number}");
        let run = Left(bed.path(&out));
        let mut child = start(&bed, &out, &[]);
        wait_for_bytes(&mut child, &run, 1 + bytes * number / KILLS);
        kill(child);
        if !run.has("run.json") {
            halfway += 1;
            let (code, message) = replay(&run, &[]);
            assert_eq!(code, 2, "{message}");
            assert_says(&message, &["not ended", "--resume"]);
        }
        let run = finish(&bed, &out);
        assert_same(&whole, &run);
        let (code, text) = replay(&run, &[]);
        assert_eq!(code, 0, "{text}");
    }
    assert!(
        halfway > KILLS / 2,
        "{halfway} of {KILLS} were killed halfway"
    );
}

#[test]
fn killed_again_and_again_it_still_ends_the_same() {
    let bed = Bed::new();
    let (whole, bytes) = uninterrupted(&bed);
    let run = Left(bed.path("often"));
    for number in 0..6 {
        let more: &[&str] = if run.has("journal") {
            &["--resume"]
        } else {
            &[]
        };
        let mut child = start(&bed, "often", more);
        wait_for_bytes(&mut child, &run, bytes * number / 6);
        kill(child);
    }
    assert_same(&whole, &finish(&bed, "often"));
}

#[test]
fn killed_while_it_starts_or_saves_it_ends_the_same() {
    let bed = Bed::new();
    let (whole, _) = uninterrupted(&bed);
    // At once, as soon as there is a folder, a profile, a suite, a table, pictures.
    for file in [
        "",
        "lock",
        "profile.npz",
        "suite.npz",
        "requirements.npz",
        "adversarial",
    ] {
        let out = format!("killed-at-{file}");
        let run = Left(bed.path(&out));
        let mut child = start(&bed, &out, &[]);
        while !file.is_empty() && !run.has(file) && child.try_wait().unwrap().is_none() {
            moment();
        }
        kill(child);
        let run = finish(&bed, &out);
        assert_same(&whole, &run);
        assert_eq!(replay(&run, &[]).0, 0, "{file}");
        let names = std::fs::read_dir(&run.0).unwrap();
        for name in names.map(|entry| entry.unwrap().file_name()) {
            assert!(
                !name.to_string_lossy().starts_with('.'),
                "{name:?} was left"
            );
        }
    }
}

#[test]
fn a_run_killed_before_its_profile_was_there_can_be_replayed_in_the_end() {
    let bed = Bed::new();
    let (whole, _) = uninterrupted(&bed);
    // What a kill between the journal and the profile leaves.
    std::fs::remove_file(whole.0.join("profile.npz")).unwrap();
    std::fs::remove_file(whole.0.join("run.json")).unwrap();
    assert_eq!(replay(&finish(&bed, "whole"), &[]).0, 0);
}

#[test]
fn ctrl_c_saves_and_resuming_ends_the_same() {
    let bed = Bed::new();
    let (whole, bytes) = uninterrupted(&bed);
    for (number, out) in ["early", "late"].into_iter().enumerate() {
        let run = Left(bed.path(out));
        let mut child = start(&bed, out, &[]);
        wait_for_bytes(&mut child, &run, 1 + bytes / 2 * number as u64);
        let id = child.id().to_string();
        let sent = Command::new("kill").args(["-INT", &id]).status().unwrap();
        assert!(sent.success());
        let code = child.wait().unwrap().code();
        let summary = run.summary();
        if code == Some(0) {
            // It was done before the signal came.
            assert_eq!(summary["stop"], "executions");
            continue;
        }
        assert_eq!(code, Some(130));
        assert_eq!(summary["stop"], "interrupted");
        let (code, text) = replay(&run, &[]);
        assert_eq!(code, 0, "{text}");
        // Killed while it replaces what it saved then, it does not claim the mixture.
        let mut child = start(&bed, out, &["--resume"]);
        while run.has("run.json") && child.try_wait().unwrap().is_none() {
            moment();
        }
        kill(child);
        let expected = if run.has("run.json") { 0 } else { 2 };
        assert_eq!(replay(&run, &[]).0, expected);
        assert_same(&whole, &finish(&bed, out));
    }
}

#[test]
fn a_run_out_of_time_goes_on_where_it_was() {
    let bed = Bed::new();
    let (whole, _) = uninterrupted(&bed);
    let short = |more: &[&str]| {
        let flags = [&LONG[..], &["--budget", "0.15"], more].concat();
        bed.run("short", IMAGES, &flags)
    };
    let run = short(&[]);
    let first = run.suite().rows.len();
    assert_eq!(replay(&run, &[]).0, 0);
    // No time is left; what was recorded stays. Seeds alone are not recorded.
    let run = short(&["--resume"]);
    let seeds = run.summary()["settings"]["seeds"].as_array().unwrap().len();
    assert!(run.suite().rows.len() >= first || first <= seeds);
    assert_eq!(replay(&run, &[]).0, 0);
    assert_same(&whole, &finish(&bed, "short"));
    // Resuming what is complete changes nothing.
    assert_same(&whole, &finish(&bed, "short"));
}

#[test]
fn two_runs_cannot_share_a_folder() {
    let bed = Bed::new();
    let run = Left(bed.path("shared"));
    let unending = ["--max-executions", "1000000"];
    let flags = [&LONG[..6], &unending[..]].concat();
    let mut command = bed.command("shared", IMAGES, &flags);
    let mut child = command
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_for_bytes(&mut child, &run, 1);
    for resume in [&[][..], &["--resume"]] {
        let more = [&flags[..], resume].concat();
        let second = bed.command("shared", IMAGES, &more).output().unwrap();
        assert_eq!(second.status.code(), Some(2), "{}", said(&second));
        assert_says(
            &said(&second),
            &["in use by another run", "give another folder"],
        );
    }
    assert!(child.try_wait().unwrap().is_none(), "the first one goes on");
    kill(child);
}
