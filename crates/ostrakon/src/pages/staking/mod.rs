//! Bitcoin staking: statistics, finality providers, stakers, delegations, and what could not be
//! applied.
//!
//! ```text
//!   request ──► Page: visitor, newest event ──► Staking ──► content ──► frame
//! ```
//!
//! Sums and lists are read one after another, so two numbers of a page may be a moment apart. Each
//! is right by itself, and the parts that show things as they are now renew themselves.

mod board;
mod delegation;
mod overview;
mod page;
mod parts;
mod providers;
mod stakers;
#[cfg(test)]
mod tests;
mod unprocessable;

use std::sync::Arc;

use ::staking::address::Network;
use axum::routing::{get, post};
use axum::{Extension, Router};

pub(super) use overview::card;

use crate::server::App;

/// The pages; addresses on them are those of `network`.
pub(super) fn routes(network: Network) -> Router<Arc<App>> {
    Router::new()
        .route("/staking", get(overview::page))
        .route("/staking/providers", get(providers::list))
        .route("/staking/providers/{key}", get(providers::one))
        .route("/staking/stakers", get(stakers::list))
        .route("/staking/stakers/{key}", get(stakers::one).layer(Extension(network)))
        .route("/staking/delegations/{hash}", get(delegation::page))
        .route("/staking/unprocessable", get(unprocessable::list))
        .route("/staking/unprocessable/replay", post(unprocessable::replay))
        .route("/staking/unprocessable/drop", post(unprocessable::remove))
}
