//! The shapes of answers.

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::query::Latest;
use crate::tables::{AccountLine, BlockLine, EpochRow, MinerFirst, MinerLine, TransactionLine};
use crate::{Address, Hash};

/// A block: every field of the node, and `epochNumber`, `blockNumber`, `isPivot`,
/// `transactionCount`, `newTransactionCount`, `gasUsed` and `state` (`pivot`, `in-epoch`,
/// `skipped`, `orphaned`).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScanBlock, value_type = Object)]
#[serde(transparent)]
pub(super) struct Block(pub(super) Map<String, Value>);

/// A transaction: every field of the node, `firstBlockHash`, `timestamp` and `epochNumber` of its
/// first packing, `packings`, and once it is executed `blockHash`, `transactionIndex`, `status`,
/// `contractCreated` and `receipt`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScanTransaction, value_type = Object)]
#[serde(transparent)]
pub(super) struct Transaction(pub(super) Map<String, Value>);

/// An entry of a list, as JSON and as a line of a table.
pub(super) trait Line: Serialize {
    /// The names of the columns.
    const COLUMNS: &'static str;

    /// The columns.
    fn columns(&self) -> String;
}

/// A block in the order of execution.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScanBlockItem)]
pub(super) struct BlockItem {
    /// Its place in the order of execution, from 0.
    pub(super) position: u64,
    /// Its hash.
    pub(super) hash: String,
    /// Its epoch.
    pub(super) epoch: u64,
    /// Whether it is the pivot of its epoch.
    pub(super) pivot: bool,
    /// Who found it, in hexadecimal.
    pub(super) miner: String,
    /// When, Unix seconds.
    pub(super) timestamp: u64,
}

impl BlockItem {
    pub(super) fn new((position, line): (u64, BlockLine)) -> Self {
        let BlockLine { hash, epoch, is_pivot: pivot, miner, timestamp } = line;
        let (hash, miner) = (hash.to_string(), miner.to_string());
        Self { position, hash, epoch, pivot, miner, timestamp }
    }
}

impl Line for BlockItem {
    const COLUMNS: &'static str = "position,hash,epoch,pivot,miner,timestamp";

    fn columns(&self) -> String {
        let Self { position, hash, epoch, pivot, miner, timestamp } = self;
        format!("{position},{hash},{epoch},{pivot},{miner},{timestamp}")
    }
}

/// A transaction in the order of first packings.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScanTransactionItem)]
pub(super) struct TransactionItem {
    /// Its place among first packings, from 0.
    pub(super) position: u64,
    /// Its hash.
    pub(super) hash: String,
    /// The block that packs it first.
    pub(super) block: String,
}

impl TransactionItem {
    pub(super) fn new((position, line): (u64, TransactionLine)) -> Self {
        Self { position, hash: line.hash.to_string(), block: line.block.to_string() }
    }
}

impl Line for TransactionItem {
    const COLUMNS: &'static str = "position,hash,block";

    fn columns(&self) -> String {
        let Self { position, hash, block } = self;
        format!("{position},{hash},{block}")
    }
}

/// A transaction of an account.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScanAccountItem)]
pub(super) struct AccountItem {
    /// Its place among those of the account, from 0.
    pub(super) position: u64,
    /// Its hash.
    pub(super) hash: String,
    /// What it is to the account: `in`, `out`, `self`, or `create`.
    pub(super) direction: &'static str,
    /// The time of its first packing, Unix seconds.
    pub(super) timestamp: u64,
}

impl AccountItem {
    pub(super) fn new((position, line): (u64, AccountLine)) -> Self {
        let direction = line.direction.word();
        Self { position, hash: line.hash.to_string(), direction, timestamp: line.timestamp }
    }
}

impl Line for AccountItem {
    const COLUMNS: &'static str = "position,hash,direction,timestamp";

    fn columns(&self) -> String {
        let Self { position, hash, direction, timestamp } = self;
        format!("{position},{hash},{direction},{timestamp}")
    }
}

/// A block of a miner.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScanMinerBlock)]
pub(super) struct MinerBlock {
    /// Its place among those of the miner, from 0.
    pub(super) position: u64,
    /// Its hash.
    pub(super) hash: String,
    /// Its place among all blocks.
    pub(super) order: u64,
}

impl MinerBlock {
    pub(super) fn new((position, line): (u64, MinerLine)) -> Self {
        Self { position, hash: line.hash.to_string(), order: line.order }
    }
}

impl Line for MinerBlock {
    const COLUMNS: &'static str = "position,hash,order";

    fn columns(&self) -> String {
        let Self { position, hash, order } = self;
        format!("{position},{hash},{order}")
    }
}

/// A miner.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScanMiner)]
pub(super) struct Miner {
    /// Its place in the order of first blocks, from 0.
    pub(super) position: u64,
    /// The address in hexadecimal.
    pub(super) address: String,
    /// The first block.
    pub(super) first_block: String,
    /// How many blocks.
    pub(super) blocks: u64,
}

impl Miner {
    pub(super) fn new(position: u64, first: &MinerFirst, blocks: u64) -> Self {
        let (address, first_block) = (first.address.to_string(), first.block.to_string());
        Self { position, address, first_block, blocks }
    }
}

/// An account.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScanAccount)]
pub(super) struct Account {
    /// The address in hexadecimal.
    pub(super) address: String,
    /// The address in base32, once a block has told the network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) base32: Option<String>,
    /// How many transactions.
    pub(super) transactions: u64,
    /// How many blocks it found.
    pub(super) blocks: u64,
}

impl Account {
    pub(super) fn new(address: Address, network: Option<u64>, counts: (u64, u64)) -> Self {
        let base32 = network.map(|network| address.base32(network));
        let (transactions, blocks) = counts;
        Self { address: address.to_string(), base32, transactions, blocks }
    }
}

/// An epoch.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScanEpoch)]
pub(super) struct Epoch {
    /// Its number.
    pub(super) number: u64,
    /// Its pivot block.
    pub(super) pivot: String,
    /// Its blocks in the order of execution; the last one is the pivot.
    pub(super) blocks: Vec<String>,
    /// Blocks that belong to it and are not executed.
    pub(super) skipped: Vec<String>,
    /// Blocks of the chain up to and including it.
    pub(super) total_blocks: u64,
    /// First packings up to and including it.
    pub(super) total_transactions: u64,
    /// `mined`, `executed`, `confirmed`, or `finalized`.
    pub(super) state: &'static str,
}

impl Epoch {
    pub(super) fn new(number: u64, row: &EpochRow, state: &'static str) -> Self {
        let texts = |hashes: &[Hash]| hashes.iter().map(Hash::to_string).collect();
        Self {
            number,
            pivot: row.blocks.last().map(Hash::to_string).unwrap_or_default(),
            blocks: texts(&row.blocks),
            skipped: texts(&row.skipped),
            total_blocks: row.totals.blocks,
            total_transactions: row.totals.transactions,
            state,
        }
    }
}

/// Sums over the latest blocks.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScanLatest)]
pub(super) struct LatestSums {
    /// How many blocks: as many as asked for, or all there are.
    pub(super) blocks: u64,
    /// The sum of their difficulties, decimal: it may be larger than a number of JSON can be.
    #[schema(example = "5000000000000")]
    pub(super) difficulty: String,
    /// Transactions they pack, repeats included.
    pub(super) transactions: u64,
    /// Seconds from the first to the last of them.
    pub(super) seconds: u64,
    /// Packed transactions per second; absent when all of them have the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tps: Option<f64>,
}

impl LatestSums {
    pub(super) fn new(latest: &Latest) -> Self {
        let tps = (latest.seconds > 0).then(|| latest.transactions as f64 / latest.seconds as f64);
        Self {
            blocks: latest.blocks,
            difficulty: latest.difficulty.to_string(),
            transactions: latest.transactions,
            seconds: latest.seconds,
            tps,
        }
    }
}
