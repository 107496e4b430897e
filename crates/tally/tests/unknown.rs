//! Commits whose outcome nobody knows: nothing is doubled, nothing is lost.

mod common;

use std::sync::Arc;

use common::{check, events, fjall, model, overall, tallies, write};
use store::conformance::{Call, Fault, Faulty, seed};
use store::{Engine, Maintenance};
use tally::{Outcome, Settings};

const SETTINGS: Settings = Settings { shards: 2, shard_entries: 150, in_flight: 8 };

/// Every commit meets `fault`; its repetition under the same operation id does not.
fn every_first(engine: Arc<dyn Engine>, fault: Fault) -> Arc<Faulty> {
    let first = move |call: Call| if call.repetition == 0 { fault } else { Fault::None };
    Faulty::new(engine, Box::new(first))
}

async fn survive(engine: Arc<dyn Maintenance>, faulty: Arc<Faulty>, seed: u64, entries: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let events = events(&mut random, entries);
    let unsure = tallies(faulty.clone(), SETTINGS);
    let mut tasks = tokio::task::JoinSet::new();
    for events in events.chunks(events.len().div_ceil(8)) {
        let (tallies, events) = (unsure.clone(), events.to_vec());
        let mut random = fastrand::Rng::with_seed(random.u64(..));
        let patience = 100 * events.len();
        tasks.spawn(
            async move { write(&tallies, &overall(), &events, &mut random, patience).await },
        );
    }
    tasks.join_all().await;
    assert!(faulty.injected() * 3 > faulty.calls(), "a good part of the commits met a fault");
    let sure = tallies(engine.clone() as Arc<dyn Engine>, SETTINGS);
    check(engine.clone(), &sure, &overall(), &events).await;
    let shards = sure.shards(&overall()).await.expect("shards");
    assert!(shards.len() > 1, "faults met a raise as well: {shards:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_commit_applied_but_unknown() {
    let engine = model();
    let faulty = every_first(engine.clone(), Fault::AppliedUnknown);
    survive(engine, faulty, seed("applied, unknown"), parts::pick(600, 20_000)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_commit_lost_but_unknown() {
    let engine = model();
    let faulty = every_first(engine.clone(), Fault::LostUnknown);
    survive(engine, faulty, seed("lost, unknown"), parts::pick(600, 20_000)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_commit_applied_but_reported_failed() {
    let engine = model();
    let faulty = every_first(engine.clone(), Fault::AppliedFailed);
    survive(engine, faulty, seed("applied, failed"), parts::pick(600, 20_000)).await;
}

const ALL: &[Fault] =
    &[Fault::AppliedUnknown, Fault::LostUnknown, Fault::AppliedFailed, Fault::LostFailed];

#[tokio::test(flavor = "multi_thread")]
async fn faults_at_random_on_the_model() {
    let (engine, seed) = (model(), seed("random faults"));
    let faulty = Faulty::at_random(engine.clone(), seed, 150, ALL);
    survive(engine, faulty, seed, parts::pick(600, 20_000)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_at_random_on_the_embedded_engine() {
    let directory = tempfile::tempdir().expect("a directory");
    let (engine, seed) = (fjall(directory.path()), seed("random faults, fjall"));
    let faulty = Faulty::at_random(engine.clone(), seed, 150, ALL);
    survive(engine, faulty, seed, parts::pick(400, 5_000)).await;
}

/// A vote whose commit is unknown must not be given a second rank when it is repeated.
#[tokio::test]
async fn the_next_rank_is_taken_once() {
    for fault in [Fault::AppliedUnknown, Fault::LostUnknown] {
        let engine = model();
        // Longer than the store itself repeats a commit.
        let choose = move |call: Call| if call.repetition < 9 { fault } else { Fault::None };
        let tallies = tallies(Faulty::new(engine, Box::new(choose)), SETTINGS);
        for vote in 1..=10u64 {
            let value = if vote % 2 == 0 { 1 } else { -1 };
            let outcome = tallies.set_next(&overall(), b"voter", &[value]).await.expect("a vote");
            assert!(matches!(outcome, Outcome::Counted { .. }), "{fault:?}: {outcome:?}");
            assert_eq!(outcome.rank(), vote, "{fault:?}");
        }
        let sums = tallies.sums(&overall()).await.expect("sums");
        assert_eq!((sums.values.get(0), sums.entries), (1, 1));
    }
}
