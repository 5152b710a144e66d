//! The time of forward passes of one model, for scripts that hold it against another runtime's.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use deepconcolic::{ModelSettings, fixed_input, open_axis};
use deepconcolic_network::Network;

use crate::error::BenchError;
use crate::rng::Rng;
use crate::speed::pool;

/// Times forward passes on one thread: one JSON object a line, milliseconds of the fastest pass and the median.
#[derive(Args)]
pub struct Timing {
    /// The model.
    model: PathBuf,
    /// Extents of open axes, NAME=N.
    #[arg(long = "dim")]
    dims: Vec<String>,
    /// Inputs that are fixed, NAME=FILE or NAME=NUMBER.
    #[arg(long = "fix-input", allow_hyphen_values = true)]
    fixed: Vec<String>,
    /// Tensors where the model is cut.
    #[arg(long)]
    from: Vec<String>,
    /// Samples run together.
    #[arg(long, value_delimiter = ',', default_value = "1,16")]
    batch: Vec<usize>,
    /// Seconds for each batch size.
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
}

impl Timing {
    /// Prints the times.
    pub fn run(self) -> Result<bool, BenchError> {
        let dims = self.dims.iter().map(|text| open_axis(text));
        let fixed = self.fixed.iter().map(|text| fixed_input(text));
        let settings = ModelSettings {
            dims: dims.collect::<Result<_, _>>()?,
            fixed: fixed.collect::<Result<_, _>>()?,
            from: self.from,
            ..ModelSettings::new(&self.model)
        };
        let network = deepconcolic_formats::load(&settings.model, &settings.options())?.network;
        let limit = Duration::from_secs_f64(self.seconds.clamp(0.01, 3600.0));
        for batch in self.batch {
            let times = pool(1)?.install(|| times(&network, batch, limit));
            let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
            println!(
                "{}",
                serde_json::json!({
                    "batch": batch,
                    "passes": times.len(),
                    "best_ms": milliseconds(times[0]),
                    "median_ms": milliseconds(times[times.len() / 2]),
                })
            );
        }
        Ok(true)
    }
}

/// Times of passes over one batch of noise, ascending: at least three, after one that does not count.
fn times(network: &Network, batch: usize, limit: Duration) -> Vec<Duration> {
    let mut rng = Rng::new(1);
    let integer = network.inputs().iter().any(|part| part.integer);
    let mut x = vec![0.0f32; batch * network.input_elements()];
    for x in &mut x {
        let drawn = rng.uniform(0.0, 1.0);
        *x = if integer {
            (drawn * 4.0).floor()
        } else {
            drawn
        };
    }
    let mut times = Vec::new();
    let begin = Instant::now();
    while times.len() < 4 || begin.elapsed() < limit {
        let start = Instant::now();
        std::hint::black_box(network.logits(&x));
        times.push(start.elapsed());
    }
    times.remove(0);
    times.sort_unstable();
    times
}
