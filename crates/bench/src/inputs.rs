//! Samples to feed a model: real ones where the model's name says of what, uniform noise besides.

use deepconcolic_dataset::{Dataset, OpenOptions};
use deepconcolic_network::Network;

use crate::rng::Rng;
use crate::shelf::Shelf;

/// Which data a model was trained on, by how its name begins.
const DATA: [(&str, &str); 7] = [
    ("mnist", "mnist_test.npz"),
    ("deepxplore", "mnist_test.npz"),
    ("cifar10", "cifar10_test.npz"),
    ("digits", "digits.npz"),
    ("iris", "iris.npz"),
    ("wine", "wine.npz"),
    ("breast_cancer", "breast_cancer.npz"),
];

/// The data file of a model.
pub fn data_of(model: &str) -> Option<&'static str> {
    let of = |(prefix, _): &&(&str, &str)| model.starts_with(prefix);
    DATA.iter().find(of).map(|(_, file)| *file)
}

/// Samples, one after the other in the model file's order, and how many of them are real.
pub struct Inputs {
    /// The numbers.
    pub values: Vec<f32>,
    /// How many of the first samples come from a data set.
    pub real: usize,
}

/// `count` samples for the network of that name, half of them real if there are any.
pub fn inputs(shelf: &Shelf, network: &Network, name: &str, count: usize) -> Inputs {
    let mut rng = Rng::new(0x1DEA);
    let mut values = real(shelf, network, name, count / 2, &mut rng).unwrap_or_default();
    let each = network.input_elements();
    let real = values.len() / each.max(1);
    // The ACAS Xu networks take inputs that are normalised around zero.
    let centred = name.to_ascii_lowercase().starts_with("acasxu");
    let (low, high) = if centred { (-0.5, 0.5) } else { (0.0, 1.0) };
    values.resize_with(count * each, || rng.uniform(low, high));
    Inputs { values, real }
}

fn real(
    shelf: &Shelf,
    network: &Network,
    name: &str,
    count: usize,
    rng: &mut Rng,
) -> Option<Vec<f32>> {
    let file = data_of(name)?;
    let dataset = Dataset::open(&shelf.data(file), &OpenOptions::default()).ok()?;
    let shape = network.input_shape();
    let samples = dataset.prepare(shape.without_batch(), None).ok()?;
    let chosen: Vec<usize> = (0..count).map(|_| rng.below(samples.len())).collect();
    let mut values = vec![0.0; count * samples.features()];
    samples.gather(&chosen, &mut values);
    Some(values)
}
