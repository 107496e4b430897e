//! The journal of switches: which epochs were popped, and where everything in them went.
//!
//! A switch is in the timeline's own journal the moment it happens; what was popped is read there
//! while its rows are still kept, and written down here for good, before it is told as an event.

use std::ops::Bound;

use serde::{Deserialize, Serialize};
use store::{BoundError, Order, PageRequest, Row, Sequenced};
use timeline::{Lane, Run, Switch, Timeline, ViewError};

use crate::Hash;
use crate::tables::{BUCKET, EPOCHS, JOURNAL};

/// Buckets that one page looks through: a bucket is thousands of switches, most of them without
/// a pop.
const BUCKETS: u64 = 64;
/// The place of a switch's own row among its popped epochs: the first epoch is never popped.
pub(crate) const HEADER: u64 = 0;
/// Popped epochs of one switch that are written down at the most.
const POPPED: usize = 1000;

/// A row of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JournalRow {
    /// A switch.
    Switch(SwitchLine),
    /// An epoch that it popped.
    Popped(PoppedEpoch),
}
store::serde_value!(JournalRow, format 1);

/// A switch that popped something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchLine {
    /// First and last epoch that left the chain.
    pub popped: (u64, u64),
    /// First and last epoch that joined it.
    pub pushed: Option<(u64, u64)>,
}

/// An epoch that left the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoppedEpoch {
    /// Its blocks in the order of execution; the last one was the pivot.
    pub blocks: Vec<Hash>,
}

/// First and last height of the runs of a lane.
pub(crate) fn extent(runs: &[Run], lane: Lane) -> Option<(u64, u64)> {
    let of_lane = || runs.iter().filter(|run| run.lane == lane);
    let first = of_lane().map(|run| run.height.0).min()?;
    let last = of_lane().map(|run| run.height.0 + run.count.saturating_sub(1)).max()?;
    Some((first, last))
}

/// The rows of a switch; none when it popped nothing.
pub(crate) async fn rows(
    timeline: &Timeline,
    number: u64,
    switch: &Switch,
) -> Result<Vec<Row>, JournalError> {
    let Some(popped) = extent(&switch.popped, Lane::MINED) else { return Ok(Vec::new()) };
    let pushed = extent(&switch.pushed, Lane::MINED);
    let chain = timeline.chain();
    let partition = Sequenced(chain.clone(), number);
    let line = JournalRow::Switch(SwitchLine { popped, pushed });
    let mut rows = vec![JOURNAL.row(&partition, &(number, HEADER), &line)?];
    let units = switch.popped.iter().filter(|run| run.lane == Lane::MINED).flat_map(Run::units);
    for (height, unit) in units.take(POPPED) {
        let bucket = Sequenced(chain.clone(), height.0);
        let row = timeline.store().get(&EPOCHS, &bucket, &(height.0, unit)).await;
        // Told so late that the rows are swept: that it happened is all there is to say.
        let Some(row) = row.map_err(ViewError::from)? else { continue };
        let epoch = JournalRow::Popped(PoppedEpoch { blocks: row.blocks });
        rows.push(JOURNAL.row(&partition, &(number, height.0), &epoch)?);
    }
    Ok(rows)
}

/// Why a switch was not written down. It is tried again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// What was popped could not be read.
    #[error(transparent)]
    View(#[from] ViewError),
    /// A row is beyond a limit.
    #[error(transparent)]
    Bound(#[from] BoundError),
}

/// A page of switches, the newest first, and the number to go on below.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JournalPage {
    /// The switches with their numbers.
    pub switches: Vec<(u64, SwitchLine)>,
    /// Where to go on, when there may be more.
    pub next: Option<u64>,
}

/// Switches below `before` that popped something, the newest first.
///
/// # Errors
/// When they cannot be read.
pub async fn page(
    timeline: &Timeline,
    before: u64,
    limit: usize,
) -> Result<JournalPage, ViewError> {
    let mut found = JournalPage::default();
    let mut end = before;
    for _ in 0..BUCKETS {
        let Some(last) = end.checked_sub(1) else { return Ok(found) };
        let low = last / BUCKET * BUCKET;
        let mut request = PageRequest {
            from: Bound::Included((low, HEADER)),
            to: Bound::Excluded((end, HEADER)),
            order: Order::Descending,
            ..PageRequest::first(1000)
        };
        let partition = Sequenced(timeline.chain().clone(), last);
        loop {
            let page = timeline.store().page(&JOURNAL, &partition, request.clone()).await?;
            for ((number, _), row) in page.rows {
                let JournalRow::Switch(line) = row else { continue };
                found.switches.push((number, line));
                if found.switches.len() == limit {
                    found.next = Some(number);
                    return Ok(found);
                }
            }
            request.cursor = page.next;
            if request.cursor.is_none() {
                break;
            }
        }
        end = low;
    }
    found.next = Some(end).filter(|end| *end > 0);
    Ok(found)
}

/// A switch; none when it popped nothing.
///
/// # Errors
/// When it cannot be read.
pub async fn switch(timeline: &Timeline, number: u64) -> Result<Option<SwitchLine>, ViewError> {
    let partition = Sequenced(timeline.chain().clone(), number);
    let row = timeline.store().get(&JOURNAL, &partition, &(number, HEADER)).await?;
    Ok(match row {
        Some(JournalRow::Switch(line)) => Some(line),
        _ => None,
    })
}
