//! Requirements of the user's own: `.dr` and `.vnnlib` files, searched and judged.

use super::bed::{Bed, IMAGES, TABLE, assert_says, check, deepconcolic, replay};
use deepconcolic_dataset::arrays::{NpzReader, read_npy};

/// The first output of the model for a saved suite, by `eval`.
fn outputs(bed: &Bed, run: &str, model: &str, more: &[&str]) -> Vec<Vec<f32>> {
    let suite = bed.name(&format!("{run}/suite.npz"));
    let out = bed.name("y.npy");
    let arguments = [
        "eval", model, "--data", &suite, "--out", &out, "--scale", "1",
    ];
    let output = deepconcolic(&[&arguments[..], more].concat())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", super::bed::said(&output));
    let array = read_npy::<f32>(&bed.path("y.npy")).unwrap();
    let each: usize = array.shape[1..].iter().product();
    array.values.chunks(each).map(<[f32]>::to_vec).collect()
}

#[test]
fn what_follows_from_no_certificate_names_none() {
    let bed = Bed::new();
    let file = bed.file("own.dr", "forall x: true\nexists x: false\n");
    let run = bed.run("run", TABLE, &["--requirements", &file]);
    assert_eq!(run.requirements().0, [2, 2]);
    let (code, text) = check(&run, &[]);
    assert_eq!(code, 0, "{text}");
    assert_says(&text, &["certificates: 0 of 0 accepted"]);
}

#[test]
fn comparisons_of_a_value_with_itself_are_decided_without_a_certificate() {
    let bed = Bed::new();
    let text = "forall x: u[x][2,0] = u[x][2,0]\n\
                forall x: v[x][2,1] >= v[x][2,1] + 0\n\
                forall x: 2 * u[x][2,0] + 1 <= u[x][2,0] + u[x][2,0] + 1\n\
                exists x: u[x][2,0] < u[x][2,0]\n\
                exists x: u[x][2,0] > u[x][2,0]\n\
                exists x: u[x][2,0] != u[x][2,0]\n\
                forall x1, x2: u[x2][2,0] = u[x2][2,0]\n\
                forall x: u[x][2,0] < u[x][2,0]\n\
                exists x: u[x][2,0] = u[x][2,0]\n";
    let file = bed.file("own.dr", text);
    let run = bed.run("run", TABLE, &["--requirements", &file]);
    // The last two are shown by any test: one refutes, one covers.
    assert_eq!(run.requirements().0, [2, 2, 2, 2, 2, 2, 2, 1, 1]);
    let (code, text) = check(&run, &[]);
    assert_eq!(code, 0, "{text}");
    assert_says(&text, &["certificates: 0 of 0 accepted"]);
}

#[test]
fn exists_forall_and_boxes_are_searched() {
    let bed = Bed::new();
    let text = "# some neuron of the last layer is high\n\
                exists x: v[x][4,0] >= 0.5 and v[x][4,1] >= 0.1\n\
                forall x: u[x][4,2] <= 0\n\
                exists x: x in box(0.25, 0.75) and ap[x][4,3]\n\
                exists x: v[x][4,0] > 1e9\n\
                for i in neurons(4): exists x: ap[x][4,i]\n";
    let file = bed.file("own.dr", text);
    for radius in ["0.3", "none"] {
        let out = format!("run-{radius}");
        let flags = ["--requirements", &file, "--seeds", "3", "--radius", radius];
        let run = bed.run(&out, IMAGES, &flags);
        let (code, shown) = replay(&run, &[]);
        assert_eq!(code, 0, "{shown}");
        let summary = run.summary();
        assert_eq!(summary["requirements"]["total"], 36);
        assert!(summary["criterion"].as_str().unwrap().ends_with("own.dr"));
        assert_eq!(summary["stop"], "complete");
        // What is covered is true of the test that shows it, by another execution.
        let u = outputs(&bed, &out, IMAGES[0], &["--layer", "relu3", "--pre"]);
        let (state, test) = run.requirements();
        let suite = run.suite();
        let witness = |row: usize| {
            assert_eq!(state[row], 1, "requirement {row} with radius {radius}");
            usize::try_from(test[row]).unwrap()
        };
        let first = witness(0);
        assert!(u[first][0] >= 0.5 && u[first][1] >= 0.1);
        assert!(u[witness(1)][2] > 0.0);
        if radius == "none" {
            let boxed = witness(2);
            assert!(u[boxed][3] >= 0.0);
            assert!(suite.rows[boxed].iter().all(|x| (0.25..=0.75).contains(x)));
        }
        // Bounds show that no input comes near it.
        assert_eq!((state[3], test[3]), (2, -1));
        for neuron in 0..32 {
            if state[4 + neuron] == 1 {
                assert!(u[usize::try_from(test[4 + neuron]).unwrap()][neuron] >= 0.0);
            }
        }
    }
}

#[test]
fn a_vnnlib_property_is_one_requirement() {
    let bed = Bed::new();
    let ranges = [(4.0, 7.0), (2.2, 3.6), (1.0, 6.0), (0.0, 2.0)];
    let inputs = ranges.iter().enumerate().map(|(i, (low, high))| {
        format!(
            "(declare-const X_{i} Real)(assert (>= X_{i} {low:.1}))(assert (<= X_{i} {high:.1}))\n"
        )
    });
    let outputs_declared = (0..3).map(|i| format!("(declare-const Y_{i} Real)\n"));
    let mut text: String = inputs.chain(outputs_declared).collect();
    text += "(assert (or (and (>= Y_1 Y_0) (>= Y_1 Y_2)) (and (>= Y_2 100000.0))))\n";
    let file = bed.file("unsafe.vnnlib", &text);
    // From an input of class 0 to one of class 1.
    let flags = [
        "--requirements",
        &file,
        "--radius",
        "none",
        "--seed-index",
        "0",
    ];
    let run = bed.run("run", TABLE, &flags);
    let (code, shown) = replay(&run, &[]);
    assert_eq!(code, 0, "{shown}");
    assert_eq!(run.summary()["requirements"]["total"], 1);
    let (state, test) = run.requirements();
    assert_eq!(state, [1]);
    let witness = usize::try_from(test[0]).unwrap();
    assert!(witness > 0, "the seed is no witness");
    for (x, (low, high)) in run.suite().rows[witness].iter().zip(ranges) {
        assert!((low..=high).contains(&f64::from(*x)), "{x}");
    }
    let y = &outputs(&bed, "run", TABLE[0], &[])[witness];
    assert!(y[1] >= y[0] && y[1] >= y[2], "{y:?}");
}

#[test]
fn layers_and_neurons_restrict_what_is_required() {
    let bed = Bed::new();
    let run = bed.run(
        "layer",
        IMAGES,
        &["--criterion", "nc", "--seeds", "1", "--layers", "relu3"],
    );
    let summary = run.summary();
    assert_eq!(summary["requirements"]["total"], 32);
    assert_eq!(summary["layers"].as_array().unwrap().len(), 1);
    assert_eq!(summary["layers"][0]["name"], "relu3");
    let flags = [
        "--criterion",
        "nbc",
        "--seeds",
        "1",
        "--neurons",
        "relu2:1,5,7",
    ];
    let run = bed.run("neurons", IMAGES, &flags);
    assert_eq!(run.summary()["requirements"]["total"], 6);
    assert_eq!(run.requirements().0.iter().filter(|&&s| s < 2).count(), 6);
}

#[test]
fn bounds_are_in_the_order_upper_lower() {
    let bed = Bed::new();
    let profile = bed.name("profile.npz");
    let own = [&["coverage"][..], &IMAGES, &["--criterion", "nbc"]].concat();
    let save = ["--save-profile", &profile, "--profile", IMAGES[2]];
    assert!(
        deepconcolic(&[&own[..], &save].concat())
            .output()
            .unwrap()
            .status
            .success()
    );
    let flags = [
        "--criterion",
        "nbc",
        "--seeds",
        "2",
        "--max-executions",
        "2000",
    ];
    let run = bed.run(
        "run",
        IMAGES,
        &[&flags[..], &["--profile", &profile]].concat(),
    );
    let nc = bed.run(
        "nc",
        IMAGES,
        &[&["--criterion", "nc"], &flags[2..]].concat(),
    );
    let mut file = NpzReader::open(&bed.path("profile.npz")).unwrap();
    let low = file.read::<f32>("low").unwrap().values;
    let high = file.read::<f32>("high").unwrap().values;
    let layers = ["relu1", "relu2", "relu3"];
    let all = |name: &str| -> Vec<Vec<f32>> {
        let parts = layers.map(|l| outputs(&bed, name, IMAGES[0], &["--layer", l, "--pre"]));
        (0..parts[0].len())
            .map(|test| parts.iter().flat_map(|part| part[test].clone()).collect())
            .collect()
    };
    let u = all("run");
    let (state, test) = run.requirements();
    assert_eq!(state.len(), 2 * low.len());
    for (neuron, (low, high)) in low.iter().zip(&high).enumerate() {
        let above = u.iter().any(|u| u[neuron] > *high);
        let below = u.iter().any(|u| u[neuron] < *low);
        let expected = [u8::from(above), u8::from(below)];
        assert_eq!(
            state[2 * neuron..2 * neuron + 2],
            expected,
            "neuron {neuron}"
        );
        if above {
            assert!(u[usize::try_from(test[2 * neuron]).unwrap()][neuron] > *high);
        }
        if below {
            assert!(u[usize::try_from(test[2 * neuron + 1]).unwrap()][neuron] < *low);
        }
    }
    let u = all("nc");
    let (state, test) = nc.requirements();
    for neuron in 0..low.len() {
        let active = u.iter().any(|u| u[neuron] >= 0.0);
        assert_eq!(state[neuron] == 1, active, "neuron {neuron}");
        assert!(!active || u[usize::try_from(test[neuron]).unwrap()][neuron] >= 0.0);
    }
}

#[test]
fn requirements_on_two_inputs_are_proven_or_said_to_stay_open() {
    let bed = Bed::new();
    let text = "exists x1, x2: v[x1][2,0] > v[x2][2,0] + 1e9\nexists x: ap[x][2,0]\n";
    let file = bed.file("two.dr", text);
    let run = bed.run("run", TABLE, &["--requirements", &file]);
    assert_eq!(run.requirements().0, [2, 1]);
    let run = bed.run("open", TABLE, &["--requirements", &file, "--no-proofs"]);
    assert_eq!(run.requirements().0, [0, 1]);
    let note = run.summary()["notes"][0].as_str().unwrap().to_owned();
    assert!(note.contains("two inputs"), "{note}");
}

/// The value of an upper requirement of nbc is u - h, that of a lower one l - u.
#[test]
fn bounds_of_open_requirements_are_not_below_the_value_of_any_test() {
    let bed = Bed::new();
    let mut bounded = 0;
    for (number, radius) in ["0", "0.01", "0.1"].into_iter().enumerate() {
        let name = number.to_string();
        let flags = ["--criterion", "nbc", "--seeds", "3", "--radius", radius];
        let run = bed.run(&name, TABLE, &flags);
        let mut file = NpzReader::open(&run.0.join("requirements.npz")).unwrap();
        let bound = file.read::<f32>("bound").unwrap().values;
        let (state, _) = run.requirements();
        let mut file = NpzReader::open(&run.0.join("profile.npz")).unwrap();
        let [low, high] = ["low", "high"].map(|n| file.read::<f32>(n).unwrap().values);
        let parts = ["relu1", "a2"]
            .map(|layer| outputs(&bed, &name, TABLE[0], &["--layer", layer, "--pre"]));
        for test in 0..parts[0].len() {
            let u: Vec<f32> = parts.iter().flat_map(|part| part[test].clone()).collect();
            for (neuron, u) in u.into_iter().enumerate() {
                let values = [u - high[neuron], low[neuron] - u];
                for (value, row) in values.into_iter().zip([2 * neuron, 2 * neuron + 1]) {
                    assert_eq!(bound[row].is_nan(), state[row] != 0, "row {row}");
                    assert!(
                        bound[row].is_nan() || bound[row] >= value,
                        "row {row}: {} and {value}",
                        bound[row]
                    );
                }
            }
        }
        bounded += bound.iter().filter(|bound| bound.is_finite()).count();
    }
    assert!(bounded > 0);
}

#[test]
fn output_is_the_probability_of_a_softmax_and_logits_are_its_scores() {
    let bed = Bed::new();
    let text = "exists x: v[x][output,0] > 1\n\
                exists x: v[x][logits,0] > 1\n\
                exists x: 0.5 <= v[x][output,0] <= 1\n\
                exists x: v[x][output,0] >= 0.6 and v[x][logits,0] <= v[x][logits,1]\n";
    let file = bed.file("own.dr", text);
    let flags = ["--requirements", &file, "--seeds", "3", "--radius", "0.05"];
    let run = bed.run("run", TABLE, &flags);
    // More than half of the probability and not the largest score: no input has both.
    assert_eq!(run.requirements().0, [2, 1, 1, 2]);
    let (code, shown) = replay(&run, &[]);
    assert_eq!(code, 0, "{shown}");
    let path = bed.name("run");
    let output = deepconcolic(&["check", &path]).output().unwrap();
    assert!(output.status.success(), "{}", super::bed::said(&output));
}

#[test]
fn a_file_that_asks_for_nothing_is_refused() {
    let bed = Bed::new();
    let nothing = bed.file(
        "nothing.dr",
        "# for i in neurons(2): exists x: ap[x][2,i]\n",
    );
    let refused = bed.refusal(TABLE, &["--requirements", &nothing]);
    assert_says(&refused, &["nothing.dr asks for nothing"]);
}
