//! Answers have the shapes of the real node's.

use super::super::messages::{hex, latest_state};
use super::super::{GraphSettings, Hash, Step};
use super::*;

fn graph() -> Graph {
    let mut graph = Graph::new(GraphSettings { seed: 11, switches: 8, ..GraphSettings::default() });
    for step in 0..300 {
        graph.step(1_700_000_000 + step);
    }
    graph
}

fn ask(graph: &Graph, method: &str, params: &Json) -> Json {
    let request = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
    let answer = Rpc::new(graph, 1234).answer(request.to_string().as_bytes()).expect("an answer");
    assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(7)));
    assert_ne!(answer.get("result").is_some(), answer.get("error").is_some(), "{answer}");
    answer
}

fn result(graph: &Graph, method: &str, params: &Json) -> Json {
    ask(graph, method, params).get("result").cloned().unwrap_or_else(|| panic!("{method}"))
}

fn refused(graph: &Graph, method: &str, params: &Json, code: i64, words: &str) {
    let error = &ask(graph, method, params)["error"];
    assert_eq!(error["code"], code, "{method} {params}: {error}");
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains(words), "{method} {params}: {message}");
}

/// The fields of an object, and of what kind each is.
fn shape(json: &Json) -> Vec<(String, &'static str)> {
    let kind = |value: &Json| match value {
        Json::Null => "null",
        Json::Bool(_) => "bool",
        Json::Array(_) => "array",
        Json::String(text) if text.starts_with("0x") && text.len() == 66 => "hash",
        Json::String(text) if text.starts_with("0x") => "hex",
        Json::String(text) if text.starts_with("NET1234:TYPE.") => "address",
        _ => "something else",
    };
    let fields = json.as_object().expect("an object").iter();
    fields.map(|(name, value)| (name.clone(), kind(value))).collect()
}

/// A block and two transactions that a real node sent: one executed elsewhere, one here.
const BLOCK: &str = r#"{"adaptive":false,"baseFeePerGas":"0x1","blame":"0x0","blockNumber":"0x12",
"custom":["0x04"],
"deferredLogsBloomHash":"0xd397b3b043d87fcd6fad1291ff0bfd16401c274896d8c63a923727f077b8e0b5",
"deferredReceiptsRoot":"0x09f8709ea9f344a810811a373b30861568f5686e649d6177fd92ea2db7477508",
"deferredStateRoot":"0x65a54d86a1bf69040ec164f04e591e133c9cf7b209b4fa4c2fd20b5f39f69677",
"difficulty":"0x4","epochNumber":"0x12","gasLimit":"0x3938700","gasUsed":"0x5208",
"hash":"0xb4ecdb498facf0ea57470bd59f02334522214df6d002de9999b69b09391c4165","height":"0x9",
"miner":"NET1234:TYPE.NULL:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA4U9N6H98",
"nonce":"0x7c75df855509adf8",
"parentHash":"0xeb431f6ab2794b4fb52d136939246548701620bb134b5843b691994f1e19da56",
"posReference":"0x0000000000000000000000000000000000000000000000000000000000000000",
"powQuality":"0x7","refereeHashes":[],"size":"0xd7","timestamp":"0x6af9f601","transactions":[],
"transactionsRoot":"0xf429445ca78cee83b26859b5ee1b4079f913a841be88df10c672128895cd1092"}"#;
const TRANSACTION: &str = r#"{
"blockHash":"0xb4ecdb498facf0ea57470bd59f02334522214df6d002de9999b69b09391c4165",
"chainId":"0x4d2","contractCreated":null,"data":"0x","epochHeight":"0x8",
"from":"NET1234:TYPE.USER:AAPKDYATEK72ZSFVKHPBE27GK4HFY53W2Y6ZWRP5SG","gas":"0x5208",
"gasPrice":"0x3b9aca00",
"hash":"0x18c26c753f83f312c50cc4379ba582df761e077b66c98b92441ee114fd537f3d","nonce":"0x0",
"r":"0x8afeaea8e7120543acce2c4eeebf10d74518b82e755b5b0dea11c73fefd84d6e",
"s":"0x64ab9cd35260abd22089f9b0fac35e86ace0496649114a93875df3ac8da122da","status":"0x0",
"storageLimit":"0x0","to":"NET1234:TYPE.USER:AAN1XP6SB6UUMRAWC7RNX6SYPXA0T0FTHYU8NXNVB6",
"transactionIndex":"0x1","type":"0x0","v":"0x1","value":"0xde"}"#;

#[test]
fn blocks_and_transactions_look_like_those_of_a_real_node() {
    let graph = graph();
    let (real_block, real_tx): (Json, Json) = (
        serde_json::from_str(BLOCK).expect("JSON"),
        serde_json::from_str(TRANSACTION).expect("JSON"),
    );
    let (mut here, mut elsewhere) = (0, 0);
    for epoch in 0..=latest_state(&graph) {
        for hash in graph.epoch(epoch).expect("is kept") {
            let params = json!([hash.to_string(), true]);
            let block = result(&graph, "cfx_getBlockByHash", &params);
            assert_eq!(shape(&block), shape(&real_block));
            assert_eq!(block["epochNumber"], hex(epoch));
            for transaction in block["transactions"].as_array().expect("a list") {
                if transaction["blockHash"].is_null() {
                    elsewhere += 1;
                    for field in ["status", "transactionIndex"] {
                        assert!(transaction[field].is_null(), "{transaction}");
                    }
                } else {
                    here += 1;
                    let mut real = real_tx.clone();
                    if transaction["to"].is_null() {
                        // It makes a contract, or fails to.
                        let made = transaction["status"] == "0x0";
                        real["contractCreated"] = if made { real["to"].take() } else { Json::Null };
                        real["to"] = Json::Null;
                    }
                    assert_eq!(shape(transaction), shape(&real));
                    assert_eq!(transaction["blockHash"], block["hash"]);
                }
            }
        }
    }
    assert!(here > 100 && elsewhere > 10, "{here}, {elsewhere}");
}

#[test]
fn transactions_are_hashes_unless_they_are_wanted_whole() {
    let graph = graph();
    let whole = result(&graph, "cfx_getBlockByEpochNumber", &json!(["0x20", true]));
    let brief = result(&graph, "cfx_getBlockByEpochNumber", &json!(["0x20", false]));
    let hashes: Vec<_> =
        whole["transactions"].as_array().expect("a list").iter().map(|tx| &tx["hash"]).collect();
    assert_eq!(brief["transactions"], json!(hashes));
    assert_eq!(brief["hash"], json!(graph.pivot(0x20).expect("a pivot").to_string()));
}

#[test]
fn epochs_have_numbers_and_names() {
    let graph = graph();
    let latest = graph.latest();
    for (name, epoch) in [
        ("earliest", 0),
        ("latest_mined", latest),
        ("latest_state", latest - 4),
        ("latest_confirmed", latest - 12),
        ("latest_finalized", latest - 24),
        ("0x10", 16),
    ] {
        assert_eq!(result(&graph, "cfx_epochNumber", &json!([name])), hex(epoch), "{name}");
    }
    assert_eq!(result(&graph, "cfx_epochNumber", &json!([])), hex(latest));
    let blocks = result(&graph, "cfx_getBlocksByEpoch", &json!(["latest_mined"]));
    let last = blocks.as_array().and_then(|blocks| blocks.last()).expect("a block");
    assert_eq!(*last, json!(graph.pivot(latest).expect("a pivot").to_string()));
    let status = result(&graph, "cfx_getStatus", &json!([]));
    assert_eq!((&status["bestHash"], &status["epochNumber"]), (last, &json!(hex(latest))));
    assert_eq!(status.as_object().map(serde_json::Map::len), Some(11));
    assert!(
        result(&graph, "cfx_clientVersion", &json!([])).as_str().expect("text").contains("dev")
    );
}

#[test]
fn a_block_that_a_switch_took_out_has_a_stale_epoch_and_no_number() {
    let mut graph = Graph::new(GraphSettings { switches: 0, ..GraphSettings::default() });
    for step in 0..20 {
        graph.step(step);
    }
    let old = graph.pivot(graph.latest()).expect("a pivot");
    let stale = hex(graph.latest());
    graph.settings_mut().switches = 100;
    assert!(matches!(graph.step(20), Step::Switched { .. }));
    let block = result(&graph, "cfx_getBlockByHash", &json!([old.to_string(), false]));
    assert_eq!((&block["blockNumber"], &block["epochNumber"]), (&Json::Null, &json!(stale)));
    assert_eq!(block["gasUsed"], Json::Null);
}

#[test]
fn errors_are_those_of_the_protocol() {
    let graph = graph();
    refused(&graph, "cfx_nothing", &json!([]), -32601, "Method not found");
    // Over HTTP nobody can be told later.
    refused(&graph, "cfx_subscribe", &json!(["epochs"]), -32090, "not available");
    for (method, params, words) in [
        ("cfx_epochNumber", json!([1]), "invalid type"),
        ("cfx_epochNumber", json!(["0x"]), "cannot parse integer from empty string."),
        ("cfx_epochNumber", json!(["0xZZZ"]), "invalid digit found in string."),
        ("cfx_epochNumber", json!(["-0x1"]), "missing 0x prefix."),
        ("cfx_epochNumber", json!(["0x7fffffffffffffff"]), "less than largest epoch number."),
        ("cfx_epochNumber", json!({ "epoch": "0x1" }), "array"),
        ("cfx_getBlocksByEpoch", json!([]), "invalid type"),
        ("cfx_getBlockByHash", json!(["0x12", true]), "length of 64"),
        ("cfx_getBlockByHash", json!([Hash([1; 32]).to_string()]), "boolean"),
        ("cfx_getBlockByEpochNumber", json!(["0x1", true, 1]), "at most 2"),
    ] {
        refused(&graph, method, &params, -32602, words);
    }
    let unknown = json!([Hash([1; 32]).to_string(), false]);
    assert_eq!(result(&graph, "cfx_getBlockByHash", &unknown), Json::Null);
    let mut short = Graph::new(GraphSettings { epochs: 20, ..GraphSettings::default() });
    for step in 0..100 {
        short.step(step);
    }
    refused(&short, "cfx_getBlocksByEpoch", &json!(["0x0"]), -32602, "forgotten");
}

#[test]
fn batches_notifications_and_nonsense_are_handled_as_the_standard_says() {
    let graph = graph();
    let rpc = Rpc::new(&graph, 1234);
    let code =
        |body: &str| rpc.answer(body.as_bytes()).map(|answer| answer["error"]["code"].clone());
    assert_eq!(code("{"), Some(json!(-32700)));
    for bad in [
        "[]",
        "1",
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"cfx_epochNumber"}"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"cfx_epochNumber"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"cfx_epochNumber","params":"0x1"}"#,
    ] {
        assert_eq!(code(bad), Some(json!(-32600)), "{bad}");
    }
    let one = r#"{"jsonrpc":"2.0","id":"a","method":"cfx_epochNumber"}"#;
    let quiet = r#"{"jsonrpc":"2.0","method":"cfx_epochNumber"}"#;
    assert_eq!(rpc.answer(quiet.as_bytes()), None);
    assert_eq!(rpc.answer(format!("[{quiet},{quiet}]").as_bytes()), None);
    let answer = rpc.answer(format!("[{one},{quiet},1,{one}]").as_bytes()).expect("answers");
    let ids: Vec<_> = answer.as_array().expect("a list").iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, [&json!("a"), &Json::Null, &json!("a")]);
    let many = vec![one; BATCH_REQUESTS + 1].join(",");
    assert_eq!(code(&format!("[{many}]")), Some(json!(-32600)));
}
