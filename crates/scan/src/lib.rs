//! The tree-graph explorer: paper 000 on a timeline.
//!
//! ```text
//!   node ── epoch: blocks in order, pivot last ──► derive ──► rows, stamped with a unit
//!                                                    ▲             │
//!                       what the branch has already ─┘             ▼ one commit
//!                                                                 tip
//! ```
//!
//! A unit is an epoch. What is true of a block or a transaction whatever the pivot chain is, is a
//! fact: a `Once` row under its hash. Where it stands (epoch, position, pivot, first packing) is
//! stamped with the unit that says so, and counts as long as that unit is on the chain. So an
//! epoch that is popped subtracts nothing: after it all is as if it had never been pushed.
//!
//! | room | what it holds |
//! | --- | --- |
//! | [`tables`] | all tables |
//! | [`derive`] | an epoch to its rows: pure |
//! | [`ingest`] | what derivation must know, read through the branch; write and publish |
//! | [`message`], [`source`], [`follow`] | what a node says, how it is asked, how it is followed |
//! | [`query`] | answers from a view |
//!
//! # Invariants
//!
//! - **Order numbers are dense.** Blocks, first packings, miners, the entries of an account and of
//!   a miner are numbered from 0 along the chain. Sums stand on every row of the block list, so
//!   "the last thousand blocks" is the difference of two rows.
//! - **A list under an address grows in buckets**, and a small directory says which is the last:
//!   two reads lead to the newest entry, however long the list is.
//! - **A transaction is listed at its first packing on the chain**, once for each account.
//!
//! # Deliberately absent, for now
//!
//! - Pub-sub of a node, receipts and the executed lane, the API, the pages and the Redis keys: they
//!   come next.
//! - Contracts that a transaction creates are not listed under their own address yet: it is known
//!   with the receipt.

pub mod address;
pub mod answers;
pub mod derive;
mod explorer;
pub mod follow;
mod gather;
pub mod ingest;
pub mod journal;
mod lists;
mod memory;
pub mod message;
pub mod packed;
pub mod query;
pub mod run;
pub mod source;
pub mod tables;
mod types;

pub use explorer::{Explorer, Explorers, Settings};
pub use gather::Sample;
pub use memory::Memory;
pub use types::{
    Address, BlockInput, EpochInput, Fields, Hash, ParseError, ReceiptInput, ResultsInput,
    TransactionInput,
};
