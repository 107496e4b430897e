//! `(partition, sort) → value`, with the same meaning on every engine.
//!
//! Four verbs carry the whole platform:
//!
//! | verb | on | meaning |
//! | --- | --- | --- |
//! | [`Store::get`] | any table | rows by their keys, batched |
//! | [`Store::page`] | any table | rows of **one** partition in order, paged |
//! | [`Store::put`] | [`Writes::Once`] | rows whose value is a function of their key |
//! | [`Store::commit`] | [`Writes::Guarded`] | compare-and-set of a partition at a known version |
//!
//! # Invariants
//!
//! - **A table is `Once` or `Guarded`, never both.** On Cassandra a plain write and a conditional
//!   write run on different clocks, and one can silently hide the other.
//! - **A `Once` put may be repeated**, in any order, by anyone: late information is another row,
//!   never a second value under the same key.
//! - **Sweeping a `Once` row is final**: its key is never put again for anybody to see.
//! - **A partition's version never restarts**, not even when all its rows are gone.
//! - **A commit is known by its operation id** for 24 hours: repeating it returns the first result
//!   and changes nothing, so an unknown outcome is resolved by asking again.
//! - **A batch is atomic per partition and no further.**
//! - **Everything has a limit**, written where it is declared ([`limits`], [`Bounds`]).
//!
//! What is deliberately absent: transactions over partitions, secondary indexes, scans over
//! partitions (only [`Maintenance`] walks a whole table, for backup, copy and verification), and
//! clocks.

mod backup;
mod cache;
mod copy;
mod cursor;
mod digest;
mod engine;
mod error;
mod key;
mod model;
mod page;
mod row;
mod schema;
mod store;
mod table;
mod value;
mod verify;

#[cfg(feature = "conformance")]
pub mod conformance;
pub mod limits;

pub use backup::{BackupError, BackupSummary, RestoreError, back_up, restore};
pub use copy::{COPY_NOTE, CopyError, CopySummary, copy};
pub use cursor::{Cursor, CursorError};
pub use digest::{Digest, digest_table};
pub use engine::{
    Engine, EngineInfo, Entry, Maintenance, Stat, TableEstimate, Task, WalkPage, Walker,
};
pub use error::{BoundError, CommitError, EngineError, PutError, ReadError, SchemaError};
pub use key::{Counted, KeyPart, KeyReader, Monthly, Partition, Sequenced};
pub use model::ModelEngine;
pub use page::{Page, PageRows};
pub use placement::report::Touches;
pub use row::{
    Bound, Change, Commit, Committed, Found, OpId, Order, PartitionKey, RangeRequest, Read, Row,
    RowKey, Version,
};
pub use schema::{FORMAT_VERSION, Schema, SchemaChange, TableRecord, compare_schema};
pub use store::{Listing, PageRequest, Store, Versioned};
pub use table::{Bounds, Query, Table, TableDef, Writes};
pub use value::{DecodeError, Value, decode_serde, encode_serde};
pub use verify::{Finding, TableSummary, VerifyReport, verify};
