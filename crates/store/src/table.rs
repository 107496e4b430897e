//! Tables: typed constants that say where rows live, how they are written and how large they get.

use std::marker::PhantomData;

use bytes::Bytes;
use placement::Placement;
use placement::report::Touches;

use crate::row::RowKeyBuilder;
use crate::{BoundError, Change, KeyPart, Partition, PartitionKey, Row, RowKey, Value, limits};

/// How a table is written. Never both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// The value is a function of the key: written by `put`, repeatable, in any order.
    Once,
    /// Changed only by `commit`, a compare-and-set of one partition.
    Guarded,
}

/// The limits of one table. `verify store` proves them on the rows that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Rows a partition may reach. Cassandra's own advice ends at 100,000.
    pub partition_rows: u64,
    /// Bytes of one value.
    pub value_bytes: usize,
    /// Rows of one page.
    pub page_rows: usize,
}

impl Bounds {
    /// Bounds for rows of up to 4 KiB in partitions of up to `partition_rows`.
    #[must_use]
    pub const fn rows(partition_rows: u64) -> Self {
        Self { partition_rows, value_bytes: 4096, page_rows: 1000 }
    }

    /// The same bounds with values of up to `bytes`.
    #[must_use]
    pub const fn values(self, bytes: usize) -> Self {
        assert!(bytes <= limits::VALUE_BYTES, "a table cannot allow more than limits::VALUE_BYTES");
        Self { value_bytes: bytes, ..self }
    }

    /// The same bounds with pages of up to `rows`.
    #[must_use]
    pub const fn pages(self, rows: usize) -> Self {
        assert!(rows <= limits::PAGE_ROWS, "a table cannot allow more than limits::PAGE_ROWS");
        Self { page_rows: rows, ..self }
    }
}

/// A query that a service promises to answer from a table. The shard report counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query {
    /// What is asked, in words.
    pub name: &'static str,
    /// How many partitions the answer reads.
    pub touches: Touches,
}

/// A table as engines see it: names and bytes, no types.
#[derive(Debug, PartialEq, Eq)]
pub struct TableDef {
    name: &'static str,
    about: &'static str,
    placement: Placement,
    writes: Writes,
    bounds: Bounds,
    queries: &'static [Query],
}

impl TableDef {
    /// `service.table`, in lower case.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// One sentence on what a row is.
    #[must_use]
    pub const fn about(&self) -> &'static str {
        self.about
    }

    /// Where rows live.
    #[must_use]
    pub const fn placement(&self) -> Placement {
        self.placement
    }

    /// How rows are written.
    #[must_use]
    pub const fn writes(&self) -> Writes {
        self.writes
    }

    /// How large the table's parts get.
    #[must_use]
    pub const fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// The queries it was made for.
    #[must_use]
    pub const fn queries(&self) -> &'static [Query] {
        self.queries
    }
}

/// A table with the types of its partition key, sort key and value.
///
/// Declare it as a `static` in the service's `tables.rs`:
///
/// ```
/// use placement::Placement;
/// use store::{Bounds, Query, Table, Touches};
///
/// /// Block headers by hash.
/// static HEADERS: Table<[u8; 32], (), Vec<u8>> =
///     Table::once("demo.headers", "A header under its hash.", Placement::Hashed, Bounds::rows(1))
///         .answers(&[Query { name: "header by hash", touches: Touches::One }]);
/// assert_eq!(HEADERS.def().name(), "demo.headers");
/// ```
#[derive(Debug)]
pub struct Table<P, S, V> {
    def: TableDef,
    types: Types<P, S, V>,
}

/// The types of a table. `fn` keeps it `Sync` whatever they are: it holds none of them.
type Types<P, S, V> = PhantomData<fn() -> (P, S, V)>;

impl<P, S, V> Table<P, S, V> {
    /// A table whose values are functions of their keys.
    #[must_use]
    pub const fn once(
        name: &'static str,
        about: &'static str,
        placement: Placement,
        bounds: Bounds,
    ) -> Self {
        Self::new(name, about, placement, Writes::Once, bounds)
    }

    /// A table changed only by compare-and-set.
    #[must_use]
    pub const fn guarded(
        name: &'static str,
        about: &'static str,
        placement: Placement,
        bounds: Bounds,
    ) -> Self {
        Self::new(name, about, placement, Writes::Guarded, bounds)
    }

    const fn new(
        name: &'static str,
        about: &'static str,
        placement: Placement,
        writes: Writes,
        bounds: Bounds,
    ) -> Self {
        assert!(valid_name(name), "a table is named service.table in lower case");
        let def = TableDef { name, about, placement, writes, bounds, queries: &[] };
        Self { def, types: PhantomData }
    }

    /// The same table with the queries it was made for.
    #[must_use]
    pub const fn answers(mut self, queries: &'static [Query]) -> Self {
        self.def.queries = queries;
        self
    }

    /// The table as engines see it.
    #[must_use]
    pub const fn def(&'static self) -> &'static TableDef {
        &self.def
    }
}

impl<P: Partition, S: KeyPart, V: Value> Table<P, S, V> {
    /// The key of one row.
    ///
    /// # Errors
    /// When a part is beyond its limit, or the partition's route does not fit the placement.
    pub fn key(&'static self, partition: &P, sort: &S) -> Result<RowKey, BoundError> {
        let mut builder = RowKeyBuilder::start(partition.size() + sort.size());
        self.locate(partition, &mut builder.buffer)?;
        builder.end_partition(&self.def)?;
        sort.encode(&mut builder.buffer);
        builder.finish(&self.def)
    }

    /// The key of one partition.
    ///
    /// # Errors
    /// When it is beyond its limit, or its route does not fit the placement.
    pub fn partition(&'static self, partition: &P) -> Result<PartitionKey, BoundError> {
        let mut bytes = Vec::with_capacity(partition.size());
        self.locate(partition, &mut bytes)?;
        PartitionKey::new(&self.def, bytes)
    }

    /// A row for [`Store::put`](crate::Store::put).
    ///
    /// # Errors
    /// When a part of the key is beyond its limit.
    pub fn row(&'static self, partition: &P, sort: &S, value: &V) -> Result<Row, BoundError> {
        let value = Some(value.to_bytes().into());
        Ok(Row { table: &self.def, key: self.key(partition, sort)?, value })
    }

    /// The sweeping of a row that no view can see, for [`Store::put`](crate::Store::put).
    ///
    /// # Errors
    /// When a part of the key is beyond its limit.
    pub fn sweep(&'static self, partition: &P, sort: &S) -> Result<Row, BoundError> {
        Ok(Row { table: &self.def, key: self.key(partition, sort)?, value: None })
    }

    /// A change that inserts or replaces a row, for [`Commit`](crate::Commit).
    #[must_use]
    pub fn insert(&'static self, sort: &S, value: &V) -> Change {
        Change::Put { sort: encode_sort(sort), value: value.to_bytes().into() }
    }

    /// A change that deletes a row, for [`Commit`](crate::Commit).
    #[must_use]
    pub fn delete(&'static self, sort: &S) -> Change {
        Change::Delete { sort: encode_sort(sort) }
    }

    fn locate(&'static self, partition: &P, out: &mut Vec<u8>) -> Result<(), BoundError> {
        partition
            .locate(self.def.placement, out)
            .map_err(|source| BoundError::Route { table: self.def.name, source })
    }
}

/// A sort key's bytes.
pub(crate) fn encode_sort<S: KeyPart>(sort: &S) -> Bytes {
    let mut bytes = Vec::with_capacity(sort.size());
    sort.encode(&mut bytes);
    bytes.into()
}

/// Lower-case letters, digits and underscores around exactly one dot: valid in every engine.
const fn valid_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let (mut i, mut dots) = (0, 0);
    while i < bytes.len() {
        match bytes[i] {
            b'.' if i > 0 && i + 1 < bytes.len() => dots += 1,
            b'a'..=b'z' | b'0'..=b'9' | b'_' => {}
            _ => return false,
        }
        i += 1;
    }
    dots == 1 && bytes.len() <= 48
}

#[cfg(test)]
mod tests {
    use super::valid_name;

    #[test]
    fn a_name_is_service_dot_table() {
        for good in ["scan.blocks", "a.b", "utxo.script_history2"] {
            assert!(valid_name(good), "{good}");
        }
        for bad in ["", "blocks", ".b", "a.", "a.b.c", "Scan.blocks", "scan.blo cks", "scan-x.y"] {
            assert!(!valid_name(bad), "{bad}");
        }
    }
}
