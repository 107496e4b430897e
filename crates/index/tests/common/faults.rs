//! An engine that fails on purpose: lies about commits and puts, or stops before a chosen verb.

use std::collections::HashSet;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use fastrand::Rng;
use index::INTENTS;
use store::{
    Commit, CommitError, Committed, Engine, EngineError, Found, OpId, Page, PutError, RangeRequest,
    Read, ReadError, Row, RowKey, TableDef, Task,
};

/// What is done to a request that changes something.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// Done and reported so.
    None,
    /// Done, but reported as unknown.
    AfterIt,
    /// Not done, and reported as unknown.
    BeforeIt,
}

/// An engine that fails on purpose.
pub(crate) struct Faulty {
    inner: Arc<dyn Engine>,
    /// Random outcomes, and the operations that had their first one.
    lies: Option<Mutex<(Rng, HashSet<OpId>)>>,
    /// The verb before which everything stops, counted from 0.
    stop_at: usize,
    verbs: AtomicUsize,
    /// Commits that were reported unknown: a test with none proves nothing.
    pub(crate) unknown: AtomicUsize,
}

impl Faulty {
    fn new(inner: Arc<dyn Engine>, lies: Option<u64>, stop_at: usize) -> Arc<Self> {
        let lies = lies.map(|seed| Mutex::new((Rng::with_seed(seed), HashSet::new())));
        let (verbs, unknown) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Self { inner, lies, stop_at, verbs, unknown })
    }

    /// Reports the first outcome of every commit as unknown, half of them done and half not, and
    /// later ones at random, for one operation in eight for ever; and one put in ten as failed,
    /// done or not.
    pub(crate) fn lying(inner: Arc<dyn Engine>, seed: u64) -> Arc<Self> {
        Self::new(inner, Some(seed), usize::MAX)
    }

    /// Tells the parent process and waits to be killed before verb `stop_at`.
    pub(crate) fn stopping(inner: Arc<dyn Engine>, stop_at: usize) -> Arc<Self> {
        Self::new(inner, None, stop_at)
    }

    fn verb(&self) {
        let verb = self.verbs.fetch_add(1, Ordering::SeqCst);
        if verb == self.stop_at {
            // Written at once: a killed child has no time to flush.
            let _ = std::io::stdout().lock().write_all(format!("@at {verb}\n").as_bytes());
            loop {
                std::thread::park();
            }
        }
    }

    fn commit_fault(&self, op: OpId) -> Fault {
        let Some(lies) = &self.lies else { return Fault::None };
        let (rng, seen) = &mut *lies.lock().expect("no panic inside");
        let never = op.0.last().is_some_and(|byte| byte % 8 == 0);
        let honest = !seen.insert(op) && !never && rng.bool();
        if honest {
            return Fault::None;
        }
        self.unknown.fetch_add(1, Ordering::Relaxed);
        if rng.bool() { Fault::AfterIt } else { Fault::BeforeIt }
    }

    fn put_fault(&self) -> Fault {
        let Some(lies) = &self.lies else { return Fault::None };
        let (rng, _) = &mut *lies.lock().expect("no panic inside");
        match rng.u8(0..20) {
            0 => Fault::AfterIt,
            1 => Fault::BeforeIt,
            _ => Fault::None,
        }
    }
}

fn injected() -> EngineError {
    EngineError::new("an injected fault", "nothing to do")
}

impl Engine for Faulty {
    fn get<'a>(
        &'a self,
        table: &'static TableDef,
        keys: &'a [RowKey],
        read: Read,
    ) -> Task<'a, Result<Vec<Found>, ReadError>> {
        self.verb();
        self.inner.get(table, keys, read)
    }

    fn range<'a>(&'a self, request: &'a RangeRequest) -> Task<'a, Result<Page, ReadError>> {
        // Looking for intents changes nothing; a kill there is a kill before the next verb.
        if request.table.name() != INTENTS.def().name() {
            self.verb();
        }
        self.inner.range(request)
    }

    fn put(&self, rows: Vec<Row>) -> Task<'_, Result<(), PutError>> {
        self.verb();
        Box::pin(async {
            let fault = self.put_fault();
            if fault != Fault::BeforeIt {
                self.inner.put(rows).await?;
            }
            if fault == Fault::None { Ok(()) } else { Err(injected().into()) }
        })
    }

    fn commit(&self, commit: Commit) -> Task<'_, Result<Committed, CommitError>> {
        self.verb();
        Box::pin(async {
            let fault = self.commit_fault(commit.op);
            if fault == Fault::BeforeIt {
                return Err(CommitError::Unknown(injected()));
            }
            let done = self.inner.commit(commit).await?;
            if fault == Fault::None { Ok(done) } else { Err(CommitError::Unknown(injected())) }
        })
    }
}
