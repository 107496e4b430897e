//! `range`: rows of one partition in order.
//!
//! A page that fits into one answer is of one moment. What does not is read on until the page is
//! full, and a guarded page ends where the partition changed meanwhile.

use bytes::Bytes;
use scylla::response::query_result::{QueryResult, QueryRowsResult};
use scylla::response::{PagingState, PagingStateResponse};
use scylla::serialize::SerializationError;
use scylla::serialize::row::{RowSerializationContext, SerializeRow};
use scylla::serialize::writers::RowWriter;
use store::{
    Bound, EngineError, Order, Page, PageRows, RangeRequest, ReadError, Version, Writes, limits,
};

use crate::cql::Kind;
use crate::engine::CassandraEngine;
use crate::layout;
use crate::read::{CHANGES, column, restless, rows_result, strange, to_version};

impl CassandraEngine {
    pub(crate) async fn read_range(&self, request: &RangeRequest) -> Result<Page, ReadError> {
        self.must_have(request.table)?;
        let partition = request.partition.as_bytes();
        let _turn = self.turn_to_read(request.table, partition, request.read).await?;
        let ends = Ends::new(request);
        let guarded = request.table.writes() == Writes::Guarded;
        for _ in 0..CHANGES {
            let (page, version) = self.range_once(request, &ends).await?;
            if !guarded || version.is_some() {
                return Ok(page);
            }
            // No row carried the version, so nothing shows of which moment the emptiness is.
            let before = self.version(request.table, partition, request.read).await?;
            // No commit until now: nothing can have changed since no row was there.
            if page.rows.is_empty() && (before == Version::NEVER || ends.is_empty()) {
                return Ok(Page { version: before, ..page });
            }
            let page = self.range_once(request, &ends).await?.0;
            let after = self.version(request.table, partition, request.read).await?;
            if before == after && page.rows.is_empty() {
                return Ok(Page { version: before, ..page });
            }
        }
        Err(restless(request.table))
    }

    /// Reads until the page is full. A guarded page ends where the partition changed meanwhile.
    async fn range_once(
        &self,
        request: &RangeRequest,
        ends: &Ends,
    ) -> Result<(Page, Option<Version>), ReadError> {
        let mut filling = Filling::new(request);
        let mut state = PagingState::start();
        while !ends.is_empty() {
            let (result, next) = self.range_page(request, ends, state).await?;
            let full = filling.add(rows_result(result)?)?;
            match next {
                PagingStateResponse::HasMorePages { state: next } if !full => state = next,
                _ => break,
            }
        }
        Ok((filling.page, filling.version))
    }

    async fn range_page(
        &self,
        request: &RangeRequest,
        ends: &Ends,
        state: PagingState,
    ) -> Result<(QueryResult, PagingStateResponse), ReadError> {
        let kind = match (request.order, &ends.below) {
            (Order::Ascending, None) => Kind::From,
            (Order::Ascending, Some(_)) => Kind::Between,
            (Order::Descending, None) => Kind::FromDown,
            (Order::Descending, Some(_)) => Kind::BetweenDown,
        };
        let statement = self.prepared(request.table, kind, request.read).await?;
        // One more than asked for, to know whether rows follow.
        let limit = i32::try_from(request.limit + 1).unwrap_or(i32::MAX);
        let values = RangeValues { partition: request.partition.as_bytes(), ends, limit };
        let (doing, session) = ("reading a range", &self.session);
        // What fits into one page costs the cluster less without paging.
        if limit <= statement.get_page_size() {
            let all = self.repeat(doing, || session.execute_unpaged(&statement, &values)).await?;
            return Ok((all, PagingStateResponse::NoMorePages));
        }
        let page = || session.execute_single_page(&statement, &values, state.clone());
        Ok(self.repeat(doing, page).await?)
    }
}

/// The values of a range's statement, with or without an upper end.
struct RangeValues<'a> {
    partition: &'a [u8],
    ends: &'a Ends,
    limit: i32,
}

impl SerializeRow for RangeValues<'_> {
    fn serialize(
        &self,
        context: &RowSerializationContext<'_>,
        writer: &mut RowWriter<'_>,
    ) -> Result<(), SerializationError> {
        let Self { partition, ends: Ends { from, below }, limit } = self;
        match below {
            None => (partition, from, limit).serialize(context, writer),
            Some(below) => (partition, from, below, limit).serialize(context, writer),
        }
    }

    fn is_empty(&self) -> bool {
        false
    }
}

type Guarded<'a> = (Option<&'a [u8]>, Option<&'a [u8]>, Option<i64>);

/// A page while it is filled.
struct Filling<'r> {
    request: &'r RangeRequest,
    page: Page,
    version: Option<Version>,
}

impl<'r> Filling<'r> {
    fn new(request: &'r RangeRequest) -> Self {
        Self { request, page: Page::default(), version: None }
    }

    /// Adds the rows of one answer; whether nothing more belongs to the page.
    fn add(&mut self, rows: QueryRowsResult) -> Result<bool, EngineError> {
        if self.page.rows.is_empty() {
            let count = rows.rows_num().min(self.request.limit);
            self.page.rows = PageRows::with_capacity(count, rows.rows_bytes_size());
        }
        if self.request.table.writes() == Writes::Once {
            for row in rows.rows::<(&[u8], &[u8])>().map_err(strange)? {
                let (sort, value) = row.map_err(strange)?;
                if self.push(sort, value) {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        for row in rows.rows::<Guarded<'_>>().map_err(strange)? {
            let (sort, value, stored) = row.map_err(strange)?;
            let seen = stored.map(to_version);
            if self.version.is_some() && seen.is_some() && self.version != seen {
                self.page.more = true;
                return Ok(true);
            }
            self.version = self.version.or(seen);
            self.page.version = self.version.unwrap_or_default();
            let Some((sort, value)) = sort.zip(value) else { continue };
            if self.push(sort.get(1..).unwrap_or_default(), value) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Adds a row unless the page is full.
    fn push(&mut self, sort: &[u8], value: &[u8]) -> bool {
        let bytes = self.page.rows.bytes() + sort.len() + value.len();
        let full = self.page.rows.len() == self.request.limit;
        if full || (bytes > limits::PAGE_BYTES && !self.page.rows.is_empty()) {
            self.page.more = true;
            return true;
        }
        self.page.rows.push(sort, value);
        false
    }
}

/// The ends of a range as columns: from, included, and below, excluded.
struct Ends {
    from: Vec<u8>,
    below: Option<Vec<u8>>,
}

impl Ends {
    fn new(request: &RangeRequest) -> Self {
        let table = request.table;
        let after = |sort: &Bytes| {
            let mut bytes = column(table, sort);
            // The smallest key above.
            bytes.push(0);
            bytes
        };
        let from = match &request.from {
            Bound::Unbounded => column(table, &[]),
            Bound::Included(sort) => column(table, sort),
            Bound::Excluded(sort) => after(sort),
        };
        let below = match &request.to {
            Bound::Unbounded => (table.writes() == Writes::Guarded).then(layout::rows_end),
            Bound::Included(sort) => Some(after(sort)),
            Bound::Excluded(sort) => Some(column(table, sort)),
        };
        Self { from, below }
    }

    /// Whether no sort can lie between them.
    fn is_empty(&self) -> bool {
        self.below.as_ref().is_some_and(|below| self.from >= *below)
    }
}
