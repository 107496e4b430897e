//! Statistics: of everything, as of a height, over time, of providers and stakers.

use axum::extract::State;
use axum::response::Response;
use platform::http::{Items, Json, List, PageParams, Path, Problem, Query};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::objects::{Party, Sums};
use super::{key, pages};
use crate::history::{POINTS, Point};
use crate::query::{PAGE, RankPlace};
use crate::{BtcHeight, Staking};

pub(super) fn routes() -> OpenApiRouter<Staking> {
    OpenApiRouter::new()
        .routes(routes!(stats))
        .routes(routes!(history))
        .routes(routes!(providers))
        .routes(routes!(provider))
        .routes(routes!(stakers))
        .routes(routes!(staker))
}

/// Statistics of everything.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StakingStats)]
struct Stats {
    /// The height of Bitcoin they are of.
    height: u64,
    /// The sums.
    #[serde(flatten)]
    sums: Sums,
    /// Stakers there ever were; absent as of a height.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_stakers: Option<u64>,
    /// Stakers that have something staked; absent as of a height.
    #[serde(skip_serializing_if = "Option::is_none")]
    active_stakers: Option<u64>,
    /// What the indexer sees, confirmed or not, satoshi; absent as of a height.
    #[serde(skip_serializing_if = "Option::is_none")]
    unconfirmed_tvl: Option<u64>,
    /// Of these, what is not confirmed yet; absent as of a height.
    #[serde(skip_serializing_if = "Option::is_none")]
    pending_tvl: Option<u64>,
}

/// As of when.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct AsOf {
    /// A height of Bitcoin; as things are when absent.
    #[param(maximum = 10000000)]
    height: Option<u64>,
}

/// Which stretch of time.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Between {
    /// The first height; that of the first stake when absent.
    #[param(maximum = 10000000)]
    from: Option<u64>,
    /// The last height; that of Bitcoin when absent.
    #[param(maximum = 10000000)]
    to: Option<u64>,
    /// How many points at the most.
    #[param(minimum = 1, maximum = 1000, default = 200)]
    points: Option<u64>,
}

/// What is staked at a height.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StakingPoint)]
struct Moment {
    /// The height.
    height: u64,
    /// The sums.
    #[serde(flatten)]
    sums: Sums,
}

/// Statistics of everything, as things are or as of a height of Bitcoin.
///
/// As of a height, stakes count that began by then, without those that were unbonded, slashed or
/// ran out by then.
#[utoipa::path(get, path = "/api/staking/stats", tag = "staking", operation_id = "staking_stats",
    params(AsOf),
    responses((status = 200, description = "The sums.", body = Stats)))]
async fn stats(
    State(staking): State<Staking>,
    Query(as_of): Query<AsOf>,
) -> Result<Json<Stats>, Problem> {
    if let Some(height) = as_of.height {
        let sums = staking.as_of(at("height", height)?).await?.into();
        let absent = None;
        return Ok(Json(Stats {
            height,
            sums,
            total_stakers: absent,
            active_stakers: absent,
            unconfirmed_tvl: absent,
            pending_tvl: absent,
        }));
    }
    let overall = staking.overall().await?;
    Ok(Json(Stats {
        height: overall.height,
        sums: overall.standing.into(),
        total_stakers: Some(overall.total_stakers),
        active_stakers: Some(overall.active_stakers),
        unconfirmed_tvl: Some(overall.unconfirmed_tvl),
        pending_tvl: Some(overall.pending_tvl),
    }))
}

fn at(field: &str, height: u64) -> Result<BtcHeight, Problem> {
    let parsed = BtcHeight::read(height);
    parsed.map_err(|error| Problem::bad_query(field, format!("`{field}`: {error}.")))
}

/// What was staked over time.
#[utoipa::path(get, path = "/api/staking/history", tag = "staking",
    operation_id = "staking_history", params(Between),
    responses((status = 200, description = "Points, oldest first.", body = Items<Moment>)))]
async fn history(
    State(staking): State<Staking>,
    Query(between): Query<Between>,
) -> Result<Json<Items<Moment>>, Problem> {
    let points = usize::try_from(between.points.unwrap_or(200)).unwrap_or(usize::MAX);
    if !(1..=POINTS).contains(&points) {
        let detail = format!("`points` must be from 1 to {POINTS}.");
        return Err(Problem::bad_query("points", detail));
    }
    let to = match between.to {
        Some(to) => at("to", to)?,
        None => BtcHeight(staking.bitcoin().await?.height),
    };
    let from = at("from", between.from.unwrap_or(0))?;
    if from > to {
        return Err(Problem::bad_query("from", "`from` must not be above `to`."));
    }
    let moment = |Point { height, standing }| Moment { height, sums: standing.into() };
    let points = staking.over_time(from, to, points).await?;
    Ok(Json(Items { items: points.into_iter().map(moment).collect(), next: None }))
}

/// Finality providers, by what is staked with them.
#[utoipa::path(get, path = "/api/staking/providers", tag = "staking",
    operation_id = "staking_providers", params(PageParams),
    responses((status = 200, description = "A page.", body = Items<Party>)))]
async fn providers(State(staking): State<Staking>, list: List) -> Result<Response, Problem> {
    let name = "staking.providers";
    let after: Option<RankPlace> = pages::read(name, &(), &list)?;
    let page = staking.providers(after, list.page.limit.min(PAGE)).await?;
    let next = pages::next(name, &(), page.next.as_ref())?;
    Ok(list.answer(page.rows.into_iter().map(Party::new).collect(), next.as_ref()))
}

/// A finality provider.
#[utoipa::path(get, path = "/api/staking/providers/{key}", tag = "staking",
    operation_id = "staking_provider",
    params(("key" = String, Path, description = "Its public key, 64 hexadecimal digits.",
        pattern = "^[0-9a-fA-F]{64}$")),
    responses((status = 200, description = "Its sums.", body = Party)))]
async fn provider(
    State(staking): State<Staking>,
    Path(text): Path<String>,
) -> Result<Json<Party>, Problem> {
    let key = key(&text)?;
    let found = staking.provider(key).await?;
    let standing = found.ok_or_else(|| Problem::not_found(format_args!("provider {key}")))?;
    Ok(Json(Party::new((key, standing))))
}

/// Stakers, by what they have staked.
#[utoipa::path(get, path = "/api/staking/stakers", tag = "staking",
    operation_id = "staking_stakers", params(PageParams),
    responses((status = 200, description = "A page.", body = Items<Party>)))]
async fn stakers(State(staking): State<Staking>, list: List) -> Result<Response, Problem> {
    let name = "staking.stakers";
    let after: Option<RankPlace> = pages::read(name, &(), &list)?;
    let page = staking.stakers(after, list.page.limit.min(PAGE)).await?;
    let next = pages::next(name, &(), page.next.as_ref())?;
    Ok(list.answer(page.rows.into_iter().map(Party::new).collect(), next.as_ref()))
}

/// A staker.
#[utoipa::path(get, path = "/api/staking/stakers/{key}", tag = "staking",
    operation_id = "staking_staker",
    params(("key" = String, Path, description = "The public key, 64 hexadecimal digits.",
        pattern = "^[0-9a-fA-F]{64}$")),
    responses((status = 200, description = "The sums.", body = Party)))]
async fn staker(
    State(staking): State<Staking>,
    Path(text): Path<String>,
) -> Result<Json<Party>, Problem> {
    let key = key(&text)?;
    let found = staking.staker(key).await?;
    let standing = found.ok_or_else(|| Problem::not_found(format_args!("staker {key}")))?;
    Ok(Json(Party::new((key, standing))))
}
