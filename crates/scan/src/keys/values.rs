//! Values that are read as far as they are asked for.

use std::sync::Arc;

use resp::{Field, Found, HashValue, ListValue, Member, SortedValue, Task};

use super::name::{address, hash};
use super::{Moment, failure, text};
use crate::tables::Direction;
use crate::{Address, Hash};

/// Transactions that are looked at at a time to find the order of one.
const LOOK: u64 = 500;

/// What a dense sorted set is made of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    /// Blocks by their order.
    Blocks,
    /// Transactions by theirs.
    Transactions,
    /// Transactions of a block by their index.
    Packed(Hash),
}

/// A sorted set whose scores are all numbers from one on: a rank is a score without reading.
pub(super) struct Dense {
    pub(super) moment: Arc<Moment>,
    pub(super) order: Order,
    /// The first score.
    pub(super) from: u64,
    pub(super) length: u64,
}

impl Dense {
    async fn read(&self, start: u64, count: usize) -> Found<Vec<(u64, Hash)>> {
        let left = usize::try_from(self.length.saturating_sub(start)).unwrap_or(usize::MAX);
        let (first, count) = (self.from + start, count.min(left));
        if count == 0 {
            return Ok(Vec::new());
        }
        let (scan, stretch) = (self.moment.scan(), (first, store::Order::Ascending, count));
        match self.order {
            Order::Blocks => {
                let lines = scan.blocks(stretch).await.map_err(failure)?;
                Ok(lines.into_iter().map(|(order, line)| (order, line.hash)).collect())
            }
            Order::Transactions => {
                let lines = scan.transactions(stretch).await.map_err(failure)?;
                Ok(lines.into_iter().map(|(order, line)| (order, line.hash)).collect())
            }
            Order::Packed(block) => {
                let place = u32::try_from(first).unwrap_or(u32::MAX);
                let hashes = scan.block_transactions(block, place, count).await;
                Ok((first..).zip(hashes.map_err(failure)?).collect())
            }
        }
    }

    /// The score of a member.
    async fn score(&self, member: Hash) -> Found<Option<u64>> {
        match self.order {
            Order::Blocks => {
                let seat = self.moment.block(member).await?.and_then(|block| block.seat);
                Ok(seat.and_then(|seat| seat.order))
            }
            Order::Packed(block) => {
                let Some(found) = self.moment.transaction(member).await? else { return Ok(None) };
                let mut here = found.packings.iter().filter(|(_, packing)| packing.block == block);
                Ok(here.next().map(|(index, _)| u64::from(*index)))
            }
            Order::Transactions => self.order_of(member).await,
        }
    }

    /// The order of a transaction: among the new ones of the epoch that packs it first. No row
    /// says it, because nothing else asks for it.
    async fn order_of(&self, member: Hash) -> Found<Option<u64>> {
        let found = self.moment.transaction(member).await?;
        let Some(epoch) = found.and_then(|it| it.packings.first().map(|(_, first)| first.epoch))
        else {
            return Ok(None);
        };
        let scan = self.moment.scan();
        let mut next = match epoch.checked_sub(1) {
            None => 0,
            Some(before) => {
                let before = scan.epoch(before).await.map_err(failure)?;
                before.map_or(0, |row| row.totals.transactions)
            }
        };
        let row = scan.epoch(epoch).await.map_err(failure)?;
        let end = row.map_or(0, |row| row.totals.transactions);
        while next < end {
            let page = self.read(next, LOOK.min(end - next) as usize).await?;
            if page.is_empty() {
                break;
            }
            if let Some((order, _)) = page.iter().find(|(_, hash)| *hash == member) {
                return Ok(Some(*order));
            }
            next += page.len() as u64;
        }
        Ok(None)
    }
}

fn member(hash: Hash, score: u64) -> Member {
    // Exact below 2^53, which no chain reaches.
    (text(hash), score as f64)
}

fn hash_of(bytes: &[u8]) -> Option<Hash> {
    std::str::from_utf8(bytes).ok().and_then(hash)
}

impl SortedValue for Dense {
    fn len(&self) -> u64 {
        self.length
    }

    fn page(&self, start: u64, count: usize) -> Task<'_, Found<Vec<Member>>> {
        Box::pin(async move {
            let found = self.read(start, count).await?;
            Ok(found.into_iter().map(|(score, hash)| member(hash, score)).collect())
        })
    }

    fn rank<'a>(&'a self, member: &'a [u8]) -> Task<'a, Found<Option<(u64, f64)>>> {
        Box::pin(async move {
            let Some(hash) = hash_of(member) else { return Ok(None) };
            let score = self.score(hash).await?;
            let rank = score.and_then(|score| score.checked_sub(self.from));
            let rank = rank.filter(|rank| *rank < self.length);
            Ok(rank.map(|rank| (rank, (self.from + rank) as f64)))
        })
    }

    fn below(&self, score: f64, or_equal: bool) -> Task<'_, Found<u64>> {
        // A conversion that does not fit gives the nearest number: what is below 0 is 0.
        let above = if or_equal { score.floor() + 1.0 } else { score.ceil() } as u64;
        let count = above.saturating_sub(self.from).min(self.length);
        Box::pin(std::future::ready(Ok(count)))
    }
}

/// Blocks of a miner, by their order among all blocks.
pub(super) struct Mined {
    pub(super) moment: Arc<Moment>,
    pub(super) address: Address,
    pub(super) length: u64,
}

impl SortedValue for Mined {
    fn len(&self) -> u64 {
        self.length
    }

    fn page(&self, start: u64, count: usize) -> Task<'_, Found<Vec<Member>>> {
        Box::pin(async move {
            let stretch = (start, store::Order::Ascending, count);
            let lines = self.moment.scan().miner(self.address, stretch).await.map_err(failure)?;
            Ok(lines.into_iter().map(|(_, line)| member(line.hash, line.order)).collect())
        })
    }

    fn rank<'a>(&'a self, member: &'a [u8]) -> Task<'a, Found<Option<(u64, f64)>>> {
        Box::pin(async move {
            let Some(hash) = hash_of(member) else { return Ok(None) };
            let block = self.moment.block(hash).await?;
            let Some(seat) = block.and_then(|block| block.seat) else { return Ok(None) };
            let rank = self.below(seat.order.unwrap_or_default() as f64, false).await?;
            let found = self.page(rank, 1).await?.pop();
            Ok(found.filter(|(found, _)| found == member).map(|(_, score)| (rank, score)))
        })
    }
}

/// Transactions of an account, newest first, as LPUSH leaves them.
pub(super) struct Account {
    pub(super) moment: Arc<Moment>,
    pub(super) address: Address,
    pub(super) length: u64,
}

impl ListValue for Account {
    fn len(&self) -> u64 {
        self.length
    }

    fn page(&self, start: u64, count: usize) -> Task<'_, Found<Vec<Vec<u8>>>> {
        Box::pin(async move {
            let Some(position) = self.length.checked_sub(start.saturating_add(1)) else {
                return Ok(Vec::new());
            };
            let stretch = (position, store::Order::Descending, count);
            let lines = self.moment.scan().account(self.address, stretch).await.map_err(failure)?;
            let line = |line: crate::tables::AccountLine| {
                let kind = match line.direction {
                    Direction::In => "in",
                    Direction::Out => "out",
                    Direction::Own => "self",
                    Direction::Create => "create",
                };
                format!("{},{kind},{:#x}", line.hash, line.timestamp).into_bytes()
            };
            Ok(lines.into_iter().map(|(_, it)| line(it)).collect())
        })
    }
}

/// Pivot blocks by epoch.
pub(super) struct Pivots(pub(super) Arc<Moment>);

impl ListValue for Pivots {
    fn len(&self) -> u64 {
        self.0.epochs
    }

    fn page(&self, start: u64, count: usize) -> Task<'_, Found<Vec<Vec<u8>>>> {
        Box::pin(async move {
            if count == 0 || start >= self.0.epochs {
                return Ok(Vec::new());
            }
            let count = (count as u64).min(self.0.epochs - start);
            let hashes = self.0.scan().pivot_chain(start, count).await.map_err(failure)?;
            Ok(hashes.into_iter().map(text).collect())
        })
    }
}

/// The first block of each miner.
pub(super) struct Miners(pub(super) Arc<Moment>);

impl HashValue for Miners {
    fn len(&self) -> u64 {
        self.0.totals.miners
    }

    fn get<'a>(&'a self, field: &'a [u8]) -> Task<'a, Found<Option<Vec<u8>>>> {
        Box::pin(async move {
            let Some(address) = std::str::from_utf8(field).ok().and_then(address) else {
                return Ok(None);
            };
            let first = (0, store::Order::Ascending, 1);
            let lines = self.0.scan().miner(address, first).await.map_err(failure)?;
            Ok(lines.into_iter().next().map(|(_, line)| text(line.hash)))
        })
    }

    fn page(&self, start: u64, count: usize) -> Task<'_, Found<Vec<Field>>> {
        Box::pin(async move {
            let stretch = (start, store::Order::Ascending, count);
            let miners = self.0.scan().miners(stretch).await.map_err(failure)?;
            Ok(miners.into_iter().map(|(_, it)| (text(it.address), text(it.block))).collect())
        })
    }
}
