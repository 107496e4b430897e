//! A backup: one file with every table at one moment, readable by every engine.
//!
//! ```text
//! "OSTRAKON BACKUP\n"  format:u32
//! block*               length:u32  xxh3:u64  postcard(Block)
//! ```
//!
//! The last block says how many entries each table had and their digest, so that a file that ends
//! too early is told from a whole one.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::{
    Digest, EngineError, Entry, FORMAT_VERSION, Maintenance, OpId, PartitionKey, PutError,
    ReadError, RowKey, Schema, SchemaError, TableDef, Version,
};

const MAGIC: &[u8; 16] = b"OSTRAKON BACKUP\n";
/// Entries of one block.
const BLOCK_ENTRIES: usize = 5_000;
/// Bytes a block may claim; a damaged length must not allocate the machine.
const BLOCK_BYTES: usize = 1 << 30;
/// Entries and bytes gathered before they are loaded: large runs are what the embedded engine
/// likes.
const LOAD_ENTRIES: usize = 500_000;
const LOAD_BYTES: usize = 128 * 1024 * 1024;

/// Why a backup could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// The store could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The store could not be walked.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The file could not be written.
    #[error("the backup could not be written ({0}); free space or name another place")]
    Io(#[from] io::Error),
}

/// Why a backup could not be restored. The target is incomplete then: remove it and try again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// Not a backup.
    #[error("the file is not an Ostrakon backup")]
    NotABackup,
    /// Made by a newer version.
    #[error(
        "the backup has format {found}, this version knows up to {known}; use a newer Ostrakon"
    )]
    Newer {
        /// Format of the backup.
        found: u32,
        /// Newest format known.
        known: u32,
    },
    /// A table this version does not have.
    #[error("the backup has a table {0} that this version does not know; use a newer Ostrakon")]
    UnknownTable(String),
    /// Damaged, or it ends too early.
    #[error("the backup is damaged: {0}; use another one")]
    Damaged(String),
    /// The target holds rows already.
    #[error("the target store is not empty (table {0}); restore into a new directory")]
    NotEmpty(String),
    /// The file could not be read.
    #[error("the backup could not be read: {0}")]
    Io(#[from] io::Error),
    /// The target could not be prepared.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The target could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The target could not be written.
    #[error(transparent)]
    Put(#[from] PutError),
}

/// What a backup holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupSummary {
    /// Per table: entries and digest.
    pub tables: BTreeMap<String, (u64, String)>,
}

#[derive(Serialize, Deserialize)]
enum Block {
    Entries { table: String, entries: Vec<Stored> },
    End(BackupSummary),
}

#[derive(Serialize, Deserialize)]
enum Stored {
    Row(Vec<u8>, Vec<u8>),
    Version(Vec<u8>, u64),
    Operation { partition: Vec<u8>, op: [u8; 16], version: u64, expires: u64, result: Vec<u8> },
}

/// Writes every table of `schema` as it is at this moment. `progress` is told table and entries.
///
/// # Errors
/// When the store cannot be read or the file cannot be written.
pub async fn back_up(
    engine: &dyn Maintenance,
    schema: &Schema,
    out: &mut (dyn Write + Send),
    progress: &mut (dyn FnMut(&str, u64) + Send),
) -> Result<BackupSummary, BackupError> {
    out.write_all(MAGIC)?;
    out.write_all(&FORMAT_VERSION.to_le_bytes())?;
    let walker = engine.walk().await?;
    let mut summary = BackupSummary::default();
    for table in schema.tables() {
        let (mut digest, mut position) = (Digest::default(), None);
        loop {
            let page = walker.page(table, position, BLOCK_ENTRIES).await?;
            page.entries.iter().for_each(|entry| digest.add(entry));
            let entries = page.entries.iter().map(to_stored).collect();
            write_block(out, &Block::Entries { table: table.name().to_owned(), entries })?;
            progress(table.name(), digest.entries);
            match page.next {
                Some(next) => position = Some(next),
                None => break,
            }
        }
        summary.tables.insert(table.name().to_owned(), (digest.entries, digest.to_string()));
    }
    write_block(out, &Block::End(summary.clone()))?;
    out.flush()?;
    Ok(summary)
}

/// Loads a backup into an empty store and compares digests. `progress` is told table and entries.
///
/// # Errors
/// When the file is damaged, the target is not empty, or it cannot be written.
pub async fn restore(
    engine: &dyn Maintenance,
    schema: &Schema,
    source: &mut (dyn Read + Send),
    progress: &mut (dyn FnMut(&str, u64) + Send),
) -> Result<BackupSummary, RestoreError> {
    check_header(source)?;
    engine.apply(schema).await?;
    check_empty(engine, schema).await?;
    let mut loader = Loader { engine, digests: BTreeMap::new(), pending: None };
    loop {
        match read_block(source)? {
            Block::Entries { table, entries } => {
                let def = schema.table(&table).ok_or(RestoreError::UnknownTable(table))?;
                loader.add(def, entries).await?;
                progress(def.name(), loader.seen(def));
            }
            Block::End(summary) => {
                loader.flush().await?;
                loader.compare(&summary)?;
                return Ok(summary);
            }
        }
    }
}

fn check_header(source: &mut (dyn Read + Send)) -> Result<(), RestoreError> {
    let (mut magic, mut format) = ([0; MAGIC.len()], [0; 4]);
    source.read_exact(&mut magic).map_err(|_| RestoreError::NotABackup)?;
    source.read_exact(&mut format).map_err(|_| RestoreError::NotABackup)?;
    if magic != *MAGIC {
        return Err(RestoreError::NotABackup);
    }
    let found = u32::from_le_bytes(format);
    if found > FORMAT_VERSION {
        return Err(RestoreError::Newer { found, known: FORMAT_VERSION });
    }
    Ok(())
}

async fn check_empty(engine: &dyn Maintenance, schema: &Schema) -> Result<(), RestoreError> {
    let walker = engine.walk().await.map_err(ReadError::from)?;
    for table in schema.tables() {
        if !walker.page(table, None, 1).await?.entries.is_empty() {
            return Err(RestoreError::NotEmpty(table.name().to_owned()));
        }
    }
    Ok(())
}

/// Gathers entries of one table into large runs.
struct Loader<'a> {
    engine: &'a dyn Maintenance,
    digests: BTreeMap<&'static str, Digest>,
    pending: Option<(&'static TableDef, Vec<Entry>, usize)>,
}

impl Loader<'_> {
    async fn add(
        &mut self,
        table: &'static TableDef,
        stored: Vec<Stored>,
    ) -> Result<(), RestoreError> {
        if self.pending.as_ref().is_some_and(|(pending, ..)| pending.name() != table.name()) {
            self.flush().await?;
        }
        let digest = self.digests.entry(table.name()).or_default();
        let (_, entries, bytes) = self.pending.get_or_insert_with(|| (table, Vec::new(), 0));
        for stored in stored {
            let entry = from_stored(table, stored)?;
            digest.add(&entry);
            if let Entry::Row { key, value } = &entry {
                *bytes += key.joined().len() + value.len();
            }
            entries.push(entry);
        }
        if entries.len() >= LOAD_ENTRIES || *bytes >= LOAD_BYTES {
            self.flush().await?;
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), PutError> {
        match self.pending.take() {
            Some((table, entries, _)) if !entries.is_empty() => {
                self.engine.load(table, entries).await
            }
            _ => Ok(()),
        }
    }

    fn seen(&self, table: &'static TableDef) -> u64 {
        self.digests.get(table.name()).map_or(0, |digest| digest.entries)
    }

    fn compare(&self, summary: &BackupSummary) -> Result<(), RestoreError> {
        for (table, (entries, digest)) in &summary.tables {
            let found = self.digests.get(table.as_str()).copied().unwrap_or_default();
            if found.to_string() != *digest {
                let what = format!("table {table} has {} entries, not {entries}", found.entries);
                return Err(RestoreError::Damaged(what));
            }
        }
        Ok(())
    }
}

fn write_block(out: &mut (dyn Write + Send), block: &Block) -> io::Result<()> {
    let bytes = postcard::to_stdvec(block).map_err(io::Error::other)?;
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(&xxh3_64(&bytes).to_le_bytes())?;
    out.write_all(&bytes)
}

fn read_block(source: &mut (dyn Read + Send)) -> Result<Block, RestoreError> {
    let early = |_| RestoreError::Damaged("it ends too early".to_owned());
    let (mut length, mut checksum) = ([0; 4], [0; 8]);
    source.read_exact(&mut length).map_err(early)?;
    source.read_exact(&mut checksum).map_err(early)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > BLOCK_BYTES {
        return Err(RestoreError::Damaged("a block has an impossible length".to_owned()));
    }
    let mut bytes = Vec::new();
    let read = source.take(length as u64).read_to_end(&mut bytes)?;
    if read < length {
        return Err(RestoreError::Damaged("it ends too early".to_owned()));
    }
    if xxh3_64(&bytes) != u64::from_le_bytes(checksum) {
        return Err(RestoreError::Damaged("a block has a wrong checksum".to_owned()));
    }
    postcard::from_bytes(&bytes).map_err(|error| RestoreError::Damaged(error.to_string()))
}

fn to_stored(entry: &Entry) -> Stored {
    match entry {
        Entry::Row { key, value } => Stored::Row(key.joined().to_vec(), value.to_vec()),
        Entry::Version { partition, version } => {
            Stored::Version(partition.as_bytes().to_vec(), version.0)
        }
        Entry::Operation { partition, op, version, expires, result } => Stored::Operation {
            partition: partition.as_bytes().to_vec(),
            op: op.0,
            version: version.0,
            expires: *expires,
            result: result.to_vec(),
        },
    }
}

fn from_stored(table: &'static TableDef, stored: Stored) -> Result<Entry, RestoreError> {
    let partition = |bytes: Vec<u8>| {
        PartitionKey::new(table, bytes).map_err(|error| RestoreError::Damaged(error.to_string()))
    };
    Ok(match stored {
        Stored::Row(key, value) => {
            let damaged = || RestoreError::Damaged("a row without a key".to_owned());
            let key = RowKey::from_joined(Bytes::from(key)).ok_or_else(damaged)?;
            Entry::Row { key, value: value.into() }
        }
        Stored::Version(bytes, version) => {
            Entry::Version { partition: partition(bytes)?, version: Version(version) }
        }
        Stored::Operation { partition: bytes, op, version, expires, result } => Entry::Operation {
            partition: partition(bytes)?,
            op: OpId(op),
            version: Version(version),
            expires,
            result: result.into(),
        },
    })
}
