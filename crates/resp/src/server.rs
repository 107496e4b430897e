//! Connections: how they begin, go on and end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::commands;
use crate::options::{Options, count};
use crate::reply::Reply;
use crate::session::{Session, Shared};
use crate::wire::{Decoder, ProtocolError};
use crate::{Keyspace, Stats};

/// Bytes that are read at a time.
const READ_BYTES: usize = 16 * 1024;
/// Answers that wait for being written together: one more may begin below this.
const WRITE_BYTES: usize = 64 * 1024;
/// Bytes a second that a client must read of a large answer.
const SLOWEST_PACE: u64 = 256 * 1024;
/// How long a client may take to give the password.
const UNKNOWN_IDLE: Duration = Duration::from_secs(30);
/// How long connections may take to end when the server ends.
const FAREWELL: Duration = Duration::from_secs(5);
/// How long to wait after a connection could not be taken: mostly files are short, and come back.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Answers on `listener` until `stop` says so or its sender is gone. Connections end after the
/// command they are at.
pub async fn serve(
    listener: TcpListener,
    keyspace: Arc<dyn Keyspace>,
    options: Options,
    mut stop: watch::Receiver<bool>,
) {
    let port = listener.local_addr().map_or(0, |address| address.port());
    let shared = Arc::new(Shared::new(keyspace, options, port));
    let mut connections = JoinSet::new();
    let ids = AtomicU64::new(1);
    loop {
        let accepted = tokio::select! {
            _ = stop.wait_for(|stop| *stop) => break,
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection was not taken");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        if connections.len() >= shared.options.connections {
            count(&shared.stats().refused, 1);
            refuse(&stream);
            continue;
        }
        count(&shared.stats().accepted, 1);
        let session = Session::new(ids.fetch_add(1, Ordering::Relaxed), peer, &shared);
        connections.spawn(connection(stream, peer, session, shared.clone(), stop.clone()));
    }
    drop(listener);
    let _ = timeout(FAREWELL, async { while connections.join_next().await.is_some() {} }).await;
}

/// Says that there are too many, without waiting for a client that does not read.
fn refuse(stream: &TcpStream) {
    let _ = stream.try_write(b"-ERR max number of clients reached\r\n");
}

/// Why a connection ended.
enum End {
    /// The client or the server wanted it.
    Done,
    /// It said nothing for too long.
    Idle,
    /// It did not read.
    Slow,
    /// What it said is no request.
    Garbled(ProtocolError),
}

/// Counts a connection as long as it lives, however it ends.
struct Open<'a>(&'a Stats);

impl<'a> Open<'a> {
    fn new(stats: &'a Stats) -> Self {
        count(&stats.open, 1);
        Self(stats)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn connection(
    mut stream: TcpStream,
    peer: SocketAddr,
    mut session: Session,
    shared: Arc<Shared>,
    mut stop: watch::Receiver<bool>,
) {
    let stats = shared.stats();
    let _open = Open::new(stats);
    let _ = stream.set_nodelay(true);
    match converse(&mut stream, &mut session, &shared, &mut stop).await {
        End::Done => {}
        End::Idle => count(&stats.idle, 1),
        End::Slow => count(&stats.slow, 1),
        End::Garbled(error) => {
            count(&stats.garbled, 1);
            tracing::debug!(%peer, %error, "not the protocol of Redis");
            let mut out = Vec::new();
            Reply::error(&error).write(session.protocol, &mut out);
            let _ = write(&mut stream, &mut out, &shared).await;
        }
    }
    let _ = timeout(shared.options.reading, stream.shutdown()).await;
}

async fn converse(
    stream: &mut TcpStream,
    session: &mut Session,
    shared: &Shared,
    stop: &mut watch::Receiver<bool>,
) -> End {
    let mut decoder = Decoder::new(shared.options.request);
    let mut input = vec![0; READ_BYTES];
    let mut out = Vec::new();
    let mut asked = Instant::now();
    loop {
        loop {
            decoder.trust(session.authenticated);
            let words = match decoder.next_request() {
                Ok(Some(words)) => words,
                Ok(None) => break,
                Err(error) => {
                    // What was asked before is answered before.
                    let written = write(stream, &mut out, shared).await;
                    return if written { End::Garbled(error) } else { End::Slow };
                }
            };
            let reply = commands::answer(session, shared, &words).await;
            reply.write(session.protocol, &mut out);
            asked = Instant::now();
            let full = out.len() >= WRITE_BYTES || session.closing || *stop.borrow();
            if full && !write(stream, &mut out, shared).await {
                return End::Slow;
            }
            if session.closing || *stop.borrow() {
                return End::Done;
            }
        }
        if !write(stream, &mut out, shared).await {
            return End::Slow;
        }
        // Since the last whole request, so that bytes that trickle in hold no place for ever.
        let patience = match session.authenticated {
            true => shared.options.idle,
            false => shared.options.idle.min(UNKNOWN_IDLE),
        };
        let patience = patience.saturating_sub(asked.elapsed());
        let read = tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return End::Done,
            read = timeout(patience, stream.read(&mut input)) => read,
        };
        match read {
            Err(_) => return End::Idle,
            Ok(Err(_) | Ok(0)) => return End::Done,
            Ok(Ok(read)) => {
                count(&shared.stats().bytes_in, read as u64);
                decoder.feed(input.get(..read).unwrap_or_default());
            }
        }
    }
}

/// Writes all of it; false when the client does not read fast enough or is gone.
async fn write(stream: &mut TcpStream, out: &mut Vec<u8>, shared: &Shared) -> bool {
    if out.is_empty() {
        return true;
    }
    // For the whole, not for each piece: a client that takes a byte now and then is slow, too.
    let pace = Duration::from_secs(out.len() as u64 / SLOWEST_PACE);
    let written = timeout(shared.options.reading + pace, stream.write_all(out)).await;
    if !matches!(written, Ok(Ok(()))) {
        return false;
    }
    count(&shared.stats().bytes_out, out.len() as u64);
    out.clear();
    out.shrink_to(WRITE_BYTES);
    true
}
