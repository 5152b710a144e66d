//! `eval`: runs a model on data.

use std::path::PathBuf;

use clap::Args;
use deepconcolic::EvalJob;
use deepconcolic_dataset::write;
use deepconcolic_report::{EvaluationReport, Text, json};

use crate::arguments::{DataArguments, DecisionArguments, ModelArguments, ThreadArguments};
use crate::exit::{Failure, Status, tell_notes};
use crate::{Outcome, exit};

/// Run a model on data and write its answers, or the neurons of one layer, as a .npy file
#[derive(Args)]
pub struct Eval {
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    data: DataArguments,
    #[command(flatten)]
    decision: DecisionArguments,
    /// The .npy file to write: one row a sample
    #[arg(short, long, value_name = "Y.npy", help_heading = "Output")]
    out: PathBuf,
    /// Write this output of the model (default: the first floating-point one)
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with = "layer",
        help_heading = "What to write"
    )]
    output: Option<String>,
    /// Write this hidden layer, by name or by number (the input is layer 1), after its activation
    #[arg(long, value_name = "NAME", help_heading = "What to write")]
    layer: Option<String>,
    /// With --layer: write its pre-activations u
    #[arg(long, requires = "layer", help_heading = "What to write")]
    pre: bool,
    #[command(flatten)]
    threads: ThreadArguments,
    /// Print one JSON object instead of text
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl Eval {
    /// Runs, writes, and says what was done.
    pub fn run(&self) -> Outcome {
        let folder = self.out.parent().filter(|f| !f.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            return Err(Failure::Usage(format!(
                "cannot write {}: there is no folder {}; make it first",
                self.out.display(),
                folder.display()
            )));
        }
        let job = EvalJob {
            model: self.model.settings()?,
            data: self.data.settings(),
            decision: self.decision.decision,
            output: self.output.clone(),
            layer: self.layer.clone(),
            pre: self.pre,
        };
        let evaluation = self
            .threads
            .run(|| job.run(&mut |event| tell_notes(&event)))??;
        write::write_npy(&self.out, &evaluation.shape, &evaluation.values)
            .map_err(deepconcolic::Error::from)?;
        let report = EvaluationReport::of(&evaluation, &self.out);
        let mut out = exit::output_beside([self.out.as_path()]);
        if self.json {
            json(&report, &mut out)?;
        } else {
            report.text(&mut out)?;
        }
        Ok(Status::Done)
    }
}
