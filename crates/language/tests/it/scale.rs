//! Large requirement files are read, and families are never spelled out. How fast: the benchmark's
//! `coverage` command says it.

use std::fmt::Write as _;

use deepconcolic_language::{Error, RequirementFile, Signature};

fn signature() -> Signature {
    Signature::feed_forward([("in", 784), ("relu", 100_000), ("out", 10)])
}

fn many_lines() -> String {
    let mut text = String::new();
    for neuron in 0..100_000 {
        writeln!(text, "exists x: u[x][2,{neuron}] - 0.5 > 0").unwrap();
    }
    text
}

#[test]
fn a_hundred_thousand_statements_parse_and_resolve() {
    let file = RequirementFile::parse(&many_lines()).unwrap();
    let set = file.resolve(&signature()).unwrap();
    assert_eq!(set.len(), 100_000);
    let last = set.get(99_999).unwrap().to_string();
    assert_eq!(last, "exists x: u[x][2,99999] - 0.5 > 0");
}

#[test]
fn a_hundred_thousand_requirements_in_one_line_are_made_when_asked_for() {
    let file = RequirementFile::parse("for i in neurons(2): exists x: ap[x][2,i]").unwrap();
    let set = file.resolve(&signature()).unwrap();
    assert_eq!(set.len(), 100_000);
    let made = set.iter().map(Result::unwrap).count();
    assert_eq!(made, 100_000);
}

#[test]
fn a_mistake_in_line_70000_is_reported_there() {
    let mut lines: Vec<String> = many_lines().lines().map(str::to_owned).collect();
    lines[69_999] = "exists x: u[x][2,69999] - 0.5 >> 0".to_owned();
    let Err(Error::At(error)) = RequirementFile::parse(&lines.join("\n")) else {
        panic!("the mistake went unseen");
    };
    assert_eq!((error.line, error.column), (70_000, 32));
    lines[69_999] = "exists x: u[x][2,100000] - 0.5 > 0".to_owned();
    let file = RequirementFile::parse(&lines.join("\n")).unwrap();
    let Err(Error::At(error)) = file.resolve(&signature()) else {
        panic!("the mistake went unseen");
    };
    assert_eq!((error.line, error.column), (70_000, 18));
}

#[test]
fn billions_of_neuron_pairs_are_counted_layer_by_layer() {
    let signature = Signature::feed_forward([
        ("in", 784),
        ("conv1", 21_632),
        ("conv2", 36_864),
        ("dense", 128),
        ("out", 10),
    ]);
    let ssc = "for k in 2..K-1, i in neurons(k), j in neurons(k+1): exists x1, x2:
        ap[x1][k,i] != ap[x2][k,i] and ap[x1][k+1,j] != ap[x2][k+1,j]
        and all{ap[x1][k,l] = ap[x2][k,l] for l in neurons(k) if l != i}";
    let set = RequirementFile::parse(ssc)
        .unwrap()
        .resolve(&signature)
        .unwrap();
    assert_eq!(set.len(), 21_632 * 36_864 + 36_864 * 128);
    let text = set.get(21_632 * 36_864 + 128).unwrap().to_string();
    let expected = "exists x1, x2: ap[x1][3,1] != ap[x2][3,1] \
                    and ap[x1][4,0] != ap[x2][4,0] and (ap[x1][3,0] = ap[x2][3,0] and \
                    ap[x1][3,2] = ap[x2][3,2] and ";
    assert!(text.starts_with(expected), "{}", &text[..200]);
}

#[test]
fn ranges_that_depend_on_an_index_are_counted_too() {
    let text = "for i in 0..1000, j in 0..i: exists x: u[x][2,i] > u[x][2,j]";
    let set = RequirementFile::parse(text)
        .unwrap()
        .resolve(&signature())
        .unwrap();
    assert_eq!(set.len(), 1000 * 999 / 2);
    let shown = |index| set.get(index).unwrap().to_string();
    assert_eq!(shown(0), "exists x: u[x][2,1] - u[x][2,0] > 0");
    assert_eq!(shown(2), "exists x: u[x][2,2] - u[x][2,1] > 0");
    assert_eq!(shown(499_499), "exists x: u[x][2,999] - u[x][2,998] > 0");
}
