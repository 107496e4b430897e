//! A change with consequences elsewhere: intent, commit, calls, and the intent is gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use store::{
    Commit, CommitError, Committed, PutError, ReadError, Schema, Store, Value as _, Version, limits,
};

use crate::calls::{Call, Calls};
use crate::error::{CallError, ChangeError};
use crate::ids::{IntentId, Millis};
use crate::intent::{
    CALL_BYTES, CALLS_PER_CHANGE, CHANGE_RESULT_BYTES, INTENT_BYTES, INTENTS, Intent, lane, mark,
    unmark,
};
use crate::retry::jittered;

/// How long before an operation id is forgotten the driver stops to trust a conflict: more than
/// clocks differ.
const CERTAIN_MARGIN: u64 = 60 * 60 * 1000;
/// How often a commit of unknown outcome is repeated before it is left to the driver.
const UNKNOWN_REPEATS: usize = 2;
/// The longest wait before such a repetition.
const UNKNOWN_WAIT: Duration = Duration::from_millis(20);

/// Makes changes whose consequences stand in other partitions. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Effects {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) store: Store,
    pub(crate) schema: Schema,
    pub(crate) calls: Calls,
    pub(crate) totals: Totals,
}

/// Counters since the program started.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub(crate) changes: AtomicU64,
    pub(crate) left: AtomicU64,
    pub(crate) recovered: AtomicU64,
    pub(crate) dropped: AtomicU64,
    pub(crate) aside: AtomicU64,
}

/// What has happened since the program started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EffectStats {
    /// Changes that were committed and finished here.
    pub changes: u64,
    /// Changes whose calls were left to the driver.
    pub left: u64,
    /// Intents the driver finished.
    pub recovered: u64,
    /// Intents the driver removed because their commit can no longer be done.
    pub dropped: u64,
    /// Calls the driver kept aside.
    pub aside: u64,
}

/// A change that is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The version of the partition right after it.
    pub version: Version,
    /// The result kept with its operation id.
    pub result: Bytes,
    /// Whether another call under the same operation id had done it before.
    pub repeated: bool,
    /// Whether all consequences are applied; if not, the driver goes on with them.
    pub finished: bool,
}

/// What became of an intent's commit.
pub(crate) enum Settled {
    /// Done, by whomever, for this intent.
    Done { version: Version, result: Bytes },
    /// The operation was done for another intent: a repeated request.
    Other { id: IntentId, version: Version, result: Bytes },
}

impl Effects {
    /// Changes of tables of `schema`, with consequences of the kinds in `calls`.
    #[must_use]
    pub fn new(store: Store, schema: Schema, calls: Calls) -> Self {
        Self { inner: Arc::new(Inner { store, schema, calls, totals: Totals::default() }) }
    }

    /// Commits one partition and applies the calls elsewhere: all of it, or nothing.
    ///
    /// Calls take their rank from the commit, most simply the version it leads to
    /// (`commit.expected.next()`): it is known beforehand, given once, and grows.
    ///
    /// The future may be dropped at any await; that is a crash like any other, and the driver goes
    /// on from there.
    ///
    /// # Errors
    /// [`ChangeError::Conflict`]: nothing was done and nothing will be. [`ChangeError::Unknown`]:
    /// it will be done wholly or not at all. All others: nothing was written.
    pub async fn change(&self, commit: Commit, calls: Vec<Call>) -> Result<Changed, ChangeError> {
        self.check(&commit, &calls)?;
        if calls.is_empty() {
            return self.change_alone(commit).await;
        }
        let id = IntentId::new(Millis::now())?;
        let intent = Intent::new(&commit, calls);
        let size = intent.to_bytes().len();
        within("an intent", size, INTENT_BYTES)?;
        let row = INTENTS.row(&lane(id), &id.0, &intent)?;
        self.inner.store.put(vec![row]).await.map_err(put_failed)?;
        match self.settle(id, &intent).await {
            Ok(Settled::Done { version, result }) => {
                let finished = self.finish(id, &intent).await;
                Ok(Changed { version, result, repeated: false, finished })
            }
            Ok(Settled::Other { id: other, version, result }) => {
                self.remove(id).await;
                let finished = self.finish_other(other).await;
                Ok(Changed { version, result, repeated: true, finished })
            }
            Err(error) => Err(self.give_up(id, error).await),
        }
    }

    /// Counters since the program started.
    #[must_use]
    pub fn stats(&self) -> EffectStats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let totals = &self.inner.totals;
        EffectStats {
            changes: read(&totals.changes),
            left: read(&totals.left),
            recovered: read(&totals.recovered),
            dropped: read(&totals.dropped),
            aside: read(&totals.aside),
        }
    }

    fn check(&self, commit: &Commit, calls: &[Call]) -> Result<(), ChangeError> {
        let table = commit.table.name();
        if self.inner.schema.table(table).is_none() {
            return Err(ChangeError::NoTable { table: table.to_owned() });
        }
        within("the number of calls", calls.len(), CALLS_PER_CHANGE)?;
        within("a result", commit.result.len(), CHANGE_RESULT_BYTES)?;
        for call in calls {
            within("a call", call.body.len(), CALL_BYTES)?;
            if !self.inner.calls.knows(&call.kind) {
                return Err(ChangeError::NoKind { kind: call.kind.clone() });
            }
        }
        Ok(())
    }

    /// A change without consequences needs no intent. It may still repeat one that had some.
    async fn change_alone(&self, mut commit: Commit) -> Result<Changed, ChangeError> {
        commit.result = mark(IntentId::NONE, &commit.result);
        let done = self.commit_known(commit).await.map_err(commit_failed)?;
        let (id, result) = unmark(&done);
        let finished = id == IntentId::NONE || self.finish_other(id).await;
        Ok(Changed { version: done.version, result, repeated: done.repeated, finished })
    }

    /// Does the commit of an intent, unless somebody has done it already.
    pub(crate) async fn settle(
        &self,
        id: IntentId,
        intent: &Intent,
    ) -> Result<Settled, CommitError> {
        let Some(commit) = intent.commit(id, &self.inner.schema) else {
            let what = format!("this program does not have table {}", intent.table());
            return Err(store::EngineError::new(what, "run the version that has it").into());
        };
        let done = self.commit_known(commit).await?;
        let (owner, result) = unmark(&done);
        let version = done.version;
        Ok(if owner == id {
            Settled::Done { version, result }
        } else {
            Settled::Other { id: owner, version, result }
        })
    }

    /// Commits, and repeats it a few times while the outcome is unknown. Writer and driver of one
    /// intent may meet, and then an engine can only tell a moment later that it is done.
    async fn commit_known(&self, commit: Commit) -> Result<Committed, CommitError> {
        for _ in 0..UNKNOWN_REPEATS {
            match self.inner.store.commit(commit.clone()).await {
                Err(CommitError::Unknown(_)) => tokio::time::sleep(jittered(UNKNOWN_WAIT)).await,
                known => return known,
            }
        }
        self.inner.store.commit(commit).await
    }

    /// Applies the calls of a committed intent, each in turn, also behind one that fails.
    pub(crate) async fn apply(&self, intent: &Intent) -> Vec<(u16, CallError)> {
        let mut failed = Vec::new();
        for (number, call) in (0..).zip(&intent.calls) {
            if let Err(error) = self.inner.calls.apply(call).await {
                failed.push((number, error));
            }
        }
        failed
    }

    /// Applies the calls of an intent that was committed here and removes it; false when something
    /// is left to the driver.
    async fn finish(&self, id: IntentId, intent: &Intent) -> bool {
        let failed = self.apply(intent).await;
        if let Some((number, error)) = failed.first() {
            tracing::warn!(%id, call = number, "left to the driver: {error}");
            self.inner.totals.left.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        self.inner.totals.changes.fetch_add(1, Ordering::Relaxed);
        self.remove(id).await;
        true
    }

    /// A repeated request finds its consequences applied as the first one would have.
    async fn finish_other(&self, id: IntentId) -> bool {
        match self.intent(id).await {
            Ok(Some(intent)) => self.finish(id, &intent).await,
            Ok(None) => true,
            Err(_) => false,
        }
    }

    async fn intent(&self, id: IntentId) -> Result<Option<Intent>, ReadError> {
        self.inner.store.get(&INTENTS, &lane(id), &id.0).await
    }

    /// Removes an intent that has nothing left to do. If that fails the driver will.
    pub(crate) async fn remove(&self, id: IntentId) -> bool {
        let removed = match INTENTS.sweep(&lane(id), &id.0) {
            Ok(row) => self.inner.store.put(vec![row]).await,
            Err(error) => Err(error.into()),
        };
        if let Err(error) = &removed {
            tracing::warn!(%id, "a finished intent is left to the driver: {error}");
        }
        removed.is_ok()
    }

    /// What a caller is told whose commit was not done.
    async fn give_up(&self, id: IntentId, error: CommitError) -> ChangeError {
        let error = commit_failed(error);
        // Whatever the outcome is unknown of stays, so that the driver settles it.
        if !matches!(error, ChangeError::Unknown(_)) {
            self.remove(id).await;
        }
        error
    }
}

/// Whether a conflict of an intent proves that its commit was never done: its operation id cannot
/// have been forgotten yet.
pub(crate) fn conflict_is_certain(id: IntentId, now: Millis) -> bool {
    let remembered = u64::try_from(limits::OPERATION_AGE.as_millis()).unwrap_or(u64::MAX);
    now.0.saturating_sub(id.time().0) < remembered.saturating_sub(CERTAIN_MARGIN)
}

fn within(what: &'static str, size: usize, limit: usize) -> Result<(), ChangeError> {
    if size <= limit { Ok(()) } else { Err(ChangeError::TooLarge { what, size, limit }) }
}

fn put_failed(error: PutError) -> ChangeError {
    match error {
        PutError::Bound(error) => error.into(),
        PutError::NoTable { table } => ChangeError::NoTable { table: table.to_owned() },
        // It may have been written, and then the driver will find it.
        other => ChangeError::Unknown(other.to_string()),
    }
}

fn commit_failed(error: CommitError) -> ChangeError {
    match error {
        CommitError::Bound(error) => error.into(),
        CommitError::Conflict { expected, current } => ChangeError::Conflict { expected, current },
        CommitError::NoTable { table } => ChangeError::NoTable { table: table.to_owned() },
        // Also when this attempt wrote nothing: the driver may already be doing it.
        other => ChangeError::Unknown(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conflict_proves_nothing_once_operations_are_forgotten() {
        let day = 24 * 60 * 60 * 1000;
        let id = IntentId::new(Millis(100 * day)).expect("random");
        assert!(conflict_is_certain(id, Millis(100 * day + day / 2)));
        assert!(conflict_is_certain(id, Millis(99 * day)));
        assert!(!conflict_is_certain(id, Millis(101 * day - CERTAIN_MARGIN)));
        assert!(!conflict_is_certain(id, Millis(103 * day)));
    }
}
