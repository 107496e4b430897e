//! The rows of a list as bytes: where each stands in its partition, and what it holds.
//!
//! | slot | bytes of the sort key | cell |
//! | --- | --- | --- |
//! | head | `00` | how many entries are known, and how many stand in the order |
//! | entry | `01` entry | rank, and the sort key it stands under |
//! | row | `02` sort key, entry | rank and payload |
//!
//! Sort keys are free of prefixes (fixed length, or ended by `00 00`), so all rows of one sort key
//! are exactly those that begin with it.

use std::ops::Bound;

use placement::{Placement, RouteError};
use serde::{Deserialize, Serialize};
use store::{DecodeError, KeyPart, KeyReader, Partition};

const HEAD: u8 = 0;
const ENTRY: u8 = 1;
const ROW: u8 = 2;

/// The encoded key of one list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ListKey(Vec<u8>);

impl ListKey {
    pub(crate) fn of<K: KeyPart>(key: &K) -> Self {
        Self::from_bytes(encoded(key))
    }

    pub(crate) fn from_bytes(mut bytes: Vec<u8>) -> Self {
        // A table of one list has an empty key, which Cassandra refuses.
        if bytes.is_empty() {
            bytes.push(0);
        }
        Self(bytes)
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl Partition for ListKey {
    fn locate(&self, _placement: Placement, out: &mut Vec<u8>) -> Result<(), RouteError> {
        // Lists are always hashed, and the key is encoded already.
        out.extend_from_slice(&self.0);
        Ok(())
    }
    fn size(&self) -> usize {
        self.0.len()
    }
}

/// The sort key of one row of a list's partition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slot(Vec<u8>);

impl Slot {
    pub(crate) fn head() -> Self {
        Self(vec![HEAD])
    }

    pub(crate) fn entry(entry: &[u8]) -> Self {
        Self::join(ENTRY, &[entry])
    }

    pub(crate) fn row(sort: &[u8], entry: &[u8]) -> Self {
        Self::join(ROW, &[sort, entry])
    }

    fn join(tag: u8, parts: &[&[u8]]) -> Self {
        let mut bytes = vec![tag];
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        Self(bytes)
    }

    /// What stands behind the tag of a row: sort key and entry.
    pub(crate) fn row_parts(&self) -> Result<&[u8], DecodeError> {
        match self.0.split_first() {
            Some((&ROW, parts)) => Ok(parts),
            _ => Err(DecodeError::value("a slot of a list is not a row")),
        }
    }

    /// The kind of a slot in a walk of the table.
    pub(crate) fn kind(sort: &[u8]) -> Option<(SlotKind, &[u8])> {
        match sort.split_first()? {
            (&HEAD, []) => Some((SlotKind::Head, &[])),
            (&ENTRY, entry) => Some((SlotKind::Entry, entry)),
            (&ROW, parts) => Some((SlotKind::Row, parts)),
            _ => None,
        }
    }

    /// The slots of rows between two sort keys.
    pub(crate) fn between<S: KeyPart>(
        from: &Bound<S>,
        to: &Bound<S>,
    ) -> (Bound<Self>, Bound<Self>) {
        let start = |sort: &S| Self::row(&encoded(sort), &[]);
        let end = |sort: &S| start(sort).after_prefix();
        let from = match from {
            Bound::Included(sort) => start(sort),
            Bound::Excluded(sort) => end(sort),
            Bound::Unbounded => Self(vec![ROW]),
        };
        let to = match to {
            Bound::Included(sort) => end(sort),
            Bound::Excluded(sort) => start(sort),
            Bound::Unbounded => Self(vec![ROW + 1]),
        };
        (Bound::Included(from), Bound::Excluded(to))
    }

    /// The first slot behind all that begin with this one. The tag is small, so there is one.
    fn after_prefix(mut self) -> Self {
        while self.0.last() == Some(&u8::MAX) {
            self.0.pop();
        }
        if let Some(last) = self.0.last_mut() {
            *last += 1;
        }
        self
    }
}

impl KeyPart for Slot {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }
    fn size(&self) -> usize {
        self.0.len()
    }
    fn decode(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        // The whole sort key: a slot is never followed by another part.
        Ok(Self(std::iter::from_fn(|| u8::decode(reader).ok()).collect()))
    }
}

/// What a slot is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotKind {
    Head,
    Entry,
    Row,
}

/// How many entries a list has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Entries that stand in the order: what a reader sees.
    pub placed: u64,
    /// Entries whose rank is known, those that left the order included: what the bound counts.
    pub known: u64,
}

/// The value of a row of a list's partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Cell {
    Head(Counts),
    Entry { rank: u64, sort: Option<Vec<u8>> },
    // The rank stands here too: whoever reads entry and row at two moments sees if one moved on.
    Row { rank: u64, payload: Vec<u8> },
}
store::serde_value!(Cell, format 1);

impl Cell {
    pub(crate) fn head(cell: Option<Self>) -> Result<Counts, DecodeError> {
        match cell {
            None => Ok(Counts::default()),
            Some(Self::Head(counts)) => Ok(counts),
            Some(_) => Err(DecodeError::value("the head of a list holds something else")),
        }
    }

    pub(crate) fn entry(self) -> Result<(u64, Option<Vec<u8>>), DecodeError> {
        match self {
            Self::Entry { rank, sort } => Ok((rank, sort)),
            _ => Err(DecodeError::value("an entry of a list holds something else")),
        }
    }

    pub(crate) fn row(self) -> Result<(u64, Vec<u8>), DecodeError> {
        match self {
            Self::Row { rank, payload } => Ok((rank, payload)),
            _ => Err(DecodeError::value("a row of a list holds something else")),
        }
    }
}

/// A key part's bytes.
pub(crate) fn encoded<K: KeyPart>(part: &K) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(part.size());
    part.encode(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inside(slot: &Slot, from: Bound<u16>, to: Bound<u16>) -> bool {
        use std::ops::RangeBounds;
        Slot::between(&from, &to).contains(slot)
    }

    #[test]
    fn bounds_on_sort_keys_take_all_entries_of_a_sort_key() {
        let row = |sort: u16, entry: &[u8]| Slot::row(&encoded(&sort), entry);
        for sort in [0, 254, 255, 256, 0xfffe, u16::MAX] {
            for entry in [&b""[..], b"\0", b"\xff\xff\xff"] {
                let slot = row(sort, entry);
                assert!(inside(&slot, Bound::Unbounded, Bound::Unbounded));
                assert!(inside(&slot, Bound::Included(sort), Bound::Included(sort)));
                assert!(!inside(&slot, Bound::Excluded(sort), Bound::Unbounded));
                assert!(!inside(&slot, Bound::Unbounded, Bound::Excluded(sort)));
                if let Some(above) = sort.checked_add(1) {
                    assert!(inside(&slot, Bound::Unbounded, Bound::Excluded(above)));
                    assert!(!inside(&slot, Bound::Included(above), Bound::Unbounded));
                }
                if let Some(below) = sort.checked_sub(1) {
                    assert!(inside(&slot, Bound::Excluded(below), Bound::Unbounded));
                    assert!(!inside(&slot, Bound::Unbounded, Bound::Included(below)));
                }
            }
        }
        assert!(!inside(&Slot::head(), Bound::Unbounded, Bound::Unbounded));
        assert!(!inside(&Slot::entry(b"\xff"), Bound::Unbounded, Bound::Unbounded));
    }

    #[test]
    fn a_slot_comes_back_whole() {
        let slot = Slot::row(b"\0\xff", b"e");
        assert_eq!(KeyReader::whole::<Slot>(&encoded(&slot)), Ok(slot.clone()));
        assert_eq!(slot.row_parts(), Ok(&b"\0\xffe"[..]));
        assert!(Slot::head().row_parts().is_err());
    }
}
