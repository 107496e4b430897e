//! A server that indexes a real Conflux node and is killed again and again.

use std::time::{Duration, Instant};

use parts::conflux::ConfluxNode;
use serde_json::Value;

use crate::common::{Place, Server, ask, items};

/// How long an index may take to catch up on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Randomness that can be repeated.
pub(crate) fn random(name: &str) -> fastrand::Rng {
    let given = std::env::var("OSTRAKON_SEED").ok().and_then(|text| text.parse().ok());
    let seed = given.unwrap_or_else(|| fastrand::u64(..));
    println!("{name}: OSTRAKON_SEED={seed}");
    fastrand::Rng::with_seed(seed)
}

/// The part of a configuration that names the node.
pub(crate) fn chain(node: &ConfluxNode) -> String {
    format!(
        "\n[chains.conflux]\nkind = \"conflux\"\nnetwork = \"1234\"\n[[chains.conflux.nodes]]\n\
         name = \"one\"\nhttp = \"{}\"\nws = \"{}\"\n",
        node.http(),
        node.ws()
    )
}

/// Pages of what a switch popped are whole, whatever their size; so is its page for people.
fn check_popped(server: &Server, switch: &Value) {
    let path = format!("journal/{}", switch["number"]);
    let detail = ask(server, &format!("/api/conflux/{path}"));
    assert_eq!(detail["popped"], switch["popped"]);
    let lists = ["blocks", "transactions"].map(|list| {
        let [small, large] = [2, 1000]
            .map(|limit| items(server, &format!("/api/conflux/{path}/{list}?limit={limit}")));
        assert_eq!(small, large, "{list} of {switch}");
        large
    });
    assert_eq!(detail["blocks"].as_u64(), Some(lists[0].len() as u64), "{detail}");
    let page = server.get(&format!("/chains/conflux/{path}"));
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    for hash in lists.iter().filter_map(|list| list.first()?["hash"].as_str()) {
        assert!(page.contains(hash), "{hash} is not on the page of {switch}");
    }
}

/// Waits until the index is as far as its node.
pub(crate) fn wait(server: &Server, node: &ConfluxNode) {
    let begun = Instant::now();
    loop {
        let height = |tag| node.epoch(tag).expect("a number");
        let status = ask(server, "/api/conflux/status");
        let mined = height("latest_mined");
        // A fork may end as high as the branch it leaves, so the height alone says nothing.
        let reached = status["mined"] == mined
            && status["pivot"] == node.pivot(mined).expect("a pivot")
            && status["executed"].as_u64() >= Some(height("latest_state"));
        if reached {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "it does not catch up: {status}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Everything that is indexed, as one word; the whole chain is compared with the node before.
pub(crate) fn digest(place: &Place, config: &str) -> String {
    let line = format!("verify scan conflux --from 0 --to 1000000 --digest --config {config}");
    let report = place.run(&line).ok();
    let digest = report.split_whitespace().skip_while(|word| *word != "digest").nth(1);
    digest.unwrap_or_else(|| panic!("no digest: {report}")).to_owned()
}

/// Kills the server of a configuration again and again while the node works, and compares what is
/// indexed at the end with an index that was made in one go, on an embedded store.
pub(crate) fn killed(place: &Place, node: &ConfluxNode, config: &str) {
    let rng = &mut random("killed while indexing");
    let kills = parts::pick(4, 20);
    for _ in 0..kills {
        let server = place.serve(&format!("run --config {config}"));
        // Whoever was killed keeps the lease for five seconds: this one must write before it dies.
        let (begun, before) =
            (Instant::now(), ask(&server, "/api/conflux/status")["mined"].clone());
        node.empty_blocks(1).expect("mined");
        while ask(&server, "/api/conflux/status")["mined"] == before {
            assert!(begun.elapsed() < PATIENCE, "it does not begin to write");
            std::thread::sleep(Duration::from_millis(50));
        }
        for _ in 0..rng.usize(2..7) {
            node.change(rng).expect("changed");
            std::thread::sleep(Duration::from_millis(rng.u64(0..60)));
        }
        server.kill();
    }
    let server = place.serve(&format!("run --config {config}"));
    wait(&server, node);
    // Whatever chance did so far, one switch is there to be seen.
    let latest = node.epoch("latest_mined").expect("a number");
    let ancestor = node.pivot(latest.saturating_sub(3)).expect("a pivot");
    node.fork_from(&ancestor).expect("mined");
    wait(&server, node);
    let survived = digest(place, config);
    let switches = items(&server, "/api/conflux/journal?limit=1000");
    switches.iter().for_each(|switch| check_popped(&server, switch));
    let popped = switches.len();
    assert!(server.terminate().success());
    place.write("fresh.toml", format!("[store]\ndirectory = \"fresh\"\n{}", chain(node)));
    place.run("schema apply --config fresh.toml").ok();
    let fresh = place.serve("run --config fresh.toml");
    wait(&fresh, node);
    assert_eq!(survived, digest(place, "fresh.toml"), "another chain after {kills} kills");
    println!("{kills} kills, {popped} switches in the journal, digest {survived}");
    assert!(popped > 0, "the pivot never switched");
}
