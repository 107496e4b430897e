//! Personal tokens: for programs, named, limited in what they may, revocable.

use crate::guarded::StoreError;
use crate::secret::{Secret, SecretHash};
use crate::tables::ACCOUNTS;

use super::book::{Accounts, Plan};
use super::records::{AccountRow, AccountSlot, Seen, Token, put_token};
use super::{Caller, CheckError, Credential, Role, Scope, Scopes, TokenError, UserId};

/// Tokens of one account.
pub const ACCOUNT_TOKENS: usize = 50;
/// What a token begins with, so that scanners of leaked secrets know it.
pub const TOKEN_PREFIX: &str = "ost_";
/// What a token's hash is for.
const PURPOSE: &str = "token";

/// A token to be made.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// What its owner calls it.
    pub name: String,
    /// What it may.
    pub scopes: Scopes,
    /// When it ends by itself, Unix milliseconds.
    pub expires: Option<u64>,
}

/// A token as its owner sees it in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownToken {
    /// The id to revoke it by.
    pub id: String,
    /// The rest, without the secret.
    pub token: Token,
}

impl Accounts {
    /// Makes a token and shows it once.
    ///
    /// # Errors
    /// When a field is not possible, the name is taken, or there are too many.
    pub async fn create_token(&self, user: &UserId, new: NewToken) -> Result<Secret, TokenError> {
        let now = self.inner.clock.now();
        check(&new, now)?;
        let secret = Secret::new(TOKEN_PREFIX)?;
        let hash = SecretHash::of(PURPOSE, secret.reveal());
        let NewToken { name, scopes, expires } = new;
        let token = Token { name, scopes, created: now, expires };
        self.change_once(user, |seen| {
            allowed(seen, &token)?;
            Ok::<_, TokenError>(Plan { changes: vec![put_token(hash, token.clone())], then: () })
        })
        .await?;
        self.put_credential(hash, user).await?;
        Ok(secret)
    }

    /// The tokens of an account, oldest first. At most [`ACCOUNT_TOKENS`], so there are no pages.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn tokens(&self, user: &UserId) -> Result<Vec<ShownToken>, StoreError> {
        let seen = Seen::read(&self.inner.store, user).await?;
        let show = |(hash, token): (SecretHash, Token)| ShownToken { id: hash.short(), token };
        let mut tokens: Vec<_> = seen.tokens.into_iter().map(show).collect();
        tokens.sort_by(|a, b| (a.token.created, &a.id).cmp(&(b.token.created, &b.id)));
        Ok(tokens)
    }

    /// Revokes a token. From then on it is refused by every process.
    ///
    /// # Errors
    /// When there is no such token, or the store fails.
    pub async fn revoke_token(&self, user: &UserId, id: &str) -> Result<(), TokenError> {
        let hash = self
            .change_once(user, |seen| {
                let found = seen.tokens.keys().find(|hash| hash.short() == id).copied();
                let hash = found.ok_or(TokenError::Missing)?;
                let changes = vec![ACCOUNTS.delete(&AccountSlot::Token(hash))];
                Ok::<_, TokenError>(Plan { changes, then: hash })
            })
            .await?;
        self.sweep_credentials(&[hash]).await;
        Ok(())
    }

    /// Who a token belongs to, and what it may.
    ///
    /// # Errors
    /// [`CheckError::Invalid`] when it belongs to nobody (any more).
    pub async fn check_token(&self, token: &str) -> Result<Caller, CheckError> {
        if !Secret::is_shaped(TOKEN_PREFIX, token) {
            return Err(CheckError::Invalid);
        }
        let hash = SecretHash::of(PURPOSE, token);
        let (user, profile, row) = self.look_up(hash, AccountSlot::Token(hash)).await?;
        let AccountRow::Token(found) = row else { return Err(CheckError::Invalid) };
        if found.expires.is_some_and(|end| self.inner.clock.now() >= end) {
            return Err(CheckError::Invalid);
        }
        let (role, scopes) = (profile.role, found.scopes);
        Ok(Caller { user, role, scopes, credential: Credential::Token })
    }
}

fn check(new: &NewToken, now: u64) -> Result<(), TokenError> {
    let printable = new.name.chars().all(|c| !c.is_control());
    if !(1..=64).contains(&new.name.chars().count()) || !printable {
        return Err(TokenError::Name);
    }
    if new.scopes.is_empty() {
        return Err(TokenError::Invalid { field: "scopes", remedy: "give it at least one scope" });
    }
    if new.expires.is_some_and(|end| end <= now) {
        let remedy = "let it end in the future, or never";
        return Err(TokenError::Invalid { field: "expires", remedy });
    }
    Ok(())
}

fn allowed(seen: &Seen, token: &Token) -> Result<(), TokenError> {
    let profile = seen.profile.as_ref().ok_or(TokenError::Missing)?;
    if token.scopes.has(Scope::Operator) && profile.role != Role::Operator {
        let remedy = "only operators make tokens with the scope operator; leave it out";
        return Err(TokenError::Invalid { field: "scopes", remedy });
    }
    if seen.tokens.values().any(|there| there.name == token.name) {
        return Err(TokenError::Taken);
    }
    if seen.tokens.len() >= ACCOUNT_TOKENS {
        return Err(TokenError::Full);
    }
    Ok(())
}
