//! A real Conflux node that extends, forks and merges at random, and a follower all the time: every
//! list, sum, field and receipt is the node's.

mod common;
mod real;

use std::sync::Arc;

use parts::conflux;
use parts::require;
use real::chain::Chain;
use real::readers::Readers;
use store::ModelEngine;
use store::conformance::seed;

/// How often everything is compared.
const CHECK_EVERY: usize = 10;
#[test]
fn a_real_node_is_followed_through_random_growth_forks_and_merges() {
    let Some(conflux) = require(conflux::install()) else { return };
    let node = conflux.start().expect("starts");
    let mut chain = Chain::new(Arc::new(ModelEngine::default()), &node);
    let readers = Readers::start(chain.timeline());
    let mut rng = fastrand::Rng::with_seed(seed("a real Conflux node"));
    let operations = parts::pick(60, 500);
    for number in 1..=operations {
        node.change(&mut rng).expect("changed");
        chain.catch_up();
        if number % CHECK_EVERY == 0 || number == operations {
            chain.check(&node);
        }
    }
    let seen = readers.stop();
    println!(
        "{operations} operations, {} epochs popped, {} results compared, {seen} reader checks",
        chain.popped, chain.results
    );
    assert!(chain.popped >= parts::pick(5, 100), "{} epochs popped", chain.popped);
    assert!(chain.results >= parts::pick(5, 100), "{} results", chain.results);
    assert!(seen >= parts::pick(20, 200), "{seen} reader checks");
}

#[test]
fn an_epoch_of_more_than_200_blocks_and_two_nodes_that_part_and_meet() {
    let Some(conflux) = require(conflux::install()) else { return };
    let (one, other) = (conflux.start().expect("starts"), conflux.start().expect("starts"));
    let mut chain = Chain::new(Arc::new(ModelEngine::default()), &one);
    one.empty_blocks(5).expect("mined");
    one.connect(&other).expect("connected");
    one.wait_agreed(&other).expect("they agree");
    chain.catch_up();
    one.part(&other).expect("parted");
    one.empty_blocks(3).expect("mined");
    chain.catch_up();
    other.empty_blocks(9).expect("mined");
    one.connect(&other).expect("connected");
    one.wait_agreed(&other).expect("they agree");
    one.empty_blocks(1).expect("mined");
    chain.catch_up();
    assert!(chain.popped >= 3, "the longer branch won: {} popped", chain.popped);
    chain.check(&one);
    one.epoch_of(230).expect("mined");
    chain.catch_up();
    chain.check(&one);
    assert!(chain.skipped > 0, "an epoch of 230 blocks skips some");
}
