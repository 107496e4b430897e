//! All tables of the explorer. Every partition key begins with the chain's name.

use placement::Placement;
use serde::{Deserialize, Serialize};
use store::{Bounds, Query, Sequenced, Table, TableDef, Touches};
use timeline::{ChainName, Lane, ListTable, Unit};

use crate::journal::JournalRow;
use crate::{Address, Fields, Hash};

/// Epochs that are buried deep enough.
pub const CONFIRMED: Lane = Lane(2);
/// Epochs that the proof-of-stake chain has decided.
pub const FINALIZED: Lane = Lane(3);

/// Rows of one bucket of an ordered list.
pub(crate) const BUCKET: u64 = 4096;
/// Blocks of one epoch at the most; a node cuts epochs at 200 and skips the rest.
pub(crate) const EPOCH_BLOCKS: usize = 1000;
/// Skipped blocks that an epoch's row names at the most.
pub(crate) const SKIPPED_BLOCKS: usize = 1000;
/// Transactions of one block at the most.
pub(crate) const BLOCK_TRANSACTIONS_LIMIT: u64 = 100_000;
/// Transactions of a block that stand in one row.
pub(crate) const PACKED_ROW: u32 = 256;
/// Bytes of a block's facts, and of a transaction's with its data.
const BLOCK_BYTES: usize = 64 * 1024;
const TRANSACTION_BYTES: usize = 512 * 1024;
/// Attempts that may have left rows at one place before they are swept.
const ATTEMPTS: u64 = 10_000;

/// A key under a hash.
pub(crate) type ByHash = (ChainName, [u8; 32]);
/// A key under an address.
pub(crate) type ByAddress = (ChainName, [u8; 20]);

/// A key under one of the lists of an address.
pub(crate) type ByList = (ChainName, u8, [u8; 20]);

/// What never changes about a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockFacts {
    /// Every field of the node that never changes, but for the hash.
    pub fields: Fields,
    /// Transactions it packs, repeats included.
    pub transactions: u32,
}
store::serde_value!(BlockFacts, format 1);

/// Where a block stands on the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockSeat {
    /// Its epoch.
    pub epoch: u64,
    /// Its place among all blocks in the order of execution, from 0; none when its epoch skips it.
    pub order: Option<u64>,
    /// It is the pivot of its epoch.
    pub is_pivot: bool,
    /// Transactions that no block before it packs.
    pub new_transactions: u32,
}
store::serde_value!(BlockSeat, format 1);

/// Some transactions of a block, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packed {
    /// Their hashes.
    pub hashes: Vec<Hash>,
}
store::serde_value!(Packed, format 1);

/// What never changes about a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionFacts {
    /// Every field of the node that never changes, but for the hash.
    pub fields: Fields,
}
store::serde_value!(TransactionFacts, format 1);

/// A block on the chain that packs a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packing {
    /// The block.
    pub block: Hash,
    /// The epoch of the block.
    pub epoch: u64,
    /// The block's time, Unix seconds.
    pub timestamp: u64,
}
store::serde_value!(Packing, format 1);

/// What came of executing a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The block that executes it, which need not be the first that packs it.
    pub block: Hash,
    /// Its place in that block.
    pub index: u32,
    /// Every field of the node, but for the hash.
    pub fields: Fields,
}
store::serde_value!(Receipt, format 1);

/// What came of executing a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockResult {
    /// Gas that its transactions used.
    pub gas_used: u128,
}
store::serde_value!(BlockResult, format 1);

/// A block in the order of execution. Its sums are the difficulty and the packed transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockLine {
    /// The block.
    pub hash: Hash,
    /// Its epoch.
    pub epoch: u64,
    /// It is the pivot of its epoch.
    pub is_pivot: bool,
    /// Who found it.
    pub miner: Address,
    /// Its time, Unix seconds.
    pub timestamp: u64,
}

/// A transaction in the order of first packings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionLine {
    /// The transaction.
    pub hash: Hash,
    /// The block that packs it first.
    pub block: Hash,
}

/// What a transaction is to an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// It receives.
    In,
    /// It sends.
    Out,
    /// It does both.
    Own,
    /// It sends, and a contract is created.
    Create,
}

impl Direction {
    /// The paper's word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::In => "in",
            Self::Out => "out",
            Self::Own => "self",
            Self::Create => "create",
        }
    }
}

/// A transaction of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountLine {
    /// The transaction.
    pub hash: Hash,
    /// What it is to the account.
    pub direction: Direction,
    /// The time of its first packing, Unix seconds.
    pub timestamp: u64,
}

/// A block of a miner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MinerLine {
    /// The block.
    pub hash: Hash,
    /// Its place among all blocks.
    pub order: u64,
}

/// A miner, in the order of first blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MinerFirst {
    /// The miner.
    pub address: Address,
    /// The first block.
    pub block: Hash,
}

/// An epoch, and how much there is on the chain up to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EpochRow {
    /// Its blocks in the order of execution; the last one is the pivot.
    pub blocks: Vec<Hash>,
    /// Blocks that belong to it and are not executed, the first thousand.
    pub skipped: Vec<Hash>,
    /// What there is up to and including it.
    pub totals: Totals,
}
store::serde_value!(EpochRow, format 1);

/// How much there is on a chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Blocks.
    pub blocks: u64,
    /// Transactions, each at its first packing.
    pub transactions: u64,
    /// Miners.
    pub miners: u64,
    /// Sum of all difficulties.
    pub difficulty: u128,
    /// Packed transactions, repeats included.
    pub packed: u64,
    /// Accounts that have a transaction.
    pub accounts: u64,
    /// Blocks that pack a transaction.
    pub packing_blocks: u64,
}

const ONE: Touches = Touches::One;
const TWO: Touches = Touches::Few(2);

/// Blocks: what never changes.
pub static BLOCKS: Table<ByHash, (), BlockFacts> = Table::once(
    "scan.blocks",
    "What never changes about a block.",
    Placement::Hashed,
    Bounds::rows(1).values(BLOCK_BYTES).pages(1),
)
.answers(&[Query { name: "a block by its hash", touches: ONE }]);

/// Blocks: where they stand.
pub static BLOCK_SEATS: Table<ByHash, Unit, BlockSeat> = Table::once(
    "scan.block_seats",
    "Epoch, order, pivot and new transactions of a block, under the unit that says so.",
    Placement::Hashed,
    Bounds::rows(ATTEMPTS).pages(1000),
)
.answers(&[Query { name: "where a block stands", touches: ONE }]);

/// A block's transactions in order. The paper shards them by transaction; by block they are one
/// partition, which is what the query reads.
pub static BLOCK_TRANSACTIONS: Table<ByHash, u32, Packed> = Table::once(
    "scan.block_transactions",
    "Up to 256 transactions of a block, under the place of the first of them.",
    Placement::Hashed,
    Bounds::rows(BLOCK_TRANSACTIONS_LIMIT / PACKED_ROW as u64).values(16 * 1024).pages(64),
)
.answers(&[Query { name: "a block's transactions in order", touches: ONE }]);

/// Transactions: what never changes.
pub static TRANSACTIONS: Table<ByHash, (), TransactionFacts> = Table::once(
    "scan.transactions",
    "What never changes about a transaction.",
    Placement::Hashed,
    Bounds::rows(1).values(TRANSACTION_BYTES).pages(1),
)
.answers(&[Query { name: "a transaction by its hash", touches: ONE }]);

/// Which blocks of the chain pack a transaction; the first one counts.
pub static PACKINGS: Table<ByHash, (u64, u32, Unit), Packing> = Table::once(
    "scan.packings",
    "A packing of a transaction, under the order of its block, its place there, and its unit.",
    Placement::Hashed,
    Bounds::rows(ATTEMPTS).pages(1000),
)
.answers(&[Query { name: "first and other packings of a transaction", touches: ONE }]);

/// Receipts. They carry numbers of their own: the epoch is executed some epochs after it is mined.
pub static RECEIPTS: Table<ByHash, Unit, Receipt> = Table::once(
    "scan.receipts",
    "What came of executing a transaction, under the unit that executed it.",
    Placement::Hashed,
    Bounds::rows(ATTEMPTS).values(TRANSACTION_BYTES).pages(100),
)
.answers(&[Query { name: "the receipt of a transaction", touches: ONE }]);

/// What came of executing blocks.
pub static BLOCK_RESULTS: Table<ByHash, Unit, BlockResult> = Table::once(
    "scan.block_results",
    "Gas that a block used, under the unit that executed it.",
    Placement::Hashed,
    Bounds::rows(ATTEMPTS).pages(1000),
)
.answers(&[Query { name: "what came of executing a block", touches: ONE }]);

/// Blocks in the order of execution.
pub static BLOCKS_IN_ORDER: ListTable<ChainName, BlockLine> = Table::once(
    "scan.blocks_in_order",
    "A block under its order, with the sums of difficulty and packed transactions so far.",
    Placement::Bucketed { size: BUCKET },
    Bounds::rows(ATTEMPTS + BUCKET).pages(1000),
)
.answers(&[
    Query { name: "blocks in order", touches: TWO },
    Query { name: "sums over the latest blocks", touches: TWO },
]);

/// Transactions in the order of first packings.
pub static TRANSACTIONS_IN_ORDER: ListTable<ChainName, TransactionLine> = Table::once(
    "scan.transactions_in_order",
    "A transaction under the order of its first packing.",
    Placement::Bucketed { size: BUCKET },
    Bounds::rows(ATTEMPTS + BUCKET).pages(1000),
)
.answers(&[Query { name: "transactions in order", touches: TWO }]);

/// Transactions of an account.
pub static ACCOUNT_TRANSACTIONS: ListTable<ByAddress, AccountLine> = Table::once(
    "scan.account_transactions",
    "A transaction of an account, under its number among them.",
    Placement::Bucketed { size: BUCKET },
    Bounds::rows(ATTEMPTS + BUCKET).pages(1000),
)
.answers(&[Query { name: "an account's transactions", touches: TWO }]);

/// Blocks of a miner.
pub static MINER_BLOCKS: ListTable<ByAddress, MinerLine> = Table::once(
    "scan.miner_blocks",
    "A block of a miner, under its number among them.",
    Placement::Bucketed { size: BUCKET },
    Bounds::rows(ATTEMPTS + BUCKET).pages(1000),
)
.answers(&[Query { name: "a miner's blocks", touches: TWO }]);

/// Miners in the order of first blocks.
pub static MINERS: ListTable<ChainName, MinerFirst> = Table::once(
    "scan.miners",
    "A miner with the first block, under the order of first blocks.",
    Placement::Bucketed { size: BUCKET },
    Bounds::rows(ATTEMPTS + BUCKET).pages(1000),
)
.answers(&[Query { name: "the miners", touches: TWO }]);

/// Which buckets a list under an address has: its last one leads to the newest entry.
pub static LIST_BUCKETS: Table<ByList, (u64, Unit), ()> = Table::once(
    "scan.list_buckets",
    "A bucket of an account's or miner's list, under the unit that began it.",
    Placement::Hashed,
    Bounds::rows(100_000).pages(1000),
)
.answers(&[Query { name: "the last bucket of a list", touches: ONE }]);

/// Epochs.
pub static EPOCHS: Table<Sequenced<ChainName>, (u64, Unit), EpochRow> = Table::once(
    "scan.epochs",
    "The blocks of an epoch in order, and how much there is up to it.",
    Placement::Bucketed { size: BUCKET },
    Bounds::rows(ATTEMPTS + BUCKET).values(48 * (EPOCH_BLOCKS + SKIPPED_BLOCKS)).pages(1000),
)
.answers(&[
    Query { name: "an epoch", touches: ONE },
    Query { name: "the pivot chain", touches: TWO },
]);

/// What an epoch wrote under keys that nothing else names: by it the rows are found when they are
/// to be swept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// Its blocks, skipped ones too.
    pub blocks: Vec<Hash>,
    /// Order of the first block, and how many have one.
    pub orders: (u64, u32),
    /// Number of the first new transaction, and how many there are.
    pub transactions: (u64, u32),
    /// Number of the first new miner, and how many there are.
    pub new_miners: (u64, u32),
    /// Places in the lists of accounts.
    pub accounts: Vec<(Address, u64)>,
    /// Places in the lists of miners.
    pub miners: Vec<(Address, u64)>,
}
store::serde_value!(Span, format 1);

/// Spans of epochs that may still leave the chain.
pub(crate) static SPANS: Table<Sequenced<ChainName>, (u64, Unit, u32), Span> = Table::once(
    "scan.spans",
    "What an epoch wrote in the lists, until it is confirmed: what a sweep needs.",
    Placement::Bucketed { size: BUCKET },
    Bounds::rows(ATTEMPTS + BUCKET).values(256 * 1024).pages(100),
)
.answers(&[Query { name: "what an epoch wrote", touches: ONE }]);

/// How far the switches of a chain were told, and its old spans removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// The switch that is told next.
    pub switch: u64,
    /// Spans of epochs below are gone.
    pub spans: u64,
}
store::serde_value!(Told, format 1);

/// How far what happened on a chain was dealt with.
pub(crate) static TOLD: Table<ChainName, (), Told> = Table::guarded(
    "scan.told",
    "Which switch is told next, in the journal and as events, and which span goes next.",
    Placement::Hashed,
    Bounds::rows(1),
)
.answers(&[Query { name: "which switch is told next", touches: ONE }]);

/// Switches that popped epochs, and what was in these.
pub(crate) static JOURNAL: Table<Sequenced<ChainName>, (u64, u64), JournalRow> = Table::once(
    "scan.journal",
    "A switch under its number, and each epoch it popped under both numbers.",
    Placement::Bucketed { size: BUCKET },
    Bounds::rows(100_000).values(48 * EPOCH_BLOCKS).pages(1000),
)
.answers(&[
    Query { name: "a switch and what it popped", touches: ONE },
    Query { name: "switches, the newest first", touches: Touches::Few(64) },
]);

/// The tables of this crate.
#[must_use]
pub fn tables() -> Vec<&'static TableDef> {
    vec![
        BLOCKS.def(),
        BLOCK_SEATS.def(),
        BLOCK_TRANSACTIONS.def(),
        TRANSACTIONS.def(),
        PACKINGS.def(),
        RECEIPTS.def(),
        BLOCK_RESULTS.def(),
        BLOCKS_IN_ORDER.def(),
        TRANSACTIONS_IN_ORDER.def(),
        ACCOUNT_TRANSACTIONS.def(),
        MINER_BLOCKS.def(),
        MINERS.def(),
        LIST_BUCKETS.def(),
        EPOCHS.def(),
        SPANS.def(),
        TOLD.def(),
        JOURNAL.def(),
    ]
}
