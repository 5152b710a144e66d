//! Jobs as files.

use deepconcolic::{Job, Radius, SeedRequest};
use serde_json::{Value, json};

use crate::bed::{proving, searching};

fn written(job: &Job) -> Value {
    serde_json::to_value(job).unwrap()
}

#[test]
fn a_job_is_read_as_it_was_written() {
    let mut job = searching();
    job.seeds = SeedRequest::Given(vec![3, 1]);
    job.radius = Radius::Anywhere;
    job.strategy = "paper".into();
    job.proofs = false;
    for job in [job, proving(), Job::default()] {
        let text = serde_json::to_string(&job).unwrap();
        let again: Job = serde_json::from_str(&text).unwrap();
        assert_eq!(written(&again), written(&job));
    }
}

#[test]
fn what_a_file_leaves_out_has_its_default() {
    let job: Job = serde_json::from_value(json!({ "criterion": "nc" })).unwrap();
    let expected = Job {
        criterion: Some("nc".into()),
        ..Job::default()
    };
    assert_eq!(written(&job), written(&expected));
}

#[test]
fn a_job_of_another_format_is_refused_with_a_sentence() {
    for format in [0, Job::FORMAT + 1] {
        let mut value = written(&searching());
        value["format"] = json!(format);
        let refused = serde_json::from_value::<Job>(value)
            .unwrap_err()
            .to_string();
        let expected = format!(
            "the job has format {format}, and this version reads {}; write it anew, or use the version that \
             wrote it",
            Job::FORMAT
        );
        assert_eq!(refused, expected);
    }
}
