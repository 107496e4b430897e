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

use std::time::Duration;

use index::{IntentId, Millis};
use store::PageRequest;

use crate::TxHash;
use crate::delegation::Delegation;
use crate::settle::Change;
use crate::staking::{Staking, StakingError};
use crate::tables::{DELEGATIONS, NOTE_LANES, NOTES, Note};

/// Notes that are read at a time.
const PAGE: usize = 20;
/// How long after its note a writer may change delegations.
pub(crate) const WRITING: Duration = Duration::from_secs(60);
/// Milliseconds after which a note is no writer's any more; clocks may differ by the rest.
const LASTING: u64 = 180_000;

/// A note that was put.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoteId([u8; 16]);

impl NoteId {
    fn lane(self) -> u8 {
        self.0.last().copied().unwrap_or_default() % NOTE_LANES
    }
}

impl Staking {
    /// Writes down that these are about to change.
    pub(crate) async fn note(&self, hashes: Vec<TxHash>) -> Result<NoteId, StakingError> {
        let id = NoteId(IntentId::new(Millis(self.inner.clock.now()))?.0);
        let row = NOTES.row(&id.lane(), &id.0, &Note { hashes })?;
        self.inner.store.put(vec![row]).await?;
        Ok(id)
    }

    /// Everything that follows is written. If this fails, the note is found and done again.
    pub(crate) async fn forget(&self, id: NoteId) {
        let swept = match NOTES.sweep(&id.lane(), &id.0) {
            Ok(row) => self.inner.store.put(vec![row]).await,
            Err(error) => Err(error.into()),
        };
        if let Err(error) = swept {
            tracing::warn!("a note that is done is left and will be done again: {error}");
        }
    }

    /// Counts what was noted at least `age` milliseconds ago, each note once while it is young and
    /// once more before it is removed; how many were counted.
    ///
    /// # Errors
    /// When the store fails; the notes stay.
    pub async fn finish_notes(&self, age: u64) -> Result<u64, StakingError> {
        let now = self.inner.clock.now();
        let mut counted = 0;
        for lane in 0..NOTE_LANES {
            let mut cursor = None;
            loop {
                let request = PageRequest { cursor, ..PageRequest::first(PAGE) };
                let page = self.inner.store.page(&NOTES, &lane, request).await?;
                for (id, note) in page.rows {
                    counted += u64::from(self.finish(NoteId(id), &note, now, age).await?);
                }
                cursor = page.next;
                if cursor.is_none() {
                    break;
                }
            }
        }
        Ok(counted)
    }

    /// Counts the delegations of a note, unless it is too young, or was counted and may not go yet.
    async fn finish(
        &self,
        id: NoteId,
        note: &Note,
        now: u64,
        age: u64,
    ) -> Result<bool, StakingError> {
        let written = IntentId(id.0).time().0;
        let is_over = written.saturating_add(LASTING) <= now;
        if written.saturating_add(age) > now || (self.counted().knows(&id.0) && !is_over) {
            return Ok(false);
        }
        self.count_again(&note.hashes).await?;
        self.counted().learn([id.0]);
        if is_over {
            self.forget(id).await;
        }
        Ok(true)
    }

    /// Counts delegations from what is stored of them.
    pub(crate) async fn count_again(&self, hashes: &[TxHash]) -> Result<(), StakingError> {
        let keys: Vec<_> = hashes.iter().map(|hash| (hash.0, ())).collect();
        let found = self.inner.store.get_many(&DELEGATIONS, &keys).await?;
        let changes = hashes.iter().zip(found).filter_map(|(hash, after)| {
            Some(Change { hash: *hash, before: Delegation::default(), after: after? })
        });
        self.settle(&changes.collect::<Vec<_>>(), &self.inner.settings.calculations).await
    }
}
