//! What every guarded change needs: one shape of commit, attempts that end, records as JSON.

use std::time::Duration;

use bytes::Bytes;
use store::{
    BoundError, Change, Commit, CommitError, Committed, EngineError, KeyPart, OpId, Partition,
    PutError, ReadError, Store, Table, Value, Version,
};

use crate::secret::random;

/// Attempts of one change. With the waits between them they take about two seconds.
pub(crate) const ATTEMPTS: u32 = 48;
/// The longest wait of all.
const LONGEST: Duration = Duration::from_millis(100);

/// The store or the system failed; what was asked for may be asked again.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A limit of the store.
    #[error(transparent)]
    Bound(#[from] BoundError),
    /// A row could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A row could not be put.
    #[error(transparent)]
    Put(#[from] PutError),
    /// A commit failed, or its outcome stayed unknown.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// A change with consequences failed, or its outcome stayed unknown.
    #[error(transparent)]
    Change(#[from] index::ChangeError),
    /// A count could not be read.
    #[error(transparent)]
    Sum(#[from] tally::SumError),
    /// The system failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Others changed the same rows all the time.
    #[error("{table}: others changed the rows during each of {ATTEMPTS} attempts; try again")]
    Contended {
        /// The table.
        table: &'static str,
    },
}

impl StoreError {
    /// Whether the change may have been made, or may still be.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        matches!(
            self,
            Self::Commit(CommitError::Unknown(_)) | Self::Change(index::ChangeError::Unknown(_))
        )
    }
}

/// Lets `?` turn every failure of the store into an operation's own error.
macro_rules! store_failures {
    ($($error:ty),* $(,)?) => {$(
        crate::guarded::store_failures!(@each $error:
            store::BoundError, store::ReadError, store::PutError, store::CommitError,
            store::EngineError, index::ChangeError, tally::SumError);
    )*};
    (@each $error:ty: $($source:ty),*) => {$(
        impl From<$source> for $error {
            fn from(error: $source) -> Self {
                Self::Store(error.into())
            }
        }
    )*};
}
pub(crate) use store_failures;

/// The attempts of one change.
#[derive(Debug)]
pub struct Attempts {
    table: &'static str,
    made: u32,
}

impl Attempts {
    /// Attempts at a change of this table.
    #[must_use]
    pub fn of(table: &'static str) -> Self {
        Self { table, made: 0 }
    }

    /// Waits before the next attempt, at random and longer each time.
    ///
    /// # Errors
    /// When there were enough of them.
    pub async fn again(&mut self) -> Result<(), StoreError> {
        self.made += 1;
        if self.made >= ATTEMPTS {
            return Err(StoreError::Contended { table: self.table });
        }
        let longest = Duration::from_millis(1 << self.made.min(10).saturating_sub(1)).min(LONGEST);
        tokio::time::sleep(jittered(longest)).await;
        Ok(())
    }
}

/// Anything between nothing and `longest`: those that collided must not collide again.
pub(crate) fn jittered(longest: Duration) -> Duration {
    // Without randomness the longest wait is still a wait.
    let Ok(bytes) = random::<4>() else { return longest };
    longest.mul_f64(f64::from(u32::from_be_bytes(bytes)) / f64::from(u32::MAX))
}

/// The commit of one partition.
///
/// # Errors
/// When the partition's key is too long.
pub fn commit_of<P: Partition, S: KeyPart, V: Value>(
    table: &'static Table<P, S, V>,
    partition: &P,
    expected: Version,
    changes: Vec<Change>,
    op: OpId,
    result: Bytes,
) -> Result<Commit, BoundError> {
    let partition = table.partition(partition)?;
    Ok(Commit { table: table.def(), partition, expected, changes, op, result })
}

/// Commits; none when somebody was faster and the caller has to decide anew.
///
/// # Errors
/// On a limit, an outcome that stays unknown, or a failing store.
pub async fn try_commit(store: &Store, commit: Commit) -> Result<Option<Committed>, CommitError> {
    match store.commit(commit).await {
        Ok(done) => Ok(Some(done)),
        Err(CommitError::Conflict { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes a serde type a value of a table, as JSON: a later version adds a field with a default and
/// still reads what this one wrote. A change that is more than a new field takes a new format.
macro_rules! json_value {
    ($type:ty, format $format:literal) => {
        impl store::Value for $type {
            const FORMAT: u8 = $format;
            fn encode(&self, out: &mut Vec<u8>) {
                // The records have neither maps with odd keys nor writers that fail.
                let _ = serde_json::to_writer(out, self);
            }
            fn decode(_format: u8, payload: &[u8]) -> Result<Self, store::DecodeError> {
                serde_json::from_slice(payload).map_err(store::DecodeError::value)
            }
        }
    };
}
pub(crate) use json_value;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn attempts_end_with_the_table_and_the_remedy() {
        let mut attempts = Attempts::of("platform.chains");
        let mut made = 0;
        let error = loop {
            match attempts.again().await {
                Ok(()) => made += 1,
                Err(error) => break error.to_string(),
            }
        };
        assert_eq!(made, ATTEMPTS - 1);
        assert!(error.contains("platform.chains") && error.contains("try again"), "{error}");
    }
}
