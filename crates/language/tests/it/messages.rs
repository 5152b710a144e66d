//! What the user reads when a file is wrong: the place, what is wrong, the way out.

use deepconcolic_geometry::Norm;
use deepconcolic_language::{Error, Property, RequirementFile, Signature};

fn signature() -> Signature {
    Signature::feed_forward([
        ("pixels", 4),
        ("conv1/Relu", 5),
        ("dense", 3),
        ("scores", 2),
    ])
}

/// Column, message and hint of the one mistake in a one-line text.
fn mistake(text: &str) -> (usize, String, String) {
    let set = RequirementFile::parse(text).and_then(|file| file.resolve(&signature()));
    match set.map(|set| set.len()) {
        Err(Error::At(at)) => (at.column, at.message, at.hint.unwrap_or_default()),
        other => panic!("{text}: {other:?}"),
    }
}

/// Text, column, message, and the hint where it is worth a test.
const MISTAKES: &[(&str, usize, &str, &str)] = &[
    (
        "exists x: ap[x][\"conv1/relu\",0]",
        17,
        "unknown layer `conv1/relu`",
        "did you mean `conv1/Relu`? the layers are 1 `pixels`, 2 `conv1/Relu`, 3 `dense`, 4 `scores`",
    ),
    (
        "exists x: ap[x][5,0]",
        17,
        "there is no layer 5",
        "the layers are 1 `pixels`, 2 `conv1/Relu`, 3 `dense`, 4 `scores`",
    ),
    (
        "exists x: ap[x][dense,3]",
        23,
        "layer 3 (`dense`) has no neuron 3",
        "its 3 neurons are 0 to 2",
    ),
    (
        "for i in 0..10: exists x: ap[x][2,i+1]",
        35,
        "layer 2 (`conv1/Relu`) has no neuron 5",
        "its 5 neurons are 0 to 4",
    ),
    (
        "for k in hidden, i in neurons(k): exists x: ap[x][k+1,i]",
        55,
        "layer 3 (`dense`) has no neuron 3",
        "its 3 neurons are 0 to 2",
    ),
    (
        "exists x: ap[y][2,0]",
        14,
        "no input is called `y`",
        "this requirement speaks of `x`",
    ),
    (
        "exist x: ap[x][2,0]",
        1,
        "expected `exists` or `forall`, found `exist`",
        "did you mean `exists`?",
    ),
    (
        "exists x: u[x][2,0]",
        11,
        "expected a condition, found a number",
        "compare it with another number, as in `... >= 0`",
    ),
    (
        "exists x: ap[x][2,0] + 1 > 0",
        11,
        "expected a number, found a condition",
        "conditions are joined by `and`, `or`, `=` and `!=`",
    ),
    (
        "exists x: ap[x][2,0] && ap[x][2,1]",
        22,
        "`&&` is no sign of this language",
        "write `and`",
    ),
    (
        "exists x: u[x][2,0] * v[x][2,1] > 0",
        23,
        "cannot multiply two neuron values",
        "arithmetic is linear: one side of `*` must be a plain number",
    ),
    ("exists x: u[x][2,0] / 0 > 0", 23, "division by zero", ""),
    (
        "exists x: u[x][2,i] > 0",
        18,
        "unknown index `i`",
        "bind it first, as in `for i in neurons(2): exists x: ...`",
    ),
    (
        "exists x: x in box([0, 0], 1)",
        11,
        "this box has 2 bounds, the input has 4 elements",
        "one number alone bounds every element",
    ),
    (
        "exists x: x in box(1, 0)",
        11,
        "this box is empty: element 0 from 1 to 0",
        "write the smaller bound first",
    ),
    (
        "exists x: dist(x, x) <= 1",
        16,
        "a distance needs two different inputs",
        "quantify over two: `exists x1, x2: ... dist(x1, x2) <= 0.1`",
    ),
    (
        "exists x: exists y: true",
        11,
        "expected a condition, found `exists`",
        "",
    ),
    (
        "exists x: |u[x][2,0]| > 1",
        12,
        "expected `{`, found `u`",
        "the absolute value of a number is `abs(...)`",
    ),
    (
        "exists x: 2 <= |{true}|",
        16,
        "a cardinality stands on the left of its comparison",
        "turn it round, as in `|{...}| >= 2`",
    ),
    (
        "exists x: |{true}| >= 0-1",
        11,
        "a number of conditions is never -1",
        "compare with 0 or more",
    ),
    (
        "exists x: ap[x][conv1/Relu,0]",
        22,
        "expected `,` and the neuron's index, found `/`",
        "a layer name with other signs than letters, digits and `_` goes in quotes",
    ),
    (
        "for i in 0..2, i in 0..2: exists x: true",
        16,
        "the index `i` is already in use",
        "give this one another name",
    ),
    (
        "exists u: true",
        8,
        "expected a name for the input, such as `x`, found `u`",
        "`u` is a word of the language; use another",
    ),
    (
        "exists x: ap[x][2,0] ap[x][2,1]",
        22,
        "expected `and`, `or`, `;` or the next requirement, found `ap`",
        "",
    ),
    (
        "exists x: relu[x][2,0] > 0",
        11,
        "unknown function `relu`",
        "there are `u`, `v` and `ap` of a neuron, `abs`, `dist`, `all` and `any`",
    ),
    (
        "exists x: ap[x][2,0] <= ap[x][2,1]",
        22,
        "`<=` compares numbers, but its left side is a condition",
        "conditions are compared with `=` and `!=`",
    ),
    (
        "exists x: u[x][2,0] > 1e999",
        23,
        "1e999 is too large a number",
        "",
    ),
    (
        "exists x: ap[x][2,0.5]",
        19,
        "0.5 is not a whole number",
        "",
    ),
    (
        "exists x: ap[x][\"conv1,0]",
        17,
        "this quote is not closed",
        "a name ends with `\"` on the same line",
    ),
];

#[test]
fn mistakes_are_pointed_at_and_explained() {
    for &(text, column, message, hint) in MISTAKES {
        let (at, what, how) = mistake(text);
        assert_eq!((at, &*what), (column, message), "{text}");
        assert!(hint.is_empty() || how == hint, "{text}: {how}");
    }
}

#[test]
fn an_unknown_norm_is_answered_with_those_of_the_table() {
    let names = Norm::ALL.map(|norm| norm.name()).join(", ");
    let (at, what, how) = mistake("exists a, b: dist[l3](a, b) <= 1");
    assert_eq!((at, &*what), (19, "unknown norm `l3`"));
    assert_eq!(how, format!("did you mean `l1`? there are {names}"));
}

#[test]
fn the_file_name_leads_the_message() {
    let error = RequirementFile::parse("\nexists x: (u[x][2,0] >= 0").unwrap_err();
    assert_eq!(
        error.in_file("mine.dr").to_string(),
        "mine.dr:2:26: expected `)`, found the end of the text
  |
2 | exists x: (u[x][2,0] >= 0
  |                          ^"
    );
}

#[test]
fn bytes_that_are_no_text_are_located() {
    let error = RequirementFile::from_bytes(b"exists x: true\n  \xff").unwrap_err();
    let Error::At(at) = error else {
        panic!("{error}")
    };
    assert_eq!((at.line, at.column), (2, 3));
    assert_eq!(at.message, "byte 0xff is not UTF-8 text");
    RequirementFile::from_bytes(b"\xef\xbb\xbfexists x: true\r\n").unwrap();
}

fn property_mistake(body: &str) -> (usize, usize, String) {
    let text = format!("(declare-const X_0 Real)\n(declare-const Y_0 Real)\n{body}");
    match Property::parse(&text) {
        Err(Error::At(at)) => (at.line, at.column, at.message),
        other => panic!("{body}: {other:?}"),
    }
}

#[test]
fn mistakes_in_properties_are_pointed_at() {
    for (body, line, column, message) in [
        ("(assert (<= X_0 1))", 1, 16, "input X_0 has no lower bound"),
        ("(assert (<= 0 X_0))", 1, 16, "input X_0 has no upper bound"),
        (
            "(assert (or (<= 0 X_0 1) (<= Y_0 1)))",
            1,
            16,
            "input X_0 has no lower bound",
        ),
        (
            "(assert (<= X_1 1))",
            3,
            13,
            "`X_1` is neither a number nor declared",
        ),
        (
            "(declare-const X_2 Real)",
            3,
            16,
            "`X_2` is declared but `X_1` is not",
        ),
        ("(declare-const X_0 Real)", 3, 16, "`X_0` is declared twice"),
        (
            "(declare-const Z_0 Real)",
            3,
            16,
            "`Z_0` is neither an input nor an output",
        ),
        (
            "(declare-const X_1 Int)",
            3,
            20,
            "only `Real` variables are known",
        ),
        (
            "(assert (<= (* X_0 Y_0) 1))",
            3,
            20,
            "this multiplies two variables",
        ),
        ("(assert (xor true false))", 3, 9, "expected a condition"),
        (
            "(assert (<= X_0))",
            3,
            9,
            "`<=` has the wrong number of arguments",
        ),
        (
            "(assert (<= X_0 nan))",
            3,
            17,
            "`nan` is neither a number nor declared",
        ),
        ("(assert", 3, 1, "this bracket is never closed"),
        (
            "(push 1)",
            3,
            1,
            "expected `(declare-const ...)` or `(assert ...)`",
        ),
    ] {
        assert_eq!(
            property_mistake(body),
            (line, column, message.to_owned()),
            "{body}"
        );
    }
}

#[test]
fn a_property_of_another_network_is_refused() {
    let property = Property::parse("(declare-const X_0 Real) (assert (<= 0 X_0 1))").unwrap();
    assert_eq!(
        property.requirement(&signature()).unwrap_err().to_string(),
        "the property declares 1 inputs (X), the network has 4; \
         is this the network the property was written for?"
    );
}

#[test]
fn a_property_with_an_empty_box_has_no_counterexample() {
    let text = "(declare-const X_0 Real) (assert (<= 1 X_0 0))";
    let property = Property::parse(text).unwrap();
    let signature = Signature::feed_forward([("in", 1), ("out", 0)]);
    let requirement = property.requirement(&signature).unwrap();
    assert_eq!(requirement.to_string(), "exists x: false");
}
