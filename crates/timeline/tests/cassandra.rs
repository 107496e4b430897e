//! No view is torn on a real Cassandra: clocks of clients five seconds apart, commits of unknown
//! outcome, a node that stops and goes on.

#[path = "../../store-cassandra/tests/common/mod.rs"]
mod cassandra;
mod common;
#[path = "common/remote.rs"]
mod remote;

use std::sync::Arc;

use common::actors::{Counts, World};
use common::rounds::rounds;
use common::tree::schema;
use remote::Remote;
use store::Engine;
use store::conformance::{Fault, Faulty, seed};
use store_cassandra::{CassandraEngine, Options};
use tokio::runtime::Runtime;

/// Steps in which a writer dies once. There are fewer steps here than on an embedded engine.
const DYING: u32 = 150;

fn runtime() -> Runtime {
    Runtime::new().expect("a runtime")
}

/// Checks in all, and of one world.
fn checks() -> (u64, u64) {
    parts::pick((80, 80), (2_000, 250))
}

fn apart(runtime: &Runtime, options: &Options) -> [Arc<CassandraEngine>; 2] {
    runtime.block_on(cassandra::open_apart(options, &schema()))
}

fn remote(runtime: &Runtime, engine: &Arc<CassandraEngine>) -> Arc<dyn Engine> {
    Remote::before(engine.clone(), runtime.handle())
}

/// What also the few checks of an ordinary run must have met.
fn eventful(counts: &Counts) -> bool {
    counts.reorganisations > 1 && counts.publishes > 4 && counts.crashes > 0
}

fn expect(counts: &Counts) {
    assert!(eventful(counts), "{counts:?}");
    if parts::full() {
        counts.expect_all();
    }
}

#[test]
fn no_view_is_torn_with_clocks_five_seconds_apart() {
    let Some(node) = cassandra::node() else { return };
    let (runtime, (checks, each)) = (runtime(), checks());
    let world = |seed| {
        let engines = apart(&runtime, &cassandra::options(&node));
        let engines = engines.iter().map(|engine| remote(&runtime, engine)).collect();
        (World::new(engines, seed, None).dying(DYING).eventful(eventful), ())
    };
    expect(&rounds("timeline on Cassandra", checks, each, world));
}

#[test]
fn no_view_is_torn_when_outcomes_are_unknown() {
    const FAULTS: &[Fault] = &[Fault::AppliedUnknown, Fault::LostUnknown];
    let Some(node) = cassandra::node() else { return };
    let (runtime, (checks, each)) = (runtime(), checks());
    let world = |seed| {
        let engines = apart(&runtime, &cassandra::options(&node));
        let faulty = |engine| -> Arc<dyn Engine> {
            // Often enough that the store's own repetitions do not always find out.
            Faulty::at_random(remote(&runtime, engine), seed, 100, FAULTS)
        };
        let engines = engines.iter().map(faulty).collect();
        let enough = |counts: &Counts| eventful(counts) && counts.unknown > 0;
        (World::new(engines, seed, None).dying(DYING).eventful(enough).unsure(), ())
    };
    let counts = rounds("timeline, unknown outcomes", checks, each, world);
    expect(&counts);
    assert!(counts.unknown > 0, "no writer met an unknown outcome: {counts:?}");
}

#[test]
fn no_view_is_torn_while_the_node_stops_and_goes_on() {
    let Some(node) = cassandra::own_node() else { return };
    let runtime = runtime();
    let engines = apart(&runtime, &cassandra::hasty(cassandra::options(&node)));
    let seed = seed("timeline, pauses");
    let pauses = cassandra::unsteady(node, seed);
    let remotes = engines.iter().map(|engine| remote(&runtime, engine)).collect();
    let world = World::new(remotes, seed, None).dying(DYING).eventful(eventful).unsure();
    // One world: its tables are there before the first pause.
    let counts = world.run(checks().0).expect("no view is torn");
    let (_node, pauses) = pauses.end().expect("the node lives");
    let repeats = cassandra::stat(&engines, "repeats_total");
    println!("{counts:?}, {pauses} pauses, {repeats} requests sent again");
    assert!(pauses > 0 && repeats > 0, "no request was lost: {pauses} pauses");
    expect(&counts);
}
