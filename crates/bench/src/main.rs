//! Measures deepconcolic: `cargo run --release -p deepconcolic-bench -- runtime` against onnxruntime,
//! `-- coverage` against the forward passes that it cannot do without, `-- campaign` whole runs against the
//! paper's, `-- symbolic` the engines that search by linear programs,
//! `-- proofs` verdicts beside those of other tools, `-- lipschitz` how steep networks are near images,
//! `-- growth` what work costs as it grows, `-- limits` whether runs end with their budgets,
//! `-- threads` what a second thread brings,
//! `-- stages` what each stage reaches of the machine, `-- ratchet` figures that must not get worse.
//!
//! What is printed are ratios of one run, both sides interleaved; a time on its own says more of the
//! machine than of us. Exit codes: 0 all targets met, 1 one missed, 2 the benchmark cannot run.

mod allocator;
mod campaign;
mod command;
mod conformance;
mod contest;
mod coverage;
mod deviation;
mod error;
mod growth;
mod inputs;
mod job;
mod l0;
mod large;
mod limits;
mod lipschitz;
mod memory;
mod peak;
mod proofs;
mod ratchet;
mod reference;
mod reproduce;
mod rng;
mod shelf;
mod speed;
mod stages;
mod subject;
mod symbolic;
mod threads;
mod timing;
mod venv;
mod verdict;
mod zoo;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};
use deepconcolic_network::Scalar;

use error::BenchError;
use reference::Reference;
use shelf::Shelf;

/// Measures deepconcolic, as ratios.
#[derive(Parser)]
#[command(arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Answers, speed and memory of the network runtime against onnxruntime.
    Runtime(Runtime),
    /// Time and memory of measuring coverage, the paper's figures, the requirement language.
    Coverage(Coverage),
    /// What the symbolic engines find, and what it takes.
    Symbolic(Symbolic),
    /// What campaigns reach, beside the paper's figures, and whether they survive being killed.
    Campaign(Campaign),
    /// Verdicts on properties, and neurons that cannot be active.
    Proofs(Proofs),
    /// How steep networks are near images: random pairs, the paper's search, ours, and certified bounds.
    Lipschitz(Lipschitz),
    /// Time and memory for ten times as many neurons, pairs, references, seeds, sections.
    Growth(Growth),
    /// Times forward passes of one model on one thread.
    Time(timing::Timing),
    /// Whether runs end with their budgets: asked and taken, for every criterion.
    Limits(Limits),
    /// How many times as fast two threads are as one.
    Threads(Threads),
    /// What each stage of the work reaches of bare forward passes and of the core's peak, and where time goes.
    Stages(Stages),
    /// Compares figures with those kept in the tree, and fails when one is worse.
    Ratchet(Ratchet),
    /// The paper's tables and figures, and ours beside them, as a page with plots.
    Reproduce(Reproduce),
}

#[derive(Args)]
struct Limits {
    /// Folders with models, instead of those beside the project.
    #[arg(long, value_name = "DIR", num_args = 1..)]
    models: Vec<PathBuf>,
    /// Budgets, in seconds.
    #[arg(long, value_delimiter = ',', default_values_t = [5.0, 20.0, 60.0])]
    budgets: Vec<f64>,
    /// Only commands whose words (`MODEL.onnx CRITERION`, `MODEL.onnx verify PROPERTY.vnnlib`) contain this text.
    #[arg(long, default_value = "")]
    named: String,
}

impl Limits {
    /// Whether all targets were met.
    fn run(self) -> Result<bool, BenchError> {
        println!("kernels: {}; cores: {}", f32::kernel().name, cores());
        let shelf = Shelf::new(self.models);
        let plan = limits::Plan {
            budgets: &self.budgets,
            named: &self.named,
        };
        Ok(verdict::summarise(&limits::run(&shelf, &plan)?))
    }
}

#[derive(Args)]
struct Threads {
    /// Folders with models, instead of those beside the project.
    #[arg(long, value_name = "DIR", num_args = 1..)]
    models: Vec<PathBuf>,
    /// Only work (coverage, ssc, proofs) whose name contains this text.
    #[arg(long, default_value = "")]
    named: String,
}

impl Threads {
    /// Whether all targets were met.
    fn run(self) -> Result<bool, BenchError> {
        println!("kernels: {}; cores: {}", f32::kernel().name, cores());
        let verdicts = threads::run(&Shelf::new(self.models), &self.named)?;
        Ok(verdict::summarise(&verdicts))
    }
}

#[derive(Args)]
struct Runtime {
    /// Folders with models, instead of those beside the project.
    #[arg(long, value_name = "DIR", num_args = 1..)]
    models: Vec<PathBuf>,
    /// Only this part.
    #[arg(long)]
    only: Option<Part>,
    /// Of the large networks, only those whose names contain this text.
    #[arg(long, default_value = "")]
    named: String,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Answers within 1e-4 of onnxruntime's.
    Conformance,
    /// Times.
    Speed,
    /// Bytes of a trace.
    Memory,
    /// Networks of the size that people deploy: times, loading, memory.
    Large,
}

#[derive(Args)]
struct Coverage {
    /// Folders with models, instead of those beside the project.
    #[arg(long, value_name = "DIR", num_args = 1..)]
    models: Vec<PathBuf>,
    /// Only this part.
    #[arg(long)]
    only: Option<CoveragePart>,
    /// Of the large networks, only those whose names contain this text.
    #[arg(long, default_value = "")]
    named: String,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CoveragePart {
    /// Peak memory of measuring.
    Memory,
    /// Measuring against running.
    Speed,
    /// Neuron coverage as the paper has it.
    Paper,
    /// Parsing and resolving requirements.
    Language,
    /// The family of sign-sign pairs.
    Pairs,
    /// Measuring networks of the size that people deploy against running; only when asked for.
    Large,
}

#[derive(Args)]
struct Symbolic {
    /// Folders with models, instead of those beside the project.
    #[arg(long, value_name = "DIR", num_args = 1..)]
    models: Vec<PathBuf>,
    /// Only this part.
    #[arg(long)]
    only: Option<SymbolicPart>,
    /// Of the test set, the first so many images, where each is attacked.
    #[arg(long, default_value_t = 100)]
    images: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SymbolicPart {
    /// Sign-sign pairs.
    Pairs,
    /// Sign-sign pairs of a whole convolution, for ten minutes; only when asked for.
    Layer,
    /// Nearest witnesses, and the paper's program.
    Nearest,
    /// Nearest adversarial inputs beside projected gradient steps.
    NearestAdversarial,
}

impl Symbolic {
    /// Whether all targets were met.
    fn run(self) -> Result<bool, BenchError> {
        let wants = |part| self.only.is_none_or(|only| only == part);
        println!("kernels: {}; cores: {}", f32::kernel().name, cores());
        let shelf = Shelf::new(self.models);
        let mut verdicts = Vec::new();
        if wants(SymbolicPart::Pairs) {
            verdicts.extend(symbolic::pairs(&shelf)?);
        }
        if self.only == Some(SymbolicPart::Layer) {
            verdicts.extend(symbolic::layer(&shelf)?);
        }
        if wants(SymbolicPart::Nearest) {
            verdicts.extend(symbolic::nearest(&shelf)?);
        }
        if wants(SymbolicPart::NearestAdversarial) {
            verdicts.extend(symbolic::nearest_adversarial(&shelf, self.images)?);
        }
        Ok(verdict::summarise(&verdicts))
    }
}

#[derive(Args)]
struct Campaign {
    /// Folders with models, instead of those beside the project.
    #[arg(long, value_name = "DIR", num_args = 1..)]
    models: Vec<PathBuf>,
    /// Only this part.
    #[arg(long)]
    only: Option<CampaignPart>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CampaignPart {
    /// Neuron coverage of the paper's MNIST network, without a radius.
    Nc,
    /// The same within 0.3 of one image.
    Ball,
    /// Neuron boundaries, both sides.
    Nbc,
    /// Neuron coverage of the paper's CIFAR-10 network.
    Cifar,
    /// Every other network.
    Others,
    /// Adversarial tests near 100 images.
    Adversarial,
    /// The paper's algorithm against the cascade.
    Strategies,
    /// kill -9, fifty times.
    Kills,
    /// With tests of at most 100 pixels: neurons of the paper's MNIST network.
    L0Nc,
    /// Neurons of the paper's CIFAR-10 network.
    L0Cifar,
    /// Neuron boundaries.
    L0Nbc,
    /// Sign-sign pairs of a dense network.
    L0Ssc,
    /// The paper's search for few pixels against the cascade.
    L0Strategies,
}

#[derive(Args)]
struct Proofs {
    /// Folders with models, instead of those beside the project.
    #[arg(long, value_name = "DIR", num_args = 1..)]
    models: Vec<PathBuf>,
    /// Only this part.
    #[arg(long)]
    only: Option<ProofsPart>,
    /// Of the properties, only every so many.
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// Of the properties, only those whose model and property names together contain this text.
    #[arg(long, default_value = "")]
    named: String,
    /// At most so many seconds for each property, whatever its benchmark allows.
    #[arg(long)]
    timeout: Option<f64>,
    /// Of the paper's network, only the first so many hidden layers.
    #[arg(long, default_value_t = usize::MAX)]
    layers: usize,
    /// Most parts of the region for each neuron.
    #[arg(long, default_value_t = 1000)]
    nodes: usize,
    /// The radius round the paper's seed.
    #[arg(long, default_value_t = 0.3)]
    radius: f64,
    /// Most images whose steepness is bounded, or of which pixels are changed.
    #[arg(long, default_value_t = usize::MAX)]
    images: usize,
    /// Only models with this in their names, of those two.
    #[arg(long)]
    model: Option<String>,
    /// Most seconds for each image of which one pixel is changed, of the paper's network.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ProofsPart {
    /// Properties of five inputs.
    Acasxu,
    /// Properties of images.
    MnistFc,
    /// Neurons of the paper's network.
    Paper,
    /// Neurons of a small network, over its whole domain.
    Mlp,
    /// Pairs of neurons of a small network.
    Pairs,
    /// How steep networks are at most.
    Slopes,
    /// One changed pixel of the first test images.
    Pixels,
}

impl Proofs {
    /// Whether all targets were met.
    fn run(self) -> Result<bool, BenchError> {
        let wants = |part| self.only.is_none_or(|only| only == part);
        println!("cores: {}", cores());
        let shelf = Shelf::new(self.models);
        let mut verdicts = Vec::new();
        let contests = [
            (ProofsPart::Acasxu, "acasxu", [45, 125]),
            (ProofsPart::MnistFc, "mnist_fc", [15, 40]),
        ];
        for (part, name, wanted) in contests {
            let plan = proofs::Plan {
                name,
                every: self.every,
                named: &self.named,
                timeout: self.timeout,
                wanted,
            };
            if wants(part) {
                verdicts.extend(proofs::contest(&shelf, &plan)?);
            }
        }
        if wants(ProofsPart::Mlp) {
            let question = proofs::Question {
                model: "mnist_mlp_100x2_logits.onnx",
                seed: 0,
                radius: None,
                layers: usize::MAX,
                nodes: self.nodes,
                wanted: 1.0,
            };
            verdicts.extend(proofs::neurons(&shelf, &question)?);
        }
        if wants(ProofsPart::Paper) {
            let question = proofs::Question {
                model: "mnist_complicated_logits.onnx",
                seed: 6427,
                radius: Some(self.radius),
                layers: self.layers,
                nodes: self.nodes,
                wanted: 0.97,
            };
            verdicts.extend(proofs::neurons(&shelf, &question)?);
        }
        if wants(ProofsPart::Pairs) {
            verdicts.extend(proofs::pairs(&shelf)?);
        }
        let steepness = [
            ("mnist_mlp_32_16_logits.onnx", 50, 3.0),
            ("mnist_mlp_100x2_logits.onnx", 50, 10.0),
            ("mnist_complicated_logits.onnx", 2, f64::INFINITY),
            ("cifar10_complicated_logits.onnx", 2, f64::INFINITY),
        ];
        for (model, images, wanted) in steepness {
            let asked = proofs::Steepness {
                model,
                images: images.min(self.images),
                wanted,
            };
            if wants(ProofsPart::Slopes) && self.model.as_ref().is_none_or(|m| model.contains(m)) {
                verdicts.extend(proofs::slopes(&shelf, &asked)?);
            }
        }
        if wants(ProofsPart::Pixels) {
            let plans = [
                ("mnist_mlp_100x2_logits.onnx", 60, 0.98),
                ("mnist_complicated_logits.onnx", self.seconds, 0.9),
            ];
            for (model, seconds, wanted) in plans {
                if self.model.as_ref().is_some_and(|m| !model.contains(m)) {
                    continue;
                }
                let plan = proofs::PixelPlan {
                    model,
                    images: self.images.min(100),
                    nodes: 20_000,
                    seconds,
                    wanted,
                };
                verdicts.extend(proofs::pixels(&shelf, &plan)?);
            }
        }
        Ok(verdict::summarise(&verdicts))
    }
}

#[derive(Args)]
struct Lipschitz {
    /// Folders with models, instead of those beside the project.
    #[arg(long, value_name = "DIR", num_args = 1..)]
    models: Vec<PathBuf>,
    /// Only networks whose name contains this text.
    #[arg(long, default_value = "")]
    named: String,
    /// Images of each network.
    #[arg(long, default_value_t = 50)]
    images: usize,
    /// Most random pairs an image. The paper drew 1,000,000.
    #[arg(long, default_value_t = 1_000_000)]
    random_pairs: usize,
    /// Most seconds for the random pairs, for compass search and for the proofs of each network.
    #[arg(long, default_value_t = 60.0)]
    seconds: f64,
}

impl Lipschitz {
    /// Whether all targets were met.
    fn run(self) -> Result<bool, BenchError> {
        println!("kernels: {}; cores: {}", f32::kernel().name, cores());
        let shelf = Shelf::new(self.models);
        let plan = lipschitz::Plan {
            images: self.images,
            random_pairs: self.random_pairs,
            seconds: self.seconds,
        };
        let verdicts = lipschitz::run(&shelf, &plan, &self.named)?;
        Ok(verdict::summarise(&verdicts))
    }
}

#[derive(Args)]
struct Growth {
    /// Folders with models, instead of those beside the project.
    #[arg(long, value_name = "DIR", num_args = 1..)]
    models: Vec<PathBuf>,
}

impl Growth {
    /// Whether all targets were met.
    fn run(self) -> Result<bool, BenchError> {
        println!("kernels: {}; cores: {}", f32::kernel().name, cores());
        let verdicts = growth::run(&Shelf::new(self.models))?;
        Ok(verdict::summarise(&verdicts))
    }
}

#[derive(Args)]
struct Stages {
    /// Folders with models, instead of those beside the project.
    #[arg(long, value_name = "DIR", num_args = 1..)]
    models: Vec<PathBuf>,
}

impl Stages {
    fn run(self) -> Result<bool, BenchError> {
        println!("kernels: {}; cores: {}", f32::kernel().name, cores());
        stages::run(&Shelf::new(self.models))?;
        Ok(true)
    }
}

#[derive(Args)]
struct Ratchet {
    /// The file with the figures kept.
    #[arg(long, value_name = "FILE", default_value = ratchet::FILE)]
    file: PathBuf,
    /// Keep what is better or new.
    #[arg(long)]
    update: bool,
}

impl Ratchet {
    /// Whether nothing is worse.
    fn run(self) -> Result<bool, BenchError> {
        println!("kernels: {}; cores: {}", f32::kernel().name, cores());
        ratchet::run(&self.file, self.update)
    }
}

#[derive(Args)]
struct Reproduce {
    /// Folders with models, instead of those beside the project.
    #[arg(long, value_name = "DIR", num_args = 1..)]
    models: Vec<PathBuf>,
    /// Ten minutes instead of an hour or two: one seed, short runs.
    #[arg(long)]
    quick: bool,
    /// Where what came of each run is kept; runs that are there are not repeated.
    #[arg(long, value_name = "DIR", default_value = "target/reproduce")]
    out: PathBuf,
    /// Where RESULTS.md and its plots go.
    #[arg(long, value_name = "DIR", default_value = "docs")]
    docs: PathBuf,
    /// Write no page.
    #[arg(long)]
    no_page: bool,
    /// Run nothing: write the page from the runs that are there, and say how many are missing.
    #[arg(long, conflicts_with = "no_page")]
    kept_only: bool,
    /// Only experiments whose names contain this text.
    #[arg(long, default_value = "")]
    named: String,
}

impl Reproduce {
    fn run(self) -> Result<bool, BenchError> {
        println!("kernels: {}; cores: {}", f32::kernel().name, cores());
        let plan = reproduce::Plan {
            quick: self.quick,
            out: self.out,
            docs: (!self.no_page).then_some(self.docs),
            named: self.named,
            kept_only: self.kept_only,
        };
        reproduce::run(&Shelf::new(self.models), &plan)?;
        Ok(true)
    }
}

impl Runtime {
    /// Whether all targets were met.
    fn run(self) -> Result<bool, BenchError> {
        let wants = |part| self.only.is_none_or(|only| only == part);
        let mut reference = Reference::start(&venv::python()?)?;
        println!(
            "kernels: {}; cores: {}; onnxruntime {}",
            f32::kernel().name,
            cores(),
            reference.version()?
        );
        let shelf = Shelf::new(self.models);
        let mut verdicts = Vec::new();
        if wants(Part::Conformance) {
            verdicts.extend(conformance::run(&shelf, &mut reference)?);
            verdicts.extend(zoo::run(&shelf)?);
        }
        if wants(Part::Speed) {
            verdicts.extend(speed::run(&shelf, &mut reference)?);
        }
        if wants(Part::Memory) {
            verdicts.extend(memory::run(&shelf, &mut reference)?);
        }
        if wants(Part::Large) {
            verdicts.extend(large::run(&self.named)?);
        }
        Ok(verdict::summarise(&verdicts))
    }
}

impl Coverage {
    /// Whether all targets were met.
    fn run(self) -> Result<bool, BenchError> {
        let wants = |part| self.only.is_none_or(|only| only == part);
        println!("kernels: {}; cores: {}", f32::kernel().name, cores());
        let shelf = Shelf::new(self.models);
        let mut verdicts = Vec::new();
        // First, while nothing else has been allocated.
        if wants(CoveragePart::Memory) {
            verdicts.extend(coverage::memory(&shelf)?);
        }
        if wants(CoveragePart::Speed) {
            verdicts.extend(coverage::speed(&shelf)?);
        }
        if wants(CoveragePart::Paper) {
            verdicts.extend(coverage::paper(&shelf)?);
        }
        if wants(CoveragePart::Language) {
            verdicts.extend(coverage::language(&shelf)?);
        }
        if wants(CoveragePart::Pairs) {
            verdicts.extend(coverage::pairs(&shelf)?);
        }
        if self.only == Some(CoveragePart::Large) {
            verdicts.extend(coverage::large(&self.named)?);
        }
        Ok(verdict::summarise(&verdicts))
    }
}

impl Campaign {
    /// Whether all targets were met.
    fn run(self) -> Result<bool, BenchError> {
        let wants = |part| self.only.is_none_or(|only| only == part);
        println!("kernels: {}; cores: {}", f32::kernel().name, cores());
        let shelf = Shelf::new(self.models);
        let mut verdicts = Vec::new();
        if wants(CampaignPart::Nc) {
            verdicts.extend(campaign::nc(&shelf)?);
        }
        if wants(CampaignPart::Ball) {
            verdicts.extend(campaign::ball(&shelf)?);
        }
        if wants(CampaignPart::Nbc) {
            verdicts.extend(campaign::nbc(&shelf)?);
        }
        if wants(CampaignPart::Cifar) {
            verdicts.extend(campaign::cifar(&shelf)?);
        }
        if wants(CampaignPart::Others) {
            verdicts.extend(campaign::others(&shelf)?);
        }
        if wants(CampaignPart::Adversarial) {
            verdicts.extend(campaign::adversarial(&shelf)?);
        }
        if wants(CampaignPart::Strategies) {
            verdicts.extend(campaign::strategies(&shelf)?);
        }
        if wants(CampaignPart::Kills) {
            verdicts.extend(campaign::kills()?);
        }
        for (part, run) in [
            (CampaignPart::L0Nc, l0::nc as fn(&Shelf) -> _),
            (CampaignPart::L0Cifar, l0::cifar),
            (CampaignPart::L0Nbc, l0::nbc),
            (CampaignPart::L0Ssc, l0::ssc),
            (CampaignPart::L0Strategies, l0::strategies),
        ] {
            if wants(part) {
                verdicts.extend(run(&shelf)?);
            }
        }
        Ok(verdict::summarise(&verdicts))
    }
}

/// How many cores there are.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn main() -> ExitCode {
    let met = match Arguments::parse().command {
        Command::Runtime(runtime) => runtime.run(),
        Command::Coverage(coverage) => coverage.run(),
        Command::Symbolic(symbolic) => symbolic.run(),
        Command::Campaign(campaign) => campaign.run(),
        Command::Proofs(proofs) => proofs.run(),
        Command::Lipschitz(lipschitz) => lipschitz.run(),
        Command::Growth(growth) => growth.run(),
        Command::Time(timing) => timing.run(),
        Command::Limits(limits) => limits.run(),
        Command::Threads(threads) => threads.run(),
        Command::Stages(stages) => stages.run(),
        Command::Ratchet(ratchet) => ratchet.run(),
        Command::Reproduce(reproduce) => reproduce.run(),
    };
    match met {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
