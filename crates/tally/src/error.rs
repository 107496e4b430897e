//! One error enum per operation. Each message says what to do next.

use store::{CommitError, EngineError, ReadError};

/// Something is longer or more than it may be. Nothing was read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} is {size}, it must be {least} to {most}; see tally::limits")]
pub struct LimitError {
    /// What was measured.
    pub what: &'static str,
    /// Its size.
    pub size: usize,
    /// The least it may be.
    pub least: usize,
    /// The most it may be.
    pub most: usize,
}

impl LimitError {
    pub(crate) fn check(
        what: &'static str,
        size: usize,
        least: usize,
        most: usize,
    ) -> Result<(), Self> {
        if (least..=most).contains(&size) { Ok(()) } else { Err(Self { what, size, least, most }) }
    }
}

/// Why a set is not known to count. Setting again under the same rank is always right, unless the
/// error says otherwise.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetError {
    /// A limit.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// The entry was set under this rank before, with other values. The first ones count.
    #[error(
        "{tally}: entry {entry} was set under rank {rank} with other values, which count; \
         whoever gives ranks must give a new one with new values"
    )]
    Differs {
        /// The tally.
        tally: String,
        /// The entry.
        entry: String,
        /// The rank.
        rank: u64,
    },
    /// The stored rank is the highest there is, so there is no next one.
    #[error("{tally}: entry {entry} stands at the last rank; it can never change again")]
    LastRank {
        /// The tally.
        tally: String,
        /// The entry.
        entry: String,
    },
    /// A sum would leave the range of 128 bits.
    #[error("{tally}: column {column} of a sum would overflow; count in larger units")]
    Overflow {
        /// The tally.
        tally: String,
        /// The column.
        column: usize,
    },
    /// A shard is full and K could not be raised by itself.
    #[error("a shard is full, and its tally could not be given more: {0}")]
    Raise(RaiseError),
    /// Others changed the same shard all the time.
    #[error(
        "the shard changed under each of {attempts} attempts; set again, \
         and raise the number of shards if this is frequent"
    )]
    Contended {
        /// Attempts made.
        attempts: u32,
    },
    /// Applied or not, nobody could tell. A ranked set is simply repeated; before `set_next` is
    /// repeated, read the entry.
    #[error("the outcome is unknown ({0}); set again under the same rank, or read the entry")]
    Unknown(EngineError),
    /// The store could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The store refused or failed the commit.
    #[error(transparent)]
    Commit(CommitError),
}

impl From<RaiseError> for SetError {
    fn from(error: RaiseError) -> Self {
        match error {
            RaiseError::Contended { attempts } => Self::Contended { attempts },
            RaiseError::Unknown(error) => Self::Unknown(error),
            RaiseError::Read(error) => Self::Read(error),
            RaiseError::Commit(error) => Self::Commit(error),
            limit => Self::Raise(limit),
        }
    }
}

/// Why the number of shards was not raised. What was begun is finished by whoever comes next.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RaiseError {
    /// Fewer shards than there are.
    #[error(
        "{asked} shards are fewer than the {current} there are; entries already counted stay \
         where they are, so fewer shards would make no read cheaper: keep {current}"
    )]
    Lower {
        /// Shards asked for.
        asked: u16,
        /// Shards there are.
        current: u16,
    },
    /// More shards than a generation may have.
    #[error("{asked} shards are more than {limit}; count in several tallies and add their sums")]
    TooMany {
        /// Shards asked for.
        asked: u16,
        /// The limit.
        limit: u16,
    },
    /// More generations than a tally may have.
    #[error("the tally was raised {limit} times; count on in a new tally and add its sums")]
    Generations {
        /// The limit.
        limit: usize,
    },
    /// Others changed the same rows all the time.
    #[error("rows changed under each of {attempts} attempts; raise again")]
    Contended {
        /// Attempts made.
        attempts: u32,
    },
    /// Applied or not, nobody could tell.
    #[error("the outcome is unknown ({0}); raise again, what is done is not done twice")]
    Unknown(EngineError),
    /// The store could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The store refused or failed a commit.
    #[error(transparent)]
    Commit(CommitError),
}

/// Why sums could not be read or counted anew.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SumError {
    /// The shards together leave the range of 128 bits.
    #[error("{tally}: column {column} overflows when its shards are added; count in larger units")]
    Overflow {
        /// The tally.
        tally: String,
        /// The column.
        column: usize,
    },
    /// A shard changed whenever it was counted anew.
    #[error(
        "{tally}: a shard changed under each of {attempts} recounts; \
         recount when fewer events arrive"
    )]
    Busy {
        /// The tally.
        tally: String,
        /// Attempts made.
        attempts: u32,
    },
    /// The store could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}
