//! Appending: ids, the events and their move to the archive in one commit.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use store::{
    Change, Committed, EngineError, OpId, PageRequest, Read, Sequenced, Store, Value as _, Version,
};
use tokio::sync::{Mutex, Notify, broadcast};

use crate::clock::Clock;
use crate::guarded::{Attempts, StoreError, commit_of, json_value, try_commit};
use crate::tables::{EVENT_ARCHIVE, EVENTS};

use super::event::check_kind;
use super::{AppendError, Event, EventError, NewEvent, StoredEvent};

/// Events of one append.
pub const EVENTS_PER_APPEND: usize = 256;
/// Bytes of all events of one append: with head and keys they fit one commit.
const APPEND_BYTES: usize = 384 * 1024;
/// Bytes of one event.
pub(crate) const EVENT_BYTES: usize = 16 * 1024;
/// Events beside the head at which an append moves the oldest to the archive.
pub(crate) const ARCHIVE_AT: u64 = 1024;
/// Events that are moved with one append.
const MOVED: usize = 256;
/// Ids of one partition of the archive.
pub(crate) const ARCHIVE_BUCKET: u64 = 4096;
/// The slot of the head: ids begin with 1.
pub(crate) const HEAD: u64 = 0;

/// Where the stream stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    /// The id the next event gets.
    pub(crate) next: u64,
    /// Events below are in the archive and no longer beside the head.
    pub(crate) archived: u64,
    /// Events below are gone for readers.
    pub(crate) first: u64,
    /// Events below are swept.
    pub(crate) swept: u64,
}

impl Default for Head {
    fn default() -> Self {
        Self { next: 1, archived: 1, first: 1, swept: 1 }
    }
}

/// The rows of the head's partition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum EventRow {
    /// Where the stream stands.
    Head(Head),
    /// An event.
    Event(StoredEvent),
}
json_value!(EventRow, format 1);

/// How an event stream is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventsSettings {
    /// Whole buckets of 4096 archived events that are kept; older ones go.
    pub buckets: u64,
}

impl Default for EventsSettings {
    fn default() -> Self {
        Self { buckets: 256 }
    }
}

/// The event stream of a store. Cheap to clone; clones share one feed.
#[derive(Clone, Debug)]
pub struct Events {
    pub(super) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) store: Store,
    clock: Clock,
    settings: EventsSettings,
    /// Writers of this process append one after the other; they would only meet in the commit.
    line: Mutex<()>,
    /// Wakes the feed of this process.
    pub(super) appended: Notify,
    pub(super) feed: broadcast::Sender<Arc<Event>>,
    /// The newest event that went into the feed.
    pub(super) fed: AtomicU64,
}

/// Events that are in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Appended {
    /// The first id.
    pub first: u64,
    /// The last id.
    pub last: u64,
    /// Whether the same operation had appended them before.
    #[serde(skip)]
    pub repeated: bool,
}

impl Events {
    /// The stream in `store`.
    #[must_use]
    pub fn new(store: Store, clock: Clock, settings: EventsSettings) -> Self {
        let (feed, _) = broadcast::channel(super::feed::FEED_EVENTS);
        let inner = Inner {
            store,
            clock,
            settings,
            line: Mutex::default(),
            appended: Notify::new(),
            feed,
            fed: AtomicU64::new(0),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Appends events: all of them, one after the other, and under `op` once.
    ///
    /// # Errors
    /// When there are too many or one is wrong; or when the store fails, and then the append may be
    /// repeated under the same operation id.
    pub async fn append(&self, new: Vec<NewEvent>, op: OpId) -> Result<Appended, AppendError> {
        let events = prepare(new, self.inner.clock.now())?;
        let _line = self.inner.line.lock().await;
        let mut attempts = Attempts::of(EVENTS.def().name());
        loop {
            let (version, head) = self.head(Read::Serial).await?;
            let moved = self.copy_oldest(&head).await?;
            let (changes, told) = changes(&head, &events, moved, &self.inner.settings);
            let result = serde_json::to_vec(&told).unwrap_or_default();
            let commit = commit_of(&EVENTS, &(), version, changes, op, Bytes::from(result))?;
            if let Some(done) = try_commit(&self.inner.store, commit).await? {
                self.inner.appended.notify_waiters();
                return Ok(result_of(&done)?);
            }
            attempts.again().await?;
        }
    }

    /// Where the stream stands, and at which version.
    pub(super) async fn head(&self, read: Read) -> Result<(Version, Head), StoreError> {
        let request =
            PageRequest { to: std::ops::Bound::Included(HEAD), read, ..PageRequest::first(1) };
        let page = self.inner.store.page(&EVENTS, &(), request).await?;
        let head = match page.rows.into_iter().next() {
            Some((HEAD, EventRow::Head(head))) => head,
            _ => Head::default(),
        };
        Ok((page.version, head))
    }

    /// Copies the oldest events into the archive, if there are enough, and says up to which id.
    ///
    /// Whoever is faster copies the same rows under the same keys, so nobody waits for anybody.
    async fn copy_oldest(&self, head: &Head) -> Result<u64, StoreError> {
        if head.next - head.archived < ARCHIVE_AT {
            return Ok(head.archived);
        }
        let from = std::ops::Bound::Included(head.archived);
        let request = PageRequest { from, read: Read::Serial, ..PageRequest::first(MOVED) };
        let page = self.inner.store.page(&EVENTS, &(), request).await?;
        let mut rows = Vec::with_capacity(page.rows.len());
        let mut next = head.archived;
        for (id, row) in page.rows {
            let EventRow::Event(event) = row else { continue };
            // Others moved them in the meantime; the commit will find that out.
            if id != next {
                break;
            }
            rows.push(EVENT_ARCHIVE.row(&Sequenced((), id), &id, &event)?);
            next += 1;
        }
        self.inner.store.put(rows).await?;
        Ok(next)
    }

    /// Sweeps archived events that are gone for readers, a bucket at a time; says whether there is
    /// more to sweep.
    ///
    /// # Errors
    /// When the store fails. Sweeping again is always right.
    pub async fn sweep(&self) -> Result<bool, StoreError> {
        let mut attempts = Attempts::of(EVENTS.def().name());
        loop {
            let (version, head) = self.head(Read::Serial).await?;
            let to = head.first.min(head.swept + ARCHIVE_BUCKET);
            if to <= head.swept {
                return Ok(false);
            }
            let rows = (head.swept..to).map(|id| EVENT_ARCHIVE.sweep(&Sequenced((), id), &id));
            self.inner.store.put(rows.collect::<Result<_, _>>()?).await?;
            let changes = vec![EVENTS.insert(&HEAD, &EventRow::Head(Head { swept: to, ..head }))];
            let op = index::new_op()?;
            let commit = commit_of(&EVENTS, &(), version, changes, op, Bytes::new())?;
            if try_commit(&self.inner.store, commit).await?.is_some() {
                return Ok(to < head.first);
            }
            attempts.again().await?;
        }
    }
}

/// The changes of one append: the head, the new events, and those that moved to the archive.
fn changes(
    head: &Head,
    events: &[StoredEvent],
    moved: u64,
    settings: &EventsSettings,
) -> (Vec<Change>, Appended) {
    let next = head.next + events.len() as u64;
    // A bucket goes as a whole, and only when it is wholly archived.
    let kept = (moved / ARCHIVE_BUCKET).saturating_sub(settings.buckets) * ARCHIVE_BUCKET;
    let new = Head { next, archived: moved, first: head.first.max(kept), swept: head.swept };
    let mut changes = vec![EVENTS.insert(&HEAD, &EventRow::Head(new))];
    changes.extend((head.archived..moved).map(|id| EVENTS.delete(&id)));
    let rows = (head.next..).zip(events);
    changes.extend(rows.map(|(id, event)| EVENTS.insert(&id, &EventRow::Event(event.clone()))));
    (changes, Appended { first: head.next, last: next - 1, repeated: false })
}

fn result_of(done: &Committed) -> Result<Appended, StoreError> {
    let told: Appended = serde_json::from_slice(&done.result).map_err(|_| {
        let what = "the operation id was used for something other than an append";
        EngineError::new(what, "append under a new operation id")
    })?;
    Ok(Appended { repeated: done.repeated, ..told })
}

fn prepare(new: Vec<NewEvent>, at: u64) -> Result<Vec<StoredEvent>, AppendError> {
    if !(1..=EVENTS_PER_APPEND).contains(&new.len()) {
        return Err(AppendError::Count(new.len()));
    }
    let mut events = Vec::with_capacity(new.len());
    let mut bytes = 0;
    for NewEvent { kind, chain, data } in new {
        check_kind(&kind)?;
        let event = StoredEvent { at, kind, chain, data };
        let size = event.to_bytes().len();
        if size > EVENT_BYTES {
            let remedy = "it is larger than 16 KiB; say less, and where to read the rest";
            return Err(EventError { field: "data", remedy }.into());
        }
        bytes += size;
        events.push(event);
    }
    if bytes > APPEND_BYTES {
        return Err(AppendError::Bytes { size: bytes, limit: APPEND_BYTES });
    }
    Ok(events)
}
