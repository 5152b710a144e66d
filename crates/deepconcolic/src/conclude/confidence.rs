//! How sure a network says it is of the class that it gives: the softmax of its logits there, or of one output the
//! sigmoid. It is the network's own word, and no probability that anybody has measured.

use deepconcolic_criteria::{Decision, Rule};
use deepconcolic_network::{Head, Network};
use deepconcolic_record::{AdversarialTable, SuiteTable};

/// The adversarial tests of a suite, with how sure the network is of each.
pub fn adversarial_tests(
    network: &Network,
    decision: &Decision,
    suite: &SuiteTable,
) -> AdversarialTable {
    let mut table = AdversarialTable::of(suite, network.input_elements());
    table.confidence = confidences(network, decision, &table.x);
    table
}

/// Inputs run at once.
const BATCH: usize = 64;

/// Of each input; empty where the answer is no class, or one output has no sigmoid.
pub fn confidences(network: &Network, decision: &Decision, x: &[f32]) -> Vec<f32> {
    let of_one = match (decision.rule(), network.head()) {
        (Some(Rule::Argmax), _) => softmax,
        (Some(Rule::Threshold(_)), Head::Sigmoid) => sigmoid,
        _ => return Vec::new(),
    };
    let batches = x.chunks(BATCH * network.input_elements().max(1));
    let mut confidences = Vec::new();
    for inputs in batches {
        let logits = network.logits(inputs);
        let count = inputs.len() / network.input_elements().max(1);
        for logits in logits.chunks_exact((logits.len() / count.max(1)).max(1)) {
            let class = decision.predict(logits).class();
            confidences.push(class.map_or(f32::NAN, |class| of_one(logits, class) as f32));
        }
    }
    confidences
}

/// Whether a saved confidence is that of the network: another machine's exponential may end in another digit.
pub fn agree(saved: f32, found: f32) -> bool {
    (saved - found).abs() <= 1e-6 || (saved.is_nan() && found.is_nan())
}

fn softmax(logits: &[f32], class: usize) -> f64 {
    let own = f64::from(logits[class]);
    let others = logits.iter().map(|&logit| (f64::from(logit) - own).exp());
    1.0 / others.sum::<f64>()
}

fn sigmoid(logits: &[f32], class: usize) -> f64 {
    let sign = if class == 1 { 1.0 } else { -1.0 };
    1.0 / (1.0 + (-sign * f64::from(logits[0])).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_all_classes_add_up_to_one() {
        let logits = [1.0, -2.0, 0.5, 40.0];
        let sum: f64 = (0..4).map(|class| softmax(&logits, class)).sum();
        assert!((sum - 1.0).abs() < 1e-12);
        assert!((softmax(&[0.0, 0.0], 1) - 0.5).abs() < 1e-12);
        assert!((softmax(&[0.0, 3_f32.ln()], 1) - 0.75).abs() < 1e-6);
        let both = sigmoid(&[3_f32.ln()], 1) + sigmoid(&[3_f32.ln()], 0);
        assert!((both - 1.0).abs() < 1e-12);
        assert!((sigmoid(&[3_f32.ln()], 1) - 0.75).abs() < 1e-6);
        // Far beyond what an exponential holds.
        assert!((softmax(&[1000.0, -1000.0], 0) - 1.0).abs() < 1e-12);
    }
}
