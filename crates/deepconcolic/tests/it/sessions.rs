//! Runs come to the same however they are driven.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use deepconcolic::{
    Cancel, Conclusion, Event, Filter, Job, Merge, OnDamage, Prepared, Resumption, Session, Stop,
    Suite, Summary, check,
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
        assert!(check(folder.path(), None, None).unwrap().holds());
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

/// Allows inputs whose first element is small.
fn small() -> Filter {
    Filter::new(|inputs| inputs.iter().map(|input| input[0] < 0.5).collect())
}

fn run_in(job: Job, folder: &Path) -> Summary {
    let mut session = Session::create(job, folder, &Cancel::default(), &mut |_| {}).unwrap();
    session.run(&mut |_| {}).unwrap();
    session.save().unwrap()
}

#[test]
fn a_run_that_was_held_to_a_function_goes_on_with_one_alone() {
    let place = TempDir::new().unwrap();
    let (held, free) = (place.path().join("held"), place.path().join("free"));
    let job = Job {
        filter: Some(small()),
        max_executions: Some(100),
        ..searching()
    };
    run_in(job.clone(), &held);
    run_in(
        Job {
            filter: None,
            ..job
        },
        &free,
    );
    let reopen = |folder: &Path, filter: Option<Filter>| {
        let more = Resumption {
            budget: None,
            max_executions: Some(2000),
            filter,
            ..Resumption::default()
        };
        Session::reopen(folder, &more, &Cancel::default(), &mut |_| {})
    };
    for (folder, filter, words) in [
        (
            &held,
            None,
            "held to a function of the caller's, which no folder keeps",
        ),
        (&free, Some(small()), "held to no function"),
    ] {
        let said = reopen(folder, filter)
            .err()
            .expect("it is refused")
            .to_string();
        assert!(said.contains(words), "{said}");
    }
    let mut session = reopen(&held, Some(small())).unwrap();
    session.run(&mut |_| {}).unwrap();
    let made = &session.suite().tests()[session.prepared().seeds.len()..];
    assert!(!made.is_empty() && made.iter().all(|test| test.input[0] < 0.5));
}

#[test]
fn parts_that_were_held_to_a_function_are_a_run_that_says_so() {
    let place = TempDir::new().unwrap();
    let part = |part: &str, filter: Option<Filter>| {
        let folder = place
            .path()
            .join(format!("{}-{}", &part[..1], filter.is_some()));
        let job = Job {
            filter,
            max_executions: Some(100),
            partition: Some(part.parse().unwrap()),
            ..searching()
        };
        (run_in(job, &folder), folder)
    };
    let merged = |parts: Vec<PathBuf>| {
        let out = place.path().join("merged");
        let merge = Merge {
            out,
            parts,
            ..Merge::default()
        };
        merge.run(&mut |_| {})
    };
    let ((whole, first), (_, second)) = (part("1/2", Some(small())), part("2/2", Some(small())));
    let (_, free) = part("2/2", None);
    let said = merged(vec![first.clone(), free]).unwrap_err().to_string();
    assert!(
        said.contains("no part of the same job") && said.contains("filtered"),
        "{said}"
    );
    let says = |summary: &Summary| {
        let mut notes = summary.notes.iter();
        notes.any(|note| note.contains("a function of the caller's allows"))
    };
    let together = merged(vec![first, second]).unwrap();
    assert!(says(&whole) && says(&together));
    assert!(
        check(&place.path().join("merged"), None, None)
            .unwrap()
            .holds()
    );
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
