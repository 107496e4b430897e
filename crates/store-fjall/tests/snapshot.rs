//! A read of a guarded partition is of one moment, also while tables are flushed.
//!
//! The story: fjall numbers a batch when it begins to write it, and makes it visible when it has
//! been applied. A flush or a compaction that ends in between takes a later number and makes
//! everything up to its own visible, the half-applied batch among it. A reader could then see the
//! new version of a partition with an old row, and its next commit would overwrite a change that
//! it had never seen.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::{CELLS, count, open, random_op, read_latest, rows, store, whole_version};
use store::{CommitError, Entry, Maintenance, Version};

const PARTITIONS: u16 = 8;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn version_and_rows_are_of_one_moment_while_tables_are_flushed() {
    let directory = tempfile::tempdir().expect("a directory");
    let engine = open(directory.path());
    let ended = Arc::new(AtomicBool::new(false));
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..PARTITIONS {
        let (store, ended) = (store(&engine), ended.clone());
        tasks.spawn(async move {
            let mut random = fastrand::Rng::with_seed(u64::from(task));
            while !ended.load(Ordering::Relaxed) {
                let (version, latest) = read_latest(&store, task).await;
                assert_eq!(latest, version.0, "a torn read");
                // Rows of another table in the same batch make it longer to apply.
                let long = store.put(rows(&common::ROWS, random.u64(..), 0..150));
                let commit = store.commit(count(task, version, random_op(&mut random)));
                let (long, commit) = tokio::join!(long, commit);
                long.expect("is written");
                match commit {
                    Ok(_) | Err(CommitError::Conflict { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        });
    }
    for task in 0..3_u16 {
        let (store, ended) = (store(&engine), ended.clone());
        tasks.spawn(async move {
            let mut partition = task;
            while !ended.load(Ordering::Relaxed) {
                partition = (partition + 1) % PARTITIONS;
                whole_version(&store, partition).await;
                tokio::task::yield_now().await;
            }
        });
    }
    {
        let (engine, ended) = (engine.clone(), ended.clone());
        tasks.spawn(async move {
            while !ended.load(Ordering::Relaxed) {
                engine.close().await.expect("flushes");
                check_walk(engine.as_ref()).await;
            }
        });
    }
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(parts::pick(4, 60)) && !tasks.is_empty() {
        tokio::time::sleep(Duration::from_millis(50)).await;
        if let Some(early) = tasks.try_join_next() {
            early.expect("no task fails");
        }
    }
    ended.store(true, Ordering::Relaxed);
    while let Some(task) = tasks.join_next().await {
        task.expect("no task fails");
    }
}

/// A walk, as a backup makes it, shows each partition whole.
async fn check_walk(engine: &dyn Maintenance) {
    let walker = engine.walk().await.expect("walks");
    let page = walker.page(CELLS.def(), None, 1_000_000).await.expect("walks");
    let mut version = Version::NEVER;
    for entry in page.entries {
        match entry {
            Entry::Version { version: found, .. } => version = found,
            Entry::Row { key, value } if key.sort() == [0, 0] => {
                assert_eq!(common::number(&value[1..]), version.0, "a torn walk");
            }
            Entry::Row { .. } | Entry::Operation { .. } => {}
        }
    }
}
