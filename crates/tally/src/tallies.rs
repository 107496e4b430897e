//! The handle that services hold: a store, settings, and what may be remembered between calls.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use store::Store;
use tokio::sync::Semaphore;

use crate::generations::Generations;
use crate::tables::Shard;
use crate::{LimitError, Settings, Tally};

/// Tallies whose generations are remembered. When there are more, all are forgotten: reading a row
/// again is cheap, and a service that sets more tallies than this at once has other costs.
const REMEMBERED: usize = 10_000;
/// Lines in which tasks of this process wait for a shard.
const LINES: usize = 256;

/// Sets and reads tallies. Cheap to clone; all clones share what they remember.
#[derive(Clone, Debug)]
pub struct Tallies {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) store: Store,
    pub(crate) settings: Settings,
    /// Shards being written.
    pub(crate) in_flight: Semaphore,
    /// One task of this process raises at a time; others would only meet each other's commits. No
    /// other process waits for it.
    pub(crate) raising: tokio::sync::Mutex<()>,
    /// A shard is written by one task of this process at a time, for the same reason.
    lines: Vec<tokio::sync::Mutex<()>>,
    hasher: RandomState,
    /// What was read last. Stale rows are harmless: an insert into a sealed shard reloads.
    generations: Mutex<HashMap<Tally, Arc<Generations>>>,
}

impl Tallies {
    /// Tallies in `store`, which must have the tables of [`tables`](crate::tables).
    ///
    /// # Errors
    /// When a setting is out of its range.
    pub fn new(store: Store, settings: Settings) -> Result<Self, LimitError> {
        settings.check()?;
        let inner = Inner {
            store,
            settings,
            in_flight: Semaphore::new(settings.in_flight),
            raising: tokio::sync::Mutex::default(),
            lines: (0..LINES).map(|_| tokio::sync::Mutex::default()).collect(),
            hasher: RandomState::new(),
            generations: Mutex::default(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }
}

impl Inner {
    /// Waits until no other task of this process writes the shard. Some shards share a line.
    pub(crate) async fn line(&self, shard: &Shard) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        let lines = u64::try_from(self.lines.len().max(1)).unwrap_or(1);
        let line = usize::try_from(self.hasher.hash_one(shard) % lines).unwrap_or(0);
        match self.lines.get(line) {
            Some(line) => Some(line.lock().await),
            None => None,
        }
    }

    pub(crate) fn remembered(&self, tally: &Tally) -> Option<Arc<Generations>> {
        self.memory().get(tally).cloned()
    }

    pub(crate) fn remember(&self, tally: &Tally, generations: Generations) -> Arc<Generations> {
        let generations = Arc::new(generations);
        let mut memory = self.memory();
        if memory.len() >= REMEMBERED {
            memory.clear();
        }
        memory.insert(tally.clone(), generations.clone());
        generations
    }

    fn memory(&self) -> MutexGuard<'_, HashMap<Tally, Arc<Generations>>> {
        self.generations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
