//! Where a paged list goes on.
//!
//! A cursor is opaque and bound to its list: a checksum over table, partition, ends and direction
//! goes into it, so that the cursor of another list, or a damaged one, is refused instead of
//! quietly giving rows from somewhere.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use xxhash_rust::xxh3::Xxh3;

use crate::{Bound, Order, RangeRequest, limits};

const TAG_BYTES: usize = 8;

/// Where a list goes on. Safe to put into a URL.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cursor(String);

/// A cursor that cannot be used here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the cursor does not belong to this list; start again without one")]
pub struct CursorError;

impl Cursor {
    /// A cursor as a client sent it. Whether it belongs to a list shows when it is used.
    ///
    /// # Errors
    /// When it is too long to be one.
    pub fn parse(text: &str) -> Result<Self, CursorError> {
        let longest = (TAG_BYTES + limits::SORT_KEY_BYTES) * 4 / 3 + 4;
        if text.len() > longest { Err(CursorError) } else { Ok(Self(text.to_owned())) }
    }

    /// As it travels.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The cursor that goes on behind `sort`.
    pub(crate) fn after(request: &RangeRequest, sort: &[u8]) -> Self {
        let mut bytes = tag(request, sort).to_be_bytes().to_vec();
        bytes.extend_from_slice(sort);
        Self(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// The sort key behind which `request` goes on.
    pub(crate) fn resume(&self, request: &RangeRequest) -> Result<Bytes, CursorError> {
        let bytes = URL_SAFE_NO_PAD.decode(&self.0).map_err(|_| CursorError)?;
        let (found, sort) = bytes.split_first_chunk::<TAG_BYTES>().ok_or(CursorError)?;
        if u64::from_be_bytes(*found) != tag(request, sort) {
            return Err(CursorError);
        }
        Ok(Bytes::copy_from_slice(sort))
    }
}

/// Binds a position to its list.
fn tag(request: &RangeRequest, sort: &[u8]) -> u64 {
    let mut hash = Xxh3::new();
    let mut part = |bytes: &[u8]| {
        hash.update(&bytes.len().to_le_bytes());
        hash.update(bytes);
    };
    part(request.table.name().as_bytes());
    part(request.partition.as_bytes());
    part(&[u8::from(request.order == Order::Descending)]);
    for end in [&request.from, &request.to] {
        match end {
            Bound::Included(key) => (part(b"="), part(key)),
            Bound::Excluded(key) => (part(b"<"), part(key)),
            Bound::Unbounded => (part(b"*"), part(b"")),
        };
    }
    part(sort);
    hash.digest()
}

#[cfg(test)]
mod tests {
    use placement::Placement;

    use super::*;
    use crate::{Bounds, PartitionKey, Read, Table};

    static LIST: Table<u64, u64, ()> =
        Table::once("test.list", "A list.", Placement::Hashed, Bounds::rows(10));
    static OTHER: Table<u64, u64, ()> =
        Table::once("test.other", "Another.", Placement::Hashed, Bounds::rows(10));

    fn request() -> RangeRequest {
        RangeRequest {
            table: LIST.def(),
            partition: LIST.partition(&1).expect("a key"),
            from: Bound::Unbounded,
            to: Bound::Unbounded,
            order: Order::Ascending,
            limit: 1,
            read: Read::Quorum,
        }
    }

    #[test]
    fn a_cursor_goes_on_where_it_was_made() {
        let cursor = Cursor::after(&request(), b"abc");
        let parsed = Cursor::parse(cursor.as_str()).expect("short enough");
        assert_eq!(parsed.resume(&request()).expect("its own list"), "abc");
    }

    #[test]
    fn a_cursor_of_another_list_is_refused() {
        let cursor = Cursor::after(&request(), b"abc");
        let partition = PartitionKey::new(LIST.def(), vec![9]).expect("a key");
        for foreign in [
            RangeRequest { table: OTHER.def(), ..request() },
            RangeRequest { partition, ..request() },
            RangeRequest { order: Order::Descending, ..request() },
            RangeRequest { from: Bound::Included(Bytes::from_static(b"a")), ..request() },
            RangeRequest { to: Bound::Excluded(Bytes::new()), ..request() },
        ] {
            assert_eq!(cursor.resume(&foreign), Err(CursorError));
        }
    }

    #[test]
    fn a_damaged_cursor_is_refused() {
        for text in ["", "AA", "not base64!", "AAAAAAAAAAAAAAAA"] {
            assert_eq!(Cursor::parse(text).expect("short").resume(&request()), Err(CursorError));
        }
        assert_eq!(Cursor::parse(&"A".repeat(5000)), Err(CursorError));
    }
}
