//! Following a node over HTTP, and nodes that lie, stall or send half an answer.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use devnet::{TreeGraphNode, TreeGraphOptions};
use platform::chains::{Ask, AskError};
use platform::outgoing::NodeClient;
use scan::Memory;
use scan::follow::{FollowError, Follower, Stepped};
use scan::query::Scan;
use scan::source::{Node, SourceError};
use store::{Maintenance as _, ModelEngine, Order, Store, Task};
use timeline::{Lane, Settings, Timeline, Watch, Writer, WriterId};

async fn chain() -> (Timeline, Writer) {
    let store = Store::new(Arc::new(ModelEngine::default()), 0);
    let timeline = Timeline::new(store, "conflux".into(), Settings::default());
    let writer = timeline.lead(WriterId([1; 16]), &mut Watch::default()).await.expect("led");
    (timeline, writer.expect("nobody else is there"))
}

/// A node that grows only when it is told to.
async fn devnet() -> TreeGraphNode {
    let pace = Duration::from_secs(3600);
    TreeGraphNode::start(TreeGraphOptions { pace, ..Default::default() }).await.expect("starts")
}

fn client(node: &TreeGraphNode) -> Node {
    Node::new(node.url(), Arc::new(NodeClient::new().expect("a client")))
}

async fn step(
    timeline: &Timeline,
    writer: &mut Writer,
    node: &Node,
) -> Result<Stepped, FollowError> {
    Follower::new(timeline, writer, &mut Memory::default()).step(node).await
}

/// Follows until there is nothing new; how many epochs were popped.
async fn catch_up(timeline: &Timeline, writer: &mut Writer, node: &Node) -> usize {
    let mut popped = 0;
    let mut memory = Memory::default();
    while let Some(published) = {
        let stepped = Follower::new(timeline, writer, &mut memory).step(node).await;
        stepped.expect("followed").published
    } {
        let runs = published.switch.popped.iter().filter(|run| run.lane == Lane::MINED);
        popped += runs.flat_map(timeline::Run::units).count();
    }
    popped
}

/// Every epoch of the chain is the node's.
async fn check(timeline: &Timeline, node: &Node) {
    let view = timeline.view().await.expect("read");
    let scan = Scan::new(timeline, &view);
    let latest = node.heights().await.expect("answered").mined;
    let mut order = 0;
    for epoch in node.epochs(0, latest).await.expect("answered") {
        let row = scan.epoch(epoch.number).await.expect("read").expect("on the chain");
        let hashes: Vec<_> = epoch.blocks.iter().map(|block| block.hash).collect();
        assert_eq!(row.blocks, hashes);
        for block in &epoch.blocks {
            let found = scan.block(block.hash).await.expect("read").expect("known");
            assert_eq!(found.facts.fields, block.facts);
            assert_eq!(found.seat.expect("on the chain").order, Some(order));
            order += 1;
            let packed = scan.block_transactions(block.hash, 0, 1000).await.expect("read");
            assert_eq!(packed.len(), block.transactions.len());
        }
    }
    let listed = scan.blocks((0, Order::Descending, 1)).await.expect("read");
    assert_eq!(listed.len(), 1, "it has a first block");
    assert_eq!(scan.totals().await.expect("read").blocks, order);
}

#[tokio::test]
async fn a_node_is_followed_through_its_switches() {
    let (timeline, mut writer) = chain().await;
    let devnet = devnet().await;
    let node = client(&devnet);
    assert_eq!(catch_up(&timeline, &mut writer, &node).await, 0);
    check(&timeline, &node).await;
    let mut popped = 0;
    for _ in 0..120 {
        devnet.step();
        popped += catch_up(&timeline, &mut writer, &node).await;
    }
    println!("{popped} epochs popped");
    assert!(popped > 0, "the pivot never switched");
    check(&timeline, &node).await;
}

/// A way to spoil an answer.
type Way = fn(String) -> Result<String, AskError>;

/// Stands between us and a node, and spoils what it says.
struct Spoiled {
    node: NodeClient,
    how: Mutex<Way>,
}

impl Ask for Spoiled {
    fn ask<'a>(&'a self, url: &'a str, body: &'a str) -> Task<'a, Result<String, AskError>> {
        Box::pin(async move {
            let answer = self.node.ask(url, body).await?;
            let how = *self.how.lock().expect("no panic");
            how(answer)
        })
    }
}

#[tokio::test]
async fn a_node_that_lies_or_stalls_writes_nothing_and_is_followed_when_it_is_well() {
    let (timeline, mut writer) = chain().await;
    let devnet = devnet().await;
    let spoiled =
        Arc::new(Spoiled { node: NodeClient::new().expect("a client"), how: Mutex::new(Ok) });
    let node = Node::new(devnet.url(), spoiled.clone());
    catch_up(&timeline, &mut writer, &node).await;
    devnet.step();
    let before = writer.view().head(Lane::MINED).cloned();
    let ways: [(&str, Way); 6] = [
        ("stalls", |_| Err(AskError("no answer within 5 s".into()))),
        ("sends half", |text| Ok(text.chars().take(text.len() / 2).collect())),
        ("sends HTML", |_| Ok("<html>busy</html>".into())),
        ("swaps fields", |text| Ok(text.replace("\"parentHash\"", "\"parent\""))),
        ("lies about hashes", |text| {
            // The blocks that were asked for come with other hashes.
            Ok(text.replace("\"hash\":\"0x", "\"hash\":\"0x0"))
        }),
        ("knows nothing", |text| match text.contains("\"parentHash\"") {
            true => Ok(text.replace("\"result\":{", "\"result\":null,\"was\":{")),
            false => Ok(text),
        }),
    ];
    for (name, how) in ways {
        *spoiled.how.lock().expect("no panic") = how;
        let error = step(&timeline, &mut writer, &node).await.expect_err(name);
        assert!(matches!(error, FollowError::Source(_)), "{name}: {error}");
        println!("a node that {name}: {error}");
        assert_eq!(writer.view().head(Lane::MINED).cloned(), before, "{name}");
    }
    *spoiled.how.lock().expect("no panic") = Ok;
    catch_up(&timeline, &mut writer, &node).await;
    check(&timeline, &node).await;
}

#[tokio::test]
async fn a_node_of_another_chain_pops_nothing() {
    let (timeline, mut writer) = chain().await;
    let ours = devnet().await;
    catch_up(&timeline, &mut writer, &client(&ours)).await;
    let other = TreeGraphOptions {
        pace: Duration::from_secs(3600),
        graph: devnet::treegraph::GraphSettings { seed: 99, ..Default::default() },
        ..Default::default()
    };
    let other = TreeGraphNode::start(other).await.expect("starts");
    let error = step(&timeline, &mut writer, &client(&other)).await.expect_err("refused");
    assert!(matches!(error, FollowError::OtherChain), "{error}");
    let gone = Node::new("http://127.0.0.1:9", Arc::new(NodeClient::new().expect("a client")));
    let error = step(&timeline, &mut writer, &gone).await.expect_err("nobody is there");
    assert!(matches!(error, FollowError::Source(SourceError::Silent(_))), "{error}");
    check(&timeline, &client(&ours)).await;
}

/// Every row of the tables that an epoch writes and a sweep removes.
async fn stamped(engine: &ModelEngine) -> u64 {
    let tables = ["scan.epochs", "scan.blocks_in_order", "scan.block_seats", "scan.packings"];
    let walker = engine.walk().await.expect("a walker");
    let mut rows = 0;
    for table in scan::tables::tables().into_iter().filter(|it| tables.contains(&it.name())) {
        rows += store::digest_table(walker.as_ref(), table).await.expect("walked").entries;
    }
    rows
}

#[tokio::test]
async fn popped_epochs_are_swept_and_nothing_else_is() {
    let engine = Arc::new(ModelEngine::default());
    let settings = Settings { sweep_delay: Duration::ZERO, ..Settings::default() };
    let timeline = Timeline::new(Store::new(engine.clone(), 0), "conflux".into(), settings);
    let writer = timeline.lead(WriterId([1; 16]), &mut Watch::default()).await.expect("led");
    let mut writer = writer.expect("nobody else is there");
    let devnet = devnet().await;
    let node = client(&devnet);
    let mut popped = 0;
    for step in 0..80 {
        if step % 10 == 9 {
            devnet.switch(3);
        }
        devnet.step();
        popped += catch_up(&timeline, &mut writer, &node).await;
    }
    assert!(popped > 10, "{popped} epochs popped");
    let view = timeline.view().await.expect("read");
    let before = scan::verify::digest(&timeline, &view).await.expect("read");
    let rows = stamped(&engine).await;
    let mut sweeper = timeline::Sweeper::new(timeline.clone());
    let mut swept = 0;
    for _ in 0..3 {
        swept += scan::run::sweep(&timeline, &mut sweeper).await.expect("swept");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(swept >= popped, "{swept} units swept of {popped} epochs");
    let left = stamped(&engine).await;
    let after = scan::verify::digest(&timeline, &view).await.expect("read");
    assert_eq!(before, after, "a sweep changed what is seen");
    let totals = Scan::new(&timeline, &view).totals().await.expect("read");
    let epochs = view.head(Lane::MINED).expect("a head").height.0 + 1;
    let seen = epochs + 2 * totals.blocks + totals.packed;
    println!("{popped} epochs popped, {swept} units swept, {rows} rows before, {left} after");
    assert_eq!(left, seen, "rows of popped epochs are left");
}

#[tokio::test]
async fn many_epochs_are_caught_up_in_few_publishes() {
    let (timeline, mut writer) = chain().await;
    let pace = Duration::from_secs(3600);
    let options = TreeGraphOptions { pace, history: 700, past: 0, ..Default::default() };
    let devnet = TreeGraphNode::start(options).await.expect("starts");
    let node = client(&devnet);
    let mut memory = Memory::default();
    let (mut publishes, mut pushed) = (0, 0);
    let mut follower = Follower::new(&timeline, &mut writer, &mut memory);
    let done = follower.catch_up(&node, |published, _| {
        publishes += 1;
        let runs = published.switch.pushed.iter().filter(|run| run.lane == Lane::MINED);
        pushed += runs.map(|run| run.count).sum::<u64>();
    });
    done.await.expect("caught up");
    println!("{pushed} epochs in {publishes} publishes");
    assert!(pushed >= 700 && publishes <= 20, "{pushed} epochs in {publishes} publishes");
    catch_up(&timeline, &mut writer, &node).await;
    check(&timeline, &node).await;
    let view = timeline.view().await.expect("read");
    let heights = node.heights().await.expect("answered");
    assert_eq!(view.head(Lane::EXECUTED).expect("results").height.0, heights.executed);
}
