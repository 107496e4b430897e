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
//! | [`journal`], [`popped`] | switches that popped epochs, and what was in these |
//! | [`run`] | who writes: lease, nodes in turn, notices, sweeping, events |
//! | [`query`], [`answers`] | answers from a view, and whole objects |
//! | [`api`] | answers to HTTP |
//! | [`verify`] | the index against a node, field by field |
//! | [`keys`] | the paper's thirteen Redis keys, for `resp` |
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
//! - **Results have units of their own**, in a lane above the mined one: a switch takes both back
//!   in the same commit, so nobody sees a receipt of a popped epoch. Confirmed and finalized epochs
//!   are two more lanes.
//! - **A span is written before the rows it names**: whatever a crash leaves, a sweep finds.
//! - **A contract is listed under its own address at the packing of the transaction that creates
//!   it**: the address follows from sender, number and code. If the creation fails, the transaction
//!   stays listed there, as a failed transfer stays with its receiver.
//!
//! # Deliberately absent
//!
//! - Transactions that wait in a node's pool: the paper begins with blocks.
//! - The node's other space (EVM): its blocks are the same, its transactions are another API.
//! - Rows of an attempt that died between facts and lists may stay behind, unseen, when the block
//!   never came again: they cost space and nothing else.

pub mod address;
pub mod answers;
pub mod api;
pub mod derive;
mod explorer;
pub mod follow;
mod gather;
pub mod ingest;
pub mod journal;
pub mod keys;
mod lists;
mod memory;
pub mod message;
pub mod packed;
pub mod popped;
pub mod query;
pub mod run;
mod search;
mod sift;
pub mod source;
pub mod tables;
mod types;
pub mod verify;

pub use explorer::{Explorer, Explorers, Settings};
pub use gather::Sample;
pub use memory::Memory;
pub use sift::{Sifted, Wanted};
pub use types::{
    Address, BlockInput, EpochInput, Fields, Hash, ParseError, ReceiptInput, ResultsInput,
    TransactionInput,
};
