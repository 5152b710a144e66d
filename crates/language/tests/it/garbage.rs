//! Whatever is fed to the two parsers, they answer; they never panic, hang or overflow the stack.

use deepconcolic_language::{Error, Property, RequirementFile, Signature};
use proptest::prelude::*;

const REQUIREMENTS: &str = r#"
# a requirement of every kind
require "nc": for k in hidden, i in neurons(k): exists x: ap[x][k,i];
for k in 2..K-1, i in neurons(k), j in neurons(k+1): exists x1, x2:
    ap[x1][k,i] != ap[x2][k,i] and ap[x1][k+1,j] != ap[x2][k+1,j]
    and all{ap[x1][k,l] = ap[x2][k,l] for l in neurons(k) if l != i}
forall x: x in box([0, 0.5, -1], 1) => |{v[x]["b",0] > 1e-5, not ap[x][a,2]}| <= 1
exists x1, x2: dist[l0-elements](x1, x2) <= 3 and abs(u[x1][2,0]) >= 2*abs(u[x2][2,0])/3
for s in {0, 1, 2}: exists x: 0.1*s <= v[x][output,0] < 0.1*s + 0.1 or false iff true
"#;

const PROPERTY: &str = "; a property
(declare-const X_0 Real) (declare-const X_1 Real) (declare-fun Y_0 () Real)
(declare-const Y_1 Real)
(assert (<= X_0 0.5)) (assert (>= X_0 -0.5))
(assert (or (and (<= X_1 1.0) (>= X_1 0.0) (<= (+ Y_0 (* 2.0 Y_1)) 0.5))
            (and (<= X_1 3) (>= X_1 2e0) (or (<= Y_0 Y_1) (not (< (- Y_1 1) 4))))))
(check-sat)
";

fn signature() -> Signature {
    Signature::feed_forward([("in", 3), ("a", 4), ("b", 3), ("out", 2)])
}

fn feed_requirements(bytes: &[u8]) {
    let set = RequirementFile::from_bytes(bytes).and_then(|file| file.resolve(&signature()));
    match set {
        Ok(set) => {
            let made = set
                .iter()
                .take(10)
                .map(|member| member.map(|r| r.to_string()));
            made.for_each(drop);
        }
        Err(error) => assert_points(&error),
    }
}

fn feed_property(bytes: &[u8]) {
    match Property::from_bytes(bytes) {
        Ok(property) => drop(property.requirement(&signature())),
        Err(Error::Gzip(_)) => {}
        Err(error) => assert_points(&error),
    }
}

fn assert_points(error: &Error) {
    let Error::At(at) = error else {
        panic!("no place in {error:?}");
    };
    assert!(at.line > 0 && at.column > 0 && !at.message.is_empty());
    assert!(error.to_string().contains('^'));
}

/// A text with a few bytes deleted, doubled or replaced.
fn mutated(text: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let edit = (
        any::<prop::sample::Index>(),
        0..20_usize,
        any::<u8>(),
        0..3_u8,
    );
    prop::collection::vec(edit, 1..6).prop_map(move |edits| {
        let mut bytes = text.as_bytes().to_vec();
        for (place, length, byte, kind) in edits {
            let start = place.index(bytes.len().max(1)).min(bytes.len());
            let end = (start + length).min(bytes.len());
            let piece = match kind {
                0 => Vec::new(),
                1 => [&bytes[start..end], &bytes[start..end]].concat(),
                _ => vec![byte],
            };
            bytes.splice(start..end, piece);
        }
        bytes
    })
}

/// Words of the language in any order.
fn soup() -> impl Strategy<Value = String> {
    let words: Vec<&str> = "require for in if exists forall and or not iff xor true false all any \
        ap u v abs dist box K layers hidden neurons input output x x1 i k 0 1 2 0.5 99999999999 \
        ( ) [ ] { } | , : ; .. ..= < <= = != >= > => + - * / \"a\" #"
        .split_whitespace()
        .collect();
    prop::collection::vec(prop::sample::select(words), 0..40).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        feed_requirements(&bytes);
        feed_property(&bytes);
    }

    #[test]
    fn any_text(text in ".*") {
        feed_requirements(text.as_bytes());
        feed_property(text.as_bytes());
    }

    #[test]
    fn any_words(text in soup()) {
        feed_requirements(text.as_bytes());
        feed_requirements(format!("exists x: {text}").as_bytes());
        feed_requirements(format!("for i in {text}: exists x: true").as_bytes());
    }

    #[test]
    fn damaged_requirements(bytes in mutated(REQUIREMENTS)) {
        feed_requirements(&bytes);
    }

    #[test]
    fn damaged_properties(bytes in mutated(PROPERTY)) {
        feed_property(&bytes);
    }
}

#[test]
fn the_undamaged_texts_are_accepted() {
    let file = RequirementFile::parse(REQUIREMENTS).unwrap();
    let set = file.resolve(&signature()).unwrap();
    assert_eq!(set.len(), 7 + 12 + 1 + 1 + 3);
    let small = Signature::feed_forward([("in", 2), ("out", 2)]);
    let property = Property::parse(PROPERTY).unwrap();
    assert_eq!(property.cases(&small).unwrap().len(), 2);
}

#[test]
fn depth_is_refused_before_it_hurts() {
    for piece in [
        "(",
        "not ",
        "-",
        "abs(",
        "all{",
        "|{",
        "u[x][",
        "true and (",
        "- (",
        "u[x][2,(",
    ] {
        let text = format!("exists x: {}", piece.repeat(300_000));
        feed_requirements(text.as_bytes());
        feed_requirements(format!("for i in {}", piece.repeat(300_000)).as_bytes());
    }
    for piece in ["(", "(and ", "(assert (or ", "(assert (<= (- "] {
        feed_property(piece.repeat(300_000).as_bytes());
    }
}

#[test]
fn long_and_flat_is_fine() {
    let sum = vec!["u[x][2,0]"; 100_000].join(" + ");
    let file = RequirementFile::parse(&format!("exists x: {sum} >= 0")).unwrap();
    let text = file
        .resolve(&signature())
        .unwrap()
        .get(0)
        .unwrap()
        .to_string();
    assert_eq!(text, "exists x: 100000*u[x][2,0] >= 0");
    let or = vec!["ap[x][2,0]"; 100_000].join(" or ");
    let file = RequirementFile::parse(&format!("exists x: {or}")).unwrap();
    file.resolve(&signature()).unwrap();
}

#[test]
fn what_would_take_forever_is_refused() {
    for text in [
        "for a in 0..999999999, b in 0..a, c in 0..b: exists x: true",
        "for a in 0..9223372036854775807, b in 0..9223372036854775807: exists x: true",
        "exists x: all{true for a in 0..999999999 if a < 0}",
        "exists x: |{ap[x][2,a] for a in neurons(2), b in 0..1000000}| >= 1",
        "for a in 0..999999999: exists x: ap[x][2, a - a]",
        "exists x: all{all{all{ap[x][2,c - c] for c in 0..9999} for b in 0..9999} for a in 0..9999}",
    ] {
        feed_requirements(text.as_bytes());
    }
}

#[test]
fn a_gzip_bomb_is_not_expanded() {
    use std::io::Write as _;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let block = vec![b' '; 1 << 20];
    for _ in 0..257 {
        encoder.write_all(&block).unwrap();
    }
    let bomb = encoder.finish().unwrap();
    assert!(matches!(
        Property::from_bytes(&bomb),
        Err(Error::TooLarge { .. })
    ));
    let cut = &bomb[..bomb.len() / 2];
    assert!(matches!(Property::from_bytes(cut), Err(Error::Gzip(_))));
}
