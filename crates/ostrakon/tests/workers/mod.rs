//! One web server, two workers that deliver webhooks, and what becomes of the deliveries when the
//! one that holds the lease is killed.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::{Place, Server};

/// The issue's own bound.
const TAKEOVER: Duration = Duration::from_secs(10);
/// How long anything else may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);
const PASSWORD: &str = "correct horse battery";

/// What `[webhooks]` must say for a receiver on this machine.
pub(crate) const LOOPBACK: &str = "\n[webhooks]\nloopback = true\n";

/// Receives deliveries: the number of each event, and when it came.
#[derive(Clone, Default)]
struct Received(Arc<Mutex<Vec<(u64, Instant)>>>);

impl Received {
    fn listen() -> (Self, String) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/", listener.local_addr().expect("an address"));
        let received = Self::default();
        let shared = received.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                shared.take(stream);
            }
        });
        (received, url)
    }

    /// Reads one delivery and acknowledges it. One that was cut off is not acknowledged.
    fn take(&self, mut stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().expect("cloned"));
        let (mut length, mut line) = (0, String::new());
        while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
            let header = line.to_ascii_lowercase();
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse().expect("a number");
            }
            line.clear();
        }
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let Ok(event) = serde_json::from_slice::<Value>(&body) else { return };
        let id = event["id"].as_u64().expect("a number");
        self.0.lock().expect("no panic").push((id, Instant::now()));
        let _ =
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    }

    fn all(&self) -> Vec<(u64, Instant)> {
        self.0.lock().expect("no panic").clone()
    }

    fn newest(&self) -> u64 {
        self.all().iter().map(|(id, _)| *id).max().unwrap_or(0)
    }

    /// Waits until an event behind `after` was delivered; when it was.
    fn wait_behind(&self, after: u64) -> Instant {
        let begun = Instant::now();
        loop {
            if let Some((_, at)) = self.all().into_iter().find(|(id, _)| *id > after) {
                return at;
            }
            assert!(begun.elapsed() < PATIENCE, "nothing behind event {after} is delivered");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// An operator of the web server.
#[derive(Clone)]
struct Operator {
    address: String,
    token: String,
}

impl Operator {
    fn log_in(address: &str) -> Self {
        let mut operator = Self { address: address.to_owned(), token: String::new() };
        let credentials = json!({ "name": "root", "password": PASSWORD });
        let (head, body) = operator.send("POST /api/session", "", &credentials);
        let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: "));
        let cookie = cookie.and_then(|it| it.split(';').next()).expect("a cookie");
        let csrf = body["csrf"].as_str().expect("a token");
        let headers =
            format!("Cookie: {cookie}\r\nX-CSRF-Token: {csrf}\r\nOrigin: http://{address}\r\n");
        let wanted = json!({ "name": "test", "scopes": ["read", "write", "operator"] });
        let (head, body) = operator.send("POST /api/account/tokens", &headers, &wanted);
        let token = body["token"].as_str().unwrap_or_else(|| panic!("{head} {body}"));
        operator.token = format!("Authorization: Bearer {token}\r\n");
        operator
    }

    fn send(&self, line: &str, headers: &str, body: &Value) -> (String, Value) {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        let body = body.to_string();
        let request = format!(
            "{line} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{headers}Content-Type: \
             application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        (head.to_owned(), serde_json::from_str(body).unwrap_or_default())
    }

    /// Sends as this operator; the request must succeed.
    fn done(&self, line: &str, body: &Value) -> Value {
        let (head, body) = self.send(line, &self.token, body);
        assert!(head.starts_with("HTTP/1.1 20"), "{line}: {head} {body}");
        body
    }

    /// Changes a chain again and again: every change is an event.
    fn make_events(self, stop: &AtomicBool) -> u64 {
        let chain =
            |network: u64| json!({ "name": "busy", "kind": "evm", "network": network.to_string() });
        self.done("POST /api/chains", &chain(0));
        let mut made = 1;
        while !stop.load(Ordering::Relaxed) {
            self.done("PUT /api/chains/busy", &chain(made));
            made += 1;
            std::thread::sleep(Duration::from_millis(100));
        }
        made
    }
}

/// Makes an operator before any server runs.
pub(crate) fn make_operator(place: &Place, more: &str) {
    let mut command = place.command(&format!("operator root {more}"));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("starts");
    let mut input = child.stdin.take().expect("standard input");
    writeln!(input, "{PASSWORD}").expect("written");
    drop(input);
    assert!(child.wait().expect("ends").success());
}

/// Kills the worker that holds the lease, and proves that the other goes on in time, loses no
/// event and keeps their order.
pub(crate) fn the_other_goes_on(web: &Server, start_worker: impl Fn(usize) -> Server) {
    let operator = Operator::log_in(&web.address);
    let (received, url) = Received::listen();
    operator.done("POST /api/webhooks", &json!({ "url": url, "kinds": ["chain.*"] }));
    let first = start_worker(1);
    let stop = Arc::new(AtomicBool::new(false));
    let (making, until) = (operator.clone(), stop.clone());
    let making = std::thread::spawn(move || making.make_events(&until));
    // Nobody else is there: the first one holds the lease.
    received.wait_behind(3);
    let second = start_worker(2);
    let seen = received.newest();
    received.wait_behind(seen + 10);
    first.kill();
    let killed = Instant::now();
    // What the dead one had sent may still be read.
    std::thread::sleep(Duration::from_millis(300));
    let gap = received.wait_behind(received.newest()).duration_since(killed);
    println!("the other went on after {gap:?}");
    assert!(gap <= TAKEOVER, "it took {gap:?}");
    stop.store(true, Ordering::Relaxed);
    let made = making.join().expect("no panic");
    received.wait_behind(made - 1);
    let ids: Vec<u64> = received.all().into_iter().map(|(id, _)| id).collect();
    let mut expected = 1;
    for id in &ids {
        assert!(*id <= expected, "event {expected} was passed over: {ids:?}");
        expected = expected.max(id + 1);
    }
    assert_eq!(expected, made + 1, "{made} events were made");
    println!("{made} events, {} deliveries", ids.len());
    assert!(second.terminate().success());
}
