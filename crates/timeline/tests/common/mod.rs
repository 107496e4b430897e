//! Actors on a hand-driven scheduler: every verb is a place where somebody else may go first, where
//! a writer may pause, and where it may die.

#![allow(dead_code, reason = "each test uses its part")]

pub(crate) mod actors;
pub(crate) mod check;
pub(crate) mod rounds;
pub(crate) mod tree;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use store::{
    Commit, CommitError, Committed, Engine, Found, Page, PutError, RangeRequest, Read, ReadError,
    Row, RowKey, TableDef, Task,
};
use timeline::Clock;

/// An engine that lets others go first before and after each verb.
pub(crate) struct Steps<E: ?Sized>(pub(crate) Arc<E>);

/// Pending once.
struct Yield(bool);

impl Future for Yield {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// Lets others go first.
pub(crate) fn step() -> impl Future<Output = ()> + Send {
    Yield(false)
}

/// Waits for a write of a real engine. Mostly at once, so that the others do not spin meanwhile;
/// now and then step by step, so that a writer can die while its write is under way.
async fn settle<T>(write: Task<'_, T>) -> T {
    static WRITES: AtomicU64 = AtomicU64::new(0);
    let mut write = write;
    let patient = !WRITES.fetch_add(1, Ordering::Relaxed).is_multiple_of(4);
    std::future::poll_fn(move |context| {
        loop {
            match write.as_mut().poll(context) {
                Poll::Pending if patient => std::thread::yield_now(),
                other => return other,
            }
        }
    })
    .await
}

impl<E: Engine + ?Sized> Engine for Steps<E> {
    fn get<'a>(
        &'a self,
        table: &'static TableDef,
        keys: &'a [RowKey],
        read: Read,
    ) -> Task<'a, Result<Vec<Found>, ReadError>> {
        Box::pin(async move {
            step().await;
            self.0.get(table, keys, read).await
        })
    }

    fn range<'a>(&'a self, request: &'a RangeRequest) -> Task<'a, Result<Page, ReadError>> {
        Box::pin(async move {
            step().await;
            self.0.range(request).await
        })
    }

    fn put(&self, rows: Vec<Row>) -> Task<'_, Result<(), PutError>> {
        Box::pin(async move {
            step().await;
            let done = settle(self.0.put(rows)).await;
            step().await;
            done
        })
    }

    fn commit(&self, commit: Commit) -> Task<'_, Result<Committed, CommitError>> {
        Box::pin(async move {
            step().await;
            let done = settle(self.0.commit(commit)).await;
            step().await;
            done
        })
    }
}

/// A clock that moves when it is told to.
#[derive(Debug, Default)]
pub(crate) struct ManualClock(AtomicU64);

impl ManualClock {
    pub(crate) fn advance(&self, millis: u64) {
        self.0.fetch_add(millis, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// Polls a future once.
pub(crate) fn poll<T>(future: &mut Pin<Box<dyn Future<Output = T> + '_>>) -> Option<T> {
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}
