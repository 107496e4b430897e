//! Heads that mean one thing to a proxy and another to a server, or nothing good to anybody.

use std::io::{Read as _, Write as _};

use crate::common::{Answer, Place};
use crate::people::{FORM, Person, origin};

/// How many answers came over one connection.
fn answers(bytes: &[u8]) -> usize {
    String::from_utf8_lossy(bytes).matches("HTTP/1.1 ").count()
}

#[test]
fn a_head_with_two_meanings_is_refused() {
    let place = Place::new();
    let demo = place.demo("data");
    let host = demo.address.clone();
    let large = format!("X-Large: {}\r\n", "x".repeat(40_000));
    let huge = format!("X-Huge: {}\r\n", "x".repeat(1_000_000));
    let many: String = (0..300).map(|number| format!("X-{number}: a\r\n")).collect();
    let long = format!("GET /{} HTTP/1.1", "x".repeat(9000));
    for (line, more, status) in [
        ("GET /health HTTP/1.1", "", 200),
        ("GET /health HTTP/1.1", "Host: evil.example\r\n", 400),
        ("GET http://evil.example/health HTTP/1.1", "", 400),
        ("GET /health HTTP/1.1", "X-A : space before the colon\r\n", 400),
        ("GET /health HTTP/1.1", "X-A: folded\r\n into two\r\n", 400),
        ("GET /health HTTP/1.1", "X-A: a\rSet-Cookie: b=c\r\n", 400),
        ("GET /health HTTP/1.1", "X-A: a\0b\r\n", 400),
        ("GET /health HTTP/1.1", &*large, 431),
        ("GET /health HTTP/1.1", &*huge, 431),
        ("GET /health HTTP/1.1", &*many, 431),
        (&*long, "", 400),
        ("GET /api/../health HTTP/1.1", "", 400),
        ("GET /api/%2e%2e/health HTTP/1.1", "", 400),
        ("GET /api/.%2E/health HTTP/1.1", "", 400),
        ("GET /./health HTTP/1.1", "", 400),
        ("GET //health HTTP/1.1", "", 400),
        ("GET /api%2fchains HTTP/1.1", "", 400),
        ("GET /api%5cchains HTTP/1.1", "", 400),
        ("GET /api/chains/..%2f..%2fetc%2fpasswd HTTP/1.1", "", 400),
        ("GET /assets/..%2f..%2fetc%2fpasswd HTTP/1.1", "", 400),
        ("GET /health%00 HTTP/1.1", "", 400),
        ("GET /health%0d%0aX-A:%20b HTTP/1.1", "", 400),
        ("GET /health%zz HTTP/1.1", "", 400),
        ("TRACE / HTTP/1.1", "", 405),
        ("CONNECT evil.example:443 HTTP/1.1", "", 400),
    ] {
        let request = format!("{line}\r\nHost: {host}\r\nConnection: close\r\n{more}\r\n");
        let answer = demo.raw(request.as_bytes());
        assert_eq!(answer.status, status, "{line:.80} {more:.60}: {answer:?}");
    }
    assert!(demo.terminate().success());
}

#[test]
fn no_request_hides_behind_the_length_of_another() {
    let place = Place::new();
    let demo = place.demo("data");
    let hidden = format!("GET /health HTTP/1.1\r\nHost: {}\r\n\r\n", demo.address);
    let length = hidden.len() + 5;
    for lengths in [
        // The longer one would swallow the second request, the other would answer it.
        format!("Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n"),
        format!("Transfer-Encoding: chunked\r\nContent-Length: {length}\r\n"),
        format!("Content-Length: 5\r\nContent-Length: {length}\r\n"),
        format!("Content-Length: 5, {length}\r\n"),
        "Content-Length: +5\r\n".to_owned(),
        "Content-Length: 0x5\r\n".to_owned(),
        "Content-Length: -1\r\n".to_owned(),
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n".to_owned(),
        "Transfer-Encoding: chunked, identity\r\n".to_owned(),
        "Transfer-Encoding: xchunked\r\n".to_owned(),
        "Transfer-Encoding : chunked\r\n".to_owned(),
        "Transfer-Encoding: \x0bchunked\r\n".to_owned(),
    ] {
        let kind = "Content-Type: application/json\r\n";
        let start = format!("POST /api/session HTTP/1.1\r\nHost: {}\r\n{kind}", demo.address);
        let mut stream = demo.connect();
        // The server may close before all of it is sent.
        let _ = stream.write_all(format!("{start}{lengths}\r\n0\r\n\r\n{hidden}").as_bytes());
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let answer = Answer::parse(&bytes);
        assert_eq!((answer.status, answers(&bytes)), (400, 1), "{lengths:?}: {answer:?}");
    }
    // Two requests that hide nothing are answered one after the other: it is not the count.
    let mut stream = demo.connect();
    let last = hidden.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    stream.write_all(format!("{hidden}{last}").as_bytes()).expect("sent");
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("read");
    assert_eq!(answers(&bytes), 2);
    assert!(demo.terminate().success());
}

#[test]
fn nothing_that_is_sent_becomes_a_header() {
    let place = Place::new();
    let demo = place.demo("data");
    let own = origin(&demo);
    let attack = "%0d%0aSet-Cookie:%20ostrakon=mine%0d%0aX-Evil:%20yes";
    let ids = [("X-Request-Id", "a\" b"), ("X-Request-Id", "<script>"), ("Origin", "http://e\" x")];
    let mut seen = vec![
        demo.send("GET", &format!("/?lang=zh{attack}"), &[], ""),
        demo.send("GET", &format!("/search?q=devnet{attack}"), &[], ""),
        demo.send("GET", &format!("/api/chains?limit=1&cursor={attack}"), &[], ""),
        demo.send("GET", &format!("/api/projects?x={attack}"), &[], ""),
        demo.send(
            "POST",
            "/login",
            &[FORM, ("Origin", &own)],
            &format!("name=a{attack}&password=b"),
        ),
    ];
    seen.extend(ids.map(|header| demo.send("GET", "/api/chains", &[header], "")));
    for answer in seen {
        assert_ne!(answer.status, 0, "{answer:?}");
        assert_eq!((answer.header("x-evil"), answer.cookie()), (None, None), "{answer:?}");
        let id = answer.header("x-request-id").expect("an id");
        assert!(id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
    }
    // Nor does a search lead away from here.
    for away in ["//evil.example", "https://evil.example", "/\\evil.example"] {
        let answer = demo.send("GET", &format!("/search?q={away}"), &[], "");
        assert_eq!((answer.status, answer.header("location")), (200, None), "{away}: {answer:?}");
    }
    assert!(demo.terminate().success());
}

#[test]
fn a_key_stands_in_an_address_only_to_read() {
    let place = Place::new();
    let demo = place.demo("data");
    let operator = Person::logs_in(&demo, "demo", &demo.password());
    let (_, key) = operator.makes_project(&demo, "first");
    assert_eq!(demo.send("GET", &format!("/api/chains?key={key}"), &[], "").status, 200);
    for (method, path) in [("POST", "/api/projects"), ("DELETE", "/api/session"), ("PUT", "/x")] {
        for name in ["key", "%6bey"] {
            let answer = demo.send(method, &format!("{path}?{name}={key}"), &[], "{}");
            assert_eq!((answer.status, &*answer.code()), (400, "key-in-url"), "{answer:?}");
        }
    }
    // Two credentials: which one counts would be a guess.
    let headers = [("Cookie", &*operator.cookie)];
    let answer = demo.send("GET", &format!("/api/chains?key={key}"), &headers, "");
    assert_eq!(answer.code(), "ambiguous-credentials");
    assert!(demo.terminate().success());
}

#[test]
fn what_a_stranger_says_about_his_address_is_not_believed() {
    let place = Place::new();
    let demo = place.demo("data");
    // One caller has 32 streams. Were these believed, each would be another caller.
    let open = |number: usize| {
        let mut stream = demo.connect();
        let claims = format!(
            "X-Forwarded-For: 10.0.0.{number}\r\nX-Real-IP: 10.0.0.{number}\r\n\
             Forwarded: for=10.0.0.{number}\r\n"
        );
        let host = &demo.address;
        let request = format!("GET /api/events HTTP/1.1\r\nHost: {host}\r\n{claims}\r\n");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut bytes = [0; 4096];
        let count = stream.read(&mut bytes).expect("an answer");
        (Answer::parse(&bytes[..count]).status, stream)
    };
    let streams: Vec<_> = (0..33).map(open).collect();
    let statuses: Vec<u16> = streams.iter().map(|(status, _)| *status).collect();
    assert_eq!(statuses[..32], [200; 32]);
    assert_eq!(statuses[32], 503);
    drop(streams);
    assert!(demo.terminate().success());
}
