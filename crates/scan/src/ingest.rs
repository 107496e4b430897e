//! Epochs to rows to the tip: reads what derivation must know, writes, publishes.

use store::{BoundError, PutError, Row, Sequenced};
use timeline::{
    Cut, Height, Lane, NewUnit, PublishError, Published, Sight, Timeline, Unit, UnitRow, ViewError,
    Writer,
};

use crate::EpochInput;
use crate::derive::{self, Before, Needed};
use crate::lists::{OF_ACCOUNT, OF_MINER};
use crate::tables::{EPOCH_BLOCKS, EPOCHS, PACKINGS, Totals};

/// Rows that are put at a time.
const PUT_ROWS: usize = 5_000;

/// Why epochs were not published. Nothing of them is visible.
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

/// Leaves the chain at the epoch below the first of `epochs` and publishes them above it, in one
/// commit: nobody sees one without the other.
///
/// # Errors
/// When the epochs do not link, another writer went on, or the store fails.
pub async fn extend(
    timeline: &Timeline,
    writer: &mut Writer,
    epochs: &[EpochInput],
) -> Result<Published, IngestError> {
    let first = check(epochs)?;
    let keep = first.checked_sub(1).map(Height);
    let cut = Cut { lane: Lane::MINED, keep };
    let mut attempt = writer.begin(&[cut], epochs.len() as u64).await?;
    let mut before = load(timeline, attempt.branch(), first, &Needed::of(epochs)).await?;
    let mut rows = Vec::new();
    let mut units = Vec::with_capacity(epochs.len());
    for (index, epoch) in (0..).zip(epochs) {
        rows.extend(derive::rows(timeline.chain(), attempt.unit(index), epoch, &mut before)?);
        units.push(unit(epoch, before.totals)?);
    }
    writer.write_units(&mut attempt, units).await?;
    put(timeline, rows).await?;
    Ok(writer.publish(attempt).await?)
}

/// The number of the first epoch, when all of them follow each other.
fn check(epochs: &[EpochInput]) -> Result<u64, IngestError> {
    let first = epochs.first().ok_or(IngestError::Input("there is no epoch"))?.number;
    for (number, epoch) in (first..).zip(epochs) {
        if epoch.number != number {
            return Err(IngestError::Input("the epochs do not follow each other"));
        }
        if epoch.blocks.is_empty() || epoch.blocks.len() > EPOCH_BLOCKS {
            return Err(IngestError::Input("an epoch has 1 to 1000 blocks"));
        }
    }
    Ok(first)
}

fn unit(epoch: &EpochInput, totals: Totals) -> Result<NewUnit, IngestError> {
    let pivot = epoch.pivot().ok_or(IngestError::Input("an epoch has no block"))?;
    let row = UnitRow {
        hash: pivot.hash.0.to_vec(),
        parent: if epoch.number == 0 { Vec::new() } else { pivot.parent.0.to_vec() },
        of: None,
        items: totals.blocks,
    };
    Ok(NewUnit { lane: Lane::MINED, height: Height(epoch.number), row })
}

async fn put(timeline: &Timeline, rows: Vec<Row>) -> Result<(), IngestError> {
    let mut rows = rows.into_iter().peekable();
    while rows.peek().is_some() {
        timeline.store().put(rows.by_ref().take(PUT_ROWS).collect()).await?;
    }
    Ok(())
}

/// What the branch has below epoch `first`.
///
/// # Errors
/// When it cannot be read.
pub async fn load(
    timeline: &Timeline,
    sight: &dyn Sight,
    first: u64,
    needed: &Needed,
) -> Result<Before, ViewError> {
    let mut before = Before { totals: totals(timeline, sight, first).await?, ..Before::default() };
    let (from, to) = ((0, 0, Unit(0)), (u64::MAX, u32::MAX, Unit(u64::MAX)));
    for hash in &needed.transactions {
        let key = (timeline.chain().clone(), hash.0);
        if timeline.first_visible(sight, &PACKINGS, &key, from, to).await?.is_some() {
            before.packed.insert(*hash);
        }
    }
    for address in &needed.accounts {
        before.accounts.insert(*address, OF_ACCOUNT.count(timeline, sight, *address).await?);
    }
    for address in &needed.miners {
        before.miners.insert(*address, OF_MINER.count(timeline, sight, *address).await?);
    }
    Ok(before)
}

/// How much there is below epoch `first`.
async fn totals(timeline: &Timeline, sight: &dyn Sight, first: u64) -> Result<Totals, ViewError> {
    let Some(below) = first.checked_sub(1) else { return Ok(Totals::default()) };
    let partition = Sequenced(timeline.chain().clone(), below);
    let (from, to) = ((below, Unit(0)), (below, Unit(u64::MAX)));
    let found = timeline.first_visible(sight, &EPOCHS, &partition, from, to).await?;
    Ok(found.map(|(_, row)| row.totals).unwrap_or_default())
}
