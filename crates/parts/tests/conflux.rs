//! A Conflux node starts, grows the structures it is told to, comes back after kill -9, and ends.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use parts::conflux::{self, Account, ConfluxNode, Fee, Mining, RpcError, Settings, Transaction};
use parts::{require, wait_until};
use serde_json::{Value, json};

/// Code that emits one log and creates a contract without code.
const CONTRACT: [u8; 18] = [
    0x60, 0x2a, 0x60, 0x00, 0x52, // MSTORE(0, 42)
    0x60, 0x07, 0x60, 0x20, 0x60, 0x00, 0xa1, // LOG1(0, 32, topic 7)
    0x60, 0x00, 0x60, 0x00, 0xf3, // RETURN(0, 0)
    0x00,
];

/// Runs it and prints how long it took.
fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = work();
    println!("{what}: {:.1} s", start.elapsed().as_secs_f64());
    done
}

/// Memory of a process as the kernel counts it, in MiB.
fn resident(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a size");
    let size = line.split_whitespace().nth(1).expect("a number");
    size.parse::<u64>().expect("a number") / 1024
}

/// The addresses on which this machine listens on a port, as the kernel writes them.
fn listening(port: u16) -> Vec<String> {
    let tables = ["tcp", "tcp6", "udp", "udp6"];
    let text: String = tables
        .iter()
        .map(|table| fs::read_to_string(format!("/proc/net/{table}")).unwrap_or_default())
        .collect();
    let places = text.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        // 0A is a listening TCP socket, 07 a UDP socket without a peer.
        let open = matches!(words.get(3), Some(&("0A" | "07")));
        words.get(1).filter(|_| open).copied()
    });
    let suffix = format!(":{port:04X}");
    places.filter_map(|place| place.strip_suffix(&suffix)).map(str::to_owned).collect()
}

fn block(node: &ConfluxNode, hash: &str) -> Value {
    node.rpc("cfx_getBlockByHash", json!([hash, false])).expect("a block")
}

fn receipt(node: &ConfluxNode, transaction: &str) -> Value {
    node.rpc("cfx_getTransactionReceipt", json!([transaction])).expect("an answer")
}

fn mined(node: &ConfluxNode) -> u64 {
    node.epoch("latest_mined").expect("a number")
}

#[test]
fn a_node_starts_mines_by_itself_and_ends() {
    let Some(conflux) = require(timed("install", conflux::install)) else { return };
    let mining = Mining::Every(Duration::from_millis(200));
    let settings = Settings { chain_id: 2024, mining, ..Settings::default() };
    let mut node = conflux.start_with(&settings).expect("starts");
    let status = node.rpc("cfx_getStatus", json!([])).expect("answers");
    assert_eq!(status["chainId"], json!("0x7e8"));
    let before = mined(&node);
    wait_until("three more epochs", Duration::from_secs(60), || {
        let now = mined(&node);
        if now >= before + 3 { Ok(()) } else { Err(now) }
    })
    .expect("mined");
    let owner = Account::numbered(0).address().base32(2024);
    let owned = node.rpc("cfx_getBalance", json!([owner])).expect("answers");
    assert_eq!(owned, json!(format!("{:#x}", 10_000 * 10_u128.pow(18))), "10,000 CFX");
    for port in node.ports() {
        let places = listening(port);
        let loopback = ["0100007F", "00000000000000000000000001000000"];
        assert!(places.iter().all(|place| loopback.contains(&place.as_str())), "{places:?}");
    }
    assert_eq!(listening(node.ports()[0]), ["0100007F"], "HTTP");
    let error = node.rpc("cfx_nothing", json!([])).expect_err("no such method");
    assert!(matches!(error, RpcError::Refused { code: -32601, .. }), "{error}");
    let (pid, dir) = (node.process().id(), node.process().dir().to_owned());
    println!("one node: {} MiB", resident(pid));
    drop(node);
    assert!(!Path::new(&format!("/proc/{pid}")).exists() && !dir.exists());
}

/// One test for all of them: starting a node takes longer than they do together.
#[test]
fn a_node_grows_the_structures_it_is_told_to() {
    let Some(conflux) = require(conflux::install()) else { return };
    let node = timed("one node", || conflux.start().expect("starts"));
    siblings_are_merged_into_one_epoch(&node);
    an_epoch_has_the_size_that_was_asked_for(&node);
    blocks_beyond_two_hundred_are_skipped(&node);
    a_heavier_fork_switches_the_pivot_and_the_old_blocks_come_back(&node);
    transactions_are_executed_and_have_receipts(&node);
    the_same_transaction_is_packed_in_two_branches_and_executed_once(&node);
    // The last one: its block stays behind, in no epoch.
    a_block_with_the_wrong_parent_joins_no_epoch(&node);
}

fn siblings_are_merged_into_one_epoch(node: &ConfluxNode) {
    let before = mined(node);
    let siblings = node.siblings(3).expect("three blocks");
    let next = node.empty_blocks(1).expect("a block").remove(0);
    assert_eq!(mined(node), before + 2);
    // Among equals the largest hash is on the pivot chain; the others come with the next block.
    let pivot = node.pivot(before + 1).expect("a pivot block");
    assert_eq!(Some(&pivot), siblings.iter().max());
    let epoch = node.blocks(before + 2).expect("an epoch");
    assert_eq!((epoch.len(), epoch.last()), (3, Some(&next)));
    assert!(siblings.iter().all(|hash| *hash == pivot || epoch.contains(hash)));
}

fn an_epoch_has_the_size_that_was_asked_for(node: &ConfluxNode) {
    let error = node.block_on(&format!("{:#066x}", 7), &[]).expect_err("no such parent");
    assert!(matches!(error, RpcError::Refused { .. }), "{error}");
    for size in [1, 2, 3, 7] {
        let pivot = node.epoch_of(size).expect("an epoch");
        assert_eq!(node.best().expect("a block"), pivot);
        assert_eq!(node.blocks(mined(node)).expect("an epoch").len(), size);
    }
}

fn blocks_beyond_two_hundred_are_skipped(node: &ConfluxNode) {
    let pivot = timed("an epoch of 230 blocks", || node.epoch_of(230).expect("an epoch"));
    let epoch = mined(node);
    let (blocks, skipped) = (node.blocks(epoch).expect("some"), node.skipped(epoch).expect("some"));
    assert_eq!((blocks.len(), skipped.len()), (200, 30));
    assert_eq!(blocks.last(), Some(&pivot));
    assert!(!skipped.iter().any(|hash| blocks.contains(hash)));
    // A skipped block says in which epoch it would be.
    assert_eq!(block(node, &skipped[0])["epochNumber"], json!(format!("{epoch:#x}")));
}

fn a_block_with_the_wrong_parent_joins_no_epoch(node: &ConfluxNode) {
    let parent = node.best().expect("a block");
    let child = node.block_on(&parent, &[]).expect("a block");
    // It has seen the child and yet builds beside it.
    let wrong = node.block_on(&parent, &[child]).expect("the call succeeds");
    node.empty_blocks(5).expect("five epochs");
    assert_eq!(block(node, &wrong)["epochNumber"], Value::Null);
}

fn a_heavier_fork_switches_the_pivot_and_the_old_blocks_come_back(node: &ConfluxNode) {
    let old = node.empty_blocks(4).expect("four epochs");
    let last = mined(node);
    let ancestor = node.pivot(last - 4).expect("a block");
    let new = timed("a switch of 4 epochs", || node.fork_from(&ancestor).expect("switches"));
    // Four equals win only by a larger hash.
    assert!((4..=5).contains(&new.len()), "{}", new.len());
    let first = node.pivot(last - 3).expect("a block");
    assert_eq!((first.as_str(), &block(node, &first)["parentHash"]), (&*new[0], &json!(ancestor)));
    assert_ne!(first, old[0]);
    assert_eq!(block(node, &old[3])["blockNumber"], Value::Null, "in no epoch");
    node.empty_blocks(1).expect("a block");
    let merged = node.blocks(mined(node)).expect("an epoch");
    assert_eq!(merged[..4], old, "the old branch in its order");
    assert_eq!(merged.len(), 5);
}

fn transactions_are_executed_and_have_receipts(node: &ConfluxNode) {
    let [from, to] = [0, 1].map(Account::numbered);
    let transfer = node.transfer(&from, to.address(), 5).expect("sent");
    let create = node.create(&from, CONTRACT.to_vec()).expect("sent");
    let fee = Fee::Market { most: 2_000_000_000, tip: 1 };
    let typed = Transaction { fee, ..Transaction::transfer(to.address(), 7) };
    let typed = node.sign(&from, &typed).expect("signed");
    assert_eq!(node.send(&typed).expect("sent"), typed.hash());
    let packed = node.pack(10).expect("a block");
    assert_eq!(block(node, &packed)["transactions"].as_array().map(Vec::len), Some(3));
    assert_eq!(receipt(node, &transfer), Value::Null, "mined, not executed");
    let epoch = node.execute().expect("executed");
    for hash in [&transfer, &create, &typed.hash()] {
        let receipt = receipt(node, hash);
        assert_eq!(receipt["outcomeStatus"], json!("0x0"), "{receipt}");
        assert_eq!(receipt["blockHash"], json!(packed));
        assert_eq!(receipt["epochNumber"], json!(format!("{epoch:#x}")));
    }
    let created = receipt(node, &create);
    assert!(created["contractCreated"].as_str().expect("an address").contains("TYPE.CONTRACT"));
    assert_eq!(created["logs"].as_array().map(Vec::len), Some(1));
    let from = receipt(node, &transfer)["from"].as_str().expect("an address").to_lowercase();
    let sender = Account::numbered(0).address().base32(node.settings().chain_id);
    assert_eq!(from.replace(":type.user:", ":"), sender);
    // Beyond latest_state there are no receipts.
    let state = node.epoch("latest_state").expect("a number");
    let beyond = json!([format!("{:#x}", state + 2)]);
    let answer = node.rpc("cfx_getEpochReceipts", beyond);
    assert!(!matches!(&answer, Ok(Value::Array(_))), "{answer:?}");
}

fn the_same_transaction_is_packed_in_two_branches_and_executed_once(node: &ConfluxNode) {
    let [from, to] = [2, 3].map(Account::numbered);
    let fee = Fee::Market { most: 2_000_000_000, tip: 0 };
    let first = node.next_nonce(&from.address()).expect("a number");
    let transactions = [
        Transaction::transfer(to.address(), 1).nonce(first),
        Transaction { fee, ..Transaction::transfer(to.address(), 2).nonce(first + 1) },
    ];
    let signed = transactions.map(|transaction| node.sign(&from, &transaction).expect("signed"));
    let branches = node.in_two_branches(&signed).expect("two blocks");
    node.empty_blocks(1).expect("merged");
    node.execute().expect("executed");
    let pivot = branches.iter().max().expect("two");
    for transaction in &signed {
        let receipt = receipt(node, &transaction.hash());
        assert_eq!(receipt["outcomeStatus"], json!("0x0"), "{receipt}");
        assert_eq!(receipt["blockHash"], json!(pivot), "the pivot's epoch comes first");
    }
    for branch in &branches {
        let block = node.rpc("cfx_getBlockByHash", json!([branch, true])).expect("a block");
        let hashes: Vec<&Value> = block["transactions"]
            .as_array()
            .expect("transactions")
            .iter()
            .map(|transaction| &transaction["hash"])
            .collect();
        assert_eq!(hashes, [&json!(signed[0].hash()), &json!(signed[1].hash())]);
        let executed = block["transactions"][0]["status"] == json!("0x0");
        assert_eq!(executed, branch == pivot, "{block}");
    }
}

#[test]
fn two_nodes_part_mine_apart_and_meet_again() {
    let Some(conflux) = require(conflux::install()) else { return };
    let (one, two) = std::thread::scope(|scope| {
        let start = || conflux.start().expect("starts");
        let (one, two) = (scope.spawn(start), scope.spawn(start));
        (one.join().expect("no panic"), two.join().expect("no panic"))
    });
    timed("two nodes meet", || one.connect(&two).expect("they meet"));
    one.empty_blocks(3).expect("mined");
    let common = timed("agree on 3 blocks", || one.wait_agreed(&two).expect("they agree"));
    timed("they part", || one.part(&two).expect("they part"));
    let light = one.empty_blocks(4).expect("mined");
    let heavy = two.empty_blocks(7).expect("mined");
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(one.best().expect("a block"), light[3], "it knows nothing of the other's");
    assert_eq!(block(&two, &heavy[0])["parentHash"], json!(common));
    timed("they meet again", || one.connect(&two).expect("they meet"));
    let best = timed("and agree", || one.wait_agreed(&two).expect("they agree"));
    assert_eq!(best, heavy[6]);
    assert_eq!(one.pivot(4).expect("a block"), heavy[0], "its four epochs were popped");
    two.empty_blocks(1).expect("mined");
    one.wait_agreed(&two).expect("they agree");
    let merged = one.blocks(mined(&one)).expect("an epoch");
    assert_eq!(merged[..4], light);
}

#[test]
fn blocks_survive_kill_9_and_the_node_goes_on() {
    let Some(conflux) = require(conflux::install()) else { return };
    let mut node = conflux.start().expect("starts");
    let [from, to] = [0, 1].map(Account::numbered);
    let sent = node.transfer(&from, to.address(), 5).expect("sent");
    node.pack(1).expect("packed");
    let merge = node.epoch_of(3).expect("an epoch");
    node.execute().expect("executed");
    let (best, last) = (node.best().expect("a block"), mined(&node));
    let executed = receipt(&node, &sent);
    assert_eq!(executed["outcomeStatus"], json!("0x0"), "{executed}");
    node.process().kill();
    let error = node.best().expect_err("it is dead");
    assert!(matches!(error, RpcError::Io { .. }), "{error}");
    timed("started again", || node.start_again().expect("starts again"));
    assert_eq!((node.best().expect("a block"), mined(&node)), (best, last));
    assert_eq!(receipt(&node, &sent), executed);
    assert_ne!(block(&node, &merge)["blockNumber"], Value::Null);
    node.empty_blocks(2).expect("it goes on");
    assert_eq!(mined(&node), last + 2);
    let dir = node.process().dir().to_owned();
    drop(node);
    assert!(!dir.exists(), "nothing is left, of both starts");
}

#[test]
fn a_node_that_packs_at_once_executes_what_it_is_sent() {
    let Some(conflux) = require(conflux::install()) else { return };
    let settings = Settings { mining: Mining::AtOnce, ..Settings::default() };
    let node = conflux.start_with(&settings).expect("starts");
    let [from, to] = [0, 1].map(Account::numbered);
    let sent = node.transfer(&from, to.address(), 5).expect("sent");
    wait_until("a receipt", Duration::from_secs(30), || match receipt(&node, &sent) {
        Value::Null => Err("none yet"),
        receipt => Ok(receipt),
    })
    .expect("executed without a call for a block");
}
