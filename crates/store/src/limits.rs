//! Limits that hold for every table, whatever its own [`Bounds`](crate::Bounds) say.
//!
//! They are what Cassandra with stock settings and the embedded engine can both carry; a table may
//! only be stricter.

use std::time::Duration;

/// Bytes of a partition key. One length byte stands before it in the embedded engine.
pub const PARTITION_KEY_BYTES: usize = 255;
/// Bytes of a sort key.
pub const SORT_KEY_BYTES: usize = 1024;
/// Bytes of one value.
pub const VALUE_BYTES: usize = 4 * 1024 * 1024;
/// Keys in one `get`.
pub const GET_KEYS: usize = 10_000;
/// Rows in one page of `range`.
pub const PAGE_ROWS: usize = 10_000;
/// Bytes in one page of `range`; a page that would grow beyond ends early, with at least one row.
pub const PAGE_BYTES: usize = 4 * 1024 * 1024;
/// Rows in one `put`.
pub const PUT_ROWS: usize = 4_000_000;
/// Bytes in one `put`.
pub const PUT_BYTES: usize = 512 * 1024 * 1024;
/// Changes in one `commit`.
pub const COMMIT_CHANGES: usize = 1_000;
/// Bytes of keys and values in one `commit`.
pub const COMMIT_BYTES: usize = 512 * 1024;
/// Bytes of the result kept with an operation id.
pub const RESULT_BYTES: usize = 16 * 1024;
/// How long an operation id is remembered.
pub const OPERATION_AGE: Duration = Duration::from_secs(24 * 60 * 60);
