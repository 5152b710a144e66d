//! Bad input: exit code 2, a message that names what is wrong and the way out, and nothing written.

use deepconcolic_dataset::write::NpzWriter;

use super::bed::{Bed, IMAGES, TABLE, assert_says, said};

#[test]
fn flags_that_make_no_sense_are_refused_by_name() {
    let bed = Bed::new();
    let cases: &[(&[&str], &[&str])] = &[
        (&["--radius", "-1"], &["--radius", "at least 0", "`-1`"]),
        (&["--radius", "nan"], &["--radius", "`nan`", "none"]),
        (&["--adversarial-radius", "-1"], &["--adversarial-radius"]),
        (
            &["--seed-index", "0,300"],
            &["--seed-index 300", "300 samples"],
        ),
        (&["--seeds", "0"], &["--seeds", "at least 1"]),
        (&["--strategy", "wild"], &["`wild`", "cascade", "random"]),
        (&["--oracle", "delphi"], &["`delphi`", "robustness"]),
        (
            &["--norm", "l0", "--radius", "2.5"],
            &["--radius 2.5", "--norm l0", "whole number of pixels"],
        ),
        (
            &["--norm", "l0-elements", "--radius", "0.3"],
            &["--radius 0.3", "whole number of elements"],
        ),
        (
            &["--norm", "l0", "--adversarial-radius", "1.5"],
            &["--adversarial-radius 1.5", "whole number of pixels"],
        ),
        (&["--norm", "l7"], &["--norm", "linf, l1, l2"]),
        (&["--format", "xml"], &["--format", "`xml`", "text, json"]),
        (&["--quantise", "0"], &["--quantise", "255"]),
        (&["--quantise", "70000"], &["--quantise", "65535"]),
        (&["--validity", "nonsense"], &["--validity", "ssim:0.9"]),
        (&["--validity", "ssim:1.5"], &["--validity", "from 0 to 1"]),
        (&["--budget", "soon"], &["--budget", "`soon`", "10m"]),
        (&["--budget", "-3"], &["--budget"]),
        (&["--max-executions", "many"], &["--max-executions"]),
        (&["--fail-under", "120"], &["--fail-under", "from 0 to 100"]),
        (&["--fail-under", "nan"], &["--fail-under"]),
        (&["--domain", "1"], &["--domain", "LO..HI"]),
        (&["--threads", "0"], &["--threads"]),
        (&["--layers", "relu9"], &["`relu9`", "relu1"]),
        (&["--neurons", "relu1:1352"], &["1352", "0..1351"]),
        (&["--reference", "none.npz"], &["none.npz"]),
    ];
    for (flags, parts) in cases {
        let message = bed.refusal(IMAGES, &[&["--criterion", "nc"], *flags].concat());
        assert_says(&message, parts);
    }
}

#[test]
fn criteria_that_cannot_be_searched_are_refused() {
    let bed = Bed::new();
    let refusal = |criterion| bed.refusal(IMAGES, &["--criterion", criterion]);
    assert_says(&refusal("mcdc"), &["`mcdc`", "nc, nbc, snac, kmnc, tknc"]);
    let steep: [(&[&str], &[&str]); 7] = [
        (&["--constant", "0"], &["--constant", "above 0", "max"]),
        (&["--constant", "-2"], &["--constant", "above 0"]),
        (&["--constant", "nan"], &["--constant", "above 0"]),
        (&["--ratio-norm", "l0"], &["--ratio-norm", "linf, l1 or l2"]),
        (&["--norm", "l0"], &["lipschitz", "--norm l0"]),
        (&["--strategy", "steepest"], &["`steepest`", "cascade"]),
        (
            &["--lipschitz-output", "label", "--radius", "none"],
            &["--lipschitz-output label", "--radius"],
        ),
    ];
    for (flags, parts) in steep {
        let message = bed.refusal(IMAGES, &[&["--criterion", "lipschitz"], flags].concat());
        assert_says(&message, parts);
    }
    let nowhere = bed.refusal(IMAGES, &["--criterion", "safety", "--radius", "none"]);
    assert_says(&nowhere, &["safety", "--radius"]);
    let nothing = bed.refusal(IMAGES, &["--criterion", "nbc", "--profile", "none.npz"]);
    assert_says(&nothing, &["none.npz"]);
}

#[test]
fn data_that_do_not_fit_are_refused_by_name() {
    let bed = Bed::new();
    let nc = ["--criterion", "nc"];
    let path = bed.path("empty.npz");
    let mut file = NpzWriter::create(&path).unwrap();
    file.add::<f32>("x", &[0, 1, 28, 28], &[]).unwrap();
    file.add::<i64>("y", &[0], &[]).unwrap();
    file.finish().unwrap();
    let empty = bed.name("empty.npz");
    let message = bed.refusal([IMAGES[0], "--data", &empty], &nc);
    assert_says(&message, &["empty.npz", "no samples"]);
    let message = bed.refusal([TABLE[0], "--data", IMAGES[2]], &nc);
    assert_says(&message, &["fashion_test.npz", "300x28x28", "4"]);
    let message = bed.refusal([TABLE[0], "--data", "none.npz"], &nc);
    assert_says(&message, &["none.npz"]);
    let message = bed.refusal(["none.onnx", "--data", IMAGES[2]], &nc);
    assert_says(&message, &["none.onnx"]);
    let message = bed.refusal(TABLE, &["--criterion", "nc", "--validity", "ssim:0.9"]);
    assert_says(&message, &["--validity", "images"]);
    // Labels that the network never gives leave no seed.
    let path = bed.path("strange.npz");
    let mut file = NpzWriter::create(&path).unwrap();
    file.add("x", &[2, 4], &[0.5f32; 8]).unwrap();
    file.add("y", &[2], &[77i64; 2]).unwrap();
    file.finish().unwrap();
    let strange = bed.name("strange.npz");
    let message = bed.refusal([TABLE[0], "--data", &strange], &nc);
    assert_says(&message, &["none of the 2 samples", "--seed-index"]);
}

#[test]
fn region_and_requirement_files_with_errors_are_refused_with_the_place() {
    let bed = Bed::new();
    let region = |name: &str| bed.refusal(TABLE, &["--criterion", "nc", "--region", name]);
    let short = bed.file("short.json", r#"[{"lower": [0, 0, 0], "upper": 1}]"#);
    assert_says(&region(&short), &["--region", "short.json", "box 0", "4"]);
    let turned = bed.file("turned.json", r#"[{"lower": 1, "upper": 0}]"#);
    assert_says(&region(&turned), &["turned.json", "no lower above"]);
    let away = bed.file(
        "away.json",
        r#"[{"lower": -900, "upper": 900}, {"lower": 900, "upper": 901}]"#,
    );
    assert_says(
        &region(&away),
        &[
            "away.json",
            "box 1 lies outside the domain",
            "element 0",
            "--domain",
        ],
    );
    let path = bed.path("nan.npz");
    let mut file = NpzWriter::create(&path).unwrap();
    file.add("lower", &[1, 4], &[0.0f32, 0.0, f32::NAN, 0.0])
        .unwrap();
    file.add("upper", &[1, 4], &[1.0f32; 4]).unwrap();
    file.finish().unwrap();
    assert_says(
        &region(&bed.name("nan.npz")),
        &["nan.npz", "box 0", "element 2"],
    );
    let none = bed.file("none.json", "[]");
    assert_says(&region(&none), &["none.json", "no box"]);
    let prose = bed.file("prose.json", "everywhere");
    assert_says(&region(&prose), &["prose.json", "lower", "upper"]);
    let path = bed.path("wide.npz");
    let mut file = NpzWriter::create(&path).unwrap();
    file.add("lower", &[1, 5], &[0.0f32; 5]).unwrap();
    file.add("upper", &[1, 5], &[1.0f32; 5]).unwrap();
    file.finish().unwrap();
    assert_says(&region(&bed.name("wide.npz")), &["wide.npz", "4 numbers"]);
    let both = ["--criterion", "nc", "--radius", "0.1", "--region", &short];
    assert_says(&bed.refusal(TABLE, &both), &["--radius", "--region"]);

    let requirements = |name: &str| bed.refusal(TABLE, &["--requirements", name]);
    let own = bed.file("own.dr", "exists x: ap[x][2,0]\nexists x: ap[x][2,9999]\n");
    assert_says(&requirements(&own), &["own.dr:2:", "9999"]);
    assert_says(&requirements("none.dr"), &["none.dr"]);
    let broken = bed.file("broken.vnnlib", "(assert (<= X_0 1.0)\n");
    assert_says(&requirements(&broken), &["broken.vnnlib"]);
}

#[test]
fn pairs_that_there_are_not_are_refused_with_the_reason() {
    let bed = Bed::new();
    let first = ["--criterion", "ssc", "--layers", "relu1"];
    assert_says(
        &bed.refusal(TABLE, &first),
        &["none of the layers selected follows", "`a2`"],
    );
    let one = [
        "testdata/sigmoid.onnx",
        "--data",
        "testdata/data_sigmoid.npz",
    ];
    assert_says(
        &bed.refusal(one, &["--criterion", "ssc"]),
        &["the network has no such two", "look at single neurons"],
    );
    let none = "1,2,2,2,\n2,2,\n0\n-9,-9,\n9,9,\n0,0,0,\n1,1,1,\n1,0,\n0,1,\n0,\n0,\n";
    let none = bed.file("none.nnet", none);
    let subject = [&*none, "--data", "testdata/data_sigmoid.npz"];
    for criterion in ["nc", "kmnc", "ssc"] {
        // Behind a note on what the file says of its inputs.
        let mut refused = bed.command("refused", subject, &["--criterion", criterion]);
        let refused = refused.output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
        assert_says(
            &said(&refused),
            &["no hidden layer", "safety, lipschitz and requirement files"],
        );
    }
}

#[test]
fn a_folder_that_is_taken_is_left_alone() {
    let bed = Bed::new();
    let start = |out: &str, more: &[&str]| {
        let output = bed.command(out, TABLE, more).output().unwrap();
        (output.status.code(), said(&output))
    };
    let nc = ["--criterion", "nc"];
    let run = bed.run("run", TABLE, &nc);
    let before = run.bytes("suite.npz");
    let (code, message) = start("run", &nc);
    assert_eq!(code, Some(2), "{message}");
    assert_says(&message, &["already holds a run", "--resume", "--out"]);
    for (flags, name) in [
        (&["--criterion", "snac"][..], "criterion"),
        (&["--criterion", "nc", "--radius", "0.1"], "radius"),
        (&["--criterion", "nc", "--rng-seed", "5"], "rng_seed"),
        (&["--criterion", "nc", "--seeds", "3"], "seeds"),
        (&["--criterion", "nc", "--layers", "2"], "layers"),
    ] {
        let (code, message) = start("run", &[flags, &["--resume"]].concat());
        assert_eq!(code, Some(2), "{message}");
        assert_says(&message, &["other settings", name, "the same"]);
    }
    assert!(run.bytes("suite.npz") == before);
    let (code, message) = start("nothing", &["--criterion", "nc", "--resume"]);
    assert_eq!(code, Some(2), "{message}");
    assert_says(
        &message,
        &["no run to resume", "`deepconcolic run` starts one"],
    );
    assert!(!bed.path("nothing").exists());
    std::fs::create_dir(bed.path("mine")).unwrap();
    bed.file("mine/thesis.tex", "x");
    let (code, message) = start("mine", &nc);
    assert_eq!(code, Some(2), "{message}");
    assert_says(&message, &["not empty", "an empty or new folder"]);
}
