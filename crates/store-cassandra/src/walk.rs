//! Walks tables in token order.
//!
//! A cluster has no view of one moment: a walk sees each partition as it is when it comes by. What
//! needs one moment needs the writers to stand still; the commands that do say so.

use bytes::{BufMut as _, Bytes, BytesMut};
use scylla::response::{PagingState, PagingStateResponse};
use store::{
    EngineError, Entry, PartitionKey, Read, ReadError, RowKey, TableDef, Task, Version, WalkPage,
    Walker, Writes,
};

use crate::cql::Kind;
use crate::engine::CassandraEngine;
use crate::layout::{self, Named, Operation};
use crate::read::{rows_result, strange, to_version};

/// Walks the cluster's tables.
pub(crate) struct TokenWalker<'e>(pub(crate) &'e CassandraEngine);

/// Where a walk is: the driver's own position, and the partition whose version was told last.
struct Position {
    state: PagingState,
    partition: Bytes,
}

impl Position {
    fn encode(state: &PagingState, partition: &Bytes) -> Bytes {
        let state = state.as_bytes_slice().map(|bytes| bytes.to_vec()).unwrap_or_default();
        let mut bytes = BytesMut::with_capacity(1 + partition.len() + state.len());
        // A partition key has at most 255 bytes.
        bytes.put_u8(u8::try_from(partition.len()).unwrap_or(u8::MAX));
        bytes.put_slice(partition);
        bytes.put_slice(&state);
        bytes.freeze()
    }

    fn decode(bytes: Option<Bytes>) -> Option<Self> {
        let Some(bytes) = bytes else {
            return Some(Self { state: PagingState::start(), partition: Bytes::new() });
        };
        let length = usize::from(*bytes.first()?);
        let state = PagingState::new_from_raw_bytes(bytes.get(1 + length..)?);
        Some(Self { state, partition: bytes.slice(1..=length) })
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
            Ok(self.read(table, position).await?)
        })
    }
}

impl TokenWalker<'_> {
    async fn read(
        &self,
        table: &'static TableDef,
        position: Position,
    ) -> Result<WalkPage, EngineError> {
        let engine = self.0;
        let statement = engine.prepared(table, Kind::Walk, Read::Quorum).await?;
        let state = &position.state;
        let (result, next) = engine
            .repeat("walking", || engine.session.execute_single_page(&statement, (), state.clone()))
            .await?;
        let rows = rows_result(result)?;
        let mut reader = Reader { table, last: position.partition, entries: Vec::new() };
        if table.writes() == Writes::Once {
            for row in rows.rows::<(Bytes, Bytes, Bytes)>().map_err(strange)? {
                let (partition, sort, value) = row.map_err(strange)?;
                reader.row(&partition, &sort, value)?;
            }
        } else {
            type Guarded = (Bytes, Option<Bytes>, Option<Bytes>, Option<i64>);
            for row in rows.rows::<Guarded>().map_err(strange)? {
                let (partition, sort, value, version) = row.map_err(strange)?;
                reader.guarded(partition, sort.zip(value), version.map(to_version))?;
            }
        }
        let next = match next {
            PagingStateResponse::HasMorePages { state } => {
                Some(Position::encode(&state, &reader.last))
            }
            PagingStateResponse::NoMorePages => None,
        };
        Ok(WalkPage { entries: reader.entries, next })
    }
}

/// Turns rows into entries.
struct Reader {
    table: &'static TableDef,
    last: Bytes,
    entries: Vec<Entry>,
}

impl Reader {
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
            self.last = partition.clone();
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
