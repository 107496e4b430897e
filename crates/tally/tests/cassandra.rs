//! Sums are exact on a real Cassandra: clocks of clients five seconds apart, commits of unknown
//! outcome, a node that stops and goes on.

#[path = "../../store-cassandra/tests/common/mod.rs"]
mod cassandra;
mod common;

use std::sync::Arc;

use common::storm::storm;
use common::{overall, schema};
use store::Engine;
use store::conformance::{Fault, Faulty, seed};
use store_cassandra::CassandraEngine;
use tally::Settings;

/// Few shards, so that engines meet, and small ones, so that they fill.
const SETTINGS: Settings = Settings { shards: 4, shard_entries: 400, in_flight: 8 };
/// Of every 20 sets so many may fail in all and are set again: rivals in a cluster can be faster
/// again and again, which the tally tells its caller after a while.
const PATIENCE: usize = 200;

/// Entries that a walk sees in several pages.
const ENTRIES: u64 = 20_000;

/// About four events each.
fn entries() -> (u64, usize) {
    (parts::pick(400, 5_300), PATIENCE)
}

fn doors(engines: &[Arc<CassandraEngine>]) -> Vec<Arc<dyn Engine>> {
    engines.iter().map(|engine| engine.clone() as Arc<dyn Engine>).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn sums_are_exact_with_clocks_five_seconds_apart() {
    let Some(node) = cassandra::node() else { return };
    let engines = cassandra::open_apart(&cassandra::options(&node), &schema()).await;
    let seed = seed("tally on Cassandra");
    storm(engines[0].clone(), &doors(&engines), seed, entries(), SETTINGS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sums_are_exact_when_outcomes_are_unknown() {
    const FAULTS: &[Fault] = &[Fault::AppliedUnknown, Fault::LostUnknown];
    let Some(node) = cassandra::node() else { return };
    let engines = cassandra::open_apart(&cassandra::options(&node), &schema()).await;
    let seed = seed("tally, unknown outcomes");
    let faulty =
        engines.each_ref().map(|engine| Faulty::at_random(engine.clone(), seed, 100, FAULTS));
    let doors = faulty.each_ref().map(|faulty| faulty.clone() as Arc<dyn Engine>);
    storm(engines[0].clone(), &doors, seed, entries(), SETTINGS).await;
    for faulty in faulty {
        println!("{} of {} commits met a fault", faulty.injected(), faulty.calls());
        assert!(faulty.injected() * 4 > faulty.calls(), "a good part of the commits met a fault");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sums_are_exact_while_the_node_stops_and_goes_on() {
    let Some(node) = tokio::task::block_in_place(cassandra::own_node) else { return };
    let options = cassandra::hasty(cassandra::options(&node));
    let engines = cassandra::open_apart(&options, &schema()).await;
    let seed = seed("tally, pauses");
    let pauses = cassandra::unsteady(node, seed);
    storm(engines[0].clone(), &doors(&engines), seed, entries(), SETTINGS).await;
    let (_node, pauses) = pauses.end().expect("the node lives");
    let repeats = cassandra::stat(&engines, "repeats_total");
    println!("{pauses} pauses, {repeats} requests sent again");
    assert!(pauses > 0 && repeats > 0, "no request was lost: {pauses} pauses");
}

/// A cluster shows a walk's pages at different moments: a shard that is written in between is no
/// drift.
#[tokio::test(flavor = "multi_thread")]
async fn a_walk_beside_writers_finds_nothing() {
    let Some(node) = cassandra::node() else { return };
    let engines = cassandra::open_apart(&cassandra::options(&node), &schema()).await;
    let settings = Settings { shards: 4, shard_entries: 50_000, in_flight: 8 };
    let tallies = common::tallies(engines[0].clone(), settings);
    let set = async |entries: std::ops::Range<u64>, rank| {
        let sets = entries.map(|entry| common::event(&overall(), entry, rank)).collect();
        for answer in tallies.set_many(sets).await {
            assert!(answer.expect("is set").is_counted());
        }
    };
    for first in (0..ENTRIES).step_by(1_000) {
        set(first..first + 1_000, 1).await;
    }
    let writing = async {
        for rank in 2.. {
            for first in (0..ENTRIES).step_by(100) {
                set(first..first + 100, rank).await;
            }
        }
    };
    let walking = async {
        for _ in 0..parts::pick(5, 50) {
            let report = tally::verify(engines[1].clone(), &mut |_| {}).await.expect("it ends");
            assert!(report.is_clean(), "{:#?}", report.findings);
            assert_eq!((report.shards, report.entries), (4, ENTRIES));
        }
    };
    tokio::select! {
        () = writing => {}
        () = walking => {}
    }
}
