//! Rows for the tests of copies: written straight into the engines, below the program.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parts::cassandra;
use store::{
    Change, Commit, Engine as _, Maintenance as _, OpId, PartitionKey, Row, RowKey, Schema,
    TableDef, Version,
};
use store_cassandra::CassandraEngine;
use store_fjall::FjallEngine;

use crate::common::Place;

/// Rows of one put.
const PUT: usize = 50_000;
/// How often something that will happen is looked for.
const LOOK: Duration = Duration::from_millis(50);

/// How much is written.
#[derive(Clone, Copy)]
pub(crate) struct Fill {
    /// Rows of `timeline.heights`; other tables get some.
    pub(crate) once: u64,
    /// Partitions of each guarded table.
    pub(crate) guarded: u64,
}

/// The kernel's tables: those of the program that are public.
fn schema() -> Schema {
    let kernel = timeline::schema();
    let kernel = kernel.tables().chain(tally::tables());
    Schema::new(kernel.chain([index::INTENTS.def(), index::STUCK.def()]))
}

fn table(name: &str) -> &'static TableDef {
    schema().tables().find(|table| table.name() == name).expect("a table of the kernel")
}

/// The row of a number: 200 of them share a partition.
fn row(table: &'static TableDef, number: u64) -> Row {
    let key = RowKey::new(table, &(number / 200).to_be_bytes(), &number.to_be_bytes());
    // A value begins with the number of its format.
    let value = Bytes::from([&[1], number.to_le_bytes().repeat(5).as_slice()].concat());
    Row { table, key: key.expect("a key"), value: Some(value) }
}

/// Two rows of a guarded partition; the third commit takes the first row away again.
fn commit(table: &'static TableDef, number: u64, expected: Version) -> Commit {
    let sort = |sort: u64| Bytes::from(sort.to_be_bytes().to_vec());
    let value = Bytes::from(format!("\u{1}{number} at {}", expected.0));
    let first = match expected {
        Version(2) => Change::Delete { sort: sort(0) },
        _ => Change::Put { sort: sort(0), value: value.clone() },
    };
    let mut op = [0; 16];
    op[..8].copy_from_slice(&number.to_be_bytes());
    op[8..].copy_from_slice(&expected.0.to_be_bytes());
    Commit {
        table,
        partition: PartitionKey::new(table, number.to_be_bytes().to_vec()).expect("a key"),
        expected,
        changes: vec![first, Change::Put { sort: sort(1 + expected.0), value }],
        op: OpId(op),
        result: Bytes::from_static(b"done"),
    }
}

/// Writes rows of both kinds into the embedded store that the program made in `directory`.
pub(crate) fn fill(directory: &Path, fill: Fill) {
    let options = store_fjall::Options::new(directory);
    let engine = FjallEngine::open(&options, &schema()).expect("opens");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        for (name, rows) in [
            ("timeline.heights", fill.once),
            ("timeline.seats", fill.once / 100),
            ("timeline.switches", 300),
            ("index.intents", 40),
        ] {
            let mut numbers = 0..rows;
            while !numbers.is_empty() {
                let rows = numbers.by_ref().take(PUT).map(|number| row(table(name), number));
                engine.put(rows.collect()).await.expect("puts");
            }
        }
        for name in ["tally.shards", "timeline.tips"] {
            for number in 0..fill.guarded {
                for version in 0..=number % 3 {
                    let commit = commit(table(name), number, Version(version));
                    engine.commit(commit).await.expect("commits");
                }
            }
        }
        engine.close().await.expect("closes");
    });
}

/// Table, entries and digest of each line that `copy` printed.
pub(crate) fn digests(printed: &str) -> Vec<(String, u64, String)> {
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let (table, entries, digest) = (words.next()?, words.next()?, words.next()?);
        let entries = entries.replace(',', "").parse().ok()?;
        (digest.len() == 32).then(|| (table.to_owned(), entries, digest.to_owned()))
    };
    printed.lines().filter_map(line).collect()
}

/// The node that the tests share.
pub(crate) struct Cluster {
    /// The node.
    pub(crate) node: Arc<cassandra::Server>,
}

/// A keyspace of it, opened beside the program.
pub(crate) struct Keyspace {
    engine: Arc<CassandraEngine>,
    runtime: tokio::runtime::Runtime,
}

impl Cluster {
    /// The node; none when it cannot be had here.
    pub(crate) fn shared() -> Option<Self> {
        let cassandra = parts::require(cassandra::install())?;
        Some(Self { node: cassandra.shared().expect("Cassandra starts") })
    }

    /// A configuration of the program for a keyspace. Time is ample: tests share two cores.
    pub(crate) fn config(&self, place: &Place, keyspace: &str) -> String {
        format!(
            "[store]\nengine = \"cassandra\"\ndirectory = \"{}\"\n[store.cassandra]\n\
             contact_points = [\"{}\"]\nkeyspace = \"{keyspace}\"\nreplication = 1\n\
             request_timeout = \"10 s\"\npatience = \"1 min\"\n",
            place.path(keyspace).display(),
            self.node.address(),
        )
    }

    /// Opens a keyspace that has tables.
    pub(crate) fn open(&self, keyspace: &str) -> Keyspace {
        self.try_open(keyspace).expect("opens")
    }

    fn try_open(&self, keyspace: &str) -> Option<Keyspace> {
        let mut options = store_cassandra::Options::new([self.node.address().to_string()]);
        options.keyspace = keyspace.to_owned();
        options.replication = 1;
        options.request_timeout = Duration::from_secs(10);
        options.patience = Duration::from_secs(60);
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let engine = runtime.block_on(CassandraEngine::open(&options, &schema())).ok()?;
        Some(Keyspace { engine, runtime })
    }

    /// Waits until a table of a keyspace, which may not be there yet, has a row.
    pub(crate) fn wait_for_rows(&self, keyspace: &str, name: &str, mut each: impl FnMut()) {
        let mut opened = None;
        loop {
            each();
            opened = opened.or_else(|| self.try_open(keyspace));
            if opened.as_ref().is_some_and(|keyspace| keyspace.has_rows(name)) {
                return;
            }
            std::thread::sleep(LOOK);
        }
    }
}

impl Keyspace {
    /// A note beside the tables.
    pub(crate) fn note(&self, name: &str) -> Option<Bytes> {
        self.runtime.block_on(self.engine.note(name)).expect("reads")
    }

    /// Puts rows.
    pub(crate) fn put(&self, name: &str, rows: u64) {
        let rows = (0..rows).map(|number| row(table(name), number)).collect();
        self.runtime.block_on(self.engine.put(rows)).expect("puts");
    }

    fn has_rows(&self, name: &str) -> bool {
        self.runtime.block_on(async {
            let walker = self.engine.walk().await.expect("walks");
            !walker.page(table(name), None, 1).await.expect("reads").entries.is_empty()
        })
    }
}
