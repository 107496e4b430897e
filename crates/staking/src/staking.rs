//! The handle of the service, and what it remembers between calls.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use index::{Lists, PlaceError};
use platform::events::Events;
use platform::{Clock, StoreError};
use store::Store;
use tally::{EntriesError, LimitError, RaiseError, SetError, Tallies};
use tokio::sync::Notify;

use crate::PublicKey;
use crate::derive::Calculation;
use crate::tables::Directory;

/// Stakers whose addresses are known to be written. When there are more, all are forgotten: writing
/// the rows again changes nothing.
const REMEMBERED: usize = 200_000;

/// What the operator sets.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Logical shards of the statistics. More can be set later, fewer cannot.
    pub shards: u16,
    /// Hours after which a step that still waits for an earlier one is given up.
    pub patience_hours: u64,
    /// What is counted.
    pub calculations: Vec<Calculation>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { shards: 16, patience_hours: 7 * 24, calculations: Calculation::ALL.to_vec() }
    }
}

/// Why something was not done. All of it may be repeated.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StakingError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A count was not set.
    #[error(transparent)]
    Set(#[from] SetError),
    /// Entries of a count could not be read.
    #[error(transparent)]
    Entries(#[from] EntriesError),
    /// A staker was not placed.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The number of shards was not raised.
    #[error("[staking] shards: {0}")]
    Shards(#[from] RaiseError),
    /// A change took so long that its note may be gone.
    #[error("the store is too slow: a change was given up before it was made; send it again")]
    Slow,
    /// Another process counts more than this one.
    #[error("another process also counts `{0}`, which this one does not know; update this one")]
    Outdated(String),
    /// A limit of counts.
    #[error(transparent)]
    Limit(#[from] LimitError),
}

impl StakingError {
    /// Whether it comes again however well the store is: something is full.
    pub(crate) fn is_lasting(&self) -> bool {
        matches!(
            self,
            Self::Limit(_) | Self::Place(PlaceError::Full { .. }) | Self::Set(SetError::Raise(_))
        )
    }
}

/// Lets `?` turn failures of the store into this.
macro_rules! from_store {
    ($($source:ty),*) => {$(
        impl From<$source> for StakingError {
            fn from(error: $source) -> Self {
                Self::Store(error.into())
            }
        }
    )*};
}
from_store!(
    store::BoundError,
    store::ReadError,
    store::PutError,
    store::CommitError,
    store::EngineError,
    tally::SumError
);

/// Staking. Cheap to clone; all clones share what they remember.
#[derive(Clone, Debug)]
pub struct Staking {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) events: Option<Events>,
    pub(crate) settings: Settings,
    pub(crate) tallies: Tallies,
    pub(crate) lists: Lists,
    /// Bitcoin rose, and timelocks may have passed.
    pub(crate) risen: Notify,
    listed: Memory<(Directory, u64)>,
    addressed: Memory<PublicKey>,
    counted: Memory<[u8; 16]>,
    finished: Memory<u64>,
    pub(crate) counters: crate::ingest::Counters,
    pub(crate) together: crate::together::Together,
}

impl Staking {
    /// Staking in `store`. Events tell of changes, if they are given.
    ///
    /// # Errors
    /// When a setting is out of its range.
    pub fn new(
        store: Store,
        clock: Clock,
        events: Option<Events>,
        settings: Settings,
    ) -> Result<Self, StakingError> {
        let shards = tally::Settings { shards: settings.shards, ..tally::Settings::default() };
        let inner = Inner {
            clock,
            events,
            settings,
            tallies: Tallies::new(store.clone(), shards)?,
            lists: Lists::new(store.clone()),
            risen: Notify::new(),
            listed: Memory::default(),
            addressed: Memory::default(),
            counted: Memory::default(),
            finished: Memory::default(),
            counters: crate::ingest::Counters::default(),
            together: crate::together::Together::default(),
            store,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// What became of messages since the program started.
    #[must_use]
    pub fn counters(&self) -> &crate::Counters {
        &self.inner.counters
    }

    pub(crate) fn listed(&self) -> &Memory<(Directory, u64)> {
        &self.inner.listed
    }

    /// Notes that were counted and may not go yet.
    pub(crate) fn counted(&self) -> &Memory<[u8; 16]> {
        &self.inner.counted
    }

    /// Whiles whose notes are all gone.
    pub(crate) fn finished(&self) -> &Memory<u64> {
        &self.inner.finished
    }

    pub(crate) fn addressed(&self) -> &Memory<PublicKey> {
        &self.inner.addressed
    }
}

/// Keys of rows that are known to be written.
#[derive(Debug)]
pub(crate) struct Memory<K>(Mutex<HashSet<K>>);

impl<K> Default for Memory<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash> Memory<K> {
    pub(crate) fn knows(&self, key: &K) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(key)
    }

    pub(crate) fn learn(&self, keys: impl IntoIterator<Item = K>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() > REMEMBERED {
            known.clear();
        }
        known.extend(keys);
    }

    pub(crate) fn forget(&self, key: &K) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}
