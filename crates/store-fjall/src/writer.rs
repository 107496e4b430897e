//! The one thread that writes the journal, for everybody who waits.
//!
//! ```text
//! callers ──► bounded queue ──► gather ──► check versions ──► one batch + marker ──► fdatasync ──►
//! answer
//! ```
//!
//! While a batch is synced the queue fills, so the next batch carries more: the slower the disk,
//! the larger the groups.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use fjall::{Keyspace, OwnedWriteBatch, PersistMode};
use store::{
    Change, Commit, CommitError, Committed, EngineError, PutError, Row, TableDef, Version,
};
use tokio::sync::{mpsc, oneshot};

use crate::acknowledged::Acknowledged;
use crate::engine::Shared;
use crate::error::engine_error;
use crate::expiry::now;
use crate::journal::{self, Identity};
use crate::layout::{self, MARKER_KEY, Operation};
use crate::metrics::Metrics;
use crate::pressure;

/// Requests that may wait; beyond, callers wait to be let in.
const QUEUE: usize = 4096;
/// Requests and bytes of one batch.
const GROUP_REQUESTS: usize = 4096;
const GROUP_BYTES: usize = 8 * 1024 * 1024;
/// Bytes written to the journal before all memtables are flushed. fjall drops a journal only when
/// every table in it is flushed, so one rarely written table would otherwise keep all of them.
const FLUSH_BYTES: usize = 32 * 1024 * 1024;
/// Commits to one partition before its table is flushed. A memtable keeps every old version of a
/// row, and a range steps over all of them: a partition rewritten a hundred thousand times would
/// be read a hundred thousand times as slowly as a quiet one.
const FLUSH_REWRITES: u32 = 1024;
/// Rows deleted from one table before it is flushed, so that compaction can drop them: until then a
/// range steps over each.
const FLUSH_DELETES: u32 = 4096;
/// What fjall's journal adds to a row.
const ROW_OVERHEAD: usize = 21;

/// One thing to write.
pub(crate) enum Request {
    Put { rows: Vec<Row>, done: oneshot::Sender<Result<(), PutError>> },
    Commit { looked: Looked, done: oneshot::Sender<Result<Committed, CommitError>> },
    Meta { pairs: Vec<(Vec<u8>, Vec<u8>)>, done: std::sync::mpsc::Sender<Result<(), EngineError>> },
}

/// A commit that met what it expects when somebody looked.
pub(crate) struct Looked {
    pub(crate) commit: Commit,
    /// The last batch that was written before the look.
    pub(crate) written: u64,
}

/// The way to the writing thread.
#[derive(Debug)]
pub(crate) struct Writer {
    queue: Option<mpsc::Sender<Request>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(crate) fn start(
        shared: Arc<Shared>,
        identity: Identity,
        acknowledged: Acknowledged,
        last: u64,
    ) -> Self {
        let (queue, requests) = mpsc::channel(QUEUE);
        let state = WriterThread {
            shared,
            identity,
            acknowledged,
            last,
            failed: None,
            unflushed: 0,
            dirty: HashMap::new(),
            rewrites: HashMap::new(),
            forgotten: last,
            deletes: HashMap::new(),
            crowded: HashMap::new(),
        };
        let thread = std::thread::Builder::new()
            .name("store:writer".to_owned())
            .spawn(move || state.run(requests))
            .ok();
        Self { queue: Some(queue), thread }
    }

    /// Queues a request. Fails only when the writing thread is gone.
    pub(crate) async fn send(&self, request: Request) -> Result<(), EngineError> {
        match &self.queue {
            Some(queue) => queue.send(request).await.map_err(|_| gone()),
            None => Err(gone()),
        }
    }

    /// Writes the store's own records and waits, inside a runtime or outside of one.
    pub(crate) fn write_meta(&self, pairs: Vec<(Vec<u8>, Vec<u8>)>) -> Result<(), EngineError> {
        let (done, answer) = std::sync::mpsc::channel();
        let mut request = Request::Meta { pairs, done };
        loop {
            let queue = self.queue.as_ref().ok_or_else(gone)?;
            match queue.try_send(request) {
                Ok(()) => return answer.recv().map_err(|_| gone())?,
                Err(mpsc::error::TrySendError::Closed(_)) => return Err(gone()),
                Err(mpsc::error::TrySendError::Full(back)) => request = back,
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // A panic there has been logged by the panic hook; there is nobody to tell here.
            let _ = thread.join();
        }
    }
}

pub(crate) fn gone() -> EngineError {
    EngineError::new("the writing thread has ended", "see the log for the cause, then restart")
}

struct WriterThread {
    shared: Arc<Shared>,
    identity: Identity,
    acknowledged: Acknowledged,
    /// Number of the last batch written.
    last: u64,
    /// After a failed write the journal's end is unknown: nothing may follow it.
    failed: Option<EngineError>,
    /// Bytes journalled since the last flush of everything.
    unflushed: usize,
    /// Tables with rows that only the journal holds.
    dirty: HashMap<&'static str, Keyspace>,
    /// Commits to each partition since its table was flushed; as many as `FLUSH_BYTES` hold.
    rewrites: HashMap<&'static str, HashMap<Bytes, Rewrites>>,
    /// The batch up to which commits may be missing in `rewrites`.
    forgotten: u64,
    /// Rows deleted from each table since it was flushed.
    deletes: HashMap<&'static str, u32>,
    /// Tables with a partition that reached `FLUSH_REWRITES`, or at `FLUSH_DELETES` themselves.
    crowded: HashMap<&'static str, Keyspace>,
}

/// Commits to one partition.
#[derive(Default)]
struct Rewrites {
    count: u32,
    /// The batch of the last one.
    last: u64,
}

/// The answer of one request, ready to be sent once its batch is synced.
enum Answer {
    Put(oneshot::Sender<Result<(), PutError>>),
    Commit(oneshot::Sender<Result<Committed, CommitError>>, Committed),
    /// Refused for a version that is true only once this batch is written.
    Refused(oneshot::Sender<Result<Committed, CommitError>>, CommitError),
    Meta(std::sync::mpsc::Sender<Result<(), EngineError>>),
}

/// What became of a commit on its way into a batch.
enum Gathered {
    /// It was done before and can be answered at once.
    Known(Committed),
    /// It is in the batch.
    New(Committed),
    /// The same operation is in the batch already.
    Twin(Committed),
}

/// A batch while it is gathered.
struct Group {
    batch: OwnedWriteBatch,
    answers: Vec<Answer>,
    /// Versions and operations of this batch, which the tables do not show yet.
    versions: HashMap<(&'static str, Bytes), Version>,
    operations: HashMap<(&'static str, Bytes, store::OpId), Committed>,
    bytes: usize,
    rows: usize,
}

impl WriterThread {
    fn run(mut self, mut requests: mpsc::Receiver<Request>) {
        while let Some(first) = requests.blocking_recv() {
            let mut group = self.new_group();
            let mut next = Some(first);
            let mut taken = 0;
            while let Some(request) = next.take() {
                self.gather(&mut group, request);
                taken += 1;
                if taken < GROUP_REQUESTS && group.bytes < GROUP_BYTES {
                    next = requests.try_recv().ok();
                }
            }
            self.write(group);
        }
    }

    fn new_group(&self) -> Group {
        Group {
            batch: self.shared.database.batch().durability(Some(PersistMode::SyncData)),
            answers: Vec::new(),
            versions: HashMap::new(),
            operations: HashMap::new(),
            bytes: 0,
            rows: 0,
        }
    }

    fn gather(&mut self, group: &mut Group, request: Request) {
        match request {
            Request::Put { rows, done } => match self.gather_put(group, rows) {
                Ok(()) => group.answers.push(Answer::Put(done)),
                Err(error) => drop(done.send(Err(error))),
            },
            Request::Commit { looked, done } => match self.gather_commit(group, looked) {
                Ok(Gathered::Known(committed)) => drop(done.send(Ok(committed))),
                Ok(Gathered::New(committed) | Gathered::Twin(committed)) => {
                    group.answers.push(Answer::Commit(done, committed));
                }
                // What it lost against may be in this batch: a conflict that is not written yet.
                Err(error @ CommitError::Conflict { .. }) if !group.answers.is_empty() => {
                    group.answers.push(Answer::Refused(done, error));
                }
                Err(error) => drop(done.send(Err(error))),
            },
            Request::Meta { pairs, done } => {
                for (key, value) in pairs {
                    group.batch.insert(&self.shared.meta, key, value);
                }
                self.dirty.insert(layout::META_KEYSPACE, self.shared.meta.clone());
                group.answers.push(Answer::Meta(done));
            }
        }
    }

    fn gather_put(&mut self, group: &mut Group, rows: Vec<Row>) -> Result<(), PutError> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone().into());
        }
        // Rows of one table usually follow each other, so the table is looked up once per run of
        // them.
        let mut current: Option<(&'static TableDef, Keyspace)> = None;
        group.rows += rows.len();
        for Row { table, key, value } in rows {
            if current.as_ref().is_none_or(|(last, _)| !std::ptr::eq(*last, table)) {
                let keyspace = self.shared.table(table);
                let keyspace = keyspace.ok_or(PutError::NoTable { table: table.name() })?;
                self.dirty.insert(table.name(), keyspace.clone());
                current = Some((table, keyspace));
            }
            let Some((_, keyspace)) = &current else { continue };
            if value.is_none() {
                let deletes = self.deletes.entry(table.name()).or_default();
                *deletes += 1;
                if *deletes == FLUSH_DELETES {
                    self.crowded.insert(table.name(), keyspace.clone());
                }
            }
            let key = key.joined().clone();
            group.bytes += key.len() + ROW_OVERHEAD + value.as_ref().map_or(0, Bytes::len);
            match value {
                Some(value) => group.batch.insert(keyspace, key, value),
                None => group.batch.remove(keyspace, key),
            }
        }
        Ok(())
    }

    fn gather_commit(
        &mut self,
        group: &mut Group,
        Looked { commit, written }: Looked,
    ) -> Result<Gathered, CommitError> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone().into());
        }
        let name = commit.table.name();
        let keyspace = self.shared.table(commit.table);
        let keyspace = keyspace.ok_or(CommitError::NoTable { table: name })?;
        let partition = Bytes::copy_from_slice(commit.partition.as_bytes());
        let operation = (name, partition.clone(), commit.op);
        if let Some(twin) = group.operations.get(&operation) {
            // Its twin is in this very batch: it is done, or not, together with it.
            return Ok(Gathered::Twin(Committed { repeated: true, ..twin.clone() }));
        }
        if self.is_changed_since(written, name, &partition) {
            let pending = group.versions.get(&(name, partition.clone())).copied();
            if let Current::Repeated(committed) = check_commit(&keyspace, &commit, pending)? {
                return Ok(Gathered::Known(committed));
            }
        }
        let version = commit.expected.next();
        let committed = Committed { version, result: commit.result.clone(), repeated: false };
        group.versions.insert((name, partition.clone()), version);
        let rewrites = self.rewrites.entry(name).or_default().entry(partition).or_default();
        rewrites.count += 1;
        rewrites.last = self.last + 1;
        if rewrites.count == FLUSH_REWRITES {
            self.crowded.insert(name, keyspace.clone());
        }
        group.operations.insert(operation, committed.clone());
        self.dirty.insert(name, keyspace.clone());
        add_commit(group, &keyspace, commit, version, self.shared.options.operation_age);
        Ok(Gathered::New(committed))
    }

    /// Whether a partition may have been committed to after a batch, or is in the one that is being
    /// gathered. If not, who looked then need not look again: looking is most of a commit's work.
    fn is_changed_since(&self, written: u64, table: &str, partition: &Bytes) -> bool {
        let rewrites = self.rewrites.get(table).and_then(|partitions| partitions.get(partition));
        written < self.forgotten || rewrites.is_some_and(|rewrites| rewrites.last > written)
    }

    fn write(&mut self, group: Group) {
        if group.answers.is_empty() {
            return;
        }
        let started = Instant::now();
        let written = self.write_batch(group.batch);
        self.measure(&group.answers, group.rows, started.elapsed());
        self.unflushed += group.bytes;
        if let Err(error) = &written {
            tracing::error!(%error, "the store takes no more writes");
            self.failed = Some(error.clone());
        }
        for answer in group.answers {
            answer.send(&written);
        }
        if self.failed.is_some() {
            return;
        }
        if self.unflushed >= FLUSH_BYTES {
            self.flush();
        } else if !self.crowded.is_empty() {
            self.flush_crowded();
        }
    }

    /// Writes and syncs one batch with its marker.
    fn write_batch(&mut self, mut batch: OwnedWriteBatch) -> Result<(), EngineError> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone());
        }
        let failed = |error: fjall::Error| engine_error("writing", &error);
        for keyspace in self.dirty.values().chain([&self.shared.marker]) {
            pressure::room(&self.shared.database, keyspace).map_err(failed)?;
        }
        self.last += 1;
        let in_flight = self.shared.in_flight.begin(&self.shared.database);
        // Last in the batch, so that whoever finds it knows the batch was written to its end.
        let marker = journal::marker(self.identity, self.last, in_flight.floor());
        batch.insert(&self.shared.marker, MARKER_KEY, marker);
        batch.commit().map_err(failed)?;
        drop(in_flight);
        self.shared.written.store(self.last, Ordering::Release);
        self.acknowledged.write(self.last).map_err(|error| failed(error.into()))
    }

    /// Starts writing the memtables to tables, in fjall's own threads, so that the journal can be
    /// dropped.
    fn flush(&mut self) {
        self.unflushed = 0;
        self.forgotten = self.last;
        self.rewrites.clear();
        self.deletes.clear();
        self.crowded.clear();
        Metrics::add(&self.shared.metrics.flushes, 1);
        let marker = std::iter::once((layout::MARKER_KEYSPACE, self.shared.marker.clone()));
        self.dirty.drain().chain(marker).for_each(rotate);
    }

    /// Starts writing the tables out in which one partition was rewritten again and again.
    fn flush_crowded(&mut self) {
        self.forgotten = self.last;
        for (name, keyspace) in self.crowded.drain() {
            self.rewrites.remove(name);
            self.deletes.remove(name);
            self.dirty.remove(name);
            rotate((name, keyspace));
        }
    }

    fn measure(&self, answers: &[Answer], rows: usize, elapsed: Duration) {
        let metrics = &self.shared.metrics;
        let commits = answers
            .iter()
            .filter(|answer| matches!(answer, Answer::Commit(_, new) if !new.repeated))
            .count();
        Metrics::add(&metrics.groups, 1);
        Metrics::add(&metrics.requests, answers.len());
        Metrics::add(&metrics.commits, commits);
        Metrics::add(&metrics.rows_put, rows);
        Metrics::time(&metrics.group_nanos, elapsed);
        Metrics::longest(&metrics.group_nanos_max, elapsed);
    }
}

fn rotate((name, keyspace): (&'static str, Keyspace)) {
    if let Err(error) = keyspace.rotate_memtable() {
        tracing::error!(table = name, %error, "the journal could not be kept short");
    }
}

impl Answer {
    fn send(self, written: &Result<(), EngineError>) {
        // A caller that went away does not need its answer.
        match self {
            Self::Put(done) => drop(done.send(written.clone().map_err(PutError::from))),
            Self::Meta(done) => drop(done.send(written.clone())),
            Self::Refused(done, error) => {
                drop(done.send(Err(written.clone().map_or_else(CommitError::Unknown, |()| error))));
            }
            // The bytes may be in the journal even so: only the operation row can tell.
            Self::Commit(done, committed) => {
                drop(done.send(written.clone().map(|()| committed).map_err(CommitError::Unknown)))
            }
        }
    }
}

/// What a commit meets.
pub(crate) enum Current {
    /// It was done before.
    Repeated(Committed),
    /// The partition is at the expected version.
    Expected,
}

/// Checks a commit against the tables, and against a version that is `pending` in the same batch.
pub(crate) fn check_commit(
    keyspace: &Keyspace,
    commit: &Commit,
    pending: Option<Version>,
) -> Result<Current, CommitError> {
    let failed = |error: fjall::Error| engine_error("reading before a commit", &error);
    let partition = commit.partition.as_bytes();
    // The version first and the operation second, the other way round than they are written: a
    // commit that lands in between is found as done, never mistaken for somebody else's.
    let current = match pending {
        Some(version) => version,
        None => {
            let stored = keyspace.get(layout::version_key(partition)).map_err(failed)?;
            stored.and_then(|bytes| layout::decode_version(&bytes)).unwrap_or_default()
        }
    };
    if current == Version::NEVER && commit.expected == current {
        // Nothing was ever done here.
        return Ok(Current::Expected);
    }
    let done = keyspace.get(layout::operation_key(partition, commit.op)).map_err(failed)?;
    let done = done.and_then(|bytes| Operation::decode(&bytes.into()));
    if let Some(done) = done.filter(|done| done.expires >= now()) {
        let Operation { version, result, .. } = done;
        return Ok(Current::Repeated(Committed { version, result, repeated: true }));
    }
    if current == commit.expected {
        return Ok(Current::Expected);
    }
    Err(CommitError::Conflict { expected: commit.expected, current })
}

fn add_commit(
    group: &mut Group,
    keyspace: &Keyspace,
    commit: Commit,
    version: Version,
    age: Duration,
) {
    let partition = commit.partition.as_bytes();
    let expires = now() + age.as_secs();
    let operation = Operation { version, expires, result: commit.result };
    group.bytes += operation.result.len() + 2 * (partition.len() + 40);
    group.batch.insert(keyspace, layout::operation_key(partition, commit.op), operation.encode());
    group.batch.insert(keyspace, layout::version_key(partition), version.0.to_be_bytes());
    for change in commit.changes {
        group.bytes += change.size() + partition.len() + ROW_OVERHEAD;
        match change {
            Change::Put { sort, value } => {
                group.batch.insert(keyspace, layout::guarded_row(partition, &sort), value);
            }
            Change::Delete { sort } => {
                group.batch.remove(keyspace, layout::guarded_row(partition, &sort));
            }
        }
    }
}
