//! `get`.
//!
//! A partition is read by one request where that is possible: replicas apply a commit as one, so
//! rows and version of one answer belong together. Where several requests are needed, or no row
//! carries the version, the version is read before and after, and a change in between begins again.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use scylla::response::query_result::{QueryResult, QueryRowsResult};
use store::{EngineError, Found, Read, ReadError, RowKey, TableDef, Version, Writes};

use crate::cql::Kind;
use crate::engine::CassandraEngine;
use crate::layout;

/// Keys of one partition asked for in one request.
const KEYS: usize = 100;
/// Partitions of one `get` asked for at the same time.
const PARTITIONS: usize = 64;
/// How often a partition may change under a reader before it is told.
pub(crate) const CHANGES: usize = 100;

/// The sorts of one partition that are wanted, and where in the answer they belong.
type Wanted = BTreeMap<Vec<u8>, Vec<usize>>;

impl CassandraEngine {
    /// One row of a `Once` table.
    pub(crate) async fn get_row(
        &self,
        table: &'static TableDef,
        key: &RowKey,
        read: Read,
    ) -> Result<Vec<Found>, ReadError> {
        self.must_have(table)?;
        let _turn = self.turn_to_read(table, key.partition(), read).await?;
        let statement = self.prepared(table, Kind::Get, read).await?;
        let values = (key.partition(), key.sort());
        let result = self
            .repeat("reading a row", || self.session.execute_unpaged(&statement, values))
            .await?;
        let rows = rows_result(result)?;
        let row = rows.maybe_first_row::<(&[u8], Bytes)>().map_err(strange)?;
        Ok(vec![Found { version: Version::NEVER, value: row.map(|(_, value)| value) }])
    }

    pub(crate) async fn get_rows(
        &self,
        table: &'static TableDef,
        keys: &[RowKey],
        read: Read,
    ) -> Result<Vec<Found>, ReadError> {
        self.must_have(table)?;
        let mut partitions: HashMap<Bytes, Wanted> = HashMap::new();
        for (index, key) in keys.iter().enumerate() {
            let sort = column(table, key.sort());
            let partition = key.joined().slice(1..=key.partition().len());
            let wanted = partitions.entry(partition).or_default();
            wanted.entry(sort).or_default().push(index);
        }
        let answers: Vec<_> = stream::iter(partitions)
            .map(|(partition, wanted)| self.get_partition(table, partition, wanted, read))
            .buffer_unordered(PARTITIONS)
            .try_collect()
            .await?;
        let mut found = vec![Found { version: Version::NEVER, value: None }; keys.len()];
        for (index, answer) in answers.into_iter().flatten() {
            if let Some(slot) = found.get_mut(index) {
                *slot = answer;
            }
        }
        Ok(found)
    }

    async fn get_partition(
        &self,
        table: &'static TableDef,
        partition: Bytes,
        wanted: Wanted,
        read: Read,
    ) -> Result<Vec<(usize, Found)>, ReadError> {
        let _turn = self.turn_to_read(table, &partition, read).await?;
        let sorts: Vec<&[u8]> = wanted.keys().map(Vec::as_slice).collect();
        let (rows, version) = self.rows_of(table, &partition, &sorts, read).await?;
        let mut rows: HashMap<Bytes, Bytes> = rows.into_iter().collect();
        let mut answers = Vec::with_capacity(wanted.len());
        for (sort, places) in wanted {
            let value = rows.remove(sort.as_slice());
            let found = Found { version, value };
            answers.extend(places.into_iter().map(|index| (index, found.clone())));
        }
        Ok(answers)
    }

    /// The rows of some sorts, and the version they belong to.
    async fn rows_of(
        &self,
        table: &'static TableDef,
        partition: &[u8],
        sorts: &[&[u8]],
        read: Read,
    ) -> Result<(Vec<Cells>, Version), ReadError> {
        let guarded = table.writes() == Writes::Guarded;
        for _ in 0..CHANGES {
            let mut rows = Vec::new();
            let mut versions = Vec::new();
            for sorts in sorts.chunks(KEYS) {
                let read = self.some_rows(table, partition, sorts, read).await?;
                versions.extend(read.version);
                rows.extend(read.rows);
            }
            if !guarded {
                return Ok((rows, Version::NEVER));
            }
            versions.dedup();
            // One version for all requests, and every request had a row that carried it.
            if let ([version], 1) = (versions.as_slice(), sorts.len().div_ceil(KEYS)) {
                return Ok((rows, *version));
            }
            let before = self.version(table, partition, read).await?;
            // No commit until now: nothing can have changed since the rows were not there.
            if before == Version::NEVER && rows.is_empty() {
                return Ok((rows, before));
            }
            // Else the version must be the same before and after reading once more.
            let again = self.all_rows(table, partition, sorts, read).await?;
            if before == self.version(table, partition, read).await? {
                return Ok((again, before));
            }
        }
        Err(restless(table))
    }

    async fn all_rows(
        &self,
        table: &'static TableDef,
        partition: &[u8],
        sorts: &[&[u8]],
        read: Read,
    ) -> Result<Vec<Cells>, ReadError> {
        let mut rows = Vec::new();
        for sorts in sorts.chunks(KEYS) {
            rows.extend(self.some_rows(table, partition, sorts, read).await?.rows);
        }
        Ok(rows)
    }

    async fn some_rows(
        &self,
        table: &'static TableDef,
        partition: &[u8],
        sorts: &[&[u8]],
        read: Read,
    ) -> Result<Rows, ReadError> {
        let result = if let [sort] = sorts {
            let statement = self.prepared(table, Kind::Get, read).await?;
            let values = (partition, *sort);
            self.repeat("reading a row", || self.session.execute_unpaged(&statement, values)).await
        } else {
            let statement = self.prepared(table, Kind::GetMany, read).await?;
            let values = (partition, sorts);
            self.repeat("reading rows", || self.session.execute_unpaged(&statement, values)).await
        };
        Ok(decode(table, result?)?)
    }

    /// The version of a guarded partition.
    pub(crate) async fn version(
        &self,
        table: &'static TableDef,
        partition: &[u8],
        read: Read,
    ) -> Result<Version, ReadError> {
        let statement = self.prepared(table, Kind::Version, read).await?;
        let values = (partition,);
        let result = self
            .repeat("reading a version", || self.session.execute_unpaged(&statement, values))
            .await?;
        let rows = rows_result(result)?;
        let row = rows.maybe_first_row::<(Option<i64>,)>().map_err(strange)?;
        Ok(row.and_then(|(version,)| version).map_or(Version::NEVER, to_version))
    }

    pub(crate) fn must_have(&self, table: &'static TableDef) -> Result<(), ReadError> {
        if self.has(table) { Ok(()) } else { Err(ReadError::NoTable { table: table.name() }) }
    }
}

/// The column `sort` of a row.
pub(crate) fn column(table: &TableDef, sort: &[u8]) -> Vec<u8> {
    match table.writes() {
        Writes::Once => sort.to_vec(),
        Writes::Guarded => layout::row_sort(sort),
    }
}

type Cells = (Bytes, Bytes);
type Guarded = (Option<Bytes>, Option<Bytes>, Option<i64>);

/// Rows of one answer, and the version they carry.
struct Rows {
    rows: Vec<Cells>,
    version: Option<Version>,
}

fn decode(table: &TableDef, result: QueryResult) -> Result<Rows, EngineError> {
    let result = rows_result(result)?;
    let mut rows = Vec::with_capacity(result.rows_num());
    let mut version = None;
    if table.writes() == Writes::Once {
        for row in result.rows::<Cells>().map_err(strange)? {
            rows.push(row.map_err(strange)?);
        }
    } else {
        for row in result.rows::<Guarded>().map_err(strange)? {
            let (sort, value, stored) = row.map_err(strange)?;
            version = version.or(stored.map(to_version));
            rows.extend(sort.zip(value));
        }
    }
    Ok(Rows { rows, version })
}

/// The rows of a result that must have some.
pub(crate) fn rows_result(result: QueryResult) -> Result<QueryRowsResult, EngineError> {
    result.into_rows_result().map_err(strange)
}

/// An answer that does not have the columns it was asked for.
pub(crate) fn strange(error: impl std::fmt::Display) -> EngineError {
    EngineError::new(
        format!("Cassandra answered with unexpected columns: {error}"),
        "check that nothing else uses the keyspace, and report this as a bug",
    )
}

/// A version as it is stored.
pub(crate) fn to_version(stored: i64) -> Version {
    Version(stored.cast_unsigned())
}

pub(crate) fn restless(table: &'static TableDef) -> ReadError {
    EngineError::new(
        format!("a partition of {} changed {CHANGES} times while it was read", table.name()),
        "read fewer keys at a time, or spread the writes over more partitions",
    )
    .into()
}
