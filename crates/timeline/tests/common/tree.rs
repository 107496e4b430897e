//! What the world knows: all blocks there ever were, and so what a chain must look like.

use fastrand::Rng;
use placement::Placement;
use store::{Bounds, Row, Schema, Sequenced, Table};
use timeline::{ListRow, ListTable, Seat, Unit};

pub(crate) const MINERS: u8 = 4;
pub(crate) const CHAIN: &str = "test";

/// Items of all blocks in order, with the sum of their values.
pub(crate) static ITEMS: ListTable<String, (u64, u8)> = Table::once(
    "test.items",
    "An item of the ordered list.",
    Placement::Bucketed { size: 32 },
    Bounds::rows(100_000),
);
/// Items by miner.
pub(crate) static BY_MINER: Table<(String, u8), (u64, Unit), Vec<u8>> =
    Table::once("test.by_miner", "An item of a miner.", Placement::Hashed, Bounds::rows(100_000));
/// What executing a block gave: the block, under an executed unit.
pub(crate) static RECEIPTS: Table<Sequenced<String>, (u64, Unit), Vec<u8>> = Table::once(
    "test.receipts",
    "The receipt of a height.",
    Placement::Bucketed { size: 16 },
    Bounds::rows(100_000),
);

#[must_use]
pub(crate) fn schema() -> Schema {
    let own = [ITEMS.def(), BY_MINER.def(), RECEIPTS.def()];
    Schema::new(timeline::schema().tables().chain(own))
}

#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) id: u64,
    pub(crate) parent: Option<u64>,
    pub(crate) height: u64,
    /// Miner and value of each item.
    pub(crate) items: Vec<(u8, u64)>,
    /// Items and sum on this branch below the block.
    pub(crate) position: u64,
    pub(crate) sum: u128,
}

/// All blocks, by id.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    blocks: Vec<Block>,
}

impl Tree {
    pub(crate) fn block(&self, id: u64) -> &Block {
        &self.blocks[usize::try_from(id).expect("small")]
    }

    pub(crate) fn random(&self, rng: &mut Rng) -> Option<u64> {
        (!self.blocks.is_empty()).then(|| rng.u64(0..self.blocks.len() as u64))
    }

    pub(crate) fn grow(&mut self, parent: Option<u64>, rng: &mut Rng) -> u64 {
        let id = self.blocks.len() as u64;
        let items: Vec<_> =
            (0..rng.usize(1..=4)).map(|_| (rng.u8(0..MINERS), rng.u64(1..1000))).collect();
        let (height, position, sum) = match parent {
            None => (0, 0, 0),
            Some(parent) => {
                let below = self.block(parent);
                let value: u64 = below.items.iter().map(|(_, value)| value).sum();
                (
                    below.height + 1,
                    below.position + below.items.len() as u64,
                    below.sum + u128::from(value),
                )
            }
        };
        self.blocks.push(Block { id, parent, height, items, position, sum });
        id
    }

    /// The chain that ends with a block, lowest first.
    pub(crate) fn chain(&self, head: u64) -> Vec<&Block> {
        let mut chain = vec![self.block(head)];
        while let Some(parent) = chain.last().and_then(|block| block.parent) {
            chain.push(self.block(parent));
        }
        chain.reverse();
        chain
    }
}

#[must_use]
pub(crate) fn hash(id: u64) -> Vec<u8> {
    id.to_be_bytes().to_vec()
}

#[must_use]
pub(crate) fn id_of(hash: &[u8]) -> u64 {
    u64::from_be_bytes(hash.try_into().expect("eight bytes"))
}

/// The rows of a mined unit: a function of the block and its number.
pub(crate) fn mined_rows(block: &Block, unit: Unit) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut sum = block.sum;
    for (position, (miner, value)) in (block.position..).zip(&block.items) {
        sum += u128::from(*value);
        let row = ListRow { sums: vec![sum], value: (block.id, *miner) };
        let partition = Sequenced(CHAIN.to_owned(), position);
        rows.push(ITEMS.row(&partition, &(position, unit), &row).expect("a row"));
        let miner = (CHAIN.to_owned(), *miner);
        rows.push(BY_MINER.row(&miner, &(position, unit), &hash(block.id)).expect("a row"));
    }
    rows
}

/// The row of an executed unit.
pub(crate) fn executed_row(height: u64, block: u64, unit: Unit) -> Row {
    let partition = Sequenced(CHAIN.to_owned(), height);
    RECEIPTS.row(&partition, &(height, unit), &hash(block)).expect("a row")
}

/// The rows of a hidden unit, derived again from where it stood.
pub(crate) fn rows_of(tree: &Tree, unit: Unit, seat: &Seat) -> Vec<Row> {
    let id = id_of(&seat.hash);
    match seat.lane.0 {
        0 => mined_rows(tree.block(id), unit),
        _ => vec![executed_row(seat.height.0, id, unit)],
    }
}
