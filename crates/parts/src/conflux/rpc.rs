//! A call of JSON-RPC over HTTP, and why it may fail.
//!
//! Blocking, one connection per call, HTTP/1.0: then the answer ends where the connection ends, and
//! nothing of a real HTTP client is needed. A call costs 0.2 ms more than on an open connection.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

use crate::wait::NotReady;

/// More means that something else is talking: a full epoch of 200 blocks stays far below.
const MAX_ANSWER: u64 = 64 << 20;

/// How much of a strange answer an error quotes.
const QUOTED: usize = 200;

/// Why a call did not give a result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RpcError {
    /// The node did not answer; its log may say why.
    #[error("{method}: the node does not answer: {source}")]
    Io {
        /// The method that was called.
        method: String,
        /// What the system said.
        source: io::Error,
    },
    /// The node answered with an error.
    #[error("{method}: the node refuses ({code}): {message}")]
    Refused {
        /// The method that was called.
        method: String,
        /// The code of JSON-RPC.
        code: i64,
        /// What the node said, with the data it added.
        message: String,
    },
    /// The answer is not what the method promises.
    #[error("{method}: a strange answer: {text}")]
    Strange {
        /// The method that was called.
        method: String,
        /// The beginning of the answer.
        text: String,
    },
    /// What a call sets off did not come about in time.
    #[error(transparent)]
    Late(#[from] NotReady),
}

impl RpcError {
    pub(super) fn strange(method: &str, answer: &impl ToString) -> Self {
        let text = answer.to_string().chars().take(QUOTED).collect();
        Self::Strange { method: method.to_owned(), text }
    }

    pub(super) fn io(method: &str) -> impl FnOnce(io::Error) -> Self + use<> {
        let method = method.to_owned();
        move |source| Self::Io { method, source }
    }
}

/// Calls a method and returns its result. Connecting, sending and each read have that patience.
pub(super) fn call(
    node: SocketAddr,
    patience: Duration,
    method: &str,
    params: &Value,
) -> Result<Value, RpcError> {
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let answer = post(node, patience, request.to_string().as_bytes());
    let answer = answer.map_err(RpcError::io(method))?;
    let text = String::from_utf8_lossy(&answer);
    let strange = || RpcError::strange(method, &text);
    let (_, body) = text.split_once("\r\n\r\n").ok_or_else(strange)?;
    let mut answer: Value = serde_json::from_str(body).map_err(|_| strange())?;
    if let Some(error) = answer.get("error").filter(|error| !error.is_null()) {
        return Err(refused(method, error));
    }
    answer.get_mut("result").map(Value::take).ok_or_else(strange)
}

/// Sends a request and reads all that comes back, head and body.
fn post(node: SocketAddr, patience: Duration, body: &[u8]) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&node, patience)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    let length = body.len();
    let head = format!(
        "POST / HTTP/1.0\r\nHost: {node}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n"
    );
    stream.write_all(&[head.as_bytes(), body].concat())?;
    let mut answer = Vec::new();
    stream.take(MAX_ANSWER).read_to_end(&mut answer)?;
    Ok(answer)
}

fn refused(method: &str, error: &Value) -> RpcError {
    let said = |name| error.get(name).filter(|value| !value.is_null());
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut message = said("message").map(text).unwrap_or_default();
    if let Some(data) = said("data") {
        message = format!("{message}: {}", text(data));
    }
    let code = said("code").and_then(Value::as_i64).unwrap_or_default();
    RpcError::Refused { method: method.to_owned(), code, message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    /// Calls a server that reads one request and sends this text.
    fn ask(answer: &'static str) -> Result<Value, RpcError> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut request = [0; 4096];
            let length = stream.read(&mut request).expect("a request");
            stream.write_all(answer.as_bytes()).expect("sent");
            String::from_utf8_lossy(&request[..length]).into_owned()
        });
        let patience = Duration::from_secs(5);
        let result = call(address, patience, "cfx_epochNumber", &json!(["latest_mined"]));
        let request = server.join().expect("no panic");
        assert!(request.starts_with("POST / HTTP/1.0\r\n"), "{request}");
        assert!(request.contains(r#""method":"cfx_epochNumber""#), "{request}");
        result
    }

    #[test]
    fn the_result_is_returned_even_when_it_is_null() {
        let found = ask("HTTP/1.0 200 OK\r\n\r\n{\"jsonrpc\":\"2.0\",\"result\":\"0x5\",\"id\":1}");
        assert_eq!(found.expect("a result"), json!("0x5"));
        let absent = ask("HTTP/1.0 200 OK\r\n\r\n{\"jsonrpc\":\"2.0\",\"result\":null,\"id\":1}");
        assert_eq!(absent.expect("a result"), Value::Null);
    }

    #[test]
    fn anything_else_is_an_error_that_names_the_method() {
        let check = |answer, expected: &str| {
            let error = ask(answer).expect_err("no result").to_string();
            assert_eq!(error, format!("cfx_epochNumber: {expected}"));
        };
        check(
            "HTTP/1.0 200 OK\r\n\r\n{\"error\":{\"code\":-7,\"message\":\"no\",\"data\":\"why\"}}",
            "the node refuses (-7): no: why",
        );
        check(
            "HTTP/1.0 200 OK\r\n\r\n{\"id\":1}",
            "a strange answer: HTTP/1.0 200 OK\r\n\r\n{\"id\":1}",
        );
        check("half", "a strange answer: half");
        check("", "a strange answer: ");
    }
}
