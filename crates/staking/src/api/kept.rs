//! Messages that cannot be applied: for operators.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use platform::http::{Items, Json, List, Operator, PageParams, Path, Problem, kinds};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::events::Outcome;
use super::pages;
use crate::staking::Staking;
use crate::unprocessable::KeptId;

pub(super) fn routes() -> OpenApiRouter<Staking> {
    OpenApiRouter::new().routes(routes!(kept)).routes(routes!(replay)).routes(routes!(remove))
}

/// A message that cannot be applied.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StakingUnprocessable)]
struct Kept {
    /// Its id.
    id: String,
    /// When it was kept, Unix milliseconds.
    at: u64,
    /// Where it came from.
    source: String,
    /// Why it cannot be applied.
    reason: String,
    /// What it says; bytes that are no text are replaced.
    message: String,
}

/// Messages that cannot be applied, newest first.
#[utoipa::path(get, path = "/api/staking/unprocessable", tag = "staking",
    operation_id = "staking_unprocessable", params(PageParams),
    responses((status = 200, description = "A page.", body = Items<Kept>)))]
async fn kept(
    State(staking): State<Staking>,
    _operator: Operator,
    list: List,
) -> Result<Response, Problem> {
    let name = "staking.unprocessable";
    let before: Option<(u64, [u8; 8])> = pages::read(name, &(), &list)?;
    let before = before.map(|(millis, digest)| KeptId { millis, digest });
    let page = staking.kept(before, list.page.limit).await?;
    let next = page.next.map(|id| (id.millis, id.digest));
    let next = pages::next(name, &(), next.as_ref())?;
    let items = page.messages.into_iter().map(|(id, message)| Kept {
        id: id.to_string(),
        at: id.millis,
        source: message.source,
        reason: message.reason,
        message: String::from_utf8_lossy(&message.body).into_owned(),
    });
    Ok(list.answer(items.collect(), next.as_ref()))
}

fn id(text: &str) -> Result<KeptId, Problem> {
    KeptId::read(text).ok_or_else(|| {
        let detail = "An id is a number, a hyphen and 16 hexadecimal digits.";
        Problem::new(&kinds::BAD_PATH, detail).field("id")
    })
}

fn missing(id: KeptId) -> Problem {
    Problem::not_found(format_args!("unprocessable message {id}"))
}

/// Take a message once more. It stays when it still cannot be applied.
#[utoipa::path(post, path = "/api/staking/unprocessable/{id}/replay", tag = "staking",
    operation_id = "staking_replay",
    params(("id" = String, Path, description = "Its id.",
        pattern = "^[0-9]{1,19}-[0-9a-fA-F]{16}$")),
    responses((status = 200, description = "What became of it.", body = Outcome)))]
async fn replay(
    State(staking): State<Staking>,
    _operator: Operator,
    Path(text): Path<String>,
) -> Result<Json<Outcome>, Problem> {
    let id = id(&text)?;
    let taken = staking.replay(id).await?.ok_or_else(|| missing(id))?;
    Ok(Json(Outcome::of(taken)?))
}

/// Drop a message for good.
#[utoipa::path(delete, path = "/api/staking/unprocessable/{id}", tag = "staking",
    operation_id = "staking_drop",
    params(("id" = String, Path, description = "Its id.",
        pattern = "^[0-9]{1,19}-[0-9a-fA-F]{16}$")),
    responses((status = 204, description = "It is gone.")))]
async fn remove(
    State(staking): State<Staking>,
    _operator: Operator,
    Path(text): Path<String>,
) -> Result<StatusCode, Problem> {
    let id = id(&text)?;
    staking.kept_one(id).await?.ok_or_else(|| missing(id))?;
    staking.drop_kept(id).await?;
    Ok(StatusCode::NO_CONTENT)
}
