//! Many writers and readers at once.
//!
//! Each commit writes the version it leads to into the cell `latest`. A reader that sees a `latest`
//! other than the version it was given has seen a torn partition.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fastrand::Rng;

use super::{CELLS, FACTS, Subject, store_on};
use crate::{Commit, CommitError, Listing, OpId, PageRequest, Read, Store, Version};

const PARTITIONS: u8 = 5;
const WRITERS: u64 = 16;
const READERS: u64 = 4;

/// Runs `operations` operations of 16 writers and 4 readers.
///
/// # Panics
/// When a version is given twice, a reader or a walk sees a torn partition or an older version than
/// before, or an acknowledged write is not there.
pub async fn concurrent(subject: &dyn Subject, seed: u64, operations: usize) {
    let engine = subject.open().await;
    let store = store_on(&engine);
    let stop = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..READERS)
        .map(|i| tokio::spawn(read(store.clone(), Rng::with_seed(seed ^ i << 32), stop.clone())))
        .collect();
    let each = operations / usize::try_from(WRITERS).expect("a few writers");
    let writers: Vec<_> = (0..WRITERS)
        .map(|i| tokio::spawn(write(store.clone(), Rng::with_seed(seed.wrapping_add(i)), each)))
        .collect();
    let mut versions: HashMap<u8, Vec<u64>> = HashMap::new();
    for writer in writers {
        for (partition, version) in writer.await.expect("a writer ends") {
            versions.entry(partition).or_default().push(version.0);
        }
    }
    stop.store(true, Ordering::Relaxed);
    let mut pages = 0;
    for reader in readers {
        pages += reader.await.expect("a reader ends");
    }
    assert!(pages > 0, "readers read");
    for (partition, mut given) in versions {
        given.sort_unstable();
        let expected: Vec<u64> = (1..=given.len() as u64).collect();
        assert_eq!(
            given, expected,
            "versions of partition {partition} are given once, without a gap"
        );
        let now = page(&store, partition).await;
        assert_eq!(now.version.0, given.len() as u64);
    }
    same_operation(&store, seed).await;
    super::walks::walks_see_whole_partitions(&engine).await;
}

async fn page(store: &Store, partition: u8) -> Listing<Vec<u8>, Vec<u8>> {
    let request = PageRequest { read: Read::Serial, ..PageRequest::first(1000) };
    store.page(&CELLS, &partition, request).await.expect("a page")
}

async fn write(store: Store, mut rng: Rng, operations: usize) -> Vec<(u8, Version)> {
    let mut committed = Vec::new();
    for _ in 0..operations {
        if rng.u8(0..4) == 0 {
            put_and_read_back(&store, &mut rng).await;
            continue;
        }
        let partition = rng.u8(0..PARTITIONS);
        let seen = page(&store, partition).await;
        check(partition, &seen);
        let next = seen.version.next();
        let cell = vec![rng.u8(0..10)];
        let commit = Commit {
            table: CELLS.def(),
            partition: CELLS.partition(&partition).expect("a key"),
            expected: seen.version,
            changes: vec![
                CELLS.insert(&b"latest".to_vec(), &next.0.to_be_bytes().to_vec()),
                CELLS.insert(&cell, &next.0.to_be_bytes().to_vec()),
            ],
            op: OpId(rng.u128(..).to_be_bytes()),
            result: bytes::Bytes::new(),
        };
        match store.commit(commit).await {
            Ok(done) => {
                assert_eq!(done.version, next);
                committed.push((partition, next));
            }
            Err(CommitError::Conflict { current, .. }) => assert!(current > seen.version),
            Err(error) => panic!("{error}"),
        }
    }
    committed
}

/// Several writers put the same rows; each must find them once its own put is acknowledged.
async fn put_and_read_back(store: &Store, rng: &mut Rng) {
    let partition = rng.u16(0..50);
    let keys: Vec<(u16, u16)> = (0..10).map(|_| (partition, rng.u16(0..100))).collect();
    let value = |(p, s): &(u16, u16)| [p.to_be_bytes(), s.to_be_bytes()].concat();
    let rows = keys.iter().map(|key| FACTS.row(&key.0, &key.1, &value(key)).expect("a row"));
    store.put(rows.collect()).await.expect("puts");
    let found = store.get_many(&FACTS, &keys).await.expect("reads");
    let expected: Vec<_> = keys.iter().map(|key| Some(value(key))).collect();
    assert_eq!(found, expected, "acknowledged rows are visible");
}

async fn read(store: Store, mut rng: Rng, stop: Arc<AtomicBool>) -> usize {
    let mut newest: HashMap<u8, Version> = HashMap::new();
    let mut pages = 0;
    while !stop.load(Ordering::Relaxed) {
        let partition = rng.u8(0..PARTITIONS);
        let seen = page(&store, partition).await;
        check(partition, &seen);
        let before = newest.insert(partition, seen.version).unwrap_or_default();
        assert!(seen.version >= before, "partition {partition} went back from {before}");
        pages += 1;
        tokio::task::yield_now().await;
    }
    pages
}

fn check(partition: u8, seen: &Listing<Vec<u8>, Vec<u8>>) {
    let number = |value: &Vec<u8>| {
        Version(u64::from_be_bytes(value.as_slice().try_into().expect("eight bytes")))
    };
    let latest = seen.rows.iter().find(|(sort, _)| sort == b"latest");
    let latest = latest.map_or(Version::NEVER, |(_, value)| number(value));
    assert_eq!(latest, seen.version, "partition {partition} is torn: {:?}", seen.rows);
    for (sort, value) in &seen.rows {
        assert!(number(value) <= seen.version, "cell {sort:?} is from the future");
    }
}

/// Eight callers try one operation at once: it is done once, and all learn the same outcome.
async fn same_operation(store: &Store, seed: u64) {
    let partition = 200;
    let attempt = |store: Store| async move {
        let commit = Commit {
            table: CELLS.def(),
            partition: CELLS.partition(&partition).expect("a key"),
            expected: Version::NEVER,
            changes: vec![CELLS.insert(&b"once".to_vec(), &b"done".to_vec())],
            op: OpId(u128::from(seed).to_be_bytes()),
            result: bytes::Bytes::from_static(b"result"),
        };
        store.commit(commit).await.expect("done, by whomever")
    };
    let attempts: Vec<_> = (0..8).map(|_| tokio::spawn(attempt(store.clone()))).collect();
    let mut first = 0;
    for attempt in attempts {
        let done = attempt.await.expect("ends");
        assert_eq!((done.version, done.result.as_ref()), (Version(1), b"result".as_slice()));
        first += usize::from(!done.repeated);
    }
    assert_eq!(first, 1, "exactly one attempt was the first");
}
