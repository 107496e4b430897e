//! Sums are exact on a real Cassandra: clocks of clients five seconds apart, commits of unknown
//! outcome, a node that stops and goes on.

#[path = "../../store-cassandra/tests/common/mod.rs"]
mod cassandra;
mod common;

use std::sync::Arc;

use common::schema;
use common::storm::storm;
use store::Engine;
use store::conformance::{Fault, Faulty, seed};
use store_cassandra::CassandraEngine;
use tally::Settings;

/// Few shards, so that engines meet, and small ones, so that they fill.
const SETTINGS: Settings = Settings { shards: 4, shard_entries: 400, in_flight: 8 };
/// Of every 20 sets so many may fail in all and are set again: rivals in a cluster can be faster
/// again and again, which the tally tells its caller after a while.
const PATIENCE: usize = 200;

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
