//! The last dense layer, trained a little: what it reads for given inputs, and gradient descent on its weights alone.

use deepconcolic_criteria::Rule;
use deepconcolic_formats::onnx::WeightedLayer;
use deepconcolic_formats::{LoadOptions, load, load_bytes};
use deepconcolic_network::{Network, Pass, Point};
use rayon::prelude::*;

use super::clock::Clock;
use super::fault::Changes;
use super::subject::Subject;

/// Most steps of gradient descent, and how often it is asked whether they are enough.
const STEPS: usize = 500;
const ASKED_EVERY: usize = 5;
const MOMENTUM: f32 = 0.9;
/// Inputs run at once.
const BATCH: usize = 256;
/// Samples that the layer is compared on with the network, and how near the logits must be, as a part of their size.
const COMPARED: usize = 16;
const NEAR: f32 = 1e-3;

/// The last dense layer of a classifier, whose outputs are the logits.
pub struct LastLayer {
    layer: WeightedLayer,
    /// The model cut in front of the layer.
    cut: Network,
    /// How many numbers it reads.
    features: usize,
    /// Its weights as they are.
    own: Head,
}

/// Weights and biases of a dense layer: a row of weights for each class.
#[derive(Clone, Debug)]
pub struct Head {
    weights: Vec<f32>,
    biases: Vec<f32>,
}

impl Head {
    /// The class that features lead to, the first of equals.
    pub fn class(&self, features: &[f32]) -> usize {
        let logits = self.logits(features);
        (1..logits.len()).fold(0, |best, i| if logits[i] > logits[best] { i } else { best })
    }

    fn logits(&self, features: &[f32]) -> Vec<f32> {
        let rows = self.weights.chunks_exact(features.len().max(1));
        rows.zip(&self.biases)
            .map(|(row, bias)| row.iter().zip(features).map(|(w, x)| w * x).sum::<f32>() + bias)
            .collect()
    }

    /// How much more probable each class is than it should be, by the softmax, times the weight of the example.
    fn errors(&self, example: &Example<'_>) -> Vec<f32> {
        let mut errors = self.logits(example.features);
        let largest = errors.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        for error in &mut errors {
            *error = (*error - largest).exp();
        }
        let sum: f32 = errors.iter().sum();
        for error in &mut errors {
            *error *= example.weight / sum;
        }
        errors[example.class] -= example.weight;
        errors
    }
}

/// What the layer is trained on: what it reads, the class wanted, and how much that counts.
pub struct Example<'a> {
    /// What the layer reads.
    pub features: &'a [f32],
    /// The class wanted.
    pub class: usize,
    /// How much it counts; all examples together count 1.
    pub weight: f32,
}

impl LastLayer {
    /// The last dense layer of a model.
    ///
    /// # Errors
    /// Why it cannot be trained, in words.
    pub fn of(subject: &Subject) -> Result<Self, String> {
        if subject.decision.rule() != Some(Rule::Argmax) {
            return Err("the answer is not the largest of several outputs".into());
        }
        let layer = subject.weights.layers().last();
        let layer = layer.filter(|layer| layer.dense).cloned();
        let layer = layer.ok_or("the last layer with weights is not dense")?;
        if !subject.settings.from.is_empty() {
            return Err("the model is cut with --from".into());
        }
        let options = LoadOptions {
            from: vec![layer.input.clone()],
            ..subject.settings.options()
        };
        let loaded = match &subject.settings.content {
            Some(bytes) => load_bytes(bytes.to_vec(), &options),
            None => load(&subject.settings.model, &options),
        };
        let cut = loaded.map_err(|why| why.to_string())?.network;
        let weights = subject.weights.numbers(&layer.weight);
        let places = |channel| layer.places(channel, weights.len());
        let rows = (0..layer.channels).flat_map(places);
        let own = Head {
            weights: rows.map(|place| weights[place]).collect(),
            biases: match &layer.bias {
                Some(bias) => subject.weights.numbers(bias).to_vec(),
                None => vec![0.0; layer.channels],
            },
        };
        let last = Self {
            features: weights.len() / layer.channels.max(1),
            layer,
            cut,
            own,
        };
        last.gives_the_logits(subject)?;
        Ok(last)
    }

    /// Whether the layer alone, on what it reads, gives the network's logits.
    fn gives_the_logits(&self, subject: &Subject) -> Result<(), String> {
        let count = subject.samples().min(COMPARED);
        let inputs = &subject.inputs[..count * subject.network.input_elements()];
        let refuse = || Err("the outputs of the last dense layer are not the logits".to_owned());
        let Some(features) = self.read(inputs, &Clock::start(f64::INFINITY)) else {
            return refuse();
        };
        for (sample, features) in features.chunks_exact(self.features).enumerate() {
            let logits = subject.network.logits(subject.input(sample));
            let own = self.own.logits(features);
            let near = |(a, b): (&f32, &f32)| (a - b).abs() <= NEAR * (1.0 + b.abs());
            if own.len() != logits.len() || !own.iter().zip(&logits).all(near) {
                return refuse();
            }
        }
        Ok(())
    }

    /// How many numbers it reads.
    pub fn features(&self) -> usize {
        self.features
    }

    /// What the layer reads for these inputs, one after the other; none when time is up before all are run, or the
    /// tensor before the layer has another size.
    pub fn read(&self, inputs: &[f32], clock: &Clock) -> Option<Vec<f32>> {
        let before = self.cut.before()?;
        let each = before.input_elements().max(1);
        let mut features = Vec::new();
        for batch in inputs.chunks(BATCH * each) {
            if clock.is_over() {
                return None;
            }
            let trace = before.forward(batch, &Pass::keep([Point::Output(0)]));
            features.extend_from_slice(trace.get(Point::Output(0)));
        }
        (features.len() == inputs.len() / each * self.features).then_some(features)
    }

    /// Gradient descent with momentum on the cross entropy, from the layer's own weights, until it is enough. None when
    /// time is up before.
    pub fn train(
        &self,
        examples: &[Example<'_>],
        is_enough: &dyn Fn(&Head) -> bool,
        clock: &Clock,
    ) -> Option<Head> {
        let mut head = self.own.clone();
        let mut speed = Head {
            weights: vec![0.0; head.weights.len()],
            biases: vec![0.0; head.biases.len()],
        };
        let square = |example: &Example<'_>| {
            let squares = example.features.iter().map(|x| x * x);
            example.weight * (squares.sum::<f32>() + 1.0)
        };
        // The curvature is at most half of the mean square.
        let rate = 1.0
            / examples
                .iter()
                .map(square)
                .sum::<f32>()
                .max(f32::MIN_POSITIVE);
        for step in 1..=STEPS {
            if clock.is_over() {
                return None;
            }
            self.step(&mut head, &mut speed, examples, rate);
            if step % ASKED_EVERY == 0 && is_enough(&head) {
                break;
            }
        }
        Some(head)
    }

    /// One step. Every sum is taken in the order of the examples, so that threads do not matter.
    fn step(&self, head: &mut Head, speed: &mut Head, examples: &[Example<'_>], rate: f32) {
        let errors: Vec<Vec<f32>> = examples.par_iter().map(|e| head.errors(e)).collect();
        let rows = head.weights.par_chunks_exact_mut(self.features);
        let speeds = speed.weights.par_chunks_exact_mut(self.features);
        rows.zip(speeds)
            .enumerate()
            .for_each(|(class, (row, speed))| {
                for s in speed.iter_mut() {
                    *s *= MOMENTUM;
                }
                for (example, errors) in examples.iter().zip(&errors) {
                    let factor = rate * errors[class];
                    for (s, x) in speed.iter_mut().zip(example.features) {
                        *s -= factor * x;
                    }
                }
                row.iter_mut().zip(speed).for_each(|(w, s)| *w += *s);
            });
        if self.layer.bias.is_none() {
            return;
        }
        for (class, (bias, speed)) in head.biases.iter_mut().zip(&mut speed.biases).enumerate() {
            let sum: f32 = errors.iter().map(|errors| errors[class]).sum();
            *speed = *speed * MOMENTUM - rate * sum;
            *bias += *speed;
        }
    }

    /// The constants of the model file for other weights of the layer.
    pub fn changes(&self, head: &Head) -> Changes {
        let mut numbers = vec![0.0; head.weights.len()];
        let places = (0..self.layer.channels).flat_map(|c| self.layer.places(c, numbers.len()));
        let places: Vec<usize> = places.collect();
        for (place, weight) in places.into_iter().zip(&head.weights) {
            numbers[place] = *weight;
        }
        let mut changes = Changes::from([(self.layer.weight.clone(), numbers)]);
        if let Some(bias) = &self.layer.bias {
            changes.insert(bias.clone(), head.biases.clone());
        }
        changes
    }
}
