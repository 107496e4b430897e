//! The side of a process that uses a store it does not hold.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex as Lock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use store::{
    Commit, CommitError, Committed, Engine, EngineError, Found, Page, PutError, RangeRequest, Read,
    ReadError, Row, RowKey, TableDef, Task, Version,
};
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Mutex, oneshot};
use tokio::time::Instant;

use crate::convert;
use crate::wire::{self, Answer, Call, Reply, Verb};

/// Bytes of one put; more are sent as several.
const PUT_BYTES: usize = 16 * 1024 * 1024;
const PAUSE: Duration = Duration::from_millis(50);

/// How to reach the process that holds the store.
#[derive(Clone, Debug)]
pub struct RemoteOptions {
    /// Its socket.
    pub socket: PathBuf,
    /// How long to ask again when it does not answer: it may be starting anew.
    pub patience: Duration,
}

/// A store that another process holds.
#[derive(Debug)]
pub struct RemoteEngine {
    options: RemoteOptions,
    connection: Mutex<Option<Arc<Connection>>>,
    ids: AtomicU64,
}

/// Who waits for which answer; none once the connection has ended.
type Waiting = Lock<Option<HashMap<u64, oneshot::Sender<Answer>>>>;

#[derive(Debug)]
struct Connection {
    writer: Mutex<OwnedWriteHalf>,
    waiting: Arc<Waiting>,
    reading: tokio::task::JoinHandle<()>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

impl RemoteEngine {
    /// Reaches the process and checks that it speaks the same protocol.
    ///
    /// # Errors
    /// When nobody answers, or in another version.
    pub async fn open(options: RemoteOptions) -> Result<Arc<Self>, EngineError> {
        let engine = Self { options, connection: Mutex::default(), ids: AtomicU64::new(0) };
        engine.connect().await.map_err(|error| engine.unreachable(&error))?;
        Ok(Arc::new(engine))
    }

    fn unreachable(&self, error: &io::Error) -> EngineError {
        EngineError::new(
            format!("the store's process does not answer at {}: {error}", self.socket()),
            "start `ostrakon run` on the directory that holds the store; work goes on by itself",
        )
    }

    fn socket(&self) -> std::path::Display<'_> {
        self.options.socket.display()
    }

    async fn connect(&self) -> io::Result<Arc<Connection>> {
        let mut current = self.connection.lock().await;
        if let Some(open) = current.as_ref().filter(|open| open.waiting().is_some()) {
            return Ok(open.clone());
        }
        let mut stream = UnixStream::connect(&self.options.socket).await?;
        wire::hello(&mut stream).await?;
        let (reader, writer) = stream.into_split();
        let waiting: Arc<Waiting> = Arc::new(Lock::new(Some(HashMap::new())));
        let reading = tokio::spawn(listen(reader, waiting.clone()));
        let open = Arc::new(Connection { writer: Mutex::new(writer), waiting, reading });
        *current = Some(open.clone());
        Ok(open)
    }

    /// Asks until there is an answer. Every verb may be sent again.
    async fn ask(&self, verb: Verb) -> Result<Answer, EngineError> {
        let until = Instant::now() + self.options.patience;
        loop {
            let error = match self.ask_once(verb.clone()).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if Instant::now() >= until {
                return Err(self.unreachable(&error));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn ask_once(&self, verb: Verb) -> io::Result<Answer> {
        let connection = self.connect().await?;
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let too_large = || io::Error::other("a request is too large; split it");
        let frame = wire::encode(&Call { id, verb }).ok_or_else(too_large)?;
        let ended = || io::Error::other("the connection ended");
        let (done, answer) = oneshot::channel();
        match connection.waiting().as_mut() {
            Some(waiting) => waiting.insert(id, done),
            None => return Err(ended()),
        };
        connection.writer.lock().await.write_all(&frame).await?;
        answer.await.map_err(|_| ended())
    }
}

impl Connection {
    fn waiting(&self) -> WaitingGuard<'_> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type WaitingGuard<'c> = std::sync::MutexGuard<'c, Option<HashMap<u64, oneshot::Sender<Answer>>>>;

/// Hands answers to those who wait; at the end nobody waits any more.
async fn listen(reader: OwnedReadHalf, waiting: Arc<Waiting>) {
    let mut reader = BufReader::new(reader);
    while let Ok(Some(Reply { id, answer })) = wire::read::<Reply>(&mut reader).await {
        let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(asked) = waiting.as_mut().and_then(|waiting| waiting.remove(&id)) {
            // Whoever asked may have gone.
            let _ = asked.send(answer);
        }
    }
    // In one step, so that nobody begins to wait for an answer that cannot come.
    *waiting.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

impl RemoteEngine {
    async fn put_rows(&self, rows: Vec<Row>) -> Result<(), PutError> {
        let Some(first) = rows.first().map(|row| row.table) else { return Ok(()) };
        let (mut batch, mut bytes) = (Vec::new(), 0);
        for Row { table, key, value } in rows {
            let size = key.joined().len() + value.as_ref().map_or(0, Bytes::len);
            if bytes + size > PUT_BYTES && !batch.is_empty() {
                self.put_batch(first, std::mem::take(&mut batch)).await?;
                bytes = 0;
            }
            bytes += size;
            let value = value.map(|value| value.to_vec());
            batch.push((table.name().to_owned(), key.joined().to_vec(), value));
        }
        self.put_batch(first, batch).await
    }

    async fn put_batch(
        &self,
        table: &'static TableDef,
        rows: Vec<(String, Vec<u8>, Option<Vec<u8>>)>,
    ) -> Result<(), PutError> {
        match self.ask(Verb::Put { rows }).await? {
            Answer::Put => Ok(()),
            Answer::Refused(refusal) => Err(convert::put_error(table, refusal)),
            _ => Err(convert::misfit().into()),
        }
    }
}

impl Engine for RemoteEngine {
    fn get<'a>(
        &'a self,
        table: &'static TableDef,
        keys: &'a [RowKey],
        read: Read,
    ) -> Task<'a, Result<Vec<Found>, ReadError>> {
        Box::pin(async move {
            let verb = Verb::Get {
                table: table.name().to_owned(),
                keys: keys.iter().map(|key| key.joined().to_vec()).collect(),
                serial: read == Read::Serial,
            };
            match self.ask(verb).await? {
                Answer::Found(found) if found.len() == keys.len() => Ok(convert::found(found)),
                Answer::Refused(refusal) => Err(convert::read_error(table, refusal)),
                _ => Err(convert::misfit().into()),
            }
        })
    }

    fn range<'a>(&'a self, request: &'a RangeRequest) -> Task<'a, Result<Page, ReadError>> {
        Box::pin(async move {
            match self.ask(convert::range_verb(request)).await? {
                Answer::Page { version, rows, more } => {
                    let rows = rows.into_iter().collect();
                    Ok(Page { version: Version(version), rows, more })
                }
                Answer::Refused(refusal) => Err(convert::read_error(request.table, refusal)),
                _ => Err(convert::misfit().into()),
            }
        })
    }

    fn put(&self, rows: Vec<Row>) -> Task<'_, Result<(), PutError>> {
        Box::pin(self.put_rows(rows))
    }

    fn commit(&self, commit: Commit) -> Task<'_, Result<Committed, CommitError>> {
        Box::pin(async move {
            match self.ask(convert::commit_verb(&commit)).await {
                Ok(Answer::Committed { version, result, repeated }) => {
                    Ok(Committed { version: Version(version), result: result.into(), repeated })
                }
                Ok(Answer::Refused(refusal)) => Err(convert::commit_error(&commit, refusal)),
                // It may have been done before the connection ended.
                Ok(_) => Err(CommitError::Unknown(convert::misfit())),
                Err(error) => Err(CommitError::Unknown(error)),
            }
        })
    }
}
