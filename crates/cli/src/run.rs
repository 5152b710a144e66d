//! `run`: makes the tests that are missing.

use std::path::{Path, PathBuf};

use clap::Args;
use deepconcolic::{
    Cancel, Job, Listener, ORACLES, OnDamage, Partition, SeedRequest, Session, notation,
};
use deepconcolic_criteria::Parameters;
use deepconcolic_report::ALL as FORMS;

use crate::Outcome;
use crate::arguments::{
    DataArguments, DecisionArguments, ModelArguments, RunGates, ThreadArguments, distance,
};
use crate::criteria::{self, CriterionArguments, SEARCH, section};
use crate::exit::{self, Failure};
use crate::shown::{OUTPUT, ShownArguments};

/// Make the tests that are missing: a suite that meets the requirements, checked and replayable
#[derive(Args, Clone)]
#[command(after_long_help = tables())]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub struct Run {
    #[command(flatten)]
    pub model: ModelArguments,
    #[command(flatten)]
    pub data: DataArguments,
    #[command(flatten)]
    pub decision: DecisionArguments,
    /// A criterion by name (`deepconcolic criteria` explains them; default: nc); may be
    /// given several times, over one suite
    #[arg(
        short,
        long,
        value_name = "C",
        conflicts_with = "requirements",
        help_heading = TESTED
    )]
    pub criterion: Vec<String>,
    /// Requirements of your own: a .dr file, or a .vnnlib file (also .gz)
    #[arg(long, value_name = "FILE", help_heading = TESTED)]
    pub requirements: Option<PathBuf>,
    #[command(flatten)]
    pub criterion_parameters: CriterionArguments,
    /// Start from the first N inputs that the network gets right (default: 1000)
    #[arg(long, value_name = "N", conflicts_with = "seed_index", help_heading = SEARCH)]
    pub seeds: Option<usize>,
    /// Start from these inputs, by their numbers in the data, from 0
    #[arg(long, value_name = "I,J", value_delimiter = ',', help_heading = SEARCH, hide_short_help = true)]
    pub seed_index: Option<Vec<usize>>,
    /// Search these boxes instead of balls round the seeds: .npz (lower, upper) or .json
    #[arg(long, value_name = "FILE", conflicts_with = "radius", help_heading = SEARCH, hide_short_help = true)]
    pub region: Option<PathBuf>,
    /// How near a reference an adversarial test must be (default: as --radius without a value)
    #[arg(long, value_name = "R", allow_hyphen_values = true, value_parser = distance, help_heading = SEARCH, hide_short_help = true)]
    pub adversarial_radius: Option<f64>,
    /// What tests are judged by (see --help for all of them)
    #[arg(long, value_name = "ORACLE", default_value_t = Job::default().oracle, help_heading = TESTED, hide_short_help = true)]
    pub oracle: String,
    /// Real inputs that tests are judged by (default: the data)
    #[arg(long, value_name = "DATA", help_heading = INPUT, hide_short_help = true)]
    pub reference: Option<PathBuf>,
    /// Only tests this similar to their seed: ssim:S with S from 0 to 1
    #[arg(long, value_name = "ssim:S", help_heading = SEARCH, hide_short_help = true)]
    pub validity: Option<String>,
    /// How to search: cascade, paper (Algorithm 1 as written) or random
    #[arg(long, value_name = "S", default_value = "cascade", help_heading = SEARCH, hide_short_help = true)]
    pub strategy: String,
    /// Keep generated values on a grid of so many steps of the domain (255 for 8-bit images)
    #[arg(long, value_name = "STEPS", help_heading = SEARCH)]
    pub quantise: Option<u32>,
    /// Features that tests never change, by name or by number from 0; several with commas, or again
    #[arg(long = "fixed", value_name = "COL", value_delimiter = ',', help_heading = SEARCH, hide_short_help = true)]
    pub fixed_features: Vec<String>,
    /// Features that take whole numbers of the data's own unit only; several with commas, or again
    #[arg(long = "integer", value_name = "COL", value_delimiter = ',', help_heading = SEARCH, hide_short_help = true)]
    pub integer_features: Vec<String>,
    /// Also look for what is nearest to the seeds: of every covered requirement on one input the nearest witness
    /// (nearest.npz), of every seed with adversarial tests the nearest adversarial input (nearest-adversarial/)
    #[arg(long, help_heading = TESTED, hide_short_help = true)]
    pub minimise: bool,
    /// Do not try to prove that what is left open cannot be met
    #[arg(long, help_heading = LIMITS)]
    pub no_proofs: bool,
    /// Stop after this time: 90, 60s, 10m, 2h or none
    #[arg(
        long,
        value_name = "TIME",
        default_value = "10m",
        allow_hyphen_values = true,
        help_heading = LIMITS
    )]
    pub budget: String,
    /// Stop after so many passes through the network, forward and backward
    #[arg(long, value_name = "N", help_heading = LIMITS, hide_short_help = true)]
    pub max_executions: Option<usize>,
    /// Refuse requirements that need more memory than this, such as 8G (default: three quarters of what there is)
    #[arg(long, value_name = "SIZE", help_heading = LIMITS, hide_short_help = true)]
    pub memory: Option<String>,
    /// Bounds for nbc, snac, kmnc come from these data, or from a saved profile (default: the first
    /// tenth of the data)
    #[arg(long, value_name = "DATA", help_heading = INPUT, hide_short_help = true)]
    pub profile: Option<PathBuf>,
    /// The domain of every input element, or NAME=LO..HI,... for each of several inputs (default: 0..1 for
    /// images, else the observed ranges)
    #[arg(long, value_name = "LO..HI", allow_hyphen_values = true, help_heading = INPUT, hide_short_help = true)]
    pub domain: Option<String>,
    /// Look only for part I of N of the requirements, I from 1: `merge` joins what N such runs found
    #[arg(long, value_name = "I/N", help_heading = TESTED, hide_short_help = true)]
    pub partition: Option<Partition>,
    /// Seed of the random numbers
    #[arg(long, value_name = "S", default_value_t = 0, help_heading = SEARCH, hide_short_help = true)]
    pub rng_seed: u64,
    #[command(flatten)]
    pub threads: ThreadArguments,
    /// The folder to write to; new or empty, unless --resume is given (default: deepconcolic-MODEL, or the next free
    /// one)
    #[arg(short, long, value_name = "DIR", help_heading = OUTPUT)]
    pub out: Option<PathBuf>,
    /// Go on with the run in the folder; `deepconcolic resume DIR` needs no other options
    #[arg(long, requires = "out", help_heading = OUTPUT, hide_short_help = true)]
    pub resume: bool,
    /// With --resume: where the journal is damaged, go on from the rounds before that
    #[arg(long, requires = "resume", help_heading = OUTPUT, hide_short_help = true)]
    pub accept_loss: bool,
    #[command(flatten)]
    pub shown: ShownArguments,
    #[command(flatten)]
    pub gates: RunGates,
}

const INPUT: &str = "Input";
const TESTED: &str = "What to test";
const LIMITS: &str = "Limits";
/// The criterion when nothing is asked for.
const DEFAULT_CRITERION: &str = "nc";

/// The folder of a run on a model when none is named.
fn default_folder(model: &Path) -> String {
    let stem = model.file_stem().unwrap_or_default();
    format!("deepconcolic-{}", stem.to_string_lossy())
}

/// The folder of that name if it is not there yet, else the next free one.
pub fn free_folder(name: &str) -> PathBuf {
    let names = (1..).map(|n| match n {
        1 => name.to_owned(),
        n => format!("{name}-{n}"),
    });
    let mut free = names.map(PathBuf::from).filter(|path| !path.exists());
    free.next().unwrap_or_else(|| name.into())
}

impl Run {
    /// Runs, saves and reports.
    pub fn run(&self) -> Outcome {
        let job = self.job()?;
        let folder = match &self.out {
            Some(folder) => folder.clone(),
            None => free_folder(&default_folder(&self.model.model)),
        };
        let open = |cancel: &Cancel, listen: &mut Listener<'_>| {
            if !self.resume {
                return Session::create(job, &folder, cancel, listen);
            }
            let on_damage = if self.accept_loss {
                OnDamage::Drop
            } else {
                OnDamage::Refuse
            };
            Session::resume(job, &folder, on_damage, cancel, listen)
        };
        self.shown.show(&folder, &self.threads, open)
    }

    /// What is asked, as the library takes it.
    fn job(&self) -> Result<Job, Failure> {
        let seeds = match (&self.seed_index, self.seeds) {
            (Some(indices), _) => SeedRequest::Given(indices.clone()),
            (None, Some(count)) => SeedRequest::First(count),
            (None, None) => SeedRequest::default(),
        };
        Ok(Job {
            model: self.model.settings()?,
            data: self.data.settings(),
            decision: self.decision.decision,
            criterion: self.criterion(),
            requirements: self.requirements.clone(),
            parameters: self.criterion_parameters.settings(self.constant()?),
            seeds,
            radius: self.criterion_parameters.radius()?,
            region: self.region.clone(),
            adversarial_radius: self.adversarial_radius,
            oracle: self.oracle.clone(),
            reference: self.reference.clone(),
            validity: self
                .validity
                .as_deref()
                .map(notation::least_similarity)
                .transpose()?,
            strategy: self.strategy.clone(),
            quantise: self.quantise,
            fixed: self.fixed_features.clone(),
            integer: self.integer_features.clone(),
            minimise: self.minimise,
            proofs: !self.no_proofs,
            budget: notation::budget(&self.budget)?.map(|budget| budget.as_secs_f64()),
            max_executions: self.max_executions,
            profile: self.profile.clone(),
            domain: self.domain.clone(),
            rng_seed: self.rng_seed,
            partition: self.partition,
            gates: self.gates.gates(),
            memory: self.memory.clone(),
            command: exit::command_line(),
            ..Job::default()
        })
    }

    /// The criteria asked for; neuron coverage, the paper's first, if nothing is.
    fn criterion(&self) -> Option<String> {
        match (&self.criterion[..], &self.requirements) {
            ([], Some(_)) => None,
            ([], None) => Some(DEFAULT_CRITERION.to_owned()),
            (names, _) => Some(names.join(",")),
        }
    }

    /// The constant of the criterion lipschitz; it searches the largest unless one is given.
    fn constant(&self) -> Result<Option<f64>, Failure> {
        let mut names = self.criterion.iter().flat_map(|names| names.split(','));
        let is_lipschitz = names.any(|name| name.trim().eq_ignore_ascii_case("lipschitz"));
        let without = (!is_lipschitz).then_some(Parameters::CONSTANT);
        self.criterion_parameters.constant(without)
    }
}

/// What the help says of everything that is chosen by name.
fn tables() -> String {
    let oracles = ORACLES
        .iter()
        .map(|oracle| (oracle.name(), oracle.definition()));
    let forms = FORMS.iter().map(|form| (form.name, form.description));
    [
        criteria::help(),
        section("Oracles", oracles),
        section("Forms", forms),
    ]
    .join("\n")
}
