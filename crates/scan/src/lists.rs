//! Lists under an address: they grow in buckets, and a directory says which is the last.

use serde::Serialize;
use serde::de::DeserializeOwned;
use store::{BoundError, Order, PageRequest, Row, Sequenced};
use timeline::{ChainName, ListRow, ListTable, OrderedList, Sight, Timeline, Unit, ViewError};

use crate::Address;
use crate::tables::{
    ACCOUNT_TRANSACTIONS, AccountLine, BUCKET, ByAddress, LIST_BUCKETS, MINER_BLOCKS, MinerLine,
};

/// Rows that a look for the newest one reads at first; nearly always the first of them counts.
const FIRST_LOOK: usize = 4;
/// Rows that it reads at a time when attempts that were given up lie above it.
const LOOK: usize = 64;

/// A list that every address may have one of.
pub(crate) struct Grown<V: 'static> {
    /// Tells it from the others in the directory.
    number: u8,
    table: &'static ListTable<ByAddress, V>,
}

/// Transactions of an account.
pub(crate) const OF_ACCOUNT: Grown<AccountLine> = Grown { number: 0, table: &ACCOUNT_TRANSACTIONS };
/// Blocks of a miner.
pub(crate) const OF_MINER: Grown<MinerLine> = Grown { number: 1, table: &MINER_BLOCKS };

impl<V: Serialize + DeserializeOwned> Grown<V> {
    /// The rows of one entry at `position`.
    pub(crate) fn rows(
        &self,
        chain: &ChainName,
        address: Address,
        (position, unit): (u64, Unit),
        value: V,
    ) -> Result<Vec<Row>, BoundError> {
        let key = (chain.clone(), address.0);
        let row = ListRow { sums: Vec::new(), value };
        let mut rows = vec![self.table.row(&Sequenced(key, position), &(position, unit), &row)?];
        if position % BUCKET == 0 {
            let directory = (chain.clone(), self.number, address.0);
            rows.push(LIST_BUCKETS.row(&directory, &(position / BUCKET, unit), &())?);
        }
        Ok(rows)
    }

    /// The same rows, to be swept.
    pub(crate) fn swept(
        &self,
        chain: &ChainName,
        address: Address,
        (position, unit): (u64, Unit),
    ) -> Result<Vec<Row>, BoundError> {
        let key = (chain.clone(), address.0);
        let mut rows = vec![self.table.sweep(&Sequenced(key, position), &(position, unit))?];
        if position % BUCKET == 0 {
            let directory = (chain.clone(), self.number, address.0);
            rows.push(LIST_BUCKETS.sweep(&directory, &(position / BUCKET, unit))?);
        }
        Ok(rows)
    }

    /// How many entries the list has.
    pub(crate) async fn count(
        &self,
        timeline: &Timeline,
        sight: &dyn Sight,
        address: Address,
    ) -> Result<u64, ViewError> {
        let directory = (timeline.chain().clone(), self.number, address.0);
        let newest = |limit| PageRequest { order: Order::Descending, ..PageRequest::first(limit) };
        let mut request = newest(FIRST_LOOK);
        let bucket = loop {
            let page =
                timeline.visible_page(sight, &LIST_BUCKETS, &directory, request.clone()).await?;
            if let Some(((bucket, _), ())) = page.rows.first() {
                break *bucket;
            }
            (request.cursor, request.limit) = (page.next, LOOK);
            if request.cursor.is_none() {
                return Ok(0);
            }
        };
        let partition = Sequenced((timeline.chain().clone(), address.0), bucket * BUCKET);
        let mut request = newest(FIRST_LOOK);
        loop {
            let page =
                timeline.visible_page(sight, self.table, &partition, request.clone()).await?;
            if let Some(((position, _), _)) = page.rows.first() {
                return Ok(position + 1);
            }
            (request.cursor, request.limit) = (page.next, LOOK);
            if request.cursor.is_none() {
                // The bucket was begun by a unit that this sight sees, so its first entry is there.
                return Ok(bucket * BUCKET);
            }
        }
    }

    /// Up to `limit` entries from `start` on, in either direction.
    pub(crate) async fn page(
        &self,
        timeline: &Timeline,
        sight: &dyn Sight,
        address: Address,
        (start, order, limit): (u64, Order, usize),
    ) -> Result<Vec<(u64, V)>, ViewError> {
        let key = (timeline.chain().clone(), address.0);
        let list = OrderedList::new(timeline, self.table, key);
        let rows = list.page(sight, start, order, limit).await?;
        Ok(rows.into_iter().map(|(position, row)| (position, row.value)).collect())
    }
}
