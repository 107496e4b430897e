//! More shards: seal every shard of the newest generation, then open the next.
//!
//! Each step is a commit that may be repeated by anyone, and the row says what is meant. So whoever
//! meets a raise that is half done finishes it; nobody waits for the one who began.

use std::sync::Arc;

use store::{CommitError, DecodeError, ReadError, Version};

use crate::attempt::{Attempts, commit};
use crate::gather::gather;
use crate::generations::Generations;
use crate::plan::Why;
use crate::tables::{GENERATIONS, Record, RowName, SHARDS, Shard, Sum};
use crate::tallies::Inner;
use crate::{RaiseError, SetError, Tallies, Tally, limits};

/// Shards that parts are spread over by themselves. A part that fills its shard again and again
/// would else double them to the limit, and stand in one of them.
const CROWDED: u16 = 256;

impl Tallies {
    /// Raises the number of shards to `shards` and returns how many there are then. Entries already
    /// counted stay where they are; new ones begin in the new shards. As many as there are is no
    /// change.
    ///
    /// # Errors
    /// On fewer shards than there are, a limit, or a failing store.
    pub async fn raise(&self, tally: &Tally, shards: u16) -> Result<u16, RaiseError> {
        let inner = &self.inner;
        let _turn = inner.raising.lock().await;
        inner.generations(tally).await?;
        let mut attempts = Attempts::default();
        loop {
            let (version, now) = inner.load(tally).await?;
            let now = now.ok_or_else(vanished)?;
            let done = if now.raising().is_some() {
                inner.finish(tally, version, &now).await?
            } else if let Some(begun) = now.begin(shards)? {
                inner.write(tally, version, &begun).await?
            } else {
                return Ok(inner.remember(tally, now).newest().1);
            };
            attempts.unless(done).await.map_err(|attempts| RaiseError::Contended { attempts })?;
        }
    }

    /// The number of shards of each generation, oldest first; only the last one takes new entries.
    /// Empty when the tally was never set.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn shards(&self, tally: &Tally) -> Result<Vec<u16>, ReadError> {
        let (_, row) = self.inner.load(tally).await?;
        Ok(row.map(|row| row.all().map(|(_, shards)| shards).collect()).unwrap_or_default())
    }
}

impl Inner {
    /// The generations of a tally as they were seen last; a new tally gets its first one.
    pub(crate) async fn generations(&self, tally: &Tally) -> Result<Arc<Generations>, RaiseError> {
        if let Some(known) = self.remembered(tally) {
            return Ok(known);
        }
        let mut attempts = Attempts::default();
        loop {
            let (version, row) = self.load(tally).await?;
            if let Some(row) = row {
                return Ok(self.remember(tally, row));
            }
            let first = Generations::first(self.settings.shards);
            let done = self.write(tally, version, &first).await?;
            attempts.unless(done).await.map_err(|attempts| RaiseError::Contended { attempts })?;
        }
    }

    /// Sees to it that a generation newer than `generation` is open: finishes a raise that is on
    /// its way, and begins one when shards are full.
    pub(crate) async fn newer(
        self: &Arc<Self>,
        tally: &Tally,
        generation: u16,
        why: Why,
    ) -> Result<(), SetError> {
        let _turn = self.raising.lock().await;
        let mut attempts = Attempts::default();
        loop {
            let (version, now) = self.load(tally).await?;
            let now = now.ok_or_else(vanished)?;
            let (newest, shards) = now.newest();
            if newest > generation {
                self.remember(tally, now);
                return Ok(());
            }
            let done = if now.raising().is_some() {
                self.finish(tally, version, &now).await?
            } else if why == Why::Sealed {
                // Sealing begins only after the row says so.
                return Err(damaged("a shard is sealed, but its tally is not being raised").into());
            } else if why == Why::Crowded && shards >= CROWDED {
                tracing::info!(%tally, shards, "a shard is full: beginning as many again");
                self.write(tally, version, &now.begin_again()?).await?
            } else if let Some(begun) = now.begin(doubled(shards))? {
                tracing::info!(%tally, shards, "a shard is full: doubling the number of shards");
                self.write(tally, version, &begun).await?
            } else {
                false
            };
            attempts.unless(done).await.map_err(|attempts| SetError::Contended { attempts })?;
        }
    }

    /// The row of a tally and its version.
    pub(crate) async fn load(
        &self,
        tally: &Tally,
    ) -> Result<(Version, Option<Generations>), ReadError> {
        let found = self.store.get_versioned(&GENERATIONS, tally, &()).await?;
        match found.value.as_ref().and_then(Generations::damage) {
            Some(what) => Err(damaged(what)),
            None => Ok((found.version, found.value)),
        }
    }

    /// Seals the newest generation and opens the next. False when somebody else did so first.
    async fn finish(
        self: &Arc<Self>,
        tally: &Tally,
        version: Version,
        now: &Generations,
    ) -> Result<bool, RaiseError> {
        let Some(next) = now.finish() else { return Ok(true) };
        let (generation, shards) = now.newest();
        let work = (0..shards).map(|number| {
            let (inner, tally) = (self.clone(), tally.clone());
            async move { inner.seal(&Shard { tally, generation, number }).await }
        });
        let sealed = gather(self.settings.in_flight, work).await.map_err(RaiseError::Unknown)?;
        // Not one may be missing: an insert that slips past an unsealed shard counts twice.
        sealed.into_iter().collect::<Result<(), _>>()?;
        self.write(tally, version, &next).await
    }

    /// Ends the time in which entries are inserted into a shard.
    async fn seal(&self, shard: &Shard) -> Result<(), RaiseError> {
        let _line = self.line(shard).await;
        let mut attempts = Attempts::default();
        loop {
            let found = self.store.get_versioned(&SHARDS, shard, &RowName::Sum).await?;
            let sum = Record::sum(found.value).map_err(ReadError::from)?;
            if sum.sealed {
                return Ok(());
            }
            let sealed = Record::Sum(Sum { sealed: true, ..sum });
            let changes = vec![SHARDS.insert(&RowName::Sum, &sealed)];
            let partition = SHARDS.partition(shard).map_err(ReadError::from)?;
            let done = commit(&self.store, SHARDS.def(), partition, found.version, changes).await;
            let done = done.map_err(failed)?;
            attempts.unless(done).await.map_err(|attempts| RaiseError::Contended { attempts })?;
        }
    }

    /// Writes the row of a tally. False when somebody else changed it first.
    async fn write(
        &self,
        tally: &Tally,
        expected: Version,
        row: &Generations,
    ) -> Result<bool, RaiseError> {
        let changes = vec![GENERATIONS.insert(&(), row)];
        let partition = GENERATIONS.partition(tally).map_err(ReadError::from)?;
        let done = commit(&self.store, GENERATIONS.def(), partition, expected, changes).await;
        done.map_err(failed)
    }
}

fn failed(error: CommitError) -> RaiseError {
    match error {
        CommitError::Unknown(error) => RaiseError::Unknown(error),
        error => RaiseError::Commit(error),
    }
}

fn vanished() -> ReadError {
    damaged("the generations of a tally are gone")
}

fn damaged(what: &str) -> ReadError {
    DecodeError::value(what).into()
}

/// Twice as many shards. At the limit more than are allowed, so that the refusal says so.
fn doubled(shards: u16) -> u16 {
    if shards < limits::SHARDS { shards.saturating_mul(2).min(limits::SHARDS) } else { u16::MAX }
}
