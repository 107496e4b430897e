//! Settings of the embedded engine.

use std::path::PathBuf;
use std::time::Duration;

use store::limits;

/// How to open a directory.
#[derive(Clone, Debug)]
pub struct Options {
    /// The directory.
    pub directory: PathBuf,
    /// Bytes of fjall's cache of blocks.
    pub cache_bytes: u64,
    /// A `put` of at least this many rows becomes a bulk run without the journal.
    pub bulk_rows: usize,
    /// Reads before it writes and refuses another value under a key of a `Once` table. Costs a read
    /// per row: on in debug builds, where mistakes are made.
    pub check_once: bool,
    /// Creates missing tables when opening, as `schema apply` does.
    pub apply_schema: bool,
    /// How long an operation id is remembered. Less than a day breaks the contract: for tests only.
    pub operation_age: Duration,
}

impl Options {
    /// The settings a server uses, for `directory`.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            cache_bytes: 256 * 1024 * 1024,
            bulk_rows: 20_000,
            check_once: cfg!(debug_assertions),
            apply_schema: false,
            operation_age: limits::OPERATION_AGE,
        }
    }
}
