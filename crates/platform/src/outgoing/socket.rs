//! A WebSocket to a node: questions go out, answers and notices come in.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use crate::chains::AskError;

use super::clients::NodeClient;

/// Bytes of one message.
const MESSAGE_BYTES: usize = 16 * 1024 * 1024;
/// How long a node may take to say hello.
const HELLO_TIME: Duration = Duration::from_secs(5);

/// What a socket runs over.
trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}
impl<W: AsyncRead + AsyncWrite + Send + Unpin> Wire for W {}

/// An open socket. It closes when it is dropped.
pub struct NodeSocket(WebSocketStream<Box<dyn Wire>>);

impl std::fmt::Debug for NodeSocket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NodeSocket").finish_non_exhaustive()
    }
}

impl NodeClient {
    /// Opens a socket to `ws://` or `wss://`.
    ///
    /// # Errors
    /// When nobody answers there, or not as a WebSocket.
    pub async fn socket(&self, url: &str) -> Result<NodeSocket, AskError> {
        let opened = tokio::time::timeout(HELLO_TIME, self.open(url)).await;
        opened.unwrap_or_else(|_| Err(AskError("it did not answer within 5 s".to_owned())))
    }

    async fn open(&self, url: &str) -> Result<NodeSocket, AskError> {
        // The same host, port and encryption as an address for requests.
        let Some(rest) = url.strip_prefix("ws") else {
            return Err(AskError("a socket's address begins with ws:// or wss://".to_owned()));
        };
        let wire = self.sender.wire(&format!("http{rest}")).await;
        let wire = wire.map_err(|error| AskError(error.to_string()))?;
        let wire: Box<dyn Wire> = match wire {
            super::exchange::Wire::Plain(stream) => Box::new(stream),
            super::exchange::Wire::Encrypted(stream) => stream,
        };
        let limits = WebSocketConfig::default()
            .max_message_size(Some(MESSAGE_BYTES))
            .max_frame_size(Some(MESSAGE_BYTES));
        let (socket, _) = client_async_with_config(url, wire, Some(limits))
            .await
            .map_err(|error| AskError(format!("it is no WebSocket: {error}; check its port")))?;
        Ok(NodeSocket(socket))
    }
}

impl NodeSocket {
    /// Sends a text.
    ///
    /// # Errors
    /// When the connection is gone.
    pub async fn send(&mut self, text: String) -> Result<(), AskError> {
        self.0.send(Message::text(text)).await.map_err(|error| AskError(error.to_string()))
    }

    /// The next text.
    ///
    /// # Errors
    /// When the connection is gone, or a message is too large.
    pub async fn next(&mut self) -> Result<String, AskError> {
        loop {
            match self.0.next().await {
                Some(Ok(Message::Text(text))) => return Ok(text.to_string()),
                Some(Ok(Message::Close(_))) | None => {
                    return Err(AskError("the node closed the connection".to_owned()));
                }
                // Pings are answered by the library.
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(AskError(error.to_string())),
            }
        }
    }
}
