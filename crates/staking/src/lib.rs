//! Bitcoin staking: every event counts once.
//!
//! ```text
//!   message ── event ──► delegation ──► what it counts for
//!              strict    pure: applied, parked, repeated
//! ```
//!
//! An indexer tells what happens to delegations, through queues that deliver twice and out of
//! order. An event whose predecessor is unknown is parked with its delegation and applied the
//! moment that one comes; a state that was passed already changes nothing. So any order of the same
//! events, with any of them doubled, ends in the same delegation.
//!
//! | room | what it holds |
//! | --- | --- |
//! | [`event`] | what a message says, read strictly |
//! | [`delegation`] | the states of a delegation: pure |
//! | `intake` | what sources hand over, and what they are told |
//!
//! # Deliberately absent, for now
//!
//! - Tables, statistics, sources, the API and the pages: they come next.

pub mod delegation;
pub mod event;
mod intake;
mod types;

pub use intake::{BATCH, Intake, MESSAGE_BYTES, Message, Taken};
pub use types::{BtcHeight, ParseError, PublicKey, Satoshi, TxHash};
