//! The bytes of keys and values inside a keyspace.
//!
//! ```text
//! once table       [length][partition][sort]            value
//! guarded table    [length][partition] 0                version:u64
//!                  [length][partition] 1 [op:16]        version:u64 expires:u64 result
//!                  [length][partition] 2 [sort]         value
//! ```
//!
//! The length byte makes partitions prefix-free, so a partition is one range of keys. In a guarded
//! partition the version comes first and the rows last: a walk meets the version before the rows.

use bytes::Bytes;
use store::{Entry, OpId, PartitionKey, RowKey, TableDef, Version, Writes};

/// Keyspace of the marker row.
pub(crate) const MARKER_KEYSPACE: &str = "_marker";
/// Key of the marker row.
pub(crate) const MARKER_KEY: &[u8] = b"marker";
/// Keyspace of the store's own records.
pub(crate) const META_KEYSPACE: &str = "_meta";
/// Key of the format version.
pub(crate) const FORMAT_KEY: &[u8] = b"format";
/// Prefix of table records.
pub(crate) const TABLE_PREFIX: &[u8] = b"table:";
/// Prefix of notes.
pub(crate) const NOTE_PREFIX: &[u8] = b"note:";

const KIND_VERSION: u8 = 0;
const KIND_OPERATION: u8 = 1;
const KIND_ROW: u8 = 2;

/// `[length][partition]`, and the kind of rows in guarded tables: what all rows of a partition
/// share.
pub(crate) fn row_prefix(table: &TableDef, partition: &[u8]) -> Vec<u8> {
    let mut key = partition_prefix(partition);
    if table.writes() == Writes::Guarded {
        key.push(KIND_ROW);
    }
    key
}

/// The key of a guarded row.
pub(crate) fn guarded_row(partition: &[u8], sort: &[u8]) -> Vec<u8> {
    let mut key = partition_prefix(partition);
    key.push(KIND_ROW);
    key.extend_from_slice(sort);
    key
}

/// The key of a partition's version.
pub(crate) fn version_key(partition: &[u8]) -> Vec<u8> {
    let mut key = partition_prefix(partition);
    key.push(KIND_VERSION);
    key
}

/// The key of a remembered operation.
pub(crate) fn operation_key(partition: &[u8], op: OpId) -> Vec<u8> {
    let mut key = partition_prefix(partition);
    key.push(KIND_OPERATION);
    key.extend_from_slice(&op.0);
    key
}

fn partition_prefix(partition: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(partition.len() + 40);
    // Partition keys are checked to be at most 255 bytes before they reach an engine.
    key.push(u8::try_from(partition.len()).unwrap_or(u8::MAX));
    key.extend_from_slice(partition);
    key
}

/// The smallest key above all keys with this prefix.
pub(crate) fn after_prefix(mut prefix: Vec<u8>) -> Option<Vec<u8>> {
    while let Some(last) = prefix.pop() {
        if last < u8::MAX {
            prefix.push(last + 1);
            return Some(prefix);
        }
    }
    None
}

/// A version as it is stored.
pub(crate) fn decode_version(bytes: &[u8]) -> Option<Version> {
    Some(Version(u64::from_be_bytes(bytes.try_into().ok()?)))
}

/// A remembered operation as it is stored.
pub(crate) struct Operation {
    pub(crate) version: Version,
    pub(crate) expires: u64,
    pub(crate) result: Bytes,
}

impl Operation {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(16 + self.result.len());
        bytes.extend_from_slice(&self.version.0.to_be_bytes());
        bytes.extend_from_slice(&self.expires.to_be_bytes());
        bytes.extend_from_slice(&self.result);
        bytes
    }

    pub(crate) fn decode(bytes: &Bytes) -> Option<Self> {
        let (version, rest) = bytes.split_first_chunk::<8>()?;
        let (expires, _) = rest.split_first_chunk::<8>()?;
        Some(Self {
            version: Version(u64::from_be_bytes(*version)),
            expires: u64::from_be_bytes(*expires),
            result: bytes.slice(16..),
        })
    }
}

/// Whether a key of a guarded keyspace is a remembered operation.
pub(crate) fn is_operation(key: &[u8]) -> bool {
    let length = key.first().copied().map_or(0, usize::from);
    key.get(1 + length) == Some(&KIND_OPERATION)
}

/// A stored pair as an entry; none if it cannot be one.
pub(crate) fn decode_entry(table: &'static TableDef, key: Bytes, value: Bytes) -> Option<Entry> {
    if table.writes() == Writes::Once {
        return Some(Entry::Row { key: RowKey::from_joined(key)?, value });
    }
    let length = usize::from(*key.first()?);
    let bytes = key.get(1..=length)?;
    let kind = *key.get(1 + length)?;
    let rest = key.get(2 + length..)?;
    let partition = || PartitionKey::new(table, Bytes::copy_from_slice(bytes)).ok();
    Some(match kind {
        KIND_VERSION => {
            Entry::Version { partition: partition()?, version: decode_version(&value)? }
        }
        KIND_OPERATION => {
            let Operation { version, expires, result } = Operation::decode(&value)?;
            let op = OpId(rest.try_into().ok()?);
            Entry::Operation { partition: partition()?, op, version, expires, result }
        }
        KIND_ROW => Entry::Row { key: RowKey::new(table, bytes, rest).ok()?, value },
        _ => return None,
    })
}

/// An entry as a stored pair.
pub(crate) fn encode_entry(table: &TableDef, entry: Entry) -> (Bytes, Bytes) {
    match entry {
        Entry::Row { key, value } if table.writes() == Writes::Once => {
            (key.joined().clone(), value)
        }
        Entry::Row { key, value } => (guarded_row(key.partition(), key.sort()).into(), value),
        Entry::Version { partition, version } => (
            version_key(partition.as_bytes()).into(),
            Bytes::copy_from_slice(&version.0.to_be_bytes()),
        ),
        Entry::Operation { partition, op, version, expires, result } => (
            operation_key(partition.as_bytes(), op).into(),
            Operation { version, expires, result }.encode().into(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::after_prefix;

    #[test]
    fn the_key_after_a_prefix_is_above_all_its_keys() {
        for (prefix, after) in
            [(vec![1, 2], Some(vec![1, 3])), (vec![1, 255], Some(vec![2])), (vec![255, 255], None)]
        {
            assert_eq!(after_prefix(prefix), after);
        }
    }
}
