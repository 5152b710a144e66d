//! What a session tells, and in which order.

use deepconcolic::{Counts, Event, Progress, Stage};

use crate::bed::{in_memory, proving, searching, told};

#[test]
fn a_stage_is_told_before_its_rounds() {
    for job in [searching(), proving()] {
        let mut under_way = None;
        let mut rounds = 0;
        for event in told(job) {
            match event {
                Event::Stage(stage) => {
                    assert_ne!(under_way, Some(stage), "a stage begins once in a row");
                    under_way = Some(stage);
                }
                Event::Round { stage, .. } | Event::Progress(Progress { stage, .. }) => {
                    assert_eq!(under_way, Some(stage));
                    rounds += 1;
                }
                Event::Test { stage, .. } => assert_eq!(under_way, Some(stage)),
                Event::Proof { .. } => assert_eq!(under_way, Some(Stage::Prove)),
                _ => {}
            }
        }
        assert!(rounds > 0);
    }
}

#[test]
fn every_test_is_told_once_and_in_the_order_of_the_suite() {
    for job in [searching(), proving()] {
        let numbers = told(job.clone())
            .into_iter()
            .filter_map(|event| match event {
                Event::Test { number, .. } => Some(number),
                _ => None,
            });
        let numbers: Vec<usize> = numbers.collect();
        let mut session = in_memory(job);
        session.run(&mut |_| {}).unwrap();
        assert_eq!(numbers, (0..session.suite().len()).collect::<Vec<_>>());
    }
}

#[test]
fn the_end_is_told_once_and_last() {
    for job in [searching(), proving()] {
        let events = told(job);
        let is_end = |event: &Event| matches!(event, Event::Stopped(_));
        assert_eq!(events.iter().position(is_end), Some(events.len() - 1));
    }
}

#[test]
fn the_same_seed_tells_the_same_but_for_times() {
    let without_times = |job| -> Vec<Event> {
        let timeless = |event| match event {
            Event::Progress(progress) => Event::Progress(Progress {
                left: None,
                ..progress
            }),
            event => event,
        };
        told(job).into_iter().map(timeless).collect()
    };
    for mut job in [searching(), proving()] {
        job.budget = Some(3600.0);
        let events = without_times(job.clone());
        assert_eq!(events, without_times(job.clone()));
        job.rng_seed = 1;
        assert_ne!(events, without_times(job));
    }
}

#[test]
fn what_is_proven_is_told_as_impossible_and_not_as_open() {
    let told = told(proving()).into_iter().filter_map(|event| match event {
        Event::Progress(progress) => Some(progress.goals),
        _ => None,
    });
    let told: Vec<Counts> = told.collect();
    let mut session = in_memory(proving());
    session.run(&mut |_| {}).unwrap();
    let counts = session.counts();
    assert_eq!(counts, (*told.last().unwrap(), Counts::default()));
    let ended = session.conclude().unwrap().0;
    let ended = &ended.summary().requirements;
    let last = told.last().unwrap();
    assert!(last.impossible > 0 && last.impossible <= ended.infeasible);
    assert_eq!((last.total, last.met), (ended.total, ended.covered));
    assert!(last.open() >= ended.unresolved && last.open() < last.total - last.met);
    let grows = |pair: &[Counts]| pair[0].impossible <= pair[1].impossible;
    assert!(told.windows(2).all(grows));
}
