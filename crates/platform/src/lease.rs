//! Leases: one process of several does a piece of work, and another takes over when it dies.
//!
//! A lease is a guarded row with its holder and a beat. The holder raises the beat; another process
//! takes over only after it has seen the beat unchanged for 5 seconds on its own monotonic clock.
//! No clock of one machine is compared with that of another. A holder that was merely paused may
//! work beside its successor for a moment, so what it writes must be guarded by a version of its
//! own.

use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use store::Store;
use tokio::time::Instant;

use crate::guarded::{StoreError, commit_of, json_value, try_commit};
use crate::secret::{hex, random};
use crate::tables::LEASES;

/// How often a holder raises its beat.
pub const LEASE_BEAT: Duration = Duration::from_secs(1);
/// How long a beat must stand still before another takes over.
const PATIENCE: Duration = Duration::from_secs(5);

/// Who holds a lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LeaseRow {
    /// Random id of the holder's start; empty when it was given back.
    holder: String,
    /// Raised while the holder lives.
    beat: u64,
}
json_value!(LeaseRow, format 1);

/// A lease as one process sees it.
#[derive(Debug)]
pub struct Lease {
    store: Store,
    name: String,
    me: String,
    /// The beat of another holder, and since when it has not changed.
    seen: Option<(LeaseRow, Instant)>,
}

impl Lease {
    /// The lease `name`, not held yet.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn new(store: Store, name: impl Into<String>) -> Result<Self, StoreError> {
        Ok(Self { store, name: name.into(), me: hex(&random::<16>()?), seen: None })
    }

    /// Raises the beat, or takes the lease if it is free; says whether it is held. Call it every
    /// [`LEASE_BEAT`], also while the work goes on.
    ///
    /// # Errors
    /// When the store fails. Then the lease must be taken for lost.
    pub async fn beat(&mut self) -> Result<bool, StoreError> {
        let found = self.store.get_versioned(&LEASES, &self.name, &()).await?;
        let beat = found.value.as_ref().map_or(0, |row| row.beat);
        if let Some(row) = found.value.filter(|row| row.holder != self.me)
            && !row.holder.is_empty()
            && !self.stood_still(row)
        {
            return Ok(false);
        }
        self.write(found.version, self.me.clone(), beat + 1).await
    }

    /// Gives the lease back, so that nobody has to wait for it.
    ///
    /// # Errors
    /// When the store fails; then the others wait.
    pub async fn release(mut self) -> Result<(), StoreError> {
        let found = self.store.get_versioned(&LEASES, &self.name, &()).await?;
        if let Some(row) = found.value.filter(|row| row.holder == self.me) {
            self.write(found.version, String::new(), row.beat + 1).await?;
        }
        Ok(())
    }

    async fn write(
        &mut self,
        version: store::Version,
        holder: String,
        beat: u64,
    ) -> Result<bool, StoreError> {
        let changes = vec![LEASES.insert(&(), &LeaseRow { holder, beat })];
        let op = index::new_op()?;
        let commit = commit_of(&LEASES, &self.name, version, changes, op, Bytes::new())?;
        let held = try_commit(&self.store, commit).await?.is_some();
        self.seen = None;
        Ok(held)
    }

    /// Whether another holder's beat has stood still for long enough.
    fn stood_still(&mut self, row: LeaseRow) -> bool {
        match &self.seen {
            Some((seen, since)) if *seen == row => since.elapsed() >= PATIENCE,
            _ => {
                self.seen = Some((row, Instant::now()));
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use store::ModelEngine;

    use super::*;

    fn pair() -> (Lease, Lease) {
        let store = Store::new(Arc::new(ModelEngine::default()), 0);
        let lease = || Lease::new(store.clone(), "work").expect("random");
        (lease(), lease())
    }

    #[tokio::test(start_paused = true)]
    async fn another_takes_over_only_when_the_beat_stands_still() {
        let (mut one, mut other) = pair();
        assert!(one.beat().await.expect("beats"));
        for _ in 0..20 {
            assert!(!other.beat().await.expect("looks"), "the holder lives");
            assert!(one.beat().await.expect("beats"));
            tokio::time::advance(LEASE_BEAT).await;
        }
        let mut waited = 0;
        while !other.beat().await.expect("looks") {
            tokio::time::advance(LEASE_BEAT).await;
            waited += 1;
        }
        assert!((5..=6).contains(&waited), "{waited} seconds");
        assert!(!one.beat().await.expect("looks"), "it was taken for dead and knows it now");
    }

    #[tokio::test]
    async fn a_lease_that_is_given_back_is_free_at_once() {
        let (mut one, mut other) = pair();
        assert!(one.beat().await.expect("beats"));
        assert!(!other.beat().await.expect("looks"));
        one.release().await.expect("gives back");
        assert!(other.beat().await.expect("takes"));
    }
}
