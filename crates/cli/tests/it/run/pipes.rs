//! Paths that are no plain files, names that are no text, and readers that have read enough.

#![cfg(unix)]

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use deepconcolic_dataset::arrays::read_npy;

use super::bed::{Bed, Left, TABLE, assert_says, deepconcolic, said};

const NC: [&str; 4] = ["--criterion", "nc", "--seeds", "2"];

/// Runs a command whose output nobody reads.
fn unread(mut command: Command) -> Output {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let words = said(&output);
    assert!(
        !words.contains("panicked") && !words.contains("error"),
        "{words}"
    );
    output
}

fn fifo(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

#[test]
fn a_closed_pipe_ends_every_command_quietly_and_everything_is_written() {
    let bed = Bed::new();
    let run = Left(bed.path("run"));
    assert_eq!(
        unread(bed.command("run", TABLE, &NC)).status.code(),
        Some(0)
    );
    for file in ["suite.npz", "requirements.npz", "statement.md", "run.json"] {
        assert!(run.has(file), "{file}");
    }
    // A gate is not forgotten because nobody reads.
    let strict = [&NC[..], &["--fail-on-adversarial", "--radius", "none"]].concat();
    let heard = bed.command("heard", TABLE, &strict).output().unwrap();
    let unheard = unread(bed.command("unheard", TABLE, &strict));
    assert_eq!(heard.status.code(), unheard.status.code());
    let json = bed.name("coverage.json");
    let measure = [
        &["coverage"],
        &TABLE[..],
        &["--criterion", "nc", "--json", &json],
    ]
    .concat();
    assert_eq!(unread(deepconcolic(&measure)).status.code(), Some(0));
    assert!(bed.path("coverage.json").exists());
    let folder = bed.name("run");
    for command in [
        &["inspect", TABLE[0]][..],
        &["replay", &folder],
        &["check", &folder],
    ] {
        assert_eq!(
            unread(deepconcolic(command)).status.code(),
            Some(0),
            "{command:?}"
        );
    }
    // What is wrong with a folder is known whether or not somebody reads it.
    let mut suite = fs::read(run.0.join("run.json")).unwrap();
    let text = String::from_utf8(suite).unwrap();
    suite = text.replace("\"covered\": ", "\"covered\": 9").into_bytes();
    fs::write(run.0.join("run.json"), suite).unwrap();
    assert_eq!(
        unread(deepconcolic(&["replay", &folder])).status.code(),
        Some(1)
    );
}

#[test]
fn the_demo_with_a_closed_pipe_still_makes_its_run() {
    let bed = Bed::new();
    let output = unread(deepconcolic(&["demo", "--out", &bed.name("demo")]));
    assert_eq!(output.status.code(), Some(0));
    assert!(Left(bed.path("demo/run")).has("run.json"));
}

#[test]
fn answers_written_to_standard_output_are_all_that_is_there() {
    let bed = Bed::new();
    let eval = |out: &str| [&["eval"], &TABLE[..], &["--out", out]].concat().join("\n");
    let words = |text: String| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let call = |out: &str| {
        let words = words(eval(out));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        deepconcolic(&words).output().unwrap()
    };
    let file = bed.name("y.npy");
    assert_says(&String::from_utf8(call(&file).stdout).unwrap(), &["wrote"]);
    for name in ["/dev/stdout", "/dev/fd/1"] {
        let piped = call(name);
        assert_eq!(piped.stdout, fs::read(&file).unwrap(), "{name}");
        assert_says(&said(&piped), &["wrote"]);
    }
    // Also where standard output is a file.
    let redirected = bed.path("z.npy");
    let words = words(eval("/dev/stdout"));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let to = fs::File::create(&redirected).unwrap();
    let status = deepconcolic(&words).stdout(to).output().unwrap().status;
    assert!(status.success());
    assert_eq!(
        read_npy::<f32>(&redirected).unwrap(),
        read_npy::<f32>(Path::new(&file)).unwrap()
    );
}

#[test]
fn a_pipe_or_a_link_is_written_to_and_keeps_its_place() {
    let bed = Bed::new();
    let pipe = bed.path("pipe");
    fifo(&pipe);
    let reader = {
        let pipe = pipe.clone();
        std::thread::spawn(move || fs::read(pipe).unwrap())
    };
    let name = bed.name("pipe");
    let measure = [
        &["coverage"],
        &TABLE[..],
        &["--criterion", "nc", "--json", &name],
    ]
    .concat();
    assert!(deepconcolic(&measure).output().unwrap().status.success());
    let figures: serde_json::Value = serde_json::from_slice(&reader.join().unwrap()).unwrap();
    assert_eq!(figures["criteria"][0]["name"], "nc");
    assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
    // A link to a device, and one to a file.
    symlink("/dev/null", bed.path("null")).unwrap();
    fs::write(bed.path("real.npz"), "").unwrap();
    symlink("real.npz", bed.path("link.npz")).unwrap();
    let (null, link) = (bed.name("null"), bed.name("link.npz"));
    let save = ["--json", &null, "--save-profile", &link];
    let measure = [&["coverage"], &TABLE[..], &["--criterion", "nc"], &save].concat();
    assert!(deepconcolic(&measure).output().unwrap().status.success());
    for link in ["null", "link.npz"] {
        assert!(bed.path(link).is_symlink(), "{link}");
    }
    assert!(fs::metadata(bed.path("real.npz")).unwrap().len() > 0);
}

#[test]
fn a_run_into_what_is_no_folder_is_refused_and_changes_nothing() {
    let bed = Bed::new();
    fs::write(bed.path("file"), "mine").unwrap();
    fifo(&bed.path("pipe"));
    symlink("/dev/null", bed.path("device")).unwrap();
    symlink("nowhere", bed.path("dangling")).unwrap();
    for name in ["file", "pipe", "device", "dangling"] {
        let output = bed.command(name, TABLE, &NC).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{name}: {}", said(&output));
        assert_says(&said(&output), &["is no folder", "a new or empty one"]);
        assert_eq!(said(&output).lines().count(), 1, "{name}");
    }
    assert_eq!(fs::read(bed.path("file")).unwrap(), b"mine");
    assert!(!bed.path("nowhere").exists());
    // A link to a folder is that folder.
    fs::create_dir(bed.path("real")).unwrap();
    symlink("real", bed.path("link")).unwrap();
    bed.run("link", TABLE, &NC);
    assert!(Left(bed.path("real")).has("run.json"));
    assert!(bed.path("link").is_symlink());
}

#[test]
fn a_name_that_is_no_text_works_or_is_refused_in_one_line() {
    let bed = Bed::new();
    let odd = |name: &str| {
        let mut odd = OsString::from(bed.name(name));
        odd.push(OsStr::from_bytes(b"\xff"));
        odd
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (mut model, mut data) = (odd("model"), odd("data"));
    model.push(".onnx");
    data.push(".npz");
    fs::copy(root.join(TABLE[0]), &model).unwrap();
    fs::copy(root.join(TABLE[2]), &data).unwrap();
    // What stores no names takes any.
    let looked = deepconcolic(&["inspect"]).arg(&model).output().unwrap();
    assert!(looked.status.success(), "{}", said(&looked));
    let mut answers = odd("answers");
    answers.push(".npy");
    let mut eval = deepconcolic(&["eval", "--json"]);
    eval.arg(&model)
        .arg("--data")
        .arg(&data)
        .arg("--out")
        .arg(&answers);
    let evaluated = eval.output().unwrap();
    assert!(evaluated.status.success(), "{}", said(&evaluated));
    assert!(Path::new(&answers).exists());
    // A run stores the names of model and data: another file must not be named for them.
    for (model, data) in [
        (model.as_os_str(), OsStr::new(TABLE[2])),
        (OsStr::new(TABLE[0]), data.as_os_str()),
    ] {
        let mut run = deepconcolic(&["run"]);
        run.arg(model).arg("--data").arg(data).args(NC);
        let refused = run.arg("--out").arg(bed.path("refused")).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
        assert_says(&said(&refused), &["is not UTF-8", "\\xFF"]);
        assert_eq!(said(&refused).lines().count(), 1);
        assert!(!bed.path("refused").exists());
    }
    // The folder of a run may have any name.
    let out = odd("run");
    let mut run = deepconcolic(&["run"]);
    run.args(TABLE).args(NC).arg("--out").arg(&out);
    let made = run.output().unwrap();
    assert!(made.status.success(), "{}", said(&made));
    let left = Left(out.clone().into());
    let command = left.summary()["command"].to_string();
    assert!(command.contains("\\\\xFF"), "{command}");
    let replayed = deepconcolic(&["replay"]).arg(&out).output().unwrap();
    assert!(replayed.status.success(), "{}", said(&replayed));
    let demo = deepconcolic(&["demo", "--out"])
        .arg(odd("demo"))
        .output()
        .unwrap();
    assert_eq!(demo.status.code(), Some(2));
    assert_says(&said(&demo), &["is not UTF-8"]);
}
