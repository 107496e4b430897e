//! Counters that several writers increment by commits of their own, and their accounts of it.
//!
//! Each increment also leaves a row under its operation id, so that a lost or doubled one is not
//! only seen but named.

#![allow(dead_code, reason = "each test uses its part")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use store::conformance::CELLS;
use store::{
    Commit, CommitError, Committed, Engine, OpId, PageRequest, ReadError, Store, Version, Versioned,
};
use store_cassandra::CassandraEngine;

/// The row of the counter itself; those of operations are longer.
const COUNTER: &[u8] = b"counter";

/// What a writer was told of its increments.
#[derive(Clone, Debug, Default)]
pub(crate) struct Account {
    /// Acknowledged at once.
    pub(crate) done: BTreeSet<(u8, OpId)>,
    /// Of unknown outcome first, then found to be done.
    pub(crate) resolved: BTreeSet<(u8, OpId)>,
    /// Of unknown outcome first, then found not to be done.
    pub(crate) dropped: u64,
    /// Refused because another was faster.
    pub(crate) conflicts: u64,
    /// Errors on the way, in their words.
    pub(crate) errors: Vec<String>,
    /// The longest time a verb took that failed.
    pub(crate) longest_failure: Duration,
}

impl Account {
    pub(crate) fn add(&mut self, other: Self) {
        self.done.extend(other.done);
        self.resolved.extend(other.resolved);
        self.dropped += other.dropped;
        self.conflicts += other.conflicts;
        self.errors.extend(other.errors);
        self.longest_failure = self.longest_failure.max(other.longest_failure);
    }

    /// Increments that are known to be done.
    pub(crate) fn known(&self) -> usize {
        self.done.len() + self.resolved.len()
    }

    fn failed(&mut self, since: Instant, error: &impl ToString) {
        self.longest_failure = self.longest_failure.max(since.elapsed());
        self.errors.push(error.to_string());
    }
}

/// A writer: an engine of whatever clock, and what it was told.
pub(crate) struct Writer {
    engine: Arc<CassandraEngine>,
    store: Store,
    pub(crate) account: Account,
}

impl Writer {
    pub(crate) fn new(engine: &Arc<CassandraEngine>) -> Self {
        let store = Store::new(engine.clone(), 0);
        Self { engine: engine.clone(), store, account: Account::default() }
    }

    /// Tries to increment once, and goes on until it is known whether that was done.
    pub(crate) async fn increment(&mut self, counter: u8) {
        let since = Instant::now();
        let found = match read(&self.store, counter).await {
            Ok(found) => found,
            Err(error) => return self.account.failed(since, &error),
        };
        let commit = raise(counter, &found);
        let name = (counter, commit.op);
        let mut unknown = false;
        loop {
            let since = Instant::now();
            // Of the engine itself, because the store would repeat it without a word.
            match self.engine.commit(commit.clone()).await {
                Ok(_) if unknown => self.account.resolved.insert(name),
                Ok(_) => self.account.done.insert(name),
                Err(CommitError::Conflict { .. }) => {
                    self.account.conflicts += u64::from(!unknown);
                    self.account.dropped += u64::from(unknown);
                    return;
                }
                Err(CommitError::Unknown(error)) => {
                    unknown = true;
                    self.account.failed(since, &error);
                    continue;
                }
                // Nothing was written by this call; what came before it may have.
                Err(CommitError::Engine(error)) => {
                    self.account.failed(since, &error);
                    if unknown {
                        continue;
                    }
                    return;
                }
                Err(error) => panic!("{error}"),
            };
            return;
        }
    }
}

async fn read(store: &Store, counter: u8) -> Result<Versioned<Vec<u8>>, ReadError> {
    store.get_versioned(&CELLS, &counter, &COUNTER.to_vec()).await
}

fn number(value: Option<&Vec<u8>>) -> u64 {
    value.map_or(0, |bytes| u64::from_be_bytes(bytes.as_slice().try_into().expect("eight bytes")))
}

fn raise(counter: u8, found: &Versioned<Vec<u8>>) -> Commit {
    let op = OpId(fastrand::u128(1..).to_be_bytes());
    let next = number(found.value.as_ref()) + 1;
    Commit {
        table: CELLS.def(),
        partition: CELLS.partition(&counter).expect("a key"),
        expected: found.version,
        changes: vec![
            CELLS.insert(&COUNTER.to_vec(), &next.to_be_bytes().to_vec()),
            CELLS.insert(&op.0.to_vec(), &Vec::new()),
        ],
        op,
        result: Bytes::new(),
    }
}

/// One increment without reading first, of a counter that nobody checks.
pub(crate) async fn try_blindly(
    engine: &Arc<CassandraEngine>,
    counter: u8,
) -> Result<Committed, CommitError> {
    engine.commit(raise(counter, &Versioned { version: Version::NEVER, value: None })).await
}

/// Every counter equals the increments known to be done, one by one.
pub(crate) async fn check(engine: &Arc<CassandraEngine>, counters: u8, account: &Account) {
    let store = Store::new(engine.clone(), 0);
    let mut found = BTreeSet::new();
    for counter in 0..counters {
        let cell = read(&store, counter).await.expect("reads");
        let page = store.page(&CELLS, &counter, PageRequest::first(1000)).await.expect("reads");
        assert!(page.next.is_none(), "more increments than one page holds");
        let rows = page.rows.into_iter().filter(|(sort, _)| sort != COUNTER);
        let ops: Vec<(u8, OpId)> =
            rows.map(|(sort, _)| (counter, OpId(sort.try_into().expect("an id")))).collect();
        let count = number(cell.value.as_ref());
        assert_eq!(count, ops.len() as u64, "counter {counter} counted something twice or never");
        assert_eq!(cell.version, Version(count), "one version for each increment");
        found.extend(ops);
    }
    let known: BTreeSet<_> = account.done.union(&account.resolved).copied().collect();
    let lost: Vec<_> = known.difference(&found).collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    let extra: Vec<_> = found.difference(&known).collect();
    assert!(extra.is_empty(), "done, but reported as not done: {extra:?}");
}
