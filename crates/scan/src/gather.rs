//! Many answers at once: what a page of a list needs to say about each of its lines.
//!
//! Reads go out side by side, a stated few at a time, so that a page costs some journeys and not
//! one for each of its lines.

use std::future::Future;

use futures_util::{StreamExt as _, TryStreamExt as _};
use timeline::{OrderedList, ViewError};

use crate::query::{AT_ONCE, BlockAnswer, Scan, TransactionAnswer};
use crate::tables::{BLOCKS_IN_ORDER, BlockLine};
use crate::{Address, Hash};

/// A place in the order of blocks, with the sums up to and including it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The place.
    pub order: u64,
    /// The time of the block that stands there, Unix seconds.
    pub timestamp: u64,
    /// The sum of all difficulties.
    pub difficulty: u128,
    /// Packed transactions, repeats included.
    pub transactions: u128,
}

impl Scan<'_> {
    /// Blocks by their hashes, in the order asked.
    ///
    /// # Errors
    /// When one cannot be read.
    pub async fn blocks_of(&self, hashes: &[Hash]) -> Result<Vec<Option<BlockAnswer>>, ViewError> {
        at_once(hashes, |hash| self.block(hash)).await
    }

    /// Transactions by their hashes, in the order asked.
    ///
    /// # Errors
    /// When one cannot be read.
    pub async fn transactions_of(
        &self,
        hashes: &[Hash],
    ) -> Result<Vec<Option<TransactionAnswer>>, ViewError> {
        at_once(hashes, |hash| self.transaction(hash)).await
    }

    /// How many blocks each of these miners has, in the order asked.
    ///
    /// # Errors
    /// When one cannot be read.
    pub async fn miner_counts(&self, miners: &[Address]) -> Result<Vec<u64>, ViewError> {
        at_once(miners, |miner| self.miner_count(miner)).await
    }

    /// The blocks at some places of the order, as asked; none where the order has ended.
    ///
    /// # Errors
    /// When one cannot be read.
    pub async fn blocks_at(&self, orders: &[u64]) -> Result<Vec<Option<BlockLine>>, ViewError> {
        let rows = self.rows_at(orders).await?;
        Ok(rows.into_iter().map(|row| row.map(|row| row.value)).collect())
    }

    /// Up to `points` places, evenly spaced over the last `blocks` blocks and both ends included,
    /// lowest first. Sums stand on every row, so any span costs `points` reads.
    ///
    /// # Errors
    /// When one cannot be read.
    pub async fn samples(&self, points: u64, blocks: u64) -> Result<Vec<Sample>, ViewError> {
        let rows = self.totals().await?.blocks;
        let orders = spaced(rows, points, blocks);
        let found = self.rows_at(&orders).await?;
        let sample = |(order, row): (&u64, Option<timeline::ListRow<BlockLine>>)| {
            let row = row?;
            let sum = |index: usize| row.sums.get(index).copied().unwrap_or_default();
            let (difficulty, transactions) = (sum(0), sum(1));
            Some(Sample { order: *order, timestamp: row.value.timestamp, difficulty, transactions })
        };
        Ok(orders.iter().zip(found).filter_map(sample).collect())
    }

    async fn rows_at(
        &self,
        orders: &[u64],
    ) -> Result<Vec<Option<timeline::ListRow<BlockLine>>>, ViewError> {
        let chain = self.timeline.chain().clone();
        let list = OrderedList::new(self.timeline, &BLOCKS_IN_ORDER, chain);
        let list = &list;
        at_once(orders, |order| list.at(self.view, order)).await
    }
}

/// Asks for each of `keys`, some at a time; the answers keep their order.
async fn at_once<K: Copy, T, F: Future<Output = Result<T, ViewError>>>(
    keys: &[K],
    ask: impl Fn(K) -> F,
) -> Result<Vec<T>, ViewError> {
    // Made before they are polled: a stream that borrows the keys cannot be told to be `Send`.
    let asked: Vec<F> = keys.iter().map(|key| ask(*key)).collect();
    futures_util::stream::iter(asked).buffered(AT_ONCE).try_collect().await
}

/// Places in a list of `rows`, over its last `blocks`.
fn spaced(rows: u64, points: u64, blocks: u64) -> Vec<u64> {
    let Some(last) = rows.checked_sub(1).filter(|_| points > 0 && blocks > 0) else {
        return Vec::new();
    };
    let steps = blocks.min(rows) - 1;
    let first = last - steps;
    let gaps = (points - 1).min(steps);
    // In 128 bits: a step times a point may be more than 64.
    let place = |index: u64| match gaps {
        0 => last,
        gaps => first + (u128::from(steps) * u128::from(index) / u128::from(gaps)) as u64,
    };
    (0..=gaps).map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_evenly_spaced_and_keep_both_ends() {
        let check = |(rows, points, blocks), expected: &[u64]| {
            assert_eq!(spaced(rows, points, blocks), expected, "{rows} {points} {blocks}");
        };
        check((0, 5, 5), &[]);
        check((10, 0, 5), &[]);
        check((10, 5, 0), &[]);
        check((1, 5, 5), &[0]);
        check((10, 1, 5), &[9]);
        check((10, 2, 5), &[5, 9]);
        check((10, 5, 3), &[7, 8, 9]);
        check((10, 4, 100), &[0, 3, 6, 9]);
        check((u64::MAX, 3, u64::MAX), &[0, (u64::MAX - 1) / 2, u64::MAX - 1]);
    }
}
