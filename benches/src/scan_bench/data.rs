//! Epochs as a node of the real chain would tell them, made from nothing but their numbers.
//!
//! Every field of a real block and a real transaction is there, with random bytes where the chain
//! has hashes and signatures. The same number gives the same epoch, so nothing needs to be kept.

use scan::{Address, EpochInput, message};
use serde_json::{Map, Value, json};

/// Transactions of a block.
pub(crate) const TRANSACTIONS: u64 = 50;
/// Blocks of an epoch.
pub(crate) const BLOCKS: u64 = 2;
const ACCOUNTS: u64 = 2_000;
const MINERS: u64 = 20;
const NETWORK: u64 = 1029;
/// Seconds from one epoch to the next are about one.
const GENESIS_TIME: u64 = 1_700_000_000;
/// One in so many transactions of a later block was packed by an earlier one of its epoch.
const REPEATS: u64 = 50;
/// One in so many sends to itself; one in so many calls a contract.
const TO_ITSELF: u64 = 100;
const CALLS: u64 = 3;

/// Fields under their names.
pub(crate) type Named = Vec<(&'static str, String)>;

/// An epoch.
pub(crate) struct Epoch {
    pub(crate) number: u64,
    pub(crate) blocks: Vec<Block>,
}

/// A block of it.
pub(crate) struct Block {
    pub(crate) hash: String,
    pub(crate) miner: String,
    pub(crate) timestamp: String,
    pub(crate) difficulty: u128,
    pub(crate) is_pivot: bool,
    pub(crate) fields: Named,
    pub(crate) transactions: Vec<Transaction>,
}

/// A transaction that it packs.
pub(crate) struct Transaction {
    pub(crate) hash: String,
    pub(crate) from: String,
    pub(crate) to: String,
    /// No block before packs it. Whoever feeds Redis is told, and need not ask.
    pub(crate) is_new: bool,
    pub(crate) fields: Named,
}

/// Where an epoch stands: its number, its branch, and the branch of the epoch below.
pub(crate) type Place = (u64, u64, u64);

fn rng(kind: u64, number: u64, branch: u64, index: u64) -> fastrand::Rng {
    let seed = number.wrapping_mul(1_000_003).wrapping_add(branch << 48);
    let seed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (kind << 56) ^ (index << 20);
    fastrand::Rng::with_seed(seed)
}

fn digits(rng: &mut fastrand::Rng, bytes: usize) -> String {
    let mut text = String::with_capacity(2 + 2 * bytes);
    text.push_str("0x");
    for _ in 0..bytes {
        text.push_str(&format!("{:02x}", rng.u8(..)));
    }
    text
}

fn hex(number: u64) -> String {
    format!("{number:#x}")
}

/// The hash of a block.
pub(crate) fn block_hash(number: u64, branch: u64, index: u64) -> String {
    digits(&mut rng(1, number, branch, index), 32)
}

/// The hash of the transaction at a place of a block.
pub(crate) fn transaction_hash(number: u64, branch: u64, block: u64, index: u64) -> String {
    digits(&mut rng(2, number, branch, block * TRANSACTIONS + index), 32)
}

/// An account. A few of them have most of the transactions.
pub(crate) fn account(rng: &mut fastrand::Rng) -> Address {
    let share = rng.f64();
    address(1, (share * share * share * ACCOUNTS as f64) as u64)
}

fn address(kind: u64, number: u64) -> Address {
    let mut rng = rng(3, number, kind, 0);
    let mut bytes: [u8; 20] = std::array::from_fn(|_| rng.u8(..));
    bytes[0] = 0x10 | bytes[0] & 15;
    Address(bytes)
}

/// An epoch of a branch.
pub(crate) fn epoch((number, branch, below): Place) -> Epoch {
    let block = |index| block((number, branch, below), index);
    Epoch { number, blocks: (0..BLOCKS).map(block).collect() }
}

fn block((number, branch, below): Place, index: u64) -> Block {
    let mut rng = rng(4, number, branch, index);
    let hash = block_hash(number, branch, index);
    let miner = address(2, rng.u64(0..MINERS)).to_string();
    let parent = match number.checked_sub(1) {
        Some(parent) => block_hash(parent, below, BLOCKS - 1),
        None => digits(&mut rng, 32),
    };
    let timestamp = hex(GENESIS_TIME + number);
    let difficulty = rng.u64(1 << 40..1 << 41);
    let transactions = (0..TRANSACTIONS).map(|at| transaction((number, branch), index, at));
    let transactions: Vec<_> = transactions.collect();
    let is_pivot = index + 1 == BLOCKS;
    let fields = vec![
        ("adaptive", "false".to_owned()),
        ("baseFeePerGas", hex(rng.u64(1 << 30..1 << 34))),
        ("blame", hex(0)),
        ("blockNumber", hex(number * BLOCKS + index)),
        ("custom", "[\"0x04\"]".to_owned()),
        ("deferredLogsBloomHash", digits(&mut rng, 32)),
        ("deferredReceiptsRoot", digits(&mut rng, 32)),
        ("deferredStateRoot", digits(&mut rng, 32)),
        ("difficulty", hex(difficulty)),
        ("epochNumber", hex(number)),
        ("gasLimit", hex(60_000_000)),
        ("gasUsed", hex(rng.u64(1_000_000..20_000_000))),
        ("hash", hash.clone()),
        ("height", hex(number)),
        ("miner", miner.clone()),
        ("nonce", hex(rng.u64(..))),
        ("parentHash", parent),
        ("posReference", digits(&mut rng, 32)),
        ("powQuality", hex(rng.u64(1 << 41..1 << 50))),
        (
            "refereeHashes",
            if is_pivot { json!([digits(&mut rng, 32)]).to_string() } else { "[]".into() },
        ),
        ("size", hex(rng.u64(5_000..20_000))),
        ("timestamp", timestamp.clone()),
        ("transactionsRoot", digits(&mut rng, 32)),
    ];
    let difficulty = u128::from(difficulty);
    Block { hash, miner, timestamp, difficulty, is_pivot, fields, transactions }
}

fn transaction((number, branch): (u64, u64), block: u64, index: u64) -> Transaction {
    let mut rng = rng(5, number, branch, block * TRANSACTIONS + index);
    if block > 0 && rng.u64(0..REPEATS) == 0 {
        let again = transaction((number, branch), 0, rng.u64(0..TRANSACTIONS));
        return Transaction { is_new: false, ..again };
    }
    let hash = transaction_hash(number, branch, block, index);
    let from = account(&mut rng);
    let to = if rng.u64(0..TO_ITSELF) == 0 { from } else { account(&mut rng) };
    let (from, to) = (from.to_string(), to.to_string());
    let calls = rng.u64(0..CALLS) == 0;
    let data = if calls { digits(&mut rng, 68) } else { "0x".to_owned() };
    let fields = vec![
        ("chainId", hex(NETWORK)),
        ("data", data),
        ("epochHeight", hex(number.saturating_sub(2))),
        ("from", from.clone()),
        ("gas", hex(if calls { rng.u64(40_000..200_000) } else { 21_000 })),
        ("gasPrice", hex(rng.u64(1 << 30..1 << 34))),
        ("hash", hash.clone()),
        ("nonce", hex(rng.u64(0..100_000))),
        ("r", digits(&mut rng, 32)),
        ("s", digits(&mut rng, 32)),
        ("storageLimit", hex(if calls { rng.u64(0..200) } else { 0 })),
        ("to", to.clone()),
        ("type", hex(0)),
        ("v", hex(rng.u64(0..2))),
        ("value", hex(rng.u64(..) >> 4)),
    ];
    Transaction { hash, from, to, is_new: true, fields }
}

/// What the node says: addresses in base32, and nothing known of execution yet.
fn message(fields: &Named) -> anyhow::Result<Map<String, Value>> {
    let mut found = Map::new();
    for (name, text) in fields {
        let value = match *name {
            "from" | "to" | "miner" => Address::parse(text)?.verbose(NETWORK).into(),
            "adaptive" | "custom" | "refereeHashes" => serde_json::from_str(text)?,
            _ => text.clone().into(),
        };
        found.insert((*name).to_owned(), value);
    }
    Ok(found)
}

/// The blocks of an epoch as a node tells them.
pub(crate) fn messages(epoch: &Epoch) -> anyhow::Result<Vec<Value>> {
    let block = |block: &Block| {
        let mut found = message(&block.fields)?;
        let mut transactions = Vec::new();
        for transaction in &block.transactions {
            let mut found = message(&transaction.fields)?;
            for name in ["blockHash", "contractCreated", "status", "transactionIndex"] {
                found.insert(name.to_owned(), Value::Null);
            }
            transactions.push(Value::Object(found));
        }
        found.insert("transactions".to_owned(), transactions.into());
        Ok(Value::Object(found))
    };
    epoch.blocks.iter().map(block).collect()
}

/// The epoch as derivation takes it.
pub(crate) fn input(number: u64, messages: &[Value]) -> anyhow::Result<EpochInput> {
    let blocks = messages.iter().map(message::block).collect::<Result<_, _>>()?;
    Ok(EpochInput { number, blocks, skipped: Vec::new() })
}
