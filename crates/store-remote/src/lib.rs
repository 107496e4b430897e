//! An embedded store for several processes of one machine: one holds it, the others ask.
//!
//! ```text
//! web ────────┐
//! indexer ────┼──► store.sock ──► the process that holds the directory
//! gateway ────┘
//! ```
//!
//! The four verbs and nothing else: operators' commands have the admin socket. Every verb may be
//! sent again, a commit too because it names its operation, so a client outlives the server's
//! restart: it asks again until its patience ends.

mod client;
mod convert;
mod server;
mod wire;

pub use client::{RemoteEngine, RemoteOptions};
pub use server::{Limits, serve};
