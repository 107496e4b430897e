//! A read-only server that speaks the protocol of Redis, RESP2 and RESP3.
//!
//! ```text
//!   bytes ──► wire ──► words ──► commands ──► Keyspace::snapshot ──► values
//!     ▲                              │
//!     └────────── reply ◄────────────┘
//! ```
//!
//! It knows the protocol and the commands, and nothing of what the keys mean: a [`Keyspace`] says
//! that. Every command takes one [`Snapshot`] and answers from it alone, so that all parts of an
//! answer are of one moment.
//!
//! | room | what it holds |
//! | --- | --- |
//! | `wire` | bytes to requests, with limits: pure |
//! | `reply` | answers to bytes of either protocol: pure |
//! | `keyspace` | what a service implements |
//! | `memory` | values that are small enough to be held, and a keyspace of them |
//! | `commands` | the table of commands, and what each answers |
//! | `server` | connections, and how they begin and end |
//!
//! # Invariants
//!
//! - **Texts are those of Redis 7.0**, errors too: clients look at their first word.
//! - **Everything has a limit** ([`Options`]): connections, requests, answers, idle time, and the
//!   time that a client may take to read. A client is never buffered for: whoever does not read is
//!   not read from.
//! - **Ranges read what they answer**, whatever the length of the list.
//!
//! # Deliberately absent
//!
//! - Everything that writes, subscribes, blocks or runs scripts.
//! - Encryption: the protocol has none of its own. Listen on a loopback or private address.
//!
//! # Example
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
//! use std::sync::Arc;
//!
//! let keys = resp::Memory::new([("greeting", resp::Stored::Text(b"hello".to_vec()))]);
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
//! let (stop, stopped) = tokio::sync::watch::channel(false);
//! let server = resp::serve(listener, Arc::new(keys), resp::Options::default(), stopped);
//! let server = tokio::spawn(server);
//! stop.send_replace(true);
//! server.await?;
//! # Ok(()) }
//! ```

mod commands;
mod glob;
mod keyspace;
mod memory;
mod number;
mod options;
mod reply;
mod server;
mod session;
mod wire;

pub use keyspace::{
    Failure, Field, Found, HashValue, Keyspace, Kind, ListValue, Member, Scanned, Snapshot,
    SortedValue, Task, Value,
};
pub use memory::{Elements, Fields, Members, Memory, Stored};
pub use options::{Options, Stats};
pub use reply::{Protocol, Reply};
pub use server::serve;
pub use wire::{Decoder, Limits, ProtocolError};
