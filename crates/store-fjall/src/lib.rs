//! The embedded engine: one directory, one process, fjall underneath.
//!
//! ```text
//! data/
//!   ostrakon.lock    held by the process that has the store open, with its process id inside
//!   identity         16 random bytes that mark this store's batches in the journal
//!   acknowledged     number of the last batch a caller was told about
//!   incidents.log    one line for each damage that was recovered from
//!   fjall/           the engine's own files; one keyspace per table
//! ```
//!
//! # Invariants
//!
//! - **Acknowledged means on disk.** A write is answered after `fdatasync` of the journal, or after
//!   the tables of a bulk run, their directory and the version were synced.
//! - **One thread writes, and it writes for all who wait** (group commit): while one batch is
//!   synced the next one gathers, so commits of different partitions share a sync and none waits
//!   behind a lock.
//! - **Every batch ends with a marker**: this store's identity and a number that grows by one. At
//!   open the journals are read before fjall reads them, and the numbers must be without a gap up
//!   to the last acknowledged one ([`journal`]). fjall alone cannot tell a damaged journal from one
//!   that ends early.
//! - **A large `put` becomes a bulk run**: sorted tables that never see the journal. A bulk run is
//!   not atomic over tables, and need not be: rows come first, the tip comes last.
//! - **The journal stays short**, because its length is what opening costs.
//!
//! What is deliberately absent: transactions of fjall's own (the contract has none), compression
//! (it costs more than it saves on hashes), and reads through a thread pool (a read is a few
//! microseconds).

mod acknowledged;
mod bulk;
mod engine;
mod error;
mod expiry;
mod in_flight;
mod incident;
mod journal;
mod layout;
mod lock;
mod maintenance;
mod metrics;
mod open;
mod options;
mod pressure;
mod writer;

pub use engine::FjallEngine;
pub use error::OpenError;
pub use options::Options;
