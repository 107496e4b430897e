//! Epochs to rows to the tip: reads what derivation must know, writes, publishes.

use std::collections::BTreeMap;

use store::{BoundError, PutError, Row};
use timeline::{
    Attempt, Cut, Height, Lane, NewUnit, PublishError, Published, Timeline, Unit, UnitRow, View,
    ViewError, Writer,
};

use crate::derive::{self, Needed};
use crate::memory::Memory;
use crate::tables::{CONFIRMED, EPOCH_BLOCKS, FINALIZED};
use crate::{EpochInput, Hash, ResultsInput};

/// Rows that are put at a time: enough for the embedded engine to load them as sorted runs, without
/// its journal.
const PUT_ROWS: usize = 500_000;
/// Epochs that are marked at a time.
const MARKS: u64 = 2_000;

/// Why nothing was published. Nothing of it is visible.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IngestError {
    /// The epochs do not follow each other, or one has no block.
    #[error("{0}; ask the node again")]
    Input(&'static str),
    /// An epoch or block is beyond a limit.
    #[error(transparent)]
    Bound(#[from] BoundError),
    /// The branch could not be read.
    #[error(transparent)]
    View(#[from] ViewError),
    /// Rows could not be put.
    #[error(transparent)]
    Put(#[from] PutError),
    /// Another writer went on, or the tip could not be written.
    #[error(transparent)]
    Publish(#[from] PublishError),
}

/// What is published at a time: nobody sees a part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Epochs that follow each other. The chain is left at the one below the first of them.
    pub epochs: Vec<EpochInput>,
    /// What came of executing the epochs above those whose results are here.
    pub results: Vec<ResultsInput>,
    /// The highest epoch that is buried deep enough.
    pub confirmed: Option<u64>,
    /// The highest epoch that is decided.
    pub finalized: Option<u64>,
}

/// Publishes a batch in one commit; none when there is nothing new in it.
///
/// # Errors
/// When the epochs do not link, another writer went on, or the store fails.
pub async fn publish(
    timeline: &Timeline,
    writer: &mut Writer,
    memory: &mut Memory,
    batch: &Batch,
) -> Result<Option<Published>, IngestError> {
    // What is known is taken along only when all went well.
    let mut known = std::mem::take(memory);
    let plan = Plan::new(writer.view(), batch)?;
    if plan.count() == 0 {
        *memory = known;
        return Ok(None);
    }
    let below = plan.below(timeline, writer.view()).await?;
    let mut attempt = writer.begin(&plan.cuts, plan.count()).await?;
    let (mut spans, mut rows, mut items) = (Vec::new(), Vec::new(), Vec::new());
    if let Some(first) = batch.epochs.first() {
        let branch = attempt.branch();
        let needed = Needed::of(&batch.epochs);
        let parent = first.pivot().map(|pivot| pivot.parent);
        let mut before = known.before(timeline, branch, (first.number, parent), &needed).await?;
        for (index, epoch) in (0..).zip(&batch.epochs) {
            let derived = derive::rows(timeline.chain(), attempt.unit(index), epoch, &mut before)?;
            spans.extend(derived.spans);
            rows.extend(derived.rows);
            items.push(before.totals.blocks);
        }
        known.keep(before, batch.epochs.last());
    }
    for (index, results) in (batch.epochs.len() as u64..).zip(&batch.results) {
        rows.extend(derive::result_rows(timeline.chain(), attempt.unit(index), results)?);
    }
    let units = plan.units(&attempt, &below, &items)?;
    writer.write_units(&mut attempt, units).await?;
    // A crash in between leaves only rows that a sweep finds.
    put(timeline, spans).await?;
    put(timeline, rows).await?;
    let published = writer.publish(attempt).await?;
    *memory = known;
    Ok(Some(published))
}

async fn put(timeline: &Timeline, rows: Vec<Row>) -> Result<(), IngestError> {
    let mut rows = rows.into_iter().peekable();
    while rows.peek().is_some() {
        timeline.store().put(rows.by_ref().take(PUT_ROWS).collect()).await?;
    }
    Ok(())
}

/// Which units a batch is, lane by lane.
struct Plan<'a> {
    batch: &'a Batch,
    /// Where lanes are left.
    cuts: Vec<Cut>,
    /// First and last epoch of each lane above the mined one; none when it stays where it is.
    upper: Vec<(Lane, u64, u64)>,
}

/// Unit and pivot of epochs that are on the chain already.
type Below = BTreeMap<u64, (Unit, Vec<u8>)>;

impl<'a> Plan<'a> {
    fn new(view: &View, batch: &'a Batch) -> Result<Self, IngestError> {
        check_epochs(&batch.epochs)?;
        let kept = batch.epochs.first().map(|first| first.number.checked_sub(1));
        let mined = view.head(Lane::MINED).map(|head| head.height.0);
        let Some(top) = batch.epochs.last().map(|last| last.number).or(mined) else {
            return Ok(Self { batch, cuts: Vec::new(), upper: Vec::new() });
        };
        // Where a lane goes on: above its head, or above the epoch at which the chain is left.
        let next = |lane| {
            let head = view.head(lane).map(|head| head.height.0);
            let head = kept.map_or(head, |kept| head.min(kept));
            head.map_or(0, |height| height + 1)
        };
        let (mut upper, mut cuts) = (Vec::new(), Vec::new());
        if let Some(keep) = kept {
            cuts.push(Cut { lane: Lane::MINED, keep: keep.map(Height) });
        }
        if let (Some(first), Some(last)) = (batch.results.first(), batch.results.last()) {
            check_results(&batch.results, next(Lane::EXECUTED), top)?;
            upper.push((Lane::EXECUTED, first.number, last.number));
        }
        for (lane, mark) in [(CONFIRMED, batch.confirmed), (FINALIZED, batch.finalized)] {
            let (from, Some(mark)) = (next(lane), mark) else { continue };
            if mark.saturating_add(1) < from {
                // A node takes a mark back when it judges the risk anew.
                cuts.push(Cut { lane, keep: mark.checked_sub(1).map(Height) });
                upper.push((lane, mark, mark));
                continue;
            }
            let to = mark.min(top).min(from.saturating_add(MARKS - 1));
            if from <= to {
                upper.push((lane, from, to));
            }
        }
        Ok(Self { batch, cuts, upper })
    }

    fn count(&self) -> u64 {
        let upper: u64 = self.upper.iter().map(|(_, from, to)| to - from + 1).sum();
        self.batch.epochs.len() as u64 + upper
    }

    /// The mined units that upper lanes stand on and that are on the chain already.
    async fn below(&self, timeline: &Timeline, view: &View) -> Result<Below, IngestError> {
        let lowest = self.upper.iter().map(|(_, from, _)| from.saturating_sub(1)).min();
        let highest = self.upper.iter().map(|(.., to)| *to).max();
        let (Some(lowest), Some(highest)) = (lowest, highest) else { return Ok(Below::new()) };
        let first = self.batch.epochs.first().map_or(u64::MAX, |epoch| epoch.number);
        let Some(end) = highest.min(first.saturating_sub(1)).checked_sub(lowest) else {
            return Ok(Below::new());
        };
        let (from, to) = (Height(lowest), Height(lowest + end));
        let found = timeline.units_between(view, Lane::MINED, from, to).await?;
        Ok(found.into_iter().map(|(height, unit, row)| (height.0, (unit, row.hash))).collect())
    }

    /// The units in the order of their numbers; `items` are the blocks up to each epoch.
    fn units(
        &self,
        attempt: &Attempt,
        below: &Below,
        items: &[u64],
    ) -> Result<Vec<NewUnit>, IngestError> {
        let mut on_chain: BTreeMap<u64, (Unit, Vec<u8>)> = below.clone();
        let mut units = Vec::new();
        for ((index, epoch), items) in (0..).zip(&self.batch.epochs).zip(items) {
            let pivot = epoch.pivot().ok_or(IngestError::Input("an epoch has no block"))?;
            on_chain.insert(epoch.number, (attempt.unit(index), pivot.hash.0.to_vec()));
            let parent = if epoch.number == 0 { Vec::new() } else { pivot.parent.0.to_vec() };
            let row = UnitRow { hash: pivot.hash.0.to_vec(), parent, of: None, items: *items };
            units.push(NewUnit { lane: Lane::MINED, height: Height(epoch.number), row });
        }
        let missing = IngestError::Input("an epoch that upper lanes stand on is not there");
        for (lane, from, to) in &self.upper {
            for height in *from..=*to {
                let Some((of, hash)) = on_chain.get(&height) else { return Err(missing) };
                let parent = match height.checked_sub(1).map(|below| on_chain.get(&below)) {
                    None => Vec::new(),
                    Some(Some((_, parent))) => parent.clone(),
                    Some(None) => return Err(missing),
                };
                let row = UnitRow { hash: hash.clone(), parent, of: Some(*of), items: 0 };
                units.push(NewUnit { lane: *lane, height: Height(height), row });
            }
        }
        self.check_pivots(&on_chain)?;
        Ok(units)
    }

    /// Results count for the pivot they were asked for, and for no other.
    fn check_pivots(&self, on_chain: &Below) -> Result<(), IngestError> {
        let fits = |results: &ResultsInput| {
            let hash = on_chain.get(&results.number).map(|(_, hash)| hash.as_slice());
            hash == Some(&results.pivot.0)
        };
        if self.batch.results.iter().all(fits) {
            return Ok(());
        }
        Err(IngestError::Input("results belong to another pivot"))
    }
}

/// The epochs follow each other, and each has blocks.
fn check_epochs(epochs: &[EpochInput]) -> Result<(), IngestError> {
    let Some(first) = epochs.first() else { return Ok(()) };
    let mut parent: Option<Hash> = None;
    for (number, epoch) in (first.number..).zip(epochs) {
        if epoch.number != number {
            return Err(IngestError::Input("the epochs do not follow each other"));
        }
        if epoch.blocks.is_empty() || epoch.blocks.len() > EPOCH_BLOCKS {
            return Err(IngestError::Input("an epoch has 1 to 1000 blocks"));
        }
        let pivot = epoch.pivot();
        if parent.is_some() && parent != pivot.map(|pivot| pivot.parent) {
            return Err(IngestError::Input("a pivot does not stand on the one below"));
        }
        parent = pivot.map(|pivot| pivot.hash);
    }
    Ok(())
}

/// The results go on where the lane ends, and not above the epochs that are mined.
fn check_results(results: &[ResultsInput], next: u64, top: u64) -> Result<(), IngestError> {
    for (number, results) in (next..).zip(results) {
        if results.number != number || number > top {
            return Err(IngestError::Input("results do not follow those that are here"));
        }
    }
    Ok(())
}
