//! Opening a directory: lock, judge the journals, let fjall recover, check what it recovered.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, RwLock};
use std::time::Instant;

use fjall::compaction::Leveled;
use fjall::config::{BlockSizePolicy, RestartIntervalPolicy};
use fjall::{AbstractTree, Database, Keyspace, KeyspaceCreateOptions};
use store::{FORMAT_VERSION, Schema, SchemaError, TableRecord, Value, compare_schema};

use crate::acknowledged::Acknowledged;
use crate::engine::{FjallEngine, Shared};
use crate::error::engine_error;
use crate::in_flight::InFlight;
use crate::journal::{self, Audit, Identity, Verdict};
use crate::layout::{FORMAT_KEY, MARKER_KEY, MARKER_KEYSPACE, META_KEYSPACE, TABLE_PREFIX};
use crate::lock::DirectoryLock;
use crate::metrics::Metrics;
use crate::writer::Writer;
use crate::{OpenError, Options, expiry, incident};

/// fjall must never decide by itself to rotate a memtable: its workers do so on a message, and send
/// another one while they do, so with enough tables all of them wait for room in their own queue,
/// for ever. The writer rotates in time; these limits are out of reach.
const JOURNALS_BYTES: u64 = 1 << 50;
const MEMTABLE_BYTES: u64 = 1 << 40;
/// fjall halts ordinary batches at 30 runs in level 0; compaction must begin well before.
const LEVEL_0_RUNS: u8 = 8;

impl FjallEngine {
    /// Opens the directory, creating it if it is not there.
    ///
    /// # Errors
    /// When another process holds it, it is damaged, its tables do not fit, or the disk refuses.
    pub fn open(options: &Options, schema: &Schema) -> Result<Self, OpenError> {
        let started = Instant::now();
        let directory = &options.directory;
        fs::create_dir_all(directory).map_err(OpenError::io(directory))?;
        let lock = DirectoryLock::take(directory)?;
        let identity = identity(directory)?;
        let path = directory.join("acknowledged");
        let acknowledged = Acknowledged::open(&path).map_err(OpenError::io(&path))?;
        let files = directory.join("fjall");
        let audit = prepare(directory, &files, identity, acknowledged.read())?;
        let database = database(options, schema, &files)?;
        let marker = keyspace(&database, MARKER_KEYSPACE)?;
        let meta = keyspace(&database, META_KEYSPACE)?;
        let in_tables = in_tables(&marker, identity)?;
        let last = recovered(&marker, identity)?;
        check_first(&audit, in_tables)?;
        check_recovered(directory, &audit, last, &acknowledged)?;

        let shared = Arc::new(Shared {
            database,
            tables: RwLock::default(),
            marker,
            meta,
            metrics: Metrics::default(),
            options: options.clone(),
            written: AtomicU64::new(last),
            in_flight: InFlight::default(),
            _lock: lock,
        });
        let writer = Writer::start(shared.clone(), identity, acknowledged, last);
        let engine = Self::assemble(shared, writer);
        engine.open_tables(schema)?;
        Metrics::time(&engine.shared().metrics.open_nanos, started.elapsed());
        Ok(engine)
    }

    fn open_tables(&self, schema: &Schema) -> Result<(), OpenError> {
        let format = self.stored_format()?;
        if self.shared().options.apply_schema || format.is_none() {
            self.apply_now(schema)?;
            return Ok(());
        }
        check_format(format)?;
        if let Some(store::SchemaChange::Create(record)) =
            compare_schema(schema, &self.stored_records()?)?.into_iter().next()
        {
            return Err(SchemaError::Missing { table: record.name }.into());
        }
        self.open_keyspaces(schema)?;
        Ok(())
    }

    /// The format recorded in the store; none when it is new.
    pub(crate) fn stored_format(&self) -> Result<Option<u32>, SchemaError> {
        let found = self.shared().meta.get(FORMAT_KEY);
        let found = found.map_err(|error| engine_error("reading the format", &error))?;
        Ok(found.map(|bytes| u32::from_le_bytes((*bytes).try_into().unwrap_or([u8::MAX; 4]))))
    }

    /// The tables recorded in the store.
    pub(crate) fn stored_records(&self) -> Result<Vec<TableRecord>, SchemaError> {
        let mut records = Vec::new();
        for guard in self.shared().meta.prefix(TABLE_PREFIX) {
            let value = guard.value().map_err(|error| engine_error("reading tables", &error))?;
            let record = TableRecord::from_bytes(&value)
                .map_err(|error| store::EngineError::new(error.to_string(), "restore a backup"))?;
            records.push(record);
        }
        Ok(records)
    }

    pub(crate) fn open_keyspaces(&self, schema: &Schema) -> Result<(), SchemaError> {
        let shared = self.shared();
        let mut tables = shared.tables_mut();
        for table in schema.tables() {
            tables.insert(table.name(), keyspace(&shared.database, table.name())?);
        }
        Ok(())
    }
}

/// Whether a recorded format is the one this version writes.
pub(crate) fn check_format(format: Option<u32>) -> Result<(), SchemaError> {
    let known = FORMAT_VERSION;
    match format {
        Some(found) if found > known => Err(SchemaError::Newer { found, known }),
        Some(found) if found < known => Err(SchemaError::Older { found, known }),
        _ => Ok(()),
    }
}

/// The store's identity, made at its first opening.
fn identity(directory: &Path) -> Result<Identity, OpenError> {
    let path = directory.join("identity");
    match fs::read(&path) {
        Ok(bytes) => {
            let bytes = <[u8; 16]>::try_from(bytes.as_slice()).map_err(|_| {
                OpenError::io(&path)(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "it must have 16 bytes; restore a backup into a new directory",
                ))
            })?;
            Ok(Identity(bytes))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if is_made(&directory.join("fjall")) {
                return Err(OpenError::io(&path)(error));
            }
            create_identity(directory, &path).map_err(OpenError::io(&path))
        }
        Err(error) => Err(OpenError::io(&path)(error)),
    }
}

fn create_identity(directory: &Path, path: &Path) -> io::Result<Identity> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    // Written aside and renamed: a crash leaves either no identity or a whole one.
    let aside = directory.join("identity.new");
    fs::write(&aside, bytes)?;
    fs::File::open(&aside)?.sync_all()?;
    fs::rename(&aside, path)?;
    fs::File::open(directory)?.sync_all()?;
    Ok(Identity(bytes))
}

/// Judges the journals and cuts what was never acknowledged, before fjall touches them.
fn prepare(
    directory: &Path,
    files: &Path,
    identity: Identity,
    acknowledged: u64,
) -> Result<Audit, OpenError> {
    if !is_made(files) {
        if acknowledged > 0 {
            return Err(OpenError::Missing { from: 1, to: acknowledged });
        }
        // A crash while the store was being made: fjall cannot go on from there, and nothing was
        // kept.
        if files.exists() {
            fs::remove_dir_all(files).map_err(OpenError::io(files))?;
        }
        return Ok(Audit::default());
    }
    let audit = journal::audit(files, identity).map_err(OpenError::io(files))?;
    if audit.files == 0 {
        return Err(OpenError::Missing { from: 1, to: acknowledged });
    }
    if let Some((from, to)) = audit.gap {
        return Err(OpenError::Missing { from, to });
    }
    if let (Some(verdict), Some(damage)) = (audit.verdict(acknowledged), &audit.damage) {
        let last = audit.batches.map_or(0, |(_, last)| last);
        if verdict == Verdict::Damaged {
            let highest = damage.behind.map_or(acknowledged, |(_, high)| high.max(acknowledged));
            let (file, offset) = (damage.file.clone(), damage.offset);
            return Err(OpenError::Damaged { file, offset, batch: last + 1, last: highest });
        }
        journal::cut(damage).map_err(OpenError::io(&damage.file))?;
        let (file, offset) = (damage.file.display(), damage.offset);
        tracing::info!(%file, offset, "an unfinished batch was cut from the journal");
    }
    if let Some((_, last)) = audit.batches.filter(|(_, last)| *last < acknowledged) {
        incident::record(
            directory,
            &format!(
                "batches {} to {acknowledged} were acknowledged but the journal ends before them: \
                 the disk did not keep what it had confirmed, or the file was cut",
                last + 1
            ),
        );
    }
    Ok(audit)
}

/// Whether fjall had finished making its files. It writes `version` last, but not at once.
fn is_made(files: &Path) -> bool {
    fs::metadata(files.join("version")).is_ok_and(|version| version.len() > 0)
}

fn database(options: &Options, schema: &Schema, files: &Path) -> Result<Database, OpenError> {
    let opened = Database::builder(files)
        .cache_size(options.cache_bytes)
        .max_journaling_size(JOURNALS_BYTES)
        .worker_threads(2)
        // The writer syncs each batch itself.
        .manual_journal_persist(true)
        .with_compaction_filter_factories(expiry::filters(schema))
        .open();
    opened.map_err(|error| engine_error("opening the store", &error).into())
}

/// Opens a keyspace, creating it with the options that measured best for rows of hashes and
/// numbers.
pub(crate) fn keyspace(database: &Database, name: &str) -> Result<Keyspace, store::EngineError> {
    let options = || {
        KeyspaceCreateOptions::default()
            .max_memtable_size(MEMTABLE_BYTES)
            .data_block_size_policy(BlockSizePolicy::all(4096))
            .data_block_restart_interval_policy(RestartIntervalPolicy::all(4))
            .compaction_strategy(Arc::new(Leveled::default().with_l0_threshold(LEVEL_0_RUNS)))
    };
    let opened = database.keyspace(name, options);
    opened.map_err(|error| engine_error(&format!("opening table {name}"), &error))
}

/// The number of the last batch in fjall's tables, without what it read from the journals.
fn in_tables(marker: &Keyspace, identity: Identity) -> Result<u64, OpenError> {
    let Some(seqno) = marker.tree.get_highest_persisted_seqno() else { return Ok(0) };
    let found = marker.tree.get(MARKER_KEY, seqno + 1).map_err(fjall::Error::from);
    let found = found.map_err(|error| engine_error("reading the marker", &error))?;
    Ok(found.and_then(|value| journal::marker_number(identity, &value)).unwrap_or(u64::MAX - 1))
}

/// Whether the journals begin where the tables end. They do not when the oldest one was removed.
fn check_first(audit: &Audit, in_tables: u64) -> Result<(), OpenError> {
    match audit.batches {
        Some((first, _)) if first > in_tables + 1 => Err(store::EngineError::new(
            format!(
                "batches {} to {} are in no journal and in no table: a journal file was removed",
                in_tables + 1,
                first - 1
            ),
            "restore a backup into a new directory",
        )
        .into()),
        _ => Ok(()),
    }
}

/// The number of the last batch fjall recovered.
fn recovered(marker: &Keyspace, identity: Identity) -> Result<u64, OpenError> {
    let found =
        marker.get(MARKER_KEY).map_err(|error| engine_error("reading the marker", &error))?;
    let Some(value) = found else { return Ok(0) };
    journal::marker_number(identity, &value).ok_or_else(|| {
        store::EngineError::new("the marker row is damaged", "restore a backup").into()
    })
}

/// Compares what fjall recovered with what the journals held and what was acknowledged.
fn check_recovered(
    directory: &Path,
    audit: &Audit,
    last: u64,
    acknowledged: &Acknowledged,
) -> Result<(), OpenError> {
    if let Some((_, in_journal)) = audit.batches.filter(|(_, in_journal)| *in_journal > last) {
        return Err(store::EngineError::new(
            format!("fjall recovered batches up to {last}, its journals hold {in_journal}"),
            "keep the directory as it is, and restore a backup into a new one",
        )
        .into());
    }
    if audit.batches.is_none() && acknowledged.read() > last {
        incident::record(
            directory,
            &format!(
                "batches {} to {} were acknowledged but are in no journal and no table",
                last + 1,
                acknowledged.read()
            ),
        );
    }
    // What was lost has been said once; the next opening must not say it again.
    acknowledged.write(last).map_err(OpenError::io(directory.join("acknowledged")))
}
