//! Notes: what a crash leaves half written is finished by whoever finds the note.
//!
//! ```text
//!   note the delegations ──► change them, each in one commit ──► count ──► remove the note
//! ```
//!
//! Counts are ranked and absolute, so counting a delegation again from what is stored of it is
//! always right, also while somebody else does the same. Removing a note is not: whoever wrote it
//! may be about to change its delegations, and may die before they are counted. So a writer ends
//! its changes within [`WRITING`] of its note, and nobody else removes a note before [`LASTING`].
//!
//! Notes of ten minutes share their partitions: on a cluster, notes that are gone slow down whoever
//! reads the partition they were in, for days.

use std::time::Duration;

use index::{IntentId, Millis};
use store::PageRequest;

use crate::TxHash;
use crate::delegation::Delegation;
use crate::settle::Change;
use crate::staking::{Staking, StakingError};
use crate::tables::{DELEGATIONS, DIRECTORY, Directory, LANES, NOTES, Note};

/// Notes that are read at a time.
const PAGE: usize = 20;
/// Milliseconds of a while, whose notes share partitions.
const WHILE: u64 = 10 * 60 * 1000;
/// Milliseconds after which nobody's clock is so far behind that it writes a note in a while.
const DAY: u64 = 24 * 60 * 60 * 1000;
/// How long after its note a writer may change delegations.
pub(crate) const WRITING: Duration = Duration::from_secs(60);
/// Milliseconds after which a note is no writer's any more; clocks may differ by the rest.
pub(crate) const LASTING: u64 = 180_000;

/// A note that was put.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoteId([u8; 16]);

impl NoteId {
    /// When it was written, Unix milliseconds.
    fn time(self) -> u64 {
        IntentId(self.0).time().0
    }

    /// The partition: the while and one of its lanes.
    fn place(self) -> (u64, u8) {
        (self.time() / WHILE, self.0.last().copied().unwrap_or_default() % LANES)
    }
}

/// What became of notes.
#[derive(Clone, Debug, Default)]
struct Finished {
    counted: u64,
    /// Notes that are still there.
    left: u64,
    /// Why one of them could not be counted.
    failed: Option<StakingError>,
}

impl Staking {
    /// Writes down that these are about to change.
    pub(crate) async fn note(&self, hashes: Vec<TxHash>) -> Result<NoteId, StakingError> {
        let id = NoteId(IntentId::new(Millis(self.inner.clock.now()))?.0);
        let row = NOTES.row(&id.place(), &id.0, &Note { hashes })?;
        self.list(Directory::Notes, [id.place().0], vec![row]).await?;
        Ok(id)
    }

    /// Everything that follows is written. If this fails, the note is found and done again; whether
    /// it is gone.
    pub(crate) async fn forget(&self, id: NoteId) -> bool {
        let swept = match NOTES.sweep(&id.place(), &id.0) {
            Ok(row) => self.inner.store.put(vec![row]).await,
            Err(error) => Err(error.into()),
        };
        if let Err(error) = &swept {
            tracing::warn!("a note that is done is left and will be done again: {error}");
        }
        swept.is_ok()
    }

    /// Counts what was noted at least `age` milliseconds ago, each note once while it is young and
    /// once more before it is removed; how many were counted.
    ///
    /// # Errors
    /// When the store fails; notes that were not counted stay.
    pub async fn finish_notes(&self, age: u64) -> Result<u64, StakingError> {
        self.agree().await?;
        let now = self.inner.clock.now();
        let mut all = Finished::default();
        for past in self.directory(Directory::Notes).await? {
            let is_over = (past + 1) * WHILE + LASTING <= now;
            if !self.finished().knows(&past) {
                let done = self.finish_while(past, now, age).await?;
                all.counted += done.counted;
                all.failed = all.failed.or(done.failed);
                if is_over && done.left == 0 {
                    self.finished().learn([past]);
                }
            } else if (past + 1) * WHILE + DAY <= now {
                let row = DIRECTORY.sweep(&(Directory::Notes as u8), &past)?;
                self.inner.store.put(vec![row]).await?;
                self.finished().forget(&past);
            }
        }
        all.failed.map_or(Ok(all.counted), Err)
    }

    async fn finish_while(&self, past: u64, now: u64, age: u64) -> Result<Finished, StakingError> {
        let mut done = Finished::default();
        for place in (0..LANES).map(|lane| (past, lane)) {
            let mut cursor = None;
            loop {
                let request = PageRequest { cursor, ..PageRequest::first(PAGE) };
                let page = self.inner.store.page(&NOTES, &place, request).await?;
                for (id, note) in page.rows {
                    self.finish(NoteId(id), &note, now, age, &mut done).await;
                }
                cursor = page.next;
                if cursor.is_none() {
                    break;
                }
            }
        }
        Ok(done)
    }

    /// Counts the delegations of a note, unless it is too young, or was counted and may not go yet.
    /// One that cannot be counted does not hold up the others.
    async fn finish(&self, id: NoteId, note: &Note, now: u64, age: u64, done: &mut Finished) {
        let is_over = id.time().saturating_add(LASTING) <= now;
        let is_young = id.time().saturating_add(age) > now;
        if is_young || (self.counted().knows(&id.0) && !is_over) {
            done.left += 1;
            return;
        }
        if let Err(error) = self.count_again(&note.hashes).await {
            tracing::warn!("a note stays: {error}");
            done.left += 1;
            done.failed.get_or_insert(error);
            return;
        }
        done.counted += 1;
        self.counted().learn([id.0]);
        let is_gone = is_over && self.forget(id).await;
        done.left += u64::from(!is_gone);
    }

    /// Counts delegations again. One that can never be counted does not hold up the others.
    async fn count_again(&self, hashes: &[TxHash]) -> Result<(), StakingError> {
        match self.count_together(hashes).await {
            Err(error) if error.is_lasting() && hashes.len() > 1 => {
                let (first, rest) = hashes.split_at(hashes.len() / 2);
                let first = Box::pin(self.count_again(first)).await;
                Box::pin(self.count_again(rest)).await.and(first)
            }
            done => done,
        }
    }

    /// Counts delegations from what is stored of them. They are read as a writer reads: a change
    /// whose outcome nobody knew is decided by that, before its note goes.
    async fn count_together(&self, hashes: &[TxHash]) -> Result<(), StakingError> {
        let keys: Vec<_> = hashes.iter().map(|hash| (hash.0, ())).collect();
        let found = self.inner.store.get_many_versioned(&DELEGATIONS, &keys).await?;
        let changes = hashes.iter().zip(found).filter_map(|(hash, seen)| {
            Some(Change { hash: *hash, before: Delegation::default(), after: seen.value? })
        });
        let changes: Vec<Change> = changes.collect();
        self.wait_for(&changes).await?;
        self.settle(&changes, &self.inner.settings.calculations).await?;
        self.expire_late(&changes).await
    }
}
