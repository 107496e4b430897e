//! Requests that we send on behalf of others: events to webhooks, questions to nodes.
//!
//! ```text
//!   address ──► resolve ──► which of these may be reached? ──► connect ──► TLS ──► one POST
//!                           reach.rs                           exchange.rs
//! ```
//!
//! - **What is checked is what is connected to.** A name is resolved once, the addresses it leads
//!   to are judged, and the connection goes to one of them and not to the name: a name that answers
//!   differently the next time gains nothing.
//! - **Redirects are not followed**, so nobody is led from a good address to a bad one.
//! - **Time and size are limited in all**, from the resolving to the last byte of the answer.
//! - **The certificates that this machine trusts are trusted**: an operator adds their own there.
//!
//! # Deliberately absent
//!
//! - *Connections that are kept.* A webhook hears of events now and then, a node is asked every two
//!   seconds; TLS resumes its sessions by itself.
//! - *Proxies.* A proxy would resolve the name once more, behind our back.

mod clients;
mod exchange;
mod reach;
mod socket;
#[cfg(test)]
mod tests;

pub use clients::{NodeClient, OutgoingError, WebhookClient};
pub use socket::NodeSocket;
