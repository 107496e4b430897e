//! How a list is declared: a typed constant, as tables are.

use std::marker::PhantomData;

use placement::Placement;
use store::{Bounds, KeyPart, KeyReader, Query, ReadError, Table, TableDef, Value, limits};

use crate::calls::Call;
use crate::place::{Place, RawPlace};
use crate::place_calls::PlaceCalls;
use crate::slot::{Cell, ListKey, Slot, encoded};

/// Entries a list may know at the most: with two rows for each and a head it stays within the
/// 100,000 rows that Cassandra carries well in a partition.
pub const LIST_ENTRIES: u64 = 49_999;
/// Bytes of a payload at the most: three such changes fit a commit many times.
pub const PAYLOAD_BYTES: usize = 16 * 1024;
/// Bytes a cell needs beside payload or sort key.
const CELL_BYTES: usize = 32;
/// Rows of one page of a list.
const PAGE_ROWS: usize = 1000;

/// A table of lists: `K` names a list, `E` an entry of it, `S` is what it is ordered by, and `V` is
/// what a reader gets with each row.
///
/// Entries of one sort key are ordered by their own bytes.
///
/// ```
/// use index::List;
///
/// /// Projects of an account by creation time.
/// static BY_OWNER: List<u64, String, u64, Vec<u8>> =
///     List::new("demo.by_owner", "A project of an account, by creation time.", 10_000, 512);
/// assert_eq!(BY_OWNER.def().entries(), 10_000);
/// ```
#[derive(Debug)]
pub struct List<K, E, S, V> {
    def: ListDef,
    types: Types<K, E, S, V>,
}

/// `fn` keeps a list `Sync` whatever its types are: it holds none of them.
type Types<K, E, S, V> = PhantomData<fn() -> (K, E, S, V)>;

/// A table of lists without its types: what calls and verification need.
#[derive(Debug)]
pub struct ListDef {
    table: Table<ListKey, Slot, Cell>,
    entries: u64,
    payload_bytes: usize,
}

impl ListDef {
    /// Entries one list may know, those that left the order included.
    #[must_use]
    pub const fn entries(&self) -> u64 {
        self.entries
    }

    /// Bytes of one payload, its format byte included.
    #[must_use]
    pub const fn payload_bytes(&self) -> usize {
        self.payload_bytes
    }

    /// The table as engines see it, for the schema.
    #[must_use]
    pub const fn table(&'static self) -> &'static TableDef {
        self.table.def()
    }

    pub(crate) const fn cells(&'static self) -> &'static Table<ListKey, Slot, Cell> {
        &self.table
    }
}

impl<K, E, S, V> List<K, E, S, V> {
    /// Lists of up to `entries` entries with payloads of up to `payload_bytes`.
    ///
    /// # Panics
    /// When a bound is beyond [`LIST_ENTRIES`] or [`PAYLOAD_BYTES`]; in a `static` the compiler
    /// says so.
    #[must_use]
    pub const fn new(
        name: &'static str,
        about: &'static str,
        entries: u64,
        payload_bytes: usize,
    ) -> Self {
        assert!(entries <= LIST_ENTRIES, "a list knows at most LIST_ENTRIES entries");
        assert!(payload_bytes <= PAYLOAD_BYTES, "a payload has at most PAYLOAD_BYTES bytes");
        let largest = if payload_bytes > limits::SORT_KEY_BYTES {
            payload_bytes
        } else {
            limits::SORT_KEY_BYTES
        };
        let bounds = Bounds::rows(1 + 2 * entries).values(largest + CELL_BYTES).pages(PAGE_ROWS);
        let table = Table::guarded(name, about, Placement::Hashed, bounds);
        Self { def: ListDef { table, entries, payload_bytes }, types: PhantomData }
    }

    /// The same list with the queries it was made for.
    #[must_use]
    pub const fn answers(self, queries: &'static [Query]) -> Self {
        let ListDef { table, entries, payload_bytes } = self.def;
        let def = ListDef { table: table.answers(queries), entries, payload_bytes };
        Self { def, types: PhantomData }
    }

    /// The list without its types.
    #[must_use]
    pub const fn def(&'static self) -> &'static ListDef {
        &self.def
    }

    /// The table as engines see it, for the schema.
    #[must_use]
    pub const fn table(&'static self) -> &'static TableDef {
        self.def.table()
    }
}

impl<K: KeyPart, E: KeyPart, S: KeyPart, V: Value> List<K, E, S, V> {
    /// The placement as a call of [`Effects`](crate::Effects).
    #[must_use]
    pub fn call(&'static self, key: &K, place: &Place<E, S, V>) -> Call {
        PlaceCalls::encode(&self.def, &ListKey::of(key), &self.raw(place))
    }

    pub(crate) fn raw(&'static self, place: &Place<E, S, V>) -> RawPlace {
        let at = place.at.as_ref().map(|(sort, payload)| (encoded(sort), payload.to_bytes()));
        RawPlace { entry: encoded(&place.entry), rank: place.rank, at }
    }

    pub(crate) fn row(
        &'static self,
        slot: &Slot,
        cell: Cell,
    ) -> Result<ListRow<E, S, V>, ReadError> {
        let (sort, entry) = KeyReader::whole::<(S, E)>(slot.row_parts()?)?;
        let (rank, payload) = cell.row()?;
        Ok(ListRow { entry, sort, rank, payload: V::from_bytes(&payload)? })
    }
}

/// One row of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListRow<E, S, V> {
    /// The entry.
    pub entry: E,
    /// What it is ordered by.
    pub sort: S,
    /// The rank of the placement that put it there.
    pub rank: u64,
    /// What the placement brought.
    pub payload: V,
}
