//! The four verbs.

use std::ops::Bound as End;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bytes::Bytes;
use fjall::{Database, Keyspace, Readable, Snapshot};
use rustc_hash::FxHashMap;
use store::{
    Bound, Commit, CommitError, Committed, Engine, Found, Order, Page, PageRows, PutError,
    RangeRequest, Read, ReadError, Row, RowKey, TableDef, Task, Version, Writes, limits,
};
use tokio::sync::oneshot;

use crate::error::engine_error;
use crate::in_flight::InFlight;
use crate::layout;
use crate::lock::DirectoryLock;
use crate::metrics::Metrics;
use crate::writer::{Current, Looked, Request, Writer, check_commit, gone};
use crate::{Options, bulk};

/// Rows a page makes room for at once.
const EXPECTED_ROWS: usize = 256;
/// Bytes a page makes room for in each of them.
const EXPECTED_BYTES: usize = 64;

/// The embedded engine. Dropping it closes the store; call
/// [`Maintenance::close`](store::Maintenance::close) before, and it opens faster.
#[derive(Debug)]
pub struct FjallEngine {
    // Order matters: the writer ends before the database closes.
    writer: Writer,
    shared: Arc<Shared>,
}

/// What readers, the writer and bulk runs share.
pub(crate) struct Shared {
    pub(crate) database: Database,
    pub(crate) tables: RwLock<FxHashMap<&'static str, Keyspace>>,
    pub(crate) marker: Keyspace,
    pub(crate) meta: Keyspace,
    pub(crate) metrics: Metrics,
    pub(crate) options: Options,
    /// The last batch that readers see.
    pub(crate) written: AtomicU64,
    /// Which batch is being written.
    pub(crate) in_flight: InFlight,
    // Last, so that the directory is let go only when the database is closed.
    pub(crate) _lock: DirectoryLock,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Shared {
    pub(crate) fn table(&self, table: &TableDef) -> Option<Keyspace> {
        self.tables().get(table.name()).cloned()
    }

    /// The open tables. Held only for the microseconds of one read.
    pub(crate) fn tables(&self) -> RwLockReadGuard<'_, FxHashMap<&'static str, Keyspace>> {
        self.tables.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The view a read needs: guarded rows and their version must be of one moment.
    async fn view(&self, table: &TableDef) -> Option<Snapshot> {
        match table.writes() {
            Writes::Once => None,
            Writes::Guarded => Some(self.snapshot().await),
        }
    }

    /// A view of all tables at one moment.
    pub(crate) async fn snapshot(&self) -> Snapshot {
        let snapshot = self.database.snapshot();
        self.in_flight.applied(snapshot.seqno()).await;
        snapshot
    }

    pub(crate) fn tables_mut(&self) -> RwLockWriteGuard<'_, FxHashMap<&'static str, Keyspace>> {
        self.tables.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FjallEngine {
    pub(crate) fn assemble(shared: Arc<Shared>, writer: Writer) -> Self {
        Self { writer, shared }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) fn writer(&self) -> &Writer {
        &self.writer
    }

    fn get_now(
        &self,
        table: &'static TableDef,
        keys: &[RowKey],
        view: Option<Snapshot>,
    ) -> Result<Vec<Found>, ReadError> {
        let no_table = ReadError::NoTable { table: table.name() };
        let tables = self.shared.tables();
        let keyspace = tables.get(table.name()).ok_or(no_table)?;
        let failed = |error: fjall::Error| engine_error("reading", &error);
        // Filled by hand: collecting results cannot tell their number and would grow in steps.
        let mut answers = Vec::with_capacity(keys.len());
        let Some(snapshot) = view else {
            for key in keys {
                let value = keyspace.get(key.joined()).map_err(failed)?.map(Bytes::from);
                answers.push(Found { version: Version::NEVER, value });
            }
            return Ok(answers);
        };
        // Rows of one partition are usually asked for together, and have one version.
        let mut last: Option<(&[u8], Version)> = None;
        for key in keys {
            let row = layout::guarded_row(key.partition(), key.sort());
            let value = snapshot.get(keyspace, row).map_err(failed)?.map(Bytes::from);
            let version = match last.filter(|(partition, _)| *partition == key.partition()) {
                Some((_, version)) => version,
                None => {
                    let version = snapshot.get(keyspace, layout::version_key(key.partition()));
                    let version = version.map_err(failed)?;
                    version.and_then(|bytes| layout::decode_version(&bytes)).unwrap_or_default()
                }
            };
            last = Some((key.partition(), version));
            answers.push(Found { version, value });
        }
        Ok(answers)
    }

    fn range_now(&self, request: &RangeRequest, view: Option<Snapshot>) -> Result<Page, ReadError> {
        let table = request.table;
        let no_table = ReadError::NoTable { table: table.name() };
        let tables = self.shared.tables();
        let keyspace = tables.get(table.name()).ok_or(no_table)?;
        let failed = |error: fjall::Error| engine_error("reading", &error);
        let prefix = layout::row_prefix(table, request.partition.as_bytes());
        let ends = ends(&prefix, &request.from, &request.to);
        if is_empty(&ends) {
            let version = self.version(keyspace, request).map_err(failed)?;
            return Ok(Page { version, ..Page::default() });
        }
        let Some(snapshot) = view else {
            let rows = keyspace.range::<Vec<u8>, _>(ends);
            return Ok(collect(rows, request, prefix.len(), Version::NEVER).map_err(failed)?);
        };
        let version = snapshot.get(keyspace, layout::version_key(request.partition.as_bytes()));
        let version = version.map_err(failed)?.and_then(|bytes| layout::decode_version(&bytes));
        let rows = snapshot.range::<Vec<u8>, _>(keyspace, ends);
        let page = collect(rows, request, prefix.len(), version.unwrap_or_default());
        Ok(page.map_err(failed)?)
    }

    fn version(&self, keyspace: &Keyspace, request: &RangeRequest) -> fjall::Result<Version> {
        if request.table.writes() == Writes::Once {
            return Ok(Version::NEVER);
        }
        let found = keyspace.get(layout::version_key(request.partition.as_bytes()))?;
        Ok(found.and_then(|bytes| layout::decode_version(&bytes)).unwrap_or_default())
    }

    /// Refuses rows whose key already has another value.
    fn check_once(&self, rows: &[Row]) -> Result<(), PutError> {
        for row in rows {
            let Some(value) = &row.value else { continue };
            let table = row.table.name();
            let keyspace = self.shared.table(row.table).ok_or(PutError::NoTable { table })?;
            let stored = keyspace.get(row.key.joined());
            let stored = stored.map_err(|error| engine_error("reading before a put", &error))?;
            if stored.is_some_and(|stored| *stored != **value) {
                return Err(PutError::Differs { table, key: format!("{:?}", row.key) });
            }
        }
        Ok(())
    }

    async fn put_rows(&self, rows: Vec<Row>) -> Result<(), PutError> {
        if rows.is_empty() {
            return Ok(());
        }
        if self.shared.options.check_once {
            self.check_once(&rows)?;
        }
        if rows.len() >= self.shared.options.bulk_rows {
            let shared = self.shared.clone();
            let run = tokio::task::spawn_blocking(move || bulk::put(&shared, rows));
            return run.await.map_err(|_| PutError::from(gone()))?;
        }
        let (done, answer) = oneshot::channel();
        self.writer.send(Request::Put { rows, done }).await?;
        answer.await.map_err(|_| PutError::from(gone()))?
    }

    async fn commit_changes(&self, commit: Commit) -> Result<Committed, CommitError> {
        let table = commit.table.name();
        let keyspace = self.shared.table(commit.table).ok_or(CommitError::NoTable { table })?;
        // Looking first keeps hopeless commits out of the queue, and the writer from looking again
        // at partitions that nobody has changed since.
        let written = self.shared.written.load(Ordering::Acquire);
        let looked = check_commit(&keyspace, &commit, None);
        let metrics = &self.shared.metrics;
        match looked {
            Ok(Current::Repeated(committed)) => {
                Metrics::add(&metrics.repeated, 1);
                return Ok(committed);
            }
            Err(error) => {
                Metrics::add(&metrics.conflicts, 1);
                return Err(error);
            }
            Ok(Current::Expected) => {}
        }
        let (done, answer) = oneshot::channel();
        let looked = Looked { commit, written };
        self.writer.send(Request::Commit { looked, done }).await?;
        let answer = answer.await.map_err(|_| CommitError::Unknown(gone()))?;
        if matches!(answer, Err(CommitError::Conflict { .. })) {
            Metrics::add(&metrics.conflicts, 1);
        }
        answer
    }
}

impl Engine for FjallEngine {
    fn get<'a>(
        &'a self,
        table: &'static TableDef,
        keys: &'a [RowKey],
        _read: Read,
    ) -> Task<'a, Result<Vec<Found>, ReadError>> {
        Box::pin(async move { self.get_now(table, keys, self.shared.view(table).await) })
    }

    fn range<'a>(&'a self, request: &'a RangeRequest) -> Task<'a, Result<Page, ReadError>> {
        Box::pin(async move { self.range_now(request, self.shared.view(request.table).await) })
    }

    fn put(&self, rows: Vec<Row>) -> Task<'_, Result<(), PutError>> {
        Box::pin(self.put_rows(rows))
    }

    fn commit(&self, commit: Commit) -> Task<'_, Result<Committed, CommitError>> {
        Box::pin(self.commit_changes(commit))
    }
}

type Ends = (End<Vec<u8>>, End<Vec<u8>>);

/// The keys between which the asked rows of a partition lie.
fn ends(prefix: &[u8], from: &Bound, to: &Bound) -> Ends {
    let key = |sort: &Bytes| [prefix, sort].concat();
    let low = match from {
        Bound::Included(sort) => End::Included(key(sort)),
        Bound::Excluded(sort) => End::Excluded(key(sort)),
        Bound::Unbounded => End::Included(prefix.to_vec()),
    };
    let high = match to {
        Bound::Included(sort) => End::Included(key(sort)),
        Bound::Excluded(sort) => End::Excluded(key(sort)),
        Bound::Unbounded => {
            layout::after_prefix(prefix.to_vec()).map_or(End::Unbounded, End::Excluded)
        }
    };
    (low, high)
}

/// Whether no key can lie between the ends; fjall panics on such a range.
fn is_empty(ends: &Ends) -> bool {
    match ends {
        (End::Included(low), End::Included(high)) => low > high,
        (End::Included(low) | End::Excluded(low), End::Included(high) | End::Excluded(high)) => {
            low >= high
        }
        _ => false,
    }
}

fn collect(
    mut rows: fjall::Iter,
    request: &RangeRequest,
    prefix: usize,
    version: Version,
) -> fjall::Result<Page> {
    // A page is usually full or nearly so, but a caller may ask for far more than there is.
    let rows_expected = request.limit.min(EXPECTED_ROWS);
    let rows_packed = PageRows::with_capacity(rows_expected, rows_expected * EXPECTED_BYTES);
    let mut page = Page { version, rows: rows_packed, more: false };
    loop {
        let next = match request.order {
            Order::Ascending => rows.next(),
            Order::Descending => rows.next_back(),
        };
        let Some(guard) = next else { return Ok(page) };
        if page.rows.len() == request.limit {
            page.more = true;
            return Ok(page);
        }
        let (key, value) = guard.into_inner()?;
        let sort = key.get(prefix..).unwrap_or_default();
        let bytes = page.rows.bytes() + sort.len() + value.len();
        if bytes > limits::PAGE_BYTES && !page.rows.is_empty() {
            page.more = true;
            return Ok(page);
        }
        page.rows.push(sort, &value);
    }
}
