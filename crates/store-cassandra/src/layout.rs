//! The bytes of sort keys and values in guarded tables.
//!
//! ```text
//! sort 0 [op:16]   an operation     version:u64 expires:u64 result, with a TTL
//! sort 1 [sort]    a row            its value
//! ```
//!
//! The version is a static column of the partition. Operations and rows must share the partition,
//! because a conditional batch reaches one partition only; operations come first, so that a range
//! over rows never steps over their remains.

use bytes::{BufMut, Bytes, BytesMut};
use store::{OpId, Version};

const OPERATION: u8 = 0;
const ROW: u8 = 1;

/// The column `sort` of a guarded row.
pub(crate) fn row_sort(sort: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(sort.len() + 1);
    bytes.push(ROW);
    bytes.extend_from_slice(sort);
    bytes
}

/// The end of all guarded rows, excluded.
pub(crate) fn rows_end() -> Vec<u8> {
    vec![ROW + 1]
}

/// The column `sort` of an operation.
pub(crate) fn operation_sort(op: OpId) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(17);
    bytes.push(OPERATION);
    bytes.extend_from_slice(&op.0);
    bytes
}

/// What a column `sort` of a guarded table names.
pub(crate) enum Named {
    /// A row.
    Row(Bytes),
    /// An operation.
    Operation(OpId),
}

/// Reads a column `sort` of a guarded table.
pub(crate) fn named(sort: &Bytes) -> Option<Named> {
    match *sort.first()? {
        ROW => Some(Named::Row(sort.slice(1..))),
        OPERATION => Some(Named::Operation(OpId(sort.get(1..)?.try_into().ok()?))),
        _ => None,
    }
}

/// What is remembered of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Operation {
    pub(crate) version: Version,
    /// Unix second after which it may be forgotten.
    pub(crate) expires: u64,
    pub(crate) result: Bytes,
}

impl Operation {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = BytesMut::with_capacity(16 + self.result.len());
        bytes.put_u64(self.version.0);
        bytes.put_u64(self.expires);
        bytes.put_slice(&self.result);
        bytes.into()
    }

    pub(crate) fn decode(bytes: &Bytes) -> Option<Self> {
        let number = |at: usize| Some(u64::from_be_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let (version, expires) = (Version(number(0)?), number(8)?);
        Some(Self { version, expires, result: bytes.slice(16..) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_and_rows_are_told_apart() {
        let op = OpId([7; 16]);
        let found = named(&operation_sort(op).into());
        assert!(matches!(found, Some(Named::Operation(same)) if same == op));
        assert!(matches!(named(&row_sort(b"").into()), Some(Named::Row(rest)) if rest.is_empty()));
        assert!(operation_sort(OpId([255; 16])) < row_sort(b""), "operations come first");
        assert!(row_sort(&[255; 1024]) < rows_end());
        assert!(named(&Bytes::from_static(&[9])).is_none() && named(&Bytes::new()).is_none());
    }

    #[test]
    fn an_operation_survives_its_encoding() {
        let result = Bytes::from_static(b"done");
        let operation = Operation { version: Version(3), expires: 99, result };
        assert_eq!(Operation::decode(&operation.encode().into()), Some(operation));
        assert_eq!(Operation::decode(&Bytes::from_static(b"short")), None);
    }
}
