//! A tree-graph node over HTTP: it answers, it grows, it can be followed, and it ends.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use devnet::treegraph::{GraphSettings, Step};
use devnet::{TreeGraphNode, TreeGraphOptions};
use serde_json::{Value as Json, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// One request over a connection of its own: head and body of the answer.
async fn send(address: SocketAddr, head: &str, body: &str) -> io::Result<(String, String)> {
    let mut stream = TcpStream::connect(address).await?;
    let length = body.len();
    let request = format!(
        "{head} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    Ok((head.to_owned(), body.to_owned()))
}

async fn ask(node: &TreeGraphNode, method: &str, params: Json) -> Json {
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let sent = send(node.address(), "POST /", &request.to_string()).await;
    let (head, body) = sent.expect("an answer");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(head.to_ascii_lowercase().contains("content-type: application/json"), "{head}");
    serde_json::from_str::<Json>(&body).expect("JSON")["result"].clone()
}

async fn latest(node: &TreeGraphNode) -> u64 {
    let number = ask(node, "cfx_epochNumber", json!(["latest_mined"])).await;
    let text = number.as_str().and_then(|text| text.strip_prefix("0x")).expect("hex");
    u64::from_str_radix(text, 16).expect("a number")
}

/// A node that grows by hand only.
async fn still() -> TreeGraphNode {
    let graph = GraphSettings { seed: 5, switches: 20, ..GraphSettings::default() };
    let pace = Duration::from_secs(3600);
    let options = TreeGraphOptions { graph, pace, past: 20, ..TreeGraphOptions::default() };
    TreeGraphNode::start(options).await.expect("starts")
}

#[tokio::test]
async fn it_answers_over_http_and_refuses_what_is_no_request() {
    let node = still().await;
    let epoch = latest(&node).await;
    assert!(epoch >= 20);
    node.step();
    assert!(latest(&node).await > epoch);
    let block = ask(&node, "cfx_getBlockByEpochNumber", json!(["latest_mined", true])).await;
    let again = ask(&node, "cfx_getBlockByHash", json!([block["hash"], true])).await;
    assert_eq!(block, again);
    assert!(node.url().starts_with("http://127.0.0.1:"));
    let status = |head: &str| head.split(' ').nth(1).map(ToOwned::to_owned).expect("a status");
    let (head, _) = send(node.address(), "GET /", "").await.expect("an answer");
    assert_eq!(status(&head), "405");
    let large = format!("[{}]", " ".repeat(300 * 1024));
    let (head, _) = send(node.address(), "POST /", &large).await.expect("an answer");
    assert_eq!(status(&head), "413");
    let (_, body) = send(node.address(), "POST /", "nonsense").await.expect("an answer");
    assert!(body.contains("-32700"), "{body}");
}

/// What an indexer does: it asks for new epochs and goes back where the parent does not fit.
#[tokio::test]
async fn a_follower_ends_with_the_same_epochs() {
    let node = still().await;
    let (mut followed, mut popped, mut switched): (Vec<(Json, Json)>, _, _) = (Vec::new(), 0, 0);
    for _ in 0..60 {
        switched += usize::from(matches!(node.step(), Step::Switched { .. }));
        while followed.len() as u64 <= latest(&node).await {
            let epoch = json!(format!("{:#x}", followed.len()));
            let pivot = ask(&node, "cfx_getBlockByEpochNumber", json!([epoch, false])).await;
            if followed.last().is_some_and(|(hash, _)| *hash != pivot["parentHash"]) {
                followed.pop();
                popped += 1;
                continue;
            }
            let blocks = ask(&node, "cfx_getBlocksByEpoch", json!([epoch])).await;
            assert_eq!(blocks.as_array().and_then(|blocks| blocks.last()), Some(&pivot["hash"]));
            followed.push((pivot["hash"].clone(), blocks));
        }
    }
    assert!(switched > 3 && popped >= switched, "{switched} switches, {popped} epochs popped");
    for (epoch, (_, blocks)) in followed.iter().enumerate() {
        let there = ask(&node, "cfx_getBlocksByEpoch", json!([format!("{epoch:#x}")])).await;
        assert_eq!(*blocks, there, "epoch {epoch}");
    }
}

#[tokio::test]
async fn it_grows_by_itself_and_ends_when_it_is_dropped() {
    let pace = Duration::from_millis(20);
    let options = TreeGraphOptions { pace, past: 0, ..TreeGraphOptions::default() };
    let node = TreeGraphNode::start(options).await.expect("starts");
    while latest(&node).await < 5 {
        tokio::time::sleep(pace).await;
    }
    let address = node.address();
    let mut open = TcpStream::connect(address).await.expect("connects");
    let request = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n1";
    open.write_all(request.as_bytes()).await.expect("sends");
    let mut buffer = [0; 1024];
    assert!(open.read(&mut buffer).await.expect("an answer") > 0);
    drop(node);
    let ended = tokio::time::timeout(Duration::from_secs(5), async {
        while matches!(open.read(&mut buffer).await, Ok(count) if count > 0) {}
        while TcpStream::connect(address).await.is_ok() {
            tokio::time::sleep(pace).await;
        }
    });
    ended.await.expect("connections break and nobody listens");
}
