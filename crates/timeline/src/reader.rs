//! A chain as readers hold it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use store::{Read, Store, Version};

use crate::tables::{SEALED, TIPS};
use crate::tip::TipRow;
use crate::{ChainName, Tip, UnitSet, View, ViewError};

/// Tells the time that views and leases are measured by. Monotonic; its zero means nothing.
pub trait Clock: Send + Sync {
    /// Time since some moment.
    fn now(&self) -> Duration;
}

/// The machine's monotonic clock.
#[derive(Debug)]
pub struct SystemClock(Instant);

impl Default for SystemClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Times of a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long hidden rows are kept, and so how long a view may be read from.
    pub sweep_delay: Duration,
    /// How long a lease must stand still before another writer may take it.
    pub patience: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { sweep_delay: Duration::from_secs(600), patience: Duration::from_secs(5) }
    }
}

/// A chain in a store. Cheap to clone; clones share what they know of the tip.
#[derive(Clone)]
pub struct Timeline {
    shared: Arc<Shared>,
}

struct Shared {
    store: Store,
    chain: ChainName,
    settings: Settings,
    clock: Arc<dyn Clock>,
    /// The newest view anybody here has seen: readers never go back a version.
    newest: Mutex<Option<View>>,
}

impl std::fmt::Debug for Timeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Timeline").field("chain", &self.shared.chain).finish_non_exhaustive()
    }
}

impl Timeline {
    /// The chain called `chain`, on the machine's clock.
    #[must_use]
    pub fn new(store: Store, chain: ChainName, settings: Settings) -> Self {
        Self::with_clock(store, chain, settings, Arc::new(SystemClock::default()))
    }

    /// The same on another clock.
    #[must_use]
    pub fn with_clock(
        store: Store,
        chain: ChainName,
        settings: Settings,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let newest = Mutex::default();
        Self { shared: Arc::new(Shared { store, chain, settings, clock, newest }) }
    }

    /// The store it is in.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.shared.store
    }

    /// The chain.
    #[must_use]
    pub fn chain(&self) -> &ChainName {
        &self.shared.chain
    }

    /// Its times.
    #[must_use]
    pub fn settings(&self) -> Settings {
        self.shared.settings
    }

    pub(crate) fn now(&self) -> Duration {
        self.shared.clock.now()
    }

    /// The chain as it is now. Never older than a view taken here before.
    ///
    /// # Errors
    /// When the tip cannot be read.
    pub async fn view(&self) -> Result<View, ViewError> {
        self.view_by(Read::Quorum).await
    }

    pub(crate) async fn view_by(&self, read: Read) -> Result<View, ViewError> {
        let taken = self.now();
        let (version, tip) = self.read_tip(read).await?;
        if let Some(known) = self.newest().filter(|known| known.version >= version) {
            // A quorum read may miss the newest commit; what was seen stays seen.
            return Ok(View { taken, ..known });
        }
        let sealed = self.sealed(&tip).await?;
        let view = View { version, tip: Arc::new(tip), sealed, taken };
        let mut newest = self.shared.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if newest.as_ref().is_none_or(|known| known.version < version) {
            *newest = Some(view.clone());
        }
        Ok(view)
    }

    /// Whether a view may still be read from. Ask after reading, before using what was read.
    ///
    /// # Errors
    /// When the view is older than the sweep delay: what was read may have holes.
    pub fn check_age(&self, view: &View) -> Result<(), ViewError> {
        let (age, limit) = (self.now().saturating_sub(view.taken), self.settings().sweep_delay);
        if age < limit { Ok(()) } else { Err(ViewError::Expired { age, limit }) }
    }

    fn newest(&self) -> Option<View> {
        self.shared.newest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn read_tip(&self, read: Read) -> Result<(Version, Tip), ViewError> {
        let request = store::PageRequest {
            to: std::ops::Bound::Included((0, 0)),
            read,
            ..store::PageRequest::first(1)
        };
        let page = self.store().page(&TIPS, self.chain(), request).await?;
        let tip = page.rows.into_iter().find_map(|(_, row)| match row {
            TipRow::Tip(tip) => Some(*tip),
            TipRow::Switch(_) => None,
        });
        Ok((page.version, tip.unwrap_or_default()))
    }

    /// The union of the sealed segments a tip names; only new ones are read.
    async fn sealed(&self, tip: &Tip) -> Result<Arc<UnitSet>, ViewError> {
        let known = self.newest();
        let (have, mut sealed) = match &known {
            // Segments are only ever added, so a shorter list is a prefix of a longer one.
            Some(view) if tip.sealed.starts_with(&view.tip.sealed) => {
                (view.tip.sealed.len(), view.sealed.clone())
            }
            _ => (0, Arc::default()),
        };
        let missing: Vec<_> =
            tip.sealed.iter().skip(have).map(|name| ((self.chain().clone(), *name), ())).collect();
        for chunk in missing.chunks(1000) {
            for segment in self.store().get_many(&SEALED, chunk).await? {
                Arc::make_mut(&mut sealed).merge(&segment.ok_or(ViewError::Segment)?);
            }
        }
        Ok(sealed)
    }
}
