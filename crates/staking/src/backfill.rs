//! A calculation that was added later counts the delegations that were stored before it.
//!
//! The tally of everything knows every delegation, so it is walked, page by page, and the place is
//! kept: whoever dies in between goes on from there. What is staked meanwhile is counted by
//! whoever takes it.

use bytes::Bytes;
use index::new_op;
use platform::{commit_of, try_commit};
use store::Version;

use crate::TxHash;
use crate::delegation::Delegation;
use crate::derive::{Calculation, overall};
use crate::settle::Change;
use crate::staking::{Staking, StakingError};
use crate::tables::{BACKFILLS, Backfill, DELEGATIONS};

/// Delegations of one step.
const PAGE: usize = 500;

impl Staking {
    /// Counts what was stored before a calculation was known; how many delegations.
    ///
    /// # Errors
    /// When the store fails; what was counted stays so, and the next call goes on from there.
    pub async fn backfill(&self) -> Result<u64, StakingError> {
        let mut counted = 0;
        for calculation in self.inner.settings.calculations.clone() {
            while let Some(page) = self.backfill_page(calculation).await? {
                counted += page;
            }
        }
        Ok(counted)
    }

    /// How far a calculation is: delegations counted so far, and whether that is all.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn backfilled(&self, calculation: Calculation) -> Result<(u64, bool), StakingError> {
        let row = self.inner.store.get(&BACKFILLS, &(), &calculation.word().to_owned()).await?;
        Ok(row.map_or((0, false), |row| (row.counted, row.done)))
    }

    /// Counts the next page; none when there is nothing left.
    async fn backfill_page(&self, calculation: Calculation) -> Result<Option<u64>, StakingError> {
        let name = calculation.word().to_owned();
        let seen = self.inner.store.get_versioned(&BACKFILLS, &(), &name).await?;
        let before = seen.value.unwrap_or_default();
        if before.done || before.from > self.inner.clock.now() {
            return Ok(None);
        }
        let page = self.inner.tallies.entries(&overall()?, before.position.clone(), PAGE).await?;
        let hashes = page.entries.iter().filter_map(|(key, _)| key.as_slice().try_into().ok());
        let keys: Vec<([u8; 32], ())> = hashes.map(|hash| (hash, ())).collect();
        let counted = keys.len() as u64;
        if !keys.is_empty() {
            let found = self.inner.store.get_many(&DELEGATIONS, &keys).await?;
            let changes = keys.iter().zip(found).filter_map(|((hash, ()), after)| {
                let before = Delegation::default();
                Some(Change { hash: TxHash(*hash), before, after: after? })
            });
            let changes: Vec<Change> = changes.collect();
            self.settle(&changes, &[calculation]).await?;
            self.expire_late(&changes).await?;
        }
        let after = Backfill {
            done: page.next.is_none(),
            position: page.next,
            counted: before.counted + counted,
            from: before.from,
        };
        if before.counted > 0 || after.counted > 0 {
            tracing::info!(calculation = name, counted = after.counted, "back-filled");
        }
        self.save(&name, seen.version, &after).await?;
        Ok(Some(counted))
    }

    /// Keeps the place. When another process was faster, its place is as good.
    async fn save(
        &self,
        name: &String,
        version: Version,
        backfill: &Backfill,
    ) -> Result<(), StakingError> {
        let changes = vec![BACKFILLS.insert(name, backfill)];
        let commit = commit_of(&BACKFILLS, &(), version, changes, new_op()?, Bytes::new())?;
        try_commit(&self.inner.store, commit).await?;
        Ok(())
    }
}
