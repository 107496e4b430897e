//! Which node of a cluster holds a partition, under three ways of sharing keys out.
//!
//! All three start from the token of the partition key ([`token`]), as Cassandra does; they differ
//! in how the space of tokens is cut into pieces that nodes own.

mod join;
mod ring;
mod slots;

pub use join::{Join, generated_tokens, keys_moved};
pub(crate) use ring::Ring;
use serde::{Deserialize, Serialize};
use slots::Slots;

use crate::token;

/// A node of a cluster, numbered from 0 in the order of joining.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Node(pub u16);

/// How a node of a ring finds its tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tokens {
    /// Drawn at random, as Cassandra did before version 4 and does still when it is told nothing
    /// else.
    Drawn,
    /// Cut from the widest ranges of the fullest nodes, in the manner of Cassandra's token
    /// allocation.
    Allocated,
}

/// A way of sharing partitions out among nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// The token modulo the number of nodes.
    ModN,
    /// A token ring on which every node owns several ranges.
    Ring {
        /// Ranges per node: Cassandra's `num_tokens`.
        vnodes: u16,
        /// How a joining node finds them.
        tokens: Tokens,
    },
    /// A fixed number of slots, dealt out to nodes: a join moves whole slots.
    FixedSlots {
        /// Number of slots, the same for the life of the cluster.
        slots: u16,
    },
}

impl Strategy {
    /// Cassandra's default since version 4: 16 allocated tokens per node.
    pub const CASSANDRA: Self = Self::Ring { vnodes: 16, tokens: Tokens::Allocated };

    /// The strategies that reports compare, worst first.
    pub const COMPARED: [Self; 5] = [
        Self::ModN,
        Self::Ring { vnodes: 16, tokens: Tokens::Drawn },
        Self::Ring { vnodes: 256, tokens: Tokens::Drawn },
        Self::CASSANDRA,
        Self::FixedSlots { slots: 1024 },
    ];
}

impl std::fmt::Display for Strategy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::ModN => write!(f, "mod N"),
            Self::Ring { vnodes, tokens: Tokens::Drawn } => {
                write!(f, "ring, {vnodes} drawn vnodes")
            }
            Self::Ring { vnodes, tokens: Tokens::Allocated } => {
                write!(f, "ring, {vnodes} allocated vnodes")
            }
            Self::FixedSlots { slots } => write!(f, "{slots} fixed slots"),
        }
    }
}

/// A cluster of some nodes under one strategy. Two clusters built alike are equal, and the cluster
/// of `n + 1` nodes is the one that the cluster of `n` becomes when a node joins.
#[derive(Clone, Debug)]
pub struct Cluster {
    nodes: u16,
    shared_out: SharedOut,
}

#[derive(Clone, Debug)]
enum SharedOut {
    ModN,
    Ring(Ring),
    Slots(Slots),
}

impl Cluster {
    /// A cluster of `nodes` nodes; 0 counts as 1.
    #[must_use]
    pub fn new(strategy: Strategy, nodes: u16) -> Self {
        let nodes = nodes.max(1);
        let shared_out = match strategy {
            Strategy::ModN => SharedOut::ModN,
            Strategy::Ring { vnodes, tokens } => SharedOut::Ring(Ring::new(vnodes, tokens, nodes)),
            Strategy::FixedSlots { slots } => SharedOut::Slots(Slots::new(slots, nodes)),
        };
        Self { nodes, shared_out }
    }

    /// The number of nodes.
    #[must_use]
    pub fn nodes(&self) -> u16 {
        self.nodes
    }

    /// The node that holds a partition key (its first replica).
    #[must_use]
    pub fn node_of(&self, partition_key: &[u8]) -> Node {
        self.node_of_token(token(partition_key))
    }

    /// The node that holds a token.
    #[must_use]
    pub fn node_of_token(&self, token: i64) -> Node {
        match &self.shared_out {
            SharedOut::ModN => {
                Node(u16::try_from(token.cast_unsigned() % u64::from(self.nodes)).unwrap_or(0))
            }
            SharedOut::Ring(ring) => ring.node_of(token),
            SharedOut::Slots(slots) => slots.node_of(token),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_a_node_of_the_cluster_under_every_strategy() {
        for strategy in Strategy::COMPARED {
            for nodes in [1, 2, 3, 16, 33] {
                let cluster = Cluster::new(strategy, nodes);
                let mut used = vec![false; usize::from(nodes)];
                for key in 0..2000u32 {
                    let Node(node) = cluster.node_of(&key.to_be_bytes());
                    used[usize::from(node)] = true;
                }
                assert!(used.iter().all(|used| *used), "{strategy} leaves a node of {nodes} empty");
            }
        }
    }

    #[test]
    fn a_cluster_of_no_nodes_counts_as_one() {
        let cluster = Cluster::new(Strategy::ModN, 0);
        assert_eq!((cluster.nodes(), cluster.node_of(b"k")), (1, Node(0)));
    }
}
