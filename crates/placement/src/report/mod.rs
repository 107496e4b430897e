//! Judging a placement by the rows it got.
//!
//! An [`Observer`] is told about the rows of a table, in any order, and keeps what a [`Report`]
//! needs in bounded memory: everything is exact until a limit of [`Limits`] is reached, and from
//! there on an estimate that [`Report::estimates`] names. A full observer takes about 20 MB,
//! however many rows it has seen.
//!
//! MongoDB's `analyzeShardKey` is the reference for what is measured: cardinality, frequency,
//! monotonicity, and how queries are routed. Beyond it stand the balance over several cluster
//! sizes, the size of partitions, the cost of growth, and all of it over time, because a key can be
//! even in the long run and still put every new row on one node.

mod build;
mod judge;
mod model;
mod observe;
mod query;
mod sketch;
mod timeline;

pub use judge::{Grade, Subject, Verdict};
pub use model::{
    Balance, Cardinality, EngineView, Heat, Monotonicity, PartitionSizes, Report, Spread, TopValue,
    Trend, TrendWindow,
};
pub use observe::{Limits, Observation, Observer, TableFacts};
pub use query::{DeclaredQuery, QueryShares, Touches};

/// Cassandra's rule of thumb: a partition stays below 100 MB.
pub const PARTITION_BYTES: u64 = 100_000_000;
/// Cassandra's rule of thumb: a partition stays below 100,000 rows.
pub const PARTITION_ROWS: u64 = 100_000;
/// MongoDB calls a shard key monotonic from this correlation with time on.
pub const MONOTONIC: f64 = 0.7;
