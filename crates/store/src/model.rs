//! The model: the contract in memory, as plainly as it can be written.
//!
//! Every engine is compared with it, and tests of services run on it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::row::hex;
use crate::{
    Bound, Change, Commit, CommitError, Committed, Engine, EngineError, EngineInfo, Entry,
    FORMAT_VERSION, Finding, Found, Maintenance, OpId, Order, Page, PartitionKey, PutError,
    RangeRequest, Read, ReadError, Row, RowKey, Schema, SchemaChange, SchemaError, Stat, TableDef,
    TableEstimate, TableRecord, Task, Version, WalkPage, Walker, compare_schema, limits,
};

/// An engine in memory that keeps the contract by being simple.
#[derive(Debug, Default)]
pub struct ModelEngine {
    state: Mutex<State>,
}

#[derive(Clone, Debug, Default)]
struct State {
    records: Vec<TableRecord>,
    notes: BTreeMap<String, Bytes>,
    partitions: BTreeMap<(&'static str, Bytes), PartitionState>,
}

#[derive(Clone, Debug, Default)]
struct PartitionState {
    version: Version,
    rows: BTreeMap<Bytes, Bytes>,
    operations: BTreeMap<OpId, Committed>,
}

impl ModelEngine {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get_now(&self, table: &'static TableDef, keys: &[RowKey]) -> Vec<Found> {
        let state = self.state();
        keys.iter()
            .map(|key| {
                let place = (table.name(), Bytes::copy_from_slice(key.partition()));
                let partition = state.partitions.get(&place);
                Found {
                    version: partition.map_or(Version::NEVER, |found| found.version),
                    value: partition.and_then(|found| found.rows.get(key.sort()).cloned()),
                }
            })
            .collect()
    }

    fn range_now(&self, request: &RangeRequest) -> Page {
        let state = self.state();
        let place = (request.table.name(), Bytes::copy_from_slice(request.partition.as_bytes()));
        let Some(partition) = state.partitions.get(&place) else { return Page::default() };
        if is_empty(&request.from, &request.to) {
            return Page { version: partition.version, ..Page::default() };
        }
        let mut rows = partition.rows.range((request.from.clone(), request.to.clone()));
        let mut page = Page { version: partition.version, ..Page::default() };
        let mut bytes = 0;
        loop {
            let next = match request.order {
                Order::Ascending => rows.next(),
                Order::Descending => rows.next_back(),
            };
            let Some((sort, value)) = next else { return page };
            bytes += sort.len() + value.len();
            let full = page.rows.len() == request.limit;
            if full || (bytes > limits::PAGE_BYTES && !page.rows.is_empty()) {
                page.more = true;
                return page;
            }
            page.rows.push(sort, value);
        }
    }

    fn put_now(&self, rows: Vec<Row>) -> Result<(), PutError> {
        let mut state = self.state();
        for Row { table, key, value } in rows {
            let place = (table.name(), Bytes::copy_from_slice(key.partition()));
            let rows = &mut state.partitions.entry(place).or_default().rows;
            let sort = Bytes::copy_from_slice(key.sort());
            match (value, rows.get(&sort)) {
                (None, _) => {
                    rows.remove(&sort);
                }
                (Some(value), Some(stored)) if value != *stored => {
                    let key = hex(key.joined());
                    return Err(PutError::Differs { table: table.name(), key });
                }
                (Some(value), _) => {
                    rows.insert(sort, value);
                }
            }
        }
        Ok(())
    }

    fn commit_now(&self, commit: Commit) -> Result<Committed, CommitError> {
        let mut state = self.state();
        let bytes = Bytes::copy_from_slice(commit.partition.as_bytes());
        let partition = state.partitions.entry((commit.table.name(), bytes)).or_default();
        if let Some(done) = partition.operations.get(&commit.op) {
            return Ok(Committed { repeated: true, ..done.clone() });
        }
        if partition.version != commit.expected {
            let (expected, current) = (commit.expected, partition.version);
            return Err(CommitError::Conflict { expected, current });
        }
        partition.version = partition.version.next();
        for change in commit.changes {
            match change {
                Change::Put { sort, value } => partition.rows.insert(sort, value),
                Change::Delete { sort } => partition.rows.remove(&sort),
            };
        }
        let done = Committed { version: partition.version, result: commit.result, repeated: false };
        partition.operations.insert(commit.op, done.clone());
        Ok(done)
    }

    fn load_now(&self, table: &'static TableDef, entries: Vec<Entry>) {
        let mut state = self.state();
        for entry in entries {
            let place = (table.name(), Bytes::copy_from_slice(entry.partition()));
            let partition = state.partitions.entry(place).or_default();
            match entry {
                Entry::Version { version, .. } => partition.version = version,
                Entry::Row { key, value } => {
                    partition.rows.insert(Bytes::copy_from_slice(key.sort()), value);
                }
                Entry::Operation { op, version, result, .. } => {
                    let done = Committed { version, result, repeated: false };
                    partition.operations.insert(op, done);
                }
            }
        }
    }
}

/// Whether no key can lie between two ends; a tree refuses to be asked for such a range.
fn is_empty(from: &Bound, to: &Bound) -> bool {
    match (from, to) {
        (Bound::Included(low), Bound::Included(high)) => low > high,
        (
            Bound::Included(low) | Bound::Excluded(low),
            Bound::Included(high) | Bound::Excluded(high),
        ) => low >= high,
        _ => false,
    }
}

fn ready<'a, T: Send + 'a>(value: T) -> Task<'a, T> {
    Box::pin(std::future::ready(value))
}

impl Engine for ModelEngine {
    fn get<'a>(
        &'a self,
        table: &'static TableDef,
        keys: &'a [RowKey],
        _read: Read,
    ) -> Task<'a, Result<Vec<Found>, ReadError>> {
        ready(Ok(self.get_now(table, keys)))
    }

    fn range<'a>(&'a self, request: &'a RangeRequest) -> Task<'a, Result<Page, ReadError>> {
        ready(Ok(self.range_now(request)))
    }

    fn put(&self, rows: Vec<Row>) -> Task<'_, Result<(), PutError>> {
        ready(self.put_now(rows))
    }

    fn commit(&self, commit: Commit) -> Task<'_, Result<Committed, CommitError>> {
        ready(self.commit_now(commit))
    }
}

impl Maintenance for ModelEngine {
    fn info(&self) -> Task<'_, Result<EngineInfo, EngineError>> {
        ready(Ok(EngineInfo {
            engine: "model",
            location: "memory".to_owned(),
            format: FORMAT_VERSION,
            disk_bytes: 0,
        }))
    }

    fn records(&self) -> Task<'_, Result<Vec<TableRecord>, SchemaError>> {
        ready(Ok(self.state().records.clone()))
    }

    fn apply<'a>(&'a self, schema: &'a Schema) -> Task<'a, Result<Vec<SchemaChange>, SchemaError>> {
        let mut state = self.state();
        let changes = compare_schema(schema, &state.records);
        for change in changes.iter().flatten() {
            if let SchemaChange::Create(record) = change {
                state.records.push(record.clone());
            }
        }
        ready(changes)
    }

    fn walk(&self) -> Task<'_, Result<Box<dyn Walker + '_>, EngineError>> {
        let view: Box<dyn Walker> = Box::new(ModelWalker(self.state().clone()));
        ready(Ok(view))
    }

    fn load<'a>(
        &'a self,
        table: &'static TableDef,
        entries: Vec<Entry>,
    ) -> Task<'a, Result<(), PutError>> {
        self.load_now(table, entries);
        ready(Ok(()))
    }

    fn clear<'a>(&'a self, table: &'static TableDef) -> Task<'a, Result<(), PutError>> {
        self.state().partitions.retain(|(name, _), _| *name != table.name());
        ready(Ok(()))
    }

    fn note<'a>(&'a self, name: &'a str) -> Task<'a, Result<Option<Bytes>, EngineError>> {
        ready(Ok(self.state().notes.get(name).cloned()))
    }

    fn set_note<'a>(
        &'a self,
        name: &'a str,
        value: Option<Bytes>,
    ) -> Task<'a, Result<(), EngineError>> {
        let mut state = self.state();
        match value {
            Some(value) => state.notes.insert(name.to_owned(), value),
            None => state.notes.remove(name),
        };
        ready(Ok(()))
    }

    fn estimates(&self) -> Task<'_, Result<Vec<TableEstimate>, EngineError>> {
        ready(Ok(Vec::new()))
    }

    fn check(&self) -> Task<'_, Result<Vec<Finding>, EngineError>> {
        ready(Ok(Vec::new()))
    }

    fn stats(&self) -> Vec<Stat> {
        Vec::new()
    }

    fn close(&self) -> Task<'_, Result<(), EngineError>> {
        ready(Ok(()))
    }
}

/// A copy of everything at one moment.
struct ModelWalker(State);

impl ModelWalker {
    fn entries(&self, table: &'static TableDef) -> Vec<Entry> {
        let mut entries = Vec::new();
        let of_table = self.0.partitions.iter().filter(|((name, _), _)| *name == table.name());
        for ((_, bytes), partition) in of_table {
            let Ok(key) = PartitionKey::new(table, bytes.clone()) else { continue };
            if partition.version > Version::NEVER {
                let version = partition.version;
                entries.push(Entry::Version { partition: key.clone(), version });
            }
            for (op, done) in &partition.operations {
                entries.push(Entry::Operation {
                    partition: key.clone(),
                    op: *op,
                    version: done.version,
                    expires: u64::MAX,
                    result: done.result.clone(),
                });
            }
            entries.extend(partition.rows.iter().filter_map(|(sort, value)| {
                let key = RowKey::new(table, bytes, sort).ok()?;
                Some(Entry::Row { key, value: value.clone() })
            }));
        }
        entries
    }
}

impl Walker for ModelWalker {
    fn page<'a>(
        &'a self,
        table: &'static TableDef,
        position: Option<Bytes>,
        limit: usize,
    ) -> Task<'a, Result<WalkPage, ReadError>> {
        let start = position
            .and_then(|bytes| Some(u64::from_be_bytes(bytes.as_ref().try_into().ok()?)))
            .map_or(0, |start| usize::try_from(start).unwrap_or(usize::MAX));
        let all = self.entries(table);
        let end = start.saturating_add(limit).min(all.len());
        let next = (end < all.len()).then(|| Bytes::copy_from_slice(&(end as u64).to_be_bytes()));
        let entries = all.into_iter().take(end).skip(start).collect();
        ready(Ok(WalkPage { entries, next }))
    }
}
