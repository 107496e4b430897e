//! What it costs when a node joins.

use serde::{Deserialize, Serialize};

use super::{Cluster, Strategy};
use crate::{stats, token};

/// What happens to a set of keys when one node joins a cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Join {
    /// How keys are shared out.
    pub strategy: Strategy,
    /// Nodes before.
    pub from: u16,
    /// Nodes after.
    pub to: u16,
    /// Keys looked at.
    pub keys: u64,
    /// Keys that changed their node.
    pub moved: u64,
    /// `moved / keys`.
    pub share_moved: f64,
    /// The least any balanced scheme can move: `1 / to`.
    pub ideal: f64,
    /// Keys on the fullest node over the mean, after the join.
    pub max_over_mean: f64,
}

/// Counts the keys that change their node when a cluster of `from` nodes gets one more.
#[must_use]
pub fn keys_moved(strategy: Strategy, from: u16, tokens: &[i64]) -> Join {
    let from = from.clamp(1, u16::MAX - 1);
    let (before, after) = (Cluster::new(strategy, from), Cluster::new(strategy, from + 1));
    let mut loads = vec![0u64; usize::from(after.nodes())];
    let mut moved = 0;
    for &token in tokens {
        let home = after.node_of_token(token);
        moved += u64::from(home != before.node_of_token(token));
        if let Some(load) = loads.get_mut(usize::from(home.0)) {
            *load += 1;
        }
    }
    let keys = tokens.len() as u64;
    Join {
        strategy,
        from,
        to: from + 1,
        keys,
        moved,
        share_moved: stats::share(moved, keys),
        ideal: 1.0 / f64::from(from + 1),
        max_over_mean: stats::max_over_mean(&loads),
    }
}

/// The tokens of `count` different keys, for judging a strategy without a table.
#[must_use]
pub fn generated_tokens(count: u32) -> Vec<i64> {
    (0..count).map(|key| token(&key.to_be_bytes())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Tokens;

    /// The measured figures for 16 to 17 nodes; rings of drawn tokens differ by their draw.
    #[test]
    fn keys_moved_when_a_node_joins() {
        let tokens = generated_tokens(100_000);
        let ring = |vnodes, tokens| Strategy::Ring { vnodes, tokens };
        for (strategy, moved, fullest) in [
            (Strategy::ModN, 0.935..0.947, 1.0..1.05),
            (ring(256, Tokens::Drawn), 0.050..0.068, 1.03..1.20),
            (ring(16, Tokens::Drawn), 0.030..0.090, 1.10..1.90),
            (ring(16, Tokens::Allocated), 0.055..0.063, 1.0..1.12),
            (Strategy::FixedSlots { slots: 1024 }, 0.056..0.061, 1.0..1.04),
        ] {
            let join = keys_moved(strategy, 16, &tokens);
            println!("{strategy}: {:.4} {:.3}", join.share_moved, join.max_over_mean);
            assert!(moved.contains(&join.share_moved), "{strategy} moved {}", join.share_moved);
            assert!(fullest.contains(&join.max_over_mean), "{strategy}: {}", join.max_over_mean);
            assert!((join.ideal - 0.0588).abs() < 0.0001);
        }
    }

    #[test]
    fn consistent_strategies_move_keys_only_to_the_new_node() {
        for strategy in Strategy::COMPARED.into_iter().filter(|s| *s != Strategy::ModN) {
            for from in [1, 3, 6, 12, 32] {
                let (before, after) =
                    (Cluster::new(strategy, from), Cluster::new(strategy, from + 1));
                for token in generated_tokens(2000) {
                    let (old, new) = (before.node_of_token(token), after.node_of_token(token));
                    assert!(old == new || new.0 == from, "{strategy}, {from} nodes");
                }
            }
        }
    }

    #[test]
    fn a_join_without_keys_moves_nothing() {
        let join = keys_moved(Strategy::ModN, 16, &[]);
        assert_eq!((join.moved, join.share_moved, join.max_over_mean), (0, 0.0, 0.0));
    }
}
