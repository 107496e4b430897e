//! The paper's keys, written out from what a node says and from nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;

use devnet::treegraph::{Graph, GraphSettings, Rpc, Step};
use scan::ingest::{Batch, publish};
use scan::keys::PaperKeys;
use scan::{Address, EpochInput, Memory, ResultsInput, message};
use serde_json::{Value, json};
use store::{ModelEngine, Store};
use timeline::{Height, Lane, Settings, Timeline, Watch, Writer, WriterId};
use tokio::sync::watch;

/// Blocks that count as the latest. Small, so that its edge lies everywhere.
pub(crate) const LATEST: usize = 7;
const NETWORK: u64 = 1234;
/// Fields of a block and a transaction that come from elsewhere: from the receipt.
const EXECUTION: [&str; 5] =
    ["transactions", "blockHash", "transactionIndex", "status", "contractCreated"];

/// What is under a key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Entry {
    Text(String),
    Hash(BTreeMap<String, String>),
    Sorted(Vec<(u64, String)>),
    List(Vec<String>),
}

/// The paper's keys.
pub(crate) type Layout = BTreeMap<String, Entry>;

/// A chain that follows a graph, and a server of its keys.
pub(crate) struct Chain {
    graph: Graph,
    timeline: Timeline,
    writer: Writer,
    memory: Memory,
    now: u64,
    /// How often the pivot chain switched, and how many epochs were popped for it.
    pub(crate) switches: u64,
    pub(crate) popped: u64,
    pub(crate) port: u16,
    _stop: watch::Sender<bool>,
}

impl Chain {
    pub(crate) async fn new(seed: u64) -> Self {
        let store = Store::new(Arc::new(ModelEngine::default()), 0);
        let timeline = Timeline::new(store, "conflux".into(), Settings::default());
        let writer = timeline.lead(WriterId([1; 16]), &mut Watch::default()).await.expect("led");
        let writer = writer.expect("nobody else is there");
        let settings = GraphSettings { seed, switches: 20, siblings: 40, ..Default::default() };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (stop, stopped) = watch::channel(false);
        let keys = PaperKeys::new(timeline.clone(), LATEST as u64);
        let options = resp::Options::default();
        tokio::spawn(resp::serve(listener, Arc::new(keys), options, stopped));
        let graph = Graph::new(settings);
        let (switches, popped) = (0, 0);
        let memory = Memory::default();
        Self { graph, timeline, writer, memory, now: 1_000, switches, popped, port, _stop: stop }
    }

    /// Grows by so many steps, and follows.
    pub(crate) async fn grow(&mut self, steps: u64) {
        for _ in 0..steps {
            self.now += 1;
            let step = self.graph.step(self.now);
            self.switches += u64::from(matches!(step, Step::Switched { .. }));
        }
        let head = self.writer.view().head(Lane::MINED).map(|head| head.height.0);
        let mut fork = head.map_or(0, |head| head.min(self.graph.latest()) + 1);
        while let Some(below) = fork.checked_sub(1) {
            let unit = self.timeline.unit_at(self.writer.view(), Lane::MINED, Height(below));
            let known = unit.await.expect("read").expect("on the chain").1.hash;
            if self.graph.pivot(below).is_some_and(|pivot| pivot.0.to_vec() == known) {
                break;
            }
            fork = below;
        }
        self.popped += head.map_or(0, |head| (head + 1).saturating_sub(fork));
        let epochs: Vec<_> = (fork..=self.graph.latest())
            .map(|number| {
                let blocks = self.epoch(number);
                let blocks = blocks.iter().map(|block| message::block(block).expect("a block"));
                EpochInput { number, blocks: blocks.collect(), skipped: Vec::new() }
            })
            .collect();
        let next = self.writer.view().head(Lane::EXECUTED).map_or(0, |head| head.height.0 + 1);
        let results = (next.min(fork)..=self.executed()).map(|number| self.results(number));
        let batch = Batch { epochs, results: results.collect(), ..Batch::default() };
        let (timeline, writer) = (&self.timeline, &mut self.writer);
        publish(timeline, writer, &mut self.memory, &batch).await.expect("published");
    }

    fn ask(&self, method: &str, params: &Value) -> Value {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let answer = Rpc::new(&self.graph, NETWORK).answer(body.to_string().as_bytes());
        answer.expect("an answer")["result"].clone()
    }

    /// The newest epoch with results.
    fn executed(&self) -> u64 {
        let number = text(&self.ask("cfx_epochNumber", &json!(["latest_state"])));
        u64::from_str_radix(&number[2..], 16).expect("a number")
    }

    fn receipts(&self, number: u64) -> Value {
        self.ask("cfx_getEpochReceipts", &json!([format!("{number:#x}")]))
    }

    fn results(&self, number: u64) -> ResultsInput {
        let hashes = self.ask("cfx_getBlocksByEpoch", &json!([format!("{number:#x}")]));
        let hashes = message::hashes(&hashes).expect("hashes");
        let blocks = message::receipts(&self.receipts(number), &hashes).expect("receipts");
        ResultsInput { number, pivot: *hashes.last().expect("a pivot"), blocks }
    }

    /// The blocks of an epoch as the node tells them. Some transactions are made to send to
    /// themselves or to create contracts, which those of the graph do not.
    fn epoch(&self, number: u64) -> Vec<Value> {
        let ask = |method: &str, params: Value| self.ask(method, &params);
        let hashes = ask("cfx_getBlocksByEpoch", json!([format!("{number:#x}")]));
        let hashes = hashes.as_array().expect("a list").clone();
        let mut blocks: Vec<_> =
            hashes.iter().map(|hash| ask("cfx_getBlockByHash", json!([hash, true]))).collect();
        for block in &mut blocks {
            for transaction in block["transactions"].as_array_mut().expect("a list") {
                let kind = transaction["hash"].as_str().expect("text").as_bytes()[2];
                match kind {
                    b'0'..=b'2' => transaction["to"] = transaction["from"].clone(),
                    b'3'..=b'4' => transaction["to"] = Value::Null,
                    _ => {}
                }
            }
        }
        blocks
    }

    /// All keys of the chain as it is now.
    pub(crate) fn layout(&self) -> Layout {
        let mut layout = Building::default();
        for number in 0..=self.graph.latest() {
            layout.push(number, &self.epoch(number));
        }
        for number in 0..=self.executed() {
            layout.execute(&self.receipts(number));
        }
        layout.finish()
    }
}

#[derive(Default)]
struct Building {
    keys: Layout,
    blocks: u64,
    transactions: u64,
    /// Difficulty and number of transactions of each block.
    sums: Vec<(u128, u64)>,
}

fn hex(number: impl Into<u128>) -> String {
    format!("{:#x}", number.into())
}

fn text(value: &Value) -> String {
    value.as_str().expect("text").to_owned()
}

/// Fields as texts; null ones and those of execution are left out, addresses are hexadecimal.
fn fields(object: &Value) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (name, value) in object.as_object().expect("an object") {
        let value = match value {
            Value::Null => continue,
            Value::String(text) if ["miner", "from", "to"].contains(&name.as_str()) => {
                Address::parse(text).expect("an address").to_string()
            }
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        if !EXECUTION.contains(&name.as_str()) {
            found.insert(name.clone(), value);
        }
    }
    found
}

impl Building {
    fn zadd(&mut self, key: &str, score: u64, member: &str) {
        let entry = self.keys.entry(key.to_owned()).or_insert(Entry::Sorted(Vec::new()));
        let Entry::Sorted(members) = entry else { panic!("{key} is no sorted set") };
        members.push((score, member.to_owned()));
    }

    fn list(&mut self, key: &str) -> &mut Vec<String> {
        let entry = self.keys.entry(key.to_owned()).or_insert(Entry::List(Vec::new()));
        let Entry::List(elements) = entry else { panic!("{key} is no list") };
        elements
    }

    fn push(&mut self, number: u64, blocks: &[Value]) {
        for (index, block) in blocks.iter().enumerate() {
            self.block(number, block, index + 1 == blocks.len());
        }
        let pivot = text(&blocks.last().expect("a pivot")["hash"]);
        self.list("pivot.chain").push(pivot);
    }

    fn block(&mut self, epoch: u64, block: &Value, pivot: bool) {
        let hash = text(&block["hash"]);
        let packed = block["transactions"].as_array().expect("a list");
        let mut new = 0_u64;
        for (index, transaction) in (0_u64..).zip(packed) {
            self.zadd(&format!("blocks:{hash}:transactions"), index, &text(&transaction["hash"]));
            new += u64::from(self.transaction(block, transaction));
        }
        let mut fields = fields(block);
        let attached = [
            ("epochNumber", hex(epoch)),
            ("isPivot", hex(u64::from(pivot))),
            ("transactionCount", hex(packed.len() as u64)),
            ("newTransactionCount", hex(new)),
        ];
        fields.extend(attached.map(|(name, value)| (name.to_owned(), value)));
        let miner = fields["miner"].clone();
        self.keys.insert(format!("blocks:{hash}"), Entry::Hash(fields));
        let order = self.blocks;
        self.blocks += 1;
        self.zadd("blocks.in.order", order, &hash);
        self.zadd(&format!("blocks.by.miner:{miner}"), order, &hash);
        self.list(&format!("epoch:{epoch}")).push(hash.clone());
        let miners = self.keys.entry("miners".to_owned()).or_insert(Entry::Hash(BTreeMap::new()));
        let Entry::Hash(miners) = miners else { panic!("miners is no hash") };
        miners.entry(miner).or_insert(hash);
        let difficulty = text(&block["difficulty"]);
        let difficulty = u128::from_str_radix(&difficulty[2..], 16).expect("a number");
        self.sums.push((difficulty, packed.len() as u64));
    }

    /// Whether it was packed for the first time.
    fn transaction(&mut self, block: &Value, transaction: &Value) -> bool {
        let hash = text(&transaction["hash"]);
        let key = format!("transactions:{hash}");
        if self.keys.contains_key(&key) {
            return false;
        }
        let mut fields = fields(transaction);
        let attached =
            [("timestamp", text(&block["timestamp"])), ("firstBlockHash", text(&block["hash"]))];
        fields.extend(attached.map(|(name, value)| (name.to_owned(), value)));
        let (from, to) = (fields["from"].clone(), fields.get("to").cloned());
        self.keys.insert(key, Entry::Hash(fields));
        let order = self.transactions;
        self.transactions += 1;
        self.zadd("transactions.in.order", order, &hash);
        let parties = match to {
            None => {
                let sender = Address::parse(&from).expect("an address");
                let nonce = text(&transaction["nonce"]);
                let nonce = u64::from_str_radix(&nonce[2..], 16).expect("a number");
                let data = text(&transaction["data"]);
                let code: Vec<u8> = (2..data.len())
                    .step_by(2)
                    .map(|at| u8::from_str_radix(&data[at..at + 2], 16).expect("digits"))
                    .collect();
                let contract = Address::created_by(&sender, nonce, &code).to_string();
                vec![(from, "create"), (contract, "create")]
            }
            Some(to) if to == from => vec![(to, "self")],
            Some(to) => vec![(from, "out"), (to, "in")],
        };
        for (address, kind) in parties {
            let element = format!("{hash},{kind},{}", text(&block["timestamp"]));
            // LPUSH: the newest is the first.
            self.list(&format!("transactions.by.account:{address}")).insert(0, element);
        }
        true
    }

    /// Receipts come later: their fields are added where the transaction has none of the name.
    fn execute(&mut self, receipts: &Value) {
        let blocks = receipts.as_array().into_iter().flatten();
        for receipt in blocks.flat_map(|block| block.as_array().expect("a list")) {
            if receipt["outcomeStatus"] == "0x2" {
                continue;
            }
            let key = format!("transactions:{}", text(&receipt["transactionHash"]));
            let Some(Entry::Hash(known)) = self.keys.get_mut(&key) else { panic!("{key}") };
            known.insert("blockHash".to_owned(), text(&receipt["blockHash"]));
            known.insert("transactionIndex".to_owned(), text(&receipt["index"]));
            known.insert("status".to_owned(), text(&receipt["outcomeStatus"]));
            if let Some(contract) = receipt["contractCreated"].as_str() {
                let contract = Address::parse(contract).expect("an address").to_string();
                known.insert("contractCreated".to_owned(), contract);
            }
            for (name, value) in fields(receipt) {
                if name != "transactionHash" {
                    known.entry(name).or_insert(value);
                }
            }
        }
    }

    fn finish(mut self) -> Layout {
        let start = self.sums.len().saturating_sub(LATEST);
        let Entry::Sorted(blocks) = &self.keys["blocks.in.order"] else { panic!("a sorted set") };
        let latest = Entry::Sorted(blocks[start..].to_vec());
        let difficulty: u128 = self.sums[start..].iter().map(|(difficulty, _)| difficulty).sum();
        let transactions: u64 = self.sums[start..].iter().map(|(_, packed)| packed).sum();
        self.keys.insert("latest.blocks".to_owned(), latest);
        for (name, sum) in
            [("difficulties", difficulty.to_string()), ("transactions", transactions.to_string())]
        {
            self.keys.insert(format!("latest.blocks.sum.{name}"), Entry::Text(sum));
        }
        self.keys
    }
}
