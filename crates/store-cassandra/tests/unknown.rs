//! Commits that time out because the node sleeps: none is lost, none is done twice.

mod common;
#[path = "common/counter.rs"]
mod counter;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use counter::{Account, Writer, check};
use store::conformance::{schema, seed};
use store_cassandra::CassandraEngine;
use tokio::task::JoinSet;

const WRITERS: usize = 12;
const COUNTERS: u8 = 6;

/// Writers of both engines increment until `goal` increments are known to be done.
async fn count(engines: &[Arc<CassandraEngine>], seed: u64, goal: usize) -> Account {
    let done = Arc::new(AtomicUsize::new(0));
    let mut tasks = JoinSet::new();
    for (number, engine) in (0..WRITERS).zip(engines.iter().cycle()) {
        let (mut writer, done) = (Writer::new(engine), done.clone());
        let mut rng = fastrand::Rng::with_seed(seed.wrapping_add(number as u64));
        tasks.spawn(async move {
            while done.load(Ordering::Relaxed) < goal {
                let before = writer.account.known();
                writer.increment(rng.u8(0..COUNTERS)).await;
                done.fetch_add(writer.account.known() - before, Ordering::Relaxed);
                // Slow enough that many pauses fall into the run.
                tokio::time::sleep(Duration::from_millis(rng.u64(0..100))).await;
            }
            writer.account
        });
    }
    let mut account = Account::default();
    for one in tasks.join_all().await {
        account.add(one);
    }
    account
}

#[tokio::test(flavor = "multi_thread")]
async fn increments_of_unknown_outcome_are_neither_lost_nor_doubled() {
    let Some(node) = common::own_node() else { return };
    let mut options = common::options(&node);
    options.request_timeout = Duration::from_millis(500);
    // Shorter than a request: the engine gives up after the first and leaves the rest to us.
    options.patience = Duration::from_millis(400);
    let engines = common::open_apart(&options, &schema()).await;
    let seed = seed("unknown outcomes");
    let pauses = common::unsteady(node, seed);
    let account = count(&engines, seed, parts::pick(1_000, 5_000)).await;
    let (_node, pauses) = pauses.end().expect("the node lives");
    let unknown = common::stat(&engines, "unknown_total");
    println!(
        "{} done, {} resolved as done, {} as not done, {} conflicts, {} errors; {pauses} pauses, \
         {unknown} outcomes unknown",
        account.done.len(),
        account.resolved.len(),
        account.dropped,
        account.conflicts,
        account.errors.len(),
    );
    assert!(!account.resolved.is_empty(), "no commit was of unknown outcome and done");
    assert!(account.conflicts > 0, "the writers never met");
    check(&engines[0], COUNTERS, &account).await;
}
