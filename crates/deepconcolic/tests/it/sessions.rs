//! Runs come to the same however they are driven.

use std::sync::Arc;

use deepconcolic::{
    Cancel, Conclusion, Event, Job, OnDamage, Prepared, Resumption, Session, Stop, Suite, check,
};
use tempfile::TempDir;

use crate::bed::{assert_same, ended, in_memory, proving, searching};

#[test]
fn a_session_in_memory_finds_what_one_in_a_folder_does() {
    for job in [searching(), proving()] {
        let place = TempDir::new().unwrap();
        let folder = place.path().join("run");
        let silent = &mut |_| {};
        let mut session =
            Session::create(job.clone(), &folder, &Cancel::default(), silent).unwrap();
        session.run(silent).unwrap();
        let (mut kept, folder) = session.conclude().unwrap();
        let folder = folder.expect("it was made in a folder");
        kept.write(&folder).unwrap();
        let in_memory = ended(in_memory(job));
        assert!(in_memory.suite.len() > in_memory.suite.seeds());
        assert_same(&in_memory, &kept);
        assert!(check(folder.path(), None).unwrap().holds());
    }
}

#[test]
fn the_jobs_tried_here_search_and_prove() {
    let counted = |job| ended(in_memory(job)).summary().requirements;
    let searched = counted(searching());
    assert!(searched.covered > 0 && searched.unresolved > 0);
    let proven = counted(proving());
    assert!(proven.covered > 0 && proven.infeasible > 0, "{proven:?}");
}

#[test]
fn stepping_and_running_give_the_same() {
    for job in [searching(), proving()] {
        let mut stepped = in_memory(job.clone());
        let mut steps = 0;
        while stepped.step(&mut |_| {}).unwrap().is_none() {
            steps += 1;
        }
        assert!(steps > 2, "{steps} steps");
        let (stepped, _) = stepped.conclude().unwrap();
        assert_same(&stepped, &ended(in_memory(job)));
    }
}

/// Runs a job in a folder until so many of some events were heard, then goes on there: the tests that were kept,
/// and what comes of it in the end.
fn cancelled(job: &Job, is_counted: fn(&Event) -> bool, count: usize) -> (Suite, Conclusion) {
    let place = TempDir::new().unwrap();
    let folder = place.path().join("run");
    let cancel = Cancel::default();
    let mut heard = 0;
    let mut listen = |event: Event| {
        heard += usize::from(is_counted(&event));
        if heard == count {
            cancel.cancel();
        }
    };
    let mut session = Session::create(job.clone(), &folder, &cancel, &mut listen).unwrap();
    assert_eq!(session.run(&mut listen).unwrap(), Stop::Interrupted);
    let kept = session.suite().clone();
    assert_eq!(session.step(&mut |_| {}).unwrap(), Some(Stop::Interrupted));
    drop(session);
    let again = Cancel::default();
    let resumed = Session::resume(job.clone(), &folder, OnDamage::Refuse, &again, &mut |_| {});
    (kept, ended(resumed.unwrap()))
}

#[test]
fn a_session_that_was_cancelled_keeps_its_work_and_is_resumed_to_the_same_end() {
    let is_round = |event: &Event| matches!(event, Event::Round { .. });
    let whole = ended(in_memory(searching()));
    for rounds in [1, 5] {
        let (kept, resumed) = cancelled(&searching(), is_round, rounds);
        assert!((whole.suite.seeds() + 1..whole.suite.len()).contains(&kept.len()));
        let inputs: Vec<f32> = kept.tests().iter().flat_map(|t| t.input.clone()).collect();
        assert_eq!(whole.suite.x[..inputs.len()], inputs);
        assert_same(&resumed, &whole);
    }
}

#[test]
fn a_run_is_not_reopened_once_that_was_cancelled() {
    let place = TempDir::new().unwrap();
    let folder = place.path().join("run");
    let session = Session::create(searching(), &folder, &Cancel::default(), &mut |_| {});
    session.unwrap().save().unwrap();
    let late = Cancel::default();
    late.cancel();
    let found = Session::reopen(&folder, &Resumption::default(), &late, &mut |_| {});
    let said = found.err().expect("it was cancelled").to_string();
    assert!(
        said.contains("interrupted while the model was read"),
        "{said}"
    );
    let again = Session::reopen(
        &folder,
        &Resumption::default(),
        &Cancel::default(),
        &mut |_| {},
    );
    assert!(again.is_ok());
}

#[test]
fn a_session_that_was_cancelled_among_its_proofs_is_resumed_to_the_same_end() {
    let is_proof = |event: &Event| matches!(event, Event::Proof { .. });
    let (_, resumed) = cancelled(&proving(), is_proof, 1);
    assert_same(&resumed, &ended(in_memory(proving())));
}

#[test]
fn a_session_moves_to_another_thread() {
    fn owns_itself<T: Send + 'static>(session: T) -> T {
        session
    }
    let session = owns_itself(in_memory(searching()));
    let there = std::thread::spawn(move || ended(session));
    assert_same(&there.join().unwrap(), &ended(in_memory(searching())));
}

#[test]
fn sessions_can_share_what_was_read_once() {
    let prepared = Arc::new(Prepared::of(&searching(), &mut |_| {}).unwrap());
    let session = || {
        let prepared = Arc::clone(&prepared);
        Session::of(searching(), prepared, &Cancel::default(), &mut |_| {}).unwrap()
    };
    let first = ended(session());
    assert_same(&first, &ended(session()));
    assert_same(&first, &ended(in_memory(searching())));
}

#[test]
fn the_figures_of_a_session_are_those_of_its_conclusion() {
    let mut session = in_memory(searching());
    session.run(&mut |_| {}).unwrap();
    let (passes, (covered, total)) = (session.passes(), session.coverage());
    let searched = session.times().ascend;
    let summary = session.conclude().unwrap().0.summary();
    let done = summary.executions;
    assert_eq!(
        (passes.forward, passes.vjp, passes.lp),
        (done.forward, done.vjp, done.lp)
    );
    let counted = summary.requirements;
    assert_eq!((covered, total), (counted.covered, counted.total));
    assert!(searched > 0.0);
    assert_eq!(searched.to_bits(), summary.time_s.ascend.to_bits());
}
