//! kill -9 at random moments of a run: resumed, it ends like one that was never killed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::command::program;
use crate::error::BenchError;
use crate::rng::Rng;
use crate::verdict::Verdict;

const KILLS: usize = 50;
/// The demo's network and images.
const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/demo");
/// What is run.
const FLAGS: &str = "--criterion kmnc --sections 20 --seeds 3 --max-executions 8000";

/// Kills, resumes and compares.
pub fn run() -> Result<Vec<Verdict>, BenchError> {
    println!("\n== kill -9 at {KILLS} random moments of a run: {FLAGS}");
    let place = tempfile::tempdir()?;
    let stage = Stage {
        program: program()?,
        place: place.path().to_owned(),
    };
    let started = Instant::now();
    stage.finish("whole")?;
    let lasted = started.elapsed();
    let whole = stage.ending("whole")?;
    let mut rng = Rng::new(9);
    let (mut equal, mut early, mut done) = (0, 0, 0);
    for number in 0..KILLS {
        let name = format!("run-{number}");
        let after = lasted.mul_f32(rng.uniform(0.0, 1.0));
        let ended = stage.kill(&name, after)?;
        done += usize::from(ended);
        early += usize::from(!stage.has(&name, "journal"));
        stage.finish(&name)?;
        let same = stage.ending(&name)? == whole;
        if !same {
            println!("run {number}, killed after {after:?}, ended otherwise");
        }
        equal += usize::from(same);
        fs::remove_dir_all(stage.place.join(&name))?;
    }
    println!(
        "{equal} of {KILLS} end the same; {early} were killed before there was a journal, {done} had \
         ended before the kill"
    );
    let what = format!("killed at {KILLS} random moments and resumed: {equal} equal endings");
    Ok(vec![Verdict::new(what, equal == KILLS)])
}

struct Stage {
    program: PathBuf,
    place: PathBuf,
}

impl Stage {
    fn command(&self, name: &str) -> Command {
        let demo = Path::new(DEMO);
        let mut command = Command::new(&self.program);
        command.arg("run").arg(demo.join("fashion_cnn.onnx"));
        command.arg("--data").arg(demo.join("fashion_test.npz"));
        command.args(FLAGS.split(' ')).arg("--quiet");
        command.arg("--out").arg(self.place.join(name));
        if self.has(name, "journal") {
            command.arg("--resume");
        }
        command.stdin(Stdio::null());
        command
    }

    fn has(&self, name: &str, file: &str) -> bool {
        self.place.join(name).join(file).exists()
    }

    /// Starts a run and kills it; says whether it had ended before.
    fn kill(&self, name: &str, after: Duration) -> Result<bool, BenchError> {
        let mut child = self.command(name).spawn()?;
        std::thread::sleep(after);
        let ended = child.try_wait()?.is_some();
        child.kill()?;
        child.wait()?;
        Ok(ended)
    }

    /// Runs to the end, from where it was.
    fn finish(&self, name: &str) -> Result<(), BenchError> {
        let output = self.command(name).output()?;
        if output.status.success() {
            Ok(())
        } else {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(BenchError::Campaign(format!("{name}: {}", said.trim())))
        }
    }

    /// What a run left, but for times and the command.
    fn ending(&self, name: &str) -> Result<(Vec<u8>, Vec<u8>, Value), BenchError> {
        let read = |file: &str| fs::read(self.place.join(name).join(file));
        let mut summary: Value =
            serde_json::from_slice(&read("run.json")?).map_err(std::io::Error::from)?;
        if let Some(fields) = summary.as_object_mut() {
            fields.remove("time_s");
            fields.remove("command");
        }
        Ok((read("suite.npz")?, read("requirements.npz")?, summary))
    }
}
