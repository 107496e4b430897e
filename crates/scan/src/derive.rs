//! An epoch to its rows: a pure function of the epoch and of what its branch has already.

use std::collections::{BTreeMap, BTreeSet};

use store::{BoundError, Row, Sequenced};
use timeline::{ChainName, ListRow, Unit};

use crate::lists::{OF_ACCOUNT, OF_MINER};
use crate::tables::{
    AccountLine, BLOCK_RESULTS, BLOCK_SEATS, BLOCK_TRANSACTIONS, BLOCKS, BLOCKS_IN_ORDER,
    BlockFacts, BlockLine, BlockResult, BlockSeat, Direction, EPOCHS, EpochRow, MINERS, MinerFirst,
    MinerLine, PACKED_ROW, PACKINGS, Packed, Packing, RECEIPTS, Receipt, SKIPPED_BLOCKS, SPANS,
    Span, TRANSACTIONS, TRANSACTIONS_IN_ORDER, Totals, TransactionFacts, TransactionLine,
};
use crate::{Address, BlockInput, EpochInput, Hash, ResultsInput, TransactionInput};

/// Places in lists of accounts that one row of a span names.
const SPAN_PLACES: usize = 4000;

/// What must be known of the branch before epochs can be derived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needed {
    /// Transactions: are they packed already?
    pub transactions: BTreeSet<Hash>,
    /// Accounts: how many transactions have they?
    pub accounts: BTreeSet<Address>,
    /// Miners: how many blocks have they?
    pub miners: BTreeSet<Address>,
}

impl Needed {
    /// What these epochs need.
    #[must_use]
    pub fn of(epochs: &[EpochInput]) -> Self {
        let mut needed = Self::default();
        for block in epochs.iter().flat_map(|epoch| &epoch.blocks) {
            needed.miners.insert(block.miner);
            for transaction in &block.transactions {
                needed.transactions.insert(transaction.hash);
                needed.accounts.insert(transaction.from);
                needed.accounts.extend(transaction.to);
                needed.accounts.extend(transaction.creates);
            }
        }
        needed
    }
}

/// What the branch has, up to the epoch that is derived next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Before {
    /// How much there is.
    pub totals: Totals,
    /// Transactions that are packed already, of those that were asked about.
    pub packed: BTreeSet<Hash>,
    /// Entries of accounts.
    pub accounts: BTreeMap<Address, u64>,
    /// Blocks of miners.
    pub miners: BTreeMap<Address, u64>,
}

/// What an epoch writes.
#[derive(Clone, Debug, Default)]
pub struct Derived {
    /// What must be there before the rest: by it the rest is found again.
    pub spans: Vec<Row>,
    /// The rest.
    pub rows: Vec<Row>,
}

/// The rows of an epoch under `unit`. `before` goes on to what the next epoch finds.
///
/// # Errors
/// When a row is beyond a limit.
pub fn rows(
    chain: &ChainName,
    unit: Unit,
    epoch: &EpochInput,
    before: &mut Before,
) -> Result<Derived, BoundError> {
    let Totals { blocks, transactions, miners, .. } = before.totals;
    let span = Span {
        orders: (blocks, 0),
        transactions: (transactions, 0),
        new_miners: (miners, 0),
        ..Span::default()
    };
    let rows = Vec::new();
    let mut deriving = Deriving { chain, unit, epoch: epoch.number, before, span, rows };
    for (index, block) in epoch.blocks.iter().enumerate() {
        deriving.block(block, index + 1 == epoch.blocks.len())?;
    }
    for block in &epoch.skipped {
        deriving.skipped(block)?;
    }
    let blocks = epoch.blocks.iter().map(|block| block.hash).collect();
    let skipped = epoch.skipped.iter().take(SKIPPED_BLOCKS).map(|block| block.hash).collect();
    let row = EpochRow { blocks, skipped, totals: deriving.before.totals };
    let partition = Sequenced(chain.clone(), epoch.number);
    deriving.rows.push(EPOCHS.row(&partition, &(epoch.number, unit), &row)?);
    Ok(Derived { spans: deriving.spans(epoch)?, rows: deriving.rows })
}

struct Deriving<'a> {
    chain: &'a ChainName,
    unit: Unit,
    epoch: u64,
    before: &'a mut Before,
    span: Span,
    rows: Vec<Row>,
}

impl Deriving<'_> {
    fn by_hash(&self, hash: Hash) -> (ChainName, [u8; 32]) {
        (self.chain.clone(), hash.0)
    }

    fn block(&mut self, block: &BlockInput, is_pivot: bool) -> Result<(), BoundError> {
        let order = self.before.totals.blocks;
        let mut new_transactions = 0;
        for (index, transaction) in (0..).zip(&block.transactions) {
            new_transactions += u32::from(self.transaction(block, index, transaction)?);
        }
        let packed = self.facts(block)?;
        let order_on_chain = Some(order);
        let seat =
            BlockSeat { epoch: self.epoch, order: order_on_chain, is_pivot, new_transactions };
        self.rows.push(BLOCK_SEATS.row(&self.by_hash(block.hash), &self.unit, &seat)?);
        let totals = &mut self.before.totals;
        totals.blocks += 1;
        totals.difficulty = totals.difficulty.saturating_add(block.difficulty);
        totals.packed += u64::from(packed);
        totals.packing_blocks += u64::from(packed > 0);
        self.list_block(block, order, is_pivot)?;
        self.miner(block, order)
    }

    /// The span of the epoch, in rows of some thousand places.
    fn spans(&mut self, epoch: &EpochInput) -> Result<Vec<Row>, BoundError> {
        let mut span = std::mem::take(&mut self.span);
        let added = |from: u64, to: u64| u32::try_from(to - from).unwrap_or(u32::MAX);
        let totals = self.before.totals;
        span.orders.1 = added(span.orders.0, totals.blocks);
        span.transactions.1 = added(span.transactions.0, totals.transactions);
        span.new_miners.1 = added(span.new_miners.0, totals.miners);
        let blocks = epoch.blocks.iter().chain(&epoch.skipped);
        span.blocks = blocks.map(|block| block.hash).collect();
        let accounts = std::mem::take(&mut span.accounts);
        let mut parts = accounts.chunks(SPAN_PLACES);
        span.accounts = parts.next().unwrap_or_default().to_vec();
        let more = parts.map(|some| Span { accounts: some.to_vec(), ..Span::default() });
        let partition = Sequenced(self.chain.clone(), epoch.number);
        let row = |(part, span): (u32, Span)| {
            SPANS.row(&partition, &(epoch.number, self.unit, part), &span)
        };
        (0..).zip(std::iter::once(span).chain(more)).map(row).collect()
    }

    /// A block that belongs to the epoch and counts for nothing.
    fn skipped(&mut self, block: &BlockInput) -> Result<(), BoundError> {
        self.facts(block)?;
        for transaction in &block.transactions {
            self.transaction_facts(transaction)?;
        }
        let seat =
            BlockSeat { epoch: self.epoch, order: None, is_pivot: false, new_transactions: 0 };
        self.rows.push(BLOCK_SEATS.row(&self.by_hash(block.hash), &self.unit, &seat)?);
        Ok(())
    }

    /// What is true of a block wherever it stands; how many transactions it packs.
    fn facts(&mut self, block: &BlockInput) -> Result<u32, BoundError> {
        let key = self.by_hash(block.hash);
        let packed = u32::try_from(block.transactions.len()).unwrap_or(u32::MAX);
        let facts = BlockFacts { fields: block.facts.clone(), transactions: packed };
        self.rows.push(BLOCKS.row(&key, &(), &facts)?);
        let rows = block.transactions.chunks(PACKED_ROW as usize);
        for (first, some) in (0..).step_by(PACKED_ROW as usize).zip(rows) {
            let hashes = some.iter().map(|transaction| transaction.hash).collect();
            self.rows.push(BLOCK_TRANSACTIONS.row(&key, &first, &Packed { hashes })?);
        }
        Ok(packed)
    }

    fn transaction_facts(&mut self, transaction: &TransactionInput) -> Result<(), BoundError> {
        let facts = TransactionFacts { fields: transaction.facts.clone() };
        self.rows.push(TRANSACTIONS.row(&self.by_hash(transaction.hash), &(), &facts)?);
        Ok(())
    }

    fn list_block(
        &mut self,
        block: &BlockInput,
        order: u64,
        is_pivot: bool,
    ) -> Result<(), BoundError> {
        let value = BlockLine {
            hash: block.hash,
            epoch: self.epoch,
            is_pivot,
            miner: block.miner,
            timestamp: block.timestamp,
        };
        let totals = self.before.totals;
        let row = ListRow { sums: vec![totals.difficulty, u128::from(totals.packed)], value };
        let partition = Sequenced(self.chain.clone(), order);
        self.rows.push(BLOCKS_IN_ORDER.row(&partition, &(order, self.unit), &row)?);
        Ok(())
    }

    fn miner(&mut self, block: &BlockInput, order: u64) -> Result<(), BoundError> {
        let count = self.before.miners.entry(block.miner).or_default();
        let position = *count;
        *count += 1;
        if position == 0 {
            let number = self.before.totals.miners;
            self.before.totals.miners += 1;
            let value = MinerFirst { address: block.miner, block: block.hash };
            let row = ListRow { sums: Vec::new(), value };
            let partition = Sequenced(self.chain.clone(), number);
            self.rows.push(MINERS.row(&partition, &(number, self.unit), &row)?);
        }
        self.span.miners.push((block.miner, position));
        let line = MinerLine { hash: block.hash, order };
        self.rows.extend(OF_MINER.rows(self.chain, block.miner, (position, self.unit), line)?);
        Ok(())
    }

    /// Whether this is its first packing.
    fn transaction(
        &mut self,
        block: &BlockInput,
        index: u32,
        transaction: &TransactionInput,
    ) -> Result<bool, BoundError> {
        let key = self.by_hash(transaction.hash);
        let order = self.before.totals.blocks;
        let packing = Packing { block: block.hash, epoch: self.epoch, timestamp: block.timestamp };
        self.rows.push(PACKINGS.row(&key, &(order, index, self.unit), &packing)?);
        if !self.before.packed.insert(transaction.hash) {
            return Ok(false);
        }
        self.transaction_facts(transaction)?;
        let number = self.before.totals.transactions;
        self.before.totals.transactions += 1;
        let value = TransactionLine { hash: transaction.hash, block: block.hash };
        let row = ListRow { sums: Vec::new(), value };
        let partition = Sequenced(self.chain.clone(), number);
        self.rows.push(TRANSACTIONS_IN_ORDER.row(&partition, &(number, self.unit), &row)?);
        for (address, direction) in parties(transaction) {
            self.account(address, direction, transaction.hash, block.timestamp)?;
        }
        Ok(true)
    }

    fn account(
        &mut self,
        address: Address,
        direction: Direction,
        hash: Hash,
        timestamp: u64,
    ) -> Result<(), BoundError> {
        let count = self.before.accounts.entry(address).or_default();
        let position = *count;
        *count += 1;
        self.before.totals.accounts += u64::from(position == 0);
        self.span.accounts.push((address, position));
        let line = AccountLine { hash, direction, timestamp };
        self.rows.extend(OF_ACCOUNT.rows(self.chain, address, (position, self.unit), line)?);
        Ok(())
    }
}

/// What came of an epoch, under `unit`.
///
/// # Errors
/// When a row is beyond a limit.
pub fn result_rows(
    chain: &ChainName,
    unit: Unit,
    results: &ResultsInput,
) -> Result<Vec<Row>, BoundError> {
    let mut rows = Vec::new();
    for (block, receipts) in &results.blocks {
        let gas_used = receipts.last().map_or(0, |receipt| receipt.gas_so_far);
        let key = (chain.clone(), block.0);
        rows.push(BLOCK_RESULTS.row(&key, &unit, &BlockResult { gas_used })?);
        for receipt in receipts.iter().filter(|receipt| receipt.executed) {
            let key = (chain.clone(), receipt.transaction.0);
            let (index, fields) = (receipt.index, receipt.fields.clone());
            rows.push(RECEIPTS.row(&key, &unit, &Receipt { block: *block, index, fields })?);
        }
    }
    Ok(rows)
}

/// The accounts of a transaction, each once.
#[must_use]
pub fn parties(transaction: &TransactionInput) -> Vec<(Address, Direction)> {
    let from = (transaction.from, Direction::Create);
    match transaction.to {
        None => std::iter::once(from)
            .chain(transaction.creates.map(|contract| (contract, Direction::Create)))
            .collect(),
        Some(to) if to == transaction.from => vec![(to, Direction::Own)],
        Some(to) => vec![(transaction.from, Direction::Out), (to, Direction::In)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fields;

    fn transaction(number: u8, from: u8, to: Option<u8>) -> TransactionInput {
        let address = |byte| Address([byte; 20]);
        TransactionInput {
            hash: Hash([number; 32]),
            from: address(from),
            to: to.map(address),
            creates: to.is_none().then(|| address(99)),
            facts: Fields::default(),
        }
    }

    fn block(number: u8, transactions: Vec<TransactionInput>) -> BlockInput {
        let (hash, parent) = (Hash([number; 32]), Hash([number - 1; 32]));
        let (miner, facts) = (Address([9; 20]), Fields::default());
        BlockInput { hash, parent, miner, difficulty: 5, timestamp: 7, facts, transactions }
    }

    #[test]
    fn a_transaction_is_listed_at_its_first_packing_once_for_each_account() {
        let first = transaction(1, 1, Some(2));
        let blocks = vec![
            block(1, vec![first.clone(), transaction(2, 1, Some(1))]),
            block(2, vec![first.clone(), transaction(3, 2, None), first]),
        ];
        let epoch = EpochInput { number: 4, blocks, skipped: vec![block(9, Vec::new())] };
        let mut before = Before::default();
        let derived = rows(&"c".into(), Unit(1), &epoch, &mut before).expect("within limits");
        assert_eq!(derived.spans.len(), 1);
        let rows = derived.rows;
        assert_eq!(before.totals.packed, 5, "repeats included");
        assert_eq!(before.totals.transactions, 3);
        assert_eq!((before.totals.blocks, before.totals.difficulty), (2, 10));
        assert_eq!(before.totals.miners, 1);
        assert_eq!(before.accounts[&Address([1; 20])], 2);
        assert_eq!(before.accounts[&Address([2; 20])], 2);
        assert_eq!(before.accounts[&Address([99; 20])], 1, "the contract that is created");
        assert_eq!((before.totals.accounts, before.totals.packing_blocks), (3, 2));
        let count = |table: &store::TableDef| {
            rows.iter().filter(|row| row.table.name() == table.name()).count()
        };
        assert_eq!(count(PACKINGS.def()), 5);
        assert_eq!(count(TRANSACTIONS_IN_ORDER.def()), 3);
        assert_eq!(count(MINERS.def()), 1);
        assert_eq!(count(BLOCK_TRANSACTIONS.def()), 2, "a row for each block");
        assert_eq!(count(BLOCKS.def()), 3, "also the one that is skipped");
    }
}
