//! Measuring networks of the size that people deploy, against the forward passes alone: images of noise, as large as
//! such networks take them.

use deepconcolic_criteria::Parameters;

use crate::allocator::peak;
use crate::error::BenchError;
use crate::large;
use crate::speed::pool;
use crate::subject::{NEURON_CRITERIA, Subject};
use crate::verdict::Verdict;

use super::speed::Race;

/// Networks that do much and little work for each of their neurons.
const NETWORKS: [&str; 2] = ["resnet18", "mobilenet_v2"];
const IMAGES: usize = 200;
/// Images that bounds are taken from.
const PROFILED: usize = 20;
const SECTIONS: usize = 10;
const ROUNDS: usize = 3;
/// How often the time of the forward passes measuring may take, and the bytes it may hold.
const TIME: f64 = 1.5;
const MEMORY: usize = 4_000_000_000;

/// Prints the ratios of the networks whose names contain a text.
pub fn run(named: &str) -> Result<Vec<Verdict>, BenchError> {
    println!(
        "\n== measuring large networks, one thread: time of measuring / time of the forward passes alone"
    );
    let folder = tempfile::tempdir()?;
    let mut verdicts = Vec::new();
    for name in NETWORKS.into_iter().filter(|name| name.contains(named)) {
        let model = large::made(name)?;
        let data = folder.path().join("images.npy");
        large::write_noise(&model, &data, IMAGES)?;
        let one = pool(1)?;
        let (ratio, bytes) = peak(|| -> Result<f64, BenchError> {
            let subject = Subject::of(&model, &data)?;
            let profile = one.install(|| subject.profile_of(PROFILED));
            let parameters = Parameters {
                sections: SECTIONS,
                ..Parameters::default()
            };
            let families = subject.families(&NEURON_CRITERIA, &parameters, Some(&profile))?;
            let whole = std::iter::once(0..subject.len()).collect();
            Race::new(&subject, &families, whole).hold(&one, ROUNDS)
        });
        let (ratio, criteria) = (ratio?, NEURON_CRITERIA.join(" + "));
        verdicts.extend([
            Verdict::new(
                format!(
                    "{criteria} ({SECTIONS} sections) over {IMAGES} images, {name}: {ratio:.3} times the forward passes (at most {TIME})"
                ),
                ratio <= TIME,
            ),
            Verdict::new(
                format!(
                    "{name}: {:.1} GB of heap at the peak, network and images included (below {:.1})",
                    bytes as f64 / 1e9,
                    MEMORY as f64 / 1e9
                ),
                bytes < MEMORY,
            ),
        ]);
    }
    Ok(verdicts)
}
