//! Signs that data cannot be right for a model: what a figure over them would hide. Data in, sentences out.

use deepconcolic_criteria::Rule;
use deepconcolic_geometry::Domain;

use crate::Inputs;
use crate::answers::{Accuracy, Answers};
use crate::percentage;

/// Fewest samples without labels of which it is strange that all have one class.
const MANY: usize = 10;
/// Most classes that a sentence lists by name.
const LISTED: usize = 20;
/// Samples looked at together.
const BATCH: usize = 256;

/// Why no figure over these data means anything, if so: no sample has an answer.
pub fn refusal(answers: &Answers) -> Option<String> {
    (answers.counts.samples == 0 && !answers.counts.not_finite.is_empty()).then(|| {
        format!(
            "the model's output is NaN or infinite for all {} samples, so that it has no answer for any; \
             check the model's weights, and --scale, --mean and --std",
            answers.counts.not_finite.len()
        )
    })
}

/// What is strange about the answers for data, most telling first. `names` are those of classes that
/// data give by name.
pub fn findings(answers: &Answers, names: Option<&[String]>) -> Vec<String> {
    let mut found = Vec::new();
    found.extend(not_finite(answers));
    found.extend(below_chance(answers));
    found.extend(shifted(answers));
    found.extend(without_class(answers));
    found.extend(one_class(answers));
    if answers.decision().classes() > 0 {
        found.extend(names.map(named));
    }
    found
}

fn not_finite(answers: &Answers) -> Option<String> {
    let first = answers.counts.not_finite.first()?;
    let (bad, all) = (
        answers.counts.not_finite.len(),
        answers.counts.samples + answers.counts.not_finite.len(),
    );
    Some(format!(
        "the model's output is NaN or infinite for {bad} of {all} samples (the first is sample {first}); they \
         have no answer and are not used"
    ))
}

/// Right answers that need no network: with classes, one in as many as there are; with quantities, what the
/// best single number gets.
fn below_chance(answers: &Answers) -> Option<String> {
    let accuracy = answers.accuracy()?;
    let (chance, words) = match answers.decision().rule()? {
        Rule::Within(tolerance) => {
            let best = within_reach(&answers.counts.values, tolerance);
            if best == accuracy.total {
                return None;
            }
            let chance = Accuracy {
                right: best,
                total: accuracy.total,
            };
            (
                chance.share(),
                "which one number said of every sample would reach".into(),
            )
        }
        Rule::Argmax | Rule::Threshold(_) => {
            let classes = answers.decision().classes();
            (
                1.0 / classes.max(1) as f64,
                format!("which guessing one of {classes} classes would reach"),
            )
        }
    };
    (accuracy.share() <= chance).then(|| {
        format!(
            "an accuracy of {} is not above the {} {words}: the labels may be others than the model's, or the \
             data not scaled as it takes them",
            percent(accuracy.share()),
            percent(chance)
        )
    })
}

/// Most labels that lie within the tolerance of one number.
fn within_reach(values: &[f64], tolerance: f64) -> usize {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let mut first = 0;
    let mut maximum = 0;
    for last in 0..sorted.len() {
        while sorted[last] - sorted[first] > 2.0 * tolerance {
            first += 1;
        }
        maximum = maximum.max(last + 1 - first);
    }
    maximum
}

fn shifted(answers: &Answers) -> Option<String> {
    let accuracy = answers.accuracy()?;
    let [higher, lower] = answers.counts.shifted;
    let (right, words) = if higher >= lower {
        (higher, ("higher", "subtract 1 from"))
    } else {
        (lower, ("lower", "add 1 to"))
    };
    if right <= accuracy.right || 2 * right <= accuracy.total {
        return None;
    }
    let share = Accuracy { right, ..accuracy }.share();
    let start = match answers.counts.labels.keys().next() {
        Some(1) if higher >= lower => "labels seem to start at 1, classes start at 0: ",
        _ => "",
    };
    Some(format!(
        "{start}{} of the labels are one {} than the class that the model gives; {} each and the accuracy \
         is {}",
        percent(share),
        words.0,
        words.1,
        percent(share)
    ))
}

fn without_class(answers: &Answers) -> Option<String> {
    let classes = answers.decision().classes();
    let impossible = |label: i64| usize::try_from(label).map_or(true, |label| label >= classes);
    let strange: Vec<(i64, usize)> = answers
        .counts
        .labels
        .iter()
        .filter(|(label, _)| impossible(**label))
        .map(|(&label, &count)| (label, count))
        .collect();
    let samples: usize = strange.iter().map(|(_, count)| count).sum();
    let mut labels: Vec<String> = strange
        .iter()
        .take(LISTED)
        .map(|(label, _)| label.to_string())
        .collect();
    if strange.len() > LISTED {
        labels.push("...".into());
    }
    (samples > 0).then(|| {
        format!(
            "{samples} samples have a label that no class of the model has ({}): its classes are 0 to {}",
            labels.join(", "),
            classes.saturating_sub(1)
        )
    })
}

fn one_class(answers: &Answers) -> Option<String> {
    let class = answers
        .counts
        .classes
        .iter()
        .position(|&count| count == answers.counts.samples)?;
    let strange = match answers.accuracy() {
        Some(accuracy) => accuracy.right < accuracy.total,
        None => answers.counts.samples >= MANY,
    };
    (strange && answers.counts.samples > 1).then(|| {
        format!(
            "the model gives class {class} to all {} samples: the data may not be scaled or laid out as it takes \
             them",
            answers.counts.samples
        )
    })
}

fn named(names: &[String]) -> String {
    let numbered = names.iter().enumerate().take(LISTED);
    let mut list: Vec<String> = numbered.map(|(i, name)| format!("{name} = {i}")).collect();
    if names.len() > LISTED {
        list.push("...".into());
    }
    format!(
        "labels are names, numbered in order of name: {}; if the model numbers its classes otherwise, give \
         numbers",
        list.join(", ")
    )
}

fn percent(share: f64) -> String {
    format!("{:.2} %", percentage::percent(share, 2))
}

/// What is strange about where data lie: how many are outside the domain, called by its words.
pub fn outside(data: &dyn Inputs, domain: &Domain, words: &str) -> Option<String> {
    let each = domain.lower().len();
    let mut count = 0;
    let (mut low, mut high) = (f32::INFINITY, f32::NEG_INFINITY);
    let mut x = Vec::new();
    for first in (0..data.len()).step_by(BATCH) {
        let numbers: Vec<usize> = (first..data.len().min(first + BATCH)).collect();
        x.resize(numbers.len() * each, 0.0);
        data.gather(&numbers, &mut x);
        for sample in x.chunks_exact(each.max(1)) {
            let mut ends = sample.iter().zip(domain.lower().iter().zip(domain.upper()));
            if !ends.all(|(x, (low, high))| low <= x && x <= high) {
                count += 1;
                low = sample.iter().copied().fold(low, f32::min);
                high = sample.iter().copied().fold(high, f32::max);
            }
        }
    }
    (count > 0).then(|| {
        format!(
            "{count} of {} samples lie outside the domain {words}: they have values from {low} to {high}; give \
             --scale if the model takes another range, or --domain LO..HI if it does not",
            data.len()
        )
    })
}

#[cfg(test)]
mod tests {
    use deepconcolic_criteria::{Decision, Truth};
    use deepconcolic_network::ops::Dense;
    use deepconcolic_network::{Network, NetworkBuilder, Shape};

    use super::*;

    /// A network with so many outputs.
    fn network(outputs: usize) -> Network {
        let (mut builder, x) = NetworkBuilder::new("x", Shape::new([1, 1]).unwrap());
        let dense = Dense::new(1, outputs, vec![1.0; outputs], vec![0.0; outputs]).unwrap();
        let y = builder.add(dense, &[x], "y").unwrap();
        builder.finish(&[("y", y)], 0).unwrap()
    }

    /// What is said of samples that get a class, by their labels.
    fn of(classes: usize, samples: &[(usize, Option<i64>)]) -> String {
        let mut answers = Answers::new(&Decision::shown(&network(classes)));
        for (number, &(class, label)) in samples.iter().enumerate() {
            let mut logits = vec![0.0; classes];
            logits[class] = 1.0;
            let truth = label.map(Truth::Class);
            answers.observe(number, &logits, truth.as_ref());
        }
        findings(&answers, None).join("\n")
    }

    #[test]
    fn nothing_is_said_of_data_that_are_right() {
        let right: Vec<_> = (0..30).map(|i| (i % 3, Some((i % 3) as i64))).collect();
        assert_eq!(of(3, &right), "");
        // One class of the data, and the network sees it.
        assert_eq!(of(3, &[(1, Some(1)); 20]), "");
        assert_eq!(of(3, &[(1, None); 9]), "");
    }

    #[test]
    fn labels_from_one_are_recognised() {
        let all: Vec<_> = (0..30).map(|i| (i % 3, Some((i % 3) as i64 + 1))).collect();
        let text = of(3, &all);
        assert!(text.contains("labels seem to start at 1"), "{text}");
        assert!(text.contains("33.33 %") && text.contains("(3)"), "{text}");
        let all: Vec<_> = (0..30).map(|i| (i % 3, Some((i % 3) as i64 - 1))).collect();
        assert!(of(3, &all).contains("one lower"));
    }

    #[test]
    fn one_class_for_everything_is_told_of() {
        let labelled: Vec<_> = (0..4).map(|i| (2, Some(i % 3))).collect();
        assert!(of(3, &labelled).contains("class 2 to all 4 samples"));
        assert!(of(3, &[(0, None); 10]).contains("class 0 to all 10 samples"));
    }

    #[test]
    fn chance_of_a_quantity_is_one_number_for_all() {
        let rule = Some(Rule::Within(0.5));
        let decision = Decision::of(&network(1), rule).unwrap();
        let say = |outputs: [f32; 4]| {
            let mut answers = Answers::new(&decision);
            for (number, output) in outputs.into_iter().enumerate() {
                let truth = Truth::Values(vec![number as f64]);
                answers.observe(number, &[output], Some(&truth));
            }
            findings(&answers, None).join("\n")
        };
        // Labels 0, 1, 2, 3: a number between two of them is within 0.5 of both.
        assert_eq!(say([0.0, 1.0, 2.0, 9.0]), "");
        let text = say([0.0, 1.0, 9.0, 9.0]);
        assert!(
            text.contains("50.00 %") && text.contains("one number"),
            "{text}"
        );
    }

    #[test]
    fn samples_without_an_answer_are_counted() {
        let mut answers = Answers::new(&Decision::shown(&network(2)));
        answers.observe(0, &[f32::NAN, 0.0], None);
        assert!(refusal(&answers).is_some());
        answers.observe(1, &[1.0, 0.0], None);
        assert_eq!(refusal(&answers), None);
        let text = findings(&answers, None).join("\n");
        assert!(
            text.contains("1 of 2 samples (the first is sample 0)"),
            "{text}"
        );
    }
}
