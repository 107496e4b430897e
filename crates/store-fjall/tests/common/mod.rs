//! What the fault tests share: tables, rows that prove themselves, and children to kill.
#![allow(dead_code, reason = "each test file compiles this module and uses a part of it")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;

use placement::Placement;
use store::{
    Bounds, Change, Commit, Engine, OpId, Row, Schema, Store, Table, Version, Versioned, verify,
};
use store_fjall::{FjallEngine, Options};

/// Rows written through the journal.
pub(crate) static ROWS: Table<u64, u64, Vec<u8>> = Table::once(
    "faults.rows",
    "A row whose value is a function of its key.",
    Placement::Hashed,
    Bounds::rows(10_000_000).values(256 * 1024),
);

/// Rows written in bulk runs.
pub(crate) static RUNS: Table<u64, u64, Vec<u8>> = Table::once(
    "faults.runs",
    "A row whose value is a function of its key.",
    Placement::Hashed,
    Bounds::rows(10_000_000).values(256 * 1024),
);

/// Partitions that count their own commits.
pub(crate) static CELLS: Table<u16, u16, Vec<u8>> = Table::guarded(
    "faults.cells",
    "Cell 0 holds the partition's version, cell 1 + v % 20 holds version v.",
    Placement::Hashed,
    Bounds::rows(1000),
);

/// How many of a partition's last versions stand in its cells.
pub(crate) const HISTORY: u64 = 20;

/// All of them.
pub(crate) fn schema() -> Schema {
    Schema::new([ROWS.def(), RUNS.def(), CELLS.def()])
}

/// Options under which bulk runs begin early.
pub(crate) fn options(directory: impl Into<PathBuf>) -> Options {
    let mut options = Options::new(directory);
    options.bulk_rows = 200;
    options.check_once = false;
    options.cache_bytes = 16 * 1024 * 1024;
    options
}

/// Opens a directory that must open.
pub(crate) fn open(directory: impl Into<PathBuf>) -> Arc<FjallEngine> {
    Arc::new(FjallEngine::open(&options(directory), &schema()).expect("the store opens"))
}

/// A store without a cache.
pub(crate) fn store(engine: &Arc<FjallEngine>) -> Store {
    let engine: Arc<dyn Engine> = engine.clone();
    Store::new(engine, 0)
}

/// The one value that belongs under a key. Bytes differ, so that a misplaced piece shows.
pub(crate) fn value(partition: u64, sort: u64) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(partition.wrapping_mul(0x9e37_79b9) ^ sort);
    // Mostly small, now and then larger than the buffer of fjall's journal.
    let length = if random.u8(..) == 0 { 20_000 } else { random.usize(0..200) };
    let mut bytes = vec![0; length];
    random.fill(&mut bytes);
    bytes
}

/// Rows `sorts` of one partition of `table`.
pub(crate) fn rows(
    table: &'static Table<u64, u64, Vec<u8>>,
    partition: u64,
    sorts: std::ops::Range<u64>,
) -> Vec<Row> {
    let row = |sort| table.row(&partition, &sort, &value(partition, sort)).expect("within bounds");
    sorts.map(row).collect()
}

/// Checks that rows `sorts` are there with their values.
pub(crate) async fn expect_rows(
    store: &Store,
    table: &'static Table<u64, u64, Vec<u8>>,
    partition: u64,
    sorts: std::ops::Range<u64>,
) {
    let keys: Vec<_> = sorts.clone().map(|sort| (partition, sort)).collect();
    for chunk in keys.chunks(5_000) {
        let found = store.get_many(table, chunk).await.expect("reads");
        for (&(partition, sort), found) in chunk.iter().zip(found) {
            let name = table.def().name();
            let found = found.unwrap_or_else(|| panic!("{name} lost row {partition}/{sort}"));
            assert_eq!(found, value(partition, sort), "{name} row {partition}/{sort}");
        }
    }
}

/// The commit that brings a partition of [`CELLS`] from `expected` to the next version.
pub(crate) fn count(partition: u16, expected: Version, op: OpId) -> Commit {
    let next = expected.next().0;
    let cell = |sort: u16| CELLS.insert(&sort, &next.to_be_bytes().to_vec());
    let changes: Vec<Change> = vec![cell(0), cell(1 + (next % HISTORY) as u16)];
    Commit {
        table: CELLS.def(),
        partition: CELLS.partition(&partition).expect("a partition"),
        expected,
        changes,
        op,
        result: next.to_be_bytes().to_vec().into(),
    }
}

/// The number in a cell.
pub(crate) fn number(cell: &[u8]) -> u64 {
    u64::from_be_bytes(cell.try_into().expect("eight bytes"))
}

/// Version of a partition of [`CELLS`], whose cells must all be of that version.
pub(crate) async fn whole_version(store: &Store, partition: u16) -> Version {
    let request = store::PageRequest::first(100);
    let page = store.page(&CELLS, &partition, request).await.expect("reads");
    let version = page.version.0;
    let cell = |sort: u16| {
        let found = page.rows.iter().find(|(key, _)| *key == sort);
        found.map_or(0, |(_, value)| number(value))
    };
    assert_eq!(cell(0), version, "the latest cell of partition {partition} is torn");
    for old in version.saturating_sub(HISTORY - 1).max(1)..=version {
        let found = cell(1 + (old % HISTORY) as u16);
        assert_eq!(found, old, "version {old} of partition {partition} at {version} is torn");
    }
    Version(version)
}

/// Version and latest cell of a partition in one read.
pub(crate) async fn read_latest(store: &Store, partition: u16) -> (Version, u64) {
    let Versioned { version, value } =
        store.get_versioned(&CELLS, &partition, &0).await.expect("reads");
    (version, value.map_or(0, |value| number(&value)))
}

/// A random operation id.
pub(crate) fn random_op(random: &mut fastrand::Rng) -> OpId {
    OpId(random.u128(..).to_be_bytes())
}

/// Fails when `verify` finds something.
pub(crate) async fn expect_clean(engine: &FjallEngine) {
    let report = verify(engine, &schema(), &mut |_, _| {}).await.expect("the walk ends");
    assert!(report.is_clean(), "{:#?}", report.findings);
}

/// The first words of an error and all its advice.
pub(crate) fn says(error: &impl std::fmt::Display, words: &[&str]) {
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
}

/// The journals of a store, oldest first.
pub(crate) fn journals(directory: &Path) -> Vec<PathBuf> {
    let mut found: Vec<(u64, PathBuf)> = std::fs::read_dir(directory.join("fjall"))
        .expect("a store")
        .map(|entry| entry.expect("an entry").path())
        .filter_map(|path| {
            Some((path.file_name()?.to_str()?.strip_suffix(".jnl")?.parse().ok()?, path.clone()))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, path)| path).collect()
}

const ROLE: &str = "OSTRAKON_TEST_CHILD";
const DIRECTORY: &str = "OSTRAKON_TEST_DIRECTORY";
const SEED: &str = "OSTRAKON_TEST_SEED";

/// What a child was asked to do: its directory and seed. None in the parent.
///
/// A test file with children has one test that returns at once unless this is some.
pub(crate) fn child_duty() -> Option<(PathBuf, u64)> {
    std::env::var_os(ROLE)?;
    let seed = std::env::var(SEED).ok()?.parse().ok()?;
    Some((std::env::var_os(DIRECTORY)?.into(), seed))
}

/// Tells the parent one line. Written at once: a killed child has no time to flush.
pub(crate) fn tell(line: std::fmt::Arguments<'_>) {
    let text = format!("@{line}\n");
    // The parent may be gone; then nobody needs the line.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

/// A child of this test binary that runs its test `name`; killed when it is dropped.
pub(crate) struct Writing {
    child: Child,
    lines: Option<BufReader<ChildStdout>>,
    // Ends the child also when this process is killed.
    _group: parts::Group,
}

impl Writing {
    pub(crate) fn start(name: &str, directory: &Path, seed: u64) -> Self {
        let group = parts::Group::new().expect("a group");
        let mut command = Command::new(std::env::current_exe().expect("this test"));
        command.args(["--exact", name, "--nocapture", "--test-threads=1"]);
        command.env(ROLE, "1").env(DIRECTORY, directory).env(SEED, seed.to_string());
        command.stdout(Stdio::piped()).stderr(Stdio::inherit()).stdin(Stdio::null());
        let mut child = group.spawn(&mut command).expect("the child starts");
        let lines = child.stdout.take().map(BufReader::new);
        Self { child, lines, _group: group }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the next line the child tells; none when it has ended.
    pub(crate) fn next_line(&mut self) -> Option<String> {
        let lines = self.lines.as_mut()?;
        loop {
            let mut line = String::new();
            let length = lines.read_line(&mut line).expect("text");
            if length == 0 {
                return None;
            }
            // What ends without a newline was cut by the kill: it was never told.
            if let (Some(told), true) = (told(&line), line.ends_with('\n')) {
                return Some(told);
            }
        }
    }

    /// Reads what the child tells in a thread of its own, so that it never waits for us.
    pub(crate) fn listen(&mut self) -> std::thread::JoinHandle<Vec<String>> {
        let lines = self.lines.take().expect("listened to once");
        std::thread::spawn(move || {
            let mut all = Vec::new();
            let mut lines = lines;
            loop {
                let mut line = String::new();
                match lines.read_line(&mut line) {
                    Ok(0) | Err(_) => return all,
                    Ok(_) if !line.ends_with('\n') => return all,
                    Ok(_) => all.extend(told(&line)),
                }
            }
        })
    }

    /// Kills it with -9 and waits for its end.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("can be killed");
        self.child.wait().expect("ends");
    }

    /// Whether it ended well; waits for its end.
    pub(crate) fn ends_well(&mut self) -> bool {
        self.child.wait().expect("ends").success()
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a line tells. The test harness writes its own words before the first one.
fn told(line: &str) -> Option<String> {
    line.split_once('@').map(|(_, told)| told.trim_end().to_owned())
}
