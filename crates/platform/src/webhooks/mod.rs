//! Webhooks: events delivered to an address of the account's owner.
//!
//! ```text
//!   platform.webhooks        all of them, one partition: whose, where to, which events, secret
//!   platform.webhook_states  one partition each: position in the stream, failures, pause
//!   platform.leases          which process delivers
//! ```
//!
//! - **In order, at least once.** The stored position moves after a delivery was acknowledged; a
//!   crash in between delivers again. Every delivery carries the event's id.
//! - **Signed.** `Ostrakon-Signature: t=<seconds>,v1=<hex>`, the HMAC-SHA256 over time, a dot and
//!   the body under the webhook's secret; the time is for refusing old ones.
//! - **One failing address holds up no other.** It is tried again after growing pauses; after a day
//!   without success the webhook is disabled, with the reason, until its owner enables it.
//! - **No HTTP in here**: whoever wires the program brings a [`Post`].

mod deliver;
mod error;
mod manage;
mod record;
mod sign;

pub use deliver::{Delivery, Post, PostError, Webhooks};
pub use error::WebhookError;
pub use manage::{ACCOUNT_WEBHOOKS, NewWebhook, ShownWebhook, WEBHOOKS_LIMIT};
pub use record::{WebhookId, WebhookState};
pub use sign::{SIGNATURE_HEADER, sign, verify};

pub(crate) use record::Webhook;
