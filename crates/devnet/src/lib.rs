//! Small nodes that speak the real protocols, for the demo and for faults.
//!
//! - [`treegraph`]: a tree-graph that grows by itself, and a node that answers about it as a
//!   Conflux node does.
//! - [`staking`]: lives of delegations as an indexer of Bitcoin staking tells them.
//!
//! A node listens on 127.0.0.1 only, grows from a seed, keeps a bounded past in memory and ends
//! when it is dropped. Real nodes are used beside these: a devnet proves nothing on its own.
//!
//! # Deliberately absent
//!
//! - *Wrong answers and partitions.* A node can stall, fall silent and drop its connections; it
//!   never lies. Who wants lies stands in between and spoils what it says.
//! - *Searches in logs*: they are in receipts only, and nobody can subscribe to them.
//! - *Proof of work and consensus.* The graph is made so that its pivot chain is the heaviest; no
//!   node checks that, and there are no peers.
//! - *State and signatures.* Transactions are executed in order and each once, four epochs behind
//!   mining, and with a fate that they carry from the start: no balance changes, roots are made up,
//!   and `r` and `s` verify nothing.
//! - *Skipped blocks*: no epoch reaches the 200 blocks at which a real node skips some.

pub mod staking;
pub mod treegraph;

pub use treegraph::{Fault, TreeGraphNode, TreeGraphOptions};
