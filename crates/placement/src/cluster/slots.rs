//! Fixed slots, dealt out to nodes: the table of slots moves, a key never changes its slot.

use super::Node;

/// The owner of every slot.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    owners: Vec<Node>,
}

impl Slots {
    pub(crate) fn new(slots: u16, nodes: u16) -> Self {
        let mut dealt = Self { owners: vec![Node(0); usize::from(slots.max(1))] };
        for node in 1..nodes.max(1) {
            dealt.join(Node(node));
        }
        dealt
    }

    pub(crate) fn node_of(&self, token: i64) -> Node {
        let slot = token.cast_unsigned() % self.owners.len().max(1) as u64;
        self.owners.get(slot as usize).copied().unwrap_or(Node(0))
    }

    /// The new node takes one slot at a time from whichever node has most, until it has its share.
    fn join(&mut self, node: Node) {
        let mut counts = vec![0usize; usize::from(node.0)];
        for owner in &self.owners {
            if let Some(count) = counts.get_mut(usize::from(owner.0)) {
                *count += 1;
            }
        }
        for _ in 0..self.owners.len() / (usize::from(node.0) + 1) {
            let fullest = counts.iter_mut().enumerate().max_by_key(|(_, count)| **count);
            let Some((donor, count)) = fullest else { return };
            *count -= 1;
            let donor = Node(donor as u16);
            if let Some(owner) = self.owners.iter_mut().find(|owner| **owner == donor) {
                *owner = node;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_dealt_out_evenly() {
        for nodes in [1u16, 2, 3, 16, 17, 32] {
            let dealt = Slots::new(1024, nodes);
            let mut counts = vec![0u32; usize::from(nodes)];
            for owner in &dealt.owners {
                counts[usize::from(owner.0)] += 1;
            }
            let (least, most) = (counts.iter().min(), counts.iter().max());
            let spread = most.expect("a node") - least.expect("a node");
            assert!(spread <= 1, "{nodes} nodes: {counts:?}");
        }
    }

    #[test]
    fn more_nodes_than_slots_leaves_the_last_nodes_empty() {
        let dealt = Slots::new(2, 5);
        assert_eq!(dealt.owners.iter().filter(|owner| owner.0 >= 2).count(), 0);
    }
}
