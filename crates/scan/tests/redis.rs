//! Our keys beside a real Redis that holds the same: every command, random arguments, equal bytes.

#[path = "paper/client.rs"]
mod client;
mod paper;

use std::collections::BTreeSet;

use client::{Answer, Client, Words, words};
use fastrand::Rng;
use paper::{Chain, Entry, Layout};
use store::conformance::{full, seed};

/// Commands that read a key, with what their other words are.
const READING: &[(&str, &str)] = &[
    ("TYPE", ""),
    ("EXISTS", ""),
    ("EXISTS", "kkk"),
    ("GET", ""),
    ("STRLEN", ""),
    ("HGETALL", ""),
    ("HGET", "m"),
    ("HMGET", "m"),
    ("HMGET", "mmm"),
    ("HLEN", ""),
    ("HKEYS", ""),
    ("HVALS", ""),
    ("HEXISTS", "m"),
    ("ZRANGE", "iio"),
    ("ZRANGE", "ssbo"),
    ("ZRANGE", "ssbo"),
    ("ZREVRANGE", "iio"),
    ("ZRANGEBYSCORE", "sso"),
    ("ZREVRANGEBYSCORE", "sso"),
    ("ZCOUNT", "ss"),
    ("ZCARD", ""),
    ("ZSCORE", "m"),
    ("ZRANK", "m"),
    ("LRANGE", "ii"),
    ("LLEN", ""),
    ("LINDEX", "i"),
];

/// Commands that are the same whatever the keys are.
const PLAIN: &[&str] = &[
    "PING",
    "PING hello",
    "PING a b",
    "ECHO",
    "ECHO x",
    "SELECT 0",
    "SELECT 16",
    "SELECT -1",
    "SELECT x",
    "SELECT 99999999999",
    "DBSIZE",
    "DBSIZE x",
    "NOSUCH",
    "NOSUCH a b c",
    "GET",
    "GET a b",
    "CLIENT",
    "CLIENT SETNAME a",
    "CLIENT SETNAME",
    "CLIENT GETNAME",
    "CLIENT NOSUCH",
    "CLIENT GETNAME x",
    "CLIENT NO-EVICT on",
    "CLIENT NO-EVICT x",
    "COMMAND NOSUCH",
    "COMMAND COUNT x",
    "AUTH x",
    "AUTH a b c",
    "HELLO x",
    "HELLO 4",
    "HELLO 3 SETNAME",
    "HELLO 2 NOSUCH",
    "HELLO 3 SETNAME b NOSUCH c",
    "SCAN x",
    "SCAN 0 COUNT 0",
    "SCAN 0 COUNT x",
    "SCAN 0 NOSUCH",
    "SCAN 0 MATCH",
    "SCAN -",
    "HSCAN miners x",
    "HSCAN miners 0 TYPE hash",
    "HSCAN nosuch 0",
    "HSCAN pivot.chain 0",
    "HSCAN nosuch x",
    "SET a b",
    "SET a",
    "DEL a",
    "FLUSHALL",
    "ZADD a 1 b",
    "ZADD a",
    "HSET a b c",
    "LPUSH a b",
    "EXPIRE a 1",
    "INCR",
    "ZRANGE a",
    "ZRANGE nosuch 0 -1 LIMIT 0 1",
    "KEYS",
    "KEYS a b",
    "QUIT2",
    "STRLEN",
];

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

struct Making<'a> {
    rng: Rng,
    keys: Vec<&'a String>,
    layout: &'a Layout,
    gone: &'a [String],
}

impl Making<'_> {
    fn pick<'b>(&mut self, texts: &[&'b str]) -> &'b str {
        texts[self.rng.usize(..texts.len())]
    }

    /// A key: mostly of the type that the command reads, sometimes another, none, or a gone one.
    fn key(&mut self, command: &str) -> String {
        for _ in 0..50 {
            let key = self.keys[self.rng.usize(..self.keys.len())];
            // Keys that there is one of are as likely as the many others.
            if key.contains(':') && self.rng.u8(0..4) == 0 {
                continue;
            }
            let fits = match (&self.layout[key], command.as_bytes()[0]) {
                (Entry::Text(_), b'G' | b'S') => true,
                (Entry::Hash(_), b'H') => true,
                (Entry::Sorted(_), b'Z') => true,
                (Entry::List(_), b'L') => true,
                _ => self.rng.u8(0..20) == 0,
            };
            if fits {
                return key.clone();
            }
        }
        match self.rng.u8(0..3) {
            0 if !self.gone.is_empty() => self.gone[self.rng.usize(..self.gone.len())].clone(),
            1 => "epoch:99999".to_owned(),
            _ => "nosuch".to_owned(),
        }
    }

    fn member(&mut self, key: &str) -> String {
        let choose = |rng: &mut Rng, texts: Vec<&String>| texts[rng.usize(..texts.len())].clone();
        let other = self.keys[self.rng.usize(..self.keys.len())];
        let of = if self.rng.u8(0..8) == 0 { other } else { key };
        match self.layout.get(of) {
            Some(Entry::Hash(fields)) => choose(&mut self.rng, fields.keys().collect()),
            Some(Entry::Sorted(members)) => {
                choose(&mut self.rng, members.iter().map(|(_, member)| member).collect())
            }
            Some(Entry::List(elements)) => choose(&mut self.rng, elements.iter().collect()),
            _ => "nosuch".to_owned(),
        }
    }

    fn index(&mut self) -> String {
        match self.rng.u8(0..20) {
            0 => self.pick(&["x", "", "1.5", "+1", "01", "9223372036854775808", " 1"]).to_owned(),
            1 => self.pick(&["9223372036854775807", "-9223372036854775808"]).to_owned(),
            2..=8 => self.rng.i64(-20..0).to_string(),
            _ => self.rng.i64(0..30).to_string(),
        }
    }

    fn score(&mut self) -> String {
        match self.rng.u8(0..12) {
            0 => self.pick(&["x", "", "(", "((1", "nan", "1 ", "(x"]).to_owned(),
            1 => self.pick(&["1.5", "(2.5", "1e1", "0x10", " 3", "-0"]).to_owned(),
            2 | 3 => self.pick(&["-inf", "+inf", "inf", "(-inf", "(+inf", "Infinity"]).to_owned(),
            4..=6 => format!("({}", self.rng.i64(-5..150)),
            _ => self.rng.i64(-5..150).to_string(),
        }
    }

    fn command(&mut self) -> Words {
        if self.rng.u8(0..10) == 0 {
            return words(self.pick(PLAIN));
        }
        let (name, shape) = READING[self.rng.usize(..READING.len())];
        let key = self.key(name);
        let mut request = vec![name.to_owned(), key.clone()];
        for part in shape.chars() {
            match part {
                'k' => request.push(self.key(name)),
                'm' => request.push(self.member(&key)),
                'i' => request.push(self.index()),
                's' => request.push(self.score()),
                'b' => request.push("BYSCORE".to_owned()),
                _ => self.options(&mut request),
            }
        }
        if self.rng.u8(0..30) == 0 {
            request.push("more".to_owned());
        } else if self.rng.u8(0..30) == 0 {
            request.pop();
        }
        if self.rng.bool() {
            request[0] = request[0].to_lowercase();
        }
        request.into_iter().map(String::into_bytes).collect()
    }

    fn options(&mut self, request: &mut Vec<String>) {
        for _ in 0..self.rng.usize(0..3) {
            match self.rng.u8(0..8) {
                0..=2 => request.push("WITHSCORES".to_owned()),
                3 | 4 => {
                    request.push("limit".to_owned());
                    request.push(self.rng.i64(-2..20).to_string());
                    request.push(self.rng.i64(-2..20).to_string());
                }
                5 | 6 => request.push("REV".to_owned()),
                _ => request.push(self.pick(&["LIMIT", "byscore", "nosuch"]).to_owned()),
            }
        }
    }
}

/// Makes what has no order comparable.
fn settled(request: &Words, answer: Answer) -> Answer {
    let name = String::from_utf8_lossy(&request[0]).to_uppercase();
    match name.as_str() {
        "HGETALL" => answer.sorted(true),
        "HKEYS" | "HVALS" | "KEYS" => answer.sorted(false),
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
