//! Runs in L0: every criterion, tests that change few pixels, and folders that `check` and `replay` agree with.

use super::bed::{Bed, IMAGES, Left, TABLE, assert_same, check, replay};

/// What `check` and `replay` say of a run is that all of it holds.
fn assert_holds(run: &Left, what: &str) {
    for (code, text) in [check(run, &[]), replay(run, &[])] {
        assert_eq!(code, 0, "{what}: {text}");
    }
}

/// The largest number of elements in which a generated test differs from its root, and the number of tests.
fn most_changed(run: &Left) -> (usize, usize) {
    let suite = run.suite();
    let changed = suite.generated().map(|(test, x, root)| {
        let both = x.iter().zip(root);
        let changed = both
            .filter(|(x, root)| x.to_bits() != root.to_bits())
            .count();
        assert_eq!(suite.distance[test] as usize, changed, "test {test}");
        changed
    });
    let changed: Vec<usize> = changed.collect();
    (changed.iter().copied().max().unwrap_or(0), changed.len())
}

#[test]
fn every_criterion_runs_in_l0_and_its_folder_holds() {
    let bed = Bed::new();
    let criteria = [
        "nc", "nbc", "snac", "kmnc", "tknc", "ssc", "vsc", "svc", "vvc", "safety",
    ];
    for criterion in criteria {
        for norm in ["l0", "l0-elements"] {
            let flags = ["--criterion", criterion, "--norm", norm, "--radius", "2"];
            let flags = [&flags[..], &["--seeds", "12"]].concat();
            let run = bed.run(&format!("{criterion}-{norm}"), TABLE, &flags);
            assert!(most_changed(&run).0 <= 2, "{criterion} {norm}");
            assert_holds(&run, criterion);
        }
    }
}

#[test]
fn pairs_of_neurons_are_searched_in_l0() {
    let bed = Bed::new();
    let flags = ["--criterion", "ssc", "--norm", "l0", "--radius", "2"];
    let run = bed.run("run", TABLE, &[&flags[..], &["--no-proofs"]].concat());
    let summary = run.summary();
    // As many random tests cover an eighth.
    assert!(summary["coverage"].as_f64().unwrap() > 0.5, "{summary}");
    assert_holds(&run, "ssc");
}

#[test]
fn what_searches_cannot_take_is_said_once_and_rightly() {
    let bed = Bed::new();
    let l0 = [
        "--criterion",
        "safety",
        "--norm",
        "l0",
        "--radius",
        "1",
        "--no-proofs",
    ];
    let paper = [
        "--criterion",
        "safety",
        "--strategy",
        "paper",
        "--radius",
        "0.02",
        "--no-proofs",
    ];
    for (flags, most) in [(&l0[..], 1), (&paper, 0)] {
        let run = bed.run(
            flags[3],
            TABLE,
            &[flags, &["--max-executions", "9000"]].concat(),
        );
        let notes = run.summary()["notes"].to_string();
        assert!(notes.matches("`: ").count() <= most, "{notes}");
        for wrong in ["by chance of rounding", "no witness from"] {
            assert!(!notes.contains(wrong), "{notes}");
        }
    }
}

#[test]
fn requirements_of_a_file_are_searched_and_proven_in_l0() {
    let bed = Bed::new();
    let text = "exists x: v[x][4,0] >= 0.5 and v[x][4,1] >= 0.1\n\
                forall x: u[x][4,2] <= 0\n\
                exists x: v[x][4,0] > 1e9\n\
                exists x1, x2: ap[x1][4,3] and not ap[x2][4,3]\n\
                for i in neurons(4): exists x: ap[x][4,i]\n";
    let file = bed.file("own.dr", text);
    let flags = ["--requirements", &file, "--norm", "l0", "--radius", "20"];
    let flags = [&flags[..], &["--seeds", "3", "--max-executions", "60000"]].concat();
    let run = bed.run("run", IMAGES, &flags);
    let (most, tests) = most_changed(&run);
    assert!(most <= 20 && tests > 0, "{most} of {tests}");
    let (state, _) = run.requirements();
    // Met by one input, refuted, out of reach in any ball, met by two inputs of one ball.
    assert_eq!(state[..4], [1, 1, 2, 1]);
    assert!(state[4..].iter().all(|&state| state == 1), "{state:?}");
    assert_holds(&run, "a file");
}

const IMAGE_RUN: [&str; 9] = [
    "--criterion",
    "nc",
    "--norm",
    "l0",
    "--radius",
    "20",
    "--seeds",
    "1",
    "--no-proofs",
];
const SHORT: [&str; 2] = ["--max-executions", "1500"];
/// The paper's search runs every pixel at both ends for each requirement.
const LONG: [&str; 4] = ["--max-executions", "9000", "--strategy", "paper"];

#[test]
fn images_differ_in_few_pixels_whatever_else_is_asked_of_them() {
    let bed = Bed::new();
    for (out, limit, more) in [
        ("plain", &SHORT[..], &[][..]),
        ("grid", &SHORT, &["--quantise", "255"]),
        ("alike", &SHORT, &["--validity", "ssim:0.5"]),
        ("random", &SHORT, &["--strategy", "random"]),
        ("paper", &LONG, &["--quantise", "255"]),
    ] {
        let flags = [&IMAGE_RUN[..], limit, more].concat();
        let run = bed.run(out, IMAGES, &flags);
        let (most, tests) = most_changed(&run);
        assert!(most <= 20 && tests > 0, "{out}: {most} of {tests}");
        assert_holds(&run, out);
    }
}

#[test]
fn the_nearest_witnesses_change_fewer_pixels_than_the_suite() {
    let bed = Bed::new();
    let run = bed.run("run", IMAGES, &[&IMAGE_RUN[..], &["--minimise"]].concat());
    let summary = run.summary();
    let notes = summary["notes"].as_array().unwrap().iter();
    let mut notes = notes.filter_map(|note| note.as_str());
    let note = notes.find(|note| note.starts_with("nearest witnesses of"));
    let note = note.unwrap_or_default();
    let median = |word: &str| -> f64 {
        let after = note.split(word).nth(1).unwrap_or_default();
        let number = after.split_whitespace().next().unwrap_or_default();
        number.parse().unwrap_or(f64::NAN)
    };
    let (now, before) = (median("median distance "), median("instead of "));
    assert!(now >= 1.0 && now < before, "{note}");
    assert_holds(&run, "nearest witnesses");
}

#[test]
fn the_papers_search_uses_the_ends_of_the_domain_alone() {
    let bed = Bed::new();
    let suite = bed.run("run", IMAGES, &[&IMAGE_RUN[..], &LONG].concat());
    let suite = suite.suite();
    assert!(suite.generated().count() > 0);
    for (test, x, root) in suite.generated() {
        let is_end = |x: f32| x.to_bits() == 0f32.to_bits() || x.to_bits() == 1f32.to_bits();
        let fits = |(x, root): (&f32, &f32)| x.to_bits() == root.to_bits() || is_end(*x);
        assert!(x.iter().zip(root).all(fits), "test {test}");
    }
}

#[test]
fn a_run_in_l0_is_the_same_on_any_number_of_threads() {
    let bed = Bed::new();
    let run = |threads: &str| {
        let flags = [&IMAGE_RUN[..], &SHORT, &["--threads", threads]].concat();
        bed.run(threads, IMAGES, &flags)
    };
    assert_same(&run("1"), &run("3"));
}

#[test]
fn without_a_radius_and_in_boxes_the_count_limits_nothing() {
    let bed = Bed::new();
    let boxes = bed.file("boxes.json", r#"[{"lower": 0.0, "upper": 0.9}]"#);
    for (out, place) in [
        ("anywhere", ["--radius", "none"]),
        ("boxes", ["--region", &boxes]),
    ] {
        let flags = ["--criterion", "nc", "--norm", "l0", "--seeds", "1"];
        let more = ["--max-executions", "1500", "--no-proofs"];
        let run = bed.run(out, IMAGES, &[&flags[..], &more, &place].concat());
        assert!(most_changed(&run).1 > 0, "{out}");
        assert_holds(&run, out);
    }
}
