//! The examples of `docs/requirements.md` mean what the guide says they mean.
//!
//! Blocks tagged `dr` must parse, resolve and survive printing. In a block with `# ->` comments
//! each statement has one: how many of its requirements hold over the guide's suite. Blocks
//! tagged `dr-error` must fail with the message in the `text` block behind them.

use std::fs;
use std::path::Path;

use deepconcolic_geometry::InputSpace;
use deepconcolic_language::{
    Evaluator, RecordedTest, Recording, RequirementFamily, RequirementFile, Signature,
};

fn guide() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/requirements.md");
    fs::read_to_string(path).unwrap()
}

/// The fenced blocks: tag and content.
fn blocks(guide: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut lines = guide.lines();
    while let Some(line) = lines.next() {
        if let Some(tag) = line.strip_prefix("```") {
            let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            blocks.push((tag.to_owned(), body.join("\n")));
        }
    }
    blocks
}

/// The guide's network: its first table, `| k | name | neurons |`.
fn signature(guide: &str) -> Signature {
    let rows = table(guide, "| k |");
    let layers: Vec<(String, usize)> = rows
        .iter()
        .map(|cells| {
            (
                cells[1].trim_matches('`').to_owned(),
                cells[2].parse().unwrap(),
            )
        })
        .collect();
    Signature::feed_forward(
        layers
            .iter()
            .map(|(name, neurons)| (name.as_str(), *neurons)),
    )
}

/// The guide's suite: its second table, `| test | input | u of layer 2 | ...`.
fn suite(guide: &str) -> Recording {
    let numbers = |cell: &String| -> Vec<f32> {
        cell.split_whitespace()
            .map(|number| number.parse().unwrap())
            .collect()
    };
    let test = |cells: &Vec<String>| {
        let u: Vec<Vec<f32>> = cells[2..].iter().map(numbers).collect();
        let mut v = u.clone();
        let (_logits, hidden) = v.split_last_mut().unwrap();
        hidden
            .iter_mut()
            .flatten()
            .for_each(|value| *value = value.max(0.0));
        let input = numbers(&cells[1]);
        RecordedTest { input, u, v }
    };
    let tests = table(guide, "| test |").iter().map(test).collect();
    Recording { tests }
}

fn table(guide: &str, head: &str) -> Vec<Vec<String>> {
    guide
        .lines()
        .skip_while(|line| !line.starts_with(head))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells = line.trim_matches('|').split('|');
            cells.map(|cell| cell.trim().to_owned()).collect()
        })
        .collect()
}

/// `3 of 5`, or `holds` and `does not hold` for a statement that is no family.
fn outcome(family: &RequirementFamily<'_>, suite: &Recording) -> String {
    let space = InputSpace::default();
    let evaluator = Evaluator::new(suite, &space);
    let members = (0..family.len()).map(|index| family.get(index).unwrap());
    let held = members
        .filter(|requirement| evaluator.holds(requirement))
        .count();
    match (family.len(), held) {
        (1, 0) => "does not hold".to_owned(),
        (1, _) => "holds".to_owned(),
        (len, held) => format!("{held} of {len}"),
    }
}

#[test]
fn the_examples_of_the_guide_mean_what_it_says() {
    let guide = guide();
    let (signature, suite) = (signature(&guide), suite(&guide));
    let examples = blocks(&guide).into_iter().filter(|(tag, _)| tag == "dr");
    let mut seen = 0;
    for (_, text) in examples {
        let file = RequirementFile::parse(&text).unwrap_or_else(|error| panic!("{error}"));
        let again = RequirementFile::parse(&file.to_string()).unwrap();
        assert_eq!(again, file, "{text}");
        let set = file
            .resolve(&signature)
            .unwrap_or_else(|error| panic!("{error}"));
        let found: Vec<String> = set
            .families()
            .map(|family| outcome(&family, &suite))
            .collect();
        let claims: Vec<&str> = text
            .split("# -> ")
            .skip(1)
            .filter_map(|rest| rest.lines().next())
            .collect();
        if !claims.is_empty() {
            assert_eq!(found, claims, "{text}");
        }
        seen += claims.len();
    }
    assert!(seen > 10, "the guide has lost its examples");
}

#[test]
fn the_mistakes_of_the_guide_are_answered_as_it_says() {
    let guide = guide();
    let signature = signature(&guide);
    let blocks = blocks(&guide);
    let mistakes = blocks.windows(2).filter(|pair| pair[0].0 == "dr-error");
    let mut seen = 0;
    for pair in mistakes {
        let [(_, text), (tag, message)] = pair else {
            unreachable!()
        };
        assert_eq!(tag, "text", "no message behind {text}");
        let set = RequirementFile::parse(text).and_then(|file| file.resolve(&signature));
        assert_eq!(set.unwrap_err().to_string(), *message);
        seen += 1;
    }
    assert!(seen > 1, "the guide has lost its mistakes");
}
