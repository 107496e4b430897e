//! The explorer as a whole: a real node, a server that is killed, an API that is asked nonsense.

mod common;
mod treegraph;

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use common::{Place, Server, ask, items};
use parts::conflux;
use parts::require;
use serde_json::Value;
use treegraph::chain;

#[test]
fn killed_with_9_again_and_again_the_index_is_the_same() {
    let Some(conflux) = require(conflux::install()) else { return };
    let node = conflux.start().expect("starts");
    let place = Place::new();
    place.write("o.toml", format!("[store]\ndirectory = \"data\"\n{}", chain(&node)));
    place.run("schema apply --config o.toml").ok();
    treegraph::killed(&place, &node, "o.toml");
}

#[test]
fn when_a_node_dies_the_next_one_is_followed() {
    let Some(conflux) = require(conflux::install()) else { return };
    let (mut one, two) = (conflux.start().expect("starts"), conflux.start().expect("starts"));
    one.connect(&two).expect("connected");
    one.empty_blocks(5).expect("mined");
    one.wait_agreed(&two).expect("they agree");
    let place = Place::new();
    let second = format!(
        "[[chains.conflux.nodes]]\nname = \"two\"\nhttp = \"{}\"\npriority = 1\n",
        two.http()
    );
    let chain = chain(&one) + &second;
    place.write("o.toml", format!("[store]\ndirectory = \"data\"\n{chain}"));
    place.run("schema apply --config o.toml").ok();
    let server = place.serve("run --config o.toml");
    treegraph::wait(&server, &one);
    one.process().kill();
    two.empty_blocks(7).expect("mined");
    treegraph::wait(&server, &two);
    let metrics = server.get("/metrics");
    let failures = metrics.lines().find(|line| line.starts_with("ostrakon_scan_failures_total{"));
    assert!(!failures.expect("measured").ends_with(" 0"), "{failures:?}");
    let report = place.run(&format!("verify scan conflux --node {} --config o.toml", two.http()));
    assert!(report.ok().contains("scan.epochs"), "compared");
    assert!(server.terminate().success());
}

/// A demo whose chain is in the index.
fn indexed_demo(place: &Place) -> Server {
    let server = place.demo("data");
    let begun = Instant::now();
    while ask(&server, "/api/devnet/status")["mined"].as_u64() < Some(500) {
        assert!(begun.elapsed().as_secs() < 60, "the demo's chain is not indexed");
        std::thread::sleep(Duration::from_millis(100));
    }
    server
}

/// Status, code and detail of a refusal.
fn refused(server: &Server, path: &str) -> (u64, String, String) {
    let problem = ask(server, path);
    let text = |name: &str| problem[name].as_str().unwrap_or_default().to_owned();
    (problem["status"].as_u64().unwrap_or(200), text("code"), text("detail"))
}

#[test]
fn bad_input_is_refused_with_what_to_do() {
    let place = Place::new();
    let server = indexed_demo(&place);
    let hash = "0x".to_owned() + &"ab".repeat(32);
    for (path, status, code, says) in [
        ("blocks/0x12", 400, "bad-path", "0x and 64 hexadecimal digits"),
        (&*format!("blocks/{}", &hash[2..]), 400, "bad-path", "64 hexadecimal"),
        (&*format!("blocks/{hash}"), 404, "not-found", "block"),
        (&*format!("transactions/{hash}"), 404, "not-found", "transaction"),
        (&*format!("transactions/{hash}00"), 400, "bad-path", "64 hexadecimal"),
        (&*format!("blocks/{hash}/transactions"), 404, "not-found", "block"),
        ("accounts/cfx:aa", 400, "bad-path", "Base32 has 42"),
        ("accounts/0x12/transactions", 400, "bad-path", "40 digits"),
        (
            "accounts/CFX:TYPE.USER:AARC9ABYCUE0HHZGYRR53M6CXEDGCCRMMYYBJGH4XH/transactions",
            400,
            "bad-path",
            "checksum",
        ),
        ("epochs/99999999", 404, "not-found", "not there yet"),
        ("epochs/-1", 400, "bad-path", "a number"),
        ("epochs/0xzz", 400, "bad-path", "a number"),
        ("latest?blocks=0", 400, "bad-query", "from 1 to"),
        ("blocks?limit=0", 400, "bad-limit", "from 1 to 1000"),
        ("blocks?order=up", 400, "bad-query", "order"),
        ("blocks?cursor=abc", 400, "bad-cursor", "cursor"),
        ("journal/99999999", 404, "not-found", "switch"),
        ("journal/99999999/blocks", 404, "not-found", "switch"),
        ("journal/99999999/transactions", 404, "not-found", "switch"),
        ("blocks/export?format=xml", 400, "bad-query", "format"),
    ] {
        let found = refused(&server, &format!("/api/devnet/{path}"));
        assert_eq!((found.0, found.1.as_str()), (status, code), "{path}: {}", found.2);
        assert!(found.2.contains(says), "{path}: {}", found.2);
    }
    let (status, code, _) = refused(&server, "/api/nowhere/blocks");
    assert_eq!((status, code.as_str()), (404, "not-found"));
    let unknown = ask(&server, "/api/devnet/accounts/0x1fffffffffffffffffffffffffffffffffffffff");
    assert_eq!((&unknown["transactions"], &unknown["blocks"]), (&0.into(), &0.into()));
    // A cursor of another list, of another address, of another order.
    let cursor = ask(&server, "/api/devnet/blocks?limit=3")["next"].clone();
    let cursor = cursor.as_str().expect("there is more");
    for path in ["transactions?limit=3", "blocks?order=asc&limit=3", "epochs?limit=3"] {
        let path = format!("/api/devnet/{path}&cursor={cursor}");
        let (status, code, detail) = refused(&server, &path);
        assert_eq!((status, code.as_str()), (400, "bad-cursor"), "{path}");
        assert!(detail.contains("another list"), "{detail}");
    }
}

#[test]
fn lists_are_paged_to_their_end_and_exports_have_the_same_rows() {
    let place = Place::new();
    let server = indexed_demo(&place);
    let miner = ask(&server, "/api/devnet/miners?limit=1&order=asc");
    let miner = miner["items"][0]["address"].as_str().expect("an address").to_owned();
    let listed = items(&server, &format!("/api/devnet/miners/{miner}/blocks?limit=7"));
    let position = |item: &Value| item["position"].as_u64().expect("a number");
    let positions: Vec<u64> = listed.iter().map(position).collect();
    let all: Vec<u64> = (0..positions.len() as u64).rev().collect();
    assert_eq!(positions, all, "each once, the newest first");
    let lines = |path: &str| {
        let answer = server.get(path);
        answer.lines().filter(|line| line.contains("0x")).count()
    };
    assert!(lines(&format!("/api/devnet/miners/{miner}/export")) >= positions.len());
    assert!(lines(&format!("/api/devnet/miners/{miner}/export?format=ndjson")) >= positions.len());
    let found = ask(&server, &format!("/api/search?q={miner}"));
    assert_eq!(found["hits"][0]["kind"], "account", "{found}");
    let found = ask(&server, "/api/search?q=17");
    let epoch = found["hits"].as_array().expect("a list").iter().find(|it| it["kind"] == "epoch");
    assert_eq!(epoch.expect("an epoch")["page"], "/chains/devnet/epochs/17");
}

#[test]
fn what_redis_clients_ask_is_measured() {
    let place = Place::new();
    let port = parts::free_port().expect("a port");
    place.write(
        "o.toml",
        format!(
            "[store]\ndirectory = \"data\"\n\
             [chains.conflux]\nkind = \"conflux\"\nnetwork = \"1234\"\n\
             [redis.conflux]\nlisten = \"127.0.0.1:{port}\"\n"
        ),
    );
    place.run("schema apply --config o.toml").ok();
    let server = place.serve("run --config o.toml");
    let mut client = TcpStream::connect(("127.0.0.1", port)).expect("connected");
    client.write_all(b"PING\r\nNONSENSE\r\n").expect("sent");
    let mut answers = BufReader::new(&client).lines();
    assert_eq!(answers.next().expect("answered").expect("read"), "+PONG");
    assert!(answers.next().expect("answered").expect("read").starts_with("-ERR"));
    let metrics = server.get("/metrics");
    for line in ["connections", "accepted_total", "errors_total"] {
        let line = format!("ostrakon_redis_{line}{{chain=\"conflux\"}} 1");
        assert!(metrics.lines().any(|it| it.trim_end() == line), "no {line}: {metrics}");
    }
    assert!(metrics.contains("ostrakon_redis_commands_total{chain=\"conflux\"} 2"), "{metrics}");
    drop(answers);
    assert!(server.terminate().success());
}
