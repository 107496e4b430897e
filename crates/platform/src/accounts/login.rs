//! Logging in, and changing a password: the two ways to a new session id.

use std::net::IpAddr;

use crate::secret::{Secret, SecretHash};

use super::book::{Accounts, Plan};
use super::password::check_password;
use super::records::{Profile, Seen, Throttle, put_profile, put_throttle};
use super::sessions::{Opening, open_session};
use super::throttle::{ACCOUNT, client_key, seconds};
use super::{LoginError, Role, UserId};

/// Somebody who is logged in.
#[derive(Clone, Debug)]
pub struct LoggedIn {
    /// Who.
    pub user: UserId,
    /// What they may.
    pub role: Role,
    /// The new session id, for a cookie. It is shown here and nowhere else.
    pub session: Secret,
}

/// What became of the attempt's session.
type Opened = (Role, Secret, SecretHash, Vec<SecretHash>);

impl Accounts {
    /// Logs in. Whatever session the browser had, this is a new one.
    ///
    /// # Errors
    /// [`LoginError::Wrong`] for a wrong name as for a wrong password; [`LoginError::Throttled`]
    /// after too many attempts, on one account or from one address.
    pub async fn log_in(
        &self,
        name: &str,
        password: &str,
        client: IpAddr,
    ) -> Result<LoggedIn, LoginError> {
        let (user, profile) = self.prove(name, password, client).await?;
        let proven = profile.password;
        let opened = self
            .change_once(&user, |seen| {
                let there = seen.profile.as_ref().ok_or(LoginError::Wrong)?;
                // The password changed while it was being checked: what was proven is no longer so.
                if there.password != proven {
                    return Err(LoginError::Wrong);
                }
                self.open(seen, there.role, Vec::new(), false)
            })
            .await?;
        self.finish(user, opened).await
    }

    /// Changes a password. All sessions end and the caller gets a new one; personal tokens stay.
    ///
    /// # Errors
    /// As [`Accounts::log_in`], and when the new password breaks a rule.
    pub async fn change_password(
        &self,
        user: &UserId,
        old: &str,
        new: &str,
        client: IpAddr,
    ) -> Result<LoggedIn, LoginError> {
        check_password(user, new)?;
        let (user, proven) = self.prove(user.as_str(), old, client).await?;
        let password = self.inner.hasher.hash(new).await?;
        let opened = self
            .change_once(&user, |seen| {
                let there = seen.profile.clone().ok_or(LoginError::Wrong)?;
                if there.password != proven.password {
                    return Err(LoginError::Wrong);
                }
                let role = there.role;
                let changed = Profile { password: password.clone(), ..there };
                self.open(seen, role, vec![put_profile(changed)], true)
            })
            .await?;
        self.finish(user, opened).await
    }

    /// Counts the attempt, then looks at the password.
    async fn prove(
        &self,
        name: &str,
        password: &str,
        client: IpAddr,
    ) -> Result<(UserId, Profile), LoginError> {
        let now = self.inner.clock.now();
        let client = client_key(client);
        self.inner.addresses.attempt(&client, now).map_err(throttled)?;
        let known = match UserId::new(name) {
            Ok(user) => self.count_attempt(&user, now).await?.map(|profile| (user, profile)),
            Err(_) => None,
        };
        if known.is_none() {
            self.count_nobody(name, now).await?;
        }
        let stored = known.as_ref().map(|(_, profile)| profile.password.clone());
        let right = self.inner.hasher.verify(stored, password).await?;
        match known {
            Some(known) if right => {
                self.inner.addresses.was_right(&client);
                Ok(known)
            }
            _ => Err(LoginError::Wrong),
        }
    }

    /// Counts an attempt at an account that exists. A name that nobody has gets no row, or guessing
    /// names would fill the store.
    async fn count_attempt(&self, user: &UserId, now: u64) -> Result<Option<Profile>, LoginError> {
        self.change_once(user, |seen| {
            let Some(profile) = seen.profile.clone() else {
                return Ok(Plan { changes: Vec::new(), then: None });
            };
            let throttle = ACCOUNT.attempt(seen.throttle, now).map_err(throttled)?;
            Ok(Plan { changes: vec![put_throttle(throttle)], then: Some(profile) })
        })
        .await
    }

    /// A new session, with the attempts forgotten.
    fn open(
        &self,
        seen: &Seen,
        role: Role,
        mut changes: Vec<store::Change>,
        alone: bool,
    ) -> Result<Plan<Opened>, LoginError> {
        let now = self.inner.clock.now();
        let Opening { secret, hash, changes: more, ended } =
            open_session(seen, now, now, alone).map_err(crate::StoreError::from)?;
        changes.extend(more);
        changes.push(put_throttle(Throttle::default()));
        Ok(Plan { changes, then: (role, secret, hash, ended) })
    }

    async fn finish(&self, user: UserId, opened: Opened) -> Result<LoggedIn, LoginError> {
        let (role, session, hash, ended) = opened;
        self.put_credential(hash, &user).await?;
        self.sweep_credentials(&ended).await;
        Ok(LoggedIn { user, role, session })
    }
}

fn throttled(millis: u64) -> LoginError {
    LoginError::Throttled { seconds: seconds(millis) }
}
