//! Attempts at names that nobody has.
//!
//! They get the delays and the work that accounts get, or delays and times would tell which names
//! exist. A row for every name somebody makes up would fill the store, so a fixed number of
//! partitions remembers a bounded number of them each.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::guarded::{Attempts, commit_of, json_value, try_commit};
use crate::secret::SecretHash;
use crate::tables::NOBODIES;

use super::throttle::{ACCOUNT, seconds};
use super::{Accounts, LoginError, Throttle};

/// Names that one partition remembers; the one that was quiet longest makes room.
const NAMES: usize = 64;
/// Partitions: a quarter of a million names in all.
const PARTITIONS: u16 = 4096;

/// Attempts at names of one partition, by hashes of the names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Nobodies(BTreeMap<String, Throttle>);
json_value!(Nobodies, format 1);

impl Nobodies {
    /// Counts an attempt, or says how many milliseconds to wait.
    fn attempt(&self, name: &str, now: u64) -> Result<Self, u64> {
        let old = self.0.get(name).copied().unwrap_or_default();
        let new = ACCOUNT.attempt(old, now)?;
        let mut names = self.0.clone();
        names.insert(name.to_owned(), new);
        if names.len() > NAMES {
            let quiet = names.iter().filter(|(other, _)| *other != name);
            let quiet =
                quiet.min_by_key(|(_, throttle)| throttle.last).map(|(name, _)| name.clone());
            quiet.and_then(|name| names.remove(&name));
        }
        Ok(Self(names))
    }
}

impl Accounts {
    /// Counts an attempt at a name that nobody has.
    pub(super) async fn count_nobody(&self, name: &str, now: u64) -> Result<(), LoginError> {
        let hash = SecretHash::of("name", &name.trim().to_ascii_lowercase()).short();
        let bucket =
            u16::from_str_radix(hash.get(..4).unwrap_or("0"), 16).unwrap_or(0) % PARTITIONS;
        let store = &self.inner.store;
        let mut attempts = Attempts::of(NOBODIES.def().name());
        loop {
            let seen = store.get_versioned(&NOBODIES, &bucket, &()).await?;
            let new = seen.value.unwrap_or_default().attempt(&hash, now);
            let new = new.map_err(|wait| LoginError::Throttled { seconds: seconds(wait) })?;
            let (changes, op) = (vec![NOBODIES.insert(&(), &new)], index::new_op()?);
            let commit = commit_of(&NOBODIES, &bucket, seen.version, changes, op, Bytes::new())?;
            if try_commit(store, commit).await?.is_some() {
                return Ok(());
            }
            attempts.again().await?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::Value as _;

    #[test]
    fn names_are_forgotten_when_there_are_too_many_and_never_the_new_one() {
        let mut nobodies = Nobodies::default();
        for number in 0..200u64 {
            let name = SecretHash::of("name", &number.to_string()).short();
            nobodies = nobodies.attempt(&name, u64::MAX / 2 + number).expect("counts");
            assert!(nobodies.0.contains_key(&name));
        }
        assert_eq!(nobodies.0.len(), NAMES);
        assert!(nobodies.to_bytes().len() <= NOBODIES.def().bounds().value_bytes);
        assert_eq!(Nobodies::from_bytes(&nobodies.to_bytes()), Ok(nobodies));
    }
}
