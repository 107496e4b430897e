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
struct WantedWebhook {
    /// Where events are posted, `https://`.
    #[schema(max_length = 512, pattern = "^https?://.", example = "https://example.org/hook")]
    url: String,
    /// Kinds (`chain.tip`) or beginnings of kinds (`chain.*`); all when empty.
    #[serde(default)]
    #[schema(value_type = Vec<EventKinds>, max_items = 16)]
    kinds: Vec<String>,
    /// Only of this chain.
    #[serde(default)]
    #[schema(value_type = Option<String>, pattern = "^[a-z](-?[a-z0-9])+$", max_length = 32)]
    chain: Option<ChainName>,
}

/// A kind of events (`chain.tip`), or the beginning of kinds (`chain.*`).
#[derive(ToSchema)]
#[schema(pattern = r"^[a-z0-9_]+((\.[a-z0-9_]+)+|(\.[a-z0-9_]+)*\.\*)$", max_length = 64)]
#[allow(dead_code, reason = "it describes the text for the API document")]
struct EventKinds(String);

/// A webhook that was made.
#[derive(Debug, Serialize, ToSchema)]
struct MadeWebhook {
    /// Its id.
    id: String,
    /// What deliveries are signed with. It is shown this once.
    secret: String,
}

/// A webhook in a list.
#[derive(Debug, Serialize, ToSchema)]
struct ListedWebhook {
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

impl From<ShownWebhook> for ListedWebhook {
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
    responses((status = 200, description = "Without their secrets.", body = Items<ListedWebhook>)))]
async fn webhooks(State(api): State<Api>, who: Who) -> Result<Json<Items<ListedWebhook>>, Problem> {
    let hooks = api.platform.webhooks.list(&user(&who, "read")?).await?;
    Ok(Json(Items { items: hooks.into_iter().map(ListedWebhook::from).collect(), next: None }))
}

/// Make a webhook.
///
/// It hears of events from now on, in order and at least once. Every delivery carries
/// `Ostrakon-Signature: t=<seconds>,v1=<hex>`, the HMAC-SHA256 over the time, a dot and the body.
#[utoipa::path(post, path = "/api/webhooks", tag = "webhooks", operation_id = "create_webhook",
    request_body = WantedWebhook,
    responses((status = 201, description = "Its secret is shown this once.", body = MadeWebhook)))]
async fn create(
    State(api): State<Api>,
    who: Who,
    Json(wanted): Json<WantedWebhook>,
) -> Result<(StatusCode, Json<MadeWebhook>), Problem> {
    let user = user(&who, "write")?;
    let WantedWebhook { url, kinds, chain } = wanted;
    let new = NewWebhook { url, filter: EventFilter { kinds, chain } };
    let (id, secret) = api.platform.webhooks.create(&user, new).await?;
    let made = MadeWebhook { id: id.to_string(), secret: secret.reveal().to_owned() };
    Ok((StatusCode::CREATED, Json(made)))
}

fn id_of(text: &str) -> Result<WebhookId, Problem> {
    let cut: String = text.chars().take(64).collect();
    WebhookId::parse(text).ok_or_else(|| Problem::not_found(format_args!("webhook {cut}")))
}

/// Remove a webhook.
#[utoipa::path(delete, path = "/api/webhooks/{id}", tag = "webhooks",
    operation_id = "remove_webhook",
    params(("id" = String, Path, description = "Its id.", pattern = "^[0-9a-f]{32}$")),
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
    params(("id" = String, Path, description = "Its id.", pattern = "^[0-9a-f]{32}$")),
    responses((status = 204, description = "It goes on.")))]
async fn enable(
    State(api): State<Api>,
    who: Who,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    api.platform.webhooks.enable(&user(&who, "write")?, id_of(&id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}
