//! Both clients against small servers on this machine, and a resolver that says what it is told.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use store::Task;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::clients::connector;
use super::exchange::Resolve;
use super::{NodeClient, WebhookClient};
use crate::chains::Ask as _;
use crate::webhooks::{Delivery, Post as _};

/// The certificate of hook.test, from 2020 to 2120, signed by itself.
const CERTIFICATE: &[u8] = b"-----BEGIN CERTIFICATE-----
MIIBXjCCAQSgAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlob29rLnRl
c3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQBgNVBAMM
CWhvb2sudGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABGKWC5rZUaOT9AbS
FEP8nVbie4dGZYdB28Cw1ews3T0/6+3msZ5GS+xgkzzzQ2G0EEl3z7yaqfQjLNmh
9v3T0KKjRTBDMBQGA1UdEQQNMAuCCWhvb2sudGVzdDAMBgNVHRMBAf8EAjAAMB0G
A1UdDgQWBBTE4GGdvPuJdgOtpkH0xZ/DEZTkljAKBggqhkjOPQQDAgNIADBFAiEA
l43J331yaVulaTgZkOBl0oO50SpGGrJo5n4+W7nEdd4CICZrP11lc71d8xtJZMkj
LDBL5WGXFiSEJO1hwYF6ORZW
-----END CERTIFICATE-----";
/// Its key, made for these tests and known to everybody.
const KEY: &[u8] = b"-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgkBzDlczjqUx2X+t+
3iWYucVDzZrtHgXqfUzwE1r04oWhRANCAARilgua2VGjk/QG0hRD/J1W4nuHRmWH
QdvAsNXsLN09P+vt5rGeRkvsYJM880NhtBBJd8+8mqn0IyzZofb909Ci
-----END PRIVATE KEY-----";

/// How a server answers once it has read a request.
#[derive(Clone)]
enum Manner {
    /// With this, and then it closes the connection.
    Says(String),
    /// With this, and then it says nothing more.
    Hangs(String),
    /// With this, and then with more and more of the same.
    Endless(String),
}

/// A server and the requests it got.
struct Server {
    address: SocketAddr,
    got: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn start(manner: Manner, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let got = Arc::<Mutex<Vec<String>>>::default();
        let requests = got.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (manner, got, tls) = (manner.clone(), requests.clone(), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => serve(stream, manner, &got).await,
                        Some(tls) => serve(tls.accept(stream).await?, manner, &got).await,
                    }
                });
            }
        });
        Self { address, got }
    }

    async fn plain(manner: Manner) -> Self {
        Self::start(manner, None).await
    }

    fn url(&self) -> String {
        format!("http://{}/hook?a=1", self.address)
    }

    fn requests(&self) -> Vec<String> {
        self.got.lock().expect("no panic inside").clone()
    }
}

async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    manner: Manner,
    got: &Mutex<Vec<String>>,
) -> io::Result<()> {
    let (mut request, mut buffer) = (Vec::new(), [0; 1024]);
    // All bodies of these tests are objects, and a head has no brace.
    while !request.ends_with(b"}") {
        let count = stream.read(&mut buffer).await?;
        if count == 0 {
            return Ok(());
        }
        request.extend_from_slice(&buffer[..count]);
    }
    got.lock().expect("no panic inside").push(String::from_utf8_lossy(&request).into_owned());
    match manner {
        Manner::Says(text) => {
            stream.write_all(text.as_bytes()).await?;
            stream.shutdown().await
        }
        Manner::Hangs(text) => {
            stream.write_all(text.as_bytes()).await?;
            stream.flush().await?;
            std::future::pending().await
        }
        Manner::Endless(text) => {
            stream.write_all(text.as_bytes()).await?;
            loop {
                stream.write_all(&[b'x'; 4096]).await?;
            }
        }
    }
}

fn says(head: &str, body: &str) -> Manner {
    Manner::Says(format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
}

/// A resolver that knows one name, hook.test.
struct Told(Vec<SocketAddr>);

impl Resolve for Told {
    fn resolve<'a>(&'a self, host: &'a str, _: u16) -> Task<'a, io::Result<Vec<SocketAddr>>> {
        let found =
            if host == "hook.test" { Ok(self.0.clone()) } else { Err(io::Error::other("")) };
        Box::pin(std::future::ready(found))
    }
}

fn webhooks(loopback: bool) -> WebhookClient {
    WebhookClient::new(loopback).expect("a client")
}

fn nodes() -> NodeClient {
    NodeClient::new().expect("a client")
}

async fn deliver(client: &WebhookClient, url: &str) -> Result<(), String> {
    let (url, body) = (url.to_owned(), r#"{"id":7}"#.to_owned());
    let delivery = Delivery { url, body, signature: "t=1,v1=ab".into() };
    client.post(&delivery).await.map_err(|error| error.to_string())
}

async fn ask(client: &NodeClient, url: &str) -> Result<String, String> {
    client.ask(url, r#"{"id":1}"#).await.map_err(|error| error.to_string())
}

fn refused<T: std::fmt::Debug>(result: Result<T, String>, words: &[&str]) {
    let error = result.expect_err("it is refused");
    assert!(words.iter().all(|word| error.contains(word)), "{error}");
}

#[tokio::test]
async fn a_delivery_arrives_signed_and_whole() {
    let server = Server::plain(says("200 OK", "thanks")).await;
    deliver(&webhooks(true), &server.url()).await.expect("arrives");
    let requests = server.requests();
    let [request] = requests.as_slice() else { panic!("one request: {requests:?}") };
    assert!(request.starts_with("POST /hook?a=1 HTTP/1.1\r\n"), "{request}");
    let lower = request.to_ascii_lowercase();
    for header in [
        "content-type: application/json",
        "ostrakon-signature: t=1,v1=ab",
        "content-length: 8",
        &format!("host: {}", server.address),
    ] {
        assert!(lower.contains(&format!("\r\n{header}\r\n")), "{header} in {request}");
    }
    assert!(request.ends_with("\r\n\r\n{\"id\":7}"), "{request}");
}

#[tokio::test]
async fn only_200_to_299_is_a_success_and_others_say_what_to_do() {
    let client = webhooks(true);
    for good in ["200 OK", "204 No Content", "299 Odd"] {
        let server = Server::plain(Manner::Says(format!("HTTP/1.1 {good}\r\n\r\n"))).await;
        deliver(&client, &server.url()).await.expect(good);
    }
    for (head, words) in [
        ("500 Oops", ["500", "answer 200 to 299"]),
        ("404 Not Found", ["404", "path"]),
        ("403 Forbidden", ["403", "signature"]),
        ("304 Not Modified", ["304", "not followed"]),
    ] {
        let server = Server::plain(says(head, "")).await;
        refused(deliver(&client, &server.url()).await, &words);
        assert_eq!(server.requests().len(), 1, "once, and not again by itself");
    }
}

#[tokio::test]
async fn redirects_are_refused_and_nobody_goes_there() {
    let there = Server::plain(says("200 OK", "{}")).await;
    let head = format!("307 Temporary Redirect\r\nLocation: {}", there.url());
    let here = Server::plain(says(&head, "")).await;
    let words = ["307", "not followed", &there.url()];
    refused(deliver(&webhooks(true), &here.url()).await, &words);
    refused(ask(&nodes(), &here.url()).await, &words);
    assert_eq!((here.requests().len(), there.requests().len()), (2, 0));
}

#[tokio::test]
async fn an_endless_answer_is_cut() {
    let server = Server::plain(Manner::Endless("HTTP/1.1 200 OK\r\n\r\n".into())).await;
    let begun = Instant::now();
    deliver(&webhooks(true), &server.url()).await.expect("the status is what counts");
    refused(ask(&nodes(), &server.url()).await, &["longer than 1048576 bytes"]);
    let head = Server::plain(Manner::Endless("HTTP/1.1 200 OK\r\nX: ".into())).await;
    refused(deliver(&webhooks(true), &head.url()).await, &["did not answer in HTTP"]);
    assert!(begun.elapsed() < Duration::from_secs(5), "nobody waited for the end");
}

#[tokio::test]
async fn a_slow_answer_is_given_up() {
    let (mut webhooks, mut nodes) = (webhooks(true), nodes());
    webhooks.sender.time = Duration::from_millis(300);
    nodes.sender.time = Duration::from_millis(300);
    let silent = Server::plain(Manner::Hangs(String::new())).await;
    refused(deliver(&webhooks, &silent.url()).await, &["no answer within 300 ms"]);
    refused(ask(&nodes, &silent.url()).await, &["no answer within 300 ms"]);
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc";
    let slow = Server::plain(Manner::Hangs(head.into())).await;
    deliver(&webhooks, &slow.url()).await.expect("the status is what counts");
    refused(ask(&nodes, &slow.url()).await, &["longer than 300 ms"]);
}

#[tokio::test]
async fn literal_addresses_that_are_not_public_are_refused() {
    for loopback in [false, true] {
        let client = webhooks(loopback);
        for host in [
            "10.0.0.1",
            "100.64.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "192.168.0.1",
            "192.0.2.1",
            "224.0.0.1",
            "0.0.0.0",
            "[::ffff:10.0.0.1]",
            "[::ffff:192.168.0.1]",
            "[fd00::1]",
            "[fe80::1]",
            "[ff02::1]",
            "[::]",
        ] {
            refused(deliver(&client, &format!("https://{host}/")).await, &["not an address of"]);
        }
    }
    let server = Server::plain(says("200 OK", "")).await;
    let strict = webhooks(false);
    refused(deliver(&strict, &server.url()).await, &["127.0.0.1", "not an address of"]);
    for host in ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]"] {
        refused(deliver(&strict, &format!("https://{host}/")).await, &["not an address of"]);
    }
    assert!(server.requests().is_empty());
    refused(deliver(&webhooks(true), "http://example.org/").await, &["https://"]);
}

#[tokio::test]
async fn a_name_that_leads_to_a_private_address_is_refused() {
    let server = Server::plain(says("200 OK", "{}")).await;
    let port = server.address.port();
    let private: Vec<SocketAddr> = ["10.0.0.1:443", "[::ffff:169.254.169.254]:443"]
        .map(|text| text.parse().expect("an address"))
        .into();
    let mut client = webhooks(true);
    client.sender.resolver = Arc::new(Told(private.clone()));
    let words = ["hook.test", "10.0.0.1", "not an address of"];
    refused(deliver(&client, "https://hook.test/").await, &words);
    refused(deliver(&client, "https://elsewhere.test/").await, &["leads to no address"]);
    // Where some of the addresses may be reached, these are; here by the node's client, whose
    // requests go out without encryption, with the reach of the other.
    let mut mixed = nodes();
    mixed.sender.reach = client.sender.reach;
    let both = private.into_iter().chain([server.address]).collect();
    mixed.sender.resolver = Arc::new(Told(both));
    let url = format!("http://hook.test:{port}/");
    assert_eq!(ask(&mixed, &url).await.as_deref(), Ok("{}"));
    assert!(server.requests()[0].contains(&format!("hook.test:{port}\r\n")), "by its name");
}

#[tokio::test]
async fn encryption_checks_who_is_there() {
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE).expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(KEY).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .expect("they fit");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let server = Server::start(says("200 OK", ""), Some(acceptor)).await;
    let port = server.address.port();
    let mut client = webhooks(true);
    client.sender.resolver = Arc::new(Told(vec![server.address]));
    let url = format!("https://hook.test:{port}/hook");
    refused(deliver(&client, &url).await, &["no encrypted connection", "certificate"]);
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).expect("a certificate");
    client.sender.tls = connector(roots).expect("a connector");
    deliver(&client, &url).await.expect("trusted");
    let other = format!("https://127.0.0.1:{port}/hook");
    refused(deliver(&client, &other).await, &["certificate"]);
    assert_eq!(server.requests().len(), 1, "nothing was said to a stranger");
    let plain = Server::plain(says("200 OK", "")).await;
    let url = format!("https://127.0.0.1:{}/", plain.address.port());
    client.sender.time = Duration::from_millis(500);
    assert!(deliver(&client, &url).await.is_err(), "no encryption there");
}

#[tokio::test]
async fn errors_of_nodes_are_passed_on_and_pages_are_not() {
    let client = nodes();
    let json = r#"{"result":null,"error":{"code":-32601,"message":"Method not found"},"id":1}"#;
    for status in ["200 OK", "500 Internal Server Error", "404 Not Found"] {
        let server = Server::plain(says(status, json)).await;
        assert_eq!(ask(&client, &server.url()).await.as_deref(), Ok(json), "{status}");
    }
    for (status, word) in [
        ("401 Unauthorized", "let this machine in"),
        ("404 Not Found", "path"),
        ("429 Too Many Requests", "too often"),
        ("502 Bad Gateway", "502"),
    ] {
        let server = Server::plain(says(status, "<html>")).await;
        refused(ask(&client, &server.url()).await, &[word]);
    }
    let cut = "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{";
    let server = Server::plain(Manner::Says(cut.into())).await;
    refused(ask(&client, &server.url()).await, &["broke off"]);
    let server = Server::plain(Manner::Says("SSH-2.0-OpenSSH\r\n".into())).await;
    refused(ask(&client, &server.url()).await, &["did not answer in HTTP"]);
    let free = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/", free.local_addr().expect("an address"));
    drop(free);
    refused(ask(&client, &url).await, &["connection refused", "see whether it runs"]);
    refused(ask(&client, "ftp://127.0.0.1/").await, &["must begin with"]);
}
