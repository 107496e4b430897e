//! What all services share: chains, accounts, projects and their keys, events, search, cursors.
//!
//! ```text
//!   services and pages
//!      │ who asks?            │ which chain?     │ what happened?     │ where is it?
//!      ▼                      ▼                  ▼                    ▼
//!   accounts, projects     chains              events, webhooks     search
//!      │                      │                  │
//!      ▼                      ▼                  ▼
//!   store: guarded partitions, index: lists and effects, tally: counts
//! ```
//!
//! - [`chains`]: the registry of chains and their nodes, from the configuration and by API, which
//!   every process follows without a restart, and what each node says its tip is.
//! - [`accounts`]: register, log in and out, sessions, personal tokens, roles, growing delays for
//!   those who guess.
//! - [`projects`]: an id and a key for a chain; lists and counts; [`projects::Keys`] is what every
//!   API asks.
//! - [`events`]: one stream for everything that happens, numbered without a gap, read, followed and
//!   kept for a while; [`webhooks`] deliver it.
//! - [`outgoing`]: requests to webhooks and nodes, limited in time, size and reach.
//! - [`search`]: one query, all searchers at the same time.
//! - [`http`]: the shell that every API stands in; it meets the rest through small traits, and all
//!   the rest is tested without it. [`bridge`] implements those traits, [`api`] is the platform's
//!   own API in the shell.
//! - [`Platform`]: all of it as one thing, for the binary.
//! - [`ListCursor`]: cursors of the API, bound to their list and filter.
//! - [`Lease`]: one process of several does a piece of work.
//!
//! # Invariants
//!
//! - **Only hashes of secrets are stored**, compared in constant time. The secret of a webhook is
//!   the one exception: it signs, so it must be there.
//! - **What ends, ends by one commit** of a guarded partition, and holds in every process with the
//!   next read: a session, a token, a role, a chain. A project's key is remembered for 3 seconds.
//! - **A request that names its operation may be repeated**, and is done once.
//! - **Times are for people and for expiry.** Order comes from versions, ranks and ids.
//!
//! # Deliberately absent
//!
//! - *Removing an account*: what becomes of its projects and comments is the portal's question.
//! - *A list of all accounts*: nobody asked for one yet, and it would be a list to leak.

pub mod accounts;
mod address;
pub mod api;
pub mod bridge;
pub mod chains;
mod clock;
mod cursor;
pub mod events;
mod guarded;
pub mod http;
mod lease;
pub mod outgoing;
mod platform;
pub mod projects;
pub mod search;
mod secret;
mod tables;
mod tally_calls;
pub mod webhooks;

pub use address::{Address, AddressError};
pub use clock::{Clock, Hand};
pub use cursor::{CURSOR_BYTES, ListCursor, ListCursorError};
pub use guarded::{Attempts, StoreError, commit_of, try_commit};
pub use lease::{LEASE_BEAT, Lease};
pub use platform::{OpenError, Options, Platform};
pub use secret::{Secret, SecretHash};
pub use tables::{lists, tables};
pub use tally_calls::TallyCalls;
