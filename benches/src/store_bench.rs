//! The embedded store beside raw fjall doing the same work: what does our layer cost?
//!
//! Both sides write the same rows with the same keyspace options and sync the same batches. Rounds
//! alternate, and the ratio is of the medians of processor time, which other programs disturb
//! least.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fjall::compaction::Leveled;
use fjall::config::{BlockSizePolicy, RestartIntervalPolicy};
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use placement::Placement;
use store::{
    Bounds, Commit, Engine, Maintenance, OpId, PageRequest, Row, Schema, Store, Table, Version,
};
use store_fjall::{FjallEngine, Options};

use crate::measure::{Cost, Line, disk_bytes, median, settle};

const ROUNDS: usize = 6;
const PUT_ROWS: usize = 200_000;
const SMALL_BATCH: usize = 100;
const LARGE_BATCH: usize = 2_000;
const BULK_RUNS: usize = 10;
const BULK_ROWS: usize = 100_000;
const READS: usize = 200_000;
const RANGES: usize = 20_000;
const RANGE_ROWS: u32 = 50;
const VALUE_BYTES: usize = 11;
/// Partition numbers a round may use.
const ROUND_SPAN: usize = 2_000_000;

static ROWS: Table<[u8; 32], u32, Vec<u8>> =
    Table::once("bench.rows", "A row under a hash.", Placement::Hashed, Bounds::rows(1000));
static CELLS: Table<u64, u8, Vec<u8>> =
    Table::guarded("bench.cells", "A guarded cell.", Placement::Hashed, Bounds::rows(10));

pub(crate) fn run() -> anyhow::Result<()> {
    println!("{ROUNDS} rounds, rows of 44 bytes; CPU is user and system time of all threads\n");
    Line::head("fjall");
    let names = [
        ("puts, 100 rows a sync", PUT_ROWS),
        ("puts, 2,000 rows a sync", PUT_ROWS),
        ("bulk runs of 100,000", BULK_RUNS * BULK_ROWS),
        ("point reads", READS),
        ("misses", READS),
        ("ranges of 50 rows", RANGES),
    ];
    let mut lines = names.map(|(name, things)| Line::new(name, things));
    let mut disk = Disk::default();
    for round in 0..ROUNDS {
        // Who goes second finds a warmer machine, so they take turns.
        let (ours, raw) = if round % 2 == 0 {
            let ours = measure_ours(round, &mut disk)?;
            (ours, measure_raw(round, &mut disk)?)
        } else {
            let raw = measure_raw(round, &mut disk)?;
            (measure_ours(round, &mut disk)?, raw)
        };
        for ((line, ours), raw) in lines.iter_mut().zip(ours).zip(raw) {
            line.ours.push(ours);
            line.raw.push(raw);
        }
    }
    lines.iter().for_each(Line::print);
    disk.print(&lines);
    grouped_commits()
}

/// Bytes after both kinds of load.
#[derive(Default)]
struct Disk {
    ours: u64,
    raw: u64,
    longest_ours: f64,
    longest_raw: Duration,
}

impl Disk {
    fn print(&self, lines: &[Line]) {
        println!();
        let rows = 2 * PUT_ROWS + BULK_RUNS * BULK_ROWS;
        let logical = (rows * 48) as f64;
        let written = |pick: fn(&Line) -> &Vec<Cost>| {
            let sum = lines
                .iter()
                .take(2)
                .map(|line| median(pick(line).iter().map(|cost| cost.written as f64).collect()));
            sum.sum::<f64>() / logical
        };
        println!(
            "write amplification: ours {:.2}, fjall {:.2}",
            written(|l| &l.ours),
            written(|l| &l.raw)
        );
        println!(
            "bytes on disk: ours {} MB, fjall {} MB",
            self.ours / 1_000_000,
            self.raw / 1_000_000
        );
        println!(
            "longest commit: ours {:.1} ms, fjall {:.1} ms",
            self.longest_ours * 1e3,
            self.longest_raw.as_secs_f64() * 1e3
        );
    }
}

/// Key of row `sort` of partition number `partition`.
fn partition_of(number: u64) -> [u8; 32] {
    let mut rng = fastrand::Rng::with_seed(number);
    std::array::from_fn(|_| rng.u8(..))
}

fn value_of(number: u64) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(number ^ 0x5eed);
    (0..VALUE_BYTES).map(|_| rng.u8(..)).collect()
}

/// Rows in the order a caller has them: partitions of 50 rows, in random order of partitions.
fn row_numbers(round: usize, part: usize, count: usize) -> Vec<(u64, u32)> {
    let first = (round * ROUND_SPAN + part * 100_000) as u64;
    (0..count).map(|i| (first + (i / RANGE_ROWS as usize) as u64, i as u32 % RANGE_ROWS)).collect()
}

fn our_rows(numbers: &[(u64, u32)]) -> anyhow::Result<Vec<Row>> {
    let row = |(partition, sort): &(u64, u32)| {
        Ok(ROWS.row(&partition_of(*partition), sort, &value_of(*partition))?)
    };
    numbers.iter().map(row).collect()
}

/// The same rows as our layer would store them: `[length][partition][sort]`, `[format][value]`.
fn raw_rows(numbers: &[(u64, u32)]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let row = |(partition, sort): &(u64, u32)| (raw_key(*partition, *sort), raw_value(*partition));
    numbers.iter().map(row).collect()
}

fn raw_key(partition: u64, sort: u32) -> Vec<u8> {
    let mut key = Vec::with_capacity(37);
    key.push(32);
    key.extend_from_slice(&partition_of(partition));
    key.extend_from_slice(&sort.to_be_bytes());
    key
}

fn raw_value(partition: u64) -> Vec<u8> {
    let mut value = Vec::with_capacity(1 + VALUE_BYTES);
    value.push(1);
    value.extend_from_slice(&value_of(partition));
    value
}

fn sorted_runs(round: usize) -> Vec<Vec<(u64, u32)>> {
    let by_key = |part| {
        let mut numbers = row_numbers(round, 2 + part, BULK_ROWS);
        numbers.sort_by_cached_key(|(partition, sort)| (partition_of(*partition), *sort));
        numbers
    };
    (0..BULK_RUNS).map(by_key).collect()
}

fn reads(round: usize) -> Vec<(u64, u32)> {
    let mut rng = fastrand::Rng::with_seed(round as u64);
    let first = (round * ROUND_SPAN + 2 * 100_000) as u64;
    let per_run = (BULK_ROWS / RANGE_ROWS as usize) as u64;
    (0..READS)
        .map(|_| {
            let run = rng.u64(0..BULK_RUNS as u64);
            (first + run * 100_000 + rng.u64(0..per_run), rng.u32(0..RANGE_ROWS))
        })
        .collect()
}

fn measure_ours(round: usize, disk: &mut Disk) -> anyhow::Result<[Cost; 6]> {
    let directory = tempfile::tempdir()?;
    let schema = Schema::new([ROWS.def()]);
    let engine = Arc::new(FjallEngine::open(&Options::new(directory.path()), &schema)?);
    let store = Store::new(engine.clone() as Arc<dyn Engine>, 0);
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let put = |part: usize, size: usize| {
        let rows = our_rows(&row_numbers(round, part, PUT_ROWS))?;
        let batches: Vec<Vec<Row>> = rows.chunks(size).map(<[Row]>::to_vec).collect();
        let (cost, ()) = Cost::of(|| {
            runtime.block_on(async {
                for batch in batches {
                    store.put(batch).await?;
                }
                Ok(())
            })
        })?;
        anyhow::Ok(cost)
    };
    let (small, large) = (put(0, SMALL_BATCH)?, put(1, LARGE_BATCH)?);
    let longest = engine.stats().into_iter().find(|stat| stat.name == "commit_seconds_max");
    disk.longest_ours = disk.longest_ours.max(longest.map_or(0.0, |stat| stat.value));
    let runs = sorted_runs(round).iter().map(|run| our_rows(run)).collect::<Result<Vec<_>, _>>()?;
    let (bulk, ()) = Cost::of(|| {
        runtime.block_on(async {
            for run in runs {
                store.put(run).await?;
            }
            settle();
            Ok(())
        })
    })?;
    disk.ours = disk_bytes(directory.path());
    let numbers: Vec<_> = reads(round).into_iter().map(|(p, s)| (partition_of(p), s)).collect();
    let (hits, ()) = Cost::of(|| runtime.block_on(read_ours(&store, &numbers, true)))?;
    let absent: Vec<_> = numbers.iter().map(|(p, s)| (*p, s + 1_000_000)).collect();
    let (misses, ()) = Cost::of(|| runtime.block_on(read_ours(&store, &absent, false)))?;
    let (ranges, ()) = Cost::of(|| {
        runtime.block_on(async {
            for (partition, _) in numbers.iter().take(RANGES) {
                let request = PageRequest::first(RANGE_ROWS as usize);
                let page = store.page(&ROWS, partition, request).await?;
                anyhow::ensure!(page.rows.len() == RANGE_ROWS as usize);
            }
            Ok(())
        })
    })?;
    Ok([small, large, bulk, hits, misses, ranges])
}

async fn read_ours(store: &Store, keys: &[([u8; 32], u32)], there: bool) -> anyhow::Result<()> {
    for (partition, sort) in keys {
        let found = store.get(&ROWS, partition, sort).await?;
        anyhow::ensure!(found.is_some() == there);
    }
    Ok(())
}

fn measure_raw(round: usize, disk: &mut Disk) -> anyhow::Result<[Cost; 6]> {
    let directory = tempfile::tempdir()?;
    let (database, keyspace) = open_raw(directory.path())?;
    let mut put = |part: usize, size: usize| {
        let rows = raw_rows(&row_numbers(round, part, PUT_ROWS));
        let batches: Vec<_> = rows.chunks(size).map(<[_]>::to_vec).collect();
        let (cost, ()) = Cost::of(|| {
            for batch in batches {
                let started = Instant::now();
                let mut writes = database.batch().durability(Some(PersistMode::SyncData));
                for (key, value) in batch {
                    writes.insert(&keyspace, key, value);
                }
                writes.commit()?;
                disk.longest_raw = disk.longest_raw.max(started.elapsed());
            }
            Ok(())
        })?;
        anyhow::Ok(cost)
    };
    let (small, large) = (put(0, SMALL_BATCH)?, put(1, LARGE_BATCH)?);
    let runs: Vec<_> = sorted_runs(round).iter().map(|run| raw_rows(run)).collect();
    let (bulk, ()) = Cost::of(|| {
        for run in runs {
            let mut ingestion = keyspace.start_ingestion()?;
            for (key, value) in run {
                ingestion.write(key, value)?;
            }
            ingestion.finish()?;
        }
        settle();
        Ok(())
    })?;
    disk.raw = disk_bytes(directory.path());
    let numbers: Vec<_> = reads(round).into_iter().map(|(p, s)| (partition_of(p), s)).collect();
    let (hits, ()) = Cost::of(|| read_raw(&keyspace, &numbers, true))?;
    let absent: Vec<_> = numbers.iter().map(|(p, s)| (*p, s + 1_000_000)).collect();
    let (misses, ()) = Cost::of(|| read_raw(&keyspace, &absent, false))?;
    let (ranges, ()) = Cost::of(|| {
        for (partition, _) in numbers.iter().take(RANGES) {
            let mut low = vec![32];
            low.extend_from_slice(partition);
            let mut rows = Vec::new();
            // One more than asked, as a page does: it must say whether rows follow.
            for guard in keyspace.prefix(&low).take(RANGE_ROWS as usize + 1) {
                let (key, value) = guard.into_inner()?;
                let sort = key.get(33..).and_then(|sort| sort.try_into().ok());
                rows.push((u32::from_be_bytes(sort.unwrap_or_default()), value.to_vec()));
            }
            anyhow::ensure!(rows.len() == RANGE_ROWS as usize);
        }
        Ok(())
    })?;
    Ok([small, large, bulk, hits, misses, ranges])
}

fn open_raw(directory: &Path) -> anyhow::Result<(Database, Keyspace)> {
    let database = Database::builder(directory)
        .cache_size(256 * 1024 * 1024)
        .worker_threads(2)
        .manual_journal_persist(true)
        .open()?;
    let options = || {
        KeyspaceCreateOptions::default()
            .data_block_size_policy(BlockSizePolicy::all(4096))
            .data_block_restart_interval_policy(RestartIntervalPolicy::all(4))
            .compaction_strategy(Arc::new(Leveled::default().with_l0_threshold(8)))
    };
    let keyspace = database.keyspace("rows", options)?;
    Ok((database, keyspace))
}

fn read_raw(keyspace: &Keyspace, keys: &[([u8; 32], u32)], there: bool) -> anyhow::Result<()> {
    for (partition, sort) in keys {
        let mut key = Vec::with_capacity(37);
        key.push(32);
        key.extend_from_slice(partition);
        key.extend_from_slice(&sort.to_be_bytes());
        let found = keyspace.get(&key)?.map(|value| value.to_vec());
        anyhow::ensure!(found.is_some() == there);
    }
    Ok(())
}

/// Commits of many callers share syncs: the figure raw fjall has no counterpart for.
fn grouped_commits() -> anyhow::Result<()> {
    const CALLERS: u64 = 64;
    const EACH: u64 = 300;
    let directory = tempfile::tempdir()?;
    let schema = Schema::new([CELLS.def()]);
    let engine = Arc::new(FjallEngine::open(&Options::new(directory.path()), &schema)?);
    let store = Store::new(engine.clone() as Arc<dyn Engine>, 0);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build()?;
    let commits = usize::try_from(CALLERS * EACH)?;
    let (cost, ()) = Cost::of(|| {
        runtime.block_on(async {
            let callers: Vec<_> = (0..CALLERS)
                .map(|caller| {
                    let store = store.clone();
                    tokio::spawn(async move { commit_in_a_row(store, caller, EACH).await })
                })
                .collect();
            for caller in callers {
                caller.await??;
            }
            Ok(())
        })
    })?;
    let (one, ()) = Cost::of(|| runtime.block_on(commit_in_a_row(store.clone(), 1000, EACH)))?;
    println!(
        "commits: {:.0}/s from {CALLERS} callers ({:.1} µs CPU each), {:.0}/s from one",
        cost.rate(commits),
        cost.cpu_each(commits),
        one.rate(usize::try_from(EACH)?)
    );
    Ok(())
}

async fn commit_in_a_row(store: Store, partition: u64, count: u64) -> anyhow::Result<()> {
    for version in 0..count {
        let commit = Commit {
            table: CELLS.def(),
            partition: CELLS.partition(&partition)?,
            expected: Version(version),
            changes: vec![CELLS.insert(&0, &version.to_be_bytes().to_vec())],
            op: OpId((u128::from(partition) << 64 | u128::from(version)).to_be_bytes()),
            result: bytes::Bytes::new(),
        };
        store.commit(commit).await?;
    }
    Ok(())
}
