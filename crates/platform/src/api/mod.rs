//! The platform's own API: chains, accounts, projects, webhooks.
//!
//! Handlers read what was sent, ask the domain, and say what became of it; rules live there, not
//! here. Writes take an [`Operation`](crate::http::Operation), so that they may be repeated.

mod accounts;
mod chains;
mod problems;
mod projects;
mod tokens;
mod webhooks;

use std::sync::Arc;

use utoipa_axum::router::OpenApiRouter;

use crate::Platform;
use crate::accounts::UserId;
use crate::http::{CookieJar, Problem, Who};

pub use chains::{ShownChain, ShownNode};

/// What the handlers know.
#[derive(Clone, Debug)]
pub struct Api {
    /// The platform.
    pub platform: Arc<Platform>,
    /// How session cookies are written.
    pub jar: CookieJar,
}

/// All routes.
#[must_use]
pub fn routes(api: Api) -> OpenApiRouter {
    OpenApiRouter::new()
        .merge(chains::routes())
        .merge(accounts::routes())
        .merge(tokens::routes())
        .merge(projects::routes())
        .merge(webhooks::routes())
        .with_state(api)
}

/// The account behind a credential that may be used for `scope`.
fn user(who: &Who, scope: &str) -> Result<UserId, Problem> {
    who.require(scope)?;
    UserId::new(who.account()?).map_err(Problem::internal)
}
