//! Why a webhook was not made or changed.

use crate::AddressError;
use crate::events::EventError;
use crate::guarded::{StoreError, store_failures};

use super::{ACCOUNT_WEBHOOKS, WEBHOOKS_LIMIT};

/// Why a webhook was not made or changed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebhookError {
    /// The address is none.
    #[error("the url is not possible: {0}")]
    Url(#[from] AddressError),
    /// Plain HTTP to somewhere else.
    #[error("the url must begin with https://; http:// is for loopback addresses only")]
    Plain,
    /// Loopback where that is not allowed.
    #[error(
        "the url leads to this machine, which its operator does not allow; use another address, \
         or allow it in the configuration"
    )]
    Loopback,
    /// The filter can never match.
    #[error(transparent)]
    Filter(#[from] EventError),
    /// The account has too many.
    #[error("you have {ACCOUNT_WEBHOOKS} webhooks, which is the limit; remove one first")]
    Full,
    /// There are too many in all.
    #[error("there are {WEBHOOKS_LIMIT} webhooks in all, which is the limit; ask the operator")]
    Crowded,
    /// There is none of this id.
    #[error("you have no such webhook; list them again")]
    Missing,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
store_failures!(WebhookError);
