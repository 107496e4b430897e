//! Reading stamped rows: the ones a view sees, and no others.

use std::ops::Bound;

use store::{KeyPart, Listing, Order, PageRequest, Partition, Read, Sequenced, Table, Value};

use crate::tables::{BUCKET, HEIGHTS, SEATS};
use crate::{Height, Lane, Seat, Sight, Stamped, Timeline, Unit, UnitRow, ViewError};

/// Pages of the store one request may read before it answers with what it has.
const PAGES: usize = 64;
/// Attempts at one place that a look-up reads at a time.
const ATTEMPTS: usize = 64;

impl Timeline {
    /// A page of stamped rows that `sight` sees. Invisible rows are skipped, so a page may end with
    /// fewer rows than asked and still say where to go on.
    ///
    /// # Errors
    /// When the rows cannot be read.
    pub async fn visible_page<P: Partition, S: KeyPart + Stamped + Clone, V: Value>(
        &self,
        sight: &dyn Sight,
        table: &'static Table<P, S, V>,
        partition: &P,
        mut request: PageRequest<S>,
    ) -> Result<Listing<S, V>, ViewError> {
        let limit = request.limit;
        let mut rows = Vec::new();
        for _ in 0..PAGES {
            request.limit = limit - rows.len();
            let page = self.store().page(table, partition, request.clone()).await?;
            rows.extend(page.rows.into_iter().filter(|(sort, _)| sight.sees(sort.unit())));
            request.cursor = page.next;
            if request.cursor.is_none() || rows.len() == limit {
                break;
            }
        }
        Ok(Listing { version: store::Version::NEVER, rows, next: request.cursor })
    }

    /// The first row between two sort keys that `sight` sees: the point look-up of a stamped row.
    ///
    /// # Errors
    /// When the rows cannot be read.
    pub async fn first_visible<P: Partition, S: KeyPart + Stamped + Clone, V: Value>(
        &self,
        sight: &dyn Sight,
        table: &'static Table<P, S, V>,
        partition: &P,
        from: S,
        to: S,
    ) -> Result<Option<(S, V)>, ViewError> {
        let mut request = PageRequest {
            from: Bound::Included(from),
            to: Bound::Included(to),
            order: Order::Ascending,
            limit: ATTEMPTS,
            cursor: None,
            read: Read::Quorum,
        };
        loop {
            let page = self.store().page(table, partition, request.clone()).await?;
            let found = page.rows.into_iter().find(|(sort, _)| sight.sees(sort.unit()));
            if found.is_some() || page.next.is_none() {
                return Ok(found);
            }
            request.cursor = page.next;
        }
    }

    /// The unit of a lane at a height.
    ///
    /// # Errors
    /// When the rows cannot be read.
    pub async fn unit_at(
        &self,
        sight: &dyn Sight,
        lane: Lane,
        height: Height,
    ) -> Result<Option<(Unit, UnitRow)>, ViewError> {
        let partition = Sequenced((self.chain().clone(), lane.0), height.0);
        let (from, to) = ((height.0, Unit(0)), (height.0, Unit(u64::MAX)));
        let found = self.first_visible(sight, &HEIGHTS, &partition, from, to).await?;
        Ok(found.map(|((_, unit), row)| (unit, row)))
    }

    /// The units of a lane between two heights, lowest first.
    ///
    /// # Errors
    /// When the rows cannot be read.
    pub async fn units_between(
        &self,
        sight: &dyn Sight,
        lane: Lane,
        from: Height,
        to: Height,
    ) -> Result<Vec<(Height, Unit, UnitRow)>, ViewError> {
        let mut found = Vec::new();
        let mut start = from.0;
        while start <= to.0 {
            let end = ((start / BUCKET + 1) * BUCKET - 1).min(to.0);
            let mut request = PageRequest {
                from: Bound::Included((start, Unit(0))),
                to: Bound::Included((end, Unit(u64::MAX))),
                ..PageRequest::first(1000)
            };
            let partition = Sequenced((self.chain().clone(), lane.0), start);
            loop {
                let page = self.visible_page(sight, &HEIGHTS, &partition, request.clone()).await?;
                let unit = |((height, unit), row)| (Height(height), unit, row);
                found.extend(page.rows.into_iter().map(unit));
                request.cursor = page.next;
                if request.cursor.is_none() {
                    break;
                }
            }
            start = end + 1;
        }
        Ok(found)
    }

    /// Where a unit stands or stood, whether it is visible or not.
    ///
    /// # Errors
    /// When the row cannot be read.
    pub async fn seat(&self, unit: Unit) -> Result<Option<Seat>, ViewError> {
        let partition = Sequenced(self.chain().clone(), unit.0);
        Ok(self.store().get(&SEATS, &partition, &unit).await?)
    }
}
