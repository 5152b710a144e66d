//! `findings.sarif`: what failed, in the form that code scanning pages of forges read (SARIF 2.1.0). A finding is about
//! the model's file as a whole: a network has no lines.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::cases::{ADVERSARIAL, Case, GATE, Outcome, cases};
use super::view::View;

/// Kinds of findings: name, description, and how grave one is.
const RULES: [(&str, &str, &str); 3] = [
    (GATE, "A gate of the run does not pass", "error"),
    ("refuted", "A test refutes a required property", "error"),
    (
        ADVERSARIAL,
        "An input near a real one gets another answer",
        "warning",
    ),
];

/// The whole file.
pub fn text(view: &View) -> String {
    let model = &view.run.summary.model.path;
    let results = cases(view).into_iter();
    let results: Vec<Value> = results.filter_map(|case| result(case, model)).collect();
    let rule = |(id, words, level): (&str, &str, &str)| {
        json!({
            "id": id,
            "shortDescription": { "text": words },
            "defaultConfiguration": { "level": level },
        })
    };
    let file = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "deepconcolic",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": RULES.map(rule),
            } },
            "results": results,
        }],
    });
    format!("{file:#}\n")
}

/// A case that failed, as a finding.
fn result(case: Case, model: &str) -> Option<Value> {
    let Outcome::Failed(why) = case.outcome else {
        return None;
    };
    let is_rule = |(id, ..): &&(&str, &str, &str)| *id == case.class;
    let (id, _, level) = RULES.iter().find(is_rule).unwrap_or(&RULES[1]);
    Some(json!({
        "ruleId": id,
        "level": level,
        "message": { "text": format!("{}: {why}", case.name) },
        "locations": [{ "physicalLocation": {
            "artifactLocation": { "uri": uri(model) },
            "region": { "startLine": 1 },
        } }],
        // The same finding of the next run is the same to whoever lists them.
        "partialFingerprints": { "case/v1": format!("{}/{}", case.class, case.name) },
    }))
}

/// A path as a reference: what a reference has no letter for is written as its bytes.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(class: &str, outcome: Outcome) -> Case {
        Case {
            class: class.into(),
            name: "r1".into(),
            outcome,
        }
    }

    #[test]
    fn only_what_failed_is_a_finding_and_its_class_is_its_rule() {
        let failed = || Outcome::Failed("why".into());
        let rule = |class| result(case(class, failed()), "m.onnx").map(|r| r["ruleId"].clone());
        assert_eq!(rule(GATE), Some(json!("gate")));
        assert_eq!(rule(ADVERSARIAL), Some(json!("adversarial")));
        assert_eq!(rule("safety"), Some(json!("refuted")));
        assert!(result(case(GATE, Outcome::Passed), "m.onnx").is_none());
        assert!(result(case("nc", Outcome::Skipped("open".into())), "m.onnx").is_none());
    }

    #[test]
    fn a_path_with_odd_letters_is_a_reference() {
        assert_eq!(uri("models/my net#1.onnx"), "models/my%20net%231.onnx");
        assert_eq!(uri("é"), "%C3%A9");
    }
}
