//! The bytes on the socket.
//!
//! ```text
//! hello     "OSTRAKON STORE\n" protocol:u32        both sides, first
//! frame     length:u32 postcard(Call or Reply)     any number, in any order, told apart by id
//! ```

use std::io;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

const MAGIC: &[u8; 15] = b"OSTRAKON STORE\n";
/// Raise it when a frame changes its shape.
const PROTOCOL: u32 = 1;
/// Bytes of one frame. Larger puts are split by the client; larger answers are refused.
pub(crate) const FRAME_BYTES: usize = 64 * 1024 * 1024;

/// A request with the number its answer will carry.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Call {
    pub(crate) id: u64,
    pub(crate) verb: Verb,
}

/// The four verbs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Verb {
    Get {
        table: String,
        keys: Vec<Vec<u8>>,
        serial: bool,
    },
    Range {
        table: String,
        partition: Vec<u8>,
        from: End,
        to: End,
        descending: bool,
        limit: u64,
        serial: bool,
    },
    Put {
        rows: Vec<(String, Vec<u8>, Option<Vec<u8>>)>,
    },
    Commit {
        table: String,
        partition: Vec<u8>,
        expected: u64,
        /// Sort keys and values; none deletes.
        changes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
        op: [u8; 16],
        result: Vec<u8>,
    },
}

/// One end of a range.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum End {
    Unbounded,
    Included(Vec<u8>),
    Excluded(Vec<u8>),
}

/// An answer.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Reply {
    pub(crate) id: u64,
    pub(crate) answer: Answer,
}

/// What came of a verb.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    Found(Vec<(u64, Option<Vec<u8>>)>),
    Page { version: u64, rows: Vec<(Vec<u8>, Vec<u8>)>, more: bool },
    Put,
    Committed { version: u64, result: Vec<u8>, repeated: bool },
    Refused(Refusal),
}

/// Why a verb was not done.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Refusal {
    NoTable,
    Conflict { current: u64 },
    Unknown { what: String, advice: String },
    Differs { table: String, key: String },
    Failed { what: String, advice: String },
}

/// Greets and checks the greeting of the other side.
pub(crate) async fn hello(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> io::Result<()> {
    stream.write_all(MAGIC).await?;
    stream.write_all(&PROTOCOL.to_le_bytes()).await?;
    stream.flush().await?;
    let mut magic = [0; 15];
    stream.read_exact(&mut magic).await?;
    if magic != *MAGIC {
        return Err(io::Error::other("this is not a store's socket"));
    }
    let mut protocol = [0; 4];
    stream.read_exact(&mut protocol).await?;
    let found = u32::from_le_bytes(protocol);
    if found != PROTOCOL {
        let what = format!(
            "the other process speaks protocol {found}, this one {PROTOCOL}; run the same version \
             of Ostrakon everywhere"
        );
        return Err(io::Error::other(what));
    }
    Ok(())
}

/// Reads one frame; none when the other side ended between two.
pub(crate) async fn read<T: DeserializeOwned>(
    stream: &mut (impl AsyncRead + Unpin),
) -> io::Result<Option<T>> {
    let mut length = [0; 4];
    match stream.read_exact(&mut length).await {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    };
    let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
    if length > FRAME_BYTES {
        return Err(io::Error::other(format!("a frame of {length} bytes is too large")));
    }
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).await?;
    let decoded = postcard::from_bytes(&bytes);
    decoded.map(Some).map_err(|error| io::Error::other(format!("not a frame: {error}")))
}

/// The bytes of one frame; none when it would be too large.
pub(crate) fn encode<T: Serialize>(message: &T) -> Option<Vec<u8>> {
    let body = postcard::to_stdvec(message).ok()?;
    let length = u32::try_from(body.len()).ok().filter(|_| body.len() <= FRAME_BYTES)?;
    let mut frame = Vec::with_capacity(4 + body.len());
    frame.extend_from_slice(&length.to_le_bytes());
    frame.extend_from_slice(&body);
    Some(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn strangers_and_other_versions_are_refused() {
        for (greeting, expected) in [
            (b"GET / HTTP/1.1\r\n\r\n       ".to_vec(), "not a store's socket"),
            ([MAGIC.as_slice(), &9_u32.to_le_bytes()].concat(), "protocol 9"),
        ] {
            let (mut ours, mut theirs) = tokio::io::duplex(1024);
            theirs.write_all(&greeting).await.expect("sent");
            let error = hello(&mut ours).await.expect_err("refused").to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[tokio::test]
    async fn frames_are_whole_or_errors() {
        let call = Call { id: 7, verb: Verb::Put { rows: Vec::new() } };
        let frame = encode(&call).expect("small");
        let read_back = read::<Call>(&mut frame.as_slice()).await.expect("whole");
        assert_eq!(read_back.map(|call| call.id), Some(7));
        assert!(read::<Call>(&mut [].as_slice()).await.expect("an end").is_none());
        read::<Call>(&mut &frame[..frame.len() - 1]).await.expect_err("cut");
        let huge = u32::MAX.to_le_bytes();
        let error = read::<Call>(&mut huge.as_slice()).await.expect_err("too large").to_string();
        assert!(error.contains("too large"), "{error}");
    }
}
