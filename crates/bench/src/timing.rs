//! The time of forward passes of one model, for scripts that hold it against another runtime's, and where it goes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use deepconcolic::{ModelSettings, fixed_input, open_axis};
use deepconcolic_network::{Network, OperatorTime};

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
    /// Print tables instead: the time of each kind of operator, and of this many operators that take longest.
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "0")]
    operators: Option<usize>,
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
            if let Some(slowest) = self.operators {
                let times = pool(1)?.install(|| operator_times(&network, batch, limit));
                print_operators(batch, times, slowest);
                continue;
            }
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

/// A batch of noise.
fn noise(network: &Network, batch: usize) -> Vec<f32> {
    let mut rng = Rng::new(1);
    let integer = network.inputs().iter().any(|part| part.integer);
    let mut draw = || {
        let drawn = rng.uniform(0.0, 1.0);
        if integer {
            (drawn * 4.0).floor()
        } else {
            drawn
        }
    };
    (0..batch * network.input_elements())
        .map(|_| draw())
        .collect()
}

/// Times of passes over one batch, ascending: at least three, after one that does not count.
fn times(network: &Network, batch: usize, limit: Duration) -> Vec<Duration> {
    let x = noise(network, batch);
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

/// The least that each operator took in several passes over one batch.
fn operator_times(network: &Network, batch: usize, limit: Duration) -> Vec<OperatorTime> {
    let x = noise(network, batch);
    network.operator_times(&x);
    let begin = Instant::now();
    let mut least = network.operator_times(&x);
    while begin.elapsed() < limit {
        for (least, again) in least.iter_mut().zip(network.operator_times(&x)) {
            least.time = least.time.min(again.time);
        }
    }
    least
}

/// What the operators of one kind come to over a batch.
#[derive(Default)]
struct Kind {
    operators: usize,
    seconds: f64,
    products: usize,
    elements: usize,
}

impl Kind {
    fn add(&mut self, operator: &OperatorTime, batch: usize) {
        self.operators += 1;
        self.seconds += operator.time.as_secs_f64();
        self.products += batch * operator.products;
        self.elements += batch * operator.shape.elements();
    }

    /// Milliseconds, share of all, and rates: products count twice, elements are those written.
    fn columns(&self, all: f64) -> String {
        let rate = |count: usize| count as f64 / self.seconds.max(1e-9) / 1e9;
        let flops = match self.products {
            0 => String::new(),
            products => format!("{:.1}", rate(2 * products)),
        };
        format!(
            "{:>9.3} {:>6.1} % {flops:>9} {:>11.2}",
            1e3 * self.seconds,
            100.0 * self.seconds / all.max(1e-9),
            rate(self.elements)
        )
    }
}

fn print_operators(batch: usize, mut times: Vec<OperatorTime>, slowest: usize) {
    let mut kinds: BTreeMap<&str, Kind> = BTreeMap::new();
    for operator in &times {
        kinds.entry(operator.kind).or_default().add(operator, batch);
    }
    let all: f64 = kinds.values().map(|kind| kind.seconds).sum();
    let mut kinds: Vec<(&str, Kind)> = kinds.into_iter().collect();
    kinds.sort_by(|a, b| b.1.seconds.total_cmp(&a.1.seconds));
    println!(
        "batch {batch}: {:.3} ms in operators, the least of each in several passes",
        1e3 * all
    );
    let header = "       ms    share   GFLOP/s  Gelement/s";
    println!("{:24} {:>5} {header}", "kind", "count");
    for (name, kind) in &kinds {
        println!("{name:24} {:>5} {}", kind.operators, kind.columns(all));
    }
    times.sort_by_key(|operator| std::cmp::Reverse(operator.time));
    for operator in times.iter().take(slowest) {
        let mut alone = Kind::default();
        alone.add(operator, batch);
        let (kind, shape, tensor) = (operator.kind, &operator.shape, &operator.tensor);
        println!("{kind:30} {}  {shape} {tensor}", alone.columns(all));
    }
}
