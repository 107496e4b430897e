//! Who of this process is next at a guarded partition.
//!
//! A commit is a Paxos round, and so is a serial read. Rounds of one partition that meet in the
//! cluster hinder each other: some replicas follow the one, some the other, and both begin again.
//! Worse, with a replica that has just died Cassandra waits for its vote in such a draw, two
//! seconds each time, until the other nodes call it dead. So those of one process wait here, which
//! costs nothing, and only processes meet in the cluster.

use std::hash::BuildHasher as _;

use rustc_hash::FxBuildHasher;
use store::{EngineError, Read, TableDef};
use tokio::sync::{Mutex, MutexGuard};

use crate::engine::CassandraEngine;
use crate::retry::Patience;

/// Locks of all partitions together; two that share one only wait for each other.
const STRIPES: usize = 1024;

/// The locks.
#[derive(Debug)]
pub(crate) struct Turns(Vec<Mutex<()>>);

impl Turns {
    pub(crate) fn new() -> Self {
        Self((0..STRIPES).map(|_| Mutex::new(())).collect())
    }

    fn of(&self, table: &TableDef, partition: &[u8]) -> &Mutex<()> {
        let hash = FxBuildHasher.hash_one((table.name(), partition)) % STRIPES as u64;
        &self.0[usize::try_from(hash).unwrap_or(0)]
    }
}

impl CassandraEngine {
    /// Waits until nobody else of this process is busy with the partition.
    pub(crate) async fn turn(
        &self,
        table: &'static TableDef,
        partition: &[u8],
        patience: &Patience,
    ) -> Result<MutexGuard<'_, ()>, EngineError> {
        let turn = patience.within(self.turns.of(table, partition).lock()).await;
        turn.ok_or_else(others_failed)
    }

    /// The turn of a read, if it needs one: only serial ones are rounds.
    pub(crate) async fn turn_to_read(
        &self,
        table: &'static TableDef,
        partition: &[u8],
        read: Read,
    ) -> Result<Option<MutexGuard<'_, ()>>, EngineError> {
        if read != Read::Serial {
            return Ok(None);
        }
        let patience = Patience::new(self.options.patience);
        Ok(Some(self.turn(table, partition, &patience).await?))
    }
}

/// Those before it in this process used up the time. Nothing was sent.
fn others_failed() -> EngineError {
    EngineError::new(
        "Cassandra: those of this process who came before to the same partition took too long",
        "the cluster is slow or partly down: see `nodetool status`, and start the Cassandra nodes \
         that are missing; work goes on by itself",
    )
}
