//! Event streams of a real server: thousands of clients, a slow one, and too many of one caller.

mod common;

use std::net::SocketAddr;
use std::time::Duration;

use common::{Place, Server};
use platform::events::{Events, EventsSettings, NewEvent};
use serde_json::json;
use store::Store;
use store_remote::{RemoteEngine, RemoteOptions};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

/// The number of the issue.
const CLIENTS: u32 = 5_000;
/// Connections that are made at a time: more would overflow the queue of the listener.
const AT_A_TIME: u32 = 500;
/// What a client may cost the server, buffers of its connection included.
const CLIENT_BYTES: u64 = 40 * 1024;
const PATIENCE: Duration = Duration::from_secs(240);

/// A server that believes what its proxy says, which is this test.
fn server(place: &Place) -> Server {
    let proxies = "\n[http]\ntrusted_proxies = [\"127.0.0.1\"]\n";
    place.write("o.toml", format!("[store]\ndirectory = \"data\"\n{proxies}"));
    place.run("schema apply --config o.toml").ok();
    place.serve("run --only web --config o.toml")
}

/// The event stream, through the socket of the process that holds the store.
async fn events(place: &Place) -> Events {
    let socket = place.path("data/store.sock");
    let engine = RemoteEngine::open(RemoteOptions { socket, patience: PATIENCE }).await;
    let store = Store::new(engine.expect("reached"), 0);
    Events::new(store, platform::Clock::system(), EventsSettings::default())
}

async fn append(events: &Events, count: usize, bytes: usize) {
    let event = |number: usize| NewEvent {
        kind: "test.event".into(),
        chain: None,
        data: json!({ "number": number, "filling": "x".repeat(bytes) }),
    };
    let op = index::new_op().expect("random");
    events.append((0..count).map(event).collect(), op).await.expect("appended");
}

/// A client of a stream.
struct Client {
    reader: BufReader<TcpStream>,
    /// The last number that was heard.
    last: u64,
}

/// What a client heard.
#[derive(Debug, PartialEq, Eq)]
enum Heard {
    Event(u64),
    Named(String),
    End,
}

impl Client {
    /// Opens a stream for a caller; the status and the head when it is refused.
    async fn open(
        address: SocketAddr,
        caller: u32,
        more: &str,
        buffer: Option<u32>,
    ) -> Result<Self, String> {
        let socket = TcpSocket::new_v4().expect("a socket");
        if let Some(bytes) = buffer {
            socket.set_recv_buffer_size(bytes).expect("set");
        }
        let mut stream = socket.connect(address).await.expect("it listens");
        let [_, a, b, c] = caller.to_be_bytes();
        let request = format!(
            "GET /api/events HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 10.{a}.{b}.{c}\r\n{more}\r\n"
        );
        stream.write_all(request.as_bytes()).await.expect("sent");
        let mut reader = BufReader::with_capacity(1024, stream);
        let (mut head, mut line) = (String::new(), String::new());
        while reader.read_line(&mut line).await.expect("a head") > 2 {
            head.push_str(&std::mem::take(&mut line));
        }
        if !head.starts_with("HTTP/1.1 200") {
            return Err(head);
        }
        let mut client = Self { reader, last: 0 };
        client.hello().await;
        Ok(client)
    }

    /// The first lines say where the stream begins.
    async fn hello(&mut self) {
        loop {
            let line = self.line().await.expect("the stream is open");
            if let Some(id) = line.strip_prefix("id: ") {
                self.last = id.parse().expect("a number");
                return;
            }
        }
    }

    async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.reader.read_line(&mut line).await {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(line.trim_end().to_owned()),
        }
    }

    /// The next event, or how the stream ends. Numbers must follow each other.
    async fn next(&mut self) -> Heard {
        let mut id = None;
        while let Some(line) = self.line().await {
            if let Some(name) = line.strip_prefix("event: ") {
                return Heard::Named(name.to_owned());
            }
            if let Some(text) = line.strip_prefix("id: ") {
                id = Some(text.parse::<u64>().expect("a number"));
            }
            // A number without data is a sign of life.
            if line.starts_with("data: ") {
                let id = id.take().expect("an event has a number");
                assert_eq!(id, self.last + 1, "a gap or a repetition");
                self.last = id;
                return Heard::Event(id);
            }
        }
        Heard::End
    }

    /// Reads up to an event.
    async fn up_to(&mut self, id: u64) {
        while self.last < id {
            let heard = self.next().await;
            assert!(matches!(heard, Heard::Event(_)), "{heard:?} after {}", self.last);
        }
    }
}

/// Bytes of memory that a process holds.
fn resident(server: &Server) -> u64 {
    let status = format!("/proc/{}/status", server.id());
    let status = std::fs::read_to_string(status).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
    1024 * line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number")
}

fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    setrlimit(Resource::Nofile, raised).expect("raised");
}

#[tokio::test(flavor = "multi_thread")]
async fn five_thousand_clients_hear_everything_in_order_within_bounded_memory() {
    raise_file_limit();
    let place = Place::new();
    let server = server(&place);
    let address: SocketAddr = server.address.parse().expect("an address");
    let events = events(&place).await;
    append(&events, 1, 0).await;
    let idle = resident(&server);
    let mut clients = Vec::new();
    for first in (0..CLIENTS).step_by(AT_A_TIME as usize) {
        let mut opening = JoinSet::new();
        for caller in first..(first + AT_A_TIME).min(CLIENTS) {
            opening.spawn(Client::open(address, caller, "", None));
        }
        clients.extend(opening.join_all().await.into_iter().map(|it| it.expect("opened")));
    }
    let connected = resident(&server);
    let newest = events.span().await.expect("read").expect("some").1;
    let rounds = parts::pick(10, 100);
    let listening = tokio::spawn(async move {
        let mut listening = JoinSet::new();
        for mut client in clients {
            let last = newest + 5 * rounds;
            listening.spawn(async move {
                client.up_to(last).await;
                client
            });
        }
        listening.join_all().await
    });
    for _ in 0..rounds {
        append(&events, 5, 100).await;
    }
    let heard = tokio::time::timeout(PATIENCE, listening).await.expect("in time").expect("no gap");
    let busy = resident(&server);
    let each = |bytes: u64| bytes.saturating_sub(idle) / u64::from(CLIENTS);
    println!(
        "{} clients heard {} events each; a client costs {} bytes idle, {} after them",
        heard.len(),
        5 * rounds,
        each(connected),
        each(busy)
    );
    assert_eq!(heard.len(), CLIENTS as usize);
    assert!(each(busy) < CLIENT_BYTES, "{} bytes a client", each(busy));
    drop(heard);
    assert!(server.terminate().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_client_is_dropped_with_a_reason_and_resumes_without_a_gap() {
    let place = Place::new();
    let server = server(&place);
    let address: SocketAddr = server.address.parse().expect("an address");
    let events = events(&place).await;
    append(&events, 1, 0).await;
    let mut slow = Client::open(address, 1, "", Some(4096)).await.expect("opened");
    let mut quick = Client::open(address, 2, "", None).await.expect("opened");
    let (reader, until) = (slow.last, slow.last + 256 * 40);
    let reading = tokio::spawn(async move { quick.up_to(until).await });
    // More than the ring and the system's buffers hold together, in few appends: after 30 seconds
    // without reading a connection is ended, and then nobody can be told why.
    for _ in 0..40 {
        append(&events, 256, 1_300).await;
    }
    tokio::time::timeout(PATIENCE, reading).await.expect("in time").expect("no gap");
    let ended = loop {
        match slow.next().await {
            Heard::Event(_) => {}
            ended => break ended,
        }
    };
    println!("the slow one heard {} of 10240 events, then {ended:?}", slow.last - reader);
    assert_eq!(ended, Heard::Named("dropped".into()), "it is told why");
    assert!(slow.last < until, "it was slow");
    let resume = format!("Last-Event-ID: {}\r\n", slow.last);
    let mut back = Client::open(address, 1, &resume, None).await.expect("opened");
    assert_eq!(back.last, slow.last, "it goes on where it stopped");
    tokio::time::timeout(PATIENCE, back.up_to(until)).await.expect("in time");
    assert!(server.terminate().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_caller_has_a_limit_and_numbers_of_another_stream_are_refused() {
    let place = Place::new();
    let server = server(&place);
    let address: SocketAddr = server.address.parse().expect("an address");
    let mut streams = Vec::new();
    for _ in 0..32 {
        streams.push(Client::open(address, 7, "", None).await.expect("opened"));
    }
    let refused = Client::open(address, 7, "", None).await.err().expect("refused");
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    assert!(refused.to_lowercase().contains("retry-after: "), "{refused}");
    let ahead = Client::open(address, 8, "Last-Event-ID: 99\r\n", None).await.err();
    assert!(ahead.expect("refused").starts_with("HTTP/1.1 400"), "it never was");
    streams.pop();
    // The place is free as soon as the server has seen that its client is gone.
    let begun = std::time::Instant::now();
    while Client::open(address, 7, "", None).await.is_err() {
        assert!(begun.elapsed() < PATIENCE, "the place stays taken");
        append(&events(&place).await, 1, 0).await;
    }
    let mut rest = String::new();
    let mut stream = streams.pop().expect("one").reader;
    assert!(server.terminate().success());
    stream.read_to_string(&mut rest).await.expect("the rest");
    assert!(rest.contains("event: closing"), "the server says goodbye: {rest}");
}
