//! A tree-graph and a node that serves it.
//!
//! ```text
//!   pivot      ── 5 ◄── 6 ◄── 7 ◄── 8     each block has a parent; the chain of the heaviest
//!                 ▲           ┆     ┆     subtrees is the pivot chain, and each pivot block makes
//!                 └── s ◄┄┄┄┄┄┘     ┆     an epoch of what it refers to and nobody did before:
//!   once pivot    └── 6'◄── 7'◄┄┄┄┄┄┘     here 7 makes (s, 7) and 8 makes (6', 7', 8)
//! ```
//!
//! - `graph.rs` and `growth.rs`: what is where, and how it grows. A function of its seed and the
//!   times of its steps. `crowd.rs` is who mines and who pays.
//! - `rpc.rs`, `methods.rs`, `messages.rs` and `receipts.rs`: the answers, in the words of the real
//!   node. Pure.
//! - `hub.rs`, `subscriptions.rs` and `sockets.rs`: pub-sub over WebSocket.
//! - `node.rs`: HTTP and the clock. `faults.rs`: what can be wrong with it.

mod address;
mod block;
mod crowd;
mod faults;
mod graph;
mod growth;
mod hub;
mod messages;
mod methods;
mod node;
mod receipts;
mod rpc;
mod sockets;
mod subscriptions;
mod transaction;

pub use block::{Account, Block, Hash, ParseHashError};
pub use crowd::{MINERS, miner};
pub use faults::Fault;
pub use graph::{Found, Graph, GraphSettings, Seat, Step};
pub use node::{TreeGraphNode, TreeGraphOptions};
pub use rpc::{BATCH_REQUESTS, Rpc};
pub use transaction::{Action, Log, Transaction};
