//! What travels between callers and engines: keys, rows, ranges, commits.

use std::fmt;

use bytes::Bytes;

use crate::{BoundError, TableDef, limits};

/// The key of one partition, 1 to 255 bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartitionKey(Bytes);

impl PartitionKey {
    /// A partition key from its bytes.
    ///
    /// # Errors
    /// When it is empty or longer than [`limits::PARTITION_KEY_BYTES`].
    pub fn new(table: &'static TableDef, bytes: impl Into<Bytes>) -> Result<Self, BoundError> {
        let bytes = bytes.into();
        check_partition(table, bytes.len())?;
        Ok(Self(bytes))
    }

    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for PartitionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

/// The key of one row: partition and sort key in one buffer, `[length][partition][sort]`.
///
/// One buffer, because it is also the embedded engine's own key: a row costs one allocation for its
/// key on the way from the deriving code to the disk.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowKey(Bytes);

impl RowKey {
    /// The key of the row `sort` in `partition`.
    ///
    /// # Errors
    /// When a part is beyond its limit.
    pub fn new(
        table: &'static TableDef,
        partition: &[u8],
        sort: &[u8],
    ) -> Result<Self, BoundError> {
        let mut builder = RowKeyBuilder::start(partition.len() + sort.len());
        builder.buffer.extend_from_slice(partition);
        builder.end_partition(table)?;
        builder.buffer.extend_from_slice(sort);
        builder.finish(table)
    }

    /// Bytes of the partition key.
    #[must_use]
    pub fn partition(&self) -> &[u8] {
        self.0.get(1..=self.partition_len()).unwrap_or_default()
    }

    /// Bytes of the sort key.
    #[must_use]
    pub fn sort(&self) -> &[u8] {
        self.0.get(1 + self.partition_len()..).unwrap_or_default()
    }

    /// The whole buffer, `[length][partition][sort]`.
    #[must_use]
    pub fn joined(&self) -> &Bytes {
        &self.0
    }

    /// The same buffer again, from an engine that stored it.
    #[must_use]
    pub fn from_joined(bytes: Bytes) -> Option<Self> {
        let length = usize::from(*bytes.first()?);
        (length > 0 && bytes.len() > length).then_some(Self(bytes))
    }

    fn partition_len(&self) -> usize {
        self.0.first().copied().map_or(0, usize::from)
    }
}

impl fmt::Debug for RowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", hex(self.partition()), hex(self.sort()))
    }
}

/// Builds a [`RowKey`] in one buffer.
pub(crate) struct RowKeyBuilder {
    pub(crate) buffer: Vec<u8>,
    partition_len: usize,
}

impl RowKeyBuilder {
    /// A builder of a key whose parts have `size` bytes.
    pub(crate) fn start(size: usize) -> Self {
        let mut buffer = Vec::with_capacity(1 + size);
        buffer.push(0);
        Self { buffer, partition_len: 0 }
    }

    pub(crate) fn end_partition(&mut self, table: &'static TableDef) -> Result<(), BoundError> {
        self.partition_len = self.buffer.len() - 1;
        check_partition(table, self.partition_len)?;
        if let Some(first) = self.buffer.first_mut() {
            *first = u8::try_from(self.partition_len).unwrap_or(u8::MAX);
        }
        Ok(())
    }

    pub(crate) fn finish(self, table: &'static TableDef) -> Result<RowKey, BoundError> {
        let sort_len = self.buffer.len() - 1 - self.partition_len;
        within(table, "a sort key", sort_len, limits::SORT_KEY_BYTES)?;
        Ok(RowKey(Bytes::from(self.buffer)))
    }
}

fn check_partition(table: &'static TableDef, len: usize) -> Result<(), BoundError> {
    if len == 0 {
        return Err(BoundError::EmptyPartition { table: table.name() });
    }
    within(table, "a partition key", len, limits::PARTITION_KEY_BYTES)
}

/// `Ok` when `size` is within `limit`.
pub(crate) fn within(
    table: &'static TableDef,
    what: &'static str,
    size: usize,
    limit: usize,
) -> Result<(), BoundError> {
    if size <= limit {
        return Ok(());
    }
    Err(BoundError::TooLarge { table: table.name(), what, size, limit })
}

/// A row of a `Once` table on its way into the store, or the sweeping of one that no view can see.
#[derive(Clone, Debug)]
pub struct Row {
    /// The table.
    pub table: &'static TableDef,
    /// The key.
    pub key: RowKey,
    /// The value; none sweeps the row.
    pub value: Option<Bytes>,
}

/// Counts the commits of a partition. Never restarts; 0 means never written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u64);

impl Version {
    /// A partition that was never written.
    pub const NEVER: Self = Self(0);

    /// The version after one more commit.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Names one intended change, so that it can be repeated without being done twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpId(pub [u8; 16]);

impl fmt::Debug for OpId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

/// One change of a guarded partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Insert or replace a row.
    Put {
        /// Sort key.
        sort: Bytes,
        /// New value.
        value: Bytes,
    },
    /// Delete a row.
    Delete {
        /// Sort key.
        sort: Bytes,
    },
}

impl Change {
    /// The sort key it changes.
    #[must_use]
    pub fn sort(&self) -> &Bytes {
        match self {
            Self::Put { sort, .. } | Self::Delete { sort } => sort,
        }
    }

    /// Bytes of its keys and value.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            Self::Put { sort, value } => sort.len() + value.len(),
            Self::Delete { sort } => sort.len(),
        }
    }
}

/// A compare-and-set of one guarded partition.
#[derive(Clone, Debug)]
pub struct Commit {
    /// The table.
    pub table: &'static TableDef,
    /// The partition.
    pub partition: PartitionKey,
    /// The version the changes were derived from.
    pub expected: Version,
    /// The changes, one per key.
    pub changes: Vec<Change>,
    /// Names this change; repeating it changes nothing.
    pub op: OpId,
    /// Kept with the operation id and given back to whoever repeats it.
    pub result: Bytes,
}

/// A commit that is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// The partition's version right after it.
    pub version: Version,
    /// The result kept with its operation id.
    pub result: Bytes,
    /// Whether it had been done before this call.
    pub repeated: bool,
}

/// How strongly to read. Engines on one machine have only one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Read {
    /// By quorum: what readers use.
    #[default]
    Quorum,
    /// Serial: what writers use before a commit, and after an unknown outcome.
    Serial,
}

/// The answer to one key of a `get`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The version of the row's partition; always [`Version::NEVER`] in `Once` tables.
    pub version: Version,
    /// The value, if the row exists.
    pub value: Option<Bytes>,
}

/// Direction of a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// Smallest sort key first.
    #[default]
    Ascending,
    /// Largest sort key first.
    Descending,
}

/// One end of a range over sort keys.
pub type Bound = std::ops::Bound<Bytes>;

/// A range of one partition.
#[derive(Clone, Debug)]
pub struct RangeRequest {
    /// The table.
    pub table: &'static TableDef,
    /// The partition.
    pub partition: PartitionKey,
    /// Lower end.
    pub from: Bound,
    /// Upper end.
    pub to: Bound,
    /// Direction.
    pub order: Order,
    /// Rows at the most.
    pub limit: usize,
    /// How strongly to read.
    pub read: Read,
}

/// Lower-case hex, for messages.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
