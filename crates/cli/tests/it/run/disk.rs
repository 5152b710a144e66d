//! A disk that fills up: a message, no panic, and the run goes on once there is room.

#![cfg(unix)]

use std::process::{Command, Output};

use super::bed::{Bed, IMAGES, Left, assert_same, assert_says, replay, said};

const RUN: [&str; 8] = [
    "--criterion",
    "kmnc",
    "--sections",
    "10",
    "--seeds",
    "2",
    "--max-executions",
    "3000",
];

/// The run, where no file may become longer than this.
fn cramped(bed: &Bed, out: &str, kilobytes: u64) -> Output {
    let run = bed.command(out, IMAGES, &RUN);
    let mut shell = Command::new("bash");
    // Ignored, the signal becomes an error of the write, as it is on a full disk.
    let line = "trap '' XFSZ; ulimit -f \"$0\"; exec \"$@\"";
    shell.args(["-c", line, &kilobytes.to_string()]);
    shell.arg(run.get_program()).args(run.get_args());
    shell.current_dir(run.get_current_dir().unwrap());
    shell.output().unwrap()
}

#[test]
fn a_full_disk_is_said_and_nothing_is_lost() {
    let bed = Bed::new();
    let whole = bed.run("whole", IMAGES, &RUN);
    let journal = whole.bytes("journal").len() as u64 / 1024;
    // Room for a part of the journal, for half of it, and for not even its first lines.
    for (number, room) in [journal / 4, journal / 2, 1].into_iter().enumerate() {
        let out = format!("full-{number}");
        let output = cramped(&bed, &out, room);
        let message = said(&output);
        assert_eq!(output.status.code(), Some(2), "{room} kB: {message}");
        assert_says(&message, &["error: ", "File too large"]);
        assert!(!message.contains("panicked"), "{message}");
        let run = Left(bed.path(&out));
        assert!(!run.has("run.json"));
        let resume: &[&str] = if run.has("journal") {
            &["--resume"]
        } else {
            &[]
        };
        let run = bed.run(&out, IMAGES, &[&RUN[..], resume].concat());
        assert_same(&whole, &run);
        assert_eq!(replay(&run, &[]).0, 0);
    }
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let bed = Bed::new();
    bed.file("file", "not a folder");
    let output = bed.command("file/run", IMAGES, &RUN).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_says(&said(&output), &["error: ", "file/run"]);
}
