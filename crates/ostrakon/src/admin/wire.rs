//! The protocol of the admin socket: one JSON object per line, one request per connection.
//!
//! ```text
//! client   {"protocol":1,"request":{"shards":{"nodes":null}}}
//! server   {"progress":{"table":"system.samples","entries":10000}}     any number of times
//! server   "working"                                                   when it is silent otherwise
//! server   {"answer":{…}}   or   {"error":"…"}                         once, at the end
//! ```

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt as _;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWrite};

use super::{Answer, Request};

/// Raise it when a request or an answer changes its shape.
pub(crate) const PROTOCOL: u32 = 1;
/// Bytes of a request.
pub(crate) const REQUEST_BYTES: u64 = 64 * 1024;
/// Bytes of a line from the server: a report of some thousand tables.
pub(crate) const FRAME_BYTES: u64 = 256 * 1024 * 1024;
/// How long a client may take to send its request, and a frame to be taken.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// How often a busy server says that it is still there.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(5);
/// How long a client waits for a sign of life.
pub(crate) const SILENCE: Duration = Duration::from_secs(60);

/// What a client sends.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Call {
    /// [`PROTOCOL`] of the client.
    pub(crate) protocol: u32,
    /// What it asks; kept raw until the protocol is known to fit.
    pub(crate) request: serde_json::Value,
}

impl Call {
    /// A call of this version.
    pub(crate) fn new(request: &Request) -> serde_json::Result<Self> {
        Ok(Self { protocol: PROTOCOL, request: serde_json::to_value(request)? })
    }
}

/// What a server sends.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Frame {
    /// How far the work is.
    Progress {
        /// The table.
        table: String,
        /// Its entries so far.
        entries: u64,
    },
    /// Still there.
    Working,
    /// The end, well.
    Answer(Box<Answer>),
    /// The end, badly.
    Error(String),
}

/// Reads one line of at most `limit` bytes.
pub(crate) async fn read<T: DeserializeOwned>(
    reader: &mut (impl AsyncBufRead + Unpin),
    limit: u64,
) -> anyhow::Result<T> {
    let mut line = Vec::new();
    let length = reader.take(limit).read_until(b'\n', &mut line).await?;
    if line.last() != Some(&b'\n') {
        match length as u64 {
            0 => anyhow::bail!("the other side ended the connection"),
            read if read == limit => anyhow::bail!("a message has more than {limit} bytes"),
            _ => anyhow::bail!("the other side ended in the middle of a message"),
        }
    }
    serde_json::from_slice(&line).map_err(|error| anyhow::anyhow!("not a message: {error}"))
}

/// Writes one line.
pub(crate) async fn write<T: Serialize + Sync>(
    writer: &mut (impl AsyncWrite + Unpin),
    message: &T,
) -> anyhow::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    writer.write_all(&line).await?;
    Ok(writer.flush().await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(bytes: &[u8], expected: &str) {
        let read = read::<Call>(&mut &bytes[..], 64).await;
        let text = read.map_or_else(|error| error.to_string(), |call| call.request.to_string());
        assert!(text.contains(expected), "{text}");
    }

    #[tokio::test]
    async fn lines_are_read_whole_or_refused_with_a_reason() {
        check(b"{\"protocol\":1,\"request\":\"verify\"}\nrest", "\"verify\"").await;
        check(b"", "ended the connection").await;
        check(b"{\"protocol\":1", "in the middle").await;
        check(b"hello\n", "not a message").await;
        check(&[b'x'; 100], "more than 64 bytes").await;
    }
}
