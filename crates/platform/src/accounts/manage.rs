//! What operators do with accounts.

use store::OpId;

use crate::guarded::StoreError;

use super::book::{Accounts, Plan};
use super::password::check_password;
use super::records::{AccountSlot, Profile, put_profile};
use super::{AccountError, AccountRow, Caller, RegisterError, Role, Scope, UserId};
use crate::tables::ACCOUNTS;

/// An account as others may see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its name.
    pub user: UserId,
    /// What it may.
    pub role: Role,
    /// When it was made, Unix milliseconds.
    pub created: u64,
}

impl Accounts {
    /// An account by its name.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn find(&self, user: &UserId) -> Result<Option<Account>, StoreError> {
        let row = self.inner.store.get(&ACCOUNTS, user, &AccountSlot::Profile).await?;
        let Some(AccountRow::Profile(profile)) = row else { return Ok(None) };
        Ok(Some(Account { user: user.clone(), role: profile.role, created: profile.created }))
    }

    /// Gives an account another role. It holds from the next request on, also in open sessions.
    ///
    /// # Errors
    /// When the caller is no operator, or there is no such account.
    pub async fn set_role(
        &self,
        by: &Caller,
        user: &UserId,
        role: Role,
        op: OpId,
    ) -> Result<(), AccountError> {
        if !by.may(Scope::Operator) {
            return Err(AccountError::NotAllowed);
        }
        self.give_role(user, role, op).await
    }

    /// Makes an operator without asking anybody: for the command line of whoever has the store in
    /// their hands.
    ///
    /// An account that exists becomes one with the given password, and its sessions and tokens end:
    /// whoever took the name first must not become an operator by it.
    ///
    /// # Errors
    /// When name or password break a rule, or the store fails.
    pub async fn make_operator(
        &self,
        name: &str,
        password: &str,
        op: OpId,
    ) -> Result<UserId, RegisterError> {
        let user = UserId::new(name)?;
        check_password(&user, password)?;
        let password = self.inner.hasher.hash(password).await?;
        let (created, made_by) = (self.inner.clock.now(), u128::from_be_bytes(op.0));
        let ended = self
            .change(&user, op, |seen| {
                let created = seen.profile.as_ref().map_or(created, |there| there.created);
                let password = password.clone();
                let profile = Profile { password, role: Role::Operator, created, made_by };
                let sessions = seen.sessions.keys().map(|hash| AccountSlot::Session(*hash));
                let tokens = seen.tokens.keys().map(|hash| AccountSlot::Token(*hash));
                let ended: Vec<_> =
                    seen.sessions.keys().chain(seen.tokens.keys()).copied().collect();
                let mut changes = vec![put_profile(profile)];
                changes.extend(sessions.chain(tokens).map(|slot| ACCOUNTS.delete(&slot)));
                Ok::<_, RegisterError>(Plan { changes, then: ended })
            })
            .await?;
        self.sweep_credentials(&ended).await;
        Ok(user)
    }

    async fn give_role(&self, user: &UserId, role: Role, op: OpId) -> Result<(), AccountError> {
        self.change(user, op, |seen| {
            let there = seen.profile.clone().ok_or(AccountError::Missing)?;
            let same = there.role == role;
            let changed = put_profile(Profile { role, ..there });
            Ok(Plan { changes: if same { Vec::new() } else { vec![changed] }, then: () })
        })
        .await
    }
}
