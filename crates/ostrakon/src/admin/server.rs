//! The side of the admin socket that holds the store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncWrite, BufReader};
use tokio::net::UnixStream;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::socket::AdminSocket;
use super::wire::{self, Call, Frame, HEARTBEAT, PATIENCE, PROTOCOL, REQUEST_BYTES};
use super::{Answer, Request, Watch, execute};
use crate::failure::describe;
use crate::opening::OpenStore;
use crate::server::stopped;

/// Connections at a time; more are told to come back.
const CONNECTIONS: usize = 16;
/// Connections that are being told to come back; still more are closed without a word.
const REFUSALS: usize = 64;
/// Commands that work at a time: each may read the whole store. Others wait.
const WORKERS: usize = 2;
/// Progress on its way to a client; what does not fit is left out, the next one says more.
const PROGRESS: usize = 256;
/// How long running commands get to give up when the server stops.
const GRACE: Duration = Duration::from_secs(5);

/// Answers commands until told to stop.
pub(crate) async fn serve(
    socket: AdminSocket,
    opened: Arc<OpenStore>,
    mut stop: watch::Receiver<bool>,
) {
    let desk = Arc::new(Desk { opened, workers: Semaphore::new(WORKERS), stop: stop.clone() });
    let connections = Arc::new(Semaphore::new(CONNECTIONS));
    let refusals = Arc::new(Semaphore::new(REFUSALS));
    let mut tasks = JoinSet::new();
    loop {
        let stream = tokio::select! {
            () = stopped(&mut stop) => break,
            Some(_) = tasks.join_next() => continue,
            accepted = socket.listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Most likely no file descriptor is left; trying again at once would spin.
                    tracing::warn!(%error, "the admin socket cannot accept");
                    tokio::time::sleep(Duration::from_millis(200)).await;
                    continue;
                }
            },
        };
        let admission = connections.clone().try_acquire_owned();
        let admitted = admission.is_ok();
        let Ok(permit) = admission.or_else(|_| refusals.clone().try_acquire_owned()) else {
            continue;
        };
        let desk = desk.clone();
        tasks.spawn(async move {
            if let Err(error) = desk.serve(stream, admitted).await {
                tracing::debug!(error = %describe(&error), "a command ended early");
            }
            drop(permit);
        });
    }
    drop(socket);
    let ended = timeout(GRACE, async { while tasks.join_next().await.is_some() {} }).await;
    if ended.is_err() {
        tracing::warn!("a command was still running when the server stopped");
    }
}

struct Desk {
    opened: Arc<OpenStore>,
    workers: Semaphore,
    stop: watch::Receiver<bool>,
}

impl Desk {
    async fn serve(&self, mut stream: UnixStream, admitted: bool) -> anyhow::Result<()> {
        let (reader, mut writer) = stream.split();
        let mut reader = BufReader::new(reader);
        let call = timeout(PATIENCE, wire::read::<Call>(&mut reader, REQUEST_BYTES)).await?;
        let last = match call.and_then(|call| checked(call, admitted)) {
            Err(error) => Frame::Error(describe(&error)),
            Ok(request) => {
                tracing::info!(?request, "admin command");
                match self.work(request, &mut writer).await? {
                    Ok(answer) => Frame::Answer(Box::new(answer)),
                    Err(error) => Frame::Error(describe(&error)),
                }
            }
        };
        send(&mut writer, &last).await
    }

    /// Lets a thread of its own do the work, and passes on what it says. The outer error is about
    /// the connection, the inner one about the work.
    async fn work(
        &self,
        request: Request,
        writer: &mut (impl AsyncWrite + Unpin),
    ) -> anyhow::Result<anyhow::Result<Answer>> {
        let _permit = loop {
            tokio::select! {
                permit = self.workers.acquire() => break permit?,
                () = tokio::time::sleep(HEARTBEAT) => send(writer, &Frame::Working).await?,
            }
        };
        // Set when this function ends, however it ends: work that nobody waits for gives up.
        let cancel = CancelOnDrop(Arc::new(AtomicBool::new(false)));
        let (sender, mut progress) = mpsc::channel(PROGRESS);
        let mut watch = Watch::new(
            move |table: &str, entries| {
                let _ = sender.try_send(Frame::Progress { table: table.to_owned(), entries });
            },
            cancel.0.clone(),
        );
        let (opened, handle) = (self.opened.clone(), tokio::runtime::Handle::current());
        let mut work = tokio::task::spawn_blocking(move || {
            handle.block_on(execute(&request, &opened, &mut watch))
        });
        let mut stop = self.stop.clone();
        loop {
            tokio::select! {
                biased;
                Some(frame) = progress.recv() => send(writer, &frame).await?,
                done = &mut work => return Ok(done?),
                () = stopped(&mut stop), if !cancel.is_set() => cancel.set(),
                () = tokio::time::sleep(HEARTBEAT) => send(writer, &Frame::Working).await?,
            }
        }
    }
}

struct CancelOnDrop(Arc<AtomicBool>);

impl CancelOnDrop {
    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.set();
    }
}

fn checked(call: Call, admitted: bool) -> anyhow::Result<Request> {
    if !admitted {
        anyhow::bail!("the server already answers {CONNECTIONS} commands; try again in a moment");
    }
    if call.protocol != PROTOCOL {
        anyhow::bail!(
            "the server is Ostrakon {} and speaks protocol {PROTOCOL}, this command {}; use the \
             `ostrakon` of the server's version",
            env!("CARGO_PKG_VERSION"),
            call.protocol
        );
    }
    let request = serde_json::from_value(call.request);
    let request = request.map_err(|error| anyhow::anyhow!("the server cannot do that: {error}"))?;
    match &request {
        Request::Backup { file } if !file.is_absolute() => {
            anyhow::bail!("the server needs the whole path of the backup")
        }
        Request::Copy { to } if !to.is_absolute() => {
            anyhow::bail!("the server needs the whole path of the other configuration")
        }
        Request::Shards { nodes: Some(nodes) } if !(1..=256).contains(nodes) => {
            anyhow::bail!("a cluster of {nodes} nodes cannot be judged; name 1 to 256")
        }
        _ => Ok(request),
    }
}

async fn send(writer: &mut (impl AsyncWrite + Unpin), frame: &Frame) -> anyhow::Result<()> {
    timeout(PATIENCE, wire::write(writer, frame)).await?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(protocol: u32, request: serde_json::Value, admitted: bool, expected: &str) {
        let outcome = checked(Call { protocol, request }, admitted);
        let text = outcome.map_or_else(|error| error.to_string(), |request| format!("{request:?}"));
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn calls_are_checked_before_any_work() {
        use serde_json::json;
        check(1, json!("verify"), true, "Verify");
        check(1, json!("verify"), false, "try again in a moment");
        check(2, json!("verify"), true, "use the `ostrakon` of the server's version");
        check(1, json!("format_disk"), true, "the server cannot do that");
        check(1, json!({"backup": {"file": "a.backup"}}), true, "the whole path");
        check(1, json!({"copy": {"to": "to.toml"}}), true, "the whole path");
        check(1, json!({"shards": {"nodes": 5000}}), true, "name 1 to 256");
    }
}
