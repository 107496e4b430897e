//! Why a placement, a change or a call failed, and what to do about it.

use store::{BoundError, CommitError, DecodeError, EngineError, ReadError, Version};

use crate::retry::ATTEMPTS;

/// Why an entry was not placed. Nothing of its commit was written, unless the error says otherwise.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlaceError {
    /// The same rank with another sort key or payload: two changes claim one rank.
    #[error(
        "{list}: entry {entry} already stands at rank {rank} with another sort key or payload; \
         take ranks from one guarded partition, e.g. the version its commit leads to"
    )]
    Differs {
        /// The list's table.
        list: &'static str,
        /// The entry in hex.
        entry: String,
        /// The rank that was given twice.
        rank: u64,
    },
    /// The list is at its bound.
    #[error(
        "{list}: list {key} knows {known} entries, its bound is {bound}; entries that left the \
         order count, because their ranks are kept. Raise the bound where the list is declared, or \
         split the list by a finer key"
    )]
    Full {
        /// The list's table.
        list: &'static str,
        /// The list's key in hex.
        key: String,
        /// Entries it knows.
        known: u64,
        /// Entries it may know.
        bound: u64,
    },
    /// Others changed the list faster than this writer could follow.
    #[error(
        "{list}: others changed the list during each of {ATTEMPTS} attempts; place many entries in \
         one call, or split the list by a finer key"
    )]
    Contended {
        /// The list's table.
        list: &'static str,
    },
    /// A limit.
    #[error(transparent)]
    Bound(#[from] BoundError),
    /// The list could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The store refused the commit, or its outcome stayed unknown: placing again is always right.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The system failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl From<DecodeError> for PlaceError {
    fn from(error: DecodeError) -> Self {
        Self::Read(error.into())
    }
}

/// Why a call was not applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// It may work later: the store or the network fails, or others are faster.
    #[error("{0}")]
    Unavailable(String),
    /// It will fail again as it is. After some tries the driver keeps it aside.
    #[error("{0}")]
    Refused(String),
}

impl From<PlaceError> for CallError {
    fn from(error: PlaceError) -> Self {
        let text = error.to_string();
        match error {
            PlaceError::Differs { .. } | PlaceError::Full { .. } | PlaceError::Bound(_) => {
                Self::Refused(text)
            }
            PlaceError::Read(ReadError::Bound(_) | ReadError::Decode(_))
            | PlaceError::Commit(CommitError::Bound(_)) => Self::Refused(text),
            _ => Self::Unavailable(text),
        }
    }
}

/// Why a change did not report success.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// More calls, or larger ones, than an intent carries. Nothing was written.
    #[error(
        "{what} is {size}, the limit is {limit}; split the change, or let the calls carry less"
    )]
    TooLarge {
        /// What was measured.
        what: &'static str,
        /// Its size.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// A call that nobody here can apply. Nothing was written.
    #[error("no kind of call is named {kind}; register it where the effects are made")]
    NoKind {
        /// The kind.
        kind: String,
    },
    /// A table the driver could not find again. Nothing was written.
    #[error("table {table} is not among the tables of the effects; add it where they are made")]
    NoTable {
        /// The table.
        table: String,
    },
    /// A limit of the store. Nothing was written.
    #[error(transparent)]
    Bound(#[from] BoundError),
    /// Somebody else changed the partition first. Nothing was done and nothing will be: read again
    /// and decide anew.
    #[error("the partition is at version {current}, not {expected}; read it again and retry")]
    Conflict {
        /// The version the caller had seen.
        expected: Version,
        /// The version it has now.
        current: Version,
    },
    /// Done or not, nobody knows yet: the driver will settle it, wholly or not at all.
    #[error(
        "the outcome is unknown ({0}); the driver settles it within its period, repeat the change \
         with the same operation id to learn it"
    )]
    Unknown(String),
    /// The system failed before anything was written.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Why the driver, or a command on stuck calls, could not go on.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriveError {
    /// Intents or stuck calls could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A stuck call could not be written or removed. It stays where it was.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// There is no room for another stuck call; its intent stays where it is.
    #[error(
        "{bound} calls are stuck already, no more are kept aside; mend what they complain of, then \
         retry or discard them"
    )]
    Full {
        /// Stuck calls that are kept.
        bound: u64,
    },
    /// The call failed again and stays aside.
    #[error("the call failed again and stays aside: {0}")]
    Call(#[from] CallError),
    /// There is no such stuck call.
    #[error("no call is stuck under this key; list them again")]
    NotStuck,
    /// The system failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}
