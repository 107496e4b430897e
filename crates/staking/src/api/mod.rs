//! Answers to HTTP, under `/api/staking/…`.

mod delegations;
mod events;
mod kept;
mod objects;
mod pages;
mod statistics;

use platform::http::{Problem, kinds};
use utoipa_axum::router::OpenApiRouter;

use crate::staking::{Staking, StakingError};
use crate::{PublicKey, TxHash};

pub use events::{EVENTS_BYTES, EVENTS_ROUTE};

/// All routes.
#[must_use]
pub fn routes(staking: Staking) -> OpenApiRouter {
    OpenApiRouter::new()
        .merge(statistics::routes())
        .merge(delegations::routes())
        .merge(events::routes())
        .merge(kept::routes())
        .with_state(staking)
}

impl From<StakingError> for Problem {
    fn from(error: StakingError) -> Self {
        match error {
            StakingError::Store(error) => error.into(),
            error => Self::internal(error),
        }
    }
}

/// A key in a path.
fn key(text: &str) -> Result<PublicKey, Problem> {
    PublicKey::parse(text).map_err(|error| bad_path("key", &error))
}

/// A hash in a path.
fn hash(text: &str) -> Result<TxHash, Problem> {
    TxHash::parse(text).map_err(|error| bad_path("hash", &error))
}

fn bad_path(field: &str, error: &crate::ParseError) -> Problem {
    let mut detail = error.to_string();
    if let Some(first) = detail.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    Problem::new(&kinds::BAD_PATH, format!("{detail}.")).field(field)
}
