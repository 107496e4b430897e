//! An engine that lies about its commits, and one that dies in the middle of them.
//!
//! Stands in front of any engine, with any tables: what is built on commits must survive it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::{
    Commit, CommitError, Committed, Engine, EngineError, Found, OpId, Page, PutError, RangeRequest,
    Read, ReadError, Row, RowKey, TableDef, Task,
};

/// What happens to a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// It is applied, and the caller is told that nobody knows.
    AppliedUnknown,
    /// It is lost, and the caller is told that nobody knows.
    LostUnknown,
    /// It is applied, and the caller is told that it failed: a lie no engine may tell.
    AppliedFailed,
    /// It is lost, and the caller is told so.
    LostFailed,
}

/// One call of `commit`.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Calls before it, of whatever operation.
    pub number: u64,
    /// Calls before it under the same operation id.
    pub repetition: u64,
}

/// Chooses the fault of each call.
pub type Choose = Box<dyn Fn(Call) -> Fault + Send + Sync>;

/// An engine with faults in front of another.
pub struct Faulty {
    engine: Arc<dyn Engine>,
    choose: Choose,
    /// Commits after which nothing is written any more.
    dies_after: u64,
    calls: AtomicU64,
    injected: AtomicU64,
    operations: Mutex<HashMap<OpId, u64>>,
}

impl Faulty {
    /// Faults as `choose` says.
    pub fn new(engine: Arc<dyn Engine>, choose: Choose) -> Arc<Self> {
        Arc::new(Self::dying(engine, choose, u64::MAX))
    }

    fn dying(engine: Arc<dyn Engine>, choose: Choose, dies_after: u64) -> Self {
        let (calls, injected) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { engine, choose, dies_after, calls, injected, operations: Mutex::default() }
    }

    /// Faults at random: each commit call meets one of `faults` with `share` of 256.
    pub fn at_random(
        engine: Arc<dyn Engine>,
        seed: u64,
        share: u8,
        faults: &'static [Fault],
    ) -> Arc<Self> {
        let random = Mutex::new(fastrand::Rng::with_seed(seed));
        let choose = move |_| {
            let mut random = random.lock().unwrap_or_else(PoisonError::into_inner);
            if random.u8(..) >= share {
                return Fault::None;
            }
            random.choice(faults).copied().unwrap_or(Fault::None)
        };
        Self::new(engine, Box::new(choose))
    }

    /// Dies after `commits` commits: everything later is lost, as for a killed process.
    pub fn dies_after(engine: Arc<dyn Engine>, commits: u64) -> Arc<Self> {
        let alive = move |call: Call| call.number < commits;
        let choose = move |call| if alive(call) { Fault::None } else { Fault::LostFailed };
        Arc::new(Self::dying(engine, Box::new(choose), commits))
    }

    /// Commit calls so far.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    /// Faults so far.
    pub fn injected(&self) -> u64 {
        self.injected.load(Ordering::SeqCst)
    }

    fn count(&self, op: OpId) -> Call {
        let number = self.calls.fetch_add(1, Ordering::SeqCst);
        let mut operations = self.operations.lock().unwrap_or_else(PoisonError::into_inner);
        let calls = operations.entry(op).or_default();
        *calls += 1;
        Call { number, repetition: *calls - 1 }
    }

    async fn faulty_commit(&self, commit: Commit) -> Result<Committed, CommitError> {
        let fault = (self.choose)(self.count(commit.op));
        let error = || EngineError::new(format!("injected: {fault:?}"), "repeat");
        if fault == Fault::None {
            return self.engine.commit(commit).await;
        }
        self.injected.fetch_add(1, Ordering::SeqCst);
        if matches!(fault, Fault::AppliedUnknown | Fault::AppliedFailed) {
            // A conflict is hidden as well: the caller is not to know.
            let _ = self.engine.commit(commit).await;
        }
        match fault {
            Fault::AppliedFailed | Fault::LostFailed => Err(CommitError::Engine(error())),
            _ => Err(CommitError::Unknown(error())),
        }
    }
}

impl Engine for Faulty {
    fn get<'a>(
        &'a self,
        table: &'static TableDef,
        keys: &'a [RowKey],
        read: Read,
    ) -> Task<'a, Result<Vec<Found>, ReadError>> {
        self.engine.get(table, keys, read)
    }

    fn range<'a>(&'a self, request: &'a RangeRequest) -> Task<'a, Result<Page, ReadError>> {
        self.engine.range(request)
    }

    fn put(&self, rows: Vec<Row>) -> Task<'_, Result<(), PutError>> {
        if self.calls() >= self.dies_after {
            self.injected.fetch_add(1, Ordering::SeqCst);
            let error = EngineError::new("injected: a put after the end", "repeat");
            return Box::pin(async { Err(PutError::Engine(error)) });
        }
        self.engine.put(rows)
    }

    fn commit(&self, commit: Commit) -> Task<'_, Result<Committed, CommitError>> {
        Box::pin(self.faulty_commit(commit))
    }
}
