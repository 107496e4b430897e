//! What the operator's commands need.

use std::sync::Arc;

use bytes::Bytes;
use fjall::{Readable, Snapshot};
use store::{
    EngineError, EngineInfo, Entry, FORMAT_VERSION, Finding, Maintenance, PutError, ReadError,
    Schema, SchemaChange, SchemaError, Stat, TableDef, TableRecord, Task, Value, WalkPage, Walker,
    compare_schema,
};

use crate::engine::{FjallEngine, Shared};
use crate::error::engine_error;
use crate::layout::{self, FORMAT_KEY, TABLE_PREFIX};
use crate::open::check_format;
use crate::writer::gone;
use crate::{bulk, incident};

impl FjallEngine {
    /// Creates missing tables.
    pub(crate) fn apply_now(&self, schema: &Schema) -> Result<Vec<SchemaChange>, SchemaError> {
        check_format(self.stored_format()?)?;
        let changes = compare_schema(schema, &self.stored_records()?)?;
        // Keyspaces first, records second: a crash in between leaves an empty keyspace, which is
        // nothing.
        self.open_keyspaces(schema)?;
        let mut pairs = vec![(FORMAT_KEY.to_vec(), FORMAT_VERSION.to_le_bytes().to_vec())];
        for change in &changes {
            if let SchemaChange::Create(record) = change {
                let key = [TABLE_PREFIX, record.name.as_bytes()].concat();
                pairs.push((key, record.to_bytes()));
            }
        }
        self.writer().write_meta(pairs)?;
        Ok(changes)
    }

    /// Writes all memtables to tables, so that the next opening has no journal to read.
    fn flush_all(shared: &Shared) -> Result<(), EngineError> {
        let failed = |error: fjall::Error| engine_error("closing", &error);
        let tables: Vec<_> = shared.tables_mut().values().cloned().collect();
        for keyspace in tables.iter().chain([&shared.meta, &shared.marker]) {
            keyspace.rotate_memtable_and_wait().map_err(failed)?;
        }
        Ok(())
    }
}

/// Runs blocking work beside the runtime.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, EngineError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| gone())
}

impl Maintenance for FjallEngine {
    fn info(&self) -> Task<'_, Result<EngineInfo, EngineError>> {
        Box::pin(async move {
            let shared = self.shared();
            let disk = shared.database.disk_space();
            Ok(EngineInfo {
                engine: "fjall",
                location: shared.options.directory.display().to_string(),
                format: FORMAT_VERSION,
                disk_bytes: disk.map_err(|error| engine_error("measuring", &error))?,
            })
        })
    }

    fn records(&self) -> Task<'_, Result<Vec<TableRecord>, SchemaError>> {
        Box::pin(async move { self.stored_records() })
    }

    fn apply<'a>(&'a self, schema: &'a Schema) -> Task<'a, Result<Vec<SchemaChange>, SchemaError>> {
        Box::pin(async move { self.apply_now(schema) })
    }

    fn walk(&self) -> Task<'_, Result<Box<dyn Walker>, EngineError>> {
        let walker = FjallWalker {
            snapshot: self.shared().database.snapshot(),
            shared: self.shared().clone(),
        };
        Box::pin(async move { Ok(Box::new(walker) as Box<dyn Walker>) })
    }

    fn load<'a>(
        &'a self,
        table: &'static TableDef,
        entries: Vec<Entry>,
    ) -> Task<'a, Result<(), PutError>> {
        Box::pin(async move {
            let no_table = PutError::NoTable { table: table.name() };
            let keyspace = self.shared().table(table).ok_or(no_table)?;
            let shared = self.shared().clone();
            let mut pairs: Vec<bulk::Pair> = entries
                .into_iter()
                .map(|entry| layout::encode_entry(table, entry))
                .map(|(key, value)| (key, Some(value)))
                .collect();
            // Another engine walks in another order.
            pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
            Ok(blocking(move || bulk::load(&shared, &keyspace, pairs)).await??)
        })
    }

    fn check(&self) -> Task<'_, Result<Vec<Finding>, EngineError>> {
        Box::pin(async move {
            let lines = incident::list(&self.shared().options.directory);
            let finding = |line: String| Finding { table: None, what: format!("incident: {line}") };
            Ok(lines.into_iter().map(finding).collect())
        })
    }

    fn stats(&self) -> Vec<Stat> {
        let shared = self.shared();
        let gauge = |name, help, value| Stat { name, help, counter: false, value };
        let mut stats = shared.metrics.stats();
        stats.push(gauge("journals", "Journal files.", shared.database.journal_count() as f64));
        let disk = shared.database.disk_space().unwrap_or_default();
        stats.push(gauge("disk_bytes", "Bytes on disk.", disk as f64));
        stats
    }

    fn close(&self) -> Task<'_, Result<(), EngineError>> {
        let shared = self.shared().clone();
        Box::pin(async move { blocking(move || Self::flush_all(&shared)).await? })
    }
}

/// All tables at one moment.
struct FjallWalker {
    snapshot: Snapshot,
    shared: Arc<Shared>,
}

impl FjallWalker {
    fn page_now(
        &self,
        table: &'static TableDef,
        position: Option<Bytes>,
        limit: usize,
    ) -> Result<WalkPage, ReadError> {
        use std::ops::Bound;
        let no_table = ReadError::NoTable { table: table.name() };
        let keyspace = self.shared.table(table).ok_or(no_table)?;
        let from = position.map_or(Bound::Unbounded, Bound::Excluded);
        let mut page = WalkPage { entries: Vec::new(), next: None };
        let mut last = None;
        for guard in self.snapshot.range::<Bytes, _>(&keyspace, (from, Bound::Unbounded)) {
            if page.entries.len() == limit {
                page.next = last;
                break;
            }
            let pair = guard.into_inner().map_err(|error| engine_error("walking", &error))?;
            let (key, value) = (Bytes::from(pair.0), Bytes::from(pair.1));
            last = Some(Bytes::copy_from_slice(&key));
            let damaged = || {
                EngineError::new(
                    format!("table {} has a key that is none: {key:02x?}", table.name()),
                    "restore a backup",
                )
            };
            let entry = layout::decode_entry(table, key.clone(), value).ok_or_else(damaged)?;
            page.entries.push(entry);
        }
        Ok(page)
    }
}

impl Walker for FjallWalker {
    fn page<'a>(
        &'a self,
        table: &'static TableDef,
        position: Option<Bytes>,
        limit: usize,
    ) -> Task<'a, Result<WalkPage, ReadError>> {
        Box::pin(async move { self.page_now(table, position, limit) })
    }
}
