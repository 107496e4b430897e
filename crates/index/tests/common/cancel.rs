//! Futures that are dropped in the middle: a crash without a new process.

use std::sync::Arc;

use store::{
    Commit, CommitError, Committed, Engine, Found, Page, PutError, RangeRequest, Read, ReadError,
    Row, RowKey, TableDef, Task,
};

/// Polls a future a number of times and drops it.
pub(crate) async fn poll_some<F: Future>(future: F, polls: usize) -> Option<F::Output> {
    let mut future = std::pin::pin!(future);
    for _ in 0..polls {
        let once =
            std::future::poll_fn(|context| std::task::Poll::Ready(future.as_mut().poll(context)));
        if let std::task::Poll::Ready(done) = once.await {
            return Some(done);
        }
    }
    None
}

/// An engine whose every verb takes one more poll, before and after it.
pub(crate) struct Yielding(pub(crate) Arc<dyn Engine>);

macro_rules! yielding {
    ($call:expr) => {
        Box::pin(async move {
            tokio::task::yield_now().await;
            let answer = $call.await;
            tokio::task::yield_now().await;
            answer
        })
    };
}

impl Engine for Yielding {
    fn get<'a>(
        &'a self,
        table: &'static TableDef,
        keys: &'a [RowKey],
        read: Read,
    ) -> Task<'a, Result<Vec<Found>, ReadError>> {
        yielding!(self.0.get(table, keys, read))
    }
    fn range<'a>(&'a self, request: &'a RangeRequest) -> Task<'a, Result<Page, ReadError>> {
        yielding!(self.0.range(request))
    }
    fn put(&self, rows: Vec<Row>) -> Task<'_, Result<(), PutError>> {
        yielding!(self.0.put(rows))
    }
    fn commit(&self, commit: Commit) -> Task<'_, Result<Committed, CommitError>> {
        yielding!(self.0.commit(commit))
    }
}
