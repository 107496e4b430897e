//! Walks tables in token order.
//!
//! A cluster has no view of one moment: a walk sees each guarded partition whole, but each at
//! another moment. What needs one moment of all needs the writers to stand still; the commands that
//! do say so.

use std::ops::ControlFlow;

use bytes::{BufMut as _, Bytes, BytesMut};
use scylla::response::query_result::QueryRowsResult;
use scylla::response::{PagingState, PagingStateResponse};
use store::{
    EngineError, Entry, PartitionKey, Read, ReadError, RowKey, TableDef, Task, Version, WalkPage,
    Walker, Writes,
};

use crate::cql::Kind;
use crate::engine::CassandraEngine;
use crate::layout::{self, Named, Operation};
use crate::read::{CHANGES, restless, rows_result, strange, to_version};

/// Walks the cluster's tables.
pub(crate) struct TokenWalker<'e>(pub(crate) &'e CassandraEngine);

/// Where a walk is.
enum Position {
    Start,
    /// In a `Once` table: the driver's own position.
    State(PagingState),
    /// In a guarded table: behind this partition and all of its token.
    After(Bytes),
}

impl Position {
    const STATE: u8 = 0;
    const AFTER: u8 = 1;

    fn encode(&self) -> Option<Bytes> {
        let mut bytes = BytesMut::new();
        match self {
            Self::Start => return None,
            Self::State(state) => {
                bytes.put_u8(Self::STATE);
                state.as_bytes_slice().into_iter().for_each(|state| bytes.put_slice(state));
            }
            Self::After(partition) => {
                bytes.put_u8(Self::AFTER);
                bytes.put_slice(partition);
            }
        }
        Some(bytes.freeze())
    }

    fn decode(bytes: Option<Bytes>) -> Option<Self> {
        let Some(bytes) = bytes else { return Some(Self::Start) };
        match *bytes.first()? {
            Self::STATE => Some(Self::State(PagingState::new_from_raw_bytes(bytes.get(1..)?))),
            Self::AFTER => Some(Self::After(bytes.slice(1..))),
            _ => None,
        }
    }
}

impl Walker for TokenWalker<'_> {
    fn page<'a>(
        &'a self,
        table: &'static TableDef,
        position: Option<Bytes>,
        _limit: usize,
    ) -> Task<'a, Result<WalkPage, ReadError>> {
        // The statement has a limit of its own, chosen by the size of the table's rows.
        Box::pin(async move {
            if !self.0.has(table) {
                return Err(ReadError::NoTable { table: table.name() });
            }
            let rubbish =
                || EngineError::new("this is no position of a walk", "begin at the start");
            let position = Position::decode(position).ok_or_else(rubbish)?;
            match table.writes() {
                Writes::Once => Ok(self.facts(table, position).await?),
                Writes::Guarded => self.partitions(table, position).await,
            }
        })
    }
}

impl TokenWalker<'_> {
    /// Rows of a `Once` table never change: pages are as the driver makes them.
    async fn facts(
        &self,
        table: &'static TableDef,
        position: Position,
    ) -> Result<WalkPage, EngineError> {
        let state = match position {
            Position::State(state) => state,
            _ => PagingState::start(),
        };
        let (rows, next) = self.read(table, Kind::Walk, None, state).await?;
        let mut reader = Reader::new(table);
        for row in rows.rows::<(Bytes, Bytes, Bytes)>().map_err(strange)? {
            let (partition, sort, value) = row.map_err(strange)?;
            reader.row(&partition, &sort, value)?;
        }
        let next = next.and_then(|state| Position::State(state).encode());
        Ok(WalkPage { entries: reader.entries, next })
    }

    /// Whole partitions of a guarded table. The last of a page may go on in the next one, which is
    /// read later: it is read again by itself.
    async fn partitions(
        &self,
        table: &'static TableDef,
        position: Position,
    ) -> Result<WalkPage, ReadError> {
        let (kind, after) = match &position {
            Position::After(partition) => (Kind::WalkOn, Some(partition)),
            _ => (Kind::Walk, None),
        };
        let mut reader = Reader::new(table);
        let mut more = Some(PagingState::start());
        // A page may have nothing but deleted rows.
        while let Some(state) = more.take_if(|_| reader.last.is_empty()) {
            let (rows, next) = self.read(table, kind, after, state).await?;
            // One answer has one version of a partition. Were it otherwise, rows would be missing.
            if reader.page(&rows)?.is_break() {
                return Err(restless(table));
            }
            more = next;
        }
        if more.is_none() {
            return Ok(WalkPage { entries: reader.entries, next: None });
        }
        let last = reader.last;
        let mut entries = reader.entries;
        entries.retain(|entry| entry.partition() != last);
        let of_token = self.of_token(table, &last).await?;
        // Another partition of the same token is as good as impossible, and told once all the same.
        let is_new = |entry: &Entry| {
            let partition = entry.partition();
            partition == last || entries.iter().all(|told| told.partition() != partition)
        };
        let whole: Vec<Entry> = of_token.into_iter().filter(is_new).collect();
        entries.extend(whole);
        Ok(WalkPage { entries, next: Position::After(last).encode() })
    }

    /// All partitions that have the token of this one.
    async fn of_token(
        &self,
        table: &'static TableDef,
        partition: &Bytes,
    ) -> Result<Vec<Entry>, ReadError> {
        for _ in 0..CHANGES {
            let mut reader = Reader::new(table);
            let mut state = PagingState::start();
            loop {
                let (rows, next) =
                    self.read(table, Kind::WalkToken, Some(partition), state).await?;
                match (reader.page(&rows)?, next) {
                    (ControlFlow::Break(()), _) => break,
                    (ControlFlow::Continue(()), None) => return Ok(reader.entries),
                    (ControlFlow::Continue(()), Some(next)) => state = next,
                }
            }
        }
        Err(restless(table))
    }

    async fn read(
        &self,
        table: &'static TableDef,
        kind: Kind,
        partition: Option<&Bytes>,
        state: PagingState,
    ) -> Result<(QueryRowsResult, Option<PagingState>), EngineError> {
        let engine = self.0;
        let statement = engine.prepared(table, kind, Read::Quorum).await?;
        let values: Vec<&Bytes> = partition.into_iter().collect();
        let page = || engine.session.execute_single_page(&statement, &values, state.clone());
        let (result, next) = engine.repeat("walking", page).await?;
        let next = match next {
            PagingStateResponse::HasMorePages { state } => Some(state),
            PagingStateResponse::NoMorePages => None,
        };
        Ok((rows_result(result)?, next))
    }
}

/// Turns rows into entries.
struct Reader {
    table: &'static TableDef,
    /// The partition whose rows are being read, and its version.
    last: Bytes,
    version: Option<Version>,
    entries: Vec<Entry>,
}

impl Reader {
    fn new(table: &'static TableDef) -> Self {
        Self { table, last: Bytes::new(), version: None, entries: Vec::new() }
    }

    /// Adds guarded rows; breaks where a partition changed since its first row was read.
    fn page(&mut self, rows: &QueryRowsResult) -> Result<ControlFlow<()>, EngineError> {
        type Guarded = (Bytes, Option<Bytes>, Option<Bytes>, Option<i64>);
        for row in rows.rows::<Guarded>().map_err(strange)? {
            let (partition, sort, value, version) = row.map_err(strange)?;
            let version = version.map(to_version);
            if self.last == partition && self.version != version {
                return Ok(ControlFlow::Break(()));
            }
            self.guarded(partition, sort.zip(value), version)?;
        }
        Ok(ControlFlow::Continue(()))
    }

    fn row(&mut self, partition: &[u8], sort: &[u8], value: Bytes) -> Result<(), EngineError> {
        let key = RowKey::new(self.table, partition, sort).map_err(damaged)?;
        self.entries.push(Entry::Row { key, value });
        Ok(())
    }

    fn guarded(
        &mut self,
        partition: Bytes,
        cells: Option<(Bytes, Bytes)>,
        version: Option<Version>,
    ) -> Result<(), EngineError> {
        let key = PartitionKey::new(self.table, partition.clone()).map_err(damaged)?;
        if self.last != partition {
            (self.last, self.version) = (partition.clone(), version);
            let partition = key.clone();
            self.entries.extend(version.map(|version| Entry::Version { partition, version }));
        }
        let Some((sort, value)) = cells else { return Ok(()) };
        match layout::named(&sort).ok_or_else(|| damaged("a sort key of no kind"))? {
            Named::Row(sort) => self.row(&partition, &sort, value),
            Named::Operation(op) => {
                let operation = Operation::decode(&value);
                let Operation { version, expires, result } =
                    operation.ok_or_else(|| damaged("an operation that is none"))?;
                self.entries.push(Entry::Operation {
                    partition: key,
                    op,
                    version,
                    expires,
                    result,
                });
                Ok(())
            }
        }
    }
}

fn damaged(what: impl std::fmt::Display) -> EngineError {
    EngineError::new(format!("a row cannot be read: {what}"), "restore a backup")
}
