//! The one bounded read cache: rows of `Once` tables, which cannot change.
//!
//! Guarded rows never enter it. Absence never enters it either: a `Once` row that is missing now
//! may be put later. Stamped rows may enter, because the views that hide them filter after the
//! cache.

use bytes::Bytes;
use moka::sync::Cache as Moka;

use crate::{RowKey, TableDef};

/// What one entry costs beside its key and value.
const ENTRY_OVERHEAD: usize = 96;

/// Bounded by bytes. A capacity of zero switches it off, which is right for an embedded engine:
/// that has a cache of blocks already.
#[derive(Clone, Debug)]
pub(crate) struct Cache(Option<Moka<(&'static str, RowKey), Bytes>>);

impl Cache {
    pub(crate) fn new(capacity_bytes: u64) -> Self {
        if capacity_bytes == 0 {
            return Self(None);
        }
        let weigh = |key: &(&'static str, RowKey), value: &Bytes| {
            u32::try_from(key.1.joined().len() + value.len() + ENTRY_OVERHEAD).unwrap_or(u32::MAX)
        };
        Self(Some(Moka::builder().max_capacity(capacity_bytes).weigher(weigh).build()))
    }

    pub(crate) fn enabled(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn get(&self, table: &'static TableDef, key: &RowKey) -> Option<Bytes> {
        self.0.as_ref()?.get(&(table.name(), key.clone()))
    }

    pub(crate) fn insert(&self, table: &'static TableDef, key: &RowKey, value: &Bytes) {
        if let Some(cache) = &self.0 {
            // A value may be a slice of a larger block; holding the slice would hold the block.
            cache.insert((table.name(), key.clone()), Bytes::copy_from_slice(value));
        }
    }

    pub(crate) fn remove(&self, table: &'static TableDef, key: &RowKey) {
        if let Some(cache) = &self.0 {
            cache.invalidate(&(table.name(), key.clone()));
        }
    }

    /// Bytes held, as the cache itself counts them.
    #[cfg(test)]
    pub(crate) fn weight(&self) -> u64 {
        self.0.as_ref().map_or(0, |cache| {
            cache.run_pending_tasks();
            cache.weighted_size()
        })
    }
}

#[cfg(test)]
mod tests {
    use placement::Placement;

    use super::*;
    use crate::{Bounds, Table};

    static ROWS: Table<u64, (), Vec<u8>> =
        Table::once("test.rows", "Rows.", Placement::Hashed, Bounds::rows(1));

    #[test]
    fn it_stays_within_its_bytes() {
        let cache = Cache::new(64 * 1024);
        for i in 0..1000u64 {
            let key = ROWS.key(&i, &()).expect("a key");
            cache.insert(ROWS.def(), &key, &Bytes::from(vec![0; 1000]));
        }
        assert!(cache.weight() <= 64 * 1024, "{}", cache.weight());
        assert!(cache.weight() > 0);
    }
}
