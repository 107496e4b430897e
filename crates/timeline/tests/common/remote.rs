//! An engine across a network for actors that are polled by hand: its verbs run in other threads.

use std::future::Future;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::task::Poll;
use std::time::Duration;

use store::{
    Commit, CommitError, Committed, Engine, Found, Page, PutError, RangeRequest, Read, ReadError,
    Row, RowKey, TableDef, Task,
};
use tokio::runtime::Handle;

/// How long a poll of a write waits for its answer, so that the scheduler does not spin.
const GLANCE: Duration = Duration::from_micros(200);

/// The verbs of an engine, each on a runtime of its own threads.
///
/// Reads are waited for within one poll, else the clock of the actors would run away from the
/// network. A write whose actor dies goes on, as a request does whose sender is killed.
pub(crate) struct Remote {
    engine: Arc<dyn Engine>,
    runtime: Handle,
}

impl Remote {
    pub(crate) fn before(engine: Arc<dyn Engine>, runtime: &Handle) -> Arc<dyn Engine> {
        Arc::new(Self { engine, runtime: runtime.clone() })
    }

    fn send<T: Send + 'static>(
        &self,
        verb: impl Future<Output = T> + Send + 'static,
    ) -> Receiver<T> {
        let (answer, receiver) = mpsc::sync_channel(1);
        self.runtime.spawn(async move {
            // Nobody listens when the actor died meanwhile.
            let _ = answer.send(verb.await);
        });
        receiver
    }

    fn read<T: Send + 'static>(
        &self,
        verb: impl Future<Output = T> + Send + 'static,
    ) -> Task<'_, T> {
        Box::pin(async move { self.send(verb).recv().expect("a verb does not panic") })
    }

    fn write<T: Send + 'static>(
        &self,
        verb: impl Future<Output = T> + Send + 'static,
    ) -> Task<'_, T> {
        Box::pin(async move {
            let answer = self.send(verb);
            std::future::poll_fn(move |_| match answer.recv_timeout(GLANCE) {
                Ok(answer) => Poll::Ready(answer),
                Err(RecvTimeoutError::Timeout) => Poll::Pending,
                Err(RecvTimeoutError::Disconnected) => panic!("a verb does not panic"),
            })
            .await
        })
    }
}

impl Engine for Remote {
    fn get<'a>(
        &'a self,
        table: &'static TableDef,
        keys: &'a [RowKey],
        read: Read,
    ) -> Task<'a, Result<Vec<Found>, ReadError>> {
        let (engine, keys) = (self.engine.clone(), keys.to_vec());
        self.read(async move { engine.get(table, &keys, read).await })
    }

    fn range<'a>(&'a self, request: &'a RangeRequest) -> Task<'a, Result<Page, ReadError>> {
        let (engine, request) = (self.engine.clone(), request.clone());
        self.read(async move { engine.range(&request).await })
    }

    fn put(&self, rows: Vec<Row>) -> Task<'_, Result<(), PutError>> {
        let engine = self.engine.clone();
        self.write(async move { engine.put(rows).await })
    }

    fn commit(&self, commit: Commit) -> Task<'_, Result<Committed, CommitError>> {
        let engine = self.engine.clone();
        self.write(async move { engine.commit(commit).await })
    }
}
