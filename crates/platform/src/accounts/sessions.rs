//! Sessions: checked at every request, renewed once a day, ended by one commit.

use store::Change;

use crate::clock::{DAY, MINUTE};
use crate::guarded::StoreError;
use crate::secret::{Secret, SecretHash};
use crate::tables::{ACCOUNTS, CREDENTIALS};

use super::book::{Accounts, Plan};
use super::records::{AccountRow, AccountSlot, Profile, Seen, Session, put_session};
use super::{Caller, CheckError, Credential, Scopes, UserId};

/// How long after its login a session ends, whatever happens.
const LIFE: u64 = 30 * DAY;
/// How long a session may be idle: it gets a new id once a day while it is used.
const IDLE: u64 = 7 * DAY;
/// How old an id must be before it is renewed.
const RENEW: u64 = DAY;
/// How long the old id stays good after that, for requests that are under way.
const GRACE: u64 = MINUTE;
/// Sessions of one account; the one that was idle longest makes room.
pub(crate) const ACCOUNT_SESSIONS: usize = 50;
/// What a session's hash is for.
const PURPOSE: &str = "session";

impl Session {
    fn is_valid(&self, now: u64) -> bool {
        now < self.started.saturating_add(LIFE)
            && now < self.issued.saturating_add(IDLE)
            && self.replaced.is_none_or(|end| now < end)
    }

    fn wants_renewal(&self, now: u64) -> bool {
        self.replaced.is_none() && now >= self.issued.saturating_add(RENEW)
    }
}

/// A session about to be opened.
pub(super) struct Opening {
    pub(super) secret: Secret,
    pub(super) hash: SecretHash,
    pub(super) changes: Vec<Change>,
    /// Sessions that end with it.
    pub(super) ended: Vec<SecretHash>,
}

/// A new session beside those that are valid, or alone.
pub(super) fn open_session(
    seen: &Seen,
    now: u64,
    started: u64,
    alone: bool,
) -> Result<Opening, store::EngineError> {
    let secret = Secret::new("")?;
    let hash = SecretHash::of(PURPOSE, secret.reveal());
    let valid = |session: &Session| !alone && session.is_valid(now);
    let mut ended: Vec<_> =
        seen.sessions.iter().filter(|(_, s)| !valid(s)).map(|(hash, _)| *hash).collect();
    let mut kept: Vec<_> =
        seen.sessions.iter().filter(|(_, s)| valid(s)).map(|(hash, s)| (s.issued, *hash)).collect();
    kept.sort_unstable();
    let surplus = (kept.len() + 1).saturating_sub(ACCOUNT_SESSIONS);
    ended.extend(kept.into_iter().take(surplus).map(|(_, hash)| hash));
    let mut changes: Vec<_> = ended.iter().map(|hash| end(*hash)).collect();
    changes.push(put_session(hash, Session { started, issued: now, replaced: None }));
    Ok(Opening { secret, hash, changes, ended })
}

fn end(hash: SecretHash) -> Change {
    ACCOUNTS.delete(&AccountSlot::Session(hash))
}

impl Accounts {
    /// Who a session belongs to.
    ///
    /// # Errors
    /// [`CheckError::Invalid`] when it belongs to nobody (any more).
    pub async fn check_session(&self, session: &str) -> Result<Caller, CheckError> {
        if !Secret::is_shaped("", session) {
            return Err(CheckError::Invalid);
        }
        let hash = SecretHash::of(PURPOSE, session);
        let (user, profile, row) = self.look_up(hash, AccountSlot::Session(hash)).await?;
        let AccountRow::Session(found) = row else { return Err(CheckError::Invalid) };
        let now = self.inner.clock.now();
        if !found.is_valid(now) {
            return Err(CheckError::Invalid);
        }
        let credential = Credential::Session { renew: found.wants_renewal(now) };
        Ok(Caller { user, role: profile.role, scopes: Scopes::ALL, credential })
    }

    /// A new id for a session that is a day old; none when it has one already. The old id stays
    /// good for a minute, and the end of the session stays where it was.
    ///
    /// # Errors
    /// When the session is not valid, or the store fails.
    pub async fn renew_session(&self, session: &str) -> Result<Option<Secret>, CheckError> {
        let caller = self.check_session(session).await?;
        if caller.credential != (Credential::Session { renew: true }) {
            return Ok(None);
        }
        let old = SecretHash::of(PURPOSE, session);
        let opened = self
            .change_once(&caller.user, |seen| {
                let now = self.inner.clock.now();
                let there = seen.sessions.get(&old).filter(|there| there.wants_renewal(now));
                let Some(there) = there.filter(|there| there.is_valid(now)) else {
                    return Ok(Plan { changes: Vec::new(), then: None });
                };
                let mut opening =
                    open_session(seen, now, there.started, false).map_err(StoreError::from)?;
                // Full of sessions: the old id may have had to make room already.
                if !opening.ended.contains(&old) {
                    let replaced = Session { replaced: Some(now + GRACE), ..*there };
                    opening.changes.push(put_session(old, replaced));
                }
                let then = Some((opening.secret, opening.hash, opening.ended));
                Ok::<_, CheckError>(Plan { changes: opening.changes, then })
            })
            .await?;
        let Some((secret, hash, ended)) = opened else { return Ok(None) };
        self.put_credential(hash, &caller.user).await?;
        self.sweep_credentials(&ended).await;
        Ok(Some(secret))
    }

    /// Ends a session. One that is not valid is ended already.
    ///
    /// # Errors
    /// When the store fails; then it may still be valid.
    pub async fn log_out(&self, session: &str) -> Result<(), StoreError> {
        if !Secret::is_shaped("", session) {
            return Ok(());
        }
        let hash = SecretHash::of(PURPOSE, session);
        let Some(user) = self.inner.store.get(&CREDENTIALS, &hash, &()).await? else {
            return Ok(());
        };
        self.change_once(&user, |seen| {
            let there = seen.sessions.contains_key(&hash);
            let changes = if there { vec![end(hash)] } else { Vec::new() };
            Ok::<_, StoreError>(Plan { changes, then: () })
        })
        .await?;
        self.sweep_credentials(&[hash]).await;
        Ok(())
    }

    /// The account and the row of a credential, both of one moment.
    pub(super) async fn look_up(
        &self,
        hash: SecretHash,
        slot: AccountSlot,
    ) -> Result<(UserId, Profile, AccountRow), CheckError> {
        let store = &self.inner.store;
        let user = store.get(&CREDENTIALS, &hash, &()).await?.ok_or(CheckError::Invalid)?;
        let keys = [(user.clone(), AccountSlot::Profile), (user.clone(), slot)];
        let mut rows = store.get_many(&ACCOUNTS, &keys).await?.into_iter();
        match (rows.next().flatten(), rows.next().flatten()) {
            (Some(AccountRow::Profile(profile)), Some(row)) => Ok((user, profile, row)),
            _ => Err(CheckError::Invalid),
        }
    }
}
