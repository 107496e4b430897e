//! Tables of the suite: one of each kind.

use placement::Placement;

use crate::{Bounds, Schema, Sequenced, Table};

/// Facts under a key.
pub static FACTS: Table<u16, u16, Vec<u8>> = Table::once(
    "conformance.facts",
    "A value that is a function of its key.",
    Placement::Hashed,
    Bounds::rows(100_000).values(64 * 1024).pages(1000),
);

/// An ordered list in buckets.
pub static LIST: Table<Sequenced<u8>, u64, Vec<u8>> = Table::once(
    "conformance.list",
    "An entry of a list, cut into buckets of 64.",
    Placement::Bucketed { size: 64 },
    Bounds::rows(64).pages(64),
);

/// Cells changed by compare-and-set.
pub static CELLS: Table<u8, Vec<u8>, Vec<u8>> = Table::guarded(
    "conformance.cells",
    "A cell of a guarded partition.",
    Placement::Hashed,
    Bounds::rows(1000).values(1024).pages(1000),
);

/// All of them.
#[must_use]
pub fn schema() -> Schema {
    Schema::new([FACTS.def(), LIST.def(), CELLS.def()])
}
