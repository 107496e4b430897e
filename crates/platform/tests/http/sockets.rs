//! Tricks that only a real connection can play.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use platform::http::Settings;

use crate::common::{built, send, serve, shell, small};

const STALL: Duration = Duration::from_secs(60);

fn head(line: &str, more: &str) -> String {
    format!("{line} HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n{more}\r\n")
}

#[tokio::test]
async fn odd_heads_are_refused() {
    let address = serve(built().router, STALL).await;
    let large = format!("X-Large: {}\r\n", "x".repeat(40_000));
    let huge = format!("X-Huge: {}\r\n", "x".repeat(1_000_000));
    for (line, more, status) in [
        ("GET /api/things/1", "", 200),
        ("GET http://a.example/api/things/1", "", 200),
        ("GET http://evil.example/api/things/1", "", 400),
        ("GET /api/things/1", "Host: evil.example\r\n", 400),
        ("GET /api/%2e%2e/things/1", "", 400),
        ("GET /api/..%2fthings", "", 400),
        ("GET /api/./things", "", 400),
        ("GET //api/things/1", "", 400),
        ("GET /api/things/1%00", "", 400),
        ("POST /api/foreign", "Content-Length: 1\r\nContent-Length: 2\r\n", 400),
        ("POST /api/foreign", "Content-Length: -1\r\n", 400),
        ("POST /api/foreign", "Content-Length: 5\r\nTransfer-Encoding: gzip\r\n", 400),
        ("GET /api/things/1", &*large, 431),
        ("GET /api/things/1", &*huge, 431),
    ] {
        let answer = send(address, &head(line, more)).await;
        let found = answer.get(9..12).unwrap_or_default();
        assert_eq!(found, status.to_string(), "{line} {:.60}: {answer:.300}", more);
    }
}

#[tokio::test]
async fn what_a_proxy_would_say_is_not_believed() {
    let told = "X-Forwarded-For: 9.9.9.9\r\nX-Real-IP: 9.9.9.9\r\nForwarded: for=9.9.9.9\r\n";
    let address = serve(built().router, STALL).await;
    let answer = send(address, &head("GET /client", told)).await;
    assert!(answer.ends_with("127.0.0.1"), "{answer}");
    let trusted_proxies = vec!["127.0.0.1".parse().expect("an address")];
    let trusting = shell(Settings { trusted_proxies, ..small() }).finish();
    let address = serve(trusting.router, STALL).await;
    let answer = send(address, &head("GET /client", told)).await;
    assert!(answer.ends_with("9.9.9.9"), "{answer}");
}

#[tokio::test]
async fn a_body_that_drips_is_ended() {
    let address = serve(built().router, STALL).await;
    for path in ["/api/foreign", "/api/things"] {
        let mut stream = TcpStream::connect(address).await.expect("connected");
        let more = "Content-Type: application/json\r\nContent-Length: 500\r\n";
        let start = format!("POST {path} HTTP/1.1\r\nHost: a.example\r\n{more}\r\n");
        stream.write_all(start.as_bytes()).await.expect("sent");
        let (mut reading, mut writing) = stream.into_split();
        let dripping = tokio::spawn(async move {
            while writing.write_all(b"x").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        let mut answer = Vec::new();
        let _ = reading.read_to_end(&mut answer).await;
        dripping.abort();
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.starts_with("HTTP/1.1 408"), "{path}: {answer}");
        assert!(answer.contains("slow-body"), "{path}: {answer}");
    }
}

#[tokio::test]
async fn an_endless_body_is_cut() {
    let address = serve(built().router, STALL).await;
    let mut stream = TcpStream::connect(address).await.expect("connected");
    let start = head("POST /api/foreign", "Transfer-Encoding: chunked\r\n");
    stream.write_all(start.as_bytes()).await.expect("sent");
    let (mut reading, mut writing) = stream.into_split();
    let sending = tokio::spawn(async move {
        let chunk = format!("400\r\n{}\r\n", "x".repeat(1024));
        while writing.write_all(chunk.as_bytes()).await.is_ok() {}
    });
    let mut answer = vec![0; 4096];
    let count = reading.read(&mut answer).await.expect("an answer");
    let answer = String::from_utf8_lossy(&answer[..count]);
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    drop(reading);
    sending.await.expect("the server closes the connection");
}

#[tokio::test]
async fn a_client_that_does_not_read_its_answer_is_ended() {
    let address = serve(built().router, Duration::from_millis(200)).await;
    let mut stream = TcpStream::connect(address).await.expect("connected");
    stream.write_all(head("GET /big", "").as_bytes()).await.expect("sent");
    tokio::time::sleep(Duration::from_millis(800)).await;
    let mut read = 0;
    let mut part = vec![0; 1 << 16];
    while let Ok(count @ 1..) = stream.read(&mut part).await {
        read += count;
    }
    assert!(read < 32 << 20, "only what lay in the buffers came: {read}");
}
