//! What the operator's commands need.

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use scylla::errors::ExecutionError;
use scylla::statement::unprepared::Statement;
use store::{
    EngineError, EngineInfo, Entry, FORMAT_VERSION, Finding, Maintenance, PutError, Read, Schema,
    SchemaChange, SchemaError, Stat, TableDef, TableEstimate, TableRecord, Task, Value as _,
    Walker, Writes, compare_schema,
};

use crate::commit::{now, stored};
use crate::cql::{self, Kind, META, table_name};
use crate::engine::CassandraEngine;
use crate::layout::{self, Operation};
use crate::read::{rows_result, strange};
use crate::walk::TokenWalker;

const FORMAT: &str = "format";
const TABLE_PREFIX: &str = "table:";
const NOTE_PREFIX: &str = "note:";
/// Entries loaded at the same time.
const LOADING: usize = 256;

impl CassandraEngine {
    /// Creates the keyspace, the missing tables and their records.
    pub(crate) async fn apply_now(
        &self,
        schema: &Schema,
    ) -> Result<Vec<SchemaChange>, SchemaError> {
        let Self { options, .. } = self;
        self.define(cql::create_keyspace(&options.keyspace, options.replication)).await?;
        self.define(cql::create_meta(&options.keyspace)).await?;
        let changes = compare_schema(schema, &self.stored_records().await?)?;
        distinct(schema)?;
        for table in schema.tables() {
            let creates = |change: &SchemaChange| match change {
                SchemaChange::Create(record) => record.name == table.name(),
                SchemaChange::Migrate { .. } => false,
            };
            if changes.iter().any(creates) {
                self.define(cql::create_table(&options.keyspace, table)).await?;
            }
        }
        // Tables first, records second: a crash in between is mended by applying again.
        for change in &changes {
            if let SchemaChange::Create(record) = change {
                let name = format!("{TABLE_PREFIX}{}", record.name);
                self.write_meta(&name, Some(record.to_bytes())).await?;
            }
        }
        self.write_meta(FORMAT, Some(FORMAT_VERSION.to_le_bytes().to_vec())).await?;
        self.know(schema.tables());
        Ok(changes)
    }

    /// The recorded tables, after checking the format.
    pub(crate) async fn stored_records(&self) -> Result<Vec<TableRecord>, SchemaError> {
        let Some(meta) = self.read_meta().await? else { return Ok(Vec::new()) };
        let format = meta.iter().find(|(name, _)| name == FORMAT);
        let format =
            format.and_then(|(_, value)| Some(u32::from_le_bytes(value.as_ref().try_into().ok()?)));
        match format {
            Some(found) if found > FORMAT_VERSION => {
                return Err(SchemaError::Newer { found, known: FORMAT_VERSION });
            }
            Some(found) if found < FORMAT_VERSION => {
                return Err(SchemaError::NoMigration { found, known: FORMAT_VERSION });
            }
            _ => {}
        }
        let mut records = Vec::new();
        for (_, value) in meta.iter().filter(|(name, _)| name.starts_with(TABLE_PREFIX)) {
            let damaged = |error| {
                EngineError::new(
                    format!("a table's record cannot be read: {error}"),
                    "restore a backup",
                )
            };
            records.push(TableRecord::from_bytes(value).map_err(damaged)?);
        }
        records.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(records)
    }

    /// All own records; none when there is no such table yet.
    async fn read_meta(&self) -> Result<Option<Vec<(String, Bytes)>>, EngineError> {
        let text = format!("SELECT name, value FROM {}.{META}", self.options.keyspace);
        let result = match self.repeat("reading the records", || self.query(&text)).await {
            Ok(result) => result,
            Err(error) if error.what.contains("does not exist") => return Ok(None),
            Err(error) if error.what.contains("unconfigured table") => return Ok(None),
            Err(error) => return Err(error),
        };
        let rows = rows_result(result)?;
        let rows = rows.rows::<(String, Bytes)>().map_err(strange)?;
        Ok(Some(rows.collect::<Result<_, _>>().map_err(strange)?))
    }

    /// Writes one own record, conditionally: two who apply a schema must not go by their clocks.
    async fn write_meta(&self, name: &str, value: Option<Vec<u8>>) -> Result<(), EngineError> {
        let Self { options, session, .. } = self;
        let table = format!("{}.{META}", options.keyspace);
        if let Some(value) = value {
            let insert = format!("UPDATE {table} SET value = ? WHERE name = ? IF value != ?");
            let values = (value.as_slice(), name, value.as_slice());
            let doing = "writing a record";
            self.repeat(doing, || session.query_unpaged(insert.as_str(), values)).await?;
        } else {
            let delete = format!("DELETE FROM {table} WHERE name = ? IF EXISTS");
            let doing = "removing a record";
            self.repeat(doing, || session.query_unpaged(delete.as_str(), (name,))).await?;
        }
        Ok(())
    }

    async fn query(
        &self,
        text: &str,
    ) -> Result<scylla::response::query_result::QueryResult, ExecutionError> {
        self.session.query_unpaged(text, ()).await
    }

    /// Changes the cluster's schema, which takes longer than a request may.
    async fn define(&self, text: String) -> Result<(), EngineError> {
        let mut statement = Statement::new(text);
        statement.set_request_timeout(Some(std::time::Duration::from_secs(60)));
        self.repeat("changing the schema", || self.session.query_unpaged(statement.clone(), ()))
            .await?;
        Ok(())
    }

    async fn load_entry(&self, table: &'static TableDef, entry: Entry) -> Result<(), EngineError> {
        let session = &self.session;
        let doing = "loading";
        match &entry {
            Entry::Row { key, value } => {
                let statement = self.prepared(table, Kind::LoadRow, Read::Quorum).await?;
                let sort = match table.writes() {
                    Writes::Once => key.sort().to_vec(),
                    Writes::Guarded => layout::row_sort(key.sort()),
                };
                let values = (key.partition(), sort.as_slice(), value.as_ref());
                self.repeat(doing, || session.execute_unpaged(&statement, values)).await?;
            }
            Entry::Version { partition, version } => {
                let statement = self.prepared(table, Kind::LoadVersion, Read::Quorum).await?;
                let values = (stored(*version), partition.as_bytes());
                self.repeat(doing, || session.execute_unpaged(&statement, values)).await?;
            }
            Entry::Operation { partition, op, version, expires, result } => {
                let left = expires.saturating_sub(now());
                let Some(left) = i32::try_from(left).ok().filter(|left| *left > 0) else {
                    return Ok(());
                };
                let operation =
                    Operation { version: *version, expires: *expires, result: result.clone() };
                let (sort, value) = (layout::operation_sort(*op), operation.encode());
                let statement = self.prepared(table, Kind::LoadOperation, Read::Quorum).await?;
                let values = (partition.as_bytes(), sort.as_slice(), value.as_slice(), left);
                self.repeat(doing, || session.execute_unpaged(&statement, values)).await?;
            }
        }
        Ok(())
    }

    async fn load_now(
        &self,
        table: &'static TableDef,
        entries: Vec<Entry>,
    ) -> Result<(), PutError> {
        if !self.has(table) {
            return Err(PutError::NoTable { table: table.name() });
        }
        // Rows of a `Once` table go the ordinary way: batches, and the same timestamp.
        if table.writes() == Writes::Once {
            let rows = entries.into_iter().filter_map(|entry| match entry {
                Entry::Row { key, value } => Some(store::Row { table, key, value: Some(value) }),
                _ => None,
            });
            return self.put_rows(rows.collect()).await;
        }
        stream::iter(entries)
            .map(|entry| self.load_entry(table, entry))
            .buffer_unordered(LOADING)
            .try_collect::<Vec<()>>()
            .await?;
        Ok(())
    }
}

/// `a.b_c` and `a_b.c` would be one table in Cassandra.
fn distinct(schema: &Schema) -> Result<(), EngineError> {
    let mut names: Vec<_> = schema.tables().map(table_name).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair.first() == pair.last()) {
        None => Ok(()),
        Some(pair) => Err(EngineError::new(
            format!("two tables are both called {:?} in Cassandra", pair.first()),
            "report this as a bug",
        )),
    }
}

impl Maintenance for CassandraEngine {
    fn info(&self) -> Task<'_, Result<EngineInfo, EngineError>> {
        Box::pin(async move {
            let bytes = self.read_estimates().await?.iter().map(|table| table.bytes).sum();
            Ok(EngineInfo {
                engine: "cassandra",
                location: format!(
                    "{} at {}",
                    self.options.keyspace,
                    self.options.contact_points.join(", ")
                ),
                format: FORMAT_VERSION,
                disk_bytes: bytes,
            })
        })
    }

    fn records(&self) -> Task<'_, Result<Vec<TableRecord>, SchemaError>> {
        Box::pin(self.stored_records())
    }

    fn apply<'a>(&'a self, schema: &'a Schema) -> Task<'a, Result<Vec<SchemaChange>, SchemaError>> {
        Box::pin(self.apply_now(schema))
    }

    fn walk(&self) -> Task<'_, Result<Box<dyn Walker + '_>, EngineError>> {
        Box::pin(async move { Ok(Box::new(TokenWalker(self)) as Box<dyn Walker + '_>) })
    }

    fn load<'a>(
        &'a self,
        table: &'static TableDef,
        entries: Vec<Entry>,
    ) -> Task<'a, Result<(), PutError>> {
        Box::pin(self.load_now(table, entries))
    }

    fn clear<'a>(&'a self, table: &'static TableDef) -> Task<'a, Result<(), PutError>> {
        Box::pin(async move {
            if !self.has(table) {
                return Err(PutError::NoTable { table: table.name() });
            }
            let name = table_name(table);
            Ok(self.define(format!("TRUNCATE {}.{name}", self.options.keyspace)).await?)
        })
    }

    fn note<'a>(&'a self, name: &'a str) -> Task<'a, Result<Option<Bytes>, EngineError>> {
        Box::pin(async move {
            let meta = self.read_meta().await?.unwrap_or_default();
            let wanted = format!("{NOTE_PREFIX}{name}");
            Ok(meta.into_iter().find(|(found, _)| *found == wanted).map(|(_, value)| value))
        })
    }

    fn set_note<'a>(
        &'a self,
        name: &'a str,
        value: Option<Bytes>,
    ) -> Task<'a, Result<(), EngineError>> {
        Box::pin(async move {
            let name = format!("{NOTE_PREFIX}{name}");
            self.write_meta(&name, value.map(Vec::from)).await
        })
    }

    fn estimates(&self) -> Task<'_, Result<Vec<TableEstimate>, EngineError>> {
        Box::pin(self.read_estimates())
    }

    fn check(&self) -> Task<'_, Result<Vec<Finding>, EngineError>> {
        // What Cassandra checks itself, it repairs itself: `nodetool verify` and `nodetool repair`.
        Box::pin(async { Ok(Vec::new()) })
    }

    fn stats(&self) -> Vec<Stat> {
        self.metrics.stats()
    }

    fn close(&self) -> Task<'_, Result<(), EngineError>> {
        // All that was acknowledged is in the cluster.
        Box::pin(async { Ok(()) })
    }
}
