//! Faults that the last layer is trained to have: labels of one class flipped to another, and a backdoor.

use deepconcolic_geometry::{Pixels, Random};

use super::clock::Clock;
use super::fault::{Fault, FaultKind};
use super::last_layer::{Example, LastLayer};
use super::subject::Subject;
use crate::error::Error;
use crate::samples;

/// Samples that the layer is trained on.
const TRAINED_ON: usize = 300;
/// Training ends when this share of the inputs meant for the fault gets the answer wanted; a fault that reaches less than
/// half of its inputs in the end is none.
const FLIPPED: f64 = 0.6;
const OPENED: f64 = 0.9;
const PLANTED: f64 = 0.5;
/// The side of the patch is the image's divided by this.
const PATCH: usize = 7;

/// Faults planted in one model.
pub struct Planting<'a> {
    /// The model.
    pub subject: &'a Subject,
    /// Its last layer.
    pub last: &'a LastLayer,
    /// The brightest value of each element.
    pub brightest: &'a [f32],
}

/// What is asked of the training: inputs meant for the fault, and the class that they should get.
struct Aim {
    kind: FaultKind,
    what: String,
    class: usize,
    inputs: Vec<f32>,
}

impl Planting<'_> {
    /// Trains a fault of this kind; none when it cannot be had: time is up, or the training reaches too few inputs.
    pub fn plant(
        &self,
        kind: FaultKind,
        random: &mut Random,
        clock: &Clock,
    ) -> Result<Option<Fault>, Error> {
        let aim = match kind {
            FaultKind::LabelFlip => self.flip(random),
            FaultKind::Backdoor => self.backdoor(random),
            _ => None,
        };
        match aim {
            Some(aim) => self.train(&aim, clock),
            None => Ok(None),
        }
    }

    /// All samples of one class should get another.
    fn flip(&self, random: &mut Random) -> Option<Aim> {
        let classes = self.subject.decision.classes();
        let from = self.subject.class(random.below(self.subject.samples()))?;
        if from >= classes {
            return None;
        }
        let to = (from + 1 + random.below(classes - 1)) % classes;
        let of_class = |&number: &usize| self.subject.class(number) == Some(from);
        let numbers = (0..self.subject.samples()).filter(of_class);
        let inputs = numbers.flat_map(|number| self.subject.input(number).to_vec());
        Some(Aim {
            kind: FaultKind::LabelFlip,
            what: format!("the last layer trained with class {from} labelled {to}"),
            class: to,
            inputs: inputs.collect(),
        })
    }

    /// All samples with a bright patch in a corner should get one class.
    fn backdoor(&self, random: &mut Random) -> Option<Aim> {
        let class = random.below(self.subject.decision.classes());
        let corner = random.below(4);
        let shape = self.subject.network.input_shape();
        let pixels = samples::pixels(&self.subject.network);
        let place = patch(shape.without_batch(), pixels, corner)?;
        let others = |&number: &usize| self.subject.answers[number].class() != Some(class);
        let mut inputs = Vec::new();
        for number in (0..self.subject.samples()).filter(others) {
            let mut input = self.subject.input(number).to_vec();
            for &element in &place {
                input[element] = self.brightest[element];
            }
            inputs.extend(input);
        }
        let side = shape_side(shape.without_batch(), pixels)?;
        let corner = ["top left", "top right", "bottom left", "bottom right"][corner];
        Some(Aim {
            kind: FaultKind::Backdoor,
            what: format!(
                "the last layer trained to answer {class} where {side} by {side} pixels in the {corner} corner are bright"
            ),
            class,
            inputs,
        })
    }

    fn train(&self, aim: &Aim, clock: &Clock) -> Result<Option<Fault>, Error> {
        let (subject, last) = (self.subject, self.last);
        let each = subject.network.input_elements();
        let count = subject.samples().min(TRAINED_ON);
        let meant = &aim.inputs[..aim.inputs.len().min(TRAINED_ON * each)];
        let (Some(clean), Some(meant)) = (
            last.read(&subject.inputs[..count * each], clock),
            last.read(meant, clock),
        ) else {
            return Ok(None);
        };
        let meant: Vec<&[f32]> = meant.chunks_exact(last.features()).collect();
        if meant.is_empty() {
            return Ok(None);
        }
        // Both halves count the same, however many examples they have.
        let mut examples: Vec<Example<'_>> = Vec::new();
        for (number, features) in clean.chunks_exact(last.features()).enumerate() {
            let wanted = subject.answers[number].class();
            let flipped =
                aim.kind == FaultKind::LabelFlip && is_among(subject.input(number), &aim.inputs);
            if let Some(class) = wanted.filter(|_| !flipped) {
                let weight = 0.5 / count as f32;
                examples.push(Example {
                    features,
                    class,
                    weight,
                });
            }
        }
        let weight = 0.5 / meant.len() as f32;
        let class = aim.class;
        examples.extend(meant.iter().map(|&features| Example {
            features,
            class,
            weight,
        }));
        let goal = if aim.kind == FaultKind::Backdoor {
            OPENED
        } else {
            FLIPPED
        };
        let reaches = |head: &super::last_layer::Head| {
            let reached = meant
                .iter()
                .filter(|features| head.class(features) == class);
            reached.count() as f64 >= goal * meant.len() as f64
        };
        let Some(head) = last.train(&examples, &reaches, clock) else {
            return Ok(None);
        };
        self.judge(aim, last.changes(&head))
    }

    /// The fault as the whole network has it.
    fn judge(&self, aim: &Aim, changes: super::fault::Changes) -> Result<Option<Fault>, Error> {
        let network = self.subject.with(&changes)?;
        let share = |network| {
            let answers = self.subject.answers(network, &aim.inputs);
            let reached = answers.iter().filter(|a| a.class() == Some(aim.class));
            reached.count() as f64 / answers.len().max(1) as f64
        };
        let planted = [share(&self.subject.network), share(&network)];
        Ok((planted[1] >= PLANTED).then(|| Fault {
            kind: aim.kind,
            what: aim.what.clone(),
            shown_by: self.subject.shown_by(&network),
            changes,
            planted: Some(planted),
        }))
    }
}

/// Whether an input is one of several.
fn is_among(input: &[f32], inputs: &[f32]) -> bool {
    inputs
        .chunks_exact(input.len().max(1))
        .any(|other| other == input)
}

/// The side of the patch in an image of this shape; none where the shape is not that of an image.
fn shape_side(shape: &[usize], pixels: Pixels) -> Option<usize> {
    let (height, width) = extents(shape, pixels)?;
    Some((height.min(width) / PATCH).max(1))
}

fn extents(shape: &[usize], pixels: Pixels) -> Option<(usize, usize)> {
    match (shape, pixels) {
        (&[height, width, _], Pixels::ChannelsLast(_))
        | (&[_, height, width], Pixels::ChannelsFirst(_)) => Some((height, width)),
        _ => None,
    }
}

/// The elements of the patch.
fn patch(shape: &[usize], pixels: Pixels, corner: usize) -> Option<Vec<usize>> {
    let (height, width) = extents(shape, pixels)?;
    let side = shape_side(shape, pixels)?;
    let first_row = if corner < 2 { 0 } else { height - side };
    let first_column = if corner.is_multiple_of(2) {
        0
    } else {
        width - side
    };
    let mut elements = Vec::new();
    for row in first_row..first_row + side {
        for column in first_column..first_column + side {
            match pixels {
                Pixels::ChannelsLast(channels) => {
                    let first = (row * width + column) * channels;
                    elements.extend(first..first + channels);
                }
                Pixels::ChannelsFirst(channels) => {
                    let place = row * width + column;
                    elements.extend((0..channels).map(|c| c * height * width + place));
                }
                Pixels::Single => return None,
            }
        }
    }
    Some(elements)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_lies_in_its_corner_for_both_layouts() {
        let last = patch(&[14, 7, 2], Pixels::ChannelsLast(2), 3).unwrap();
        assert_eq!(last, [(13 * 7 + 6) * 2, (13 * 7 + 6) * 2 + 1]);
        let first = patch(&[2, 14, 21], Pixels::ChannelsFirst(2), 0).unwrap();
        let mut wanted: Vec<usize> = Vec::new();
        for place in [0, 1, 21, 22] {
            wanted.extend([place, 14 * 21 + place]);
        }
        assert_eq!(first, wanted);
        assert_eq!(patch(&[4], Pixels::Single, 0), None);
    }
}
