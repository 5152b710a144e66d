//! What the tests share: a folder to work in, the command, and what it wrote.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use deepconcolic_dataset::arrays::{Element, NpzReader};
use deepconcolic_dataset::write::NpzWriter;
use serde_json::Value;
use tempfile::TempDir;

/// The network and images of the demo.
pub const IMAGES: [&str; 3] = [
    "testdata/demo/fashion_cnn.onnx",
    "--data",
    "testdata/demo/fashion_test.npz",
];
/// A network and data of four measurements.
pub const TABLE: [&str; 3] = ["testdata/mlp.onnx", "--data", "testdata/data_mlp.npz"];

/// Elements of an image of the demo.
pub const PIXELS: usize = 28 * 28;

/// A folder that is gone after the test.
pub struct Bed(TempDir);

impl Bed {
    pub fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A path as an argument.
    pub fn name(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// A file, and its path as an argument.
    pub fn file(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).unwrap();
        self.name(name)
    }

    /// The command `run` into a folder of this one.
    pub fn command(&self, out: &str, subject: [&str; 3], more: &[&str]) -> Command {
        let mut command = deepconcolic(&["run"]);
        command.args(subject).args(["--out", &self.name(out)]);
        command.args(more);
        command
    }

    /// A run that ends well; what it left.
    pub fn run(&self, out: &str, subject: [&str; 3], more: &[&str]) -> Left {
        let output = self.command(out, subject, more).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{more:?}: {}", said(&output));
        Left(self.path(out))
    }

    /// What was said by a run that is refused, has written nothing and printed nothing else.
    pub fn refusal(&self, subject: [&str; 3], more: &[&str]) -> String {
        let output = self.command("refused", subject, more).output().unwrap();
        let errors = said(&output);
        assert_eq!(output.status.code(), Some(2), "{more:?}: {errors}");
        assert!(errors.starts_with("error: "), "{more:?}: {errors}");
        assert!(output.stdout.is_empty(), "{more:?}");
        assert!(!self.path("refused").exists(), "{more:?} has written");
        errors
    }
}

/// The command, in the project's folder.
pub fn deepconcolic(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_deepconcolic"));
    command
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .args(arguments)
        .stdin(Stdio::null());
    command
}

/// Standard error.
pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Exit code and standard output of a replay.
pub fn replay(run: &Left, more: &[&str]) -> (i32, String) {
    let folder = run.0.to_str().unwrap();
    let output = deepconcolic(&[&["replay", folder], more].concat())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap() + &said(&output);
    (output.status.code().unwrap(), text)
}

/// Exit code and output of `check`.
pub fn check(run: &Left, more: &[&str]) -> (i32, String) {
    let folder = run.0.to_str().unwrap();
    let output = deepconcolic(&[&["check", folder], more].concat())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap() + &said(&output);
    (output.status.code().unwrap(), text)
}

pub fn assert_says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
}

/// Writes an array file again with one array changed.
pub fn change(run: &Left, file: &str, array: &str, edit: impl Fn(&mut Vec<f64>)) {
    fn copy<T: Element + Copy>(
        from: &mut NpzReader,
        to: &mut NpzWriter,
        name: &str,
        edit: impl Fn(Vec<T>) -> Vec<T>,
    ) {
        let array = from.read::<T>(name).unwrap();
        to.add(name, &array.shape, &edit(array.values)).unwrap();
    }
    let path = run.0.join(file);
    let mut from = NpzReader::open(&path).unwrap();
    let mut to = NpzWriter::create(&path).unwrap();
    let names: Vec<String> = from.names().map(str::to_owned).collect();
    for name in names {
        let edited = |values: Vec<f64>| {
            let mut values = values;
            if name == array {
                edit(&mut values);
            }
            values
        };
        match name.as_str() {
            "reference_distance" => copy::<f64>(&mut from, &mut to, &name, edited),
            "x" | "unmeasured" | "distance" | "bound" | "confidence" | "low" | "high" => {
                copy::<f32>(&mut from, &mut to, &name, |values| {
                    let wide = values.into_iter().map(f64::from).collect();
                    edited(wide).into_iter().map(|v| v as f32).collect()
                });
            }
            "stage" | "verdict" | "state" => copy::<u8>(&mut from, &mut to, &name, |values| {
                let wide = values.into_iter().map(f64::from).collect();
                edited(wide).into_iter().map(|v| v as u8).collect()
            }),
            _ => copy::<i64>(&mut from, &mut to, &name, |values| {
                let wide = values.into_iter().map(|v| v as f64).collect();
                edited(wide).into_iter().map(|v| v as i64).collect()
            }),
        }
    }
    to.finish().unwrap();
}

/// How often a number is in a list.
pub fn count(list: &[u8], number: u8) -> usize {
    list.iter().map(|&n| usize::from(n == number)).sum()
}

/// A moment between two looks at what a process has done.
pub fn moment() {
    std::thread::sleep(Duration::from_millis(1));
}

/// The folder of a run.
#[derive(Clone)]
pub struct Left(pub PathBuf);

impl Left {
    pub fn bytes(&self, file: &str) -> Vec<u8> {
        std::fs::read(self.0.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"))
    }

    pub fn has(&self, file: &str) -> bool {
        self.0.join(file).exists()
    }

    /// `run.json`.
    pub fn summary(&self) -> Value {
        serde_json::from_slice(&self.bytes("run.json")).unwrap()
    }

    /// `suite.npz`.
    pub fn suite(&self) -> Suite {
        let mut file = NpzReader::open(&self.0.join("suite.npz")).unwrap();
        let x = file.read::<f32>("x").unwrap();
        let parent = file.read::<i64>("parent").unwrap().values;
        let elements = x.shape[1..].iter().product();
        Suite {
            seeds: parent.iter().filter(|&&p| p < 0).count(),
            rows: x.values.chunks(elements).map(<[f32]>::to_vec).collect(),
            shape: x.shape,
            root: file.read("root").unwrap().values,
            parent,
            stage: file.read("stage").unwrap().values,
            distance: file.read("distance").unwrap().values,
            label: file.read("label").unwrap().values,
            reference: file.read("reference").unwrap().values,
            verdict: file.read("verdict").unwrap().values,
        }
    }

    /// State and test of each row of `requirements.npz`.
    pub fn requirements(&self) -> (Vec<u8>, Vec<i64>) {
        let mut file = NpzReader::open(&self.0.join("requirements.npz")).unwrap();
        let state = file.read("state").unwrap().values;
        (state, file.read("test").unwrap().values)
    }
}

/// A saved suite.
pub struct Suite {
    pub seeds: usize,
    pub rows: Vec<Vec<f32>>,
    pub shape: Vec<usize>,
    pub root: Vec<i64>,
    pub parent: Vec<i64>,
    pub stage: Vec<u8>,
    pub distance: Vec<f32>,
    pub label: Vec<i64>,
    pub reference: Vec<i64>,
    pub verdict: Vec<u8>,
}

impl Suite {
    /// Every generated test with its number and root.
    pub fn generated(&self) -> impl Iterator<Item = (usize, &[f32], &[f32])> {
        (self.seeds..self.rows.len()).map(|test| {
            let is_root = |&seed: &usize| self.root[seed] == self.root[test];
            let root = (0..self.seeds).find(is_root).expect("a root in the suite");
            (test, self.rows[test].as_slice(), self.rows[root].as_slice())
        })
    }
}

/// `run.json` without what may differ between two runs that did the same: times and the command.
pub fn timeless(summary: &Value) -> Value {
    let mut summary = summary.clone();
    let fields = summary.as_object_mut().unwrap();
    fields.remove("time_s").expect("times");
    for name in ["command", "date", "files"] {
        fields.remove(name).expect(name);
    }
    summary
}

/// Two runs that did the same left the same.
pub fn assert_same(a: &Left, b: &Left) {
    for file in ["suite.npz", "requirements.npz"] {
        assert!(a.bytes(file) == b.bytes(file), "{file} differs");
    }
    assert_eq!(timeless(&a.summary()), timeless(&b.summary()));
}
