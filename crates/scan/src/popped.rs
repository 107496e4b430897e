//! What a switch popped, page by page: blocks, and the transactions in them.

use std::ops::Bound;

use store::{Cursor, PageRequest, Sequenced};
use timeline::{Timeline, ViewError};

use crate::Hash;
use crate::journal::{HEADER, JournalRow, PoppedEpoch};
use crate::query::block_transactions;
use crate::tables::JOURNAL;

/// Popped epochs that are read at a time.
const EPOCHS_READ: usize = 100;
/// Popped blocks that one answer looks through for transactions before it ends with what it has.
const LOOKED_THROUGH: usize = 500;

/// Where a block or a transaction stood before it was popped. They are ordered by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The epoch.
    pub epoch: u64,
    /// The place of the block in it.
    pub block: u32,
    /// The place of the transaction in that; 0 for a block itself.
    pub index: u32,
}

impl Place {
    /// The three numbers.
    #[must_use]
    pub fn numbers(self) -> [u64; 3] {
        [self.epoch, self.block.into(), self.index.into()]
    }

    /// The place of three numbers; none when they are too large for one.
    #[must_use]
    pub fn of([epoch, block, index]: [u64; 3]) -> Option<Self> {
        Some(Self { epoch, block: block.try_into().ok()?, index: index.try_into().ok()? })
    }
}

/// A block that was popped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoppedBlock {
    /// Where it stood.
    pub place: Place,
    /// The block.
    pub hash: Hash,
}

/// A transaction that was popped; it comes once for each popped block that packs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoppedTransaction {
    /// Where it stood.
    pub place: Place,
    /// The block there.
    pub block: Hash,
    /// The transaction.
    pub hash: Hash,
}

/// A page of what a switch popped, in the order of execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Popped<T> {
    /// What was popped.
    pub items: Vec<T>,
    /// Where to go on, when there may be more.
    pub next: Option<Place>,
}

/// How much of what a switch popped was written down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Epochs.
    pub epochs: u64,
    /// Blocks of these.
    pub blocks: u64,
}

/// How much a switch popped.
///
/// # Errors
/// When it cannot be read.
pub async fn counts(timeline: &Timeline, number: u64) -> Result<Counts, ViewError> {
    let (mut counts, mut request) = (Counts::default(), epochs_from(number, 0));
    loop {
        let (epochs, next) = epochs(timeline, number, &request).await?;
        for (_, popped) in epochs {
            counts.epochs += 1;
            counts.blocks += popped.blocks.len() as u64;
        }
        request.cursor = next;
        if request.cursor.is_none() {
            return Ok(counts);
        }
    }
}

/// Blocks that a switch popped, from a place on.
///
/// # Errors
/// When they cannot be read.
pub async fn blocks(
    timeline: &Timeline,
    number: u64,
    from: Place,
    limit: usize,
) -> Result<Popped<PoppedBlock>, ViewError> {
    let mut request = epochs_from(number, from.epoch);
    let mut items = Vec::new();
    loop {
        let (epochs, next) = epochs(timeline, number, &request).await?;
        for (epoch, popped) in epochs {
            for (block, hash) in (0..).zip(popped.blocks) {
                let place = Place { epoch, block, index: 0 };
                if (epoch, block) < (from.epoch, from.block) {
                    continue;
                }
                if items.len() == limit {
                    return Ok(Popped { items, next: Some(place) });
                }
                items.push(PoppedBlock { place, hash });
            }
        }
        request.cursor = next;
        if request.cursor.is_none() {
            return Ok(Popped { items, next: None });
        }
    }
}

/// Transactions of the blocks that a switch popped, from a place on. There may be more behind fewer
/// than asked for, when many of the blocks are empty.
///
/// # Errors
/// When they cannot be read.
pub async fn transactions(
    timeline: &Timeline,
    number: u64,
    from: Place,
    limit: usize,
) -> Result<Popped<PoppedTransaction>, ViewError> {
    let mut items: Vec<PoppedTransaction> = Vec::new();
    let looked = blocks(timeline, number, from, LOOKED_THROUGH).await?;
    for PoppedBlock { place, hash: block } in looked.items {
        // Only the block that the page begins in may begin in its middle.
        let first = place.max(from).index;
        // One more than is asked for tells where to go on.
        let room = limit + 1 - items.len();
        let hashes = block_transactions(timeline, block, first, room).await?;
        let item =
            |(hash, index)| PoppedTransaction { place: Place { index, ..place }, block, hash };
        items.extend(hashes.into_iter().zip(first..).map(item));
        if items.len() > limit {
            let next = items.pop().map(|item| item.place);
            return Ok(Popped { items, next });
        }
    }
    Ok(Popped { items, next: looked.next })
}

type EpochsRequest = PageRequest<(u64, u64)>;

/// The epochs that a switch popped, from one on.
fn epochs_from(number: u64, epoch: u64) -> EpochsRequest {
    PageRequest {
        from: Bound::Included((number, epoch.max(HEADER + 1))),
        to: Bound::Included((number, u64::MAX)),
        ..PageRequest::first(EPOCHS_READ)
    }
}

async fn epochs(
    timeline: &Timeline,
    number: u64,
    request: &EpochsRequest,
) -> Result<(Vec<(u64, PoppedEpoch)>, Option<Cursor>), ViewError> {
    let partition = Sequenced(timeline.chain().clone(), number);
    let page = timeline.store().page(&JOURNAL, &partition, request.clone()).await?;
    let epoch = |((_, epoch), row)| match row {
        JournalRow::Popped(popped) => Some((epoch, popped)),
        JournalRow::Switch(_) => None,
    };
    Ok((page.rows.into_iter().filter_map(epoch).collect(), page.next))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use store::{ModelEngine, Store};
    use timeline::Settings;

    use super::*;
    use crate::journal::SwitchLine;
    use crate::tables::{BLOCK_TRANSACTIONS, Packed};

    /// The switch that the tests ask about.
    const NUMBER: u64 = 7;

    fn hash(epoch: u64, block: u64, index: u64) -> Hash {
        let mut bytes = [0; 32];
        let numbers = [epoch, block, index].map(u64::to_be_bytes).concat();
        bytes[..24].copy_from_slice(&numbers);
        Hash(bytes)
    }

    /// A journal in which the switch popped epochs with these blocks of so many transactions each.
    async fn popped(epochs: &[(u64, Vec<u64>)]) -> Timeline {
        let store = Store::new(Arc::new(ModelEngine::default()), 0);
        let timeline = Timeline::new(store, "conflux".into(), Settings::default());
        let partition = Sequenced(timeline.chain().clone(), NUMBER);
        let mut rows = Vec::new();
        let mut add = |number, place, row| {
            rows.push(JOURNAL.row(&partition, &(number, place), &row).expect("within limits"));
        };
        let line = |popped| JournalRow::Switch(SwitchLine { popped, pushed: None });
        let ends = (epochs[0].0, epochs[epochs.len() - 1].0);
        // The switches beside it must not be mistaken for it.
        for (number, ends) in [(NUMBER - 1, (1, 1)), (NUMBER, ends), (NUMBER + 1, (1, 1))] {
            add(number, HEADER, line(ends));
        }
        let strange = PoppedEpoch { blocks: vec![hash(0, 0, 0)] };
        add(NUMBER - 1, 1, JournalRow::Popped(strange.clone()));
        add(NUMBER + 1, 1, JournalRow::Popped(strange));
        for (epoch, sizes) in epochs {
            let blocks = (0..sizes.len() as u64).map(|block| hash(*epoch, block, 0)).collect();
            add(NUMBER, *epoch, JournalRow::Popped(PoppedEpoch { blocks }));
        }
        for (epoch, sizes) in epochs {
            for (block, size) in (0..).zip(sizes).filter(|(_, size)| **size > 0) {
                let key = (timeline.chain().clone(), hash(*epoch, block, 0).0);
                let hashes = (1..=*size).map(|index| hash(*epoch, block, index)).collect();
                let row = BLOCK_TRANSACTIONS.row(&key, &0, &Packed { hashes });
                rows.push(row.expect("within limits"));
            }
        }
        timeline.store().put(rows).await.expect("written");
        timeline
    }

    #[tokio::test]
    async fn pages_of_any_size_have_everything_once_and_in_order() {
        let sizes = vec![(3, vec![2, 0, 5]), (4, vec![1]), (5, vec![0, 0, 3])];
        let timeline = popped(&sizes).await;
        let (mut blocks_expected, mut expected) = (Vec::new(), Vec::new());
        for (epoch, sizes) in &sizes {
            for (block, size) in (0..).zip(sizes) {
                blocks_expected.push(hash(*epoch, block, 0));
                expected.extend((1..=*size).map(|index| hash(*epoch, block, index)));
            }
        }
        for limit in 1..15 {
            let (mut from, mut found) = (Some(Place::default()), Vec::new());
            while let Some(place) = from {
                let page = blocks(&timeline, NUMBER, place, limit).await.expect("read");
                assert!(page.items.len() == limit || page.next.is_none(), "a short page");
                found.extend(page.items.iter().map(|item| item.hash));
                from = page.next;
            }
            assert_eq!(found, blocks_expected, "pages of {limit}");
            let (mut from, mut found) = (Some(Place::default()), Vec::new());
            while let Some(place) = from {
                let page = transactions(&timeline, NUMBER, place, limit).await.expect("read");
                assert!(page.items.len() <= limit, "a long page");
                found.extend(page.items.iter().map(|item| item.hash));
                from = page.next;
            }
            assert_eq!(found, expected, "pages of {limit}");
        }
        let counted = counts(&timeline, NUMBER).await.expect("read");
        assert_eq!(counted, Counts { epochs: 3, blocks: 7 });
    }

    #[tokio::test]
    async fn a_deep_switch_is_paged_to_its_end() {
        let sizes: Vec<_> = (1..=1000).map(|epoch| (epoch, vec![0])).collect();
        let timeline = popped(&sizes).await;
        let counted = counts(&timeline, NUMBER).await.expect("read");
        assert_eq!(counted, Counts { epochs: 1000, blocks: 1000 });
        let from = Place::default();
        let all = blocks(&timeline, NUMBER, from, 1000).await.expect("read");
        assert_eq!((all.items.len(), all.next), (1000, None));
        // None of them has a transaction: the answer ends in time and says where to go on.
        let none = transactions(&timeline, NUMBER, from, 10).await.expect("read");
        let next = Place { epoch: LOOKED_THROUGH as u64 + 1, ..from };
        assert_eq!((none.items.len(), none.next), (0, Some(next)));
        let rest = transactions(&timeline, NUMBER, next, 10).await.expect("read");
        assert_eq!(rest, Popped { items: Vec::new(), next: None });
    }

    #[tokio::test]
    async fn places_that_are_nowhere_have_nothing_behind_them() {
        let timeline = popped(&[(3, vec![2])]).await;
        for from in [[3, 0, u64::from(u32::MAX)], [3, 9, 0], [u64::MAX, 0, 0]] {
            let from = Place::of(from).expect("a place");
            let page = transactions(&timeline, NUMBER, from, 5).await.expect("read");
            assert_eq!(page, Popped { items: Vec::new(), next: None }, "{from:?}");
        }
        assert_eq!(Place::of([1, u64::MAX, 0]), None);
        let last = transactions(&timeline, NUMBER, Place { epoch: 3, block: 0, index: 1 }, 5);
        assert_eq!(last.await.expect("read").items.len(), 1);
    }
}
