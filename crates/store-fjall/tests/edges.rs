//! The edges: rows at their limits, callers that go away, many tables, writes that fail.

mod common;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use common::{
    ROWS, RUNS, count, expect_clean, expect_rows, open, options, random_op, read_latest, rows,
    store, whole_version,
};
use placement::Placement;
use store::{
    Bounds, Maintenance, OpId, PageRequest, Schema, Store, Table, TableDef, Version, limits,
};
use store_fjall::FjallEngine;

static LARGE: Table<[u8; 255], [u8; 1024], Vec<u8>> = Table::once(
    "faults.large",
    "Rows as large as any may be.",
    Placement::Hashed,
    Bounds::rows(100).values(limits::VALUE_BYTES),
);

static LARGE_CELLS: Table<[u8; 255], [u8; 1024], Vec<u8>> = Table::guarded(
    "faults.large_cells",
    "Cells with keys as large as any may be.",
    Placement::Hashed,
    Bounds::rows(2000).values(limits::COMMIT_BYTES),
);

#[tokio::test]
async fn rows_at_exactly_the_limits_are_kept_on_both_ways() {
    let directory = tempfile::tempdir().expect("a directory");
    let schema = Schema::new([LARGE.def(), LARGE_CELLS.def()]);
    let mut options = options(directory.path());
    options.bulk_rows = 3;
    let partition = [0xff; 255];
    let value = vec![0xab; limits::VALUE_BYTES - 1];
    let row = |sort: u8| LARGE.row(&partition, &[sort; 1024], &value).expect("within bounds");
    let cell = vec![7; limits::COMMIT_BYTES - 1024 - 1];
    for round in 0..3 {
        let engine = Arc::new(FjallEngine::open(&options, &schema).expect("opens"));
        let store = store(&engine);
        if round == 0 {
            store.put(vec![row(0), row(0xff)]).await.expect("through the journal");
            store.put(vec![row(1), row(2), row(3)]).await.expect("in a run");
            let commit = store::Commit {
                table: LARGE_CELLS.def(),
                partition: LARGE_CELLS.partition(&partition).expect("ok"),
                expected: Version::NEVER,
                changes: vec![LARGE_CELLS.insert(&[0xff; 1024], &cell)],
                op: OpId([0xff; 16]),
                result: vec![9; limits::RESULT_BYTES].into(),
            };
            store.commit(commit).await.expect("commits");
        }
        for sort in [0, 1, 2, 3, 0xff] {
            let found = store.get(&LARGE, &partition, &[sort; 1024]).await.expect("reads");
            assert_eq!(found.as_ref(), Some(&value), "row {sort} in round {round}");
        }
        // A page of rows that alone fill it goes on row by row, to the end.
        let mut request = PageRequest::first(10);
        let mut seen = 0;
        loop {
            let page = store.page(&LARGE, &partition, request.clone()).await.expect("reads");
            seen += page.rows.len();
            let Some(next) = page.next else { break };
            request.cursor = Some(next);
        }
        assert_eq!(seen, 5);
        let found = store.get_versioned(&LARGE_CELLS, &partition, &[0xff; 1024]).await;
        let found = found.expect("reads");
        assert_eq!((found.version, found.value.as_ref()), (Version(1), Some(&cell)));
        if round == 1 {
            engine.close().await.expect("flushes");
        }
    }
}

/// The story: fjall makes its `version` file and then writes into it. A kill in between left an
/// empty one, which fjall refuses for ever after.
#[tokio::test]
async fn a_store_whose_making_was_interrupted_is_made_again() {
    for half_made in ["", "fjall", "fjall/keyspaces"] {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::create_dir_all(directory.path().join(half_made)).expect("is made");
        if !half_made.is_empty() {
            std::fs::write(directory.path().join("fjall/version"), []).expect("is made");
            std::fs::write(directory.path().join("fjall/0.jnl"), []).expect("is made");
        }
        let engine = open(directory.path());
        store(&engine).put(rows(&ROWS, 1, 0..10)).await.expect("is written");
        drop(engine);
        expect_rows(&store(&open(directory.path())), &ROWS, 1, 0..10).await;

        // The same sight in a store that was in use is damage: nothing may be made over it.
        std::fs::write(directory.path().join("fjall/version"), []).expect("is there");
        let error = FjallEngine::open(&options(directory.path()), &common::schema());
        let error = error.expect_err("was in use");
        common::says(&error, &["nothing was changed", "restore a backup"]);
        assert!(directory.path().join("fjall/0.jnl").exists());
    }
}

/// Starts work and drops it after a random while, at any of its waits.
async fn abandon(work: impl Future, random: &mut fastrand::Rng) {
    let patience = Duration::from_micros(random.u64(0..3000));
    let _ = tokio::time::timeout(patience, work).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_goes_away_leaves_whole_commits_and_whole_rows() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut random = fastrand::Rng::with_seed(store::conformance::seed("abandon"));
    let engine = open(directory.path());
    let mut tried = Vec::new();
    for n in 0..parts::pick(300, 3000) {
        let store = store(&engine);
        let (version, _) = read_latest(&store, 1).await;
        let op = random_op(&mut random);
        abandon(store.commit(count(1, version, op)), &mut random).await;
        tried.push((version, op));
        abandon(store.put(rows(&ROWS, n, 0..20)), &mut random).await;
        if n % 20 == 0 {
            abandon(store.put(rows(&RUNS, n, 0..300)), &mut random).await;
        }
        whole_version(&store, 1).await;
    }
    // Each operation was done once or never, and says so when it is repeated. Requests are served
    // in turn, so those left behind are done when this one is.
    let store = store(&engine);
    store.put(rows(&ROWS, u64::MAX, 0..1)).await.expect("is written");
    let before = whole_version(&store, 1).await;
    let mut done = 0;
    for (version, op) in tried {
        match store.commit(count(1, version, op)).await {
            Ok(again) if again.repeated => {
                assert_eq!(again.version, version.next());
                done += 1;
            }
            Ok(late) => assert_eq!(late.version, before.next(), "{late:?}"),
            Err(store::CommitError::Conflict { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(done, before.0, "versions and operations differ");
    expect_clean(&engine).await;
}

/// The story: a repetition that met its twin in the same batch was told to commit again, met it
/// again, and at last its caller was told that the outcome is unknown.
#[tokio::test(flavor = "multi_thread")]
async fn an_operation_sent_by_many_at_once_is_done_once_and_all_are_told() {
    let directory = tempfile::tempdir().expect("a directory");
    let engine = open(directory.path());
    for version in 0..50 {
        let op = OpId(u128::to_be_bytes(version.into()));
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..20 {
            let store = store(&engine);
            tasks.spawn(async move { store.commit(count(1, Version(version), op)).await });
        }
        let mut first = 0;
        while let Some(done) = tasks.join_next().await {
            let done = done.expect("does not panic").expect("all are told");
            assert_eq!(done.version, Version(version + 1));
            first += u32::from(!done.repeated);
        }
        assert_eq!(first, 1, "one of them did it");
    }
    assert_eq!(whole_version(&store(&engine), 1).await, Version(50));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_dropped_while_requests_wait_answers_each_of_them() {
    let directory = tempfile::tempdir().expect("a directory");
    for round in 0..parts::pick(5, 50) {
        let engine = open(directory.path());
        let mut tasks = tokio::task::JoinSet::new();
        for task in 0..200 {
            let store = store(&engine);
            let partition = round * 1000 + task;
            tasks.spawn(async move {
                store.put(rows(&ROWS, partition, 0..50)).await.expect("is written");
                partition
            });
        }
        drop(engine);
        let mut written = Vec::new();
        while let Some(task) = tasks.join_next().await {
            written.push(task.expect("is answered"));
        }
        let engine = open(directory.path());
        for partition in written {
            expect_rows(&store(&engine), &ROWS, partition, 0..50).await;
        }
    }
}

/// Tables as many as the whole platform has.
fn many_tables() -> Vec<&'static Table<u64, u64, Vec<u8>>> {
    let table = |n: usize| -> &'static Table<u64, u64, Vec<u8>> {
        let name: &'static str = Box::leak(format!("faults.t{n}").into_boxed_str());
        let table = Table::once(name, "One of many.", Placement::Hashed, Bounds::rows(1_000_000));
        Box::leak(Box::new(table))
    };
    (0..70).map(table).collect()
}

fn journal_bytes(directory: &Path) -> u64 {
    let length = |path: &std::path::PathBuf| {
        let bytes = std::fs::read(path).expect("a journal");
        bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last as u64 + 1)
    };
    common::journals(directory).iter().map(length).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn many_rarely_written_tables_do_not_keep_the_journal_long() {
    // With its own limits on journals and memtables fjall asked its workers to rotate 71 memtables
    // again and again; each sends a message while it does, their queue filled up, and after half a
    // gigabyte the store stood still. The full count reaches that point.
    let directory = tempfile::tempdir().expect("a directory");
    let tables = many_tables();
    let defs: Vec<&'static TableDef> = tables.iter().map(|table| table.def()).collect();
    let schema = Schema::new(defs.iter().copied().chain([ROWS.def()]));
    let open = || Arc::new(FjallEngine::open(&options(directory.path()), &schema).expect("opens"));
    let engine = open();
    let store: Store = store(&engine);
    // A few rows in each of many tables, between them much in one: what a naive journal keeps all
    // of, because each of its files has a row that is in no table yet.
    let megabytes = parts::pick(200, 1000);
    let mut written = 0;
    for n in 0..megabytes {
        for table in tables.iter().skip(n as usize % 10).step_by(10) {
            let row = table.row(&n, &0, &vec![1; 20]).expect("within bounds");
            store.put(vec![row]).await.expect("is written");
        }
        let row = |sort| ROWS.row(&n, &sort, &vec![2; 100_000]).expect("within bounds");
        store.put((0..10).map(row).collect()).await.expect("is written");
        written += 1_000_000_u64;
    }
    drop(store);
    drop(engine);
    let journals = journal_bytes(directory.path());
    let started = std::time::Instant::now();
    let engine = open();
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{written} bytes in 71 tables: journals of {journals} bytes, opened in {seconds:.2} s"
    );
    assert!(journals <= 200_000_000, "the journals have {journals} bytes");
    for (index, table) in tables.iter().enumerate() {
        let n = (0..megabytes).rev().find(|n| *n as usize % 10 == index % 10).expect("one");
        let found = common::store(&engine).get(*table, &n, &0).await.expect("reads");
        assert_eq!(found, Some(vec![1; 20]));
    }
}
