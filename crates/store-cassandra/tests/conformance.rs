//! Cassandra keeps the contract, whatever the clocks of its clients say.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parts::cassandra::Server;
use store::conformance::{Subject, cases, concurrent, full, random, schema, seed};
use store::{Maintenance, Task};
use store_cassandra::{CassandraEngine, Options};

/// Every opening is another client; with `skewed` their clocks are five seconds apart.
struct Cluster {
    options: Options,
    skewed: bool,
    opened: AtomicU32,
}

impl Cluster {
    fn new(node: &Server, skewed: bool) -> Self {
        Self { options: common::options(node), skewed, opened: AtomicU32::new(0) }
    }
}

impl Subject for Cluster {
    fn open(&self) -> Task<'_, Arc<dyn Maintenance>> {
        Box::pin(async {
            let mut options = self.options.clone();
            let turn = self.opened.fetch_add(1, Ordering::Relaxed);
            if self.skewed {
                options.clock_offset_micros = if turn.is_multiple_of(2) { 5_000_000 } else { -1 };
            }
            let engine = CassandraEngine::open(&options, &schema()).await.expect("opens");
            engine as Arc<dyn Maintenance>
        })
    }

    fn checks_once(&self) -> bool {
        false
    }

    fn is_durable(&self) -> bool {
        true
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cassandra_keeps_every_case() {
    let Some(node) = common::node() else { return };
    cases(&Cluster::new(&node, false)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cassandra_equals_the_model_at_random() {
    let Some(node) = common::node() else { return };
    let operations = if full() { 10_000 } else { 600 };
    random(&Cluster::new(&node, false), seed("cassandra random"), operations).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cassandra_equals_the_model_with_clocks_five_seconds_apart() {
    let Some(node) = common::node() else { return };
    let operations = if full() { 10_000 } else { 600 };
    random(&Cluster::new(&node, true), seed("cassandra skewed"), operations).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cassandra_keeps_the_contract_under_concurrency() {
    let Some(node) = common::node() else { return };
    let operations = if full() { 10_000 } else { 600 };
    concurrent(&Cluster::new(&node, true), seed("cassandra concurrent"), operations).await;
}
