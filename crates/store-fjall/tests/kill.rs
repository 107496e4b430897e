//! A writing process killed with -9 loses nothing it was told is written, and tears nothing.

mod common;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use common::{
    ROWS, RUNS, Writing, child_duty, count, expect_clean, expect_rows, open, random_op,
    read_latest, rows, store, tell, whole_version,
};
use store::conformance::seed;
use store::{CommitError, OpId, Store, Table, Version};
use store_fjall::FjallEngine;

const PARTITIONS: u16 = 4;

type Rows = &'static Table<u64, u64, Vec<u8>>;

/// What was acknowledged, over all children of one store.
#[derive(Default)]
struct Known {
    /// Table, partition, first and last sort key.
    rows: Vec<(Rows, u64, u64, u64)>,
    /// Highest version per partition.
    versions: HashMap<u16, u64>,
    /// Partition, version and operation of each commit of the last child.
    commits: Vec<(u16, u64, OpId)>,
}

impl Known {
    fn add(&mut self, line: &str) {
        let mut words = line.split(' ');
        let verb = words.next().expect("a verb");
        let mut next = || u128::from_str_radix(words.next().expect("a word"), 16).expect("hex");
        match verb {
            "put" | "bulk" => {
                let table = if verb == "put" { &ROWS } else { &RUNS };
                self.rows.push((table, next() as u64, next() as u64, next() as u64));
            }
            "commit" => {
                let (partition, version) = (next() as u16, next() as u64);
                let highest = self.versions.entry(partition).or_default();
                *highest = version.max(*highest);
                self.commits.push((partition, version, OpId(next().to_be_bytes())));
            }
            "open" => {}
            other => panic!("unknown line: {other}"),
        }
    }
}

/// Not a test: the child's part of the tests below.
#[test]
fn child() {
    let Some((directory, seed)) = child_duty() else { return };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let engine = open(directory);
        tell(format_args!("open"));
        let store = store(&engine);
        let mut tasks = tokio::task::JoinSet::new();
        for task in 0..3 {
            tasks.spawn(write_rows(store.clone(), &ROWS, "put", seed * 8 + task, 1..60));
        }
        tasks.spawn(write_rows(store.clone(), &RUNS, "bulk", seed * 8 + 3, 200..2000));
        for task in 0..4 {
            tasks.spawn(write_cells(store.clone(), seed * 8 + task));
        }
        tasks.spawn(flush_often(engine.clone(), seed));
        while let Some(ended) = tasks.join_next().await {
            ended.expect("no task ends by itself");
        }
    });
}

async fn write_rows(
    store: Store,
    table: Rows,
    verb: &'static str,
    partition: u64,
    sizes: std::ops::Range<u64>,
) {
    let mut random = fastrand::Rng::with_seed(partition);
    let mut next = 0;
    loop {
        let end = next + random.u64(sizes.clone());
        store.put(rows(table, partition, next..end)).await.expect("is written");
        tell(format_args!("{verb} {partition:x} {next:x} {:x}", end - 1));
        next = end;
    }
}

async fn write_cells(store: Store, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    loop {
        let partition = random.u16(0..PARTITIONS);
        let (version, latest) = read_latest(&store, partition).await;
        assert_eq!(latest, version.0, "a torn read of partition {partition}");
        let op = random_op(&mut random);
        match store.commit(count(partition, version, op)).await {
            Ok(done) => {
                let op = u128::from_be_bytes(op.0);
                tell(format_args!("commit {partition:x} {:x} {op:x}", done.version.0));
            }
            Err(CommitError::Conflict { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// Memtables become tables all the time, so that kills meet flushes and compactions too.
async fn flush_often(engine: Arc<FjallEngine>, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    loop {
        tokio::time::sleep(Duration::from_millis(random.u64(5..80))).await;
        store::Maintenance::close(engine.as_ref()).await.expect("flushes");
    }
}

/// Runs a child for a while, kills it, and adds what it was told is written.
fn run_and_kill(directory: &Path, seed: u64, life: Duration, known: &mut Known) -> usize {
    let mut child = Writing::start("child", directory, seed);
    let lines = child.listen();
    std::thread::sleep(life);
    child.kill();
    let lines = lines.join().expect("read to the end");
    known.commits.clear();
    lines.iter().for_each(|line| known.add(line));
    lines.len()
}

/// Opens what a kill left and checks it against everything that was acknowledged.
async fn check(directory: &Path, known: &Known, random: &mut fastrand::Rng) {
    let engine = open(directory);
    let store = store(&engine);
    for (age, &(table, partition, first, last)) in known.rows.iter().rev().enumerate() {
        // All of the newest, and a sample of those that lived through earlier kills.
        if age < 3000 || random.u8(..) < 20 {
            expect_rows(&store, table, partition, first..last + 1).await;
        }
    }
    for partition in 0..PARTITIONS {
        let version = whole_version(&store, partition).await;
        let acknowledged = known.versions.get(&partition).copied().unwrap_or_default();
        assert!(version.0 >= acknowledged, "partition {partition}: {version} < {acknowledged}");
    }
    for &(partition, version, op) in known.commits.iter().rev().take(200) {
        let commit = count(partition, Version(version - 1), op);
        let again = store.commit(commit).await.expect("a known operation");
        assert!(again.repeated && again.version.0 == version, "{again:?} is not {version}");
        assert_eq!(common::number(&again.result), version);
    }
    expect_clean(&engine).await;
    // The store is as good as before: it takes writes on both ways.
    let fresh = random.u64(1 << 60..1 << 61);
    store.put(rows(&ROWS, fresh, 0..3)).await.expect("is written");
    store.put(rows(&RUNS, fresh, 0..300)).await.expect("is written");
}

#[tokio::test]
async fn a_growing_store_killed_at_random_moments_keeps_all_it_acknowledged() {
    let seed = seed("kill");
    let mut random = fastrand::Rng::with_seed(seed);
    let directory = tempfile::tempdir().expect("a directory");
    let mut known = Known::default();
    let kills = parts::pick(15, 200);
    let mut told = 0;
    for kill in 0..kills {
        // Short lives end in recovery, long ones under load.
        let life = Duration::from_millis(if random.u8(..) < 64 {
            random.u64(0..60)
        } else {
            random.u64(60..600)
        });
        let child = (seed % 1_000_000) * 1000 + kill;
        told += run_and_kill(directory.path(), child, life, &mut known);
        check(directory.path(), &known, &mut random).await;
    }
    let rows: u64 = known.rows.iter().map(|(_, _, first, last)| last - first + 1).sum();
    let commits: u64 = known.versions.values().sum();
    println!("{kills} kills, {told} acknowledgements, {rows} rows, {commits} commits: all there");
    assert!(rows > 0 && commits > 0, "the children lived too short to write");
}

#[tokio::test]
async fn a_store_killed_while_it_is_being_made_opens_afterwards() {
    let mut random = fastrand::Rng::with_seed(seed("kill at creation"));
    let kills = parts::pick(10, 100);
    let mut unfinished = 0;
    for kill in 0..kills {
        let directory = tempfile::tempdir().expect("a directory");
        let mut known = Known::default();
        let life = Duration::from_micros(random.u64(0..80_000));
        let told = run_and_kill(directory.path(), kill, life, &mut known);
        unfinished += u32::from(told == 0);
        check(directory.path(), &known, &mut random).await;
    }
    println!("{kills} kills, {unfinished} of them before the store was open");
}
