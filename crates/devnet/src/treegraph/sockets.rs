//! WebSocket connections: requests, answers, and notices in between.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::net::TcpStream;
use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Bytes, Error as SocketError, Message};
use tokio_tungstenite::{WebSocketStream, accept_async_with_config};

use super::hub::Notice;
use super::node::Served;
use super::subscriptions::Subscriptions;

/// How long a client may take to read a message before it is dropped.
const SEND_TIME: Duration = Duration::from_secs(5);
/// How long the handshake may take.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// Bytes that may wait in a connection, beside the system's buffers.
const WRITE_BYTES: usize = 1024 * 1024;

/// Serves a connection until it ends, or its client does not read.
pub(super) async fn serve(stream: TcpStream, served: Served, request_bytes: usize) {
    let config = WebSocketConfig::default()
        .max_message_size(Some(request_bytes))
        .max_frame_size(Some(request_bytes))
        // Messages go out as they come.
        .write_buffer_size(0)
        .max_write_buffer_size(WRITE_BYTES);
    let shaken = accept_async_with_config(stream, Some(config));
    if let Ok(Ok(socket)) = tokio::time::timeout(HANDSHAKE_TIME, shaken).await {
        // Why it ended is nobody's business here.
        let _ = talk(socket, &served).await;
    }
}

/// Why a conversation ends.
enum Ended {
    /// By the client, or because it does not read.
    Client,
    /// The connection broke.
    Broken,
}

impl From<SocketError> for Ended {
    fn from(_: SocketError) -> Self {
        Self::Broken
    }
}

async fn talk(mut socket: WebSocketStream<TcpStream>, served: &Served) -> Result<(), Ended> {
    let mut held = Subscriptions::new();
    let mut notices: Option<Receiver<Notice>> = None;
    loop {
        tokio::select! {
            message = socket.next() => {
                let body: Bytes = match message.ok_or(Ended::Client)?? {
                    Message::Text(text) => text.into(),
                    Message::Binary(bytes) => bytes,
                    Message::Close(_) => return Err(Ended::Client),
                    // Pings are answered by the library.
                    _ => continue,
                };
                let was_empty = held.is_empty();
                let answer = served.answer_over(&body, &mut held);
                // Before the answer, so that nothing after it is missed.
                match (was_empty, held.is_empty()) {
                    (true, false) => notices = Some(served.listen()),
                    (false, true) => notices = None,
                    _ => {}
                }
                if let Some(answer) = answer {
                    send(&mut socket, answer.to_string()).await?;
                }
            }
            notice = next(&mut notices) => {
                // Whoever is that far behind does not read.
                let notice = notice.map_err(|_| Ended::Client)?;
                for id in held.of(notice.topic) {
                    send(&mut socket, notice.message(id)).await?;
                }
            }
        }
    }
}

/// The next notice; never, for whoever has no subscription.
async fn next(notices: &mut Option<Receiver<Notice>>) -> Result<Notice, RecvError> {
    match notices {
        Some(notices) => notices.recv().await,
        None => std::future::pending().await,
    }
}

async fn send(socket: &mut WebSocketStream<TcpStream>, text: String) -> Result<(), Ended> {
    let sent = tokio::time::timeout(SEND_TIME, socket.send(Message::text(text))).await;
    Ok(sent.map_err(|_| Ended::Client)??)
}
