//! The paper's keys as a plain model, made from nothing but epochs.

use std::collections::BTreeMap;

use scan::query::{Scan, Stretch};
use scan::tables::Direction;
use scan::{Address, BlockInput, EpochInput, Hash};
use store::Order;
use timeline::ViewError;

/// Blocks that count as the latest. Small, so that its edge lies everywhere.
const LATEST: u64 = 7;
/// Entries that are read at a time.
const PAGE: usize = 500;

/// A whole list, page by page.
async fn whole<T>(
    read: impl AsyncFn(Stretch) -> Result<Vec<(u64, T)>, ViewError>,
) -> Vec<(u64, T)> {
    let mut found: Vec<(u64, T)> = Vec::new();
    loop {
        let start = found.last().map_or(0, |(last, _)| last + 1);
        let page = read((start, Order::Ascending, PAGE)).await.expect("read");
        let end = page.len() < PAGE;
        found.extend(page);
        if end {
            return found;
        }
    }
}

/// The paper's keys, made from nothing but the epochs of the chain, from the first one on.
#[derive(Default)]
pub(crate) struct Model {
    blocks: Vec<(Hash, u64, bool, u128, u64, u64)>,
    first: BTreeMap<Hash, Hash>,
    packings: BTreeMap<Hash, Vec<Hash>>,
    transactions: Vec<Hash>,
    accounts: BTreeMap<Address, Vec<(Hash, Direction, u64)>>,
    miners: Vec<(Address, Hash)>,
    mined: BTreeMap<Address, Vec<Hash>>,
    pivots: Vec<Hash>,
    new: BTreeMap<Hash, u32>,
}

impl Model {
    /// The keys of a chain of these epochs.
    pub(crate) fn of(epochs: impl IntoIterator<Item = EpochInput>) -> Self {
        let mut model = Self::default();
        epochs.into_iter().for_each(|epoch| model.push(&epoch));
        model
    }

    fn push(&mut self, epoch: &EpochInput) {
        for (index, block) in epoch.blocks.iter().enumerate() {
            let pivot = index + 1 == epoch.blocks.len();
            let packed = block.transactions.len() as u64;
            let BlockInput { hash, difficulty, timestamp, .. } = block;
            self.blocks.push((*hash, epoch.number, pivot, *difficulty, packed, *timestamp));
            if !self.mined.contains_key(&block.miner) {
                self.miners.push((block.miner, block.hash));
            }
            self.mined.entry(block.miner).or_default().push(block.hash);
            for transaction in &block.transactions {
                self.packings.entry(transaction.hash).or_default().push(block.hash);
                if self.first.contains_key(&transaction.hash) {
                    continue;
                }
                self.first.insert(transaction.hash, block.hash);
                *self.new.entry(block.hash).or_default() += 1;
                self.transactions.push(transaction.hash);
                let parties = match transaction.to {
                    None => vec![
                        (transaction.from, Direction::Create),
                        (transaction.creates.expect("a contract"), Direction::Create),
                    ],
                    Some(to) if to == transaction.from => vec![(to, Direction::Own)],
                    Some(to) => vec![(transaction.from, Direction::Out), (to, Direction::In)],
                };
                for (address, direction) in parties {
                    let line = (transaction.hash, direction, block.timestamp);
                    self.accounts.entry(address).or_default().push(line);
                }
            }
        }
        self.pivots.push(epoch.pivot().expect("a pivot").hash);
    }

    /// Everything the index says, against the model.
    pub(crate) async fn check(&self, scan: &Scan<'_>) {
        let listed = whole(async |page| scan.blocks(page).await).await;
        assert_eq!(listed.len(), self.blocks.len());
        for ((order, line), (hash, epoch, pivot, ..)) in listed.iter().zip(&self.blocks) {
            assert_eq!((line.hash, line.epoch, line.is_pivot), (*hash, *epoch, *pivot));
            let found = scan.block(*hash).await.expect("read").expect("known");
            let seat = found.seat.expect("on the chain");
            assert_eq!((seat.order, seat.epoch, seat.is_pivot), (Some(*order), *epoch, *pivot));
            assert_eq!(seat.new_transactions, self.new.get(hash).copied().unwrap_or(0));
        }
        let transactions = whole(async |page| scan.transactions(page).await).await;
        let hashes: Vec<_> = transactions.iter().map(|(_, line)| line.hash).collect();
        assert_eq!(hashes, self.transactions);
        for hash in &hashes {
            let found = scan.transaction(*hash).await.expect("read").expect("known");
            let packings: Vec<_> = found.packings.iter().map(|(_, it)| it.block).collect();
            assert_eq!(packings, self.packings[hash]);
        }
        let miners = whole(async |page| scan.miners(page).await).await;
        let miners: Vec<_> = miners.iter().map(|(_, it)| (it.address, it.block)).collect();
        assert_eq!(miners, self.miners);
        self.check_lists(scan).await;
        self.check_sums(scan).await;
    }

    async fn check_lists(&self, scan: &Scan<'_>) {
        for (address, lines) in &self.accounts {
            let found = whole(async |page| scan.account(*address, page).await).await;
            let found: Vec<_> =
                found.into_iter().map(|(_, it)| (it.hash, it.direction, it.timestamp)).collect();
            assert_eq!(found, *lines);
            assert_eq!(scan.account_count(*address).await.expect("read"), lines.len() as u64);
        }
        for (address, hashes) in &self.mined {
            let found = whole(async |page| scan.miner(*address, page).await).await;
            assert_eq!(found.iter().map(|(_, it)| it.hash).collect::<Vec<_>>(), *hashes);
        }
    }

    async fn check_sums(&self, scan: &Scan<'_>) {
        let latest = scan.latest(LATEST).await.expect("read");
        let start = self.blocks.len().saturating_sub(LATEST as usize);
        let last = &self.blocks[start..];
        assert_eq!(latest.blocks, last.len() as u64);
        assert_eq!(latest.difficulty, last.iter().map(|it| it.3).sum::<u128>());
        assert_eq!(latest.transactions, last.iter().map(|it| it.4).sum::<u64>());
        let span = last.last().expect("some").5.saturating_sub(last[0].5);
        assert_eq!(latest.seconds, span);
        for sample in scan.samples(7, LATEST).await.expect("read") {
            let (last, before) = self.blocks[..=sample.order as usize].split_last().expect("some");
            let so_far = || before.iter().chain([last]);
            assert_eq!(sample.timestamp, last.5);
            assert_eq!(sample.difficulty, so_far().map(|it| it.3).sum::<u128>());
            assert_eq!(sample.transactions, so_far().map(|it| u128::from(it.4)).sum::<u128>());
        }
        let pivots = scan.pivot_chain(0, self.pivots.len() as u64 + 5).await.expect("read");
        assert_eq!(pivots, self.pivots);
        let totals = scan.totals().await.expect("read");
        assert_eq!(totals.blocks, self.blocks.len() as u64);
        assert_eq!(totals.transactions, self.transactions.len() as u64);
        assert_eq!(totals.miners, self.miners.len() as u64);
    }
}
