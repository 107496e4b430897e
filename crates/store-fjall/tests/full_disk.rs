//! A full disk is a clear error, and nothing that was acknowledged is lost.

mod common;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use common::{
    ROWS, RUNS, count, expect_clean, expect_rows, options, random_op, rows, says, schema, store,
    whole_version,
};
use parts::{Tmpfs, require};
use store::{CommitError, Maintenance, OpId, PutError, Store, Version};
use store_fjall::{FjallEngine, OpenError};

const MIB: u64 = 1 << 20;
/// Nothing here takes a second; whoever takes this long hangs.
const HANGS: Duration = Duration::from_secs(60);

/// What was acknowledged before the disk was full.
#[derive(Default)]
struct Known {
    rows: u64,
    runs: u64,
    commits: Vec<(u64, OpId)>,
}

impl Known {
    async fn check(&self, store: &Store) {
        expect_rows(store, &ROWS, 1, 0..self.rows).await;
        expect_rows(store, &RUNS, 2, 0..self.runs).await;
        let version = whole_version(store, 3).await;
        let last = self.commits.last().map_or(0, |(version, _)| *version);
        assert!(version.0 >= last, "version {version} is before {last}");
        for &(version, op) in self.commits.iter().rev().take(100) {
            let again = store.commit(count(3, Version(version - 1), op)).await;
            let again = again.expect("a known operation");
            assert!(again.repeated && again.version.0 == version, "{again:?}");
        }
    }
}

/// Which verb fills the disk.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Filling {
    Puts,
    Commits,
    Runs,
    All,
}

/// Writes until the disk is full, and gives the error.
async fn fill(store: &Store, filling: Filling, known: &mut Known) -> String {
    let mut random = fastrand::Rng::with_seed(7);
    // One commit at least, so that there is something to repeat.
    let mut first = true;
    loop {
        if filling == Filling::Commits || filling == Filling::All || first {
            let version = Version(known.commits.len() as u64);
            let mut commit = count(3, version, random_op(&mut random));
            // Long results fill the disk sooner.
            commit.result = [&commit.result[..], &vec![b'r'; 8000]].concat().into();
            commit.result.truncate(if filling == Filling::Commits { 8008 } else { 8 });
            let op = commit.op;
            match store.commit(commit).await {
                Ok(done) => known.commits.push((done.version.0, op)),
                // Never "nothing was written": some of it may stand in the journal.
                Err(error @ CommitError::Unknown(_)) => return error.to_string(),
                // Unless another verb had met the end before.
                Err(CommitError::Engine(error)) if filling == Filling::All => {
                    return error.to_string();
                }
                Err(error) => panic!("{error}"),
            }
        }
        if matches!(filling, Filling::Puts | Filling::All) || first {
            match store.put(rows(&ROWS, 1, known.rows..known.rows + 150)).await {
                Ok(()) => known.rows += 150,
                Err(PutError::Engine(error)) => return error.to_string(),
                Err(error) => panic!("{error}"),
            }
        }
        if matches!(filling, Filling::Runs | Filling::All) || first {
            match store.put(rows(&RUNS, 2, known.runs..known.runs + 3000)).await {
                Ok(()) => known.runs += 3000,
                Err(PutError::Engine(error)) => return error.to_string(),
                Err(error) => panic!("{error}"),
            }
        }
        first = false;
    }
}

async fn no_hang<T>(what: &str, work: impl Future<Output = T>) -> T {
    let ended = tokio::time::timeout(HANGS, work).await;
    ended.unwrap_or_else(|_| panic!("{what} hangs"))
}

/// Closes and drops the engine in a thread, because a hang there would stop the runtime.
async fn let_go(engine: Arc<FjallEngine>) {
    // Whether there is anything left to flush depends on what failed.
    let _ = no_hang("closing", engine.close()).await;
    let dropped = tokio::task::spawn_blocking(move || drop(engine));
    no_hang("dropping", dropped).await.expect("does not panic");
}

fn try_open(directory: &Path) -> Result<Arc<FjallEngine>, OpenError> {
    FjallEngine::open(&options(directory), &schema()).map(Arc::new)
}

/// Leaves not a byte free, as the system's own logs would.
fn stuff(disk: &Path) {
    use std::io::Write;
    let mut file = std::fs::File::create(disk.join("stuffing")).expect("a file");
    while file.write_all(&[1; 4096]).is_ok() {}
}

async fn survives(size: u64, filling: Filling) {
    let Some(disk) = require(Tmpfs::mount(size)) else { return };
    let directory = disk.path().join("store");
    let mut known = Known::default();

    let engine = try_open(&directory).expect("opens on an empty disk");
    let first = store(&engine);
    let error = no_hang("filling", fill(&first, filling, &mut known)).await;
    says(&error, &["free space"]);
    stuff(disk.path());

    // Reads go on. Writes are refused with the remedy, each of them, at once.
    known.check(&first).await;
    let mut random = fastrand::Rng::with_seed(9);
    for _ in 0..3 {
        let put = first.put(rows(&ROWS, 10, 0..150));
        says(&no_hang("a put", put).await.expect_err("is full"), &["free space"]);
        let run = first.put(rows(&RUNS, 11, 0..3000));
        says(&no_hang("a run", run).await.expect_err("is full"), &["free space"]);
        let commit = first.commit(count(12, Version::NEVER, random_op(&mut random)));
        says(&no_hang("a commit", commit).await.expect_err("is full"), &["free space"]);
    }
    known.check(&first).await;
    drop(first);
    let_go(engine).await;

    // While the disk is still full it opens or says what to do; either way nothing is lost.
    for _ in 0..2 {
        match try_open(&directory) {
            Ok(engine) => {
                known.check(&store(&engine)).await;
                let_go(engine).await;
            }
            Err(error) => says(&error, &["free space"]),
        }
    }

    std::fs::remove_file(disk.path().join("stuffing")).expect("is there");
    let grown = format!("remount,size={}", size * 4);
    let mut mount = Command::new("mount");
    parts::run(mount.args(["-o", &grown]).arg(disk.path())).expect("a larger disk");
    let engine = try_open(&directory).expect("opens with free space");
    let again = store(&engine);
    known.check(&again).await;
    expect_clean(&engine).await;
    again.put(rows(&ROWS, 1, known.rows..known.rows + 150)).await.expect("writes again");
    again.put(rows(&RUNS, 2, known.runs..known.runs + 3000)).await.expect("writes again");
    let version = whole_version(&again, 3).await;
    let commit = again.commit(count(3, version, random_op(&mut random))).await;
    commit.expect("commits again");
    drop(again);
    let_go(engine).await;
    println!(
        "{filling:?} on {} MiB: {} rows, {} rows in runs, {} commits, all there",
        size / MIB,
        known.rows,
        known.runs,
        known.commits.len()
    );
}

/// Smaller than what is journalled between two flushes: the journal itself meets the end.
#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_fills_while_the_journal_is_written_loses_nothing() {
    survives(20 * MIB, Filling::Puts).await;
    survives(20 * MIB, Filling::Commits).await;
}

/// Larger than that: a flush in the background meets the end, and the writer hears of it later.
#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_fills_while_tables_are_flushed_loses_nothing() {
    survives(48 * MIB, Filling::Puts).await;
    survives(48 * MIB, Filling::Commits).await;
    survives(90 * MIB, Filling::Puts).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_fills_during_bulk_runs_loses_nothing() {
    survives(24 * MIB, Filling::Runs).await;
    survives(24 * MIB, Filling::All).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_cannot_be_made_on_a_full_disk_is_made_when_there_is_space() {
    let Some(disk) = require(Tmpfs::mount(MIB)) else { return };
    let directory = disk.path().join("store");
    stuff(disk.path());
    for _ in 0..2 {
        let error = try_open(&directory).expect_err("there is no space");
        says(&error, &["free space"]);
    }
    std::fs::remove_file(disk.path().join("stuffing")).expect("is there");
    let engine = try_open(&directory).expect("opens");
    store(&engine).put(rows(&ROWS, 1, 0..100)).await.expect("is written");
    expect_rows(&store(&engine), &ROWS, 1, 0..100).await;
}
