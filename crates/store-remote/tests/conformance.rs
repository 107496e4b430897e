//! The contract holds through the socket, and through restarts of the process behind it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use store::conformance::{CELLS, Subject, cases, concurrent, full, random, schema, seed};
use store::{
    Commit, CommitError, Committed, Engine, EngineError, EngineInfo, Entry, Finding, Found,
    Maintenance, OpId, Page, PutError, RangeRequest, Read, ReadError, Row, RowKey, Schema,
    SchemaChange, SchemaError, Stat, Store, TableDef, TableEstimate, TableRecord, Task, Version,
    Walker,
};
use store_fjall::{FjallEngine, Options};
use store_remote::{Limits, RemoteEngine, RemoteOptions, serve};
use tempfile::TempDir;
use tokio::net::UnixListener;
use tokio::sync::watch;

/// The verbs through the socket, the rest directly.
struct Through {
    remote: Arc<RemoteEngine>,
    held: Arc<FjallEngine>,
    _stop: watch::Sender<bool>,
}

struct Remote {
    directory: TempDir,
    opened: Mutex<u32>,
}

impl Remote {
    fn new() -> Self {
        Self { directory: TempDir::new().expect("a directory"), opened: Mutex::new(0) }
    }

    fn socket(&self) -> PathBuf {
        let mut opened = self.opened.lock().expect("not poisoned");
        *opened += 1;
        self.directory.path().join(format!("store{opened}.sock"))
    }
}

fn start(engine: Arc<dyn Engine>, socket: &std::path::Path) -> watch::Sender<bool> {
    let listener = UnixListener::bind(socket).expect("binds");
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(serve(listener, engine, schema(), Limits::default(), stopped));
    stop
}

async fn connect(socket: PathBuf) -> Arc<RemoteEngine> {
    let options = RemoteOptions { socket, patience: Duration::from_secs(10) };
    RemoteEngine::open(options).await.expect("connects")
}

impl Subject for Remote {
    fn open(&self) -> Task<'_, Arc<dyn Maintenance>> {
        Box::pin(async {
            // The one before is dropped, but its server's task may still hold it for a moment.
            let held = loop {
                match FjallEngine::open(&Options::new(self.directory.path()), &schema()) {
                    Ok(engine) => break Arc::new(engine),
                    Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
                }
            };
            let socket = self.socket();
            let stop = start(held.clone(), &socket);
            let through = Through { remote: connect(socket).await, held, _stop: stop };
            Arc::new(through) as Arc<dyn Maintenance>
        })
    }

    fn checks_once(&self) -> bool {
        false
    }

    fn is_durable(&self) -> bool {
        true
    }
}

impl Engine for Through {
    fn get<'a>(
        &'a self,
        table: &'static TableDef,
        keys: &'a [RowKey],
        read: Read,
    ) -> Task<'a, Result<Vec<Found>, ReadError>> {
        self.remote.get(table, keys, read)
    }
    fn range<'a>(&'a self, request: &'a RangeRequest) -> Task<'a, Result<Page, ReadError>> {
        self.remote.range(request)
    }
    fn put(&self, rows: Vec<Row>) -> Task<'_, Result<(), PutError>> {
        self.remote.put(rows)
    }
    fn commit(&self, commit: Commit) -> Task<'_, Result<Committed, CommitError>> {
        self.remote.commit(commit)
    }
}

impl Maintenance for Through {
    fn info(&self) -> Task<'_, Result<EngineInfo, EngineError>> {
        self.held.info()
    }
    fn records(&self) -> Task<'_, Result<Vec<TableRecord>, SchemaError>> {
        self.held.records()
    }
    fn apply<'a>(&'a self, schema: &'a Schema) -> Task<'a, Result<Vec<SchemaChange>, SchemaError>> {
        self.held.apply(schema)
    }
    fn walk(&self) -> Task<'_, Result<Box<dyn Walker + '_>, EngineError>> {
        self.held.walk()
    }
    fn load<'a>(
        &'a self,
        table: &'static TableDef,
        entries: Vec<Entry>,
    ) -> Task<'a, Result<(), PutError>> {
        self.held.load(table, entries)
    }
    fn clear<'a>(&'a self, table: &'static TableDef) -> Task<'a, Result<(), PutError>> {
        self.held.clear(table)
    }
    fn note<'a>(&'a self, name: &'a str) -> Task<'a, Result<Option<Bytes>, EngineError>> {
        self.held.note(name)
    }
    fn set_note<'a>(
        &'a self,
        name: &'a str,
        value: Option<Bytes>,
    ) -> Task<'a, Result<(), EngineError>> {
        self.held.set_note(name, value)
    }
    fn estimates(&self) -> Task<'_, Result<Vec<TableEstimate>, EngineError>> {
        self.held.estimates()
    }
    fn check(&self) -> Task<'_, Result<Vec<Finding>, EngineError>> {
        self.held.check()
    }
    fn stats(&self) -> Vec<Stat> {
        self.held.stats()
    }
    fn close(&self) -> Task<'_, Result<(), EngineError>> {
        self.held.close()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_of_another_process_keeps_every_case() {
    cases(&Remote::new()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_of_another_process_equals_the_model_at_random() {
    let operations = if full() { 10_000 } else { 2_000 };
    random(&Remote::new(), seed("remote random"), operations).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_of_another_process_keeps_the_contract_under_concurrency() {
    let operations = if full() { 10_000 } else { 2_000 };
    concurrent(&Remote::new(), seed("remote concurrent"), operations).await;
}

/// A client does not notice that the process behind the socket was replaced, and a commit that was
/// under way is done once.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_outlives_restarts_of_the_process_behind_the_socket() {
    let directory = TempDir::new().expect("a directory");
    let engine = FjallEngine::open(&Options::new(directory.path()), &schema()).expect("opens");
    let engine: Arc<dyn Engine> = Arc::new(engine);
    let socket = directory.path().join("store.sock");
    let mut stop = start(engine.clone(), &socket);
    let store = Store::new(connect(socket.clone()).await, 0);
    let writer = tokio::spawn(async move {
        let mut version = Version::NEVER;
        for number in 0..300_u128 {
            let commit = Commit {
                table: CELLS.def(),
                partition: CELLS.partition(&1).expect("a key"),
                expected: version,
                changes: vec![CELLS.insert(&vec![1], &number.to_be_bytes().to_vec())],
                op: OpId(number.to_be_bytes()),
                result: Bytes::new(),
            };
            version = store.commit(commit).await.expect("is done in the end").version;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        version
    });
    for _ in 0..5 {
        tokio::time::sleep(Duration::from_millis(60)).await;
        stop.send(true).expect("it runs");
        stop.closed().await;
        std::fs::remove_file(&socket).expect("it was there");
        stop = start(engine.clone(), &socket);
    }
    assert_eq!(writer.await.expect("ends"), Version(300), "each once");
}
