//! Babylon's staking API v1 under `/compat/babylon/…`: a client of it only changes its base URL.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `delegations.rs` | a staker's delegations, one delegation |
//! | `stakers.rs` | whether a staker is active, keys of addresses |
//! | `stats.rs` | sums of everything, the board of stakers |
//! | `providers.rs` | finality providers: the operator's list beside our sums |
//! | `unbonding.rs`, `scripts.rs` | requests to take a delegation out, and their signatures |
//! | `settings.rs`, `params.rs` | the two files of the original, read strictly |
//! | `asked.rs`, `answer.rs`, `keys.rs` | queries, the envelope and errors, keys of pages |
//!
//! # Invariants
//!
//! - **Fields, their order, statuses and error codes are the original's.** Unknown parameters are
//!   passed over, as there: its clients send some.
//! - **A page never repeats or skips a row because of ties**, and its key belongs to its filter.
//!
//! # Departures
//!
//! - A list without rows is `[]`; in places the original answers `null`.
//! - A transaction hash has 64 digits; the original fills up shorter ones, and finds nothing.
//! - Stakes of one block come by hash, descending; in the original ascending.
//!
//! # Deliberately absent
//!
//! - Verifying ordinals and logging accepted terms, which the original offers only when it is set
//!   up to pass them on to others.

mod answer;
mod asked;
mod delegations;
mod keys;
mod params;
mod providers;
mod scripts;
mod settings;
mod stakers;
mod stats;
mod unbonding;

use std::sync::Arc;

use axum::extract::State;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub use params::{GlobalParams, VersionedParams};
pub use settings::{CompatError, CompatSettings, Description, FinalityProvider};

use self::answer::{Answer, Failure, Refusal};
use crate::delegation::Delegation;
use crate::{BtcHeight, Staking, TxHash};

/// What the routes answer from. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Compat {
    staking: Staking,
    settings: Arc<CompatSettings>,
}

impl Compat {
    /// Answers from `staking`, with what the operator has set.
    #[must_use]
    pub fn new(staking: Staking, settings: CompatSettings) -> Self {
        Self { staking, settings: Arc::new(settings) }
    }

    /// What is known of a delegation, perhaps nothing. A timelock that has passed may not be noted
    /// yet, so it is looked at: what is shown as active can be unbonded.
    async fn delegation(&self, hash: TxHash) -> Result<Delegation, Refusal> {
        let mut found = self.staking.delegation(hash).await?.unwrap_or_default();
        found.expire(BtcHeight(self.staking.bitcoin().await?.height));
        Ok(found)
    }
}

/// All routes, with their whole paths.
#[must_use]
pub fn routes(state: Compat) -> OpenApiRouter {
    OpenApiRouter::new()
        .routes(routes!(healthcheck))
        .merge(delegations::routes())
        .merge(stakers::routes())
        .merge(stats::routes())
        .merge(providers::routes())
        .merge(unbonding::routes())
        .with_state(state)
}

/// Whether the service and its store answer.
#[utoipa::path(get, path = "/compat/babylon/healthcheck", tag = "compat-babylon",
    operation_id = "babylon_healthcheck",
    responses((status = 200, description = "They do.", body = Answer<String>), Failure))]
async fn healthcheck(State(compat): State<Compat>) -> Result<Answer<&'static str>, Refusal> {
    compat.staking.bitcoin().await?;
    Ok(Answer::whole("Server is up and running"))
}
