//! What stands in an account's partition, and the whole of it as a writer sees it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use store::{Change, DecodeError, KeyPart, KeyReader, PageRequest, Read, Store, Version};

use crate::guarded::{StoreError, json_value};
use crate::secret::SecretHash;
use crate::tables::{ACCOUNT_ROWS, ACCOUNTS};

use super::{Role, Scopes, UserId};

/// An account. Further fields of paper 001's user data come with the portal: a field with a default
/// needs no new format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// The password's argon2id hash with its parameters and salt.
    pub password: String,
    /// What it may.
    pub role: Role,
    /// When it was made, Unix milliseconds: paper 001's `registtime`.
    pub created: u64,
    /// The operation that made it, so that a repeated request is known.
    pub made_by: u128,
}

/// Failed logins, and until when the next one waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throttle {
    /// Attempts since the last right one.
    pub attempts: u32,
    /// No attempt before this moment, Unix milliseconds.
    pub until: u64,
    /// The last attempt.
    pub last: u64,
}

/// A session. It is valid while its row is there and its times allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// When the login was, Unix milliseconds. Renewing does not change it.
    pub started: u64,
    /// When this session id was given.
    pub issued: u64,
    /// When it ends early, because another id took its place.
    #[serde(default)]
    pub replaced: Option<u64>,
}

/// A personal token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// What its owner calls it.
    pub name: String,
    /// What it may.
    pub scopes: Scopes,
    /// When it was made, Unix milliseconds.
    pub created: u64,
    /// When it ends by itself.
    #[serde(default)]
    pub expires: Option<u64>,
}

/// The rows of an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AccountRow {
    /// The account itself.
    Profile(Profile),
    /// Failed logins.
    Throttle(Throttle),
    /// A session.
    Session(Session),
    /// A personal token.
    Token(Token),
}
json_value!(AccountRow, format 1);

/// The sort keys of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccountSlot {
    /// The account itself.
    Profile,
    /// Failed logins.
    Throttle,
    /// A session by the hash of its id.
    Session(SecretHash),
    /// A personal token by its hash.
    Token(SecretHash),
}

impl KeyPart for AccountSlot {
    fn encode(&self, out: &mut Vec<u8>) {
        let (tag, hash) = match self {
            Self::Profile => (0, None),
            Self::Throttle => (1, None),
            Self::Session(hash) => (2, Some(hash)),
            Self::Token(hash) => (3, Some(hash)),
        };
        out.push(tag);
        if let Some(hash) = hash {
            hash.encode(out);
        }
    }
    fn size(&self) -> usize {
        match self {
            Self::Profile | Self::Throttle => 1,
            Self::Session(hash) | Self::Token(hash) => 1 + hash.size(),
        }
    }
    fn decode(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        match u8::decode(reader)? {
            0 => Ok(Self::Profile),
            1 => Ok(Self::Throttle),
            2 => SecretHash::decode(reader).map(Self::Session),
            3 => SecretHash::decode(reader).map(Self::Token),
            tag => Err(DecodeError::value(format!("an account has no rows of kind {tag}"))),
        }
    }
}

/// An account's whole partition at one version.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) version: Version,
    pub(crate) profile: Option<Profile>,
    pub(crate) throttle: Throttle,
    pub(crate) sessions: BTreeMap<SecretHash, Session>,
    pub(crate) tokens: BTreeMap<SecretHash, Token>,
}

impl Seen {
    /// Reads it serially, in one page.
    pub(crate) async fn read(store: &Store, user: &UserId) -> Result<Self, StoreError> {
        let request = PageRequest { read: Read::Serial, ..PageRequest::first(ACCOUNT_ROWS) };
        let page = store.page(&ACCOUNTS, user, request).await?;
        let mut seen = Self { version: page.version, ..Self::default() };
        for row in page.rows {
            match row {
                (_, AccountRow::Profile(profile)) => seen.profile = Some(profile),
                (_, AccountRow::Throttle(throttle)) => seen.throttle = throttle,
                (AccountSlot::Session(hash), AccountRow::Session(session)) => {
                    seen.sessions.insert(hash, session);
                }
                (AccountSlot::Token(hash), AccountRow::Token(token)) => {
                    seen.tokens.insert(hash, token);
                }
                (slot, _) => {
                    let what = format!("another kind of row stands at {slot:?}");
                    return Err(store::ReadError::from(DecodeError::value(what)).into());
                }
            }
        }
        Ok(seen)
    }
}

pub(crate) fn put_profile(profile: Profile) -> Change {
    ACCOUNTS.insert(&AccountSlot::Profile, &AccountRow::Profile(profile))
}

pub(crate) fn put_throttle(throttle: Throttle) -> Change {
    ACCOUNTS.insert(&AccountSlot::Throttle, &AccountRow::Throttle(throttle))
}

pub(crate) fn put_session(hash: SecretHash, session: Session) -> Change {
    ACCOUNTS.insert(&AccountSlot::Session(hash), &AccountRow::Session(session))
}

pub(crate) fn put_token(hash: SecretHash, token: Token) -> Change {
    ACCOUNTS.insert(&AccountSlot::Token(hash), &AccountRow::Token(token))
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::Value as _;

    #[test]
    fn rows_come_back_and_a_new_field_needs_no_new_format() {
        let token = Token { name: "ci".into(), scopes: Scopes::ALL, created: 5, expires: None };
        let row = AccountRow::Token(token);
        assert_eq!(AccountRow::from_bytes(&row.to_bytes()), Ok(row));
        let later =
            br#"{"Profile":{"password":"x","role":"user","created":1,"made_by":2,"sex":0}}"#;
        let found = AccountRow::decode(1, later).expect("an unknown field is passed over");
        assert!(matches!(found, AccountRow::Profile(profile) if profile.created == 1));
    }

    #[test]
    fn slots_sort_by_kind_and_come_back() {
        let hash = SecretHash::of("a", "b");
        let slots = [
            AccountSlot::Profile,
            AccountSlot::Throttle,
            AccountSlot::Session(hash),
            AccountSlot::Token(hash),
        ];
        let encoded = slots.map(|slot| {
            let mut bytes = Vec::new();
            slot.encode(&mut bytes);
            assert_eq!(bytes.len(), slot.size());
            assert_eq!(KeyReader::whole::<AccountSlot>(&bytes), Ok(slot));
            bytes
        });
        assert!(encoded.is_sorted());
    }
}
