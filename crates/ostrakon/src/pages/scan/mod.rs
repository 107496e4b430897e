//! The explorer of tree-graph chains: epochs, blocks, transactions, accounts, miners, the pivot
//! chain, the picture of the graph, charts, and the journal of switches.
//!
//! ```text
//!   request ──► Page: visitor, chain, ONE view ──► Scan ──► content ──► frame
//! ```
//!
//! Every page is made from one view, so that nothing on it is torn: its sums, its lists and what
//! stands in them are of one moment.

mod accounts;
mod blocks;
mod charts;
mod epochs;
mod fields;
mod graph;
mod journal;
mod miners;
mod overview;
mod page;
mod parts;
mod picture;
#[cfg(test)]
mod tests;
mod transactions;

use std::sync::Arc;

use axum::Router;
use axum::routing::get;

pub(super) use overview::{Explored, of_chain};

use crate::server::App;

/// The pages of all chains that are explored; the chain's own page is with the other chains.
pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/chains/{chain}/epochs", get(epochs::list))
        .route("/chains/{chain}/epochs/{number}", get(epochs::one))
        .route("/chains/{chain}/pivot-chain", get(epochs::pivots))
        .route("/chains/{chain}/blocks", get(blocks::list))
        .route("/chains/{chain}/blocks/{hash}", get(blocks::one))
        .route("/chains/{chain}/transactions", get(transactions::list))
        .route("/chains/{chain}/transactions/{hash}", get(transactions::one))
        .route("/chains/{chain}/accounts/{address}", get(accounts::one))
        .route("/chains/{chain}/miners", get(miners::list))
        .route("/chains/{chain}/miners/{address}", get(miners::one))
        .route("/chains/{chain}/graph", get(graph::page))
        .route("/chains/{chain}/charts", get(charts::page))
        .route("/chains/{chain}/journal", get(journal::list))
        .route("/chains/{chain}/journal/{number}", get(journal::one))
}
