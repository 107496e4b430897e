//! The paper's thirteen keys in a real Redis: its commands on push and on pop.
//!
//! Whatever the paper asks Redis before it writes (was this transaction there, how many blocks are
//! there, what is the sum) the client knows here, and several members of one sorted set go in one
//! ZADD: all of it in Redis's favour.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use parts::redis::Server;

use super::data::{Block, Epoch, Transaction};
use super::driver::{Kind, Layout, Reader, Target};
use super::resp::Client;
use crate::measure::disk_bytes;

/// Blocks that count as the latest.
const LATEST: usize = 1000;
/// Linux counts processor time in hundredths of a second.
const TICKS: u64 = 100;

/// A Redis with the paper's keys, and what its client knows.
pub(crate) struct Paper {
    server: Server,
    pid: u32,
    directory: PathBuf,
    client: Client,
    blocks: u64,
    transactions: u64,
    /// Difficulty and transactions of the latest blocks.
    latest: VecDeque<(u128, u64)>,
    difficulty: u128,
    /// The first block of each miner.
    miners: HashMap<String, String>,
}

impl Paper {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let redis = parts::redis::install().map_err(|missing| anyhow::anyhow!("{missing:?}"))?;
        let settings = ["--appendonly", "yes", "--appendfsync", "everysec", "--save", ""];
        let mut server = redis.start_with(&settings)?;
        let (pid, directory) = (server.process().id(), server.process().dir().to_owned());
        let client = Client::connect(server.port())?;
        Ok(Self {
            server,
            pid,
            directory,
            client,
            blocks: 0,
            transactions: 0,
            latest: VecDeque::new(),
            difficulty: 0,
            miners: HashMap::new(),
        })
    }

    fn push_epoch(&mut self, epoch: &Epoch) {
        let number = epoch.number.to_string();
        for block in &epoch.blocks {
            self.push_block(block, &number);
        }
        if let Some(pivot) = epoch.blocks.last() {
            self.client.command(&["RPUSH", "pivot.chain", &pivot.hash]);
        }
    }

    fn push_block(&mut self, block: &Block, number: &str) {
        let order = self.blocks.to_string();
        self.blocks += 1;
        let new = block.transactions.iter().filter(|it| it.is_new).count();
        let packed = block.transactions.len();
        let client = &mut self.client;
        client.begin(2 + 2 * (block.fields.len() + 3));
        client.word(&["HMSET"]);
        client.word(&["blocks:", &block.hash]);
        for (name, value) in &block.fields {
            client.word(&[name]);
            client.word(&[value]);
        }
        let attached = [
            ("isPivot", usize::from(block.is_pivot)),
            ("transactionCount", packed),
            ("newTransactionCount", new),
        ];
        for (name, value) in attached {
            client.word(&[name]);
            client.word(&[&format!("{value:#x}")]);
        }
        client.begin(2 + 2 * packed);
        client.word(&["ZADD"]);
        client.word(&["blocks:", &block.hash, ":transactions"]);
        for (index, transaction) in block.transactions.iter().enumerate() {
            client.word(&[&index.to_string()]);
            client.word(&[&transaction.hash]);
        }
        let first = self.transactions;
        self.transactions += new as u64;
        if new > 0 {
            client.begin(2 + 2 * new);
            client.word(&["ZADD"]);
            client.word(&["transactions.in.order"]);
            let listed = block.transactions.iter().filter(|it| it.is_new);
            for (number, transaction) in (first..).zip(listed) {
                client.word(&[&number.to_string()]);
                client.word(&[&transaction.hash]);
            }
        }
        for transaction in block.transactions.iter().filter(|it| it.is_new) {
            push_transaction(client, block, transaction);
        }
        client.command(&["ZADD", "blocks.in.order", &order, &block.hash]);
        client.begin(4);
        client.word(&["ZADD"]);
        client.word(&["blocks.by.miner:", &block.miner]);
        client.word(&[&order]);
        client.word(&[&block.hash]);
        client.command(&["ZADD", "latest.blocks", &order, &block.hash]);
        self.latest.push_back((block.difficulty, packed as u64));
        self.difficulty += block.difficulty;
        let mut added = packed as i64;
        if self.latest.len() > LATEST {
            client.command(&["ZREMRANGEBYRANK", "latest.blocks", "0", "0"]);
            if let Some((difficulty, transactions)) = self.latest.pop_front() {
                self.difficulty -= difficulty;
                added -= transactions as i64;
            }
        }
        sums(client, self.difficulty, added);
        if !self.miners.contains_key(&block.miner) {
            client.command(&["HSETNX", "miners", &block.miner, &block.hash]);
            self.miners.insert(block.miner.clone(), block.hash.clone());
        }
        client.begin(3);
        client.word(&["RPUSH"]);
        client.word(&["epoch:", number]);
        client.word(&[&block.hash]);
    }

    fn pop_epoch(&mut self, epoch: &Epoch) {
        for block in epoch.blocks.iter().rev() {
            self.pop_block(block);
        }
        self.client.command(&["RPOP", "pivot.chain"]);
        self.client.begin(2);
        self.client.word(&["DEL"]);
        self.client.word(&["epoch:", &epoch.number.to_string()]);
    }

    fn pop_block(&mut self, block: &Block) {
        self.blocks -= 1;
        let client = &mut self.client;
        for transaction in block.transactions.iter().rev().filter(|it| it.is_new) {
            self.transactions -= 1;
            client.begin(2);
            client.word(&["DEL"]);
            client.word(&["transactions:", &transaction.hash]);
            client.command(&["ZREM", "transactions.in.order", &transaction.hash]);
            for (address, _) in parties(transaction) {
                client.begin(2);
                client.word(&["LPOP"]);
                client.word(&["transactions.by.account:", address]);
            }
        }
        for end in ["", ":transactions"] {
            client.begin(2);
            client.word(&["DEL"]);
            client.word(&["blocks:", &block.hash, end]);
        }
        client.command(&["ZREM", "blocks.in.order", &block.hash]);
        client.begin(3);
        client.word(&["ZREM"]);
        client.word(&["blocks.by.miner:", &block.miner]);
        client.word(&[&block.hash]);
        client.command(&["ZREM", "latest.blocks", &block.hash]);
        // The paper does not bring back the block that the list had dropped for this one.
        if let Some((difficulty, transactions)) = self.latest.pop_back() {
            self.difficulty -= difficulty;
            sums(client, self.difficulty, -(transactions as i64));
        }
        if self.miners.get(&block.miner) == Some(&block.hash) {
            client.command(&["HDEL", "miners", &block.miner]);
            self.miners.remove(&block.miner);
        }
    }

    fn info(&self, name: &str) -> anyhow::Result<u64> {
        let text = self.server.cli(&["INFO"])?;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let line = line.with_context(|| format!("INFO has no {name}"))?;
        Ok(line.trim().parse()?)
    }

    fn wait_for_rewrite(&self) -> anyhow::Result<()> {
        for name in ["aof_rewrite_scheduled", "aof_rewrite_in_progress"] {
            while self.info(name)? > 0 {
                std::thread::sleep(Duration::from_millis(100));
            }
        }
        Ok(())
    }
}

fn push_transaction(client: &mut Client, block: &Block, transaction: &Transaction) {
    client.begin(2 + 2 * (transaction.fields.len() + 2));
    client.word(&["HMSET"]);
    client.word(&["transactions:", &transaction.hash]);
    for (name, value) in &transaction.fields {
        client.word(&[name]);
        client.word(&[value]);
    }
    client.word(&["timestamp"]);
    client.word(&[&block.timestamp]);
    client.word(&["firstBlockHash"]);
    client.word(&[&block.hash]);
    for (address, kind) in parties(transaction) {
        client.begin(3);
        client.word(&["LPUSH"]);
        client.word(&["transactions.by.account:", address]);
        client.word(&[&transaction.hash, ",", kind, ",", &block.timestamp]);
    }
}

fn parties(transaction: &Transaction) -> impl Iterator<Item = (&str, &'static str)> {
    let Transaction { from, to, .. } = transaction;
    let (first, second) =
        if from == to { ("self", None) } else { ("out", Some((to.as_str(), "in"))) };
    std::iter::once((from.as_str(), first)).chain(second)
}

fn sums(client: &mut Client, difficulty: u128, added: i64) {
    client.command(&["SET", "latest.blocks.sum.difficulties", &difficulty.to_string()]);
    client.command(&["INCRBY", "latest.blocks.sum.transactions", &added.to_string()]);
}

impl Layout for Paper {
    type Input = Epoch;
    type Reader = PaperReader;
    const IN_PROCESS: bool = false;

    fn prepare(&mut self, epoch: Epoch) -> anyhow::Result<Epoch> {
        Ok(epoch)
    }

    fn push(&mut self, epochs: Vec<Epoch>) -> anyhow::Result<()> {
        for epoch in &epochs {
            self.client.command(&["MULTI"]);
            self.push_epoch(epoch);
            self.client.command(&["EXEC"]);
        }
        self.client.finish()?;
        Ok(())
    }

    fn replace(&mut self, old: Vec<Epoch>, new: Vec<Epoch>) -> anyhow::Result<()> {
        self.client.command(&["MULTI"]);
        old.iter().rev().for_each(|epoch| self.pop_epoch(epoch));
        new.iter().for_each(|epoch| self.push_epoch(epoch));
        self.client.command(&["EXEC"]);
        self.client.finish()?;
        Ok(())
    }

    /// Of the server, its helpers that have ended included.
    fn cpu(&self) -> anyhow::Result<Duration> {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.pid))?;
        let (_, fields) = text.rsplit_once(')').context("no process line")?;
        // After the name come 11 fields, then user and system time, own and of children.
        let ticks = fields.split_whitespace().skip(11).take(4).map(str::parse::<u64>);
        let ticks: u64 = ticks.collect::<Result<Vec<_>, _>>()?.iter().sum();
        Ok(Duration::from_millis(ticks * 1000 / TICKS))
    }

    fn settle(&mut self) -> anyhow::Result<()> {
        self.wait_for_rewrite()?;
        // What is synced every second is synced.
        std::thread::sleep(Duration::from_millis(1100));
        Ok(())
    }

    /// In memory, and of the append-only file once it is rewritten.
    fn bytes(&mut self) -> anyhow::Result<(u64, u64)> {
        self.wait_for_rewrite()?;
        self.server.cli(&["BGREWRITEAOF"])?;
        self.wait_for_rewrite()?;
        Ok((self.info("used_memory")?, disk_bytes(&self.directory.join("appendonlydir"))))
    }

    fn reader(&self) -> anyhow::Result<PaperReader> {
        Ok(PaperReader(Client::connect(self.server.port())?))
    }
}

/// A connection of its own.
pub(crate) struct PaperReader(Client);

impl Reader for PaperReader {
    fn read(&mut self, kind: Kind, target: &Target) -> anyhow::Result<usize> {
        let client = &mut self.0;
        match kind {
            Kind::Block => client.command(&["HGETALL", &format!("blocks:{}", target.block)]),
            Kind::Transaction => {
                client.command(&["HGETALL", &format!("transactions:{}", target.transaction)]);
            }
            Kind::Account => {
                let key = format!("transactions.by.account:{}", target.account);
                client.command(&["LRANGE", &key, "0", "19"]);
            }
            Kind::Blocks => client.command(&["ZREVRANGE", "blocks.in.order", "0", "19"]),
            Kind::Sums => client.command(&[
                "MGET",
                "latest.blocks.sum.difficulties",
                "latest.blocks.sum.transactions",
            ]),
        }
        client.finish()
    }
}
