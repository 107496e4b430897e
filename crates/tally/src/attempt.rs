//! Commits that are repeated until their outcome is known, and pauses between attempts.

use std::time::Duration;

use store::{
    Change, Commit, CommitError, EngineError, OpId, PartitionKey, Store, TableDef, Version,
};

/// Attempts before a caller is told that others are always faster, or that nobody knows.
const ATTEMPTS: u32 = 50;
/// The longest pause is 2 to this many milliseconds.
const LONGEST: u32 = 5;

/// Counts attempts and sleeps longer before each.
#[derive(Debug, Default)]
pub(crate) struct Attempts(u32);

impl Attempts {
    /// Waits like [`Attempts::again`], unless the attempt was a success.
    pub(crate) async fn unless(&mut self, done: bool) -> Result<(), u32> {
        if done { Ok(()) } else { self.again().await }
    }

    /// Waits before the next attempt; the number of attempts made when there is to be none.
    pub(crate) async fn again(&mut self) -> Result<(), u32> {
        self.0 += 1;
        if self.0 >= ATTEMPTS {
            return Err(self.0);
        }
        let most = 1000u64 << self.0.min(LONGEST);
        // Without randomness rivals still differ by the time their commits take.
        let random = random().map_or(0, u64::from_be_bytes);
        tokio::time::sleep(Duration::from_micros(most / 4 + random % most)).await;
        Ok(())
    }
}

/// Commits under a new operation id. True when it is applied, false when the partition was at
/// another version; an error when nobody could tell, or nothing was written.
pub(crate) async fn commit(
    store: &Store,
    table: &'static TableDef,
    partition: PartitionKey,
    expected: Version,
    changes: Vec<Change>,
) -> Result<bool, CommitError> {
    let op = OpId(random()?);
    let commit = Commit { table, partition, expected, changes, op, result: Default::default() };
    let mut attempts = Attempts::default();
    let mut unknown = false;
    loop {
        let error = match store.commit(commit.clone()).await {
            Ok(_) => return Ok(true),
            // The operation is not known and the version has passed it: it was never applied.
            Err(CommitError::Conflict { .. }) => return Ok(false),
            Err(CommitError::Unknown(error)) => error,
            // This repetition wrote nothing; what came before it may have.
            Err(CommitError::Engine(error)) if unknown => error,
            Err(known) => return Err(known),
        };
        unknown = true;
        if attempts.again().await.is_err() {
            return Err(CommitError::Unknown(error));
        }
    }
}

fn random<const N: usize>() -> Result<[u8; N], EngineError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| {
        EngineError::new(format!("no randomness: {error}"), "see that /dev/urandom can be read")
    })?;
    Ok(bytes)
}
