//! Faults in single weights: noise, a sign, a zero, a bias. They are drawn so that they can be missed: a fault that
//! changes every answer is found by any test.

use deepconcolic_formats::onnx::{WeightedLayer, Weights};
use deepconcolic_geometry::Random;

use super::clock::Clock;
use super::fault::{Changes, Fault, FaultKind};
use super::subject::Subject;
use crate::error::Error;

/// Drawings of one fault.
const DRAWINGS: usize = 10;
/// The largest share of the samples whose answers a fault should change.
const MAX_SHOWN: f64 = 0.05;
/// The first noise, in standard deviations of the layer's weights, and the first shift of a bias, as a part of the sum
/// of the sizes of its weights. Every further drawing has half of it.
const NOISE: f64 = 1.0;
const SHIFT: f64 = 0.5;

/// Draws a fault until some sample shows it and few do: at least one, at most a twentieth. Where no drawing is such,
/// the one that the fewest samples show is taken, and one that none shows only if all are. None when time is up before the
/// first, or no layer can have such a fault.
pub fn draw(
    subject: &Subject,
    kind: FaultKind,
    random: &mut Random,
    clock: &Clock,
) -> Result<Option<Fault>, Error> {
    let most = (subject.samples() as f64 * MAX_SHOWN).max(1.0) as usize;
    let mut best: Option<Fault> = None;
    for drawing in 0..DRAWINGS {
        if clock.is_over() {
            break;
        }
        let Some((what, changes)) = change(&subject.weights, kind, random, drawing) else {
            break;
        };
        let shown_by = subject.shown_by(&subject.with(&changes)?);
        let rank = |shown: usize| if shown == 0 { usize::MAX } else { shown };
        if best
            .as_ref()
            .is_none_or(|best| rank(shown_by) < rank(best.shown_by))
        {
            best = Some(Fault {
                kind,
                what,
                changes,
                shown_by,
                planted: None,
            });
        }
        if (1..=most).contains(&shown_by) {
            break;
        }
    }
    Ok(best)
}

/// One drawing: words and numbers.
fn change(
    weights: &Weights,
    kind: FaultKind,
    random: &mut Random,
    drawing: usize,
) -> Option<(String, Changes)> {
    let fits = |layer: &&WeightedLayer| kind != FaultKind::Bias || layer.bias.is_some();
    let layers: Vec<&WeightedLayer> = weights.layers().iter().filter(fits).collect();
    if layers.is_empty() {
        return None;
    }
    let layer = layers[random.below(layers.len())];
    let channel = random.below(layer.channels);
    let less = 0.5f64.powi(i32::try_from(drawing).unwrap_or(i32::MAX));
    let name = &layer.output;
    let old = weights.numbers(&layer.weight);
    let mut numbers = old.to_vec();
    match kind {
        FaultKind::Noise => {
            let size = NOISE * less * deviation(old);
            for number in &mut numbers {
                *number += (size * random.normal()) as f32;
            }
            let what = format!("normal noise of {size:.3e} on the weights of {name}");
            Some((what, [(layer.weight.clone(), numbers)].into()))
        }
        FaultKind::Sign => {
            for place in layer.places(channel, old.len()) {
                numbers[place] = -numbers[place];
            }
            let what = format!("the weights into channel {channel} of {name} with the other sign");
            Some((what, [(layer.weight.clone(), numbers)].into()))
        }
        FaultKind::Zero => {
            for place in layer.places(channel, old.len()) {
                numbers[place] = 0.0;
            }
            let mut changes = Changes::from([(layer.weight.clone(), numbers)]);
            if let Some(bias) = &layer.bias {
                let mut numbers = weights.numbers(bias).to_vec();
                numbers[channel] = 0.0;
                changes.insert(bias.clone(), numbers);
            }
            Some((format!("channel {channel} of {name} always 0"), changes))
        }
        FaultKind::Bias => {
            let bias = layer.bias.as_ref()?;
            let places = layer.places(channel, old.len());
            let sum: f64 = places.map(|place| f64::from(old[place].abs())).sum();
            let sign = if random.below(2) == 0 { 1.0 } else { -1.0 };
            let shift = sign * SHIFT * less * sum.max(f64::from(f32::EPSILON));
            let mut numbers = weights.numbers(bias).to_vec();
            numbers[channel] += shift as f32;
            let what = format!("the bias of channel {channel} of {name} shifted by {shift:+.3e}");
            Some((what, [(bias.clone(), numbers)].into()))
        }
        FaultKind::LabelFlip | FaultKind::Backdoor => None,
    }
}

fn deviation(numbers: &[f32]) -> f64 {
    let count = numbers.len().max(1) as f64;
    let mean = numbers.iter().copied().map(f64::from).sum::<f64>() / count;
    let squares = numbers.iter().map(|&n| (f64::from(n) - mean).powi(2));
    (squares.sum::<f64>() / count).sqrt()
}
