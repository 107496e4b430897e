//! Keys of a chain that fills several buckets: ranges across their edges, and what they read.

#[path = "paper/client.rs"]
mod client;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use client::{Client, words};
use scan::ingest::{Batch, publish};
use scan::keys::PaperKeys;
use scan::{Address, BlockInput, EpochInput, Fields, Hash, Memory, TransactionInput};
use store::{
    Commit, CommitError, Committed, Engine, Found, ModelEngine, Page, PutError, RangeRequest, Read,
    ReadError, Row, RowKey, Store, TableDef, Task,
};
use timeline::{Settings, Timeline, Watch, Writer, WriterId};

/// More than one bucket of 4096.
const BLOCKS: u64 = 5_000;
/// The first epoch of a branch.
const FORK: u64 = 5;
/// Rows that a range of ten may read beside them: attempts at one place, and the ends of lists.
const MOST_ROWS: u64 = 400;

/// Counts the rows that are read.
#[derive(Default)]
struct Counting {
    engine: ModelEngine,
    rows: AtomicU64,
}

impl Engine for Counting {
    fn get<'a>(
        &'a self,
        table: &'static TableDef,
        keys: &'a [RowKey],
        read: Read,
    ) -> Task<'a, Result<Vec<Found>, ReadError>> {
        self.rows.fetch_add(keys.len() as u64, Ordering::Relaxed);
        self.engine.get(table, keys, read)
    }

    fn range<'a>(&'a self, request: &'a RangeRequest) -> Task<'a, Result<Page, ReadError>> {
        Box::pin(async move {
            let page = self.engine.range(request).await?;
            self.rows.fetch_add(page.rows.len() as u64 + 1, Ordering::Relaxed);
            Ok(page)
        })
    }

    fn put(&self, rows: Vec<Row>) -> Task<'_, Result<(), PutError>> {
        self.engine.put(rows)
    }

    fn commit(&self, commit: Commit) -> Task<'_, Result<Committed, CommitError>> {
        self.engine.commit(commit)
    }
}

const SENDER: Address = Address([0x11; 20]);
const MINER: Address = Address([0x22; 20]);

fn hash(kind: u8, number: u64) -> Hash {
    let mut bytes = [kind; 32];
    bytes[24..].copy_from_slice(&number.to_be_bytes());
    Hash(bytes)
}

/// An epoch of one block, which packs one transaction of the one account. Those of a branch have
/// hashes of their own.
fn epoch(number: u64, branch: u8) -> EpochInput {
    let fields = [("from".to_owned(), SENDER.to_string().into())].into_iter().collect();
    let transaction = TransactionInput {
        hash: hash(2 + branch, number),
        from: SENDER,
        to: None,
        creates: None,
        facts: Fields::new(&fields),
    };
    let block = BlockInput {
        hash: hash(1 + branch, number),
        parent: hash(if number > FORK { 1 + branch } else { 1 }, number.wrapping_sub(1)),
        miner: MINER,
        difficulty: 10_u128.pow(21),
        timestamp: number,
        facts: Fields::default(),
        transactions: vec![transaction],
    };
    EpochInput { number, blocks: vec![block], skipped: Vec::new() }
}

struct Chain {
    engine: Arc<Counting>,
    timeline: Timeline,
    writer: Writer,
    port: u16,
    _stop: tokio::sync::watch::Sender<bool>,
}

impl Chain {
    /// So many blocks, and a server of their keys.
    async fn new(blocks: u64) -> Self {
        let engine = Arc::new(Counting::default());
        let store = Store::new(engine.clone(), 0);
        let timeline = Timeline::new(store, "conflux".into(), Settings::default());
        let writer = timeline.lead(WriterId([1; 16]), &mut Watch::default()).await.expect("led");
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (stop, stopped) = tokio::sync::watch::channel(false);
        let keys = Arc::new(PaperKeys::new(timeline.clone(), 1000));
        tokio::spawn(resp::serve(listener, keys, resp::Options::default(), stopped));
        let writer = writer.expect("nobody else is there");
        let mut chain = Self { engine, timeline, writer, port, _stop: stop };
        for start in (0..blocks).step_by(500) {
            chain.extend(start..blocks.min(start + 500), 0).await;
        }
        chain
    }

    /// Leaves the chain below these epochs of a branch, and goes on with them.
    async fn extend(&mut self, numbers: std::ops::Range<u64>, branch: u8) {
        let epochs: Vec<_> = numbers.map(|number| epoch(number, branch)).collect();
        let batch = Batch { epochs, ..Batch::default() };
        let (timeline, writer) = (&self.timeline, &mut self.writer);
        publish(timeline, writer, &mut Memory::default(), &batch).await.expect("published");
    }

    fn rows(&self) -> u64 {
        self.engine.rows.load(Ordering::Relaxed)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ranges_cross_buckets_and_read_what_they_answer() {
    let chain = Chain::new(BLOCKS).await;
    let mut client = Client::connect(chain.port).await;
    let account = format!("transactions.by.account:{SENDER}");
    let mined = format!("blocks.by.miner:{MINER}");
    let blocks = |numbers: &mut dyn Iterator<Item = u64>| {
        numbers.map(|number| hash(1, number).to_string()).collect::<Vec<_>>()
    };
    let line = |number: u64| format!("{},create,{number:#x}", hash(2, number));
    let member = hash(1, 4500);
    let cases = [
        ("ZRANGE blocks.in.order 4091 4100".to_owned(), blocks(&mut (4091..4101))),
        ("ZREVRANGE blocks.in.order 895 904".to_owned(), blocks(&mut (4095..4105).rev())),
        ("ZRANGEBYSCORE blocks.in.order (4090 4100".to_owned(), blocks(&mut (4091..4101))),
        (
            "ZREVRANGEBYSCORE blocks.in.order +inf -inf LIMIT 900 10".to_owned(),
            blocks(&mut (4090..4100).rev()),
        ),
        (format!("ZRANGEBYSCORE {mined} 4091 (4101"), blocks(&mut (4091..4101))),
        (format!("ZRANGE {mined} -910 -901"), blocks(&mut (4090..4100))),
        ("ZRANGE latest.blocks 91 100".to_owned(), blocks(&mut (4091..4101))),
        ("LRANGE pivot.chain 4091 4100".to_owned(), blocks(&mut (4091..4101))),
        (format!("LRANGE {account} 899 908"), (4091..4101).rev().map(line).collect()),
        (format!("LRANGE {account} -5 -1"), (0..5).rev().map(line).collect()),
    ];
    let mut most = 0;
    for (request, expected) in cases {
        let before = chain.rows();
        assert_eq!(client.line(&request).await.texts(), expected, "{request}");
        let rows = chain.rows() - before;
        assert!(rows <= MOST_ROWS, "{request} read {rows} rows");
        most = most.max(rows);
    }
    let numbers = [
        (format!("ZCOUNT {mined} 100 (4100"), 4000),
        (format!("ZRANK {mined} {member}"), 4500),
        (format!("ZRANK latest.blocks {member}"), 500),
        (format!("ZRANK transactions.in.order {}", hash(2, 4500)), 4500),
        (format!("LLEN {account}"), BLOCKS),
        ("DBSIZE".to_owned(), 4 * BLOCKS + 7 + 2),
    ];
    for (request, expected) in numbers {
        let before = chain.rows();
        assert_eq!(client.line(&request).await.line, format!(":{expected}"), "{request}");
        let rows = chain.rows() - before;
        assert!(rows <= MOST_ROWS, "{request} read {rows} rows");
        most = most.max(rows);
    }
    println!("{BLOCKS} blocks; a range of ten read {most} rows at the most");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_answers_are_whole_and_a_walk_finds_every_key_once() {
    let chain = Chain::new(BLOCKS).await;
    let mut client = Client::connect(chain.port).await;
    let all = client.line(&format!("LRANGE transactions.by.account:{SENDER} 0 -1")).await;
    let line = |number: u64| format!("{},create,{number:#x}", hash(2, number));
    assert_eq!(all.texts(), (0..BLOCKS).rev().map(line).collect::<Vec<_>>());
    let all = client.line("LRANGE pivot.chain 0 -1").await;
    assert_eq!(all.items.len() as u64, BLOCKS);
    let all = client.line("ZRANGE blocks.in.order 0 -1 WITHSCORES").await;
    assert_eq!(all.items.len() as u64, 2 * BLOCKS);
    let sum = client.line("GET latest.blocks.sum.difficulties").await;
    assert_eq!(sum.bytes, b"1000000000000000000000000", "digits, however many");
    let (mut keys, mut cursor) = (Vec::new(), "0".to_owned());
    loop {
        let answer = client.ask(&words(&format!("SCAN {cursor} COUNT 777"))).await;
        cursor = answer.texts()[0].clone();
        keys.extend(answer.items[1].texts());
        if cursor == "0" {
            break;
        }
    }
    let count = keys.len() as u64;
    keys.sort_unstable();
    keys.dedup();
    assert_eq!((keys.len() as u64, count), (4 * BLOCKS + 9, 4 * BLOCKS + 9));
    let epochs = client.line("KEYS epoch:49*").await;
    assert_eq!(epochs.items.len(), 111, "49, 490 to 499, 4900 to 4999");
    let error = client.line("KEYS *").await;
    assert!(error.line.starts_with("-ERR the answer would have more than 20000"), "{error:?}");
}

/// A transaction that only popped blocks pack, an epoch nobody has any more, a miner and an account
/// that were there for a moment: none of them leaves a trace.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_only_popped_epochs_had_is_gone_from_every_key() {
    let mut chain = Chain::new(10).await;
    let mut client = Client::connect(chain.port).await;
    let (block, transaction) = (hash(1, 7), hash(2, 7));
    let cases = [
        (format!("EXISTS blocks:{block}"), ":1", ":0"),
        (format!("TYPE blocks:{block}:transactions"), "+zset", "+none"),
        (format!("ZSCORE blocks:{block}:transactions {transaction}"), "$1", "$-1"),
        (format!("EXISTS transactions:{transaction}"), ":1", ":0"),
        (format!("HLEN transactions:{transaction}"), ":4", ":0"),
        (format!("ZSCORE transactions.in.order {transaction}"), "$1", "$-1"),
        (format!("ZRANK blocks.in.order {block}"), ":7", "$-1"),
        (format!("ZSCORE latest.blocks {block}"), "$1", "$-1"),
        (format!("ZRANK blocks.by.miner:{MINER} {block}"), ":7", "$-1"),
        (format!("LLEN transactions.by.account:{SENDER}"), ":10", ":8"),
        ("LLEN pivot.chain".to_owned(), ":10", ":8"),
        ("EXISTS epoch:9".to_owned(), ":1", ":0"),
        ("GET latest.blocks.sum.transactions".to_owned(), "$2", "$1"),
        ("DBSIZE".to_owned(), ":49", ":41"),
    ];
    for (request, before, _) in &cases {
        assert_eq!(client.line(request).await.line, *before, "{request}");
    }
    // Ten epochs become eight, the last three of them others.
    chain.extend(FORK..8, 2).await;
    for (request, _, after) in &cases {
        assert_eq!(client.line(request).await.line, *after, "{request}");
    }
    let listed = client.line(&format!("LRANGE transactions.by.account:{SENDER} 0 0")).await;
    assert_eq!(listed.texts(), [format!("{},create,0x7", hash(4, 7))]);
}
