//! A real Conflux node that extends, forks and merges at random, and a follower all the time: every
//! list and sum is the node's.

mod common;

use std::sync::Arc;

use common::Model;
use parts::conflux::{self, Account, ConfluxNode, Transaction};
use parts::require;
use platform::outgoing::NodeClient;
use scan::follow::{FollowError, step};
use scan::query::Scan;
use scan::source::Node;
use store::conformance::seed;
use store::{ModelEngine, Store};
use timeline::{Lane, Settings, Timeline, Watch, Writer, WriterId};

/// How often everything is compared.
const CHECK_EVERY: usize = 10;

/// A chain that follows a node.
struct Follower {
    runtime: tokio::runtime::Runtime,
    timeline: Timeline,
    writer: Writer,
    node: Node,
    popped: usize,
}

impl Follower {
    fn of(node: &ConfluxNode) -> Self {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let store = Store::new(Arc::new(ModelEngine::default()), 0);
        let timeline = Timeline::new(store, "conflux".into(), Settings::default());
        let mut watch = Watch::default();
        let writer = runtime.block_on(timeline.lead(WriterId([1; 16]), &mut watch));
        let writer = writer.expect("led").expect("nobody else is there");
        let node = Node::new(node.http(), Arc::new(NodeClient::new().expect("a client")));
        Self { runtime, timeline, writer, node, popped: 0 }
    }

    /// Follows until there is nothing new.
    fn catch_up(&mut self) {
        let Self { runtime, timeline, writer, node, popped } = self;
        runtime.block_on(async {
            loop {
                match step(timeline, writer, node).await {
                    Ok(None) => return,
                    Ok(Some(published)) => {
                        let runs = published.switch.popped.iter();
                        let runs = runs.filter(|run| run.lane == Lane::MINED);
                        *popped += runs.flat_map(timeline::Run::units).count();
                    }
                    // The node works while it is asked.
                    Err(FollowError::Moved) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        });
    }

    /// Compares everything with the node, as a model has it.
    fn check(&self) {
        self.runtime.block_on(async {
            let latest = self.node.latest_mined().await.expect("answered");
            let epochs = self.node.epochs(0, latest).await.expect("answered");
            let view = self.timeline.view().await.expect("read");
            assert_eq!(view.head(Lane::MINED).expect("a head").height.0, latest);
            Model::of(epochs).check(&Scan::new(&self.timeline, &view)).await;
        });
    }
}

/// Does something to the tree-graph.
fn change(node: &ConfluxNode, rng: &mut fastrand::Rng) {
    let account = |number: u32| Account::numbered(number);
    match rng.u8(0..10) {
        0..=2 => drop(node.empty_blocks(rng.usize(1..4)).expect("mined")),
        3 | 4 => drop(node.siblings(rng.usize(2..5)).expect("mined")),
        5 | 6 => {
            let latest = node.epoch("latest_mined").expect("a number");
            let ancestor = node.pivot(latest.saturating_sub(rng.u64(1..8))).expect("a pivot");
            drop(node.fork_from(&ancestor).expect("mined"));
        }
        7 | 8 => {
            for _ in 0..rng.usize(1..4) {
                let (from, to) = (account(rng.u32(0..8)), account(rng.u32(0..8)));
                node.transfer(&from, to.address(), rng.u128(1..1000)).expect("sent");
            }
            drop(node.pack(10).expect("mined"));
        }
        _ => {
            let from = account(rng.u32(0..8));
            let transfer = Transaction::transfer(account(9).address(), 5);
            let signed = node.sign(&from, &transfer).expect("signed");
            drop(node.in_two_branches(&[signed]).expect("mined"));
        }
    }
}

#[test]
fn a_real_node_is_followed_through_random_growth_forks_and_merges() {
    let Some(conflux) = require(conflux::install()) else { return };
    let node = conflux.start().expect("starts");
    let mut follower = Follower::of(&node);
    let mut rng = fastrand::Rng::with_seed(seed("a real Conflux node"));
    let operations = parts::pick(60, 500);
    for number in 1..=operations {
        change(&node, &mut rng);
        follower.catch_up();
        if number % CHECK_EVERY == 0 || number == operations {
            follower.check();
        }
    }
    println!("{operations} operations, {} epochs popped", follower.popped);
    assert!(follower.popped >= parts::pick(5, 100), "{} epochs popped", follower.popped);
}

#[test]
fn an_epoch_of_more_than_200_blocks_and_two_nodes_that_part_and_meet() {
    let Some(conflux) = require(conflux::install()) else { return };
    let (one, other) = (conflux.start().expect("starts"), conflux.start().expect("starts"));
    let mut follower = Follower::of(&one);
    one.empty_blocks(5).expect("mined");
    one.connect(&other).expect("connected");
    one.wait_agreed(&other).expect("they agree");
    follower.catch_up();
    one.part(&other).expect("parted");
    one.empty_blocks(3).expect("mined");
    follower.catch_up();
    other.empty_blocks(9).expect("mined");
    one.connect(&other).expect("connected");
    one.wait_agreed(&other).expect("they agree");
    one.empty_blocks(1).expect("mined");
    follower.catch_up();
    assert!(follower.popped >= 3, "the longer branch won: {} popped", follower.popped);
    follower.check();
    one.epoch_of(230).expect("mined");
    follower.catch_up();
    follower.check();
}
