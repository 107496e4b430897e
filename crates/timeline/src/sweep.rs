//! Deletes the rows of hidden units, late enough that no view can miss them.

use std::collections::BTreeMap;
use std::time::Duration;

use store::{PutError, Row, Sequenced};

use crate::tables::{HEIGHTS, SEATS, SWEPT};
use crate::{Seat, Timeline, Unit, UnitSet, ViewError};

/// Units that are due at one time, at the most.
const STEP: usize = 1000;

/// Why a sweep stopped. Nothing is lost: it goes on from there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SweepError {
    /// The tip or the units could not be read.
    #[error(transparent)]
    View(#[from] ViewError),
    /// Rows could not be swept.
    #[error(transparent)]
    Put(#[from] PutError),
}

/// Sweeps one chain: ask what is [due](Sweeper::due), derive the keys of each unit's rows again
/// from what was stored about it, and [sweep](Sweeper::sweep) them.
///
/// It measures by its own clock how long it has seen a unit hidden, so a unit is due no sooner than
/// the sweep delay after any reader could have taken a view that shows it.
#[derive(Debug)]
pub struct Sweeper {
    timeline: Timeline,
    /// Hidden units that are not swept yet, and since when this sweeper knows.
    waiting: BTreeMap<Unit, Duration>,
    /// Units that need no sweeping any more.
    done: UnitSet,
}

impl Sweeper {
    /// A sweeper that knows nothing yet.
    #[must_use]
    pub fn new(timeline: Timeline) -> Self {
        Self { timeline, waiting: BTreeMap::new(), done: UnitSet::default() }
    }

    /// Units that have been hidden for longer than the delay and may have rows, at most a thousand.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn due(&mut self) -> Result<Vec<(Unit, Seat)>, SweepError> {
        let view = self.timeline.view().await?;
        let now = self.timeline.now();
        for unit in view.hidden().without(&self.done).units() {
            self.waiting.entry(unit).or_insert(now);
        }
        let delay = self.timeline.settings().sweep_delay;
        let due = |since: &Duration| now.saturating_sub(*since) > delay;
        let units: Vec<Unit> =
            self.waiting.iter().filter(|(_, since)| due(since)).map(|(unit, _)| *unit).collect();
        let units: Vec<Unit> = units.into_iter().take(STEP).collect();
        let seats = self.seats_of(&units).await?;
        let mut found = Vec::new();
        for (unit, seat) in units.into_iter().zip(seats) {
            match seat {
                Some(seat) => found.push((unit, seat)),
                // Swept before, or its attempt crashed before it left anything that can be found.
                None => self.finish(unit),
            }
        }
        Ok(found)
    }

    /// Sweeps units that are due, with their rows; only the keys of the rows matter. The units' own
    /// rows under their heights go too; their seats stay, because the journal speaks of them.
    ///
    /// # Errors
    /// When the store cannot be written. Sweep them again then.
    pub async fn sweep(
        &mut self,
        units: &[(Unit, Seat)],
        mut rows: Vec<Row>,
    ) -> Result<(), SweepError> {
        for row in &mut rows {
            row.value = None;
        }
        let chain = self.timeline.chain();
        let mut marks = Vec::with_capacity(units.len());
        for (unit, seat) in units {
            let height = Sequenced((chain.clone(), seat.lane.0), seat.height.0);
            let height = HEIGHTS.sweep(&height, &(seat.height.0, *unit));
            rows.push(height.map_err(PutError::from)?);
            let mark = SWEPT.row(&Sequenced(chain.clone(), unit.0), unit, &());
            marks.push(mark.map_err(PutError::from)?);
        }
        let store = self.timeline.store();
        store.put(rows).await?;
        store.put(marks).await?;
        units.iter().for_each(|(unit, _)| self.finish(*unit));
        Ok(())
    }

    /// The seats of units that have one and are not swept.
    async fn seats_of(&self, units: &[Unit]) -> Result<Vec<Option<Seat>>, SweepError> {
        let key = |unit: &Unit| (Sequenced(self.timeline.chain().clone(), unit.0), *unit);
        let keys: Vec<_> = units.iter().map(key).collect();
        let store = self.timeline.store();
        let swept = store.get_many(&SWEPT, &keys).await.map_err(ViewError::from)?;
        let seats = store.get_many(&SEATS, &keys).await.map_err(ViewError::from)?;
        Ok(seats
            .into_iter()
            .zip(swept)
            .map(|(seat, swept)| seat.filter(|_| swept.is_none()))
            .collect())
    }

    fn finish(&mut self, unit: Unit) {
        self.waiting.remove(&unit);
        self.done.insert(unit);
    }
}
