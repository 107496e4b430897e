//! A real node or a ring of them, and engines on it. The kernel's tests use this file too.

#![allow(dead_code, reason = "each test uses its part")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use parts::cassandra::{self, Cluster, Pauses, Server};
use store::{Maintenance, Schema};
use store_cassandra::{CassandraEngine, Options};

/// The one node of this test program; none when it cannot be had here.
pub(crate) fn node() -> Option<Arc<Server>> {
    let cassandra = parts::require(cassandra::install())?;
    Some(cassandra.shared().expect("Cassandra starts"))
}

/// A node of its own, for a test that pauses it.
pub(crate) fn own_node() -> Option<Server> {
    let cassandra = parts::require(cassandra::install())?;
    Some(cassandra.start().expect("Cassandra starts"))
}

/// Three nodes.
pub(crate) fn ring() -> Option<Cluster> {
    let cassandra = parts::require(cassandra::install())?;
    Some(cassandra.cluster(3).expect("the ring forms"))
}

/// Options for a keyspace of its own on one node.
pub(crate) fn options(node: &Server) -> Options {
    options_of(&[node.address()], 1)
}

/// Options for a keyspace of its own.
pub(crate) fn options_of(addresses: &[SocketAddr], replication: u8) -> Options {
    static KEYSPACES: AtomicU32 = AtomicU32::new(0);
    let mut options = Options::new(addresses.iter().map(SocketAddr::to_string));
    let number = KEYSPACES.fetch_add(1, Ordering::Relaxed);
    options.keyspace = format!("test_{number}");
    options.replication = replication;
    options.apply_schema = true;
    options
}

/// Opens an engine, creating what is missing.
pub(crate) async fn open(options: &Options, schema: &Schema) -> Arc<CassandraEngine> {
    CassandraEngine::open(options, schema).await.expect("opens")
}

/// Two engines as of two processes, whose clocks are five seconds apart.
pub(crate) async fn open_apart(options: &Options, schema: &Schema) -> [Arc<CassandraEngine>; 2] {
    let mut options = options.clone();
    options.clock_offset_micros = 5_000_000;
    let ahead = open(&options, schema).await;
    options.clock_offset_micros = -1;
    [ahead, open(&options, schema).await]
}

/// Requests are given up long before a pause of [`unsteady`] ends, and repeated until it has.
pub(crate) fn hasty(mut options: Options) -> Options {
    options.request_timeout = Duration::from_millis(500);
    options.patience = Duration::from_secs(10);
    options
}

/// A node that stops at random moments, for up to two seconds each time.
pub(crate) fn unsteady(node: Server, seed: u64) -> Pauses {
    let mut rng = fastrand::Rng::with_seed(seed);
    Pauses::start(node, move || {
        let (awake, asleep) = (rng.u64(200..1500), rng.u64(300..2000));
        (Duration::from_millis(awake), Duration::from_millis(asleep))
    })
}

/// A counter of some engines, added up.
pub(crate) fn stat(engines: &[Arc<CassandraEngine>], name: &str) -> u64 {
    let stats = engines.iter().flat_map(|engine| engine.stats());
    stats.filter(|stat| stat.name == name).map(|stat| stat.value as u64).sum()
}
