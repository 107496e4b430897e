//! Each of the paper's thirteen keys through the real `redis-cli`, as the paper says it is read.

mod paper;

use std::collections::BTreeMap;

use paper::{Chain, Entry, LATEST, Layout};
use parts::redis::Redis;
use store::conformance::seed;

/// `redis-cli` on our port.
struct Cli {
    redis: Redis,
    port: u16,
}

impl Cli {
    /// The lines of an answer.
    fn lines(&self, command: &str) -> Vec<String> {
        let words: Vec<&str> = command.split(' ').collect();
        let answer = self.redis.ask(self.port, &words).expect(command);
        answer.lines().map(str::to_owned).collect()
    }

    fn check(&self, command: &str, expected: &[String]) {
        assert_eq!(self.lines(command), expected, "{command}");
    }

    fn is_type(&self, key: &str, expected: &str) {
        assert_eq!(self.lines(&format!("TYPE {key}")), [expected], "{key}");
    }
}

/// A key of the layout that begins and ends so; the last one, which is not the first block's.
fn named<'a>(layout: &'a Layout, beginning: &str, end: &str, colons: usize) -> &'a String {
    let fits = |key: &&String| {
        key.starts_with(beginning) && key.ends_with(end) && key.matches(':').count() == colons
    };
    layout.keys().rfind(fits).expect(beginning)
}

fn hash<'a>(layout: &'a Layout, key: &str) -> &'a BTreeMap<String, String> {
    let Entry::Hash(fields) = &layout[key] else { panic!("{key} is no hash") };
    fields
}

fn sorted(layout: &Layout, key: &str) -> Vec<(String, String)> {
    let Entry::Sorted(members) = &layout[key] else { panic!("{key} is no sorted set") };
    members.iter().map(|(score, member)| (member.clone(), score.to_string())).collect()
}

fn list<'a>(layout: &'a Layout, key: &str) -> &'a [String] {
    let Entry::List(elements) = &layout[key] else { panic!("{key} is no list") };
    elements
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_cli_reads_the_thirteen_keys_of_the_paper() {
    let Some(redis) = parts::require(parts::redis::install()) else { return };
    let mut chain = Chain::new(seed("scan, redis-cli")).await;
    chain.grow(40).await;
    let layout = chain.layout();
    let cli = Cli { redis, port: chain.port };
    hashes(&cli, &layout);
    sorted_sets(&cli, &layout);
    lists(&cli, &layout);
    texts(&cli, &layout);
    let mut scanned = cli.lines("--scan");
    scanned.sort_unstable();
    assert_eq!(scanned, layout.keys().cloned().collect::<Vec<_>>(), "--scan finds all keys");
    let mut epochs = cli.lines("--scan --pattern epoch:1?");
    epochs.sort_unstable();
    let expected = layout.keys().filter(|key| key.starts_with("epoch:1") && key.len() == 8);
    assert_eq!(epochs, expected.cloned().collect::<Vec<_>>());
    let error = redis.ask(chain.port, &["SET", "a", "b"]).expect_err("refused").to_string();
    assert!(error.contains("READONLY You can't write against a read only replica."), "{error}");
    assert!(cli.lines("-3 HGET miners nosuch").is_empty(), "nothing, in RESP3");
    println!("{} keys, each family read", layout.len());
}

/// 1 `blocks:${hash}`, 2 `transactions:${hash}`, 11 `miners`.
fn hashes(cli: &Cli, layout: &Layout) {
    let block = named(layout, "blocks:", "", 1);
    let transaction = named(layout, "transactions:", "", 1);
    for key in [block.as_str(), transaction, "miners"] {
        cli.is_type(key, "hash");
        let lines = cli.lines(&format!("HGETALL {key}"));
        let pairs: BTreeMap<_, _> =
            lines.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
        assert_eq!(pairs, *hash(layout, key), "{key}");
        for (field, value) in hash(layout, key).iter().take(30) {
            cli.check(&format!("HGET {key} {field}"), std::slice::from_ref(value));
        }
    }
    let fields = hash(layout, block);
    assert!(fields["isPivot"] == "0x0" || fields["isPivot"] == "0x1");
    assert!(fields["refereeHashes"].starts_with('[') && fields["miner"].len() == 42);
    assert!(hash(layout, transaction)["firstBlockHash"].len() == 66);
}

/// 3 `blocks:${hash}:transactions`, 4 `blocks.in.order`, 5 `transactions.in.order`,
/// 7 `blocks.by.miner:${address}`, 8 `latest.blocks`.
fn sorted_sets(cli: &Cli, layout: &Layout) {
    let packed = named(layout, "blocks:", ":transactions", 2);
    let mined = named(layout, "blocks.by.miner:", "", 1);
    let all = ["blocks.in.order", "transactions.in.order", "latest.blocks"];
    for key in all.into_iter().chain([packed.as_str(), mined.as_str()]) {
        cli.is_type(key, "zset");
        let members = sorted(layout, key);
        let flat: Vec<_> =
            members.iter().flat_map(|(it, score)| [it.clone(), score.clone()]).collect();
        cli.check(&format!("ZRANGE {key} 0 -1 WITHSCORES"), &flat);
        cli.check(&format!("ZCARD {key}"), &[members.len().to_string()]);
        let newest: Vec<_> =
            members.iter().rev().take(3).map(|(member, _)| member.clone()).collect();
        cli.check(&format!("ZREVRANGE {key} 0 2"), &newest);
        let (member, score) = members.last().expect("not empty");
        cli.check(&format!("ZSCORE {key} {member}"), std::slice::from_ref(score));
        cli.check(&format!("ZRANGEBYSCORE {key} {score} {score}"), std::slice::from_ref(member));
    }
    assert_eq!(sorted(layout, "latest.blocks").len(), LATEST, "capped");
}

/// 6 `transactions.by.account:${address}`, 12 `pivot.chain`, 13 `epoch:${number}`.
fn lists(cli: &Cli, layout: &Layout) {
    let account = named(layout, "transactions.by.account:", "", 1);
    for key in [account, "pivot.chain", "epoch:0", "epoch:9"] {
        cli.is_type(key, "list");
        let elements = list(layout, key);
        cli.check(&format!("LRANGE {key} 0 -1"), elements);
        cli.check(&format!("LLEN {key}"), &[elements.len().to_string()]);
        cli.check(&format!("LINDEX {key} 0"), &elements[..1]);
        cli.check(&format!("LINDEX {key} -1"), &elements[elements.len() - 1..]);
    }
    cli.check("LRANGE epoch:0x9 0 -1", list(layout, "epoch:9"));
    let parts: Vec<_> = list(layout, account)[0].split(',').collect();
    assert!(parts.len() == 3 && ["in", "out", "self", "create"].contains(&parts[1]), "{parts:?}");
    let kinds = layout.iter().filter_map(|(key, entry)| match entry {
        Entry::List(elements) if key.starts_with("transactions.by") => Some(elements),
        _ => None,
    });
    let kinds: std::collections::BTreeSet<_> =
        kinds.flatten().filter_map(|element| element.split(',').nth(1)).collect();
    println!("accounts have transactions of {kinds:?}");
}

/// 9 `latest.blocks.sum.difficulties`, 10 `latest.blocks.sum.transactions`.
fn texts(cli: &Cli, layout: &Layout) {
    for key in ["latest.blocks.sum.difficulties", "latest.blocks.sum.transactions"] {
        cli.is_type(key, "string");
        let Entry::Text(text) = &layout[key] else { panic!("{key} is no text") };
        cli.check(&format!("GET {key}"), std::slice::from_ref(text));
        assert!(text.bytes().all(|digit| digit.is_ascii_digit()));
    }
}
