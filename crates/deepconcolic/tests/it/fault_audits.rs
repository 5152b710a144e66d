//! Audits: counts beside a slow recount from the files, the same on any number of threads, within their time.

use std::path::Path;

use deepconcolic::{AuditJob, AuditReport, AuditVerdict, EvalJob, FaultKind, ModelSettings};
use serde_json::Value;

use crate::bed::file;

fn audit(model: &str, data: &str, criteria: &[&str]) -> AuditJob {
    let mut job = AuditJob::new(file(model), file(data));
    job.criteria = criteria.iter().map(|&name| name.to_owned()).collect();
    (job.tests, job.faults, job.seeds) = (12, 12, 4);
    job
}

fn run(job: &AuditJob) -> AuditReport {
    job.run(&mut |_| {}).unwrap()
}

/// The largest output of every row that a model gives for a file.
fn labels(model: &Path, data: &Path) -> Vec<usize> {
    let mut job = EvalJob {
        model: ModelSettings::new(model),
        ..EvalJob::default()
    };
    data.clone_into(&mut job.data.data);
    // What lies in a suite is in the model's units already.
    job.data.scale = Some(1.0);
    let evaluation = job.run(&mut |_| {}).unwrap();
    let classes = evaluation.values.len() / evaluation.samples;
    let largest = |row: &[f32]| (1..row.len()).fold(0, |b, i| if row[i] > row[b] { i } else { b });
    evaluation
        .values
        .chunks_exact(classes)
        .map(largest)
        .collect()
}

#[test]
fn counts_are_those_of_running_both_models_on_the_saved_suites() {
    let folder = tempfile::tempdir().unwrap();
    for (model, data) in [
        ("mlp.onnx", "data_mlp.npz"),
        ("demo/fashion_cnn.onnx", "demo/fashion_test.npz"),
    ] {
        let out = folder.path().join(data.replace('/', "-"));
        let mut job = audit(model, data, &["nc", "ssc"]);
        job.out = Some(out.clone());
        let report = run(&job);
        assert_eq!(report.suites.len(), 5);
        assert!(
            report.faults.len() >= 10 && report.cut.is_empty(),
            "{:?}",
            report.cut
        );
        for suite in &report.suites {
            // A run's file has the seeds first.
            let (saved, first) = match suite.coverage {
                Some(_) => (format!("suites/{}/suite.npz", suite.name), report.seeds),
                None => (format!("suites/{}.npz", suite.name), 0),
            };
            let before = labels(&file(model), &out.join(&saved));
            assert!(before.len() >= first + suite.tests);
            for (fault, &differing) in report.faults.iter().zip(&suite.differing) {
                let with = labels(&out.join(fault.file.as_ref().unwrap()), &out.join(&saved));
                let tests = first..first + suite.tests;
                let slow = tests.filter(|&test| before[test] != with[test]).count();
                assert_eq!(slow, differing, "{} on {}", suite.name, fault.what);
            }
            let found = suite.differing.iter().filter(|&&tests| tests > 0).count();
            assert_eq!(found, suite.found);
        }
    }
}

#[test]
fn an_audit_depends_on_its_seed_and_not_on_threads() {
    let job = audit("demo/fashion_cnn.onnx", "demo/fashion_test.npz", &["nc"]);
    let on = |threads: usize, job: &AuditJob| -> Value {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let report = pool.build().unwrap().install(|| run(job));
        let mut value = serde_json::to_value(&report).unwrap();
        value["time_s"] = Value::Null;
        value
    };
    let one = on(1, &job);
    assert_eq!(one, on(3, &job));
    let other = AuditJob { rng_seed: 1, ..job };
    assert_ne!(one["faults"], on(3, &other)["faults"]);
}

#[test]
fn faults_of_every_kind_are_made_and_those_planted_work() {
    let report = run(&audit(
        "demo/fashion_cnn.onnx",
        "demo/fashion_test.npz",
        &["nc"],
    ));
    for kind in deepconcolic::FAULT_KINDS {
        let mut faults = report.faults.iter().filter(|fault| fault.kind == kind);
        let fault = faults
            .next()
            .unwrap_or_else(|| panic!("no {} fault", kind.name()));
        if matches!(kind, FaultKind::LabelFlip | FaultKind::Backdoor) {
            let [before, after] = fault.planted.unwrap();
            assert!(
                before < 0.5 && after >= 0.5,
                "{}: {before} {after}",
                fault.what
            );
        }
    }
    // The data hold samples that show the faults in weights, unless no drawing was shown by any.
    let shown = report
        .faults
        .iter()
        .filter(|fault| fault.shown_by_samples > 0);
    assert!(shown.count() > report.faults.len() / 2);
}

#[test]
fn verdicts_follow_the_intervals_and_few_tests_have_none() {
    let report = run(&audit("mlp.onnx", "data_mlp.npz", &["nc", "kmnc"]));
    let random = &report.suites[0];
    assert!(random.name == "random" && random.beside_random.is_none());
    for suite in &report.suites[1..] {
        let Some(beside) = &suite.beside_random else {
            assert_eq!(suite.tests, 0);
            continue;
        };
        let [low, high] = beside.found.interval;
        assert!(low <= beside.found.mean && beside.found.mean <= high);
        let verdict = match beside.found.interval {
            _ if beside.tests < AuditJob::COMPARABLE => AuditVerdict::TooFewTests,
            [low, _] if low > 0.0 => AuditVerdict::Better,
            [_, high] if high < 0.0 => AuditVerdict::Worse,
            _ => AuditVerdict::NoBetter,
        };
        assert_eq!(beside.found.verdict, verdict, "{}", suite.name);
        assert!(beside.tests <= suite.tests.min(random.tests));
    }
}

#[test]
fn what_time_cut_is_said() {
    let mut job = audit(
        "demo/fashion_cnn.onnx",
        "demo/fashion_test.npz",
        &["nc", "kmnc"],
    );
    (job.faults, job.tests) = (10_000, 5000);
    job.budget = 2.0;
    let report = run(&job);
    assert!(report.faults.len() < 10_000);
    assert!(
        report
            .cut
            .iter()
            .any(|what| what.contains("faults were not made"))
    );
}

#[test]
fn what_cannot_be_audited_is_refused_with_the_way_out() {
    let refused = |job: AuditJob| job.run(&mut |_| {}).unwrap_err().to_string();
    let mut job = audit("mlp.onnx", "data_mlp.npz", &["nc", "nc"]);
    assert!(refused(job.clone()).contains("twice"));
    job.criteria = vec!["none-such".into()];
    assert!(refused(job.clone()).contains("none-such"));
    job.criteria.clear();
    assert!(refused(job).contains("--criteria"));
    let regressor = audit("regressor.onnx", "data_regressor.npz", &["nc"]);
    assert!(refused(regressor).contains("--decision"));
}
