//! Bodies that are too large, have no end, or come drop by drop; heads and readers that never
//! finish.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use crate::common::{Answer, Place, Server};

/// Far more than the server should take of any body before it refuses: its limit is 1 MiB, and what
/// lies in the buffers of two sockets comes on top.
const FAR: usize = 32 << 20;

/// Routes that read bodies in different ways: JSON, a form, nobody.
const ROUTES: [(&str, &str); 3] = [
    ("/api/session", "application/json"),
    ("/login", "application/x-www-form-urlencoded"),
    ("/api/accounts", "application/json"),
];

fn head(demo: &Server, path: &str, kind: &str, more: &str) -> String {
    let host = &demo.address;
    format!("POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {kind}\r\n{more}\r\n\r\n")
}

fn read_all(stream: &mut TcpStream) -> Answer {
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    Answer::parse(&answer)
}

#[test]
fn a_body_beyond_the_limit_is_refused_and_not_read() {
    let place = Place::new();
    let demo = place.demo("data");
    for (path, kind) in ROUTES {
        // Nothing of the body is ever sent: the answer must not wait for it.
        for length in [(1_u64 << 20) + 1, 1 << 40] {
            let mut stream = demo.connect();
            let more = format!("Connection: close\r\nContent-Length: {length}");
            stream.write_all(head(&demo, path, kind, &more).as_bytes()).expect("sent");
            let answer = read_all(&mut stream);
            assert_eq!((answer.status, &*answer.code()), (413, "body-too-large"), "{answer:?}");
            assert_eq!(answer.json()["limit"], 1 << 20);
        }
        let mut stream = demo.connect();
        let chunked = head(&demo, path, kind, "Transfer-Encoding: chunked");
        stream.write_all(chunked.as_bytes()).expect("sent");
        let mut reading = stream.try_clone().expect("cloned");
        let answer = std::thread::spawn(move || read_all(&mut reading));
        let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
        let mut sent = 0;
        while sent < FAR && stream.write_all(chunk.as_bytes()).is_ok() {
            sent += chunk.len();
        }
        assert!(sent < FAR, "{path} takes a body without end");
        let answer = answer.join().expect("read");
        // The answer may be lost when the server closes while we still send.
        assert!([413, 0].contains(&answer.status), "{path}: {answer:?}");
    }
    let deep = "[".repeat(200_000);
    let answer = demo.send("POST", "/api/session", &[], &deep);
    assert!([400, 422].contains(&answer.status), "{answer:?}");
    assert!(demo.get("/health").starts_with("HTTP/1.1 200"), "it lives");
    assert!(demo.terminate().success());
}

/// Sends a beginning, then a drop at a time, until the server ends the connection. `None` when it
/// does not.
fn drip(mut stream: TcpStream, beginning: &str, drop: &str) -> Option<Answer> {
    stream.write_all(beginning.as_bytes()).expect("sent");
    stream.set_read_timeout(Some(Duration::from_millis(500))).expect("set");
    let mut answer = Vec::new();
    let mut part = [0; 4096];
    for _ in 0..100 {
        match stream.read(&mut part) {
            Ok(0) => return Some(Answer::parse(&answer)),
            Ok(count) => answer.extend_from_slice(&part[..count]),
            Err(error) if [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind()) => {
                // Refused: the next read says so.
                let _ = stream.write_all(drop.as_bytes());
            }
            Err(_) => return Some(Answer::parse(&answer)),
        }
    }
    None
}

/// Asks for more than all buffers hold and reads nothing until the server has had enough; then
/// whether there was less than it asked for.
fn never_reads(demo: &Server) -> bool {
    const TIMES: usize = 400;
    let mut stream = demo.connect();
    let whole = demo.get("/api/docs").len();
    let request = format!("GET /api/docs HTTP/1.1\r\nHost: {}\r\n\r\n", demo.address);
    stream.set_write_timeout(Some(Duration::from_secs(2))).expect("set");
    let _ = stream.write_all(request.repeat(TIMES).as_bytes());
    // Its patience is 30 seconds; the system's buffers fill in the first moments.
    std::thread::sleep(Duration::from_secs(40));
    let mut read = 0;
    let mut part = vec![0; 1 << 16];
    while let Ok(count @ 1..) = stream.read(&mut part) {
        read += count;
    }
    read < whole * TIMES / 2
}

#[test]
fn a_client_that_never_finishes_is_ended() {
    let place = Place::new();
    let demo = place.demo("data");
    let start = format!("GET / HTTP/1.1\r\nHost: {}\r\n", demo.address);
    let whole = format!("{start}\r\n");
    let body = |path, kind| head(&demo, path, kind, "Content-Length: 1000");
    let (json, form) = (body(ROUTES[0].0, ROUTES[0].1), body(ROUTES[1].0, ROUTES[1].1));
    let chunked = head(&demo, ROUTES[0].0, ROUTES[0].1, "Transfer-Encoding: chunked");
    let cases = [
        ("nothing at all", "", ""),
        ("half a request line", "GET /", ""),
        ("a head without end", &*start, "X-A: b\r\n"),
        ("a header without end", &*start, "x"),
        ("no second request", &*whole, ""),
        ("a second one without end", &*whole, "G"),
        ("a body drop by drop", &*json, " "),
        ("a form drop by drop", &*form, "x"),
        ("chunks drop by drop", &*chunked, "1\r\n \r\n"),
        ("a body that stops", &*json, ""),
    ];
    std::thread::scope(|scope| {
        let unread = scope.spawn(|| never_reads(&demo));
        let tasks = cases.map(|(what, beginning, drop)| {
            let stream = demo.connect();
            (what, scope.spawn(move || drip(stream, beginning, drop)))
        });
        for (what, task) in tasks {
            let ended = task.join().expect("watched");
            let answer = ended.unwrap_or_else(|| panic!("{what}: it is not ended"));
            let status = match what {
                "no second request" | "a second one without end" => &[200][..],
                // Told, unless the connection was gone before that could be read.
                what if what.contains("drop") || what.contains("stops") => &[408],
                _ => &[408, 0],
            };
            assert!(status.contains(&answer.status), "{what}: {answer:?}");
        }
        assert!(unread.join().expect("watched"), "whoever does not read gets all of it");
    });
    assert!(demo.get("/health").starts_with("HTTP/1.1 200"), "it lives");
    assert!(demo.terminate().success());
}
