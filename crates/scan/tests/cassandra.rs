//! A real Conflux node, followed into a real Cassandra while readers look without pause.

#[path = "../../store-cassandra/tests/common/mod.rs"]
mod cassandra;
mod common;
mod real;

use parts::conflux;
use parts::require;
use real::chain::Chain;
use real::readers::Readers;
use store::Schema;
use store::conformance::seed;

#[test]
fn the_same_on_cassandra_while_readers_look_without_pause() {
    let Some(server) = cassandra::node() else { return };
    let Some(conflux) = require(conflux::install()) else { return };
    let kernel = timeline::schema();
    let schema = Schema::new(kernel.tables().chain(scan::tables::tables()));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let engine = runtime.block_on(cassandra::open(&cassandra::options(&server), &schema));
    let node = conflux.start().expect("starts");
    let mut chain = Chain::new(engine, &node);
    let readers = Readers::start(chain.timeline());
    let mut rng = fastrand::Rng::with_seed(seed("a real node into Cassandra"));
    let operations = parts::pick(15, 150);
    for number in 1..=operations {
        node.change(&mut rng).expect("changed");
        chain.catch_up();
        if number % 15 == 0 {
            chain.check(&node);
        }
    }
    let seen = readers.stop();
    println!("{operations} operations, {} epochs popped, {seen} reader checks", chain.popped);
    assert!(seen >= parts::pick(5, 50), "{seen} reader checks");
}
