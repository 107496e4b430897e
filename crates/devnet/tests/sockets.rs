//! A tree-graph node over WebSocket: requests, subscriptions through switches, and faults.

use std::time::Duration;

use devnet::treegraph::{GraphSettings, Step};
use devnet::{Fault, TreeGraphNode, TreeGraphOptions};
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value as Json, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

/// Longer than anything takes, shorter than a person waits.
const LONG: Duration = Duration::from_secs(20);

/// A node that grows by hand only.
async fn still() -> TreeGraphNode {
    let graph = GraphSettings { seed: 5, switches: 0, ..GraphSettings::default() };
    let pace = Duration::from_secs(3600);
    let options = TreeGraphOptions { graph, pace, past: 30, ..TreeGraphOptions::default() };
    TreeGraphNode::start(options).await.expect("starts")
}

struct Client {
    socket: WebSocketStream<TcpStream>,
    /// Notices that came while an answer was waited for.
    notices: Vec<Json>,
}

impl Client {
    async fn to(node: &TreeGraphNode) -> Result<Self, Error> {
        let stream = TcpStream::connect(node.ws_address()).await?;
        let (socket, _) = client_async(node.ws_url(), stream).await?;
        Ok(Self { socket, notices: Vec::new() })
    }

    async fn send(&mut self, request: &Json) {
        self.socket.send(Message::text(request.to_string())).await.expect("sent");
    }

    async fn receive(&mut self) -> Option<Json> {
        let message = tokio::time::timeout(LONG, self.socket.next()).await.expect("in time");
        let text = message?.ok()?.into_text().ok()?;
        serde_json::from_str(&text).ok()
    }

    async fn ask(&mut self, method: &str, params: Json) -> Json {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        self.send(&request).await;
        loop {
            let answer = self.receive().await.expect("an answer");
            if answer.get("method").is_none() {
                return answer;
            }
            self.notices.push(answer);
        }
    }

    async fn subscribe(&mut self, params: Json) -> Json {
        let id = self.ask("cfx_subscribe", params).await["result"].clone();
        assert!(id.as_str().is_some_and(|id| id.starts_with("0x") && id.len() == 18), "{id}");
        id
    }

    /// All notices so far, by subscription: an answer comes after what was told before.
    async fn told(&mut self, subscription: &Json) -> Vec<Json> {
        // What is told and what is asked race in the node; a moment settles it.
        tokio::time::sleep(Duration::from_millis(100)).await;
        self.ask("cfx_clientVersion", json!([])).await;
        let wanted = self.notices.iter().filter(|it| it["params"]["subscription"] == *subscription);
        let results: Vec<_> = wanted.map(|it| it["params"]["result"].clone()).collect();
        self.notices.retain(|it| it["params"]["subscription"] != *subscription);
        results
    }

    /// Whether the connection ends.
    async fn ends(&mut self) -> bool {
        let ended = async { while matches!(self.socket.next().await, Some(Ok(_))) {} };
        tokio::time::timeout(LONG, ended).await.is_ok()
    }
}

fn number(json: &Json) -> u64 {
    let digits = json.as_str().and_then(|text| text.strip_prefix("0x")).expect("hex");
    u64::from_str_radix(digits, 16).expect("a number")
}

#[tokio::test]
async fn requests_are_answered_over_the_socket_too() {
    let node = still().await;
    let mut client = Client::to(&node).await.expect("connects");
    let mined = number(&client.ask("cfx_epochNumber", json!(["latest_mined"])).await["result"]);
    let state = number(&client.ask("cfx_epochNumber", json!(["latest_state"])).await["result"]);
    assert_eq!(mined, state + 4);
    let one = |id: u64, method: &str, params: Json| {
        let mut request = json!({ "jsonrpc": "2.0", "id": id, "method": method });
        request["params"] = params;
        request
    };
    let batch = json!([
        one(1, "cfx_getEpochReceipts", json!([format!("{state:#x}")])),
        one(2, "cfx_getBlocksByEpoch", json!([format!("{state:#x}")])),
        one(3, "cfx_subscribe", json!(["epochs"])),
        one(4, "cfx_subscribe", json!(["logs"])),
    ]);
    client.send(&batch).await;
    let answers = client.receive().await.expect("answers");
    let length = |at: usize| answers[at]["result"].as_array().map(Vec::len);
    assert!(length(0).is_some() && length(0) == length(1), "{answers}");
    assert!(answers[2]["result"].is_string() && answers[3]["error"]["code"] == -32602);
    client.socket.send(Message::text("nonsense")).await.expect("sent");
    assert_eq!(client.receive().await.expect("an answer")["error"]["code"], -32700);
    client.socket.send(Message::text("x".repeat(300 * 1024))).await.expect("sent");
    assert!(client.ends().await, "too large a request ends the connection");
}

#[tokio::test]
async fn subscribers_hear_of_every_step_and_of_old_epochs_again_after_a_switch() {
    let node = still().await;
    let mut client = Client::to(&node).await.expect("connects");
    let heads = client.subscribe(json!(["newHeads"])).await;
    let mined = client.subscribe(json!(["epochs", "latest_mined"])).await;
    let plain = client.subscribe(json!(["epochs"])).await;
    let state = client.subscribe(json!(["epochs", "latest_state"])).await;
    let latest = number(&client.ask("cfx_epochNumber", json!([])).await["result"]);
    assert_eq!(node.step(), Step::Grew);
    let told = client.told(&mined).await;
    assert_eq!(told.iter().map(|it| number(&it["epochNumber"])).collect::<Vec<_>>(), [latest + 1]);
    assert_eq!(client.told(&plain).await, told);
    assert_eq!(number(&client.told(&state).await[0]["epochNumber"]), latest - 3);
    let head = client.told(&heads).await;
    assert!(head.iter().any(|it| it["epochNumber"] == told[0]["epochNumber"]), "{head:?}");
    assert_eq!(node.switch(6), Step::Switched { depth: 6 });
    let told = client.told(&mined).await;
    let numbers: Vec<_> = told.iter().map(|it| number(&it["epochNumber"])).collect();
    let now = number(&client.ask("cfx_epochNumber", json!([])).await["result"]);
    assert_eq!(numbers, (latest - 4..=now).collect::<Vec<_>>(), "from the fork on");
    for epoch in &told {
        let there = client.ask("cfx_getBlocksByEpoch", json!([epoch["epochNumber"]])).await;
        assert_eq!(epoch["epochHashesOrdered"], there["result"]);
    }
    let states: Vec<_> =
        client.told(&state).await.iter().map(|it| number(&it["epochNumber"])).collect();
    assert_eq!(states, (latest - 4..=now - 4).collect::<Vec<_>>(), "executed again");
    let ended = client.ask("cfx_unsubscribe", json!([plain])).await;
    assert_eq!(ended["result"], true);
    client.told(&plain).await;
    node.step();
    assert!(client.told(&plain).await.is_empty() && !client.told(&mined).await.is_empty());
    let twice = client.ask("cfx_unsubscribe", json!([plain])).await;
    assert_eq!(twice["error"]["code"], -32602);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscriber_that_does_not_read_is_dropped_and_others_hear_on() {
    let node = still().await;
    let mut idle = Client::to(&node).await.expect("connects");
    for _ in 0..32 {
        idle.subscribe(json!(["newHeads"])).await;
    }
    let mut reader = Client::to(&node).await.expect("connects");
    let epochs = reader.subscribe(json!(["epochs"])).await;
    let mut heard = 0;
    for _ in 0..60 {
        for _ in 0..50 {
            node.step();
        }
        heard += reader.told(&epochs).await.len();
    }
    assert_eq!(heard, 3000);
    assert!(idle.ends().await, "it was dropped");
}

/// A request over HTTP: whether an answer came, nothing came, or the connection ended.
async fn over_http(node: &TreeGraphNode, patience: Duration) -> Option<usize> {
    let mut stream = TcpStream::connect(node.address()).await.expect("connects");
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"cfx_epochNumber"}"#;
    let head = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", body.len());
    // A node that closes at once may do so before this is written.
    let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
    let mut buffer = [0; 4096];
    let read = tokio::time::timeout(patience, stream.read(&mut buffer)).await.ok()?;
    Some(read.unwrap_or_default())
}

#[tokio::test]
async fn a_node_can_stall_fall_silent_and_drop_its_connections() {
    let (node, short) = (still().await, Duration::from_millis(300));
    let mut open = Client::to(&node).await.expect("connects");
    node.set_fault(Fault::Stall);
    assert_eq!(over_http(&node, short).await, None, "neither an answer nor an end");
    assert!(tokio::time::timeout(short, Client::to(&node)).await.is_err());
    open.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "cfx_epochNumber" })).await;
    assert!(tokio::time::timeout(short, open.socket.next()).await.is_err());
    node.set_fault(Fault::Silence);
    assert!(open.ends().await, "what it held ends");
    assert_eq!(over_http(&node, LONG).await, Some(0));
    assert!(Client::to(&node).await.is_err());
    node.set_fault(Fault::None);
    assert!(over_http(&node, LONG).await.is_some_and(|bytes| bytes > 0));
    let mut open = Client::to(&node).await.expect("connects");
    open.ask("cfx_epochNumber", json!([])).await;
    node.drop_connections();
    assert!(open.ends().await);
    Client::to(&node).await.expect("connects").ask("cfx_epochNumber", json!([])).await;
}

#[tokio::test]
async fn there_is_history_at_once_and_it_ends_now() {
    let options = TreeGraphOptions { history: 600, past: 0, ..TreeGraphOptions::default() };
    let node = TreeGraphNode::start(options).await.expect("starts");
    let mut client = Client::to(&node).await.expect("connects");
    let latest = number(&client.ask("cfx_epochNumber", json!([])).await["result"]);
    assert!((600..620).contains(&latest), "{latest}");
    let mut times = Vec::new();
    for epoch in (0..=latest).step_by(50) {
        let params = json!([format!("{epoch:#x}"), false]);
        let block = client.ask("cfx_getBlockByEpochNumber", params).await;
        times.push(number(&block["result"]["timestamp"]));
    }
    assert!(times.is_sorted());
    let span = times.last().zip(times.first()).map(|(last, first)| last - first);
    assert!(span.is_some_and(|span| (350..450).contains(&span)), "{times:?}");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.expect("a time").as_secs();
    assert!(times.last().is_some_and(|last| now - last < 60), "{times:?} and {now}");
}
