//! A real node and engines on it.

#![allow(dead_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parts::cassandra::{self, Server};
use store::Schema;
use store_cassandra::{CassandraEngine, Options};

/// The one node of this test program; none when it cannot be had here.
pub(crate) fn node() -> Option<Arc<Server>> {
    let cassandra = parts::require(cassandra::install())?;
    Some(cassandra.shared().expect("Cassandra starts"))
}

/// Options for a keyspace of its own on one node.
pub(crate) fn options(node: &Server) -> Options {
    static KEYSPACES: AtomicU32 = AtomicU32::new(0);
    let mut options = Options::new([node.address().to_string()]);
    let number = KEYSPACES.fetch_add(1, Ordering::Relaxed);
    options.keyspace = format!("test_{number}");
    options.replication = 1;
    options.apply_schema = true;
    options
}

/// Opens an engine, creating what is missing.
pub(crate) async fn open(options: &Options, schema: &Schema) -> Arc<CassandraEngine> {
    CassandraEngine::open(options, schema).await.expect("opens")
}
