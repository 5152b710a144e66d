//! `adversarial/`: the adversarial tests with their true labels, ready for retraining, and as pictures.

use std::fs;
use std::path::Path;

use deepconcolic_concolic::oracle::{Judgement, Verdict};
use deepconcolic_dataset::write::{NpzWriter, write_png, write_png_16};
use deepconcolic_spec::{Domain, Truth};

use crate::error::ArchiveError;
use crate::picture::Picture;
use crate::suite::SuiteTable;

/// Most pictures written; the arrays hold all tests.
const PICTURES: usize = 1000;
/// The largest value of a pixel with 8 bits, and with 16.
const EIGHT: u16 = 255;
const SIXTEEN: u16 = 65535;

/// The class a test should have; -1 where its answer is no class.
fn class(judgement: &Judgement) -> i64 {
    match judgement.truth {
        Some(Truth::Class(class)) => class,
        Some(Truth::Values(_)) | None => -1,
    }
}

/// The quantities a test should have.
fn quantities(judgement: &Judgement) -> &[f64] {
    match &judgement.truth {
        Some(Truth::Values(values)) => values,
        Some(Truth::Class(_)) | None => &[],
    }
}

/// Writes the folder anew: `adversarial.npz` (x, y: the true label or quantities, label: the network's
/// class, output: its quantities, test: row of the suite, reference, distance), and
/// `test-label-as-label.png` for each where inputs are pictures.
/// Returns what the user should know of the pictures: why there are none, how many were left out, how far
/// they are from the tests.
pub fn write_adversarial(
    folder: &Path,
    suite: &SuiteTable,
    judgements: &[Judgement],
    shape: &[usize],
    domain: &Domain,
) -> Result<Vec<String>, ArchiveError> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(ArchiveError::io(folder, "replace"))?;
    }
    let chosen: Vec<usize> = (0..judgements.len())
        .filter(|&t| judgements[t].verdict == Verdict::Adversarial)
        .collect();
    if chosen.is_empty() {
        return Ok(Vec::new());
    }
    fs::create_dir_all(folder).map_err(ArchiveError::io(folder, "create"))?;
    let elements: usize = shape.iter().product();
    let input = |t: usize| &suite.x[t * elements..(t + 1) * elements];
    let count = chosen.len();
    let mut whole = vec![count];
    whole.extend(shape);
    let x: Vec<f32> = chosen.iter().flat_map(|&t| input(t)).copied().collect();
    let column =
        |value: &dyn Fn(usize) -> i64| chosen.iter().map(|&t| value(t)).collect::<Vec<_>>();
    let distances: Vec<f32> = chosen
        .iter()
        .map(|&t| judgements[t].distance as f32)
        .collect();
    let mut file = NpzWriter::create(&folder.join("adversarial.npz"))?;
    file.add("x", &whole, &x)?;
    let values: Vec<f64> = chosen
        .iter()
        .flat_map(|&t| quantities(&judgements[t]))
        .copied()
        .collect();
    if values.is_empty() {
        file.add("y", &[count], &column(&|t| class(&judgements[t])))?;
    } else {
        let each = values.len() / count;
        let wide = [count, each];
        let shape = if each == 1 { &wide[..1] } else { &wide };
        file.add("y", shape, &values)?;
        let outputs = suite.outputs();
        let row = |&t: &usize| &suite.output[t * outputs..(t + 1) * outputs];
        let output: Vec<f64> = chosen.iter().flat_map(row).copied().collect();
        file.add("output", &[count, outputs], &output)?;
    }
    file.add("label", &[count], &column(&|t| suite.label[t]))?;
    file.add("test", &[count], &column(&|t| t as i64))?;
    file.add("reference", &[count], &column(&|t| suite.reference[t]))?;
    file.add("distance", &[count], &distances)?;
    file.finish()?;
    let picture = match Picture::of(shape, domain) {
        Ok(picture) => picture,
        Err(why) => {
            return Ok(vec![format!(
                "adversarial tests have no pictures: {why}; adversarial.npz has the tests"
            )]);
        }
    };
    let drawn: Vec<(String, &[f32])> = chosen
        .iter()
        .take(PICTURES)
        .map(|&t| {
            let name = match &judgements[t].truth {
                Some(Truth::Class(truth)) => format!("{t:06}-{truth}-as-{}.png", suite.label[t]),
                Some(Truth::Values(_)) | None => format!("{t:06}.png"),
            };
            (name, input(t))
        })
        .collect();
    let mut notes = Vec::new();
    if count > PICTURES {
        notes.push(format!(
            "{} adversarial tests have no picture; adversarial.npz has them all",
            count - PICTURES
        ));
    }
    notes.extend(draw(folder, &picture, &drawn)?);
    Ok(notes)
}

/// Writes pictures with 8 bits, or with 16 if only that holds every value exactly. Says how far they are
/// from the tests, if they are.
fn draw(
    folder: &Path,
    picture: &Picture<'_>,
    inputs: &[(String, &[f32])],
) -> Result<Option<String>, ArchiveError> {
    let off = |levels: u16| {
        let each = inputs
            .iter()
            .map(|(_, input)| picture.levels(input, levels).1);
        each.fold(0.0, f64::max)
    };
    let coarse = off(EIGHT);
    let sixteen = coarse > 0.0 && off(SIXTEEN) == 0.0;
    let [height, width, channels] = picture.size();
    for (name, input) in inputs {
        let path = folder.join(name);
        if sixteen {
            let (values, _) = picture.levels(input, SIXTEEN);
            write_png_16(&path, height, width, channels, &values)?;
        } else {
            let (values, _) = picture.levels(input, EIGHT);
            let bytes: Vec<u8> = values.iter().map(|&value| value as u8).collect();
            write_png(&path, height, width, channels, &bytes)?;
        }
    }
    let exact = coarse == 0.0 || sixteen;
    Ok((!exact).then(|| {
        format!(
            "pictures of adversarial tests are rounded to 8 bits, values by at most {}; adversarial.npz has \
             the tests exactly",
            rounded_up(coarse)
        )
    }))
}

/// Two digits that are not below the number.
fn rounded_up(number: f64) -> String {
    let digit = 10_f64.powi(number.log10().floor() as i32 - 1);
    let digits = (number / digit).ceil();
    format!("{}", (digits * digit * 1e12).round() / 1e12)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_shown_with_two_digits_and_never_below() {
        assert_eq!(rounded_up(0.001_957), "0.002");
        assert_eq!(rounded_up(0.001_911), "0.002");
        assert_eq!(rounded_up(0.012_01), "0.013");
        assert_eq!(rounded_up(0.5), "0.5");
        assert_eq!(rounded_up(3.01), "3.1");
    }
}
