//! One error enum per operation. Each message says what to do next.

use crate::{CursorError, DecodeError, Version};

/// Something went beyond a limit, or a table was used against its kind. Nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BoundError {
    /// A key, value, page or batch is larger than its limit.
    #[error(
        "{table}: {what} is {size}, the limit is {limit}; split the request or store less in a row"
    )]
    TooLarge {
        /// The table.
        table: &'static str,
        /// What was measured.
        what: &'static str,
        /// Its size.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// An empty partition key.
    #[error("{table}: a partition key must have at least one byte")]
    EmptyPartition {
        /// The table.
        table: &'static str,
    },
    /// `put` on a guarded table, or `commit` on a once table.
    #[error("{table}: {verb} is not how this table is written; it is {writes:?}")]
    WrongVerb {
        /// The table.
        table: &'static str,
        /// The verb that was tried.
        verb: &'static str,
        /// How the table is written.
        writes: crate::Writes,
    },
    /// Two changes of one key in one commit.
    #[error("{table}: a commit changes one key twice; merge the changes first")]
    ChangedTwice {
        /// The table.
        table: &'static str,
    },
    /// A page or batch of nothing.
    #[error("{table}: a page must allow at least one row")]
    EmptyPage {
        /// The table.
        table: &'static str,
    },
    /// The key's route does not fit the table's placement.
    #[error("{table}: {source}")]
    Route {
        /// The table.
        table: &'static str,
        /// What does not fit.
        source: placement::RouteError,
    },
}

/// The engine could not do its work.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{what}; {advice}")]
pub struct EngineError {
    /// What failed, with the engine's own words.
    pub what: String,
    /// What the operator can do about it.
    pub advice: String,
}

impl EngineError {
    /// A failure and what to do about it.
    pub fn new(what: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { what: what.into(), advice: advice.into() }
    }
}

/// Why a `get` or `page` gave no answer.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// A limit.
    #[error(transparent)]
    Bound(#[from] BoundError),
    /// A cursor that belongs to another list, or is damaged.
    #[error(transparent)]
    Cursor(#[from] CursorError),
    /// A row that this version cannot read.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The store does not have this table yet.
    #[error("the store has no table {table}; run `ostrakon schema apply`")]
    NoTable {
        /// The table.
        table: &'static str,
    },
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Why a `put` failed. Some rows may have been written; putting all of them again is always right.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PutError {
    /// A limit.
    #[error(transparent)]
    Bound(#[from] BoundError),
    /// Another value stands under a key already: the value was not a function of the key.
    #[error(
        "{table}: another value already stands under key {key}; a Once row must be a function of \
         its key, put what changed under a key of its own"
    )]
    Differs {
        /// The table.
        table: &'static str,
        /// The key in hex.
        key: String,
    },
    /// The store does not have this table yet.
    #[error("the store has no table {table}; run `ostrakon schema apply`")]
    NoTable {
        /// The table.
        table: &'static str,
    },
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Why a `commit` did not report success.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommitError {
    /// A limit.
    #[error(transparent)]
    Bound(#[from] BoundError),
    /// Somebody else changed the partition first. Nothing was written: read again and decide anew.
    #[error("the partition is at version {current}, not {expected}; read it again and retry")]
    Conflict {
        /// The version the caller had seen.
        expected: Version,
        /// The version it has now.
        current: Version,
    },
    /// Applied or not, nobody knows yet. Commit again with the same operation id to find out.
    #[error("the outcome is unknown ({0}); commit again with the same operation id to learn it")]
    Unknown(EngineError),
    /// The store does not have this table yet.
    #[error("the store has no table {table}; run `ostrakon schema apply`")]
    NoTable {
        /// The table.
        table: &'static str,
    },
    /// The engine failed before anything was written.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Why a store cannot be used with these tables.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// Written by a newer version of Ostrakon.
    #[error(
        "the store has format {found}, this version knows up to {known}; \
         use the version that wrote it, or a newer one"
    )]
    Newer {
        /// Format found in the store.
        found: u32,
        /// Format this version writes.
        known: u32,
    },
    /// Written by an older version of Ostrakon.
    #[error(
        "the store has format {found}, this version needs {known}; \
         make a backup, then run `ostrakon schema apply` to migrate it"
    )]
    Older {
        /// Format found in the store.
        found: u32,
        /// Format this version writes.
        known: u32,
    },
    /// Too old: the version that could migrate it is gone.
    #[error(
        "the store has format {found}, and this version has no migration from it to {known}; \
         migrate it with the versions in between first"
    )]
    NoMigration {
        /// Format found in the store.
        found: u32,
        /// Format this version writes.
        known: u32,
    },
    /// A table exists with another placement or another kind of writes.
    #[error(
        "table {table} is stored as {stored} but this version declares {declared}; rows would be \
         lost by a mere setting: copy the table into a new store instead"
    )]
    Changed {
        /// The table.
        table: String,
        /// What is recorded.
        stored: String,
        /// What the code says.
        declared: String,
    },
    /// A table is not in the store yet.
    #[error("the store has no table {table} yet; run `ostrakon schema apply`")]
    Missing {
        /// The table.
        table: String,
    },
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}
