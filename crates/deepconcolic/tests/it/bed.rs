//! Jobs to try things with, and what two runs of one have in common.

use std::path::{Path, PathBuf};

use deepconcolic::{Cancel, Conclusion, Event, Job, Radius, SeedRequest, Session};

/// A file of `testdata`.
pub fn file(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    root.join(name)
}

/// Many rounds of search, cut at so many passes: the same rounds on any machine.
pub fn searching() -> Job {
    let (model, data) = ("demo/fashion_cnn.onnx", "demo/fashion_test.npz");
    let mut job = Job::new(file(model), file(data), "kmnc");
    job.parameters.sections = 20;
    job.seeds = SeedRequest::First(3);
    job.max_executions = Some(3000);
    job.budget = None;
    job
}

/// A search that ends by itself, and proofs of what it leaves open.
pub fn proving() -> Job {
    let mut job = Job::new(file("mlp.onnx"), file("data_mlp.npz"), "kmnc");
    job.parameters.sections = 10;
    job.seeds = SeedRequest::First(1);
    job.radius = Radius::Within(0.3);
    job.budget = None;
    job
}

/// A session in memory.
pub fn in_memory(job: Job) -> Session {
    Session::new(job, &Cancel::default(), &mut |_| {}).unwrap()
}

/// What comes of a session that works to the end.
pub fn ended(mut session: Session) -> Conclusion {
    session.run(&mut |_| {}).unwrap();
    session.conclude().unwrap().0
}

/// Everything that a run tells, from its first note on.
pub fn told(job: Job) -> Vec<Event> {
    let mut events = Vec::new();
    let mut listen = |event| events.push(event);
    let mut session = Session::new(job, &Cancel::default(), &mut listen).unwrap();
    session.run(&mut listen).unwrap();
    events
}

/// Two runs came to the same: tests bit by bit, every requirement, and the work.
pub fn assert_same(one: &Conclusion, other: &Conclusion) {
    assert!(one.suite.is_same(&other.suite));
    let rows = |c: &Conclusion| {
        let table = c.requirements.clone();
        // Compared by bits: most are no numbers.
        let bounds: Vec<u32> = table.bound.iter().map(f32::to_bits).collect();
        (table.state, table.test, table.test2, table.fragile, bounds)
    };
    assert_eq!(rows(one), rows(other));
    let (one, other) = (one.summary(), other.summary());
    assert_eq!(one.requirements, other.requirements);
    assert_eq!(one.executions, other.executions);
    assert_eq!(one.stop, other.stop);
}
