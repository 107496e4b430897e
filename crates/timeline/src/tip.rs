//! The one guarded row of a chain, and what it makes visible.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use store::Version;

use crate::{Head, Lane, Lease, Switch, Unit, UnitSet};

/// Ranges the tip row holds before the lowest of them move to a sealed segment.
pub(crate) const LIVE_RANGES: usize = 1024;
/// Ranges of one sealed segment.
pub(crate) const SEALED_RANGES: usize = 512;

/// The tip of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tip {
    /// The number the next reservation begins with.
    pub next: Unit,
    /// Units above it are not published.
    pub horizon: Unit,
    /// The newest unit of each lane.
    pub heads: Vec<Option<Head>>,
    /// Units up to the horizon that are not on the chain, except those in sealed segments.
    pub hidden: UnitSet,
    /// Sealed segments of hidden units, by the unit that names each. Eight bytes each at the most,
    /// so four million switches fit before the row grows beyond 64 KB.
    pub sealed: Vec<Unit>,
    /// Who may write.
    pub lease: Lease,
    /// Number of the next switch in the journal.
    pub switches: u64,
    /// Switches below it are in the archive.
    pub archived: u64,
}

impl Default for Tip {
    fn default() -> Self {
        Self {
            next: Unit(1),
            horizon: Unit(0),
            heads: Vec::new(),
            hidden: UnitSet::default(),
            sealed: Vec::new(),
            lease: Lease::default(),
            switches: 0,
            archived: 0,
        }
    }
}

impl Tip {
    /// The newest unit of a lane.
    #[must_use]
    pub fn head(&self, lane: Lane) -> Option<&Head> {
        self.heads.get(usize::from(lane.0))?.as_ref()
    }

    pub(crate) fn set_head(&mut self, lane: Lane, head: Option<Head>) {
        let index = usize::from(lane.0);
        if self.heads.len() <= index {
            self.heads.resize(index + 1, None);
        }
        if let Some(slot) = self.heads.get_mut(index) {
            *slot = head;
        }
    }
}

/// What stands in the tip's partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum TipRow {
    Tip(Box<Tip>),
    Switch(Switch),
}
store::serde_value!(TipRow, format 1);

/// A chain at one moment: what a reader sees, however long it reads.
#[derive(Clone, Debug)]
pub struct View {
    pub(crate) version: Version,
    pub(crate) tip: Arc<Tip>,
    pub(crate) sealed: Arc<UnitSet>,
    pub(crate) taken: Duration,
}

impl View {
    /// Whether rows stamped with `unit` are on the chain.
    #[must_use]
    pub fn sees(&self, unit: Unit) -> bool {
        unit <= self.tip.horizon && !self.tip.hidden.contains(unit) && !self.sealed.contains(unit)
    }

    /// The newest unit of a lane.
    #[must_use]
    pub fn head(&self, lane: Lane) -> Option<&Head> {
        self.tip.head(lane)
    }

    /// The tip it was taken from.
    #[must_use]
    pub fn tip(&self) -> &Tip {
        &self.tip
    }

    /// The version of the tip; views of one chain are ordered by it.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// All units hidden in it.
    #[must_use]
    pub fn hidden(&self) -> UnitSet {
        let mut all = self.tip.hidden.clone();
        all.merge(&self.sealed);
        all
    }
}

/// Decides which rows count.
pub trait Sight: Sync {
    /// Whether rows stamped with `unit` count.
    fn sees(&self, unit: Unit) -> bool;
}

impl Sight for View {
    fn sees(&self, unit: Unit) -> bool {
        Self::sees(self, unit)
    }
}

/// What a writer sees: the chain below its fork points, and its own units.
///
/// What depends on earlier rows (first packing, cumulative sums) is derived through it, never
/// through the tip, which still shows the branch that will be left.
#[derive(Clone, Debug)]
pub struct Branch {
    pub(crate) base: View,
    pub(crate) popped: UnitSet,
    pub(crate) first: Unit,
    pub(crate) last: Unit,
}

impl Sight for Branch {
    fn sees(&self, unit: Unit) -> bool {
        let own = self.first <= unit && unit <= self.last;
        own || (self.base.sees(unit) && !self.popped.contains(unit))
    }
}
