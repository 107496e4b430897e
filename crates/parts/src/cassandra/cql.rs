//! As much of the native protocol (version 4) as it takes to ask a node whether it works.
//!
//! A frame is a header of 9 bytes (version, flags, stream as i16, opcode, length as i32) and a
//! body. A driver would do all this, but then every crate that uses parts would compile it.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The bound of a probe: for the connection and for each answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// An answer of a node is a few hundred bytes; more means that something else is talking.
const MAX_BODY: usize = 1 << 20;

const REQUEST: u8 = 0x04;
const RESPONSE: u8 = 0x84;

const ERROR: u8 = 0x00;
const STARTUP: u8 = 0x01;
const READY: u8 = 0x02;
const OPTIONS: u8 = 0x05;
const SUPPORTED: u8 = 0x06;
const QUERY: u8 = 0x07;
const RESULT: u8 = 0x08;

/// Consistency ALL: every replica has to answer.
const ALL: u16 = 0x0005;

/// Asks what the node supports, which it tells to anybody as soon as it serves clients.
pub(super) fn options(node: SocketAddr) -> io::Result<()> {
    exchange(&mut connect(node)?, OPTIONS, &[], SUPPORTED)
}

/// Runs a query without values, which all replicas of what it reads have to answer.
pub(super) fn query_all(node: SocketAddr, cql: &str) -> io::Result<()> {
    let mut stream = connect(node)?;
    let mut startup = 1_u16.to_be_bytes().to_vec();
    for text in ["CQL_VERSION", "3.0.0"] {
        startup.extend(u16::try_from(text.len()).map_err(io::Error::other)?.to_be_bytes());
        startup.extend(text.as_bytes());
    }
    exchange(&mut stream, STARTUP, &startup, READY)?;
    let mut query = u32::try_from(cql.len()).map_err(io::Error::other)?.to_be_bytes().to_vec();
    query.extend(cql.as_bytes());
    query.extend(ALL.to_be_bytes());
    // No flags: no values, no paging.
    query.push(0);
    exchange(&mut stream, QUERY, &query, RESULT)
}

fn connect(node: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&node, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// Sends one request and reads its answer, which must be of the expected kind.
fn exchange(stream: &mut TcpStream, opcode: u8, body: &[u8], expected: u8) -> io::Result<()> {
    let length = u32::try_from(body.len()).map_err(io::Error::other)?.to_be_bytes();
    let mut frame = vec![REQUEST, 0, 0, 0, opcode];
    frame.extend(length);
    frame.extend(body);
    stream.write_all(&frame)?;
    let mut header = [0; 9];
    stream.read_exact(&mut header)?;
    let [version, _, _, _, answer, length @ ..] = header;
    let length = u32::from_be_bytes(length) as usize;
    if version != RESPONSE || length > MAX_BODY {
        return Err(io::Error::other(format!("it does not speak CQL: {header:?}")));
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    match answer {
        answer if answer == expected => Ok(()),
        // A code of 4 bytes and a length of 2 stand before the text.
        ERROR => Err(io::Error::other(
            String::from_utf8_lossy(body.get(6..).unwrap_or(&[])).into_owned(),
        )),
        other => Err(io::Error::other(format!("opcode {other} instead of {expected}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    /// Asks a server that reads one request and sends these bytes.
    fn ask(answer: &'static [u8]) -> io::Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut request = [0; 9];
            stream.read_exact(&mut request).expect("a frame");
            stream.write_all(answer).expect("sent");
            request
        });
        let result = options(address);
        assert_eq!(server.join().expect("no panic"), [4, 0, 0, 0, 5, 0, 0, 0, 0]);
        result
    }

    #[test]
    fn supported_means_that_it_answers() {
        ask(&[0x84, 0, 0, 0, SUPPORTED, 0, 0, 0, 2, 0, 0]).expect("supported");
    }

    #[test]
    fn anything_else_is_an_error() {
        let check = |answer, expected: &str| {
            let error = ask(answer).expect_err("not supported").to_string();
            assert!(error.contains(expected), "{error}");
        };
        check(&[0x84, 0, 0, 0, ERROR, 0, 0, 0, 8, 0, 0, 0, 10, 0, 2, b'n', b'o'], "no");
        check(&[0x84, 0, 0, 0, READY, 0, 0, 0, 0], "opcode 2 instead of 6");
        check(b"HTTP/1.1 400 Bad Request", "does not speak CQL");
        check(&[0x84, 0, 0], "failed to fill");
    }
}
