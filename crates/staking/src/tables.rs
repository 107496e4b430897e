//! All tables of staking. Sums stand in the tables of `tally`.

use std::cmp::Reverse;

use index::{LIST_ENTRIES, List, ListDef};
use placement::Placement;
use serde::{Deserialize, Serialize};
use store::{Bounds, Query, Sequenced, Table, TableDef, Touches};

use crate::bitcoin::Bitcoin;
use crate::delegation::Delegation;
use crate::event::TX_BYTES;
use crate::{MESSAGE_BYTES, PublicKey, TxHash};

/// Blocks of Bitcoin whose stakes of one staker stand in one partition: about four years, so that
/// a staker's list is few partitions and none of them without end.
pub(crate) const STAKER_BUCKET: u64 = 210_000;
/// Lists that stakers are spread over.
pub(crate) const BOARD_LISTS: u8 = 64;
/// Partitions that notes of a while, and steps that wait since an hour, are spread over.
pub(crate) const LANES: u8 = 16;

/// What the rows of [`DIRECTORY`] name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Directory {
    /// Stretches of heights at which something counts.
    Heights = 0,
    /// Hours in which a message could not be processed.
    Unprocessable = 1,
    /// Hours in which a step was parked.
    Waiting = 2,
    /// Whiles in which a note was written.
    Notes = 3,
}

/// Delegations whose sums may not be written yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
    pub(crate) hashes: Vec<TxHash>,
}
store::serde_value!(Note, format 1);

/// A message that cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unprocessable {
    /// Where it came from.
    pub source: String,
    /// Why it cannot.
    pub reason: String,
    /// What it says; the first part of it, if it is longer than a message may be.
    pub body: Vec<u8>,
}
store::serde_value!(Unprocessable, format 1);

/// How much a staker has staked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Staked and not yet taken out, satoshi.
    pub active_tvl: u64,
    /// Ever staked, satoshi.
    pub total_tvl: u64,
    /// Delegations that are staked.
    pub active_delegations: u64,
    /// Delegations there ever were.
    pub total_delegations: u64,
}
store::serde_value!(Standing, format 1);

/// How far a calculation that came later is with what was stored before it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Backfill {
    pub(crate) position: Option<tally::Position>,
    pub(crate) counted: u64,
    pub(crate) done: bool,
    /// Not before this time, Unix milliseconds.
    pub(crate) from: u64,
}
store::serde_value!(Backfill, format 1);

/// What all processes must agree on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Recorded {
    /// The highest number of shards that was ever set.
    pub(crate) shards: u16,
    /// What is counted.
    pub(crate) calculations: Vec<String>,
}
store::serde_value!(Recorded, format 1);

store::serde_value!(PublicKey, format 1);

const ONE: Touches = Touches::One;

/// Delegations, with everything that is known of them, parked steps too.
pub static DELEGATIONS: Table<[u8; 32], (), Delegation> = Table::guarded(
    "staking.delegations",
    "Everything that is known of a delegation, under the hash of its staking transaction.",
    Placement::Hashed,
    Bounds::rows(1).values(3 * TX_BYTES + 4096).pages(1),
)
.answers(&[Query { name: "a delegation by its hash", touches: ONE }]);

/// Delegations of a staker. The stake's own height never changes, so the row never moves.
pub static BY_STAKER: Table<Sequenced<[u8; 32]>, (u64, [u8; 32]), ()> = Table::once(
    "staking.by_staker",
    "A delegation of a staker, under its height and hash.",
    Placement::Bucketed { size: STAKER_BUCKET },
    Bounds::rows(100_000).pages(1000),
)
.answers(&[Query { name: "a staker's delegations, newest first", touches: Touches::Few(5) }]);

/// Stakers by what they have staked.
pub static BOARD: List<u8, [u8; 32], Reverse<u64>, Standing> = List::new(
    "staking.board",
    "A staker with its sums, by what is staked, in 64 lists.",
    LIST_ENTRIES,
    128,
)
.answers(&[Query { name: "stakers by what they have staked", touches: Touches::Few(64) }]);

/// Where Bitcoin is.
pub static BITCOIN: Table<(), (), Bitcoin> = Table::guarded(
    "staking.bitcoin",
    "The height of Bitcoin, what is staked there by its indexer, and how far timelocks passed.",
    Placement::Single,
    Bounds::rows(1).values(512).pages(1),
)
.answers(&[Query { name: "the height of Bitcoin", touches: ONE }]);

/// What there is rows of.
pub(crate) static DIRECTORY: Table<u8, u64, ()> = Table::once(
    "staking.directory",
    "A stretch of heights, or an hour, of which there are rows elsewhere.",
    Placement::Hashed,
    Bounds::rows(100_000).pages(10_000),
)
.answers(&[Query { name: "stretches and hours there are rows of", touches: ONE }]);

/// Changes whose sums may not be written yet.
pub(crate) static NOTES: Table<(u64, u8), [u8; 16], Note> = Table::once(
    "staking.notes",
    "Delegations that changed, until all that follows from it is written, by ten minutes.",
    Placement::Hashed,
    Bounds::rows(100_000).values(40 * crate::BATCH).pages(100),
)
.answers(&[Query { name: "changes that a crash left unfinished", touches: Touches::Few(16) }]);

/// Delegations that had a parked step, by the hour in which it came.
pub(crate) static WAITING: Table<(u64, u8), [u8; 32], ()> = Table::once(
    "staking.waiting",
    "A delegation with a parked step, under the hour in which it was parked.",
    Placement::Hashed,
    Bounds::rows(1_000_000).pages(1000),
)
.answers(&[Query { name: "steps that were parked in an hour", touches: Touches::Few(16) }]);

/// Messages that cannot be applied.
pub static UNPROCESSABLE: Table<u64, (u64, [u8; 8]), Unprocessable> = Table::once(
    "staking.unprocessable",
    "A message that cannot be applied, under its hour, its millisecond and a digest.",
    Placement::Hashed,
    Bounds::rows(100_000).values(MESSAGE_BYTES + 4096).pages(100),
)
.answers(&[Query { name: "messages that cannot be applied, newest first", touches: ONE }]);

/// Calculations that came later.
pub(crate) static BACKFILLS: Table<(), String, Backfill> = Table::guarded(
    "staking.backfills",
    "How far a calculation is with the delegations that were stored before it.",
    Placement::Single,
    Bounds::rows(100).values(1024).pages(100),
)
.answers(&[Query { name: "how far a calculation is", touches: ONE }]);

/// What all processes must agree on.
pub(crate) static SETTINGS: Table<(), (), Recorded> = Table::guarded(
    "staking.settings",
    "The highest number of logical shards that was ever set, and what is counted.",
    Placement::Single,
    Bounds::rows(1).values(1024).pages(1),
)
.answers(&[Query { name: "the number of shards that was set", touches: ONE }]);

/// Whose an address is.
pub static ADDRESSES: Table<Vec<u8>, (), PublicKey> = Table::once(
    "staking.addresses",
    "The staker of an address, under its witness version and program.",
    Placement::Hashed,
    Bounds::rows(1).values(64).pages(1),
)
.answers(&[Query { name: "the staker of an address", touches: ONE }]);

/// The tables of this crate, for the schema of whoever uses it. Those of `tally` go along.
#[must_use]
pub fn tables() -> Vec<&'static TableDef> {
    let mut tables = vec![DELEGATIONS.def(), BY_STAKER.def(), BITCOIN.def(), DIRECTORY.def()];
    tables.extend([NOTES.def(), WAITING.def(), UNPROCESSABLE.def(), BACKFILLS.def()]);
    tables.extend([SETTINGS.def(), ADDRESSES.def()]);
    tables.extend(lists().map(ListDef::table));
    tables
}

/// The lists of this crate.
#[must_use]
pub fn lists() -> [&'static ListDef; 1] {
    [BOARD.def()]
}
