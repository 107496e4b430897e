//! Hears from a node that something is new. What is new is asked for, as if nobody had said so: a
//! notice that is lost, doubled or late costs time and nothing else.

use std::sync::Arc;
use std::time::Duration;

use platform::outgoing::NodeClient;
use serde_json::{Value, json};
use tokio::sync::Notify;

/// How long it waits before it connects again, at first and at the most.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// A node that says nothing for so long is asked for a sign of life by connecting again.
const SILENCE: Duration = Duration::from_secs(120);

/// Listens to a node for ever. End it by dropping it.
pub(crate) async fn listen(client: Arc<NodeClient>, url: String, new: Arc<Notify>) {
    let mut pause = PAUSES.0;
    loop {
        let heard = hear(&client, &url, &new).await;
        pause = if heard > 0 { PAUSES.0 } else { (pause * 2).min(PAUSES.1) };
        tokio::time::sleep(pause).await;
    }
}

/// Listens as long as the connection lasts; how many notices came.
async fn hear(client: &NodeClient, url: &str, new: &Notify) -> u64 {
    let mut socket = match client.socket(url).await {
        Ok(socket) => socket,
        Err(error) => {
            tracing::debug!(%error, "no notices from the node; it is asked every second instead");
            return 0;
        }
    };
    for (id, tag) in [(1, "latest_mined"), (2, "latest_state")] {
        let call = json!({
            "jsonrpc": "2.0", "id": id, "method": "cfx_subscribe", "params": ["epochs", tag],
        });
        if socket.send(call.to_string()).await.is_err() {
            return 0;
        }
    }
    let mut heard = 0;
    while let Ok(Ok(text)) = tokio::time::timeout(SILENCE, socket.next()).await {
        let notice: Value = serde_json::from_str(&text).unwrap_or_default();
        if notice.get("method").and_then(Value::as_str) == Some("cfx_subscription") {
            heard += 1;
            new.notify_one();
        }
    }
    heard
}

#[cfg(test)]
mod tests {
    use super::*;
    use devnet::{TreeGraphNode, TreeGraphOptions};

    async fn hears(node: &TreeGraphNode, new: &Notify) -> bool {
        // The subscription may come a moment after the connection.
        for _ in 0..100 {
            node.step();
            let wait = tokio::time::timeout(Duration::from_millis(200), new.notified());
            if wait.await.is_ok() {
                return true;
            }
        }
        false
    }

    #[tokio::test]
    async fn a_node_wakes_us_and_does_so_again_after_its_connection_broke() {
        let options =
            TreeGraphOptions { pace: Duration::from_secs(3600), ..TreeGraphOptions::default() };
        let node = TreeGraphNode::start(options).await.expect("starts");
        let new = Arc::new(Notify::new());
        let client = Arc::new(NodeClient::new().expect("a client"));
        let listening = tokio::spawn(listen(client, node.ws_url(), new.clone()));
        assert!(hears(&node, &new).await, "no notice came");
        node.drop_connections();
        // What was on its way before the break is no sign of a new connection.
        let _ = tokio::time::timeout(Duration::from_millis(100), new.notified()).await;
        assert!(hears(&node, &new).await, "no notice came over a second connection");
        listening.abort();
    }
}
