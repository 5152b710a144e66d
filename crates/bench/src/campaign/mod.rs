//! What campaigns reach, beside the paper's figures.

mod adversarial;
mod ball;
mod cifar;
mod field;
mod kills;
mod nbc;
mod nc;
mod others;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use deepconcolic_network::Scalar;

use crate::cores;
use crate::error::BenchError;
use crate::shelf::Shelf;
use crate::verdict;

/// What campaigns reach.
#[derive(Args)]
pub struct Campaign {
    /// Folders with models, instead of those beside the project.
    #[arg(long, value_name = "DIR", num_args = 1..)]
    models: Vec<PathBuf>,
    /// Only this part.
    #[arg(long)]
    only: Option<Part>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
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
    /// kill -9, fifty times.
    Kills,
}

impl Campaign {
    /// Whether all targets were met.
    pub fn run(self) -> Result<bool, BenchError> {
        println!("kernels: {}; cores: {}", f32::kernel().name, cores());
        let shelf = Shelf::new(self.models);
        let parts = match &self.only {
            Some(part) => std::slice::from_ref(part),
            None => Part::value_variants(),
        };
        let mut verdicts = Vec::new();
        for part in parts {
            verdicts.extend(match part {
                Part::Nc => nc::run(&shelf)?,
                Part::Ball => ball::run(&shelf)?,
                Part::Nbc => nbc::run(&shelf)?,
                Part::Cifar => cifar::run(&shelf)?,
                Part::Others => others::run(&shelf)?,
                Part::Adversarial => adversarial::run(&shelf)?,
                Part::Kills => kills::run()?,
            });
        }
        Ok(verdict::summarise(&verdicts))
    }
}
