//! An epoch to its rows: a pure function of the epoch and of what its branch has already.

use std::collections::{BTreeMap, BTreeSet};

use store::{BoundError, Row, Sequenced};
use timeline::{ChainName, ListRow, Unit};

use crate::lists::{OF_ACCOUNT, OF_MINER};
use crate::tables::{
    AccountLine, BLOCK_SEATS, BLOCK_TRANSACTIONS, BLOCKS, BLOCKS_IN_ORDER, BlockFacts, BlockLine,
    BlockSeat, Direction, EPOCHS, EpochRow, MINERS, MinerFirst, MinerLine, PACKINGS, Packed,
    Packing, TRANSACTIONS, TRANSACTIONS_IN_ORDER, Totals, TransactionFacts, TransactionLine,
};
use crate::{Address, BlockInput, EpochInput, Hash, TransactionInput};

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

/// The rows of an epoch under `unit`. `before` goes on to what the next epoch finds.
///
/// # Errors
/// When a row is beyond a limit.
pub fn rows(
    chain: &ChainName,
    unit: Unit,
    epoch: &EpochInput,
    before: &mut Before,
) -> Result<Vec<Row>, BoundError> {
    let mut deriving = Deriving { chain, unit, epoch: epoch.number, before, rows: Vec::new() };
    for (index, block) in epoch.blocks.iter().enumerate() {
        deriving.block(block, index + 1 == epoch.blocks.len())?;
    }
    let blocks = epoch.blocks.iter().map(|block| block.hash).collect();
    let row = EpochRow { blocks, totals: deriving.before.totals };
    let partition = Sequenced(chain.clone(), epoch.number);
    deriving.rows.push(EPOCHS.row(&partition, &(epoch.number, unit), &row)?);
    Ok(deriving.rows)
}

struct Deriving<'a> {
    chain: &'a ChainName,
    unit: Unit,
    epoch: u64,
    before: &'a mut Before,
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
        let key = self.by_hash(block.hash);
        let packed = u32::try_from(block.transactions.len()).unwrap_or(u32::MAX);
        let facts = BlockFacts { fields: block.facts.clone(), transactions: packed };
        self.rows.push(BLOCKS.row(&key, &(), &facts)?);
        let seat = BlockSeat { epoch: self.epoch, order, is_pivot, new_transactions };
        self.rows.push(BLOCK_SEATS.row(&key, &self.unit, &seat)?);
        let totals = &mut self.before.totals;
        totals.blocks += 1;
        totals.difficulty = totals.difficulty.saturating_add(block.difficulty);
        totals.packed += u64::from(packed);
        totals.packing_blocks += u64::from(packed > 0);
        self.list_block(block, order, is_pivot)?;
        self.miner(block, order)
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
        let packed = Packed { hash: transaction.hash };
        self.rows.push(BLOCK_TRANSACTIONS.row(&self.by_hash(block.hash), &index, &packed)?);
        let key = self.by_hash(transaction.hash);
        let order = self.before.totals.blocks;
        let packing = Packing { block: block.hash, epoch: self.epoch, timestamp: block.timestamp };
        self.rows.push(PACKINGS.row(&key, &(order, index, self.unit), &packing)?);
        if !self.before.packed.insert(transaction.hash) {
            return Ok(false);
        }
        let facts = TransactionFacts { fields: transaction.facts.clone() };
        self.rows.push(TRANSACTIONS.row(&key, &(), &facts)?);
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
        let line = AccountLine { hash, direction, timestamp };
        self.rows.extend(OF_ACCOUNT.rows(self.chain, address, (position, self.unit), line)?);
        Ok(())
    }
}

/// The accounts of a transaction, each once.
fn parties(transaction: &TransactionInput) -> Vec<(Address, Direction)> {
    match transaction.to {
        None => vec![(transaction.from, Direction::Create)],
        Some(to) if to == transaction.from => vec![(to, Direction::Own)],
        Some(to) => vec![(transaction.from, Direction::Out), (to, Direction::In)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transaction(number: u8, from: u8, to: Option<u8>) -> TransactionInput {
        let address = |byte| Address([byte; 20]);
        let facts = Vec::new();
        TransactionInput {
            hash: Hash([number; 32]),
            from: address(from),
            to: to.map(address),
            facts,
        }
    }

    fn block(number: u8, transactions: Vec<TransactionInput>) -> BlockInput {
        let (hash, parent) = (Hash([number; 32]), Hash([number - 1; 32]));
        let (miner, facts) = (Address([9; 20]), Vec::new());
        BlockInput { hash, parent, miner, difficulty: 5, timestamp: 7, facts, transactions }
    }

    #[test]
    fn a_transaction_is_listed_at_its_first_packing_once_for_each_account() {
        let first = transaction(1, 1, Some(2));
        let blocks = vec![
            block(1, vec![first.clone(), transaction(2, 1, Some(1))]),
            block(2, vec![first.clone(), transaction(3, 2, None), first]),
        ];
        let epoch = EpochInput { number: 4, blocks };
        let mut before = Before::default();
        let rows = rows(&"c".into(), Unit(1), &epoch, &mut before).expect("within limits");
        assert_eq!(before.totals.packed, 5, "repeats included");
        assert_eq!(before.totals.transactions, 3);
        assert_eq!((before.totals.blocks, before.totals.difficulty), (2, 10));
        assert_eq!(before.totals.miners, 1);
        assert_eq!((before.totals.accounts, before.totals.packing_blocks), (2, 2));
        assert_eq!(before.accounts[&Address([1; 20])], 2);
        assert_eq!(before.accounts[&Address([2; 20])], 2);
        let count = |table: &store::TableDef| {
            rows.iter().filter(|row| row.table.name() == table.name()).count()
        };
        assert_eq!(count(PACKINGS.def()), 5);
        assert_eq!(count(TRANSACTIONS_IN_ORDER.def()), 3);
        assert_eq!(count(MINERS.def()), 1);
        assert_eq!(count(BLOCK_TRANSACTIONS.def()), 5);
    }
}
