//! Effects: races of driver and writers, repeated requests, unknown outcomes, calls that fail.

mod common;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use common::cancel::{Yielding, poll_some};
use common::faults::Faulty;
use common::race::{eager, intents, race, soon};
use common::{Home, POISON, World, change, op, says};
use index::{
    CALL_BYTES, CALLS_PER_CHANGE, Call, Calls, ChangeError, Driver, DriverSettings, Effects,
    Millis, Retried,
};
use store::conformance::{full, seed};
use store::{OpId, Schema, Version};

const DAY: u64 = 24 * 60 * 60 * 1000;

#[tokio::test]
async fn a_change_is_whole_and_leaves_no_intent() {
    for (_, home) in Home::both() {
        let world = home.world();
        for score in [5, 9, 0, 2] {
            let changed = world.score(4, score, op()).await.expect("is done");
            assert!(changed.finished && !changed.repeated);
            assert_eq!(changed.result, score.to_be_bytes().as_slice());
            assert!(world.is_whole(4).await, "{:?}", world.seen(4).await);
        }
        assert_eq!(world.seen(4).await[0], Some((4, 2)));
        assert_eq!(intents(&world).await, 0);
        assert_eq!(world.effects.stats().changes, 4);
        home.expect_clean().await;
    }
}

#[tokio::test]
async fn a_conflict_does_nothing_and_a_new_attempt_does_it_once() {
    let home = Home::model();
    let world = home.world();
    world.score(1, 5, op()).await.expect("is done");
    let (stale, calls) = change(1, Version::NEVER, 8, op());
    let error = world.effects.change(stale, calls).await.expect_err("stale");
    assert!(matches!(error, ChangeError::Conflict { current: Version(1), .. }), "{error}");
    assert_eq!(world.seen(1).await, [Some((1, 5)); 4]);
    assert_eq!(intents(&world).await, 0);
    world.score(1, 8, op()).await.expect("is done");
    assert_eq!(world.seen(1).await, [Some((2, 8)); 4]);
}

/// A request that is repeated with its Idempotency-Key derives other calls from what the first one
/// did. They must not be applied: their commit never was.
#[tokio::test]
async fn a_repeated_request_applies_the_calls_of_the_first() {
    let home = Home::model();
    let world = home.world();
    let key = op();
    world.score(1, 5, key).await.expect("is done");
    let again = world.score(1, 7, key).await.expect("was done");
    assert!(again.repeated && again.finished);
    assert_eq!(again.result, 5u64.to_be_bytes().as_slice(), "the first one's result");
    assert_eq!(world.seen(1).await, [Some((1, 5)); 4]);
    assert_eq!(intents(&world).await, 0);
    // Without calls, too.
    let (commit, _) = change(1, Version(1), 9, key);
    assert!(world.effects.change(commit, Vec::new()).await.expect("was done").repeated);
    assert_eq!(world.operations(1).await.len(), 1);
}

/// The first request died after its commit; the repeated one finishes what it left.
#[tokio::test]
async fn a_repeated_request_finishes_what_the_first_one_left() {
    let home = Home::model();
    let world = home.world();
    let key = op();
    // Cancelled at each of its awaits in turn, until one attempt runs to its end.
    let slow = World::on(Arc::new(Yielding(home.engine())));
    let mut repeated = 0;
    for polls in 0.. {
        let project = polls as u64;
        let key = OpId((u128::from_be_bytes(key.0) ^ polls as u128).to_be_bytes());
        let done = poll_some(slow.score(project, 5, key), polls).await;
        let again = world.score(project, 7, key).await.expect("is done");
        assert!(again.finished);
        assert!(world.is_whole(project).await, "{polls}: {:?}", world.seen(project).await);
        assert_eq!(world.operations(project).await.len(), 1);
        repeated += usize::from(again.repeated);
        if done.is_some() {
            break;
        }
    }
    assert!(repeated > 5, "only {repeated} requests died after their commit");
    // Those that died before it left intents whose operation others have done.
    assert!(intents(&world).await > 0);
    let step = eager(&world).step(soon()).await.expect("reads");
    assert_eq!((step.left, step.finished), (0, 0), "{step:?}");
    assert!(step.dropped > 0);
    home.expect_clean().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn drivers_that_race_writers_do_everything_once() {
    let seed = seed("effects race");
    for (name, home) in Home::both() {
        println!("{name}");
        race(&home, &[home.engine()], seed, if full() { 8_000 } else { 400 }).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_outcomes_of_every_commit_double_and_lose_nothing() {
    let seed = seed("effects unknown");
    for (name, home) in Home::both() {
        println!("{name}");
        let faulty = Faulty::lying(home.engine(), seed);
        let engines: [Arc<dyn store::Engine>; 1] = [faulty.clone()];
        race(&home, &engines, seed, if full() { 8_000 } else { 400 }).await;
        assert!(faulty.unknown.load(Ordering::Relaxed) > 500);
    }
}

#[tokio::test]
async fn young_intents_are_left_to_their_writers() {
    let home = Home::model();
    let world = home.world();
    world.score(1, POISON, op()).await.expect("is committed");
    let mut driver = Driver::new(world.effects.clone(), DriverSettings::default());
    let now = Millis::now();
    assert_eq!(driver.step(now).await.expect("reads").found, 0);
    let later = Millis(now.0 + 11_000);
    assert_eq!(driver.step(later).await.expect("reads").found, 1);
    assert!(!home.verify().await.is_clean());
}

#[tokio::test]
async fn a_poisoned_call_is_kept_aside_after_its_tries_and_retried_by_command() {
    let home = Home::model();
    let world = home.world();
    let changed = world.score(1, POISON, op()).await.expect("is committed");
    assert!(!changed.finished, "the poisoned call is left");
    world.score(3, 1, op()).await.expect("others go on");
    let mut driver = eager(&world);
    for _ in 1..DriverSettings::default().tries {
        let step = driver.step(soon()).await.expect("reads");
        assert_eq!((step.found, step.left, step.aside), (1, 1, 0), "{step:?}");
    }
    let step = driver.step(soon()).await.expect("reads");
    assert_eq!((step.finished, step.aside), (1, 1), "{step:?}");
    assert_eq!(intents(&world).await, 0);
    // The calls beside it were applied.
    assert_eq!(world.seen(1).await[..3], [Some((1, POISON)); 3]);
    assert_eq!(world.effects.stuck_count().await.expect("reads"), 1);
    let report = home.verify().await;
    assert_eq!((report.stuck, report.findings_total), (1, 1), "{report:?}");
    says(&report.findings[0].what, &["1 calls are stuck", "retry or discard"]);
    retry_stuck(&home, &world).await;
}

async fn retry_stuck(home: &Home, world: &World) {
    let page = world.effects.stuck(None).await.expect("reads");
    let (key, stuck) = page.calls.first().expect("the stuck one");
    assert_eq!((stuck.tries, stuck.undecided), (5, false));
    says(&stuck.reason, &["666 is no score"]);
    let retried = world.effects.retry_all().await.expect("goes through");
    assert_eq!(retried, Retried { failed: 1, ..Retried::default() });
    let page = world.effects.stuck(None).await.expect("reads");
    assert_eq!(page.calls[0].1.tries, 6);
    // A program that knows better applies it.
    let mended = Effects::new(world.store.clone(), Schema::default(), Calls::new().with(Lenient));
    let retried = mended.retry_all().await.expect("goes through");
    assert_eq!(retried, Retried { applied: 1, ..Retried::default() });
    assert_eq!(world.effects.stuck_count().await.expect("reads"), 0);
    assert!(world.effects.retry(*key).await.is_err(), "it is no longer stuck");
    home.expect_clean().await;
}

/// Takes every score.
struct Lenient;

impl index::Apply for Lenient {
    fn kind(&self) -> &'static str {
        common::SetScore::KIND
    }
    fn apply<'a>(&'a self, _: &'a [u8]) -> store::Task<'a, Result<(), index::CallError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// After 24 hours an operation id is forgotten, and a conflict no longer proves that the commit was
/// never done: the machine may have been off since. A person decides.
#[tokio::test]
async fn an_intent_older_than_its_operation_id_is_decided_by_a_person() {
    let home = Home::model();
    let world = home.world();
    for project in [1, 2] {
        let (commit, calls) = change(project, Version::NEVER, 5, op());
        let slow = World::on(Arc::new(Yielding(home.engine())));
        // Two polls per verb: the intent is put, nothing else.
        assert!(poll_some(slow.effects.change(commit, calls), 3).await.is_none());
    }
    assert_eq!(intents(&world).await, 2);
    // Project 1 is changed by somebody else, so that the intent's commit conflicts.
    world.score(1, 8, op()).await.expect("is done");
    let mut driver = eager(&world);
    let step = driver.step(Millis(Millis::now().0 + 2 * DAY)).await.expect("reads");
    assert_eq!((step.finished, step.aside, step.dropped), (2, 3, 0), "{step:?}");
    assert_eq!(world.seen(2).await, [Some((1, 5)); 4], "a commit that still fits is certain");
    assert_eq!(world.seen(1).await, [Some((1, 8)); 4], "nothing undecided is applied");
    let retried = world.effects.retry_all().await.expect("goes through");
    assert_eq!(retried, Retried { undecided: 3, ..Retried::default() });
    for (key, stuck) in world.effects.stuck(None).await.expect("reads").calls {
        says(&stuck.reason, &["operation id is forgotten", "retry or discard"]);
        world.effects.discard(key).await.expect("is forgotten");
    }
    home.expect_clean().await;
}

#[tokio::test]
async fn a_younger_intent_that_conflicts_was_never_done_and_is_dropped() {
    let home = Home::model();
    let world = home.world();
    let (commit, calls) = change(1, Version::NEVER, 5, op());
    let slow = World::on(Arc::new(Yielding(home.engine())));
    assert!(poll_some(slow.effects.change(commit, calls), 3).await.is_none());
    world.score(1, 8, op()).await.expect("is done");
    let step = eager(&world).step(soon()).await.expect("reads");
    assert_eq!((step.found, step.dropped), (1, 1), "{step:?}");
    assert_eq!(world.seen(1).await, [Some((1, 8)); 4]);
    home.expect_clean().await;
}

#[tokio::test]
async fn bounds_and_unknown_names_are_refused_before_anything_is_written() {
    let home = Home::model();
    let world = home.world();
    let call = |size| Call { kind: "test.set".to_owned(), body: vec![0; size] };
    let cases = [
        (vec![call(1); CALLS_PER_CHANGE + 1], "the number of calls is 65, the limit is 64"),
        (vec![call(CALL_BYTES + 1)], "a call is 32769"),
        (vec![call(CALL_BYTES); 40], "an intent is"),
        (vec![Call { kind: "no.such".to_owned(), body: vec![] }], "register it"),
    ];
    for (calls, reason) in cases {
        let (commit, _) = change(1, Version::NEVER, 5, op());
        let error = world.effects.change(commit, calls).await.expect_err("refused");
        says(&error, &[reason]);
    }
    let (commit, calls) = change(1, Version::NEVER, 5, op());
    let (mut large, same) = (commit.clone(), calls.clone());
    large.result = vec![0; 16 * 1024].into();
    says(&world.effects.change(large, same).await.expect_err("refused"), &["a result"]);
    let foreign = Effects::new(world.store.clone(), Schema::default(), Calls::new());
    says(&foreign.change(commit, calls).await.expect_err("refused"), &["test.projects", "add it"]);
    assert_eq!(intents(&world).await, 0);
    assert_eq!(world.version(1).await, Version::NEVER);
}

#[tokio::test]
async fn many_intents_are_finished_in_bounded_steps() {
    let home = Home::model();
    let world = home.world();
    for project in 0..100 {
        let (commit, calls) = change(project, Version::NEVER, 5, op());
        let calls = calls.into_iter().filter(|call| call.kind == "test.set").collect();
        let slow = World::on(Arc::new(Yielding(home.engine())));
        assert!(poll_some(slow.effects.change(commit, calls), 3).await.is_none());
    }
    let settings =
        DriverSettings { age: Duration::ZERO, intents_per_step: 32, ..DriverSettings::default() };
    let mut driver = Driver::new(world.effects.clone(), settings);
    let mut finished = 0;
    let mut steps = 0;
    while finished < 100 {
        let step = driver.step(soon()).await.expect("reads");
        assert!(step.found <= 32 && step.left == 0, "{step:?}");
        assert!(step.more || finished + step.finished == 100);
        finished += step.finished;
        steps += 1;
    }
    assert!(steps > 3, "{steps}");
    home.expect_clean().await;
}

#[tokio::test]
async fn a_running_driver_finishes_what_is_left_and_ends_when_it_is_dropped() {
    let home = Home::model();
    let world = home.world();
    let (commit, calls) = change(1, Version::NEVER, 5, op());
    let slow = World::on(Arc::new(Yielding(home.engine())));
    assert!(poll_some(slow.effects.change(commit, calls), 3).await.is_none());
    let period = Duration::from_millis(5);
    let settings = DriverSettings { age: period, period, ..DriverSettings::default() };
    let finished = async {
        while world.seen(1).await != [Some((1, 5)); 4] || intents(&world).await > 0 {
            tokio::time::sleep(period).await;
        }
    };
    tokio::select! {
        () = Driver::new(world.effects.clone(), settings).run() => panic!("it runs for ever"),
        done = tokio::time::timeout(Duration::from_secs(30), finished) => done.expect("finished"),
    }
    assert_eq!(world.effects.stats().recovered, 1);
    home.expect_clean().await;
}
