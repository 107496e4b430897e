//! The side of the process that holds the store.

use std::sync::Arc;

use store::{Commit, Engine, OpId, Order, RangeRequest, Schema, Store, Version};
use tokio::io::BufReader;
use tokio::net::unix::OwnedWriteHalf;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;

use crate::convert;
use crate::wire::{self, Answer, Call, Refusal, Reply, Verb};

/// How much the other processes may ask at once.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at a time; more are closed at once.
    pub connections: usize,
    /// Requests of one connection at a time; more wait.
    pub requests: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 64, requests: 256 }
    }
}

/// Answers on `listener` until told to stop. Whoever may open the socket may do everything to the
/// rows of `schema`: its file mode is the guard.
pub async fn serve(
    listener: UnixListener,
    engine: Arc<dyn Engine>,
    schema: Schema,
    limits: Limits,
    mut stop: watch::Receiver<bool>,
) {
    let shared = Arc::new((engine, schema));
    let permits = Arc::new(Semaphore::new(limits.connections));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            _ = stop.wait_for(|stop| *stop) => break,
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        match (accepted, permits.clone().try_acquire_owned()) {
            (Ok((stream, _)), Ok(permit)) => {
                let shared = shared.clone();
                connections.spawn(async move {
                    if let Err(error) = talk(stream, shared, limits.requests).await {
                        tracing::debug!(%error, "a process that uses the store went away");
                    }
                    drop(permit);
                });
            }
            (Ok(_), Err(_)) => tracing::warn!("too many processes use the store; one was refused"),
            (Err(error), _) => {
                tracing::warn!(%error, "a process could not reach the store");
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
        }
    }
    connections.shutdown().await;
}

type Shared = Arc<(Arc<dyn Engine>, Schema)>;

async fn talk(mut stream: UnixStream, shared: Shared, requests: usize) -> std::io::Result<()> {
    wire::hello(&mut stream).await?;
    let (reader, writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    let (answers, queue) = mpsc::channel(requests);
    let writing = tokio::spawn(write(writer, queue));
    let permits = Arc::new(Semaphore::new(requests));
    let mut running = JoinSet::new();
    while let Some(Call { id, verb }) = wire::read::<Call>(&mut reader).await? {
        let Ok(permit) = permits.clone().acquire_owned().await else { break };
        while running.try_join_next().is_some() {}
        let (shared, answers) = (shared.clone(), answers.clone());
        running.spawn(async move {
            let answer = answer(&shared, verb).await.unwrap_or_else(Answer::Refused);
            let too_large =
                || convert::bad("the answer is too large; ask for fewer keys at a time");
            let frame = wire::encode(&Reply { id, answer })
                .or_else(|| wire::encode(&Reply { id, answer: Answer::Refused(too_large()) }));
            if let Some(frame) = frame {
                // A client that went away does not need its answer.
                let _ = answers.send(frame).await;
            }
            drop(permit);
        });
    }
    drop(answers);
    while running.join_next().await.is_some() {}
    writing.abort();
    Ok(())
}

async fn write(mut writer: OwnedWriteHalf, mut queue: mpsc::Receiver<Vec<u8>>) {
    use tokio::io::AsyncWriteExt as _;
    while let Some(frame) = queue.recv().await {
        if writer.write_all(&frame).await.is_err() {
            return;
        }
    }
}

/// Does one verb, within the limits that hold for every caller.
async fn answer(shared: &Shared, verb: Verb) -> Result<Answer, Refusal> {
    let (engine, schema) = shared.as_ref();
    match verb {
        Verb::Get { table, keys, serial } => {
            let table = convert::table(schema, &table)?;
            let keys: Result<Vec<_>, _> = keys.into_iter().map(convert::row_key).collect();
            let found = engine.get(table, &keys?, convert::read_level(serial)).await;
            found.map(convert::found_answer).map_err(convert::read_refusal)
        }
        Verb::Range { table, partition, from, to, descending, limit, serial } => {
            let table = convert::table(schema, &table)?;
            let request = RangeRequest {
                table,
                partition: convert::partition_key(table, partition)?,
                from: convert::bound(from),
                to: convert::bound(to),
                order: if descending { Order::Descending } else { Order::Ascending },
                limit: usize::try_from(limit).unwrap_or(usize::MAX).min(store::limits::PAGE_ROWS),
                read: convert::read_level(serial),
            };
            let page = engine.range(&request).await;
            page.map(|page| convert::page_answer(&page)).map_err(convert::read_refusal)
        }
        Verb::Put { rows } => {
            let rows: Result<Vec<_>, _> =
                rows.into_iter().map(|row| convert::row(schema, row)).collect();
            // Through the store, which checks what a client may have left unchecked.
            let put = Store::new(engine.clone(), 0).put(rows?).await;
            put.map(|()| Answer::Put).map_err(convert::put_refusal)
        }
        Verb::Commit { table, partition, expected, changes, op, result } => {
            let table = convert::table(schema, &table)?;
            let commit = Commit {
                table,
                partition: convert::partition_key(table, partition)?,
                expected: Version(expected),
                changes: convert::changes(changes),
                op: OpId(op),
                result: result.into(),
            };
            let done = Store::new(engine.clone(), 0).commit(commit).await;
            let done = done.map_err(convert::commit_refusal)?;
            let (version, result) = (done.version.0, done.result.to_vec());
            Ok(Answer::Committed { version, result, repeated: done.repeated })
        }
    }
}
