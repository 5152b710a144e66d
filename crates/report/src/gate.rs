//! How the gates of a result are told: to people, and to GitHub's automata.

use deepconcolic::GateSummary;

/// One line: whether it passes, what it is, and why.
pub fn gate_line(gate: &GateSummary, colours: bool) -> String {
    let (word, colour) = if gate.passes {
        ("PASS", "32")
    } else {
        ("FAIL", "31")
    };
    let word = if colours {
        format!("\x1b[1;{colour}m{word}\x1b[0m")
    } else {
        word.to_owned()
    };
    format!("{word} {}: {}", gate.gate, gate.reason)
}

/// An error as GitHub's workflows read it from what a step prints.
pub fn annotation(title: &str, message: &str) -> String {
    let escaped = |text: &str| {
        text.replace('%', "%25")
            .replace('\r', "%0D")
            .replace('\n', "%0A")
    };
    // In front of the message, colons and commas end a property.
    let title = escaped(title).replace(':', "%3A").replace(',', "%2C");
    format!("::error title=deepconcolic {title}::{}", escaped(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_and_annotations_are_one_line_each() {
        let gate = GateSummary {
            gate: "--fail-under nc=95".into(),
            passes: false,
            reason: "nc: 1 of 3 covered (33.33 %)".into(),
        };
        let line = gate_line(&gate, false);
        assert_eq!(
            line,
            "FAIL --fail-under nc=95: nc: 1 of 3 covered (33.33 %)"
        );
        assert!(gate_line(&gate, true).starts_with("\x1b[1;31mFAIL\x1b[0m "));
        assert_eq!(
            annotation("--fail-under a:b", "33 %\nof"),
            "::error title=deepconcolic --fail-under a%3Ab::33 %25%0Aof"
        );
    }
}
