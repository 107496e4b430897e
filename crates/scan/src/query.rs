//! Answers from a view: each reads one partition, or a stated few.

use std::ops::Bound;

use futures_util::{StreamExt as _, TryStreamExt as _};
use store::{Order, PageRequest, Sequenced, Table};
use timeline::{Lane, OrderedList, Timeline, Unit, View, ViewError};

use crate::answers::EpochState;
use crate::lists::{OF_ACCOUNT, OF_MINER};
use crate::tables::{
    AccountLine, BLOCK_RESULTS, BLOCK_SEATS, BLOCK_TRANSACTIONS, BLOCKS, BLOCKS_IN_ORDER,
    BlockFacts, BlockLine, BlockResult, BlockSeat, ByHash, CONFIRMED, EPOCHS, EpochRow, FINALIZED,
    MINERS, MinerFirst, MinerLine, PACKED_ROW, PACKINGS, Packing, RECEIPTS, Receipt, TRANSACTIONS,
    TRANSACTIONS_IN_ORDER, Totals, TransactionFacts, TransactionLine,
};
use crate::{Address, Hash};

/// Packings of a transaction that one answer has at the most.
const MOST_PACKINGS: usize = 1000;
/// Reads at a time: on a cluster each is a journey.
pub(crate) const AT_ONCE: usize = 16;
/// Rows of a block's transactions that are read at a time.
const PACKED_ROWS: usize = 8;

/// One state of a chain, to be asked about. All answers of one are of one moment.
#[derive(Debug)]
pub struct Scan<'a> {
    pub(crate) timeline: &'a Timeline,
    pub(crate) view: &'a View,
}

/// A block that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockAnswer {
    /// What never changes.
    pub facts: BlockFacts,
    /// Where it stands; nowhere when it is no longer on the chain.
    pub seat: Option<BlockSeat>,
    /// What came of executing it, once it is executed.
    pub result: Option<BlockResult>,
}

/// A transaction that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionAnswer {
    /// What never changes.
    pub facts: TransactionFacts,
    /// The blocks of the chain that pack it, with its place in each; the first one counts.
    pub packings: Vec<(u32, Packing)>,
    /// What came of executing it, once it is executed.
    pub receipt: Option<Receipt>,
}

/// Sums over the latest blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latest {
    /// How many blocks.
    pub blocks: u64,
    /// The sum of their difficulties.
    pub difficulty: u128,
    /// Transactions they pack, repeats included.
    pub transactions: u64,
    /// Seconds from the first to the last of them.
    pub seconds: u64,
}

/// Where a page begins, in which direction it goes, and how long it is.
pub type Stretch = (u64, Order, usize);

impl<'a> Scan<'a> {
    /// A chain as `view` shows it.
    #[must_use]
    pub fn new(timeline: &'a Timeline, view: &'a View) -> Self {
        Self { timeline, view }
    }

    fn by_hash(&self, hash: Hash) -> (String, [u8; 32]) {
        (self.timeline.chain().clone(), hash.0)
    }

    /// A block, also one that is no longer on the chain.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn block(&self, hash: Hash) -> Result<Option<BlockAnswer>, ViewError> {
        let key = self.by_hash(hash);
        let Some(facts) = self.timeline.store().get(&BLOCKS, &key, &()).await? else {
            return Ok(None);
        };
        let seat = self.stamped(&BLOCK_SEATS, &key).await?;
        let result = self.stamped(&BLOCK_RESULTS, &key).await?;
        Ok(Some(BlockAnswer { facts, seat, result }))
    }

    /// The row under a hash that counts now.
    async fn stamped<V: store::Value>(
        &self,
        table: &'static Table<ByHash, Unit, V>,
        key: &ByHash,
    ) -> Result<Option<V>, ViewError> {
        let (from, to) = (Unit(0), Unit(u64::MAX));
        let found = self.timeline.first_visible(self.view, table, key, from, to).await?;
        Ok(found.map(|(_, value)| value))
    }

    /// A transaction with its packings on the chain.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn transaction(&self, hash: Hash) -> Result<Option<TransactionAnswer>, ViewError> {
        let key = self.by_hash(hash);
        let Some(facts) = self.timeline.store().get(&TRANSACTIONS, &key, &()).await? else {
            return Ok(None);
        };
        let packings = self.packings(hash, None, MOST_PACKINGS).await?;
        let packings = packings.into_iter().map(|(_, index, packing)| (index, packing)).collect();
        let receipt = self.stamped(&RECEIPTS, &key).await?;
        Ok(Some(TransactionAnswer { facts, packings, receipt }))
    }

    /// Blocks of the chain that pack a transaction, behind a place: the order of each, the
    /// transaction's place in it, and what there is to know.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn packings(
        &self,
        hash: Hash,
        after: Option<(u64, u32)>,
        limit: usize,
    ) -> Result<Vec<(u64, u32, Packing)>, ViewError> {
        let from = after.map_or(Bound::Unbounded, |(order, index)| {
            Bound::Excluded((order, index, Unit(u64::MAX)))
        });
        let mut request = PageRequest { from, ..PageRequest::first(limit) };
        let (key, mut found) = (self.by_hash(hash), Vec::new());
        loop {
            request.limit = limit - found.len();
            let page =
                self.timeline.visible_page(self.view, &PACKINGS, &key, request.clone()).await?;
            found.extend(page.rows.into_iter().map(|((order, index, _), it)| (order, index, it)));
            request.cursor = page.next;
            if request.cursor.is_none() || found.len() >= limit {
                return Ok(found);
            }
        }
    }

    /// Transactions of a block from a place on.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn block_transactions(
        &self,
        hash: Hash,
        from: u32,
        limit: usize,
    ) -> Result<Vec<Hash>, ViewError> {
        block_transactions(self.timeline, hash, from, limit).await
    }

    /// How much there is on the chain.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn totals(&self) -> Result<Totals, ViewError> {
        let Some(head) = self.view.head(Lane::MINED) else { return Ok(Totals::default()) };
        Ok(self.epoch(head.height.0).await?.map(|row| row.totals).unwrap_or_default())
    }

    /// Blocks in the order of execution.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn blocks(
        &self,
        (start, order, limit): Stretch,
    ) -> Result<Vec<(u64, BlockLine)>, ViewError> {
        let list = OrderedList::new(self.timeline, &BLOCKS_IN_ORDER, self.timeline.chain().clone());
        let rows = list.page(self.view, start, order, limit).await?;
        Ok(rows.into_iter().map(|(position, row)| (position, row.value)).collect())
    }

    /// Transactions in the order of first packings.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn transactions(
        &self,
        (start, order, limit): Stretch,
    ) -> Result<Vec<(u64, TransactionLine)>, ViewError> {
        let chain = self.timeline.chain().clone();
        let list = OrderedList::new(self.timeline, &TRANSACTIONS_IN_ORDER, chain);
        let rows = list.page(self.view, start, order, limit).await?;
        Ok(rows.into_iter().map(|(position, row)| (position, row.value)).collect())
    }

    /// Miners in the order of their first blocks.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn miners(
        &self,
        (start, order, limit): Stretch,
    ) -> Result<Vec<(u64, MinerFirst)>, ViewError> {
        let list = OrderedList::new(self.timeline, &MINERS, self.timeline.chain().clone());
        let rows = list.page(self.view, start, order, limit).await?;
        Ok(rows.into_iter().map(|(position, row)| (position, row.value)).collect())
    }

    /// How many transactions an account has.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn account_count(&self, address: Address) -> Result<u64, ViewError> {
        OF_ACCOUNT.count(self.timeline, self.view, address).await
    }

    /// Transactions of an account.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn account(
        &self,
        address: Address,
        stretch: Stretch,
    ) -> Result<Vec<(u64, AccountLine)>, ViewError> {
        OF_ACCOUNT.page(self.timeline, self.view, address, stretch).await
    }

    /// How many blocks a miner has.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn miner_count(&self, address: Address) -> Result<u64, ViewError> {
        OF_MINER.count(self.timeline, self.view, address).await
    }

    /// Blocks of a miner.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn miner(
        &self,
        address: Address,
        stretch: Stretch,
    ) -> Result<Vec<(u64, MinerLine)>, ViewError> {
        OF_MINER.page(self.timeline, self.view, address, stretch).await
    }

    /// Sums over the last `count` blocks.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn latest(&self, count: u64) -> Result<Latest, ViewError> {
        let rows = self.totals().await?.blocks;
        let list = OrderedList::new(self.timeline, &BLOCKS_IN_ORDER, self.timeline.chain().clone());
        let Some(summed) = list.last(self.view, rows, count).await? else {
            return Ok(Latest::default());
        };
        let newest = list.at(self.view, rows - 1).await?;
        let oldest = list.at(self.view, rows - summed.rows).await?;
        let time =
            |row: Option<timeline::ListRow<BlockLine>>| row.map_or(0, |it| it.value.timestamp);
        let sum = |index: usize| summed.sums.get(index).copied().unwrap_or_default();
        Ok(Latest {
            blocks: summed.rows,
            difficulty: sum(0),
            transactions: u64::try_from(sum(1)).unwrap_or(u64::MAX),
            seconds: time(newest).saturating_sub(time(oldest)),
        })
    }

    /// An epoch of the chain.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn epoch(&self, number: u64) -> Result<Option<EpochRow>, ViewError> {
        let partition = Sequenced(self.timeline.chain().clone(), number);
        let (from, to) = ((number, Unit(0)), (number, Unit(u64::MAX)));
        let found = self.timeline.first_visible(self.view, &EPOCHS, &partition, from, to).await?;
        Ok(found.map(|(_, row)| row))
    }

    /// Epochs from one on, in either direction.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn epochs(
        &self,
        (start, order, limit): Stretch,
    ) -> Result<Vec<(u64, EpochRow)>, ViewError> {
        let Some(head) = self.head(Lane::MINED) else { return Ok(Vec::new()) };
        let mut numbers: Vec<u64> = match order {
            Order::Ascending => (start..=head).take(limit).collect(),
            Order::Descending => (0..=start.min(head)).rev().take(limit).collect(),
        };
        numbers.dedup();
        let rows = numbers
            .into_iter()
            .map(|number| async move { Ok::<_, ViewError>((number, self.epoch(number).await?)) });
        let rows = futures_util::stream::iter(rows).buffered(AT_ONCE);
        let rows: Vec<_> = rows.try_collect().await?;
        Ok(rows.into_iter().filter_map(|(number, row)| Some((number, row?))).collect())
    }

    /// The number of the newest epoch of a lane.
    #[must_use]
    pub fn head(&self, lane: Lane) -> Option<u64> {
        self.view.head(lane).map(|head| head.height.0)
    }

    /// How far an epoch of the chain has come.
    #[must_use]
    pub fn epoch_state(&self, number: u64) -> EpochState {
        let reached = |lane| self.head(lane).is_some_and(|head| number <= head);
        match () {
            () if reached(FINALIZED) => EpochState::Finalized,
            () if reached(CONFIRMED) => EpochState::Confirmed,
            () if reached(Lane::EXECUTED) => EpochState::Executed,
            () => EpochState::Mined,
        }
    }

    /// The number of the network, which base32 addresses begin with: the newest block tells it by
    /// the address of its miner. None before the first block.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn network(&self) -> Result<Option<u64>, ViewError> {
        let head = self.view.head(Lane::MINED).and_then(|head| head.hash.clone().try_into().ok());
        let Some(hash) = head.map(Hash) else { return Ok(None) };
        let Some(block) = self.block(hash).await? else { return Ok(None) };
        let fields = block.facts.fields.read().map_err(store::ReadError::from)?;
        let miner = fields.get("miner").and_then(serde_json::Value::as_str);
        Ok(miner.and_then(Address::parse_verbose).map(|(network, _)| network))
    }

    /// The pivot blocks of up to `limit` epochs from one on.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn pivot_chain(&self, from: u64, limit: u64) -> Result<Vec<Hash>, ViewError> {
        let to = timeline::Height(from.saturating_add(limit.saturating_sub(1)));
        let from = timeline::Height(from);
        let units = self.timeline.units_between(self.view, Lane::MINED, from, to).await?;
        let hash = |row: timeline::UnitRow| row.hash.try_into().ok().map(Hash);
        Ok(units.into_iter().filter_map(|(_, _, row)| hash(row)).collect())
    }
}

/// Transactions of a block from a place on, whether it is on the chain or not.
pub(crate) async fn block_transactions(
    timeline: &Timeline,
    hash: Hash,
    from: u32,
    limit: usize,
) -> Result<Vec<Hash>, ViewError> {
    let key = (timeline.chain().clone(), hash.0);
    let first = from - from % PACKED_ROW;
    let mut request =
        PageRequest { from: Bound::Included(first), ..PageRequest::first(PACKED_ROWS) };
    let (mut found, mut skip) = (Vec::new(), (from % PACKED_ROW) as usize);
    loop {
        let page = timeline.store().page(&BLOCK_TRANSACTIONS, &key, request.clone());
        let page = page.await?;
        for (_, packed) in page.rows {
            found.extend(packed.hashes.into_iter().skip(std::mem::take(&mut skip)));
        }
        request.cursor = page.next;
        if request.cursor.is_none() || found.len() >= limit {
            found.truncate(limit);
            return Ok(found);
        }
    }
}
