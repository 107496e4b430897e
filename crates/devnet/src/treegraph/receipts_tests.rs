//! Receipts have the fields and the sums of the real node's.

use std::collections::{HashMap, HashSet};

use super::super::{Account, GraphSettings, Rpc};
use super::*;

fn graph(seed: u64, steps: u64) -> Graph {
    let settings = GraphSettings { seed, switches: 8, siblings: 40, ..GraphSettings::default() };
    let mut graph = Graph::new(settings);
    for step in 0..steps {
        graph.step(1_700_000_000 + step);
    }
    graph
}

fn ask(graph: &Graph, method: &str, params: &Json) -> Json {
    let request = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
    Rpc::new(graph, 1234).answer(request.to_string().as_bytes()).expect("an answer")
}

fn result(graph: &Graph, method: &str, params: &Json) -> Json {
    ask(graph, method, params).get("result").cloned().expect("a result")
}

/// The fields of samples/conflux/cfx_getEpochReceipts_with_eth.json.
const FIELDS: [&str; 23] = [
    "accumulatedGasUsed",
    "blockHash",
    "burntGasFee",
    "contractCreated",
    "effectiveGasPrice",
    "epochNumber",
    "from",
    "gasCoveredBySponsor",
    "gasFee",
    "gasUsed",
    "index",
    "logs",
    "logsBloom",
    "outcomeStatus",
    "space",
    "stateRoot",
    "storageCollateralized",
    "storageCoveredBySponsor",
    "storageReleased",
    "to",
    "transactionHash",
    "txExecErrorMsg",
    "type",
];

fn number(json: &Json) -> u64 {
    let digits = json.as_str().and_then(|text| text.strip_prefix("0x")).expect("hex");
    u64::from_str_radix(digits, 16).expect("a number")
}

#[test]
fn each_transaction_is_executed_once_and_its_copies_are_not() {
    let graph = graph(11, 400);
    let (mut done, mut outcomes, mut created, mut logs) = (HashSet::new(), HashMap::new(), 0, 0);
    for epoch in 0..=latest_state(&graph) {
        let blocks = graph.epoch(epoch).expect("is kept");
        let pivot = format!("hash:{}", graph.pivot(epoch).expect("a pivot"));
        let told = result(&graph, "cfx_getEpochReceipts", &json!([hex(epoch), true]));
        let plain = result(&graph, "cfx_getEpochReceipts", &json!([pivot]));
        let told = told.as_array().expect("a list").clone();
        assert_eq!(told.len(), blocks.len());
        for ((hash, receipts), plain) in
            blocks.iter().zip(&told).zip(plain.as_array().expect("a list"))
        {
            let block = result(&graph, "cfx_getBlockByHash", &json!([hash.to_string(), true]));
            let receipts = receipts.as_array().expect("a list");
            let packed = block["transactions"].as_array().expect("a list");
            assert_eq!((receipts.len(), plain[0].get("space")), (packed.len(), None));
            for (index, (receipt, transaction)) in receipts.iter().zip(packed).enumerate() {
                let fields: Vec<_> = receipt.as_object().expect("fields").keys().collect();
                assert_eq!(fields, FIELDS);
                assert_eq!(receipt["transactionHash"], transaction["hash"]);
                assert_eq!(receipt["blockHash"], block["hash"]);
                assert_eq!(receipt["index"], hex(index as u64));
                let outcome = receipt["outcomeStatus"].as_str().expect("text").to_owned();
                let first = done.insert(receipt["transactionHash"].to_string());
                assert_eq!(outcome != "0x2", first, "the first one executes");
                assert_eq!(receipt["txExecErrorMsg"].is_null(), outcome == "0x0");
                let alone = [receipt["transactionHash"].clone()];
                let by_hash = result(&graph, "cfx_getTransactionByHash", &json!(alone));
                let single = result(&graph, "cfx_getTransactionReceipt", &json!(alone));
                if first {
                    assert_eq!(transaction["status"], outcome.as_str());
                    assert_eq!(transaction["contractCreated"], receipt["contractCreated"]);
                    assert_eq!(by_hash, *transaction);
                    let mut whole = receipt.as_object().expect("fields").clone();
                    whole.remove("accumulatedGasUsed");
                    whole.remove("space");
                    assert_eq!(single, Json::Object(whole));
                } else {
                    assert!(transaction["blockHash"].is_null() && receipt["gasUsed"] == "0x0");
                    assert_ne!(by_hash["blockHash"], receipt["blockHash"]);
                }
                created += usize::from(!receipt["contractCreated"].is_null());
                logs += receipt["logs"].as_array().expect("a list").len();
                *outcomes.entry(outcome).or_insert(0) += 1;
            }
            let used = receipts.iter().map(|receipt| number(&receipt["gasUsed"])).sum::<u64>();
            assert_eq!(number(&block["gasUsed"]), used);
            let last = receipts.last().map(|receipt| number(&receipt["accumulatedGasUsed"]));
            assert_eq!(last.unwrap_or_default(), used);
        }
    }
    println!("{outcomes:?}, {created} contracts, {logs} logs");
    assert!(outcomes.len() == 3 && outcomes.values().all(|count| *count > 20), "{outcomes:?}");
    assert!(created > 5 && logs > 50, "{created}, {logs}");
}

#[test]
fn what_is_not_executed_or_no_pivot_is_told_as_the_real_node_does() {
    let mut graph = graph(3, 60);
    let (latest, state) = (graph.latest(), latest_state(&graph));
    assert_eq!(latest, state + 4);
    let receipts = |graph: &Graph, param: Json| {
        let answer = ask(graph, "cfx_getEpochReceipts", &json!([param]));
        (answer.get("result").cloned(), answer["error"]["code"].as_i64())
    };
    let of_hash = |hash: &Hash| json!(format!("hash:{hash}"));
    assert_eq!(receipts(&graph, json!(hex(state + 1))), (Some(Json::Null), None));
    assert_eq!(receipts(&graph, json!("latest_mined")), (Some(Json::Null), None));
    assert!(receipts(&graph, json!("latest_state")).0.is_some_and(|told| told.is_array()));
    assert_eq!(receipts(&graph, json!(hex(latest + 1))), (None, Some(-32602)));
    let tip = graph.pivot(latest).expect("a pivot");
    assert_eq!(receipts(&graph, of_hash(&tip)), (Some(Json::Null), None));
    assert_eq!(receipts(&graph, of_hash(&Hash([7; 32]))), (None, Some(-32602)));
    assert_eq!(receipts(&graph, json!("hash:0x12")), (None, Some(-32602)));
    // Mined and not executed: known, and nothing of its execution is.
    let waiting: Vec<_> = (state + 1..=latest)
        .flat_map(|epoch| graph.epoch(epoch).expect("is kept").to_vec())
        .flat_map(|hash| graph.block(&hash).expect("is kept").block.transactions.clone())
        .filter(|it| graph.execution(&it.hash).is_some_and(|done| done.epoch > state))
        .collect();
    for transaction in &waiting {
        let hash = json!([transaction.hash.to_string()]);
        assert_eq!(result(&graph, "cfx_getTransactionReceipt", &hash), Json::Null);
        let told = result(&graph, "cfx_getTransactionByHash", &hash);
        assert!(told["hash"] == hash[0] && told["blockHash"].is_null());
    }
    assert!(!waiting.is_empty());
    // A pivot of before a switch, and a block that never was one.
    let old = graph.pivot(state - 1).expect("a pivot");
    graph.switch(6, 1_700_000_100);
    assert_eq!(receipts(&graph, of_hash(&old)), (None, Some(-32075)));
    let loose = json!({ "blockHash": old.to_string(), "requirePivot": false });
    assert!(receipts(&graph, loose).0.is_some_and(|told| told.is_array()));
    let assumed = |pivot: &Hash, epoch: u64| {
        let params = json!([pivot.to_string(), pivot.to_string(), hex(epoch)]);
        ask(&graph, "cfx_getBlockByHashWithPivotAssumption", &params)
    };
    let message = assumed(&old, state - 1)["error"]["message"].to_string();
    assert!(message.contains("pivot chain assumption failed"), "{message}");
    let now = graph.pivot(state - 1).expect("a pivot");
    assert_eq!(assumed(&now, state - 1)["result"]["hash"], json!(now.to_string()));
    assert!(assumed(&now, 1 << 40)["error"].is_object());
    let skipped = result(&graph, "cfx_getSkippedBlocksByEpoch", &json!(["latest_mined"]));
    assert_eq!(skipped, json!([]));
}

/// A node that runs for days forgets old epochs; what it executed there is not executed again when
/// a copy turns up, and what is left has its receipts.
#[test]
fn nothing_is_executed_twice_when_old_epochs_are_forgotten() {
    let settings = GraphSettings { epochs: 60, switches: 8, siblings: 40, ..Default::default() };
    let (mut graph, mut done, mut next) = (Graph::new(settings), HashSet::new(), 0);
    for step in 0..2000 {
        graph.step(1_700_000_000 + step);
        // Too deep for any switch.
        while next + 24 < graph.latest() {
            let told = of_epoch(&graph, 1234, next, false).expect("is executed");
            let receipts = told.as_array().expect("blocks").iter().filter_map(Json::as_array);
            for receipt in receipts.flatten().filter(|it| it["outcomeStatus"] != "0x2") {
                assert!(done.insert(receipt["transactionHash"].to_string()), "{receipt}");
            }
            next += 1;
        }
    }
    assert!(graph.earliest() > 1000 && done.len() > 3000, "{}", done.len());
    let first = of_epoch(&graph, 1234, graph.earliest(), false).expect("is kept");
    assert_eq!(first.as_array().map(Vec::len), graph.epoch(graph.earliest()).map(<[Hash]>::len));
    assert!(of_epoch(&graph, 1234, graph.earliest() - 1, false).is_none());
}

/// Address, topic and bloom are those of
/// samples/conflux/cfx_getTransactionReceipt_contract_log.json.
#[test]
fn blooms_are_those_of_a_real_node() {
    let address = Account([
        0x8e, 0xa0, 0xda, 0x18, 0x24, 0x86, 0x83, 0x53, 0x3f, 0xc2, 0x07, 0x1e, 0x7f, 0x9a, 0xc2,
        0xd2, 0x1b, 0xf7, 0x32, 0x69,
    ]);
    let log = Log { address, topics: vec![Hash([0x11; 32])], data: Vec::new() };
    let real = BLOOM_BITS.iter().fold([0; BLOOM], |mut bloom, (at, byte)| {
        bloom[*at] = *byte;
        bloom
    });
    assert_eq!(bloom(&[log]), real);
    assert_eq!(bloom(&[]), [0; BLOOM]);
}

/// The bytes of that bloom that are not 0, and where they are.
const BLOOM_BITS: [(usize, u8); 6] =
    [(26, 0x20), (82, 0x02), (120, 0x04), (140, 0x08), (188, 0x20), (225, 0x08)];
