//! `resume`: a run goes on from its folder alone, and ends as if it had never stopped.

use super::bed::{Bed, IMAGES, Left, TABLE, assert_same, assert_says, check, deepconcolic, said};

fn resume(left: &Left, more: &[&str]) -> (i32, String) {
    let folder = left.0.to_str().unwrap();
    let output = deepconcolic(&[&["resume", folder], more].concat())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap() + &said(&output);
    (output.status.code().unwrap(), text)
}

#[test]
fn it_is_the_same_as_the_command_of_the_run_with_resume() {
    let bed = Bed::new();
    for (name, criterion, subject) in [("images", "nbc", IMAGES), ("table", "ssc", TABLE)] {
        let flags = ["--criterion", criterion, "--seeds", "2"];
        let with = |out: &str, passes: &str, more: &[&str]| {
            let limit = ["--max-executions", passes];
            bed.run(
                &format!("{name}-{out}"),
                subject,
                &[&flags[..], &limit, more].concat(),
            )
        };
        let first = with("first", "400", &[]);
        let second = with("second", "400", &[]);
        let by_options = with("first", "1500", &["--resume"]);
        let (code, text) = resume(&second, &["--max-executions", "1500"]);
        assert_eq!(code, 0, "{text}");
        assert_eq!(first.0, by_options.0);
        assert_same(&first, &second);
        assert_eq!(check(&second, &[]).0, 0);
    }
}

#[test]
fn a_run_that_ran_out_of_passes_names_the_command_that_goes_on() {
    let bed = Bed::new();
    let left = bed.run("run", TABLE, &["--criterion", "nc"]);
    let (code, text) = resume(&left, &["--fail-under", "100", "--budget", "30s"]);
    assert_eq!(code, 0, "{text}");
    assert_says(
        &text,
        &[
            "stopped: complete",
            "PASS --fail-under 100",
            "next: deepconcolic check",
        ],
    );
}

#[test]
fn what_is_no_run_or_has_lost_its_model_is_refused() {
    let bed = Bed::new();
    let (code, text) = resume(&Left(bed.path("nothing")), &[]);
    assert_eq!(code, 2, "{text}");
    let model = bed.path("model.onnx");
    let root = deepconcolic(&[]).get_current_dir().unwrap().to_owned();
    std::fs::copy(root.join(TABLE[0]), &model).unwrap();
    let moved = [model.to_str().unwrap(), TABLE[1], TABLE[2]];
    let left = bed.run(
        "run",
        moved,
        &["--criterion", "nc", "--max-executions", "100"],
    );
    std::fs::remove_file(&model).unwrap();
    let (code, text) = resume(&left, &[]);
    assert_eq!(code, 2, "{text}");
    assert_says(&text, &["error: ", "model.onnx"]);
    let (code, text) = resume(&left, &["--model", TABLE[0]]);
    assert_eq!(code, 0, "{text}");
    let (code, text) = resume(&left, &["--model", IMAGES[0]]);
    assert_eq!(code, 2, "{text}");
}
