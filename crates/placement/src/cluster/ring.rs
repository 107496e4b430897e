//! The token ring of Cassandra.
//!
//! A node with token `t` owns the keys in `(previous token, t]`; the ring closes after the last
//! token.
//!
//! Allocated tokens follow the idea of Cassandra's allocator without its care for replicas: a
//! joining node cuts equal pieces from the widest range of whichever node is fullest, so it ends
//! with its fair share.

use super::{Node, Tokens};
use crate::random::SplitMix64;

/// All tokens there are, as a width.
const WHOLE: u128 = 1 << 64;

/// A range of the ring: the keys above the previous token, up to and including this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Range {
    token: i64,
    node: Node,
}

/// A ring, its ranges sorted by token.
#[derive(Clone, Debug)]
pub(crate) struct Ring {
    ranges: Vec<Range>,
}

impl Ring {
    pub(crate) fn new(vnodes: u16, tokens: Tokens, nodes: u16) -> Self {
        let vnodes = vnodes.max(1);
        let mut ring = Self { ranges: Vec::new() };
        for node in (0..nodes.max(1)).map(Node) {
            match tokens {
                Tokens::Drawn => ring.draw(node, vnodes),
                Tokens::Allocated => ring.allocate(node, vnodes),
            }
        }
        ring.ranges.sort_unstable();
        ring
    }

    pub(crate) fn node_of(&self, token: i64) -> Node {
        self.ranges.get(self.range_of(token)).map_or(Node(0), |range| range.node)
    }

    /// The index of the range a token falls into.
    pub(crate) fn range_of(&self, token: i64) -> usize {
        let index = self.ranges.partition_point(|range| range.token < token);
        if index == self.ranges.len() { 0 } else { index }
    }

    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// For each range, the node that owned it when only the first `nodes` nodes had joined.
    ///
    /// A join only cuts ranges, so loads counted per range of the largest ring give the loads of
    /// every smaller one: a table is read once for all cluster sizes.
    pub(crate) fn owners_among(&self, nodes: u16) -> Vec<Node> {
        let first = self.ranges.iter().find(|range| range.node.0 < nodes);
        let mut owner = first.map_or(Node(0), |range| range.node);
        let mut owners: Vec<Node> = Vec::with_capacity(self.ranges.len());
        for range in self.ranges.iter().rev() {
            if range.node.0 < nodes {
                owner = range.node;
            }
            owners.push(owner);
        }
        owners.reverse();
        owners
    }

    fn draw(&mut self, node: Node, vnodes: u16) {
        let mut random = SplitMix64::new(u64::from(node.0) + 1);
        for _ in 0..vnodes {
            self.ranges.push(Range { token: random.next().cast_signed(), node });
        }
    }

    fn allocate(&mut self, node: Node, vnodes: u16) {
        if self.ranges.is_empty() {
            let step = WHOLE / u128::from(vnodes);
            for index in 0..u128::from(vnodes) {
                self.ranges.push(Range { token: offset(i64::MIN, step * index), node });
            }
            return;
        }
        let piece = WHOLE / (u128::from(node.0) + 1) / u128::from(vnodes);
        for _ in 0..vnodes {
            let owned = self.owned(node);
            let fullest = owned.iter().enumerate().max_by_key(|(_, owned)| **owned);
            let donor = fullest.map_or(Node(0), |(donor, _)| Node(donor as u16));
            let Some((index, width)) = self.widest(donor) else { return };
            // Never all of it, so that no range is ever left empty.
            let token = offset(self.start(index), piece.min(width - width / 8));
            self.ranges.insert(index, Range { token, node });
        }
    }

    /// The token just before a range.
    fn start(&self, index: usize) -> i64 {
        let previous = index.checked_sub(1).map_or(self.ranges.last(), |i| self.ranges.get(i));
        previous.map_or(0, |range| range.token)
    }

    fn width(&self, index: usize) -> u128 {
        let end = self.ranges.get(index).map_or(0, |range| range.token);
        match end.wrapping_sub(self.start(index)).cast_unsigned() {
            0 => WHOLE,
            width => u128::from(width),
        }
    }

    /// What each node before `joining` owns of the ring.
    fn owned(&self, joining: Node) -> Vec<u128> {
        let mut owned = vec![0; usize::from(joining.0)];
        for (index, range) in self.ranges.iter().enumerate() {
            if let Some(owned) = owned.get_mut(usize::from(range.node.0)) {
                *owned += self.width(index);
            }
        }
        owned
    }

    fn widest(&self, node: Node) -> Option<(usize, u128)> {
        let of_node = self.ranges.iter().enumerate().filter(|(_, range)| range.node == node);
        of_node.map(|(index, _)| (index, self.width(index))).max_by_key(|(_, width)| *width)
    }
}

fn offset(token: i64, by: u128) -> i64 {
    token.wrapping_add((by as u64).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_allocated_ring_gives_every_node_its_fair_share() {
        for nodes in [2, 3, 6, 12, 16, 17, 32] {
            let ring = Ring::new(16, Tokens::Allocated, nodes);
            let fair = (WHOLE / u128::from(nodes)) as f64;
            let owned = ring.owned(Node(nodes));
            assert_eq!(owned.iter().sum::<u128>(), WHOLE);
            for (node, owned) in owned.iter().enumerate() {
                let ratio = *owned as f64 / fair;
                assert!((0.85..1.15).contains(&ratio), "node {node} of {nodes}: {ratio}");
            }
        }
    }

    #[test]
    fn a_smaller_ring_is_found_inside_a_larger_one() {
        for tokens in [Tokens::Drawn, Tokens::Allocated] {
            let large = Ring::new(16, tokens, 32);
            for nodes in [1, 3, 6, 16, 32] {
                let (small, owners) = (Ring::new(16, tokens, nodes), large.owners_among(nodes));
                for key in 0..2000u32 {
                    let token = crate::token(&key.to_be_bytes());
                    assert_eq!(owners[large.range_of(token)], small.node_of(token));
                }
            }
        }
    }

    #[test]
    fn a_token_belongs_to_the_range_that_ends_at_it() {
        let ring = Ring::new(4, Tokens::Allocated, 1);
        let ends: Vec<i64> = ring.ranges.iter().map(|range| range.token).collect();
        for (index, end) in ends.iter().enumerate() {
            assert_eq!(ring.range_of(*end), index);
            assert_eq!(ring.range_of(end.wrapping_add(1)), (index + 1) % ends.len());
        }
    }
}
