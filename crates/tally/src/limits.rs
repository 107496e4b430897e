//! Limits of tallies. The rows they allow fit into one commit of the store, proven at the end.

/// Bytes of a tally's name. A zero byte takes two in the key, so this is what always fits.
pub const TALLY_BYTES: usize = 120;
/// Bytes of an entry.
pub const ENTRY_BYTES: usize = 256;
/// Bytes of a part.
pub const PART_BYTES: usize = 64;
/// Values of an entry, and so of a sum.
pub const VALUES: usize = 16;
/// Logical shards of one generation.
pub const SHARDS: u16 = 32_768;
/// Generations of one tally. A new entry is looked up in all of them.
pub const GENERATIONS: usize = 64;
/// Entries of one shard at the most, whatever the settings say: with its sum row a shard stays
/// within the 100,000 rows that Cassandra advises.
pub const SHARD_ENTRIES: u64 = 99_999;
/// Sets of one shard that go into one commit; half as many where each may change a part's sum, too.
pub const GROUP: usize = 500;
/// Entries of one page.
pub const PAGE: usize = 1_000;

/// Bytes of a stored row's value: format, kind, rank, length and values, each at its widest.
pub(crate) const ROW_BYTES: usize = 1 + 1 + 10 + 1 + VALUES * 19 + 10 + 1;
/// Bytes of an entry's sort key, with its part, when every byte of it is zero.
const SORT_BYTES: usize = 2 + 2 * PART_BYTES + 2 + 2 * ENTRY_BYTES + 2;

const _: () = {
    assert!(GROUP < store::limits::COMMIT_CHANGES, "the sum row goes along");
    assert!((GROUP + 1) * (SORT_BYTES + ROW_BYTES) <= store::limits::COMMIT_BYTES);
    assert!(2 * TALLY_BYTES + 2 + 4 <= store::limits::PARTITION_KEY_BYTES);
    assert!(SORT_BYTES <= store::limits::SORT_KEY_BYTES);
};
