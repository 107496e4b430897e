//! Sweeps the rows of epochs that left the chain, once no reader can see them any more.
//!
//! The rows of a hidden unit are found by its span, which was written before them. Facts stay: they
//! are true whatever the pivot is, and an orphan is still to be looked at.

use std::ops::Bound;

use store::{BoundError, PageRequest, PutError, Row, Sequenced};
use timeline::{ChainName, Lane, Seat, SweepError, Sweeper, Timeline, Unit, ViewError};

use crate::Hash;
use crate::lists::{OF_ACCOUNT, OF_MINER};
use crate::query::block_transactions;
use crate::tables::{
    BLOCK_RESULTS, BLOCK_SEATS, BLOCKS_IN_ORDER, EPOCHS, MINERS, PACKINGS, RECEIPTS, SPANS, Span,
    TRANSACTIONS_IN_ORDER,
};

/// Sweeps what is due; how many units.
///
/// # Errors
/// When the store fails. What was not swept is due again.
pub async fn sweep(timeline: &Timeline, sweeper: &mut Sweeper) -> Result<usize, SweepError> {
    let mut due = sweeper.due().await?;
    // Results first: they are found by the rows of their epoch.
    due.sort_by_key(|(_, seat)| std::cmp::Reverse(seat.lane));
    for (unit, seat) in &due {
        let rows = match seat.lane {
            Lane::MINED => mined(timeline, *unit, seat.height.0).await?,
            Lane::EXECUTED => executed(timeline, *unit, seat).await?,
            _ => Vec::new(),
        };
        sweeper.sweep(&[(*unit, seat.clone())], rows).await?;
    }
    Ok(due.len())
}

/// A row that is beyond a limit cannot be put.
fn bound(error: BoundError) -> SweepError {
    PutError::from(error).into()
}

/// The spans of an epoch under a unit, with their numbers.
pub(crate) async fn spans(
    timeline: &Timeline,
    epoch: u64,
    unit: Unit,
) -> Result<Vec<(u32, Span)>, ViewError> {
    let partition = Sequenced(timeline.chain().clone(), epoch);
    let mut request = PageRequest {
        from: Bound::Included((epoch, unit, 0)),
        to: Bound::Included((epoch, unit, u32::MAX)),
        ..PageRequest::first(100)
    };
    let mut found = Vec::new();
    loop {
        let page = timeline.store().page(&SPANS, &partition, request.clone()).await?;
        found.extend(page.rows.into_iter().map(|((_, _, part), span)| (part, span)));
        request.cursor = page.next;
        if request.cursor.is_none() {
            return Ok(found);
        }
    }
}

/// The rows of a mined epoch.
async fn mined(timeline: &Timeline, unit: Unit, epoch: u64) -> Result<Vec<Row>, SweepError> {
    let chain = timeline.chain();
    let mut rows = Vec::new();
    for (part, span) in spans(timeline, epoch, unit).await? {
        rows.extend(listed(chain, unit, &span).map_err(bound)?);
        for (place, hash) in (0..).zip(&span.blocks) {
            rows.push(BLOCK_SEATS.sweep(&(chain.clone(), hash.0), &unit).map_err(bound)?);
            let order = span.orders.0 + place;
            if place >= u64::from(span.orders.1) {
                continue;
            }
            let packed = block_transactions(timeline, *hash, 0, usize::MAX).await?;
            for (index, transaction) in (0..).zip(packed) {
                let key = (chain.clone(), transaction.0);
                rows.push(PACKINGS.sweep(&key, &(order, index, unit)).map_err(bound)?);
            }
        }
        let partition = Sequenced(chain.clone(), epoch);
        rows.push(SPANS.sweep(&partition, &(epoch, unit, part)).map_err(bound)?);
        rows.push(EPOCHS.sweep(&partition, &(epoch, unit)).map_err(bound)?);
    }
    Ok(rows)
}

/// What stands in the lists.
fn listed(chain: &ChainName, unit: Unit, span: &Span) -> Result<Vec<Row>, BoundError> {
    let numbers = |(first, count): (u64, u32)| first..first + u64::from(count);
    let at = |number| (Sequenced(chain.clone(), number), (number, unit));
    let mut rows = Vec::new();
    for (partition, sort) in numbers(span.orders).map(at) {
        rows.push(BLOCKS_IN_ORDER.sweep(&partition, &sort)?);
    }
    for (partition, sort) in numbers(span.transactions).map(at) {
        rows.push(TRANSACTIONS_IN_ORDER.sweep(&partition, &sort)?);
    }
    for (partition, sort) in numbers(span.new_miners).map(at) {
        rows.push(MINERS.sweep(&partition, &sort)?);
    }
    for (address, position) in &span.accounts {
        rows.extend(OF_ACCOUNT.swept(chain, *address, (*position, unit))?);
    }
    for (address, position) in &span.miners {
        rows.extend(OF_MINER.swept(chain, *address, (*position, unit))?);
    }
    Ok(rows)
}

/// The rows of an executed epoch: its receipts.
async fn executed(timeline: &Timeline, unit: Unit, seat: &Seat) -> Result<Vec<Row>, SweepError> {
    let chain = timeline.chain();
    let mut rows = Vec::new();
    for block in blocks_of(timeline, seat).await? {
        rows.push(BLOCK_RESULTS.sweep(&(chain.clone(), block.0), &unit).map_err(bound)?);
        for transaction in block_transactions(timeline, block, 0, usize::MAX).await? {
            rows.push(RECEIPTS.sweep(&(chain.clone(), transaction.0), &unit).map_err(bound)?);
        }
    }
    Ok(rows)
}

/// The blocks of the epoch that had a pivot, on the chain or not.
async fn blocks_of(timeline: &Timeline, seat: &Seat) -> Result<Vec<Hash>, ViewError> {
    let number = seat.height.0;
    let mut request = PageRequest {
        from: Bound::Included((number, Unit(0))),
        to: Bound::Included((number, Unit(u64::MAX))),
        ..PageRequest::first(100)
    };
    let partition = Sequenced(timeline.chain().clone(), number);
    loop {
        let page = timeline.store().page(&EPOCHS, &partition, request.clone()).await?;
        let mut rows = page.rows.into_iter().map(|(_, row)| row.blocks);
        let found = rows.find(|blocks| blocks.last().is_some_and(|it| seat.hash == it.0));
        request.cursor = page.next;
        if found.is_some() || request.cursor.is_none() {
            return Ok(found.unwrap_or_default());
        }
    }
}
