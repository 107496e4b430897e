//! Ordered lists with cumulative sums on every row.
//!
//! ```text
//! position   0    1    2    3    4    5      a list over all units of a chain
//! unit       1    1    2    3    3    3
//! value      4    1    7    2    2    9
//! sums       4    5   12   14   16   25      "the last 3" = sums[5] − sums[2] = 13
//! ```
//!
//! The sum over the last N rows is the difference of two rows, even when its edge lies inside a
//! unit, and a pop subtracts nothing.

use std::ops::Bound;

use placement::Placement;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use store::{BoundError, DecodeError, KeyPart, Order, PageRequest, Row, Sequenced, Table, Value};

use crate::{Sight, Timeline, Unit, ViewError};

/// Sums a row may carry.
const MOST_SUMS: usize = 8;

/// A row of an ordered list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListRow<V> {
    /// Sums over all rows up to and including this one. 128 bits each: enough for a difficulty of
    /// 2^64 in each of 2^64 blocks.
    pub sums: Vec<u128>,
    /// What stands there.
    pub value: V,
}

impl<V: Serialize + DeserializeOwned> Value for ListRow<V> {
    const FORMAT: u8 = 1;
    fn encode(&self, out: &mut Vec<u8>) {
        let written = store::encode_serde(self, std::mem::take(out));
        *out = written;
    }
    fn decode(_format: u8, payload: &[u8]) -> Result<Self, DecodeError> {
        store::decode_serde(payload)
    }
}

/// Sums over a stretch of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summed {
    /// Rows in the stretch.
    pub rows: u64,
    /// Their sums.
    pub sums: Vec<u128>,
}

/// The table of an ordered list: rows by position, stamped, in buckets.
pub type ListTable<P, V> = Table<Sequenced<P>, (u64, Unit), ListRow<V>>;

/// An ordered list of a chain.
#[derive(Debug)]
pub struct OrderedList<'a, P: 'static, V: 'static> {
    timeline: &'a Timeline,
    table: &'static ListTable<P, V>,
    key: P,
}

impl<'a, P: KeyPart + Clone, V: Serialize + DeserializeOwned> OrderedList<'a, P, V> {
    /// The list under `key` of a bucketed table.
    #[must_use]
    pub fn new(timeline: &'a Timeline, table: &'static ListTable<P, V>, key: P) -> Self {
        Self { timeline, table, key }
    }

    /// The row of `unit` at `position`, to be put before its unit is published.
    ///
    /// # Errors
    /// When it is beyond a limit.
    pub fn row(&self, position: u64, unit: Unit, row: &ListRow<V>) -> Result<Row, BoundError> {
        let partition = Sequenced(self.key.clone(), position);
        self.table.row(&partition, &(position, unit), row)
    }

    /// The row at a position.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn at(
        &self,
        sight: &dyn Sight,
        position: u64,
    ) -> Result<Option<ListRow<V>>, ViewError> {
        let partition = Sequenced(self.key.clone(), position);
        let (from, to) = ((position, Unit(0)), (position, Unit(u64::MAX)));
        let found = self.timeline.first_visible(sight, self.table, &partition, from, to).await?;
        Ok(found.map(|(_, row)| row))
    }

    /// Sums over the last `count` rows of a list that has `rows` rows.
    ///
    /// # Errors
    /// When an edge cannot be read.
    pub async fn last(
        &self,
        sight: &dyn Sight,
        rows: u64,
        count: u64,
    ) -> Result<Option<Summed>, ViewError> {
        let Some(end) = rows.checked_sub(1) else { return Ok(None) };
        let Some(newest) = self.at(sight, end).await? else { return Ok(None) };
        let mut sums = newest.sums;
        if count < rows {
            let Some(before) = self.at(sight, end - count).await? else { return Ok(None) };
            for (sum, before) in sums.iter_mut().zip(before.sums).take(MOST_SUMS) {
                *sum = sum.saturating_sub(before);
            }
        }
        Ok(Some(Summed { rows: count.min(rows), sums }))
    }

    /// Up to `limit` rows from a position on, in either direction, across buckets.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn page(
        &self,
        sight: &dyn Sight,
        start: u64,
        order: Order,
        limit: usize,
    ) -> Result<Vec<(u64, ListRow<V>)>, ViewError> {
        let mut found = Vec::new();
        let mut next = Some(start);
        while let Some(from) = next.filter(|_| found.len() < limit) {
            let before = found.len();
            let (low, high) = self.bucket(from);
            let (low, high) = match order {
                Order::Ascending => (from, high),
                Order::Descending => (low, from),
            };
            let mut request = PageRequest {
                from: Bound::Included((low, Unit(0))),
                to: Bound::Included((high, Unit(u64::MAX))),
                order,
                ..PageRequest::first(limit - found.len())
            };
            let partition = Sequenced(self.key.clone(), from);
            loop {
                let page = self
                    .timeline
                    .visible_page(sight, self.table, &partition, request.clone())
                    .await?;
                found.extend(page.rows.into_iter().map(|((position, _), row)| (position, row)));
                request.cursor = page.next;
                if request.cursor.is_none() || found.len() >= limit {
                    break;
                }
                request.limit = limit - found.len();
            }
            next = match order {
                Order::Ascending if found.len() == before => None,
                Order::Ascending => high.checked_add(1),
                Order::Descending => low.checked_sub(1),
            };
        }
        Ok(found)
    }

    /// First and last position of the bucket of `position`.
    fn bucket(&self, position: u64) -> (u64, u64) {
        let size = match self.table.def().placement() {
            Placement::Bucketed { size } => size.max(1),
            _ => return (0, u64::MAX),
        };
        let low = position / size * size;
        (low, low.saturating_add(size - 1))
    }
}
