//! One number for the contents of a table, the same whatever order an engine walks in.

use xxhash_rust::xxh3::Xxh3;

use crate::{Entry, ReadError, TableDef, Walker};

/// Entries read at a time.
const PAGE: usize = 10_000;

/// The sum of the hashes of all rows and versions. Remembered operations do not count: they expire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    sum: u128,
    /// Rows and versions added.
    pub entries: u64,
}

impl Digest {
    /// Adds one entry.
    pub fn add(&mut self, entry: &Entry) {
        let mut hash = Xxh3::new();
        let mut part = |bytes: &[u8]| {
            hash.update(&bytes.len().to_le_bytes());
            hash.update(bytes);
        };
        match entry {
            Entry::Row { key, value } => {
                part(key.joined());
                part(value);
            }
            Entry::Version { partition, version } => {
                part(partition.as_bytes());
                part(&version.0.to_le_bytes());
                part(b"version");
            }
            Entry::Operation { .. } => return,
        }
        self.sum = self.sum.wrapping_add(hash.digest128());
        self.entries += 1;
    }
}

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x}", self.sum)
    }
}

/// The digest of a whole table.
///
/// # Errors
/// When the table cannot be read to its end.
pub async fn digest_table(
    walker: &dyn Walker,
    table: &'static TableDef,
) -> Result<Digest, ReadError> {
    let mut digest = Digest::default();
    let mut position = None;
    loop {
        let page = walker.page(table, position, PAGE).await?;
        page.entries.iter().for_each(|entry| digest.add(entry));
        match page.next {
            Some(next) => position = Some(next),
            None => return Ok(digest),
        }
    }
}
