//! Webhooks of an account.

use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Api, user};
use crate::chains::ChainName;
use crate::events::EventFilter;
use crate::http::{Items, Json, Path, Problem, Who};
use crate::webhooks::{NewWebhook, ShownWebhook, WebhookId};

/// A webhook to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// Where events are posted, `https://`.
    #[schema(max_length = 512, example = "https://example.org/hook")]
    url: String,
    /// Kinds (`chain.tip`) or beginnings of kinds (`chain.*`); all when empty.
    #[serde(default)]
    #[schema(max_items = 16)]
    kinds: Vec<String>,
    /// Only of this chain.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    chain: Option<ChainName>,
}

/// A webhook that was made.
#[derive(Debug, Serialize, ToSchema)]
struct Made {
    /// Its id.
    id: String,
    /// What deliveries are signed with. It is shown this once.
    secret: String,
}

/// A webhook in a list.
#[derive(Debug, Serialize, ToSchema)]
struct Shown {
    /// Its id.
    id: String,
    /// Where events are posted.
    url: String,
    /// Which kinds.
    kinds: Vec<String>,
    /// Of which chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    chain: Option<String>,
    /// When it was made, Unix milliseconds.
    created: u64,
    /// Events up to this number are delivered, or did not match.
    position: u64,
    /// Failures since the last success.
    failures: u32,
    /// What the last one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_failure: Option<String>,
    /// Why nothing is delivered any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    disabled: Option<String>,
}

impl From<ShownWebhook> for Shown {
    fn from(hook: ShownWebhook) -> Self {
        let ShownWebhook { id, url, filter, created, state } = hook;
        Self {
            id: id.to_string(),
            url,
            kinds: filter.kinds,
            chain: filter.chain.map(|chain| chain.to_string()),
            created,
            position: state.position,
            failures: state.failures,
            last_failure: state.last_failure,
            disabled: state.disabled,
        }
    }
}

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(webhooks, create))
        .routes(routes!(remove))
        .routes(routes!(enable))
}

/// Your webhooks.
///
/// Oldest first, all at once: there are at most 20.
#[utoipa::path(get, path = "/api/webhooks", tag = "webhooks", operation_id = "webhooks",
    responses((status = 200, description = "Without their secrets.", body = Items<Shown>)))]
async fn webhooks(State(api): State<Api>, who: Who) -> Result<Json<Items<Shown>>, Problem> {
    let hooks = api.platform.webhooks.list(&user(&who, "read")?).await?;
    Ok(Json(Items { items: hooks.into_iter().map(Shown::from).collect(), next: None }))
}

/// Make a webhook.
///
/// It hears of events from now on, in order and at least once. Every delivery carries
/// `Ostrakon-Signature: t=<seconds>,v1=<hex>`, the HMAC-SHA256 over the time, a dot and the body.
#[utoipa::path(post, path = "/api/webhooks", tag = "webhooks", operation_id = "create_webhook",
    request_body = Wanted,
    responses((status = 201, description = "Its secret is shown this once.", body = Made)))]
async fn create(
    State(api): State<Api>,
    who: Who,
    Json(wanted): Json<Wanted>,
) -> Result<(StatusCode, Json<Made>), Problem> {
    let user = user(&who, "write")?;
    let Wanted { url, kinds, chain } = wanted;
    let new = NewWebhook { url, filter: EventFilter { kinds, chain } };
    let (id, secret) = api.platform.webhooks.create(&user, new).await?;
    let made = Made { id: id.to_string(), secret: secret.reveal().to_owned() };
    Ok((StatusCode::CREATED, Json(made)))
}

fn id_of(text: &str) -> Result<WebhookId, Problem> {
    let cut: String = text.chars().take(64).collect();
    WebhookId::parse(text).ok_or_else(|| Problem::not_found(format_args!("webhook {cut}")))
}

/// Remove a webhook.
#[utoipa::path(delete, path = "/api/webhooks/{id}", tag = "webhooks",
    operation_id = "remove_webhook",
    params(("id" = String, Path, description = "Its id.")),
    responses((status = 204, description = "It is gone.")))]
async fn remove(
    State(api): State<Api>,
    who: Who,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    api.platform.webhooks.remove(&user(&who, "write")?, id_of(&id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Let a webhook go on.
///
/// One that was disabled, or that pauses after a failure, is tried again where it stopped.
#[utoipa::path(post, path = "/api/webhooks/{id}/enable", tag = "webhooks",
    operation_id = "enable_webhook",
    params(("id" = String, Path, description = "Its id.")),
    responses((status = 204, description = "It goes on.")))]
async fn enable(
    State(api): State<Api>,
    who: Who,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    api.platform.webhooks.enable(&user(&who, "write")?, id_of(&id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}
