//! A chain that follows a real node, and everything it says against that node.

use std::sync::Arc;

use parts::conflux::ConfluxNode;
use platform::outgoing::NodeClient;
use scan::follow::{FollowError, Follower};
use scan::query::Scan;
use scan::source::Node;
use scan::{Address, EpochInput, Hash, Memory};
use serde_json::{Map, Value, json};
use store::{Engine, Order, Store};
use timeline::{Lane, Settings, Timeline, Watch, Writer, WriterId};

use crate::common::Model;

/// Fields that are ours alone.
const OURS: [&str; 9] = [
    "isPivot",
    "transactionCount",
    "newTransactionCount",
    "state",
    "firstBlockHash",
    "timestamp",
    "epochNumber",
    "packings",
    "receipt",
];

/// A chain that follows a node.
pub(crate) struct Chain {
    runtime: tokio::runtime::Runtime,
    timeline: Timeline,
    writer: Writer,
    memory: Memory,
    node: Node,
    /// Epochs that were popped so far.
    pub(crate) popped: usize,
    /// Receipts that were compared.
    pub(crate) results: usize,
    /// Skipped blocks that were compared.
    pub(crate) skipped: usize,
}

impl Chain {
    pub(crate) fn new(engine: Arc<dyn Engine>, node: &ConfluxNode) -> Self {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let timeline = Timeline::new(Store::new(engine, 0), "conflux".into(), Settings::default());
        let mut watch = Watch::default();
        let writer = runtime.block_on(timeline.lead(WriterId([1; 16]), &mut watch));
        let writer = writer.expect("led").expect("nobody else is there");
        let node = Node::new(node.http(), Arc::new(NodeClient::for_blocks().expect("a client")));
        let memory = Memory::default();
        Self { runtime, timeline, writer, memory, node, popped: 0, results: 0, skipped: 0 }
    }

    pub(crate) fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Follows until there is nothing new.
    pub(crate) fn catch_up(&mut self) {
        let Self { runtime, timeline, writer, memory, node, popped, .. } = self;
        runtime.block_on(async {
            loop {
                match Follower::new(timeline, writer, memory).step(node).await {
                    Ok(stepped) => {
                        let Some(published) = stepped.published else { return };
                        let runs = published.switch.popped.iter();
                        let runs = runs.filter(|run| run.lane == Lane::MINED);
                        *popped += runs.flat_map(timeline::Run::units).count();
                    }
                    // The node works while it is asked.
                    Err(FollowError::Moved) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        });
    }

    /// Compares everything with the node, as a model has it and field by field.
    pub(crate) fn check(&mut self, real: &ConfluxNode) {
        let (epochs, heights, view) = self.runtime.block_on(async {
            let heights = self.node.heights().await.expect("answered");
            let epochs = self.node.epochs(0, heights.mined).await.expect("answered");
            (epochs, heights, self.timeline.view().await.expect("read"))
        });
        let head = |lane| view.head(lane).map(|head| head.height.0);
        assert_eq!(head(Lane::MINED), Some(heights.mined));
        // Within the node: results of the newest epochs may be there a moment before it says so.
        assert!(head(Lane::EXECUTED) >= Some(heights.executed), "results are missing");
        assert_eq!(head(scan::tables::CONFIRMED), Some(heights.confirmed));
        assert_eq!(head(scan::tables::FINALIZED), Some(heights.finalized));
        let scan = Scan::new(&self.timeline, &view);
        self.runtime.block_on(Model::of(epochs.clone()).check(&scan));
        for epoch in &epochs {
            let executed = Some(epoch.number) <= head(Lane::EXECUTED);
            self.results += self.runtime.block_on(compare(real, &scan, epoch, executed));
            self.skipped += epoch.skipped.len();
        }
    }
}

/// Every field of an epoch's blocks and transactions; how many receipts there were.
async fn compare(real: &ConfluxNode, scan: &Scan<'_>, epoch: &EpochInput, executed: bool) -> usize {
    let mut receipts = 0;
    for block in &epoch.blocks {
        let theirs = ask(real, "cfx_getBlockByHash", block.hash).await;
        let found = scan.block(block.hash).await.expect("read").expect("known");
        let ours = found.fields(block.hash).expect("fields");
        for (name, value) in theirs.iter().filter(|(name, _)| *name != "transactions") {
            if name == "gasUsed" && !executed {
                continue;
            }
            assert_eq!(ours.get(name), Some(value), "{name} of block {}", block.hash);
        }
        // Old blocks do not change any more, and asking is slow.
        if epoch.number + 30 < scan.head(Lane::MINED).unwrap_or(0) {
            continue;
        }
        for transaction in &block.transactions {
            receipts += compare_transaction(real, scan, transaction.hash).await;
        }
    }
    for block in &epoch.skipped {
        let found = scan.block(block.hash).await.expect("read").expect("known");
        assert_eq!(found.state(), scan::answers::BlockState::Skipped);
        assert_eq!(found.seat.expect("a seat").epoch, epoch.number);
    }
    receipts
}

async fn compare_transaction(real: &ConfluxNode, scan: &Scan<'_>, hash: Hash) -> usize {
    let theirs = ask(real, "cfx_getTransactionByHash", hash).await;
    let found = scan.transaction(hash).await.expect("read").expect("known");
    let ours = found.fields(hash).expect("fields");
    let receipt = real.rpc("cfx_getTransactionReceipt", json!([hash.to_string()])).expect("asked");
    // The node executes ahead and tells some of it before it says that the epoch is executed.
    let early = receipt.is_null() && found.packings.first().is_some_and(|(_, it)| it.epoch > 0);
    let passing = ["blockHash", "transactionIndex", "status", "contractCreated"];
    let skipped = |name: &str| OURS.contains(&name) || (early && passing.contains(&name));
    for (name, value) in theirs.iter().filter(|(name, _)| !skipped(name)) {
        assert_eq!(ours.get(name), Some(value), "{name} of transaction {hash}");
    }
    let Some(theirs) = receipt.as_object() else {
        assert!(ours["receipt"].is_null(), "a receipt of {hash} that the node has not got");
        return 0;
    };
    for (name, value) in theirs {
        assert_eq!(ours["receipt"].get(name), Some(value), "{name} in the receipt of {hash}");
    }
    if let Some(contract) = theirs["contractCreated"].as_str() {
        let contract = Address::parse(contract).expect("an address");
        let listed = scan.account(contract, (0, Order::Ascending, 10)).await.expect("read");
        assert!(listed.iter().any(|(_, line)| line.hash == hash), "under its own address");
    }
    1
}

async fn ask(real: &ConfluxNode, method: &str, hash: Hash) -> Map<String, Value> {
    let asked = match method {
        "cfx_getBlockByHash" => json!([hash.to_string(), false]),
        _ => json!([hash.to_string()]),
    };
    let answer = real.rpc(method, asked).expect("answered");
    answer.as_object().expect("an object").clone()
}
