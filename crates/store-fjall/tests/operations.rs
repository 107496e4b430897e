//! An operation id is remembered for its time, across openings, and then forgotten.

mod common;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use common::{CELLS, count, options, schema, store};
use store::{CommitError, Entry, Maintenance, OpId, Version};
use store_fjall::FjallEngine;

fn open(directory: &Path, age: Duration) -> Arc<FjallEngine> {
    let mut options = options(directory);
    options.operation_age = age;
    Arc::new(FjallEngine::open(&options, &schema()).expect("opens"))
}

/// How many operations of a partition are still stored.
async fn remembered(engine: &FjallEngine, partition: u16) -> usize {
    let walker = engine.walk().await.expect("walks");
    let page = walker.page(CELLS.def(), None, 1_000_000).await.expect("walks");
    let is_one = |entry: &&Entry| {
        matches!(entry, Entry::Operation { .. }) && entry.partition() == partition.to_be_bytes()
    };
    page.entries.iter().filter(is_one).count()
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const OP: OpId = OpId(*b"one of a kind op");

#[tokio::test]
async fn an_operation_is_repeated_across_openings_whatever_the_version() {
    let directory = tempfile::tempdir().expect("a directory");
    let engine = open(directory.path(), DAY);
    store(&engine).commit(count(1, Version(0), OP)).await.expect("is done");
    store(&engine).commit(count(1, Version(1), OpId([2; 16]))).await.expect("is done");
    let mut engine = Some(engine);
    for flush in [false, true, false] {
        if let (Some(engine), true) = (&engine, flush) {
            engine.close().await.expect("flushes");
        }
        // One at a time: the directory is let go before it is opened again.
        drop(engine.take());
        let opened = open(directory.path(), DAY);
        for expected in [Version(0), Version(1), Version(2), Version(77)] {
            let again = store(&opened).commit(count(1, expected, OP)).await.expect("is known");
            assert_eq!((again.version, again.repeated), (Version(1), true));
            assert_eq!(common::number(&again.result), 1, "the first result is kept");
        }
        engine = Some(opened);
    }
}

#[tokio::test]
async fn an_expired_operation_is_forgotten() {
    let directory = tempfile::tempdir().expect("a directory");
    let engine = open(directory.path(), Duration::ZERO);
    store(&engine).commit(count(1, Version(0), OP)).await.expect("is done");
    // Ages are whole seconds, and the second it was written in still counts.
    tokio::time::sleep(Duration::from_millis(2100)).await;
    let stale = store(&engine).commit(count(1, Version(0), OP)).await;
    assert!(matches!(stale, Err(CommitError::Conflict { .. })), "{stale:?}");
    let again = store(&engine).commit(count(1, Version(1), OP)).await.expect("is done anew");
    assert_eq!((again.version, again.repeated), (Version(2), false));
}

#[tokio::test]
async fn compaction_removes_expired_operations_and_nothing_else() {
    let directory = tempfile::tempdir().expect("a directory");
    let engine = open(directory.path(), Duration::ZERO);
    for n in 0..50 {
        let op = OpId(u128::to_be_bytes(n));
        store(&engine).commit(count(1, Version(n as u64), op)).await.expect("is done");
    }
    tokio::time::sleep(Duration::from_millis(2100)).await;
    drop(engine);
    let engine = open(directory.path(), DAY);
    store(&engine).commit(count(2, Version(0), OP)).await.expect("is done");
    assert_eq!(remembered(&engine, 1).await, 50);
    // Each flush makes a table; fjall compacts when there are enough that lie over each other.
    for n in 0..200 {
        for partition in [0, 9] {
            let op = OpId(u128::to_be_bytes(1000 + n));
            let commit = count(partition, Version(n as u64), op);
            store(&engine).commit(commit).await.expect("is done");
        }
        engine.close().await.expect("flushes");
        if remembered(&engine, 1).await == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(remembered(&engine, 1).await, 0, "expired operations are still there");
    assert_eq!(common::whole_version(&store(&engine), 1).await, Version(50));
    let again = store(&engine).commit(count(2, Version(9), OP)).await.expect("is known");
    assert!(again.repeated, "an operation of today was removed");
    common::expect_clean(&engine).await;
}
