//! How a graph grows: blocks on the pivot chain, blocks beside it, and branches that replace it.

use std::collections::VecDeque;

use super::crowd::some_miner;
use super::graph::{DEEPEST_SWITCH, DIFFICULTY};
use super::{Block, Graph, Hash, Step, Transaction};

/// Transactions of one block at the most.
const TRANSACTIONS: usize = 12;
/// Blocks of a branch after which the difficulty changes, by a few percent.
const PERIOD: u64 = 50;
/// How often a block refers to what lies about; else it has not heard of it yet.
const REFERS_PERCENT: u8 = 70;

/// What the last step brought, for those who are told.
#[derive(Clone, Debug, Default)]
pub(super) struct News {
    /// Blocks as they were found, and whether each was on the pivot chain at once.
    pub(super) heads: Vec<(Hash, bool)>,
    /// The first epoch that is new, or was replaced.
    pub(super) from: u64,
}

impl Graph {
    /// Grows at a time, in Unix seconds.
    pub fn step(&mut self, now: u64) -> Step {
        if self.chance(self.settings.switches) {
            let depth = self.random.u64(1..=DEEPEST_SWITCH);
            return self.switch(depth, now);
        }
        self.grow(now);
        Step::Grew
    }

    /// Switches to another branch at a time, or grows while the graph is not that deep.
    pub fn switch(&mut self, depth: u64, now: u64) -> Step {
        let depth = depth.clamp(1, DEEPEST_SWITCH);
        if self.epochs.len() as u64 <= 2 * depth {
            self.grow(now);
            return Step::Grew;
        }
        self.replace(depth, now);
        Step::Switched { depth }
    }

    /// A block on the pivot chain, and perhaps one beside it.
    fn grow(&mut self, now: u64) {
        let tip = self.tip();
        self.news = News { heads: Vec::new(), from: self.latest() + 1 };
        let beside = self.latest() >= 2 && self.chance(self.settings.siblings);
        let in_time = beside && self.random.bool();
        if in_time {
            // Heard of before the next one is found, which refers to it: it is executed first.
            let fresh = self.new_transactions(TRANSACTIONS);
            let sibling = self.mine(self.parent_of(tip), Vec::new(), fresh, now);
            self.news.heads.push((sibling, false));
        }
        let refers = in_time || self.chance(REFERS_PERCENT);
        let referees = if refers { self.loose_ends() } else { Vec::new() };
        let transactions = self.new_transactions(TRANSACTIONS);
        let block = self.mine(tip, referees, transactions, now);
        self.push_epoch(block);
        self.news.heads.push((block, true));
        // Beside the block that has just got a child: that one is heavier already.
        if beside && !in_time {
            let (parent, mut same) = (self.parent_of(tip), self.transactions_of(tip));
            // Miners pack much the same, because they hear of the same transactions.
            same.truncate(self.random.usize(0..=TRANSACTIONS));
            let sibling = self.mine(parent, Vec::new(), same, now);
            self.news.heads.push((sibling, false));
        }
    }

    /// A branch that nobody knew of turns out to be heavier than the last `depth` pivot blocks.
    fn replace(&mut self, depth: u64, now: u64) {
        let fork = self.latest() - depth;
        let first = self.pivot(fork + 1);
        // It packs what they packed, in the same order, so that nonces stay in order too.
        let mut same: VecDeque<Transaction> =
            (fork + 1..=self.latest()).flat_map(|number| self.executed_in(number)).collect();
        while self.latest() > fork {
            self.pop_epoch();
        }
        self.news = News { heads: Vec::new(), from: fork + 1 };
        let weight = first.map_or(0, |child| self.weight_of(child));
        let since = self.blocks.get(&self.tip()).map_or(now, |found| found.block.timestamp);
        let mut length = 0;
        while length <= weight || !same.is_empty() {
            let left = (weight + 1).saturating_sub(length).max(1);
            let count = same.len().div_ceil(left).min(TRANSACTIONS);
            let mut packed: Vec<_> = same.drain(..count).collect();
            if length >= weight && same.is_empty() {
                packed.extend(self.new_transactions(TRANSACTIONS - packed.len()));
            }
            // It grew while the other one did.
            let age = now.saturating_sub(since) * left as u64 / (weight as u64 + 2);
            let block = self.mine(self.tip(), Vec::new(), packed, now - age);
            self.push_epoch(block);
            self.news.heads.push((block, length >= weight));
            length += 1;
        }
    }

    /// What an epoch executes, in order.
    fn executed_in(&self, number: u64) -> Vec<Transaction> {
        let blocks = self.epoch(number).unwrap_or_default();
        let blocks = blocks.iter().filter_map(|hash| self.block(hash));
        let packed = blocks.flat_map(|found| {
            let block = &found.block;
            block.transactions.iter().filter(|transaction| self.executes(block, transaction))
        });
        packed.cloned().collect()
    }

    fn chance(&mut self, percent: u8) -> bool {
        self.random.u8(0..100) < percent
    }

    fn new_transactions(&mut self, most: usize) -> Vec<Transaction> {
        let epoch = self.latest();
        self.crowd.transactions(&mut self.random, most, epoch)
    }

    /// Finds a block; it has no seat yet.
    fn mine(
        &mut self,
        parent: Hash,
        referees: Vec<Hash>,
        transactions: Vec<Transaction>,
        now: u64,
    ) -> Hash {
        let below = self.blocks.get(&parent).map(|found| &found.block);
        let (height, time) = below.map_or((0, 0), |below| (below.height + 1, below.timestamp));
        let difficulty = self.next_difficulty(height, below.map_or(0, |below| below.difficulty));
        let block = Block {
            hash: Hash([0; 32]),
            height,
            parent,
            referees,
            miner: some_miner(&mut self.random),
            difficulty,
            timestamp: now.max(time),
            nonce: self.random.u64(..),
            transactions,
        };
        self.add(block.sealed())
    }

    /// The same on every branch, as long as it is the same below: not worth a tie.
    fn next_difficulty(&self, height: u64, below: u64) -> u64 {
        if !height.is_multiple_of(PERIOD) {
            return below;
        }
        let parts: [&[u8]; 3] =
            [b"difficulty", &self.settings.seed.to_be_bytes(), &height.to_be_bytes()];
        // From 95 to 105 percent, and never out of sight.
        let percent = 95 + u64::from(Hash::of(&parts).0[0]) % 11;
        (below * percent / 100).clamp(DIFFICULTY / 10, DIFFICULTY * 10)
    }
}
