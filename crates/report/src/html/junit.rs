//! `junit.xml`: cases for build servers; requirements that are refuted, gates and adversarial inputs are failures.

use std::fmt::Write as _;

use super::cases::{Outcome, cases};
use super::index::model;
use super::view::View;

/// The whole file.
pub fn text(view: &View) -> String {
    let cases = cases(view);
    let failures = cases
        .iter()
        .filter(|c| matches!(c.outcome, Outcome::Failed(_)))
        .count();
    let skipped = cases
        .iter()
        .filter(|c| matches!(c.outcome, Outcome::Skipped(_)))
        .count();
    let suite = format!("{} {}", model(view), view.run.summary.criterion);
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "<testsuites name=\"deepconcolic\" tests=\"{0}\" failures=\"{failures}\" errors=\"0\">\n  <testsuite name=\"{1}\" tests=\"{0}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\" time=\"{2:.3}\">",
        cases.len(),
        escaped(&suite),
        view.run.summary.time_s.total,
    );
    for case in &cases {
        let (class, name) = (escaped(&case.class), escaped(&case.name));
        let _ = write!(text, "    <testcase classname=\"{class}\" name=\"{name}\"");
        let _ = match &case.outcome {
            Outcome::Passed => writeln!(text, "/>"),
            Outcome::Failed(why) => {
                let first = why.lines().next().unwrap_or_default();
                let (first, why) = (escaped(first), escaped(why));
                writeln!(
                    text,
                    ">\n      <failure message=\"{first}\">{why}</failure>\n    </testcase>"
                )
            }
            Outcome::Skipped(why) => {
                writeln!(
                    text,
                    ">\n      <skipped message=\"{}\"/>\n    </testcase>",
                    escaped(why)
                )
            }
        };
    }
    text.push_str("  </testsuite>\n</testsuites>\n");
    text
}

/// Text inside an element or an attribute. What XML 1.0 has no letter for is left out.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_an_element_or_is_no_letter_of_xml_is_not_written() {
        assert_eq!(
            escaped("a<b & \"c\">\u{1}\u{b}"),
            "a&lt;b &amp; &quot;c&quot;&gt;"
        );
    }
}
