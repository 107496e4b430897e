//! Tells every switch once: into the journal, and as events.
//!
//! ```text
//!   timeline's journal ── from `told` on ──► scan.journal ──► events ──► told + n
//! ```
//!
//! Whoever dies in between tells again: rows of the journal are the same rows, and an event is
//! appended under an operation id that the switch itself gives, so the stream takes it once.

use bytes::Bytes;
use platform::chains::ChainName;
use platform::events::{AppendError, Events, NewEvent};
use serde_json::{Value, json};
use sha3::{Digest as _, Sha3_256};
use store::{Commit, CommitError, EngineError, OpId, PutError, ReadError, Sequenced, Version};
use timeline::{FollowError, Height, Lane, Switch, Timeline, ViewError};

use crate::journal::{self, JournalError, extent};
use crate::tables::{CONFIRMED, SPANS, TOLD, Told};

use super::sweeper::spans;

/// Epochs below the confirmed one whose spans are kept: a deeper switch leaves rows behind that
/// nobody sees and nobody sweeps.
const BURIED: u64 = 1000;
/// Spans that are removed at a time.
const SPANS_AT_ONCE: u64 = 200;

/// Why a switch was not told. It is told again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TellError {
    /// The timeline's journal could not be read.
    #[error(transparent)]
    Follow(#[from] FollowError),
    /// The chain could not be read.
    #[error(transparent)]
    View(#[from] ViewError),
    /// What was popped could not be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The journal could not be written.
    #[error(transparent)]
    Put(#[from] PutError),
    /// The event was not taken.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// How far it was told could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// There are no random numbers.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// How far it was told could not be written.
    #[error(transparent)]
    Commit(#[from] CommitError),
}

/// Tells what happens on one chain.
#[derive(Debug)]
pub(crate) struct Teller {
    timeline: Timeline,
    events: Events,
    chain: ChainName,
    /// How far it is, and the version of the row that says so.
    known: Option<(Told, Version)>,
}

impl Teller {
    pub(crate) fn new(timeline: Timeline, events: Events, chain: ChainName) -> Self {
        Self { timeline, events, chain, known: None }
    }

    /// Tells some switches and removes spans that no sweep will need; whether there was anything.
    pub(crate) async fn tell(&mut self) -> Result<bool, TellError> {
        let (told, version) = match self.known {
            Some(known) => known,
            None => self.read().await?,
        };
        // Whatever goes wrong, the row is read again before it is written again.
        self.known = None;
        let mut next = told;
        for (number, switch) in self.timeline.follow(told.switch).await? {
            let rows = journal::rows(&self.timeline, number, &switch).await?;
            self.timeline.store().put(rows).await?;
            let events = self.events_of(number, &switch);
            if !events.is_empty() {
                self.events.append(events, self.op(number)).await?;
            }
            next.switch = number + 1;
        }
        next.spans = self.drop_spans(told.spans).await?;
        let version = if next == told { version } else { self.write(next, version).await? };
        self.known = Some((next, version));
        Ok(next != told)
    }

    /// Removes the spans of confirmed epochs from `from` on; where to go on.
    async fn drop_spans(&self, from: u64) -> Result<u64, TellError> {
        let view = self.timeline.view().await?;
        let confirmed = view.head(CONFIRMED).map_or(0, |head| head.height.0);
        let to = confirmed.saturating_sub(BURIED).min(from + SPANS_AT_ONCE);
        if to <= from {
            return Ok(from);
        }
        let (low, high) = (Height(from), Height(to - 1));
        let units = self.timeline.units_between(&view, Lane::MINED, low, high).await?;
        let mut rows = Vec::new();
        for (height, unit, _) in units {
            for (part, _) in spans(&self.timeline, height.0, unit).await? {
                let partition = Sequenced(self.timeline.chain().clone(), height.0);
                let row = SPANS.sweep(&partition, &(height.0, unit, part));
                rows.push(row.map_err(PutError::from)?);
            }
        }
        self.timeline.store().put(rows).await?;
        Ok(to)
    }

    /// The operation under which a switch is told, whoever tells it.
    fn op(&self, number: u64) -> OpId {
        let mut hash = Sha3_256::new();
        hash.update(b"scan.told");
        hash.update(self.chain.as_str().as_bytes());
        hash.update(number.to_be_bytes());
        let mut op = [0; 16];
        op.copy_from_slice(&hash.finalize()[..16]);
        OpId(op)
    }

    fn events_of(&self, number: u64, switch: &Switch) -> Vec<NewEvent> {
        let told = [
            ("scan.epochs.popped", extent(&switch.popped, Lane::MINED)),
            ("scan.epochs.pushed", extent(&switch.pushed, Lane::MINED)),
            ("scan.epochs.executed", extent(&switch.pushed, Lane::EXECUTED)),
        ];
        let event = |(kind, extent): (&str, Option<(u64, u64)>)| {
            let (from, to) = extent?;
            let data: Value = json!({ "switch": number, "from": from, "to": to });
            Some(NewEvent { kind: kind.to_owned(), chain: Some(self.chain.clone()), data })
        };
        told.into_iter().filter_map(event).collect()
    }

    async fn read(&self) -> Result<(Told, Version), ReadError> {
        let store = self.timeline.store();
        let found = store.get_versioned(&TOLD, self.timeline.chain(), &()).await?;
        Ok((found.value.unwrap_or_default(), found.version))
    }

    async fn write(&self, next: Told, expected: Version) -> Result<Version, TellError> {
        let op = index::new_op()?;
        let partition = TOLD.partition(self.timeline.chain()).map_err(PutError::from)?;
        let commit = Commit {
            table: TOLD.def(),
            partition,
            expected,
            changes: vec![TOLD.insert(&(), &next)],
            op,
            result: Bytes::new(),
        };
        Ok(self.timeline.store().commit(commit).await?.version)
    }
}
