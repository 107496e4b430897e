//! What the operator's commands need.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use fjall::{AbstractTree, Keyspace, Readable, Snapshot};
use store::{
    EngineError, EngineInfo, Entry, FORMAT_VERSION, Finding, Maintenance, PutError, ReadError,
    Schema, SchemaChange, SchemaError, Stat, TableDef, TableEstimate, TableRecord, Task, Value,
    WalkPage, Walker, compare_schema,
};

use crate::engine::{FjallEngine, Shared};
use crate::error::engine_error;
use crate::layout::{self, FORMAT_KEY, NOTE_PREFIX, TABLE_PREFIX};
use crate::open::check_format;
use crate::writer::gone;
use crate::{bulk, incident, pressure};

impl FjallEngine {
    /// Migrates an older format and creates missing tables.
    pub(crate) fn apply_now(&self, schema: &Schema) -> Result<Vec<SchemaChange>, SchemaError> {
        let mut changes = migrate(self, MIGRATIONS)?;
        check_format(self.stored_format()?)?;
        changes.extend(compare_schema(schema, &self.stored_records()?)?);
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
        let all = || tables.iter().chain([&shared.meta, &shared.marker]);
        for keyspace in all() {
            keyspace.rotate_memtable().map_err(failed)?;
        }
        for keyspace in all() {
            pressure::wait(&shared.database, keyspace, |keyspace| {
                keyspace.tree.sealed_memtable_count() == 0
            })
            .map_err(failed)?;
        }
        Ok(())
    }
}

/// Rows deleted in one run.
const CLEAR_ROWS: usize = 200_000;

/// One step from a format to the next. It may be repeated: a crash in the middle begins it again.
pub(crate) struct Migration {
    from: u32,
    run: fn(&FjallEngine) -> Result<(), SchemaError>,
}

/// The steps this version knows, oldest first. Format 1 is the first one, so there are none yet.
const MIGRATIONS: &[Migration] = &[];

/// Takes a store through the steps from its format to ours, recording each format when it is
/// reached.
fn migrate(
    engine: &FjallEngine,
    migrations: &[Migration],
) -> Result<Vec<SchemaChange>, SchemaError> {
    let mut changes = Vec::new();
    while let Some(found) = engine.stored_format()?.filter(|found| *found < FORMAT_VERSION) {
        let step = migrations.iter().find(|step| step.from == found);
        let step = step.ok_or(SchemaError::NoMigration { found, known: FORMAT_VERSION })?;
        (step.run)(engine)?;
        let reached = (found + 1).to_le_bytes().to_vec();
        engine.writer().write_meta(vec![(FORMAT_KEY.to_vec(), reached)])?;
        changes.push(SchemaChange::Migrate { from: found, to: found + 1 });
    }
    Ok(changes)
}

/// Bytes the files really take: fjall preallocates journals, and zeroes nobody wrote cost nothing.
fn disk_bytes(directory: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(directory) else { return 0 };
    let bytes = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => disk_bytes(&entry.path()),
        Ok(found) => found.blocks() * 512,
        // Compaction removed it meanwhile.
        Err(_) => 0,
    };
    entries.filter_map(Result::ok).map(bytes).sum()
}

/// Deletes every row, in runs. fjall's own clearing writes a journal entry of a kind that our audit
/// does not know.
fn clear(shared: &Shared, keyspace: &Keyspace) -> Result<(), EngineError> {
    loop {
        let mut run = Vec::new();
        for guard in keyspace.iter().take(CLEAR_ROWS) {
            let key = guard.key().map_err(|error| engine_error("clearing a table", &error))?;
            run.push((Bytes::copy_from_slice(&key), None));
        }
        if run.is_empty() {
            return Ok(());
        }
        bulk::load(shared, keyspace, run)?;
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
            Ok(EngineInfo {
                engine: "fjall",
                location: shared.options.directory.display().to_string(),
                format: FORMAT_VERSION,
                disk_bytes: disk_bytes(&shared.options.directory),
            })
        })
    }

    fn records(&self) -> Task<'_, Result<Vec<TableRecord>, SchemaError>> {
        Box::pin(async move { self.stored_records() })
    }

    fn apply<'a>(&'a self, schema: &'a Schema) -> Task<'a, Result<Vec<SchemaChange>, SchemaError>> {
        Box::pin(async move { self.apply_now(schema) })
    }

    fn walk(&self) -> Task<'_, Result<Box<dyn Walker + '_>, EngineError>> {
        Box::pin(async move {
            let shared = self.shared().clone();
            let walker = FjallWalker { snapshot: shared.snapshot().await, shared };
            Ok(Box::new(walker) as Box<dyn Walker + '_>)
        })
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

    fn clear<'a>(&'a self, table: &'static TableDef) -> Task<'a, Result<(), PutError>> {
        Box::pin(async move {
            let no_table = PutError::NoTable { table: table.name() };
            let keyspace = self.shared().table(table).ok_or(no_table)?;
            let shared = self.shared().clone();
            Ok(blocking(move || clear(&shared, &keyspace)).await??)
        })
    }

    fn note<'a>(&'a self, name: &'a str) -> Task<'a, Result<Option<Bytes>, EngineError>> {
        Box::pin(async move {
            let key = [NOTE_PREFIX, name.as_bytes()].concat();
            let found = self.shared().meta.get(key);
            let found = found.map_err(|error| engine_error("reading a note", &error))?;
            // Removing one writes nothing into it.
            Ok(found.map(Bytes::from).filter(|note| !note.is_empty()))
        })
    }

    fn set_note<'a>(
        &'a self,
        name: &'a str,
        value: Option<Bytes>,
    ) -> Task<'a, Result<(), EngineError>> {
        Box::pin(async move {
            let key = [NOTE_PREFIX, name.as_bytes()].concat();
            self.writer().write_meta(vec![(key, value.unwrap_or_default().into())])
        })
    }

    fn estimates(&self) -> Task<'_, Result<Vec<TableEstimate>, EngineError>> {
        Box::pin(async { Ok(Vec::new()) })
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
        let disk = disk_bytes(&shared.options.directory);
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

#[cfg(test)]
mod tests {
    use placement::Placement;
    use store::{Bounds, Table};

    use super::*;
    use crate::Options;

    static ROWS: Table<u64, u64, Vec<u8>> =
        Table::once("test.rows", "A row.", Placement::Hashed, Bounds::rows(10));

    #[test]
    fn an_older_store_is_migrated_step_by_step() {
        let directory = tempfile::tempdir().expect("a directory");
        let schema = Schema::new([ROWS.def()]);
        let engine = FjallEngine::open(&Options::new(directory.path()), &schema).expect("opens");
        let set = |format: u32| {
            let pair = (FORMAT_KEY.to_vec(), format.to_le_bytes().to_vec());
            engine.writer().write_meta(vec![pair]).expect("writes");
        };
        set(0);
        let error = migrate(&engine, &[]).expect_err("there is no step");
        assert!(matches!(error, SchemaError::NoMigration { found: 0, known: 1 }), "{error}");
        let failing =
            Migration { from: 0, run: |_| Err(SchemaError::Missing { table: "x".into() }) };
        migrate(&engine, &[failing]).expect_err("the step fails");
        assert_eq!(engine.stored_format().expect("reads"), Some(0), "and is begun again next time");
        let step = Migration { from: 0, run: |_| Ok(()) };
        let done = migrate(&engine, &[step]).expect("migrates");
        assert_eq!(done, [SchemaChange::Migrate { from: 0, to: 1 }]);
        assert_eq!(engine.stored_format().expect("reads"), Some(FORMAT_VERSION));
    }
}
