//! Personal tokens.

use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Api, user};
use crate::accounts::{NewToken, Scope, ShownToken};
use crate::http::{Items, Json, Path, Problem, Who};

/// A token to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct WantedToken {
    /// What you call it.
    #[schema(
        min_length = 1,
        max_length = 64,
        pattern = r"^[^\x00-\x1f\x7f-\x9f]+$",
        example = "laptop"
    )]
    name: String,
    /// What it may.
    #[schema(min_items = 1)]
    scopes: Vec<Scope>,
    /// When it ends by itself, Unix milliseconds; in the future.
    #[serde(default)]
    expires: Option<u64>,
}

/// A token that was made.
#[derive(Debug, Serialize, ToSchema)]
struct MadeToken {
    /// The token. It is shown this once.
    token: String,
}

/// A token in a list.
#[derive(Debug, Serialize, ToSchema)]
struct ListedToken {
    /// The id to revoke it by.
    id: String,
    /// What you call it.
    name: String,
    /// What it may.
    scopes: Vec<Scope>,
    /// When it was made, Unix milliseconds.
    created: u64,
    /// When it ends by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<u64>,
}

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new().routes(routes!(tokens, create)).routes(routes!(revoke))
}

/// Your personal tokens.
///
/// Oldest first, all at once: there are at most 50.
#[utoipa::path(get, path = "/api/account/tokens", tag = "accounts", operation_id = "tokens",
    responses((status = 200, description = "Without their secrets.", body = Items<ListedToken>)))]
async fn tokens(State(api): State<Api>, who: Who) -> Result<Json<Items<ListedToken>>, Problem> {
    let tokens = api.platform.accounts.tokens(&user(&who, "read")?).await?;
    let shown = |ShownToken { id, token }| ListedToken {
        id,
        name: token.name,
        scopes: token.scopes.into(),
        created: token.created,
        expires: token.expires,
    };
    Ok(Json(Items { items: tokens.into_iter().map(shown).collect(), next: None }))
}

/// Make a personal token.
///
/// A credential never makes one that may do more than itself. Not repeatable: if the answer is
/// lost, revoke the token and make another.
#[utoipa::path(post, path = "/api/account/tokens", tag = "accounts",
    operation_id = "create_token", request_body = WantedToken,
    responses((status = 201, description = "It is shown this once.", body = MadeToken)))]
async fn create(
    State(api): State<Api>,
    who: Who,
    Json(wanted): Json<WantedToken>,
) -> Result<(StatusCode, Json<MadeToken>), Problem> {
    let user = user(&who, "write")?;
    for scope in &wanted.scopes {
        who.require(crate::bridge::scope_name(*scope))?;
    }
    let WantedToken { name, scopes, expires } = wanted;
    let new = NewToken { name, scopes: scopes.into_iter().collect(), expires };
    let secret = api.platform.accounts.create_token(&user, new).await?;
    Ok((StatusCode::CREATED, Json(MadeToken { token: secret.reveal().to_owned() })))
}

/// Revoke a personal token.
///
/// From then on it is refused by every process.
#[utoipa::path(delete, path = "/api/account/tokens/{id}", tag = "accounts",
    operation_id = "revoke_token",
    params(("id" = String, Path, description = "Its id in the list.", pattern = "^[0-9a-f]+$")),
    responses((status = 204, description = "It is refused.")))]
async fn revoke(
    State(api): State<Api>,
    who: Who,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    api.platform.accounts.revoke_token(&user(&who, "write")?, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
