//! Tells subscribers what a step brought.
//!
//! The real node has no message for a switch: epochs that were replaced are sent again, and so are
//! the ones above. Whoever listens sees a switch by the parent of a pivot.

use std::sync::Arc;

use tokio::sync::broadcast;

use super::Graph;
use super::messages::{self, latest_state};
use super::subscriptions::Topic;

/// Notices that wait for a connection; one that falls further behind is closed.
const NOTICES: usize = 1024;

/// Something to tell: the JSON of what happened.
#[derive(Clone, Debug)]
pub(super) struct Notice {
    pub(super) topic: Topic,
    pub(super) result: Arc<str>,
}

impl Notice {
    /// The message for a subscription.
    pub(super) fn message(&self, subscription: &str) -> String {
        let result = &self.result;
        // The name is ours, and needs no escaping.
        format!(r#"{{"jsonrpc":"2.0","method":"cfx_subscription","params":{{"result":{result},"#)
            + &format!(r#""subscription":"{subscription}"}}}}"#)
    }
}

/// Where notices come from.
#[derive(Debug)]
pub(super) struct Hub {
    network: u64,
    notices: broadcast::Sender<Notice>,
    /// The newest epoch that was told to be executed.
    executed: u64,
}

impl Hub {
    pub(super) fn new(graph: &Graph, network: u64) -> Self {
        let (notices, _) = broadcast::channel(NOTICES);
        Self { network, notices, executed: latest_state(graph) }
    }

    pub(super) fn listen(&self) -> broadcast::Receiver<Notice> {
        self.notices.subscribe()
    }

    /// Tells what the last step of the graph brought. The order is the real node's: blocks as they
    /// come, then epochs as they are mined, then as they are executed.
    pub(super) fn tell(&mut self, graph: &Graph) {
        let (news, executed) = (graph.news(), latest_state(graph));
        let first_executed = news.from.min(self.executed + 1);
        self.executed = executed;
        if self.notices.receiver_count() == 0 {
            return;
        }
        for (hash, placed) in &news.heads {
            if let Some(found) = graph.block(hash) {
                self.send(Topic::Heads, &messages::head(self.network, found, *placed));
            }
        }
        for number in news.from..=graph.latest() {
            self.send(Topic::Mined, &messages::epoch(graph, number));
        }
        for number in first_executed..=executed {
            self.send(Topic::State, &messages::epoch(graph, number));
        }
    }

    fn send(&self, topic: Topic, result: &serde_json::Value) {
        // Nobody listens: nobody is told.
        let _ = self.notices.send(Notice { topic, result: result.to_string().into() });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::super::{GraphSettings, Step};
    use super::*;

    /// The fields of samples/conflux/pubsub_pivot_switch.json.
    const HEAD: [&str; 19] = [
        "adaptive",
        "blame",
        "blockNumber",
        "deferredLogsBloomHash",
        "deferredReceiptsRoot",
        "deferredStateRoot",
        "difficulty",
        "epochNumber",
        "gasLimit",
        "hash",
        "height",
        "miner",
        "nonce",
        "parentHash",
        "posReference",
        "powQuality",
        "refereeHashes",
        "timestamp",
        "transactionsRoot",
    ];

    fn told(notices: &mut broadcast::Receiver<Notice>, topic: Topic) -> Vec<Json> {
        let all = std::iter::from_fn(|| notices.try_recv().ok());
        let wanted = all.filter(|notice| notice.topic == topic);
        wanted.map(|notice| serde_json::from_str(&notice.result).expect("JSON")).collect()
    }

    #[test]
    fn a_listener_to_epochs_ends_with_the_same_epochs_through_every_switch() {
        for (topic, behind) in [(Topic::Mined, 0), (Topic::State, 4)] {
            let settings = GraphSettings { seed: 4, switches: 20, ..GraphSettings::default() };
            let mut graph = Graph::new(settings);
            let mut hub = Hub::new(&graph, 1234);
            let mut notices = hub.listen();
            let mut epochs = vec![json!([graph.pivot(0).expect("first").to_string()])];
            let mut again = 0;
            for step in 0..300 {
                graph.step(settings.genesis + step);
                hub.tell(&graph);
                for told in told(&mut notices, topic) {
                    let number = told["epochNumber"].as_str().expect("hex");
                    let number = usize::from_str_radix(&number[2..], 16).expect("hex");
                    again += usize::from(number < epochs.len());
                    epochs.truncate(number);
                    assert_eq!(epochs.len(), number, "none is left out");
                    epochs.push(told["epochHashesOrdered"].clone());
                }
                let state = graph.latest().saturating_sub(behind);
                let there: Vec<_> = (0..=state)
                    .map(|number| graph.epoch(number).expect("is kept"))
                    .map(|hashes| json!(hashes.iter().map(messages::text).collect::<Vec<_>>()))
                    .collect();
                assert_eq!(epochs, there);
            }
            assert!(again > 10, "{topic:?}: {again}");
        }
    }

    #[test]
    fn heads_are_told_as_they_come_and_a_branch_has_no_place_until_it_wins() {
        let settings = GraphSettings { switches: 0, ..GraphSettings::default() };
        let mut graph = Graph::new(settings);
        let mut hub = Hub::new(&graph, 1234);
        for step in 0..30 {
            graph.step(step);
        }
        hub.tell(&graph);
        let mut notices = hub.listen();
        assert_eq!(graph.switch(5, 31), Step::Switched { depth: 5 });
        hub.tell(&graph);
        let heads = told(&mut notices, Topic::Heads);
        for head in &heads {
            let fields: Vec<_> = head.as_object().expect("fields").keys().collect();
            assert_eq!(fields, HEAD);
            assert_eq!(head["blockNumber"].is_null(), head["epochNumber"].is_null());
        }
        let placed = heads.iter().position(|head| !head["blockNumber"].is_null());
        assert!(placed.is_some_and(|placed| placed >= 5), "{placed:?}");
    }

    #[test]
    fn a_message_is_the_real_one() {
        let result = json!({ "epochHashesOrdered": ["0x1"], "epochNumber": "0x2c" });
        let notice = Notice { topic: Topic::Mined, result: result.to_string().into() };
        let message: Json = serde_json::from_str(&notice.message("0x013cf4")).expect("JSON");
        let params = json!({ "result": result, "subscription": "0x013cf4" });
        let whole = json!({ "jsonrpc": "2.0", "method": "cfx_subscription", "params": params });
        assert_eq!(message, whole);
    }
}
