//! Sums of everything, the board of stakers, and the parameters that all of it is staked under.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Compat;
use super::answer::{Answer, Code, ErrorBody, Failure, Refusal};
use super::asked::Asked;
use super::keys::Keys;
use super::params::GlobalParams;
use crate::tables::Standing;
use crate::{PublicKey, RankPlace};

pub(super) fn routes() -> OpenApiRouter<Compat> {
    OpenApiRouter::new()
        .routes(routes!(global_params))
        .routes(routes!(overall))
        .routes(routes!(stakers))
}

/// Sums of everything.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BabylonStats)]
struct OverallStats {
    /// Satoshi that are staked: what the indexer says is confirmed, else our own sum.
    active_tvl: u64,
    /// Satoshi that were ever staked.
    total_tvl: u64,
    /// Delegations that are active.
    active_delegations: u64,
    /// Delegations there ever were.
    total_delegations: u64,
    /// Stakers there ever were.
    total_stakers: u64,
    /// Satoshi, confirmed and unconfirmed together, as the indexer says.
    unconfirmed_tvl: u64,
    /// Of these, what is not confirmed.
    pending_tvl: u64,
}

/// Sums of a staker.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BabylonStakerStats)]
struct StakerStats {
    /// The staker.
    staker_pk_hex: String,
    /// Satoshi that are staked.
    active_tvl: u64,
    /// Satoshi that were ever staked.
    total_tvl: u64,
    /// Delegations that are active.
    active_delegations: u64,
    /// Delegations there ever were.
    total_delegations: u64,
}

impl StakerStats {
    fn new(key: PublicKey, standing: &Standing) -> Self {
        Self {
            staker_pk_hex: key.to_string(),
            active_tvl: standing.active_tvl,
            total_tvl: standing.total_tvl,
            active_delegations: standing.active_delegations,
            total_delegations: standing.total_delegations,
        }
    }
}

/// The parameters of staking, all their versions.
#[utoipa::path(get, path = "/compat/babylon/v1/global-params", tag = "compat-babylon",
    operation_id = "babylon_global_params",
    responses((status = 200, description = "The parameters.", body = Answer<GlobalParams>), Failure,
        (status = 404, description = "The operator has set none.", body = ErrorBody)))]
async fn global_params(State(compat): State<Compat>) -> Result<Response, Refusal> {
    let Some(data) = &compat.settings.global_params else {
        let message = "global params are not configured";
        return Err(Refusal::new(StatusCode::NOT_FOUND, Code::NotFound, message));
    };
    Ok(Answer::whole(data).into_response())
}

/// Sums of everything.
#[utoipa::path(get, path = "/compat/babylon/v1/stats", tag = "compat-babylon",
    operation_id = "babylon_stats",
    responses((status = 200, description = "The sums.", body = Answer<OverallStats>), Failure))]
async fn overall(State(compat): State<Compat>) -> Result<Answer<OverallStats>, Refusal> {
    let overall = compat.staking.overall().await?;
    let info = compat.staking.bitcoin().await?.info;
    let (active_tvl, unconfirmed_tvl) = match info {
        Some(info) => (info.confirmed_tvl, info.unconfirmed_tvl),
        None => (overall.standing.active_tvl, 0),
    };
    let pending_tvl = info.map_or(0, |_| unconfirmed_tvl.saturating_sub(active_tvl));
    Ok(Answer::whole(OverallStats {
        active_tvl,
        total_tvl: overall.standing.total_tvl,
        active_delegations: overall.standing.active_delegations,
        total_delegations: overall.standing.total_delegations,
        total_stakers: overall.total_stakers,
        unconfirmed_tvl,
        pending_tvl,
    }))
}

/// Stakers by what they have staked, or the sums of one, which come without `pagination`.
#[utoipa::path(get, path = "/compat/babylon/v1/stats/staker", tag = "compat-babylon",
    operation_id = "babylon_staker_stats",
    params(
        ("staker_btc_pk" = Option<String>, Query, description = "Only this staker.",
            pattern = "^([0-9a-fA-F]{64})?$"),
        ("pagination_key" = Option<String>, Query, description = "`next_key` of the page before.")),
    responses((status = 200, description = "A page.", body = Answer<Vec<StakerStats>>),
        Failure))]
async fn stakers(State(compat): State<Compat>, asked: Asked) -> Result<Response, Refusal> {
    if let Some(key) = asked.key("staker_btc_pk")? {
        let found = compat.staking.staker(key).await?;
        // Whoever staked only beyond the cap counts for nothing, and the board has no place either.
        let found = found.filter(|standing| standing.total_delegations > 0);
        let data: Vec<_> = found.iter().map(|standing| StakerStats::new(key, standing)).collect();
        return Ok(Answer::whole(data).into_response());
    }
    let keys = Keys { list: "babylon.stakers", filter: () };
    let after: Option<RankPlace> = keys.read(asked.page())?;
    let page = compat.staking.stakers(after, compat.settings.page).await?;
    let rows = page.rows.iter().map(|(key, standing)| StakerStats::new(*key, standing));
    let rows: Vec<_> = rows.collect();
    let next = page.next.map(|place| keys.write(&place));
    Ok(Answer::page(rows, next).into_response())
}
