//! Why an account's operation failed.

use crate::guarded::{StoreError, store_failures};

use super::tokens::ACCOUNT_TOKENS;

/// What is wrong with a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PasswordError {
    /// Too short or too long.
    #[error("use a password of 10 to 256 characters")]
    Length,
    /// It is the name.
    #[error("the password must not be the name; choose another")]
    IsName,
    /// One of those that everybody tries first.
    #[error("this password is one of those that are tried first; choose another")]
    Common,
    /// The machine is busy with other logins.
    #[error("too many logins at the moment; try again in a few seconds")]
    Busy,
    /// The hash could not be made or read.
    #[error(
        "the password's hash could not be made or read; see the log, then set the password anew"
    )]
    Hash,
}

/// Why an account was not made.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// The name breaks a rule.
    #[error("the name is not possible: {remedy}")]
    Name {
        /// What to do about it.
        remedy: &'static str,
    },
    /// Somebody has the name.
    #[error("the name is taken; choose another, or log in")]
    Taken,
    /// The password breaks a rule.
    #[error(transparent)]
    Password(#[from] PasswordError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why nobody was logged in.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoginError {
    /// The name or the password is wrong; nobody is told which.
    #[error("the name or the password is wrong")]
    Wrong,
    /// Too many attempts.
    #[error("too many attempts; try again in {seconds} seconds")]
    Throttled {
        /// How long to wait.
        seconds: u64,
    },
    /// The new password breaks a rule, or the machine is busy.
    #[error(transparent)]
    Password(#[from] PasswordError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a session or token could not be checked.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// It is not valid: never given, ended, or too old.
    #[error("the session or token is not valid; log in again, or make a new token")]
    Invalid,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a personal token was not made or revoked.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The name breaks a rule.
    #[error("the token's name is not possible; use 1 to 64 characters that can be printed")]
    Name,
    /// Another token has the name.
    #[error("a token of yours has this name; choose another, or revoke that one")]
    Taken,
    /// It would end before it begins, or it may do nothing, or more than its owner.
    #[error("the token is not possible: {remedy}")]
    Invalid {
        /// Which of its fields.
        field: &'static str,
        /// What to do about it.
        remedy: &'static str,
    },
    /// There are too many.
    #[error("you have {ACCOUNT_TOKENS} tokens, which is the limit; revoke one first")]
    Full,
    /// There is none of this id.
    #[error("you have no such token; list them again")]
    Missing,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why an account could not be read or changed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AccountError {
    /// There is none of this name.
    #[error("there is no such account; look at the name again")]
    Missing,
    /// The caller may not.
    #[error("only an operator may do this; log in as one")]
    NotAllowed,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

store_failures!(RegisterError, LoginError, CheckError, TokenError, AccountError);
