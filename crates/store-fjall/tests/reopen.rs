//! A large store opens quickly after its process was killed with -9.

mod common;

use std::time::{Duration, Instant};

use common::{
    ROWS, RUNS, Writing, child_duty, count, open, random_op, read_latest, store, tell,
    whole_version,
};
use store::conformance::seed;
use store::{Row, Store, Table};

/// Bytes of a value: rows of hashes and numbers are small, and small rows are what costs most.
const VALUE: usize = 60;
/// Bytes of a row: its value with a format byte, and its key.
const ROW: u64 = VALUE as u64 + 1 + 17;
/// Rows in one `put` through the journal, and in one bulk run.
const PUT: u64 = 180;
const RUN: u64 = 400_000;
const PARTITION: u64 = 50_000;
const WRITERS: u64 = 64;

fn bytes() -> u64 {
    parts::pick(150_000_000, 1_000_000_000)
}

/// Processor seconds of this process so far: what opening costs on a machine that does nothing
/// else.
fn cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let behind_name = text.rsplit(')').next().unwrap_or_default();
    let ticks = behind_name.split_whitespace().skip(11).take(2);
    ticks.map(|ticks| ticks.parse::<f64>().expect("a number")).sum::<f64>() / 100.0
}

fn small_rows(table: &'static Table<u64, u64, Vec<u8>>, numbers: std::ops::Range<u64>) -> Vec<Row> {
    let row = |number: u64| {
        let value = number.to_le_bytes().repeat(VALUE / 8 + 1);
        let (partition, sort) = (number / PARTITION, number % PARTITION);
        table.row(&partition, &sort, &value[..VALUE].to_vec()).expect("within bounds")
    };
    numbers.map(row).collect()
}

/// Not a test: the child's part of the test below. The first child fills the store, and each goes
/// on writing through the journal until it is killed.
#[test]
fn child() {
    let Some((directory, round)) = child_duty() else { return };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let engine = open(directory);
        let store = store(&engine);
        let rows = bytes() / 2 / ROW;
        if round == 0 {
            // One half in bulk runs, the other through the journal at the same time.
            let (bulk, put) = (fill_in_runs(&store, rows), write_journal(&store, 0..rows));
            tokio::join!(bulk, put);
        }
        tell(format_args!("full"));
        write_journal(&store, round * 100_000_000 + rows..u64::MAX).await;
    });
}

async fn fill_in_runs(store: &Store, rows: u64) {
    for first in (0..rows).step_by(RUN as usize) {
        let run = small_rows(&RUNS, first..(first + RUN).min(rows));
        store.put(run).await.expect("is written");
    }
}

/// Many writers, each with its own rows and its own guarded partition.
async fn write_journal(store: &Store, numbers: std::ops::Range<u64>) {
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let (store, numbers) = (store.clone(), numbers.clone());
        writers.spawn(async move {
            let mut random = fastrand::Rng::new();
            let partition = u16::try_from(writer).expect("few writers");
            let mut first = numbers.start + writer * PUT;
            while first < numbers.end {
                let put = small_rows(&ROWS, first..(first + PUT).min(numbers.end));
                store.put(put).await.expect("is written");
                let (version, _) = read_latest(&store, partition).await;
                let commit = count(partition, version, random_op(&mut random));
                store.commit(commit).await.expect("is committed");
                first += WRITERS * PUT;
            }
        });
    }
    while let Some(writer) = writers.join_next().await {
        writer.expect("no writer fails");
    }
}

#[tokio::test]
async fn a_large_store_opens_quickly_after_a_kill() {
    let mut random = fastrand::Rng::with_seed(seed("reopen"));
    let directory = tempfile::tempdir().expect("a directory");
    let mut slowest = Duration::ZERO;
    for round in 0..parts::pick(2, 8) {
        let mut child = Writing::start("child", directory.path(), round);
        assert_eq!(child.next_line().as_deref(), Some("full"));
        std::thread::sleep(Duration::from_millis(random.u64(0..2000)));
        child.kill();
        let journals: u64 = common::journals(directory.path())
            .iter()
            .map(|path| path.metadata().expect("a journal").len())
            .sum();
        let (started, busy) = (Instant::now(), cpu());
        let engine = open(directory.path());
        let (elapsed, busy) = (started.elapsed(), cpu() - busy);
        slowest = slowest.max(elapsed);
        let (seconds, journals) = (elapsed.as_secs_f64(), journals as f64 / 1e6);
        println!(
            "kill {round}: reopened in {seconds:.2} s ({busy:.2} s of processor time), journals of \
             {journals:.0} MB"
        );
        for partition in 0..WRITERS as u16 {
            whole_version(&store(&engine), partition).await;
        }
    }
    let (size, seconds) = (bytes() as f64 / 1e9, slowest.as_secs_f64());
    println!("reopened {size:.2} GB in {seconds:.2} s at the most");

    let engine = open(directory.path());
    let report = store::verify(engine.as_ref(), &common::schema(), &mut |_, _| {}).await;
    let report = report.expect("the walk ends");
    assert!(report.is_clean(), "{:#?}", report.findings);
    let rows = bytes() / 2 / ROW;
    for table in [&RUNS, &ROWS] {
        let name = table.def().name();
        let summary = report.tables.iter().find(|summary| summary.table == name);
        let found = summary.map_or(0, |summary| summary.rows);
        assert!(found >= rows, "{name} has {found} of {rows} rows");
    }
}
