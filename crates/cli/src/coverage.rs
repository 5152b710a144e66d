//! `coverage`: what data cover, by any number of criteria in one pass.

use std::path::{Path, PathBuf};

use clap::Args;
use deepconcolic::{CoverageJob, CoverageReport};
use deepconcolic_criteria::Parameters;
use deepconcolic_dataset::write::AtomicFile;
use deepconcolic_report::{Text, json};

use crate::arguments::{DataArguments, DecisionArguments, ModelArguments, ThreadArguments};
use crate::criteria::{self, CriterionArguments};
use crate::exit::{Failure, Status, tell_notes};
use crate::{Outcome, exit};

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
    /// A criterion by name; may be given several times (see --help for all of them)
    #[arg(long, value_name = "C", required_unless_present = "requirements")]
    criterion: Vec<String>,
    /// Requirements of your own: a .dr file, or a .vnnlib file (also .gz)
    #[arg(long, value_name = "FILE")]
    requirements: Option<PathBuf>,
    /// Show up to N open requirements of each criterion
    #[arg(long, value_name = "N", default_value_t = 0)]
    open: usize,
    /// Also print the first N requirements of each criterion as formulas
    #[arg(long, value_name = "N", default_value_t = 0)]
    print: usize,
    /// Bounds for nbc, snac, kmnc come from these data, or from a saved profile (default: the first
    /// tenth of the data)
    #[arg(long, value_name = "DATA")]
    profile: Option<PathBuf>,
    /// Save the profile for the next time
    #[arg(long, value_name = "FILE.npz")]
    save_profile: Option<PathBuf>,
    /// The domain of every input element (default: 0..1 for images, else the observed ranges)
    #[arg(long, value_name = "LO..HI", allow_hyphen_values = true)]
    domain: Option<String>,
    /// Do not measure as many noise inputs for comparison
    #[arg(long)]
    no_noise: bool,
    /// Seed of the noise
    #[arg(long, value_name = "S", default_value_t = 0)]
    rng_seed: u64,
    /// Write the figures as JSON (`-` for standard output)
    #[arg(long, value_name = "F")]
    json: Option<PathBuf>,
    #[command(flatten)]
    criterion_parameters: CriterionArguments,
    #[command(flatten)]
    threads: ThreadArguments,
}

impl Coverage {
    /// Measures and reports.
    pub fn run(&self) -> Outcome {
        let job = CoverageJob {
            model: self.model.settings(),
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
        let measure = || job.run(&mut |event| tell_notes(&event));
        self.write(&self.threads.run(measure)??)
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

    fn write(&self, report: &CoverageReport) -> Outcome {
        let files = [&self.json, &self.save_profile];
        let mut out = exit::output_beside(files.into_iter().flatten().map(PathBuf::as_path));
        match self.json.as_deref() {
            Some(path) if path == Path::new("-") => json(report, &mut out)?,
            path => {
                // The file first: whoever reads the output may not read all of it.
                if let Some(path) = path {
                    let mut file = AtomicFile::create(path).map_err(deepconcolic::Error::from)?;
                    json(report, &mut file)
                        .map_err(|e| Failure::Usage(format!("{}: {e}", path.display())))?;
                    file.commit().map_err(deepconcolic::Error::from)?;
                }
                report.text(&mut out)?;
            }
        }
        Ok(Status::Done)
    }
}
