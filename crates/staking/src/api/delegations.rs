//! Delegations, and what was calculated for them.

use axum::extract::State;
use axum::response::Response;
use platform::http::{Items, Json, List, PageParams, Path, Problem, kinds};
use serde::{Deserialize, Serialize};
use tally::Position;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::objects::Delegation;
use super::{hash, key, pages};
use crate::Staking;
use crate::delegation::State as Step;
use crate::query::{Listed, LockState, PAGE, StakerPlace};

pub(super) fn routes() -> OpenApiRouter<Staking> {
    OpenApiRouter::new()
        .routes(routes!(delegation))
        .routes(routes!(of_staker))
        .routes(routes!(of_provider))
        .routes(routes!(lock))
}

/// Which delegations.
#[derive(Clone, Debug, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Wanted {
    /// Only those in this state.
    #[param(pattern = "^(active|unbonding_requested|unbonding|unbonded|withdrawn|slashed)$")]
    state: Option<String>,
}

impl Wanted {
    fn states(&self) -> Result<Vec<Step>, Problem> {
        let Some(word) = &self.state else { return Ok(Vec::new()) };
        let state = Step::of_word(word).ok_or_else(|| {
            let words: Vec<_> = Step::ALL.into_iter().map(Step::word).collect();
            Problem::bad_query("state", format!("`state` must be one of {}.", words.join(", ")))
        })?;
        Ok(vec![state])
    }
}

/// Whether a calculation was performed.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StakingCalculation)]
struct Performed {
    /// Its name.
    calculation: &'static str,
    /// It was performed.
    performed: bool,
}

/// A lock record: which calculations were performed for a delegation in a state.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StakingLockRecord)]
struct LockRecord {
    /// The hash of the staking transaction, a colon, the state.
    id: String,
    /// Each calculation.
    calculations: Vec<Performed>,
}

/// A delegation.
#[utoipa::path(get, path = "/api/staking/delegations/{hash}", tag = "staking",
    operation_id = "staking_delegation",
    params(("hash" = String, Path, description = "The hash of its staking transaction.",
        pattern = "^[0-9a-fA-F]{64}$")),
    responses((status = 200, description = "What is known of it.", body = Delegation)))]
async fn delegation(
    State(staking): State<Staking>,
    Path(text): Path<String>,
) -> Result<Json<Delegation>, Problem> {
    let hash = hash(&text)?;
    let delegation = staking.delegation(hash).await?;
    let delegation =
        delegation.ok_or_else(|| Problem::not_found(format_args!("delegation {hash}")))?;
    Ok(Json(Delegation::new(&Listed { hash, delegation })))
}

/// Delegations of a staker, newest first.
#[utoipa::path(get, path = "/api/staking/stakers/{key}/delegations", tag = "staking",
    operation_id = "staking_staker_delegations",
    params(("key" = String, Path, description = "The public key, 64 hexadecimal digits.",
            pattern = "^[0-9a-fA-F]{64}$"),
        Wanted, PageParams),
    responses((status = 200, description = "A page; it may be short and not the last.",
        body = Items<Delegation>)))]
async fn of_staker(
    State(staking): State<Staking>,
    Path(text): Path<String>,
    list: List<Wanted>,
) -> Result<Response, Problem> {
    let key = key(&text)?;
    let (name, bound) = ("staking.staker.delegations", (key, &list.filter));
    let after: Option<StakerPlace> = pages::read(name, &bound, &list)?;
    let (states, limit) = (list.filter.states()?, list.page.limit.min(PAGE));
    let page = staking.staker_delegations(key, &states, after, limit).await?;
    let next = pages::next(name, &bound, page.next.as_ref())?;
    Ok(list.answer(page.rows.iter().map(Delegation::new).collect(), next.as_ref()))
}

/// Delegations with a finality provider, in no order that means something.
#[utoipa::path(get, path = "/api/staking/providers/{key}/delegations", tag = "staking",
    operation_id = "staking_provider_delegations",
    params(("key" = String, Path, description = "The public key, 64 hexadecimal digits.",
            pattern = "^[0-9a-fA-F]{64}$"),
        PageParams),
    responses((status = 200, description = "A page; it may be short and not the last.",
        body = Items<Delegation>)))]
async fn of_provider(
    State(staking): State<Staking>,
    Path(text): Path<String>,
    list: List,
) -> Result<Response, Problem> {
    let key = key(&text)?;
    let name = "staking.provider.delegations";
    let from: Option<Position> = pages::read(name, &key, &list)?;
    let page = staking.provider_delegations(key, from, list.page.limit.min(PAGE)).await?;
    let next = pages::next(name, &key, page.next.as_ref())?;
    Ok(list.answer(page.rows.iter().map(Delegation::new).collect(), next.as_ref()))
}

/// Which calculations were performed for a delegation in a state.
#[utoipa::path(get, path = "/api/staking/locks/{id}", tag = "staking",
    operation_id = "staking_lock",
    params(("id" = String, Path,
        description = "The hash of a staking transaction, a colon, `active` or `unbonded`.",
        pattern = "^[0-9a-fA-F]{64}:(active|unbonded)$")),
    responses((status = 200, description = "The record.", body = LockRecord)))]
async fn lock(
    State(staking): State<Staking>,
    Path(id): Path<String>,
) -> Result<Json<LockRecord>, Problem> {
    let (text, word) = id.split_once(':').unwrap_or((&id, ""));
    let hash = hash(text)?;
    let state = match word {
        "active" => LockState::Active,
        "unbonded" => LockState::Unbonded,
        _ => {
            let detail = "Behind the hash stands a colon and `active` or `unbonded`.";
            return Err(Problem::new(&kinds::BAD_PATH, detail).field("id"));
        }
    };
    let found = staking.lock(hash, state).await?;
    let found = found.ok_or_else(|| Problem::not_found(format_args!("delegation {hash}")))?;
    let calculations = found
        .into_iter()
        .map(|(calculation, performed)| Performed { calculation: calculation.word(), performed });
    Ok(Json(LockRecord { id: format!("{hash}:{word}"), calculations: calculations.collect() }))
}
