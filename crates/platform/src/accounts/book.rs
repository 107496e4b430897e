//! The handle on accounts: registering, and the one way their partitions change.

use std::sync::Arc;

use bytes::Bytes;
use store::{Change, OpId, Store};

use crate::clock::Clock;
use crate::guarded::{Attempts, StoreError, commit_of, try_commit};
use crate::secret::SecretHash;
use crate::tables::{ACCOUNTS, CREDENTIALS};

use super::password::{Hasher, check_password};
use super::records::{Profile, Seen, put_profile};
use super::throttle::{ADDRESS, Counts};
use super::{PasswordError, RegisterError, Role, UserId};

/// Accounts in a store. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Accounts {
    pub(super) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) store: Store,
    pub(super) clock: Clock,
    pub(super) hasher: Hasher,
    /// Attempts per client address.
    pub(super) addresses: Counts,
}

/// An account that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    /// Its name.
    pub user: UserId,
    /// Whether the same operation had made it before.
    pub repeated: bool,
}

/// What a change of an account decided on.
pub(super) struct Plan<T> {
    /// The rows to change; none when there is nothing to do.
    pub(super) changes: Vec<Change>,
    /// What to tell the caller once they are.
    pub(super) then: T,
}

impl Accounts {
    /// Accounts in `store`, which must have the tables of [`tables`](crate::tables).
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn new(store: Store, clock: Clock) -> Result<Self, PasswordError> {
        let hasher = Hasher::new()?;
        let addresses = Counts::new(ADDRESS);
        let inner = Inner { store, clock, hasher, addresses };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Makes an account.
    ///
    /// # Errors
    /// When name or password break a rule, or the name is taken.
    pub async fn register(
        &self,
        name: &str,
        password: &str,
        op: OpId,
    ) -> Result<Registered, RegisterError> {
        self.register_as(name, password, Role::User, op).await
    }

    pub(super) async fn register_as(
        &self,
        name: &str,
        password: &str,
        role: Role,
        op: OpId,
    ) -> Result<Registered, RegisterError> {
        let user = UserId::new(name)?;
        check_password(&user, password)?;
        let made_by = u128::from_be_bytes(op.0);
        let password = self.inner.hasher.hash(password).await?;
        let created = self.inner.clock.now();
        let profile = Profile { password, role, created, made_by };
        let decide = |seen: &Seen| match &seen.profile {
            Some(there) if there.made_by == made_by => Ok(Plan { changes: Vec::new(), then: true }),
            Some(_) => Err(RegisterError::Taken),
            None => Ok(Plan { changes: vec![put_profile(profile.clone())], then: false }),
        };
        let repeated = self.change(&user, op, decide).await?;
        Ok(Registered { user, repeated })
    }

    /// Changes an account: reads it, decides, commits; again while others are faster.
    pub(super) async fn change<T, E: From<StoreError>>(
        &self,
        user: &UserId,
        op: OpId,
        mut decide: impl FnMut(&Seen) -> Result<Plan<T>, E>,
    ) -> Result<T, E> {
        let store = &self.inner.store;
        let mut attempts = Attempts::of(ACCOUNTS.def().name());
        loop {
            let seen = Seen::read(store, user).await?;
            let Plan { changes, then } = decide(&seen)?;
            if changes.is_empty() {
                return Ok(then);
            }
            let commit = commit_of(&ACCOUNTS, user, seen.version, changes, op, Bytes::new())
                .map_err(StoreError::from)?;
            if try_commit(store, commit).await.map_err(StoreError::from)?.is_some() {
                return Ok(then);
            }
            attempts.again().await?;
        }
    }

    /// A change that nobody repeats under its own operation id.
    pub(super) async fn change_once<T, E: From<StoreError>>(
        &self,
        user: &UserId,
        decide: impl FnMut(&Seen) -> Result<Plan<T>, E>,
    ) -> Result<T, E> {
        let op = index::new_op().map_err(StoreError::from)?;
        self.change(user, op, decide).await
    }

    /// Says whose a credential is. The account's own row decides whether it is valid.
    pub(super) async fn put_credential(
        &self,
        hash: SecretHash,
        user: &UserId,
    ) -> Result<(), StoreError> {
        let row = CREDENTIALS.row(&hash, &(), user)?;
        Ok(self.inner.store.put(vec![row]).await?)
    }

    /// Sweeps credentials that are no longer valid. What fails stays, and harms nobody.
    pub(super) async fn sweep_credentials(&self, hashes: &[SecretHash]) {
        let rows: Result<Vec<_>, _> =
            hashes.iter().map(|hash| CREDENTIALS.sweep(hash, &())).collect();
        let swept = match rows {
            Ok(rows) if rows.is_empty() => return,
            Ok(rows) => self.inner.store.put(rows).await.map_err(StoreError::from),
            Err(error) => Err(error.into()),
        };
        if let Err(error) = swept {
            tracing::warn!("credentials that are no longer valid were not swept: {error}");
        }
    }
}
