//! The journal of switches: what each publish popped and pushed.
//!
//! A switch is written into the tip's own partition by the commit that makes it, so it exists
//! exactly when it happened. Later publishes copy old ones into the archive first and delete them
//! from the tip's partition afterwards: a follower finds each in at least one of the two places.

use std::ops::Bound;

use serde::{Deserialize, Serialize};
use store::{PageRequest, Sequenced};

use crate::tables::{BUCKET, SWITCHES, TIPS};
use crate::tip::TipRow;
use crate::{FollowError, Height, Lane, Timeline, Unit, ViewError};

/// Switches read at a time.
const PAGE: usize = 256;

/// Units of one lane with consecutive numbers at consecutive heights.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The lane.
    pub lane: Lane,
    /// Number of the lowest unit.
    pub first: Unit,
    /// Height of the lowest unit.
    pub height: Height,
    /// How many.
    pub count: u64,
}

impl Run {
    /// The units, lowest first.
    pub fn units(&self) -> impl DoubleEndedIterator<Item = (Height, Unit)> + use<> {
        let (height, first) = (self.height.0, self.first.0);
        (0..self.count).map(move |i| (Height(height + i), Unit(first + i)))
    }

    /// Makes runs of units in the order of their heights.
    pub(crate) fn collect(
        lane: Lane,
        units: impl IntoIterator<Item = (Height, Unit)>,
    ) -> Vec<Self> {
        let mut runs: Vec<Self> = Vec::new();
        for (height, unit) in units {
            match runs.last_mut() {
                Some(run) if run.first.0 + run.count == unit.0 => run.count += 1,
                _ => runs.push(Self { lane, first: unit, height, count: 1 }),
            }
        }
        runs
    }
}

/// What one publish did. First everything popped leaves, highest first; then everything pushed
/// comes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Switch {
    /// What left the chain, by lane, lowest first.
    pub popped: Vec<Run>,
    /// What joined it, by lane, lowest first.
    pub pushed: Vec<Run>,
}
store::serde_value!(Switch, format 1);

impl Timeline {
    /// Switches from number `from` on, at most a few hundred, in order, with their numbers. An
    /// empty answer means that `from` has not happened yet. The cursor of a follower is a plain
    /// number.
    ///
    /// # Errors
    /// When the journal cannot be read, or a switch is missing from it.
    pub async fn follow(&self, from: u64) -> Result<Vec<(u64, Switch)>, FollowError> {
        // The view first: what it counts is in the archive or in the tip's partition from now on.
        let tip = self.view().await?;
        if from >= tip.tip().switches {
            return Ok(Vec::new());
        }
        let mut found = self.archived(from).await?;
        if found.is_empty() {
            found = self.recent(from).await?;
        }
        if found.is_empty() {
            // Between the two reads it moved from the tip's partition to the archive.
            found = self.archived(from).await?;
        }
        for (expected, (number, _)) in (from..).zip(&found) {
            if expected != *number {
                found.truncate(usize::try_from(expected - from).unwrap_or(0));
                break;
            }
        }
        if found.is_empty() { Err(FollowError::Missing(from)) } else { Ok(found) }
    }

    async fn archived(&self, from: u64) -> Result<Vec<(u64, Switch)>, FollowError> {
        let end = (from / BUCKET + 1) * BUCKET;
        let request = PageRequest {
            from: Bound::Included(from),
            to: Bound::Excluded(end),
            ..PageRequest::first(PAGE)
        };
        let partition = Sequenced(self.chain().clone(), from);
        Ok(self.store().page(&SWITCHES, &partition, request).await?.rows)
    }

    async fn recent(&self, from: u64) -> Result<Vec<(u64, Switch)>, FollowError> {
        Ok(self.recent_switches(from, u64::MAX).await?)
    }

    /// Switches from `from` to before `to` that stand in the tip's partition.
    pub(crate) async fn recent_switches(
        &self,
        from: u64,
        to: u64,
    ) -> Result<Vec<(u64, Switch)>, ViewError> {
        let request = PageRequest {
            from: Bound::Included((1, from)),
            to: Bound::Excluded((1, to)),
            ..PageRequest::first(PAGE)
        };
        let page = self.store().page(&TIPS, self.chain(), request).await?;
        let switch = |((_, number), row)| match row {
            TipRow::Switch(switch) => Some((number, switch)),
            TipRow::Tip(_) => None,
        };
        Ok(page.rows.into_iter().filter_map(switch).collect())
    }
}
