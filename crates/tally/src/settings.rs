//! What a service decides about its tallies.

use crate::{LimitError, limits};

/// Settings of a [`Tallies`](crate::Tallies).
///
/// Several may share a store: a service that keeps a few hot tallies and many small ones uses two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Shards of a tally that is set for the first time. One that exists keeps what it has.
    pub shards: u16,
    /// Entries at which a shard is full and the number of shards doubles by itself.
    pub shard_entries: u64,
    /// Shards that this handle writes at the same time; further ones wait.
    pub in_flight: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { shards: 16, shard_entries: 50_000, in_flight: 64 }
    }
}

impl Settings {
    pub(crate) fn check(&self) -> Result<(), LimitError> {
        let entries = usize::try_from(self.shard_entries).unwrap_or(usize::MAX);
        let most = usize::try_from(limits::SHARD_ENTRIES).unwrap_or(usize::MAX);
        LimitError::check("shards", self.shards.into(), 1, limits::SHARDS.into())?;
        LimitError::check("entries of a shard", entries, 1, most)?;
        LimitError::check("shards in flight", self.in_flight, 1, 1024)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_checked() {
        let good = Settings::default();
        assert_eq!(good.check(), Ok(()));
        for bad in [
            Settings { shards: 0, ..good },
            Settings { shards: limits::SHARDS + 1, ..good },
            Settings { shard_entries: 0, ..good },
            Settings { shard_entries: limits::SHARD_ENTRIES + 1, ..good },
            Settings { in_flight: 0, ..good },
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
    }
}
