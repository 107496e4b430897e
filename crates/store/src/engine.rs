//! What an engine must do. Each duty is written here once; the conformance suite proves it.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{
    Commit, CommitError, Committed, EngineError, Finding, Found, OpId, Page, PartitionKey,
    PutError, RangeRequest, Read, ReadError, Row, RowKey, Schema, SchemaChange, SchemaError,
    TableDef, TableRecord, Version,
};

/// A boxed future, so that engines can stand behind one pointer and only the binary names them.
pub type Task<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The four verbs. Requests arrive checked against [`limits`](crate::limits) and the table's
/// bounds.
pub trait Engine: Send + Sync + 'static {
    /// Reads rows by their keys, one answer per key, in the order of the keys.
    ///
    /// In guarded tables value and version are of one moment for all keys of one partition.
    fn get<'a>(
        &'a self,
        table: &'static TableDef,
        keys: &'a [RowKey],
        read: Read,
    ) -> Task<'a, Result<Vec<Found>, ReadError>>;

    /// Reads rows of one partition in order, at most `limit` of them and at most
    /// [`limits::PAGE_BYTES`](crate::limits::PAGE_BYTES) unless one row alone is larger.
    ///
    /// In guarded tables the version belongs to exactly the state the rows show.
    fn range<'a>(&'a self, request: &'a RangeRequest) -> Task<'a, Result<Page, ReadError>>;

    /// Writes rows of `Once` tables. Acknowledged means durable and visible. The rows of one call
    /// become visible in any order; repeating a call changes nothing.
    ///
    /// Sweeping a row is final: nobody may rely on a later put of the same key being seen, or on
    /// its not being seen.
    fn put(&self, rows: Vec<Row>) -> Task<'_, Result<(), PutError>>;

    /// Changes one guarded partition if it is at the expected version, all or nothing, and keeps
    /// the result under the operation id. An operation id that is already known returns what was
    /// kept, whatever the version. Acknowledged means durable and visible.
    fn commit(&self, commit: Commit) -> Task<'_, Result<Committed, CommitError>>;
}

/// What the operator's commands need beside the verbs. No service uses it.
pub trait Maintenance: Engine {
    /// Engine, place and size.
    fn info(&self) -> Task<'_, Result<EngineInfo, EngineError>>;

    /// The tables recorded in the store.
    fn records(&self) -> Task<'_, Result<Vec<TableRecord>, SchemaError>>;

    /// Creates missing tables and migrates an older format. Refuses a change that would lose rows.
    fn apply<'a>(&'a self, schema: &'a Schema) -> Task<'a, Result<Vec<SchemaChange>, SchemaError>>;

    /// A view of all tables for walking them: of one moment on an embedded engine, also while the
    /// store is in use; on a cluster each partition is as it was at one moment of the walk.
    fn walk(&self) -> Task<'_, Result<Box<dyn Walker + '_>, EngineError>>;

    /// Loads entries of one table as [`Walker`] gave them, in its order, into a table that nobody
    /// else writes. For restore and copy only: it sets versions.
    fn load<'a>(
        &'a self,
        table: &'static TableDef,
        entries: Vec<Entry>,
    ) -> Task<'a, Result<(), PutError>>;

    /// Removes everything from one table that nobody else uses. For restore and copy only.
    fn clear<'a>(&'a self, table: &'static TableDef) -> Task<'a, Result<(), PutError>>;

    /// A small record beside the tables, for long work that must survive a crash.
    fn note<'a>(&'a self, name: &'a str) -> Task<'a, Result<Option<Bytes>, EngineError>>;

    /// Sets or removes such a record.
    fn set_note<'a>(
        &'a self,
        name: &'a str,
        value: Option<Bytes>,
    ) -> Task<'a, Result<(), EngineError>>;

    /// What the engine itself estimates of its tables; empty where it has no opinion.
    fn estimates(&self) -> Task<'_, Result<Vec<TableEstimate>, EngineError>>;

    /// The engine's own checks: what `verify store` cannot see in rows.
    fn check(&self) -> Task<'_, Result<Vec<Finding>, EngineError>>;

    /// Measurements since the engine was opened.
    fn stats(&self) -> Vec<Stat>;

    /// Brings the store into the state that opens fastest. Skipping it loses nothing.
    fn close(&self) -> Task<'_, Result<(), EngineError>>;
}

/// Walks tables in the engine's own order, as [`Maintenance::walk`] shows them.
pub trait Walker: Send + Sync {
    /// At most `limit` entries after `position`, which is none at the start.
    fn page<'a>(
        &'a self,
        table: &'static TableDef,
        position: Option<Bytes>,
        limit: usize,
    ) -> Task<'a, Result<WalkPage, ReadError>>;
}

/// Entries of one table and where to go on.
#[derive(Debug)]
pub struct WalkPage {
    /// The entries. A partition's version stands before its rows.
    pub entries: Vec<Entry>,
    /// Where the next page begins; none at the end of the table.
    pub next: Option<Bytes>,
}

/// Everything a table holds, as it is copied from store to store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A row.
    Row {
        /// Its key.
        key: RowKey,
        /// Its value.
        value: Bytes,
    },
    /// The version of a guarded partition.
    Version {
        /// The partition.
        partition: PartitionKey,
        /// Its version.
        version: Version,
    },
    /// A remembered operation of a guarded partition.
    Operation {
        /// The partition.
        partition: PartitionKey,
        /// The operation id.
        op: OpId,
        /// The version it led to.
        version: Version,
        /// Unix second after which it may be forgotten.
        expires: u64,
        /// What it returns when repeated.
        result: Bytes,
    },
}

impl Entry {
    /// The partition it belongs to.
    #[must_use]
    pub fn partition(&self) -> &[u8] {
        match self {
            Self::Row { key, .. } => key.partition(),
            Self::Version { partition, .. } | Self::Operation { partition, .. } => {
                partition.as_bytes()
            }
        }
    }
}

/// Engine, place and size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineInfo {
    /// `fjall`, `cassandra`, `model`.
    pub engine: &'static str,
    /// Directory or address.
    pub location: String,
    /// Format version of the store.
    pub format: u32,
    /// Bytes on disk, where the engine can tell.
    pub disk_bytes: u64,
}

/// A table as the engine itself estimates it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableEstimate {
    /// The table, as the engine spells it.
    pub table: String,
    /// Its partitions.
    pub partitions: u64,
    /// Its bytes on disk.
    pub bytes: u64,
}

/// One measurement of an engine.
#[derive(Clone, Debug, PartialEq)]
pub struct Stat {
    /// Prometheus name without prefix, e.g. `commit_seconds_max`.
    pub name: &'static str,
    /// What it measures.
    pub help: &'static str,
    /// Whether it only grows.
    pub counter: bool,
    /// Its value.
    pub value: f64,
}

impl Stat {
    /// A count that only grows.
    #[must_use]
    pub fn count(name: &'static str, help: &'static str, counter: &AtomicU64) -> Self {
        Self { name, help, counter: true, value: counter.load(Ordering::Relaxed) as f64 }
    }
}
