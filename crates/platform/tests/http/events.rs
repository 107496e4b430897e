//! Event streams: resumed without a gap, bounded in memory, and ended with a reason.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use platform::http::events::{Batch, Event, Feed, Filter};
use platform::http::{Built, Problem, Promise, Settings, Shell, StreamLimits};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::sync::{broadcast, watch};

use crate::common::{get_of, serve};

/// A feed in memory.
pub(crate) struct Ring {
    kept: Mutex<Vec<Arc<Event>>>,
    removed: u64,
    live: broadcast::Sender<Arc<Event>>,
}

impl Ring {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { kept: Mutex::default(), removed: 0, live: broadcast::channel(capacity).0 }
    }

    fn add(&self, kind: &str, chain: &str, data: Value) {
        let mut kept = self.kept.lock().expect("not poisoned");
        let id = self.removed + kept.len() as u64 + 1;
        let event = Arc::new(Event::new(id, kind, Some(chain.to_owned()), data));
        kept.push(event.clone());
        let _ = self.live.send(event);
    }
}

impl Feed for Ring {
    fn read_after<'a>(
        &'a self,
        after: u64,
        filter: &'a Filter,
        limit: usize,
    ) -> Promise<'a, Result<Batch, Problem>> {
        Box::pin(async move {
            let kept = self.kept.lock().expect("not poisoned");
            let behind: Vec<_> = kept.iter().filter(|event| event.id() > after).collect();
            let looked = behind.iter().take(limit);
            let upto = looked.clone().next_back().map_or(after, |event| event.id());
            let events = looked.filter(|event| filter.passes(event)).map(|event| (*event).clone());
            Ok(Batch { events: events.collect(), upto, end: behind.len() <= limit })
        })
    }

    fn live(&self) -> broadcast::Receiver<Arc<Event>> {
        self.live.subscribe()
    }

    fn oldest(&self) -> Promise<'_, Result<u64, Problem>> {
        Box::pin(async { Ok(self.removed + 1) })
    }

    fn newest(&self) -> Promise<'_, Result<u64, Problem>> {
        let kept = self.kept.lock().expect("not poisoned").len() as u64;
        Box::pin(async move { Ok(self.removed + kept) })
    }
}

fn built(ring: &Arc<Ring>, streams: StreamLimits) -> (Built, watch::Sender<bool>) {
    let (stop, stopped) = watch::channel(false);
    let settings = Settings { streams, ..Settings::default() };
    (Shell::new(settings).feed(ring.clone()).stop(stopped).finish(), stop)
}

fn many() -> StreamLimits {
    StreamLimits { total: 10_000, per_caller: 10_000, heartbeat: Duration::from_secs(600) }
}

/// A client of a stream.
struct Client {
    lines: BufReader<TcpStream>,
}

/// What a client reads: number, name, data.
#[derive(Debug, Default, PartialEq)]
struct Heard {
    id: u64,
    name: String,
    data: Value,
}

impl Client {
    async fn open(address: SocketAddr, query: &str, last: Option<u64>) -> Self {
        let stream = TcpStream::connect(address).await.expect("connected");
        let mut lines = BufReader::with_capacity(4096, stream);
        let last = last.map_or_else(String::new, |last| format!("Last-Event-ID: {last}\r\n"));
        let head = format!(
            "GET /api/events{query} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{last}\r\n"
        );
        lines.get_mut().write_all(head.as_bytes()).await.expect("sent");
        let mut client = Self { lines };
        let status = client.line().await.expect("a status");
        assert!(status.starts_with("HTTP/1.1 200"), "{status}");
        while client.line().await.is_some_and(|line| !line.is_empty()) {}
        client
    }

    async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.lines.read_line(&mut line).await {
            Ok(1..) => Some(line.trim_end().to_owned()),
            _ => None,
        }
    }

    /// The next event, or nothing at the end. The sizes of chunks stand on lines of their own and
    /// have no colon.
    async fn next(&mut self) -> Option<Heard> {
        let mut heard = Heard::default();
        loop {
            let line = self.line().await?;
            if let Some(id) = line.strip_prefix("id: ") {
                heard.id = id.parse().expect("a number");
            } else if let Some(name) = line.strip_prefix("event: ") {
                heard.name = name.to_owned();
            } else if let Some(data) = line.strip_prefix("data: ") {
                heard.data = serde_json::from_str(data).expect("JSON");
                return Some(heard);
            }
        }
    }

    async fn ids(&mut self, count: usize) -> Vec<u64> {
        let mut ids = Vec::new();
        while ids.len() < count {
            ids.push(self.next().await.expect("an event").id);
        }
        ids
    }
}

#[tokio::test]
async fn a_stream_begins_in_the_past_and_goes_on_live() {
    let ring = Arc::new(Ring::new(1024));
    for number in 0..300 {
        ring.add("block.published", if number % 2 == 0 { "btc" } else { "cfx" }, json!(number));
    }
    let (built, _stop) = built(&ring, many());
    let address = serve(built.router, Duration::from_secs(60)).await;
    let mut all = Client::open(address, "?after=0", None).await;
    assert_eq!(all.ids(300).await, (1..=300).collect::<Vec<_>>());
    let mut some = Client::open(address, "?after=7&kind=block&chain=btc", None).await;
    assert_eq!(some.ids(3).await, [9, 11, 13]);
    let mut header = Client::open(address, "?after=7", Some(299)).await;
    assert_eq!(header.next().await.expect("an event").id, 300, "the header counts more");
    let mut now = Client::open(address, "?kind=tx", None).await;
    while built.streams.open() < 4 {
        tokio::task::yield_now().await;
    }
    ring.add("block.published", "btc", json!(301));
    ring.add("tx.seen", "btc", json!({ "a": 1 }));
    assert_eq!(all.ids(2).await, [301, 302]);
    let heard = now.next().await.expect("an event");
    let body = json!({ "id": 302, "kind": "tx.seen", "chain": "btc", "data": { "a": 1 } });
    assert_eq!((heard.id, heard.data), (302, body));
}

#[tokio::test]
async fn silence_is_broken_by_signs_of_life_that_carry_the_number() {
    let ring = Arc::new(Ring::new(16));
    ring.add("a", "btc", Value::Null);
    let limits = StreamLimits { heartbeat: Duration::from_millis(20), ..many() };
    let (built, _stop) = built(&ring, limits);
    let address = serve(built.router, Duration::from_secs(60)).await;
    let mut client = Client::open(address, "", None).await;
    while client.line().await.expect("a line") != ": alive" {}
    assert_eq!(client.line().await.as_deref(), Some("id: 1"));
}

#[tokio::test]
async fn events_that_are_gone_are_said_to_be_gone() {
    let ring = Arc::new(Ring { removed: 100, ..Ring::new(16) });
    ring.add("a", "btc", Value::Null);
    let (built, _stop) = built(&ring, many());
    let answer = get_of(&built.router, "/api/events?after=50").await;
    let problem = answer.problem(410, "events-gone");
    assert!(problem["detail"].as_str().expect("text").contains("101"), "{problem}");
    get_of(&built.router, "/api/events?after=x").await.problem(400, "bad-query");
    assert_eq!(built.streams.open(), 0, "a refused stream takes no place");
}

#[tokio::test]
async fn streams_are_limited_and_places_are_given_back() {
    let ring = Arc::new(Ring::new(16));
    let (built, _stop) = built(&ring, StreamLimits { per_caller: 2, ..many() });
    let address = serve(built.router.clone(), Duration::from_secs(60)).await;
    let first = Client::open(address, "", None).await;
    let _second = Client::open(address, "", None).await;
    let head = "GET /api/events HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let refused = crate::common::send(address, head).await;
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    assert!(refused.contains("too-many-streams") && refused.contains("Close one"), "{refused}");
    drop(first);
    while built.streams.open() > 1 {
        ring.add("a", "btc", Value::Null);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Client::open(address, "", None).await;
}

#[tokio::test]
async fn streams_end_with_the_server() {
    let ring = Arc::new(Ring::new(16));
    let (built, stop) = built(&ring, many());
    let address = serve(built.router, Duration::from_secs(60)).await;
    let mut client = Client::open(address, "", None).await;
    stop.send(true).expect("it runs");
    let last = client.next().await.expect("a farewell");
    assert_eq!(last.name, "closing");
    assert_eq!(client.next().await, None);
}

/// Small events, which everybody reads.
const ROUNDS: u64 = 40;
/// Large events, more than the sockets and the ring can hold together.
const LARGE: u64 = 1500;

/// Many clients follow while one does not read. Nothing is held for it but what lies in its socket;
/// it is told why it ends, and it misses nothing when it comes back.
#[tokio::test(flavor = "multi_thread")]
async fn many_clients_are_served_in_bounded_memory_and_a_slow_one_misses_nothing() {
    let clients = if std::env::var_os("OSTRAKON_FULL").is_some() { 5_000 } else { 200 };
    let ring = Arc::new(Ring::new(256));
    let (built, _stop) = built(&ring, many());
    let address = serve(built.router, Duration::from_secs(600)).await;
    let mut slow = Client::open(address, "", None).await;
    let mut reading = Vec::new();
    for _ in 0..clients {
        let mut client = Client::open(address, "", None).await;
        reading.push(tokio::spawn(async move { client.ids(ROUNDS as usize).await }));
    }
    // Small ones for those who read, while the slow one reads none of them.
    for number in 0..ROUNDS {
        ring.add("block.published", "btc", json!(number));
        tokio::task::yield_now().await;
    }
    let expected: Vec<u64> = (1..=ROUNDS).collect();
    for client in reading {
        assert_eq!(client.await.expect("read"), expected, "in order, without a gap");
    }
    let held = built.streams.most_buffered();
    assert!(held <= (clients + 1) * 64, "{held} events were held for {clients} clients");

    // One that reads keeps the pace, so that the slow one is stopped by its socket.
    let mut quick = Client::open(address, "", None).await;
    let large = "x".repeat(16 * 1024);
    for number in 0..LARGE {
        ring.add("block.published", "btc", json!(large));
        assert_eq!(quick.next().await.expect("an event").id, ROUNDS + number + 1);
    }
    let mut seen = 0;
    let dropped = loop {
        let heard = slow.next().await.expect("it is told why it ends");
        if !heard.name.is_empty() {
            break heard;
        }
        assert_eq!(heard.id, seen + 1, "no gap");
        seen = heard.id;
    };
    assert_eq!((dropped.name.as_str(), dropped.id), ("dropped", seen));
    assert!(seen < ROUNDS + LARGE, "it has not read everything");
    assert!(dropped.data["reason"].as_str().expect("text").contains("slowly"), "{dropped:?}");
    assert_eq!(slow.next().await, None, "the stream ends");
    // Readers that have gone may be found behind before their sockets are found closed.
    assert!(built.streams.dropped() >= 1);

    let mut again = Client::open(address, "", Some(seen)).await;
    let rest = again.ids((ROUNDS + LARGE - seen) as usize).await;
    assert_eq!(rest, (seen + 1..=ROUNDS + LARGE).collect::<Vec<_>>(), "without a gap");
}
