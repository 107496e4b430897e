//! Tips: what nodes say, told once for each move, by one process at a time.

mod common;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{Home, World, op};
use devnet::{TreeGraphNode, TreeGraphOptions};
use platform::chains::{Ask, AskError, Chain, ChainKind, ChainName, Node, Registry, Tip, Tips};
use platform::events::{Event, EventFilter, Events, EventsSettings};
use platform::outgoing::NodeClient;
use store::Task;
use tokio::task::JoinHandle;

/// How a node behaves.
#[derive(Clone)]
enum Manner {
    /// It tells a height.
    Tells(u64),
    /// It says something else.
    Says(String),
    /// It cannot be reached.
    Fails,
    /// It never answers.
    Hangs,
}

/// Nodes by their addresses, and how they are asked.
#[derive(Default)]
struct Nodes {
    manners: Mutex<BTreeMap<String, Manner>>,
    asked: AtomicUsize,
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Nodes {
    fn set(&self, url: &str, manner: Manner) {
        self.manners.lock().expect("no panic inside").insert(url.to_owned(), manner);
    }

    async fn answer(&self, url: &str) -> Result<String, AskError> {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let manner = self.manners.lock().expect("no panic inside").get(url).cloned();
        match manner {
            Some(Manner::Tells(height)) => {
                Ok(format!(r#"{{"jsonrpc":"2.0","result":"{height:#x}","id":1}}"#))
            }
            Some(Manner::Says(text)) => Ok(text),
            Some(Manner::Hangs) => std::future::pending().await,
            Some(Manner::Fails) | None => Err(AskError("it refused the connection".into())),
        }
    }
}

/// Counts one less when an answer came or was given up.
struct Asking<'a>(&'a AtomicUsize);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Ask for Nodes {
    fn ask<'a>(&'a self, url: &'a str, body: &'a str) -> Task<'a, Result<String, AskError>> {
        assert!(body.contains(r#""method":"cfx_epochNumber""#), "{body}");
        self.asked.fetch_add(1, Ordering::SeqCst);
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        let asking = Asking(&self.now);
        Box::pin(async move {
            let _asking = asking;
            self.answer(url).await
        })
    }
}

struct Setting {
    world: World,
    events: Events,
    registry: Registry,
    tips: Tips,
    nodes: Arc<Nodes>,
}

async fn setting(home: &Home) -> Setting {
    let world = World::on(home.engine.clone()).await;
    let (store, clock) = (world.store.clone(), world.clock.clone());
    let events = Events::new(store.clone(), clock.clone(), EventsSettings::default());
    let registry = Registry::open(store.clone(), []).await.expect("opens");
    let tips = Tips::new(store, events.clone(), registry.clone(), clock);
    Setting { world, events, registry, tips, nodes: Arc::default() }
}

impl Setting {
    fn run(&self) -> JoinHandle<()> {
        let (tips, nodes) = (self.tips.clone(), self.nodes.clone());
        tokio::spawn(async move { tips.run(&*nodes).await.expect("random") })
    }

    async fn tips(&self, chain: &str) -> BTreeMap<String, Tip> {
        self.tips.of(&name(chain)).await.expect("reads").into_iter().collect()
    }

    async fn heights(&self, chain: &str) -> Vec<(String, Option<u64>)> {
        self.tips(chain).await.into_iter().map(|(node, tip)| (node, tip.height)).collect()
    }

    /// The moves that were told: chain, height, node.
    async fn told(&self) -> Vec<(String, u64, String)> {
        let filter = EventFilter { kinds: vec!["chain.tip".into()], chain: None };
        let told = |event: Event| {
            let (height, node) = (&event.data["height"], &event.data["node"]);
            let chain = event.chain.expect("a chain").to_string();
            (chain, height.as_u64().expect("a height"), node.as_str().expect("a node").to_owned())
        };
        let page = self.events.read_after(0, &filter, 1000).await.expect("reads");
        page.events.into_iter().map(told).collect()
    }
}

fn name(text: &str) -> ChainName {
    ChainName::new(text).expect("a name")
}

/// A chain with nodes at `http://{chain}-{node}`.
fn chain(chain: &str, nodes: &[&str]) -> Chain {
    let node = |node: &&str| Node {
        name: (*node).into(),
        http: Some(format!("http://{chain}-{node}")),
        ws: None,
        http_port: None,
        ws_port: None,
        weight: 1,
        priority: 0,
    };
    let nodes = nodes.iter().map(node).collect();
    let kind = ChainKind::Conflux;
    Chain { name: name(chain), kind, network: "test".into(), nodes, enabled: true }
}

fn moved(chain: &str, height: u64, node: &str) -> (String, u64, String) {
    (chain.into(), height, node.into())
}

/// Lets time pass, for tokio and for the clock on the wall.
async fn pass(setting: &Setting, seconds: u64) {
    for _ in 0..seconds * 10 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        setting.world.hand.forward(100);
    }
}

#[tokio::test(start_paused = true)]
async fn heights_arrive_and_every_move_is_told_once() {
    let setting = setting(&Home::model()).await;
    let (nodes, begun) = (&setting.nodes, setting.world.clock.now());
    setting.registry.add(chain("tree", &["a", "b"]), None, op()).await.expect("added");
    setting.registry.add(chain("other", &["a"]), None, op()).await.expect("added");
    nodes.set("http://tree-a", Manner::Tells(7));
    nodes.set("http://tree-b", Manner::Tells(8));
    nodes.set("http://other-a", Manner::Tells(0));
    let running = setting.run();
    pass(&setting, 10).await;
    let expected = vec![("a".to_owned(), Some(7)), ("b".to_owned(), Some(8))];
    assert_eq!(setting.heights("tree").await, expected);
    let first = [moved("other", 0, "a"), moved("tree", 8, "b")];
    assert_eq!(setting.told().await, first);
    nodes.set("http://tree-a", Manner::Tells(8));
    pass(&setting, 5).await;
    assert_eq!(setting.told().await, first, "the highest height is where it was");
    nodes.set("http://tree-a", Manner::Tells(10));
    nodes.set("http://tree-b", Manner::Tells(10));
    pass(&setting, 5).await;
    nodes.set("http://tree-b", Manner::Tells(11));
    pass(&setting, 5).await;
    let told = setting.told().await;
    assert_eq!(told[2..], [moved("tree", 10, "a"), moved("tree", 11, "b")]);
    let all = setting.tips.all().await.expect("reads");
    let names: Vec<_> = all.iter().map(|(chain, tips)| (chain.as_str(), tips.len())).collect();
    assert_eq!(names, [("other", 1), ("tree", 2)]);
    let still = &setting.tips("other").await["a"];
    assert!(still.at < begun + 3_000, "first seen in the beginning");
    assert!((20..500).contains(&still.millis), "{} ms", still.millis);
    pass(&setting, 40).await;
    let still = &setting.tips("other").await["a"];
    let age = setting.world.clock.now() - still.asked;
    assert!(still.at < begun + 3_000 && age < 33_000, "asked {age} ms ago");
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn failures_are_told_and_stop_nobody() {
    let setting = setting(&Home::model()).await;
    let nodes = &setting.nodes;
    let all = ["fails", "hangs", "page", "well"];
    setting.registry.add(chain("tree", &all), None, op()).await.expect("added");
    nodes.set("http://tree-hangs", Manner::Hangs);
    nodes.set("http://tree-page", Manner::Says("<html>hello</html>".into()));
    nodes.set("http://tree-well", Manner::Tells(1));
    let running = setting.run();
    pass(&setting, 1).await;
    assert_eq!(setting.tips("tree").await["well"].height, Some(1), "nobody waits for the others");
    for height in 2..=4 {
        nodes.set("http://tree-well", Manner::Tells(height));
        pass(&setting, 3).await;
        assert_eq!(setting.tips("tree").await["well"].height, Some(height));
    }
    let tips = setting.tips("tree").await;
    let failure = |node: &str| tips[node].failure.clone().expect("a failure");
    assert!(failure("fails").contains("refused"), "{}", failure("fails"));
    assert!(failure("hangs").contains("within 5 seconds"), "{}", failure("hangs"));
    assert!(failure("page").contains("web page"), "{}", failure("page"));
    assert_eq!((tips["fails"].height, &tips["well"].failure), (None, &None));
    nodes.set("http://tree-well", Manner::Fails);
    nodes.set("http://tree-fails", Manner::Tells(3));
    pass(&setting, 3).await;
    let tips = setting.tips("tree").await;
    assert_eq!(tips["well"].height, Some(4), "what it said last stays");
    assert!(tips["well"].failure.is_some() && tips["fails"].failure.is_none());
    assert_eq!(setting.told().await.len(), 4, "a failure is no move");
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn what_is_not_asked_any_more_loses_its_row() {
    let setting = setting(&Home::model()).await;
    let (nodes, registry) = (&setting.nodes, &setting.registry);
    registry.add(chain("tree", &["a", "b"]), None, op()).await.expect("added");
    registry.add(chain("gone", &["a"]), None, op()).await.expect("added");
    for (url, height) in [("http://tree-a", 5), ("http://tree-b", 9), ("http://gone-a", 3)] {
        nodes.set(url, Manner::Tells(height));
    }
    let running = setting.run();
    pass(&setting, 3).await;
    assert_eq!(setting.heights("tree").await.len(), 2);
    assert_eq!(setting.heights("gone").await.len(), 1);
    registry.change(chain("tree", &["a"]), None, op()).await.expect("changed");
    registry.remove(&name("gone"), None, op()).await.expect("removed");
    assert_eq!(setting.heights("tree").await.len(), 1, "at once for readers");
    pass(&setting, 3).await;
    assert_eq!(setting.told().await.last(), Some(&moved("tree", 5, "a")));
    let off = Chain { enabled: false, ..chain("tree", &["a"]) };
    registry.change(off, None, op()).await.expect("changed");
    pass(&setting, 3).await;
    let asked = nodes.asked.load(Ordering::SeqCst);
    running.abort();
    pass(&setting, 3).await;
    assert_eq!(nodes.asked.load(Ordering::SeqCst), asked, "nobody is left to be asked");
    // With the nodes back in the registry and nobody asking, no row shows: they are gone.
    registry.change(chain("tree", &["a", "b"]), None, op()).await.expect("changed");
    registry.add(chain("gone", &["a"]), None, op()).await.expect("added");
    assert_eq!(setting.heights("tree").await, []);
    assert_eq!(setting.heights("gone").await, []);
}

#[tokio::test(start_paused = true)]
async fn at_most_sixteen_nodes_are_asked_at_the_same_time() {
    let setting = setting(&Home::model()).await;
    let names: Vec<String> = (0..16).map(|number| format!("n{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for number in 0..3 {
        let chain = chain(&format!("c{number}"), &names);
        for node in &chain.nodes {
            setting.nodes.set(node.http.as_deref().expect("an address"), Manner::Tells(4));
        }
        setting.registry.add(chain, None, op()).await.expect("added");
    }
    let running = setting.run();
    pass(&setting, 2).await;
    assert_eq!(setting.nodes.most.load(Ordering::SeqCst), 16);
    for number in 0..3 {
        assert_eq!(setting.heights(&format!("c{number}")).await.len(), 16);
    }
    running.abort();
}

/// Two processes run; only the one with the lease asks, and the other takes over when it ends. The
/// move that both know is told once.
#[tokio::test(start_paused = true)]
async fn one_process_asks_and_another_takes_over() {
    let home = Home::model();
    let one = setting(&home).await;
    one.registry.add(chain("tree", &["a"]), None, op()).await.expect("added");
    let other = setting(&home).await;
    for setting in [&one, &other] {
        setting.nodes.set("http://tree-a", Manner::Tells(5));
    }
    let first = one.run();
    pass(&one, 3).await;
    let second = other.run();
    pass(&one, 20).await;
    assert!(one.nodes.asked.load(Ordering::SeqCst) > 8);
    assert_eq!(other.nodes.asked.load(Ordering::SeqCst), 0, "the lease is held");
    first.abort();
    let asked = one.nodes.asked.load(Ordering::SeqCst);
    pass(&one, 10).await;
    assert_eq!(one.nodes.asked.load(Ordering::SeqCst), asked, "it ended");
    assert!(other.nodes.asked.load(Ordering::SeqCst) > 0, "the other took over");
    assert_eq!(one.told().await, [moved("tree", 5, "a")], "where it was before");
    other.nodes.set("http://tree-a", Manner::Tells(6));
    pass(&one, 3).await;
    assert_eq!(one.told().await[1..], [moved("tree", 6, "a")]);
    assert_eq!(other.heights("tree").await, [("a".to_owned(), Some(6))]);
    second.abort();
}

/// The whole way: a node of the devnet, asked over HTTP by the client that programs use.
#[tokio::test]
async fn a_node_of_the_devnet_tells_its_tip() {
    let options =
        TreeGraphOptions { pace: Duration::from_secs(3600), ..TreeGraphOptions::default() };
    let node = TreeGraphNode::start(options).await.expect("starts");
    let setting = setting(&Home::model()).await;
    let mut tree = chain("tree", &["a"]);
    tree.nodes[0].http = Some(node.url());
    setting.registry.add(tree, None, op()).await.expect("added");
    let tips = setting.tips.clone();
    let client = NodeClient::new().expect("a client");
    let running = tokio::spawn(async move { tips.run(&client).await.expect("random") });
    while setting.told().await.len() < 2 {
        if setting.told().await.len() == 1 {
            node.step();
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let tip = &setting.tips("tree").await["a"];
    assert!(tip.height > Some(100) && tip.failure.is_none(), "{tip:?}");
    running.abort();
}
