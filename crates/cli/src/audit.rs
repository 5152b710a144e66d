//! `audit`: which suites find which faults of a model.

use std::path::PathBuf;

use clap::Args;
use deepconcolic::{AuditJob, notation};
use deepconcolic_report::{Busy, Text, json, write_audit};

use crate::arguments::{DataArguments, DecisionArguments, ModelArguments, ThreadArguments};
use crate::criteria::{self, CriterionArguments, SEARCH};
use crate::exit::{Failure, Status, tell_notes};
use crate::{Outcome, exit};

/// Ask whether coverage means anything for a model: seed faults, and count which suites find them
#[derive(Args)]
#[command(after_long_help = criteria::help())]
pub struct Audit {
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    data: DataArguments,
    #[command(flatten)]
    decision: DecisionArguments,
    /// Make a suite by each of these criteria (`deepconcolic criteria` explains them)
    #[arg(
        long,
        value_name = "C,D",
        value_delimiter = ',',
        default_values_t = AuditJob::CRITERIA.map(str::to_owned),
        help_heading = "What to test"
    )]
    criteria: Vec<String>,
    /// Tests of each suite
    #[arg(long, value_name = "N", default_value_t = AuditJob::TESTS, help_heading = "What to test")]
    tests: usize,
    /// Faults to seed, each in a copy of the model
    #[arg(long, value_name = "N", default_value_t = AuditJob::FAULTS, help_heading = "What to test")]
    faults: usize,
    #[command(flatten)]
    criterion_parameters: CriterionArguments,
    /// Start from the first N inputs that the network gets right
    #[arg(long, value_name = "N", default_value_t = AuditJob::SEEDS, help_heading = SEARCH)]
    seeds: usize,
    /// The domain of every input element, or NAME=LO..HI,... for each of several inputs (default: 0..1 for
    /// images, else the observed ranges)
    #[arg(
        long,
        value_name = "LO..HI",
        allow_hyphen_values = true,
        help_heading = "Input",
        hide_short_help = true
    )]
    domain: Option<String>,
    /// Stop after this time: 90, 60s, 10m or 2h
    #[arg(
        long,
        value_name = "TIME",
        default_value = "5m",
        allow_hyphen_values = true,
        help_heading = "Limits"
    )]
    budget: String,
    /// Seed of the random numbers
    #[arg(long, value_name = "S", default_value_t = 0, help_heading = SEARCH, hide_short_help = true)]
    rng_seed: u64,
    /// Write the page, the figures, the faults as models and the suites into this folder, new or empty
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    threads: ThreadArguments,
}

impl Audit {
    /// Audits and reports.
    pub fn run(&self) -> Outcome {
        let job = self.job()?;
        let busy = Busy::with(format!("auditing {}", self.model.model.display()));
        let report = self
            .threads
            .run(|| job.run(&mut |event| tell_notes(&event)))??;
        drop(busy);
        // Before anything is printed: whoever reads the first line may close the pipe.
        if let Some(folder) = &self.out {
            write_audit(folder, &report)?;
        }
        if self.json {
            json(&report, &mut exit::output())?;
        } else {
            report.text(&mut exit::output())?;
        }
        Ok(Status::Done)
    }

    fn job(&self) -> Result<AuditJob, Failure> {
        let Some(budget) = notation::budget(&self.budget)? else {
            return Err(Failure::Usage(
                "--budget none: an audit shares its time among faults and suites, and needs some to share; give a time".into(),
            ));
        };
        let constant = self.criterion_parameters.constant(None)?;
        Ok(AuditJob {
            decision: self.decision.decision,
            criteria: self.criteria.clone(),
            parameters: self.criterion_parameters.settings(constant),
            radius: self.criterion_parameters.radius()?,
            domain: self.domain.clone(),
            seeds: self.seeds,
            tests: self.tests,
            faults: self.faults,
            budget: budget.as_secs_f64(),
            rng_seed: self.rng_seed,
            out: self.out.clone(),
            command: exit::command_line(),
            model: self.model.settings()?,
            data: self.data.settings(),
        })
    }
}
