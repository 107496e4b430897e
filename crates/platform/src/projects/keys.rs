//! What every API asks: does this key open this project?

use std::time::Duration;

use moka::sync::Cache;
use store::Store;
use tokio::time::Instant;

use crate::accounts::UserId;
use crate::chains::ChainName;
use crate::guarded::StoreError;
use crate::secret::{Secret, SecretHash};
use crate::tables::PROJECTS;

use super::change::{key_hash, key_prefix};
use super::{KEY_PREFIX, KeyError, Pid, Status};

/// How long an answer is remembered. A key that was rotated, or a project that was deleted, is
/// refused by every process within 5 seconds.
const LIFE: Duration = Duration::from_secs(3);
/// Projects that are remembered, those that do not exist included.
const REMEMBERED: u64 = 100_000;

/// Looks projects up by id and key. Cheap to clone; clones share what they remember.
#[derive(Clone, Debug)]
pub struct Keys {
    store: Store,
    known: Cache<Pid, (Instant, Option<Known>)>,
}

/// What is remembered of a project.
#[derive(Clone, Debug)]
struct Known {
    key: SecretHash,
    access: Access,
}

/// What a key opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The project.
    pub pid: Pid,
    /// Whose it is.
    pub uid: UserId,
    /// For which chain.
    pub chain: ChainName,
}

impl Keys {
    /// Projects of `store`.
    #[must_use]
    pub fn new(store: Store) -> Self {
        let known = Cache::builder().max_capacity(REMEMBERED).time_to_live(2 * LIFE).build();
        Self { store, known }
    }

    /// What `key` opens. A key names its project, so that it is enough by itself.
    ///
    /// # Errors
    /// [`KeyError::Wrong`] when it is the key of no project (any more).
    pub async fn open(&self, key: &str) -> Result<Access, KeyError> {
        let pid = key.strip_prefix(KEY_PREFIX).and_then(|rest| rest.split_once('_'));
        let (pid, _) = pid.ok_or(KeyError::Wrong)?;
        self.find(pid, key).await
    }

    /// What `key` opens, if it is the key of project `pid`.
    ///
    /// # Errors
    /// [`KeyError::Wrong`] when there is no such project, or it has another key.
    pub async fn find(&self, pid: &str, key: &str) -> Result<Access, KeyError> {
        let pid = Pid::parse(pid).ok_or(KeyError::Wrong)?;
        if !Secret::is_shaped(&key_prefix(pid), key) {
            return Err(KeyError::Wrong);
        }
        let known = self.known(pid).await?.ok_or(KeyError::Wrong)?;
        // Hashes are compared in constant time, whatever the key.
        if known.key != key_hash(pid, key) {
            return Err(KeyError::Wrong);
        }
        Ok(known.access)
    }

    /// A project by its id alone, for addresses that carry no key.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn project(&self, pid: Pid) -> Result<Option<Access>, StoreError> {
        Ok(self.known(pid).await?.map(|known| known.access))
    }

    async fn known(&self, pid: Pid) -> Result<Option<Known>, StoreError> {
        if let Some((since, known)) = self.known.get(&pid)
            && since.elapsed() < LIFE
        {
            return Ok(known);
        }
        // Taken before the read: an answer is never older than its age says.
        let since = Instant::now();
        let record = self.store.get(&PROJECTS, &pid, &()).await?;
        let active = record.filter(|record| record.status == Status::Active);
        let known = active.map(|record| Known {
            key: record.key,
            access: Access { pid, uid: record.uid, chain: record.chain },
        });
        self.known.insert(pid, (since, known.clone()));
        Ok(known)
    }
}
