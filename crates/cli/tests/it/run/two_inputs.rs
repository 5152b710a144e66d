//! Requirements on two inputs: in a run both lie in one ball or box, and every file and command means that.

use std::fmt::Write as _;

use deepconcolic_dataset::arrays::NpzReader;
use deepconcolic_testing::Random;

use super::bed::{Bed, TABLE, assert_says, check, deepconcolic, replay, said};

/// The first feature of the table's data.
fn feature() -> Vec<f32> {
    let manifest = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = manifest.join("../../testdata/data_mlp.npz");
    let data = NpzReader::open(&path).unwrap().read::<f32>("x").unwrap();
    data.values.chunks(4).map(|row| row[0]).collect()
}

/// The samples whose first feature is smallest and largest.
fn extremes(feature: &[f32]) -> [usize; 2] {
    let at = |best: fn(f32, f32) -> bool| {
        let better = |a: usize, b: usize| if best(feature[b], feature[a]) { b } else { a };
        (0..feature.len()).reduce(better).unwrap()
    };
    [at(|b, a| b < a), at(|b, a| b > a)]
}

/// Two balls far apart: inputs of one differ by little, inputs of both by much.
#[test]
fn what_is_proven_of_two_inputs_is_said_to_be_about_one_ball() {
    let bed = Bed::new();
    let feature = feature();
    let [low, high] = extremes(&feature);
    let width = feature[high] - feature[low];
    let text = format!(
        "forall x1, x2: v[x1][1,0] - v[x2][1,0] <= {}\n\
         exists x1, x2: v[x1][1,0] - v[x2][1,0] >= {}\n",
        0.25 * width,
        0.05 * width
    );
    let file = bed.file("far.dr", &text);
    let seeds = format!("{low},{high}");
    let flags = ["--requirements", &file, "--seed-index", &seeds];
    let balls = bed.run("balls", TABLE, &[&flags[..], &["--radius", "0.1"]].concat());
    assert_eq!(balls.requirements().0, [2, 1]);
    let notes = balls.summary()["notes"].to_string();
    assert_says(&notes, &["in one ball", "not about inputs of two balls"]);
    let (code, text) = check(&balls, &[]);
    assert_eq!(code, 0, "{text}");
    assert_says(&text, &["in one ball"]);
    // The two tests that meet the second lie round one seed.
    let mut table = NpzReader::open(&balls.0.join("requirements.npz")).unwrap();
    let [first, second] = ["test", "test2"].map(|n| table.read::<i64>(n).unwrap().values[1]);
    let suite = balls.suite();
    let at = |test: i64| suite.rows[usize::try_from(test).unwrap()][0];
    let near = |test: i64, seed: usize| (at(test) - feature[seed]).abs() <= 0.1001 * width;
    let shares = [low, high].map(|seed| near(first, seed) && near(second, seed));
    assert!(shares[0] || shares[1], "{} and {}", at(first), at(second));
    // Anywhere in the domain the first is refuted; so it is by any two samples.
    let domain = bed.run(
        "domain",
        TABLE,
        &[&flags[..], &["--radius", "none"]].concat(),
    );
    assert_eq!(domain.requirements().0, [1, 1]);
    let output = deepconcolic(&["coverage", TABLE[0], TABLE[1], TABLE[2]])
        .args(["--requirements", &file])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap() + &said(&output);
    assert_says(
        &text,
        &[
            "1 of 1 goals covered",
            "1 of 1 property refuted",
            "any two samples count together",
        ],
    );
}

/// A number of a random formula.
fn value(random: &mut Random, input: &str) -> String {
    let (layer, neurons) = [(1, 4), (2, 8), (3, 6), (4, 3)][random.below(4)];
    let kind = ["u", "v"][random.below(2)];
    format!("{kind}[{input}][{layer},{}]", random.below(neurons))
}

/// A random comparison of one or two inputs.
fn comparison(random: &mut Random) -> String {
    let sign = [">=", ">", "<=", "<"][random.below(4)];
    let inputs = [("x1", "x2"), ("x2", "x1"), ("x1", "x1")][random.below(3)];
    let (a, b) = (value(random, inputs.0), value(random, inputs.1));
    let shift = random.between(-1.0, 1.0);
    match random.below(3) {
        0 => format!("{a} - {b} {sign} {shift:.3}"),
        1 => format!("{a} {sign} {shift:.3}"),
        _ => {
            let (layer, neurons) = [(2, 8), (3, 6)][random.below(2)];
            let neuron = random.below(neurons);
            let relation = ["=", "!="][random.below(2)];
            format!("(ap[x1][{layer},{neuron}] {relation} ap[x2][{layer},{neuron}])")
        }
    }
}

#[test]
fn runs_of_random_formulas_on_two_inputs_pass_check_and_replay() {
    let bed = Bed::new();
    let mut random = Random::new(12);
    let (mut alone, mut apart) = (0, 0);
    for round in 0..6 {
        let mut text = String::new();
        for _ in 0..11 {
            let quantifier = ["exists", "forall"][random.below(2)];
            let join = [" and ", " or "][random.below(2)];
            let parts: Vec<String> = (0..=random.below(3))
                .map(|_| comparison(&mut random))
                .collect();
            let _ = writeln!(text, "{quantifier} x1, x2: {}", parts.join(join));
        }
        let file = bed.file(&format!("{round}.dr"), &text);
        let place = [["--radius", "0.2"], ["--radius", "none"]][round % 2];
        let flags = ["--requirements", &file, "--seeds", "3", "--budget", "20s"];
        let run = bed.run(&round.to_string(), TABLE, &[&flags[..], &place].concat());
        let (code, said) = check(&run, &[]);
        assert_eq!(code, 0, "{said}\n{text}");
        let (code, said) = replay(&run, &[]);
        assert_eq!(code, 0, "{said}\n{text}");
        let mut table = NpzReader::open(&run.0.join("requirements.npz")).unwrap();
        let [state, first, second] =
            ["state", "test", "test2"].map(|n| table.read::<i64>(n).unwrap().values);
        for row in (0..state.len()).filter(|&row| state[row] == 1) {
            assert!(first[row] >= 0 && second[row] >= 0, "{text}");
            *(if first[row] == second[row] {
                &mut alone
            } else {
                &mut apart
            }) += 1;
        }
    }
    assert!(
        alone > 5 && apart > 5,
        "{alone} with one test, {apart} with two"
    );
}
