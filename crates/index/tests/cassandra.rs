//! Lists and effects are right on a real Cassandra: clocks of clients five seconds apart, commits
//! of unknown outcome, a node that stops and goes on.

#[path = "../../store-cassandra/tests/common/mod.rs"]
mod cassandra;
mod common;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use common::faults::Faulty;
use common::lists::{concurrent, random, unknown};
use common::race::race;
use common::{Home, schema};
use index::Lists;
use parts::cassandra::Server;
use store::conformance::seed;
use store::{Engine, Store};
use store_cassandra::CassandraEngine;
use tokio::task::block_in_place;

/// Operations of lists against a model.
fn operations() -> usize {
    parts::pick(300, 3_000)
}

/// Entries, and ranks of each, that are placed at the same time.
fn placements() -> (u64, u64) {
    (48, parts::pick(6, 60))
}

/// Changes that four partitions see.
fn changes() -> usize {
    parts::pick(240, 2_400)
}

async fn apart(node: &Server) -> [Arc<CassandraEngine>; 2] {
    cassandra::open_apart(&cassandra::options(node), &schema()).await
}

fn doors(engines: &[Arc<CassandraEngine>; 2]) -> [Arc<dyn Engine>; 2] {
    engines.each_ref().map(|engine| engine.clone() as Arc<dyn Engine>)
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_equal_a_model_with_clocks_five_seconds_apart() {
    let Some(node) = block_in_place(cassandra::node) else { return };
    let engines = apart(&node).await;
    let home = Home::of(engines[0].clone());
    let seed = seed("lists on Cassandra");
    let lists = Lists::new(Store::new(engines[1].clone(), 0));
    random(&home, &lists, seed, operations()).await;
    // Tables of their own: the lists are full now.
    let engines = apart(&node).await;
    let home = Home::of(engines[0].clone());
    concurrent(&home, &doors(&engines), seed, placements()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_equal_a_model_when_outcomes_are_unknown() {
    let Some(node) = block_in_place(cassandra::node) else { return };
    let engines = apart(&node).await;
    let seed = seed("lists on Cassandra, unknown outcomes");
    let faulty = Faulty::lying(engines[0].clone(), seed);
    unknown(&Home::of(engines[1].clone()), &faulty, seed, operations()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn effects_are_done_once_with_clocks_five_seconds_apart() {
    let Some(node) = block_in_place(cassandra::node) else { return };
    let engines = apart(&node).await;
    let home = Home::of(engines[0].clone());
    race(&home, &doors(&engines), seed("effects on Cassandra"), changes()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn effects_are_done_once_when_outcomes_are_unknown() {
    let Some(node) = block_in_place(cassandra::node) else { return };
    let engines = apart(&node).await;
    let home = Home::of(engines[0].clone());
    let seed = seed("effects on Cassandra, unknown outcomes");
    let faulty = doors(&engines).map(|engine| Faulty::lying(engine, seed));
    let lying = faulty.each_ref().map(|faulty| faulty.clone() as Arc<dyn Engine>);
    race(&home, &lying, seed, changes()).await;
    for faulty in faulty {
        let unknown = faulty.unknown.load(Ordering::Relaxed);
        println!("{unknown} outcomes were unknown");
        assert!(unknown > changes(), "{unknown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_and_effects_are_right_while_the_node_stops_and_goes_on() {
    let Some(node) = block_in_place(cassandra::own_node) else { return };
    let open = async || {
        let options = cassandra::hasty(cassandra::options(&node));
        cassandra::open_apart(&options, &schema()).await
    };
    // Both use the same lists, so each has tables of its own; made before the first pause.
    let (effects, lists) = (open().await, open().await);
    let seed = seed("index on Cassandra, pauses");
    let pauses = cassandra::unsteady(node, seed);
    race(&Home::of(effects[0].clone()), &doors(&effects), seed, changes()).await;
    concurrent(&Home::of(lists[0].clone()), &doors(&lists), seed, placements()).await;
    let (_node, pauses) = pauses.end().expect("the node lives");
    for engines in [effects, lists] {
        let repeats = cassandra::stat(&engines, "repeats_total");
        println!("{pauses} pauses, {repeats} requests sent again");
        assert!(repeats > 0, "no request was lost in {pauses} pauses");
    }
}
