//! The tree-graph: how it grows, and which block is in which epoch.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use super::crowd::Crowd;
use super::growth::News;
use super::{Account, Block, Hash, Transaction};

/// Blocks that one block refers to at the most, beside its parent.
const REFEREES: usize = 16;
/// Pivot blocks that a switch takes away at the most.
pub(super) const DEEPEST_SWITCH: u64 = 6;

/// The difficulty of the first blocks.
pub(super) const DIFFICULTY: u64 = 1_000_000;

/// How a graph grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphSettings {
    /// Two graphs of one seed, stepped at the same times, are the same.
    pub seed: u64,
    /// The time of the first block, Unix seconds.
    pub genesis: u64,
    /// Epochs that are kept; older ones are forgotten. A thousand take about two megabytes.
    pub epochs: usize,
    /// How often a step also finds a block beside the pivot chain, in percent.
    pub siblings: u8,
    /// How often a step switches to another branch, in percent.
    pub switches: u8,
}

impl Default for GraphSettings {
    fn default() -> Self {
        let genesis = 1_700_000_000;
        Self { seed: 1, genesis, epochs: 100_000, siblings: 25, switches: 4 }
    }
}

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The pivot chain grew by a block.
    Grew,
    /// Pivot blocks were replaced by a heavier branch.
    Switched {
        /// How many.
        depth: u64,
    },
}

/// A block's place in the order of all blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Its epoch.
    pub epoch: u64,
    /// Its number in the order of all blocks, from 0.
    pub number: u64,
}

/// A block and where it is at the moment.
#[derive(Clone, Debug)]
pub struct Found {
    /// The block.
    pub block: Block,
    /// Its place; none while no pivot block knows of it.
    pub seat: Option<Seat>,
    /// The epoch it was in before a switch took it out. The real node goes on telling it.
    pub was_in: Option<u64>,
}

/// Where a transaction is executed: in the first block that packs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Execution {
    pub(super) epoch: u64,
    pub(super) block: Hash,
    /// Its place in the block.
    pub(super) index: usize,
}

/// A tree-graph.
#[derive(Clone, Debug)]
pub struct Graph {
    pub(super) settings: GraphSettings,
    pub(super) random: fastrand::Rng,
    pub(super) blocks: HashMap<Hash, Found>,
    /// Epochs from `first` on, each in order, its pivot block last.
    pub(super) epochs: VecDeque<Vec<Hash>>,
    first: u64,
    /// The number of the next block that gets a seat.
    next_number: u64,
    /// Blocks without a seat. In order, so that equal seeds do equal things.
    loose: BTreeSet<Hash>,
    executions: HashMap<Hash, Execution>,
    pub(super) crowd: Crowd,
    pub(super) news: News,
}

impl Graph {
    /// A graph with nothing but its first block.
    #[must_use]
    pub fn new(settings: GraphSettings) -> Self {
        // A switch must find its fork among the epochs that are kept.
        let epochs = settings.epochs.max(4 * DEEPEST_SWITCH as usize);
        let mut graph = Self {
            settings: GraphSettings { epochs, ..settings },
            random: fastrand::Rng::with_seed(settings.seed),
            blocks: HashMap::new(),
            epochs: VecDeque::new(),
            first: 0,
            next_number: 0,
            loose: BTreeSet::new(),
            executions: HashMap::new(),
            crowd: Crowd::new(),
            news: News::default(),
        };
        let genesis = Block {
            hash: Hash([0; 32]),
            height: 0,
            parent: Hash([0; 32]),
            referees: Vec::new(),
            miner: Account([0; 20]),
            difficulty: DIFFICULTY,
            timestamp: settings.genesis,
            nonce: settings.seed,
            transactions: Vec::new(),
        };
        let genesis = graph.add(genesis.sealed());
        graph.push_epoch(genesis);
        graph
    }

    /// The newest epoch.
    #[must_use]
    pub fn latest(&self) -> u64 {
        self.first + self.epochs.len() as u64 - 1
    }

    /// The oldest epoch that is kept.
    #[must_use]
    pub fn earliest(&self) -> u64 {
        self.first
    }

    /// The blocks of an epoch in order, the pivot block last.
    #[must_use]
    pub fn epoch(&self, number: u64) -> Option<&[Hash]> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.epochs.get(index).map(Vec::as_slice)
    }

    /// The pivot block of an epoch.
    #[must_use]
    pub fn pivot(&self, number: u64) -> Option<Hash> {
        self.epoch(number)?.last().copied()
    }

    /// A block that is kept.
    #[must_use]
    pub fn block(&self, hash: &Hash) -> Option<&Found> {
        self.blocks.get(hash)
    }

    /// How many blocks have a place in the order.
    #[must_use]
    pub fn ordered_blocks(&self) -> u64 {
        self.next_number
    }

    #[cfg(test)]
    pub(super) fn settings_mut(&mut self) -> &mut GraphSettings {
        &mut self.settings
    }

    pub(super) fn execution(&self, transaction: &Hash) -> Option<Execution> {
        self.executions.get(transaction).copied()
    }

    /// Whether this block, which has a place, is where a transaction of its is executed.
    pub(super) fn executes(&self, block: &Block, transaction: &Transaction) -> bool {
        self.execution(&transaction.hash).is_some_and(|it| it.block == block.hash)
    }

    /// What the last step brought.
    pub(super) fn news(&self) -> &News {
        &self.news
    }

    pub(super) fn tip(&self) -> Hash {
        // There is always an epoch, and no epoch is empty.
        self.pivot(self.latest()).unwrap_or(Hash([0; 32]))
    }

    pub(super) fn parent_of(&self, hash: Hash) -> Hash {
        self.blocks.get(&hash).map_or(hash, |found| found.block.parent)
    }

    pub(super) fn transactions_of(&self, hash: Hash) -> Vec<Transaction> {
        self.blocks.get(&hash).map_or_else(Vec::new, |found| found.block.transactions.clone())
    }

    pub(super) fn add(&mut self, block: Block) -> Hash {
        let hash = block.hash;
        self.blocks.insert(hash, Found { block, seat: None, was_in: None });
        self.loose.insert(hash);
        hash
    }

    /// Blocks without a seat that no other block without a seat stands on or refers to.
    pub(super) fn loose_ends(&self) -> Vec<Hash> {
        let known: HashSet<Hash> = self.loose.iter().flat_map(|hash| self.edges(*hash)).collect();
        let ends = self.loose.iter().filter(|hash| !known.contains(*hash));
        ends.take(REFEREES).copied().collect()
    }

    /// The blocks that a block stands on and refers to.
    fn edges(&self, hash: Hash) -> Vec<Hash> {
        let Some(found) = self.blocks.get(&hash) else { return Vec::new() };
        std::iter::once(found.block.parent).chain(found.block.referees.iter().copied()).collect()
    }

    /// How many blocks stand on a block, itself included. All of them are loose.
    pub(super) fn weight_of(&self, root: Hash) -> usize {
        let mut loose: Vec<(u64, Hash)> = self
            .loose
            .iter()
            .filter_map(|hash| Some((self.blocks.get(hash)?.block.height, *hash)))
            .collect();
        loose.sort_unstable();
        let mut above = HashSet::from([root]);
        for (_, hash) in loose {
            if above.contains(&self.parent_of(hash)) {
                above.insert(hash);
            }
        }
        above.len()
    }

    /// Seats a pivot block and every loose block it knows of, directly or not.
    pub(super) fn push_epoch(&mut self, pivot: Hash) {
        let epoch = self.first + self.epochs.len() as u64;
        let blocks = self.ordered_past(pivot);
        for hash in &blocks {
            self.loose.remove(hash);
            let Some(found) = self.blocks.get_mut(hash) else { continue };
            found.seat = Some(Seat { epoch, number: self.next_number });
            self.next_number += 1;
            for (index, transaction) in found.block.transactions.iter().enumerate() {
                let execution = Execution { epoch, block: *hash, index };
                self.executions.entry(transaction.hash).or_insert(execution);
            }
        }
        self.epochs.push_back(blocks);
        self.forget();
    }

    /// The loose past of a block: what is referred to comes first, else the smaller hash.
    fn ordered_past(&self, pivot: Hash) -> Vec<Hash> {
        let (mut past, mut queue) = (BTreeSet::new(), self.edges(pivot));
        while let Some(hash) = queue.pop() {
            if self.loose.contains(&hash) && past.insert(hash) {
                queue.extend(self.edges(hash));
            }
        }
        let mut ordered = Vec::with_capacity(past.len() + 1);
        while !past.is_empty() {
            let free = |hash: &&Hash| !self.edges(**hash).iter().any(|edge| past.contains(edge));
            // Edges lead back in time, so there is always one without any.
            let Some(next) = past.iter().find(free).copied() else { break };
            past.remove(&next);
            ordered.push(next);
        }
        ordered.push(pivot);
        ordered
    }

    /// Takes the newest epoch away: its blocks are loose again, and what it executed is not.
    pub(super) fn pop_epoch(&mut self) {
        let Some(blocks) = self.epochs.pop_back() else { return };
        self.next_number -= blocks.len() as u64;
        for hash in blocks {
            self.unexecute(hash);
            if let Some(found) = self.blocks.get_mut(&hash) {
                found.was_in = found.seat.take().map(|seat| seat.epoch);
                self.loose.insert(hash);
            }
        }
    }

    fn unexecute(&mut self, block: Hash) {
        for transaction in self.transactions_of(block) {
            if self.execution(&transaction.hash).is_some_and(|it| it.block == block) {
                self.executions.remove(&transaction.hash);
            }
        }
    }

    /// Forgets what is older than the epochs that are kept.
    fn forget(&mut self) {
        while self.epochs.len() > self.settings.epochs {
            self.first += 1;
            for hash in self.epochs.pop_front().unwrap_or_default() {
                self.unexecute(hash);
                self.blocks.remove(&hash);
            }
        }
        let (first, blocks) = (self.first, &mut self.blocks);
        self.loose.retain(|hash| {
            let kept = blocks.get(hash).is_some_and(|found| found.block.height >= first);
            if !kept {
                blocks.remove(hash);
            }
            kept
        });
    }
}

#[cfg(test)]
#[path = "graph_tests.rs"]
mod tests;
