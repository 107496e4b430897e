//! What works in the background: timelocks that pass, notes that a crash left, calculations that
//! were added, steps that wait in vain.

use std::time::Duration;

use tally::{RaiseError, Tally};

use crate::derive::{by_provider, by_staker, by_stretch, overall, providers, stakers};
use crate::guarded;
use crate::staking::{Staking, StakingError};
use crate::tables::{Recorded, SETTINGS};

/// How long a note is left to whoever wrote it, milliseconds.
const NOTE_AGE: u64 = 30_000;
/// How often notes and waiting steps are looked at.
const PERIOD: Duration = Duration::from_secs(15);
/// How often the height is looked at, even if nobody says that it rose: another process may know.
const HEIGHT_PERIOD: Duration = Duration::from_secs(2);

impl Staking {
    /// Raises the shards of what everything counts in to the number of the settings. To be called
    /// before anything else. A tally that fills up gets more by itself.
    ///
    /// # Errors
    /// When more were set before: shards are never taken away.
    pub async fn raise_shards(&self) -> Result<(), StakingError> {
        let shards = self.inner.settings.shards;
        let is_news = self.record_shards(shards).await?;
        // Also when it is not: whoever recorded it may have died before all had as many.
        let parts = [by_provider()?, by_staker()?, by_stretch()?];
        for tally in parts.into_iter().chain([overall()?, stakers()?, providers()?]) {
            self.raise(&tally, shards).await?;
        }
        if is_news {
            tracing::info!(shards, "the statistics have as many shards now");
        }
        Ok(())
    }

    /// A tally that filled up has raised its own shards, perhaps beyond the setting.
    async fn raise(&self, tally: &Tally, shards: u16) -> Result<(), StakingError> {
        let tallies = &self.inner.tallies;
        if tallies.shards(tally).await?.last().is_none_or(|now| *now < shards) {
            tallies.raise(tally, shards).await?;
        }
        Ok(())
    }

    /// Keeps the number of shards; whether it is news.
    async fn record_shards(&self, shards: u16) -> Result<bool, StakingError> {
        guarded::change(&self.inner.store, &SETTINGS, (&(), &()), |found| {
            let before: Recorded = found.unwrap_or_default();
            if before.shards > shards {
                return Err(RaiseError::Lower { asked: shards, current: before.shards }.into());
            }
            let news = before.shards < shards;
            Ok((news.then_some(Recorded { shards, ..before }), news))
        })
        .await
    }

    /// Works until it is dropped.
    pub async fn run(self) {
        tokio::join!(self.keep_tidy(), self.follow_height());
    }

    async fn follow_height(&self) {
        loop {
            match self.expire().await {
                Ok(0) => {}
                Ok(expired) => tracing::info!(expired, "timelocks have passed"),
                Err(error) => tracing::warn!("timelocks are looked at again: {error}"),
            }
            let risen = self.inner.risen.notified();
            let _ = tokio::time::timeout(HEIGHT_PERIOD, risen).await;
        }
    }

    async fn keep_tidy(&self) {
        // What a process left that died is taken over at once: counting twice is harmless.
        let mut age = 0;
        loop {
            match self.finish_notes(age).await {
                Ok(0) => age = NOTE_AGE,
                Ok(notes) => tracing::info!(notes, "finished what a crash had left"),
                Err(error) => tracing::warn!("notes are looked at again: {error}"),
            }
            if let Err(error) = self.widen().await {
                tracing::warn!("what is counted is looked at again: {error}");
            }
            if let Err(error) = self.backfill().await {
                tracing::warn!("calculations are back-filled later: {error}");
            }
            match self.give_up().await {
                Ok(0) => {}
                Ok(steps) => tracing::warn!(steps, "gave up steps that waited in vain"),
                Err(error) => tracing::warn!("waiting steps are looked at again: {error}"),
            }
            tokio::time::sleep(PERIOD).await;
        }
    }
}
