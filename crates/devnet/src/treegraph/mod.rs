//! A tree-graph and a node that serves it.
//!
//! ```text
//!   pivot      ── 5 ◄── 6 ◄── 7 ◄── 8     each block has a parent; the chain of the heaviest
//!                 ▲           ┆     ┆     subtrees is the pivot chain, and each pivot block makes
//!                 └── s ◄┄┄┄┄┄┘     ┆     an epoch of what it refers to and nobody did before:
//!   once pivot    └── 6'◄── 7'◄┄┄┄┄┄┘     here 7 makes (s, 7) and 8 makes (6', 7', 8)
//! ```
//!
//! - `graph.rs`: how it grows, and what is where. A function of its seed and the times of its
//!   steps.
//! - `messages.rs` and `rpc.rs`: the answers, in the words of the real node. Pure.
//! - `node.rs`: HTTP and the clock.

mod address;
mod block;
mod crowd;
mod graph;
mod growth;
mod messages;
mod node;
mod rpc;
mod transaction;

pub use block::{Account, Block, Hash, ParseHashError};
pub use crowd::{MINERS, miner};
pub use graph::{Found, Graph, GraphSettings, Seat, Step};
pub use node::{TreeGraphNode, TreeGraphOptions};
pub use rpc::{BATCH_REQUESTS, Rpc};
pub use transaction::{Action, Log, Transaction};
