//! What a writer remembers of its branch from one batch to the next.
//!
//! How many entries an account has stands in the store, two reads away; at the head of a chain the
//! same few thousand accounts come again and again. Only the writer publishes, so what it derived
//! is what is there, as long as the next batch stands on the one before. When it stands on an
//! earlier one that was published lately, the counts go back to what they were then: a switch at
//! the head of the chain costs no more reads than growth does. After anything else it forgets
//! everything and reads.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash as Key;

use futures_util::{StreamExt as _, TryStreamExt as _};
use store::Sequenced;
use timeline::{Sight, Timeline, Unit, ViewError};

use crate::derive::{Before, Needed};
use crate::lists::{OF_ACCOUNT, OF_MINER};
use crate::tables::{EPOCHS, PACKINGS, TRANSACTIONS, Totals};
use crate::{Address, EpochInput, Hash};

/// Entries of one generation.
const GENERATION: usize = 100_000;
/// Batches that can be taken back, and counts of one of them. A switch at the head leaves a few
/// epochs, and those came one by one.
const STEPS: usize = 128;
const STEP_COUNTS: usize = 5_000;
/// Reads at a time: on a cluster each is a journey.
const AT_ONCE: usize = 32;
/// Keys of one read.
const KEYS: usize = 500;

/// What a writer remembers.
#[derive(Debug, Default)]
pub struct Memory {
    /// The epoch that goes on from here, and the pivot it stands on.
    next: Option<(u64, Hash)>,
    totals: Totals,
    accounts: Generations<Address>,
    miners: Generations<Address>,
    /// The latest batches, the newest last.
    steps: VecDeque<Step>,
    /// The batch that is being derived.
    begun: Option<Step>,
}

/// What there was before a batch, of all that it changed.
#[derive(Debug)]
struct Step {
    /// Its first epoch, and the pivot that stands on.
    at: (u64, Hash),
    totals: Totals,
    accounts: Vec<(Address, u64)>,
    miners: Vec<(Address, u64)>,
}

/// Counts that were used lately: two maps, of which the older one is dropped as a whole.
#[derive(Debug)]
struct Generations<K> {
    young: HashMap<K, u64>,
    old: HashMap<K, u64>,
}

impl<K> Default for Generations<K> {
    fn default() -> Self {
        Self { young: HashMap::new(), old: HashMap::new() }
    }
}

impl<K: Key + Eq> Generations<K> {
    fn get(&self, key: &K) -> Option<u64> {
        self.young.get(key).or_else(|| self.old.get(key)).copied()
    }

    fn put(&mut self, counts: impl IntoIterator<Item = (K, u64)>) {
        self.young.extend(counts);
        if self.young.len() > GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
    }
}

impl Memory {
    /// What a branch has below an epoch whose pivot stands on `parent`.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) async fn before(
        &mut self,
        timeline: &Timeline,
        sight: &dyn Sight,
        (first, parent): (u64, Option<Hash>),
        needed: &Needed,
    ) -> Result<Before, ViewError> {
        let at = parent.map(|parent| (first, parent));
        if (at.is_none() || self.next != at) && !self.step_back(at) {
            *self = Self { totals: totals(timeline, sight, first).await?, ..Self::default() };
        }
        let mut before = Before { totals: self.totals, ..Before::default() };
        before.packed = packed(timeline, sight, needed.transactions.iter().copied()).await?;
        let of = |known: &Generations<Address>, address: &Address| {
            known.get(address).map(|count| (*address, count))
        };
        before.accounts = needed.accounts.iter().filter_map(|it| of(&self.accounts, it)).collect();
        before.miners = needed.miners.iter().filter_map(|it| of(&self.miners, it)).collect();
        let unknown = needed.accounts.iter().filter(|it| !before.accounts.contains_key(it));
        let unknown: Vec<Address> = unknown.copied().collect();
        let counts = unknown.into_iter().map(|address| async move {
            Ok::<_, ViewError>((address, OF_ACCOUNT.count(timeline, sight, address).await?))
        });
        let counts = futures_util::stream::iter(counts).buffer_unordered(AT_ONCE);
        before.accounts.extend(counts.try_collect::<Vec<_>>().await?);
        for address in &needed.miners {
            if !before.miners.contains_key(address) {
                let count = OF_MINER.count(timeline, sight, *address).await?;
                before.miners.insert(*address, count);
            }
        }
        self.begun = at.map(|at| Step {
            at,
            totals: before.totals,
            accounts: before.accounts.iter().map(|(address, count)| (*address, *count)).collect(),
            miners: before.miners.iter().map(|(address, count)| (*address, *count)).collect(),
        });
        Ok(before)
    }

    /// Takes batches back down to the one that began here; whether there is such a one.
    fn step_back(&mut self, at: Option<(u64, Hash)>) -> bool {
        let Some(found) = self.steps.iter().rposition(|step| Some(step.at) == at) else {
            return false;
        };
        for step in self.steps.drain(found..).rev() {
            self.totals = step.totals;
            self.accounts.put(step.accounts);
            self.miners.put(step.miners);
        }
        self.next = at;
        true
    }

    /// Remembers what there is after the last epoch of a batch.
    pub(crate) fn keep(&mut self, before: Before, last: Option<&EpochInput>) {
        let next = last.and_then(|epoch| Some((epoch.number + 1, epoch.pivot()?.hash)));
        self.next = next;
        self.totals = before.totals;
        self.accounts.put(before.accounts);
        self.miners.put(before.miners);
        // One that is too large cannot be taken back, and so none before it can.
        match self.begun.take().filter(|step| step.accounts.len() <= STEP_COUNTS) {
            Some(step) => self.steps.push_back(step),
            None => self.steps.clear(),
        }
        if self.steps.len() > STEPS {
            self.steps.pop_front();
        }
    }
}

/// Those of the transactions that a block of the branch packs.
async fn packed(
    timeline: &Timeline,
    sight: &dyn Sight,
    hashes: impl Iterator<Item = Hash>,
) -> Result<std::collections::BTreeSet<Hash>, ViewError> {
    let hashes: Vec<Hash> = hashes.collect();
    let (from, to) = ((0, 0, Unit(0)), (u64::MAX, u32::MAX, Unit(u64::MAX)));
    let mut found = std::collections::BTreeSet::new();
    for some in hashes.chunks(KEYS) {
        let key = |hash: &Hash| (timeline.chain().clone(), hash.0);
        let keys: Vec<_> = some.iter().map(|hash| (key(hash), ())).collect();
        // Whatever was packed has facts, and most transactions are new: one look tells.
        let facts = timeline.store().get_many(&TRANSACTIONS, &keys).await?;
        let known = some.iter().zip(facts).filter(|(_, facts)| facts.is_some());
        for (hash, _) in known {
            let packing = timeline.first_visible(sight, &PACKINGS, &key(hash), from, to).await?;
            if packing.is_some() {
                found.insert(*hash);
            }
        }
    }
    Ok(found)
}

/// How much there is below epoch `first`.
async fn totals(timeline: &Timeline, sight: &dyn Sight, first: u64) -> Result<Totals, ViewError> {
    let Some(below) = first.checked_sub(1) else { return Ok(Totals::default()) };
    let partition = Sequenced(timeline.chain().clone(), below);
    let (from, to) = ((below, Unit(0)), (below, Unit(u64::MAX)));
    let found = timeline.first_visible(sight, &EPOCHS, &partition, from, to).await?;
    Ok(found.map(|(_, row)| row.totals).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use store::{ModelEngine, Store};
    use timeline::{Cut, Height, Lane, Settings, Watch, WriterId};

    use super::*;
    use crate::ingest::{Batch, publish};
    use crate::{BlockInput, Fields, TransactionInput};

    fn epoch(rng: &mut fastrand::Rng, number: u64, parent: Hash) -> EpochInput {
        let mut hash = || Hash(std::array::from_fn(|_| rng.u8(..)));
        let (block, transactions) = (hash(), [hash(), hash(), hash()]);
        let transaction = |hash| TransactionInput {
            hash,
            from: Address([rng.u8(0..9); 20]),
            to: Some(Address([rng.u8(0..9); 20])),
            creates: None,
            facts: Fields::default(),
        };
        let transactions = transactions.map(transaction).to_vec();
        let (miner, facts) = (Address([rng.u8(0..4); 20]), Fields::default());
        let hash = block;
        let block =
            BlockInput { hash, parent, miner, difficulty: 3, timestamp: 1, facts, transactions };
        EpochInput { number, blocks: vec![block], skipped: Vec::new() }
    }

    #[tokio::test]
    async fn after_switches_it_knows_what_a_new_one_reads() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut rng = fastrand::Rng::with_seed(seed);
        let store = Store::new(Arc::new(ModelEngine::default()), 0);
        let timeline = Timeline::new(store, "c".into(), Settings::default());
        let writer = timeline.lead(WriterId([1; 16]), &mut Watch::default()).await.expect("led");
        let mut writer = writer.expect("nobody else is there");
        let (mut memory, mut pivots, mut switches) = (Memory::default(), Vec::new(), 0);
        for _ in 0..100 {
            let fork = pivots.len().saturating_sub(rng.usize(0..4));
            switches += usize::from(fork > 0 && fork < pivots.len());
            pivots.truncate(fork);
            let parent = pivots.last().copied().unwrap_or(Hash([0; 32]));
            let mut epochs = vec![epoch(&mut rng, fork as u64, parent)];
            if rng.u8(0..5) == 0 {
                let parent = epochs[0].blocks[0].hash;
                epochs.push(epoch(&mut rng, fork as u64 + 1, parent));
            }
            pivots.extend(epochs.iter().map(|epoch| epoch.blocks[0].hash));
            let keep = fork.checked_sub(1).map(|below| Height(below as u64));
            let cut = Cut { lane: Lane::MINED, keep };
            let attempt = writer.begin(&[cut], 1).await.expect("begun");
            let (at, needed) = ((fork as u64, Some(parent)), Needed::of(&epochs));
            let kept = memory.before(&timeline, attempt.branch(), at, &needed).await;
            let mut new = Memory::default();
            let read = new.before(&timeline, attempt.branch(), at, &needed).await;
            assert_eq!(kept.expect("read"), read.expect("read"));
            let batch = Batch { epochs, ..Batch::default() };
            publish(&timeline, &mut writer, &mut memory, &batch).await.expect("published");
        }
        assert!(switches > 10 && !memory.steps.is_empty(), "{switches} switches");
    }
}
