//! Our keys beside a real Redis that holds the same: every command, random arguments, equal bytes.

#[path = "paper/client.rs"]
mod client;
#[path = "paper/making.rs"]
mod making;
mod paper;

use std::collections::BTreeSet;

use client::{Answer, Client, Words, words};
use fastrand::Rng;
use making::Making;
use paper::{Chain, Entry, Layout};
use store::conformance::{full, seed};

const PATTERNS: &[&str] = &[
    "*",
    "epoch:*",
    "epoch:?",
    "epoch:[0-3]*",
    "blocks:*",
    "blocks:*:transactions",
    "blocks.*",
    "*account*",
    "transactions:0x[a-c]*",
    "transactions.by.*",
    "miners",
    "nosuch",
    "[mp]*",
    "latest.blocks*",
    "*.in.order",
    "epoch:\\*",
    "",
    "blocks.by.miner:0x1*",
];

/// The same with its items in an order of their own; in pairs, where it has pairs.
fn sorted(mut answer: Answer, size: usize) -> Answer {
    let mut groups: Vec<Vec<Answer>> = answer.items.chunks(size).map(<[Answer]>::to_vec).collect();
    groups.sort();
    answer.items = groups.concat();
    answer
}

/// Makes what has no order comparable.
fn settled(request: &Words, answer: Answer) -> Answer {
    let name = String::from_utf8_lossy(&request[0]).to_uppercase();
    match name.as_str() {
        "HGETALL" => sorted(answer, 2),
        "HKEYS" | "HVALS" | "KEYS" => sorted(answer, 1),
        _ => answer,
    }
}

/// Both servers, which are asked the same.
struct Pair {
    ours: Client,
    real: Client,
}

impl Pair {
    async fn connect(ours: u16, real: u16) -> Self {
        Self { ours: Client::connect(ours).await, real: Client::connect(real).await }
    }

    /// Asks the same; how many answers are neither errors nor nothing.
    async fn same(&mut self, requests: &[Words]) -> usize {
        let ours = self.ours.ask_all(requests).await;
        let real = self.real.ask_all(requests).await;
        let nothing = ["$-1", "_", "*0", "%0", ":0", "+none"];
        let says = |answer: &&Answer| {
            !answer.line.starts_with('-') && !nothing.contains(&answer.line.as_str())
        };
        let telling = ours.iter().filter(says).count();
        for ((request, ours), real) in requests.iter().zip(ours).zip(real) {
            let shown: Vec<_> = request.iter().map(|word| String::from_utf8_lossy(word)).collect();
            let (ours, real) = (settled(request, ours), settled(request, real));
            assert_eq!(ours, real, "ours and that of Redis to {shown:?}");
        }
        telling
    }

    /// All that a walk finds, of both; each command goes on at its own cursor.
    async fn same_walk(&mut self, command: &str, options: &str, pairs: bool) -> usize {
        let mut found = [BTreeSet::new(), BTreeSet::new()];
        for (client, found) in [&mut self.ours, &mut self.real].into_iter().zip(&mut found) {
            let mut cursor = "0".to_owned();
            for _ in 0..10_000 {
                let answer = client.line(&format!("{command} {cursor}{options}")).await;
                cursor = answer.texts()[0].clone();
                let items = answer.items[1].texts();
                found.extend(items.chunks(if pairs { 2 } else { 1 }).map(<[String]>::to_vec));
                if cursor == "0" {
                    break;
                }
            }
            assert_eq!(cursor, "0", "{command} {options} never ends");
        }
        assert_eq!(found[0], found[1], "{command} {options}");
        found[0].len()
    }
}

/// Puts the layout into a Redis, and makes it a replica: those refuse to be written to.
async fn load(real: &mut Client, layout: &Layout) {
    let mut requests = vec![words("REPLICAOF NO ONE"), words("FLUSHALL")];
    for (key, entry) in layout {
        let mut request = vec![String::new(), key.clone()];
        request[0] = match entry {
            Entry::Text(text) => {
                request.push(text.clone());
                "SET"
            }
            Entry::Hash(fields) => {
                request.extend(fields.iter().flat_map(|(name, it)| [name.clone(), it.clone()]));
                "HSET"
            }
            Entry::Sorted(members) => {
                let words = |(score, it): &(u64, String)| [score.to_string(), it.clone()];
                request.extend(members.iter().flat_map(words));
                "ZADD"
            }
            Entry::List(elements) => {
                request.extend(elements.iter().cloned());
                "RPUSH"
            }
        }
        .to_owned();
        requests.push(request.into_iter().map(String::into_bytes).collect());
    }
    requests.push(words("REPLICAOF 127.0.0.1 1"));
    for chunk in requests.chunks(500) {
        for answer in real.ask_all(chunk).await {
            assert!(!answer.line.starts_with('-'), "{answer:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_command_answers_as_a_real_redis_with_the_same_keys_does() {
    let Some(redis) = parts::require(parts::redis::install()) else { return };
    let seed = seed("scan, redis");
    let mut rng = Rng::with_seed(seed);
    let server = redis.start().expect("redis starts");
    let mut chain = Chain::new(rng.u64(..)).await;
    let mut loader = Client::connect(server.port()).await;
    let (mut asked, mut telling, mut walked) = (0, 0, 0);
    let (mut seen, mut gone) = (BTreeSet::new(), Vec::new());
    let rounds = if full() { 40 } else { 6 };
    for _ in 0..rounds {
        for _ in 0..rng.u64(5..25) {
            chain.grow(1).await;
            seen.extend(chain.layout().into_keys());
        }
        let layout = chain.layout();
        load(&mut loader, &layout).await;
        gone.extend(seen.iter().filter(|key| !layout.contains_key(*key)).cloned());
        let keys = layout.keys().collect();
        let rng_of_words = Rng::with_seed(rng.u64(..));
        let mut making = Making { rng: rng_of_words, keys, layout: &layout, gone: &gone };
        for protocol in ["2", "3"] {
            let mut pair = Pair::connect(chain.port, server.port()).await;
            if protocol == "3" {
                // Its answer has an id of the connection.
                pair.ours.line("HELLO 3").await;
                pair.real.line("HELLO 3").await;
            }
            for _ in 0..150 {
                let requests: Vec<_> = (0..10).map(|_| making.command()).collect();
                telling += pair.same(&requests).await;
                asked += requests.len();
            }
            let patterns = PATTERNS.iter().map(|pattern| words(&format!("KEYS {pattern}")));
            pair.same(&patterns.collect::<Vec<_>>()).await;
            for options in ["", " COUNT 1000", " MATCH epoch:* COUNT 3", " TYPE zset", " TYPE x"] {
                walked += pair.same_walk("SCAN", options, false).await;
            }
            walked += pair.same_walk("HSCAN miners", " COUNT 2", true).await;
        }
    }
    println!(
        "{asked} commands equal, of which {telling} tell something, and {walked} walked keys; \
         {} switches, {} epochs popped, {} keys gone",
        chain.switches,
        chain.popped,
        gone.iter().collect::<BTreeSet<_>>().len()
    );
    assert!(3 * telling > asked, "too many errors to prove anything");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_that_writes_is_refused_in_the_words_of_a_replica() {
    let Some(redis) = parts::require(parts::redis::install()) else { return };
    let server = redis.start().expect("redis starts");
    let mut chain = Chain::new(1).await;
    chain.grow(3).await;
    load(&mut Client::connect(server.port()).await, &chain.layout()).await;
    let mut pair = Pair::connect(chain.port, server.port()).await;
    let listed = pair.real.line("COMMAND").await;
    let mut refused = 0;
    for command in &listed.items {
        let [name, arity, flags, ..] = command.items.as_slice() else { panic!("{command:?}") };
        if !flags.items.iter().any(|flag| flag.line == "+write") {
            continue;
        }
        let name = String::from_utf8_lossy(&name.bytes).into_owned();
        let arity: i64 = arity.line[1..].parse().expect("a number");
        let request = |count: i64| {
            let words = std::iter::once(name.clone()).chain((1..count).map(|_| "1".to_owned()));
            words.map(String::into_bytes).collect::<Words>()
        };
        let answer = pair.ours.ask(&request(arity.abs())).await;
        assert!(answer.line.starts_with("-READONLY"), "{name}: {answer:?}");
        if arity.abs() > 1 {
            pair.same(&[request(arity.abs() - 1)]).await;
        }
        refused += 1;
    }
    pair.same(&["SET a b", "DEL miners", "FLUSHALL", "ZADD x 1 a"].map(words)).await;
    println!("{refused} commands refused");
    assert!(refused > 90, "the commands of Redis were not found");
}

/// What a switch takes off the chain is gone from every key, and comes back with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn popped_blocks_have_no_keys() {
    let mut chain = Chain::new(seed("scan, popped")).await;
    let mut client = Client::connect(chain.port).await;
    for (line, answer) in
        [("DBSIZE", ":0"), ("EXISTS miners", ":0"), ("KEYS *", "*0"), ("TYPE epoch:0", "+none")]
    {
        assert_eq!(client.line(line).await.line, answer, "{line} before the first block");
    }
    let (mut seen, mut gone) = (BTreeSet::new(), 0);
    for _ in 0..60 {
        chain.grow(1).await;
        let layout = chain.layout();
        seen.extend(layout.keys().cloned());
        for key in &seen {
            let exists = client.line(&format!("EXISTS {key}")).await.line;
            assert_eq!(exists == ":1", layout.contains_key(key), "{key}");
            gone += u64::from(exists == ":0");
        }
        let size = client.line("DBSIZE").await.line;
        assert_eq!(size, format!(":{}", layout.len()));
    }
    println!("{} epochs popped, {gone} times a key was gone", chain.popped);
}

/// What is asked while the chain moves on; each answer is made from many rows.
const WATCHED: [&str; 5] = [
    "LRANGE pivot.chain -20 -1",
    "ZREVRANGE blocks.in.order 0 20 WITHSCORES",
    "ZRANGE latest.blocks 0 -1 WITHSCORES",
    "HGETALL miners",
    "DBSIZE",
];

/// Clients ask while the pivot switches: every answer is one that some moment had.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_answer_mixes_two_moments() {
    let mut chain = Chain::new(seed("scan, untorn keys")).await;
    chain.grow(20).await;
    let done = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let readers: Vec<_> = WATCHED
        .into_iter()
        .map(|line| {
            let (done, port) = (done.clone(), chain.port);
            tokio::spawn(async move {
                let mut client = Client::connect(port).await;
                let mut answers = BTreeSet::new();
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    answers.insert(client.line(line).await);
                }
                answers
            })
        })
        .collect();
    let mut quiet = Client::connect(chain.port).await;
    let mut moments = vec![BTreeSet::new(); WATCHED.len()];
    for step in 0..=120 {
        // Nobody else publishes, so that these answers are of the moment between two steps.
        for (line, moments) in WATCHED.into_iter().zip(&mut moments) {
            moments.insert(quiet.line(line).await);
        }
        if step < 120 {
            chain.grow(1).await;
        }
    }
    done.store(true, std::sync::atomic::Ordering::Relaxed);
    let mut seen = Vec::new();
    for ((line, reader), moments) in WATCHED.into_iter().zip(readers).zip(moments) {
        let answers = reader.await.expect("it read");
        for answer in &answers {
            assert!(moments.contains(answer), "{line}: {:?} never was", answer.texts());
        }
        seen.push(format!("{} of {}", answers.len(), moments.len()));
    }
    println!("{} epochs popped; answers seen of those that were: {seen:?}", chain.popped);
}
