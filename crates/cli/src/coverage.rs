//! `coverage`: what data cover, by any number of criteria in one pass.

use std::path::{Path, PathBuf};

use clap::Args;
use deepconcolic::{Account, CoverageJob, CoverageReport};
use deepconcolic_criteria::{Criterion, Parameters};
use deepconcolic_report::{Busy, Text, html, json, write_file};

use crate::arguments::{
    CoverageGates, DataArguments, DecisionArguments, ModelArguments, ThreadArguments,
};
use crate::criteria::{self, CriterionArguments};
use crate::exit::{Failure, Status, tell_notes};
use crate::{Outcome, exit, shown};

/// Measure what data cover of a model, by several criteria in one pass
#[derive(Args)]
#[command(after_long_help = criteria::help())]
pub struct Coverage {
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    data: DataArguments,
    #[command(flatten)]
    decision: DecisionArguments,
    /// A criterion by name; may be given several times (`deepconcolic criteria` explains them)
    #[arg(
        short,
        long,
        value_name = "C",
        required_unless_present = "requirements",
        help_heading = "What to test"
    )]
    criterion: Vec<String>,
    /// Requirements of your own: a .dr file, or a .vnnlib file (also .gz)
    #[arg(long, value_name = "FILE", help_heading = "What to test")]
    requirements: Option<PathBuf>,
    /// Show up to N open requirements of each criterion
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Output")]
    open: usize,
    /// Also print the first N requirements of each criterion as formulas
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Output")]
    print: usize,
    /// Bounds for nbc, snac, kmnc come from these data, or from a saved profile (default: the first
    /// tenth of the data)
    #[arg(long, value_name = "DATA", help_heading = "Input")]
    profile: Option<PathBuf>,
    /// Save the profile for the next time
    #[arg(
        long,
        value_name = "FILE.npz",
        help_heading = "Output",
        hide_short_help = true
    )]
    save_profile: Option<PathBuf>,
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
    /// Do not measure as many noise inputs for comparison
    #[arg(long, help_heading = "What to test")]
    no_noise: bool,
    /// Seed of the noise
    #[arg(
        long,
        value_name = "S",
        default_value_t = 0,
        help_heading = "What to test",
        hide_short_help = true
    )]
    rng_seed: u64,
    /// Write the figures as JSON (`-` for standard output)
    #[arg(long, value_name = "F", help_heading = "Output")]
    json: Option<PathBuf>,
    /// Write the figures and a report to look at into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    gates: CoverageGates,
    #[command(flatten)]
    criterion_parameters: CriterionArguments,
    #[command(flatten)]
    threads: ThreadArguments,
}

impl Coverage {
    /// Measures and reports.
    pub fn run(&self) -> Outcome {
        let job = CoverageJob {
            model: self.model.settings()?,
            data: self.data.settings(),
            decision: self.decision.decision,
            criteria: self.criterion.clone(),
            requirements: self.requirements.clone(),
            open: self.open,
            formulas: self.print,
            profile: self.profile.clone(),
            save_profile: self.save_profile.clone(),
            domain: self.domain.clone(),
            no_noise: self.no_noise,
            rng_seed: self.rng_seed,
            parameters: self.criterion_parameters.settings(Some(self.constant()?)),
            radius: self.criterion_parameters.region_radius()?,
        };
        let names: Vec<&str> = (self.criterion.iter())
            .map(|name| deepconcolic::find_criterion(name).map(Criterion::name))
            .collect::<Result<_, _>>()?;
        let gates = self.gates.gates();
        gates.fit(&names, self.requirements.is_some())?;
        let measure = || job.run(&mut |event| tell_notes(&event));
        let busy = Busy::with(format!("measuring {}", self.data.data.display()));
        let report = self.threads.run(measure)??;
        drop(busy);
        self.write(&report)?;
        let verdicts = gates.judge(&Account::of_coverage(&report), None);
        let for_people = self.json.as_deref() != Some(Path::new("-"));
        Ok(Status::of(shown::gates(&verdicts, for_people)))
    }

    /// The constant that data are compared with.
    fn constant(&self) -> Result<f64, Failure> {
        let given = self
            .criterion_parameters
            .constant(Some(Parameters::CONSTANT))?;
        given.ok_or_else(|| {
            Failure::Usage(
                "--constant max is a search, which `run` does; data are compared with a number"
                    .into(),
            )
        })
    }

    fn write(&self, report: &CoverageReport) -> Result<(), Failure> {
        if let Some(folder) = &self.out {
            html::write_coverage(folder, report, &deepconcolic::command_line())?;
        }
        let files = [&self.json, &self.save_profile];
        let mut out = exit::output_beside(files.into_iter().flatten().map(PathBuf::as_path));
        match self.json.as_deref() {
            Some(path) if path == Path::new("-") => json(report, &mut out)?,
            path => {
                // The file first: whoever reads the output may not read all of it.
                if let Some(path) = path {
                    write_file(path, |out| json(report, out))?;
                }
                report.text(&mut out)?;
            }
        }
        Ok(())
    }
}
