//! Chains: everybody may see them, operators change them.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::{Cursor, Version};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Api;
use crate::chains::{Chain, ChainKind, ChainName, Node, Source};
use crate::http::{
    Items, Json, List, MaybeWho, Operation, Operator, PageParams, Path, Problem, Query, Who,
};
use crate::{ListCursor, bridge};

/// The name of this list in cursors.
const LIST: &str = "chains";

/// A chain as it is shown.
#[derive(Debug, Serialize, ToSchema)]
pub struct ShownChain {
    /// The name in addresses and keys.
    pub name: String,
    /// What its nodes speak.
    pub kind: ChainKind,
    /// Which network.
    pub network: String,
    /// Whether it is served.
    pub enabled: bool,
    /// It comes from the configuration and cannot be changed here.
    pub configured: bool,
    /// Its nodes.
    pub nodes: Vec<ShownNode>,
}

/// A node as it is shown. Addresses may carry secrets, so only operators see them.
#[derive(Debug, Serialize, ToSchema)]
pub struct ShownNode {
    /// Its name.
    pub name: String,
    /// Its share among nodes of one priority.
    pub weight: u32,
    /// Nodes of a lower number are asked first.
    pub priority: u16,
    /// The address for requests, for operators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<String>,
    /// The address for subscriptions, for operators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ws: Option<String>,
}

impl ShownChain {
    /// The chain as an operator sees it, or as everybody does.
    #[must_use]
    pub fn new(source: Source, chain: &Chain, to_operator: bool) -> Self {
        let shown = |node: &Node| {
            let text = |address: Option<crate::Address>| address.map(|it| it.to_string());
            let (http, ws) = match to_operator {
                // What is stored was checked when it was written.
                true => (node.http_address().ok().flatten(), node.ws_address().ok().flatten()),
                false => (None, None),
            };
            ShownNode {
                name: node.name.clone(),
                weight: node.weight,
                priority: node.priority,
                http: text(http),
                ws: text(ws),
            }
        };
        Self {
            name: chain.name.to_string(),
            kind: chain.kind,
            network: chain.network.clone(),
            enabled: chain.enabled,
            configured: source == Source::Configured,
            nodes: chain.nodes.iter().map(shown).collect(),
        }
    }
}

/// Which version a change was decided on.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Seen {
    /// The version of the registry that the change was decided on. If it has changed since, the
    /// change is refused. Without it the change is made in any case.
    version: Option<u64>,
}

/// A changed registry.
#[derive(Debug, Serialize, ToSchema)]
struct Changed {
    /// The version of the registry with this change.
    version: u64,
}

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new().routes(routes!(chains, add)).routes(routes!(chain, change, remove))
}

fn is_operator(who: Option<&Who>) -> bool {
    let caller = who.and_then(bridge::caller);
    caller.is_some_and(|caller| caller.may(crate::accounts::Scope::Operator))
}

/// All chains.
///
/// By their names. Operators also see the addresses of the nodes.
#[utoipa::path(get, path = "/api/chains", tag = "chains", operation_id = "chains",
    params(PageParams),
    responses((status = 200, description = "A page.", body = Items<ShownChain>)))]
async fn chains(
    State(api): State<Api>,
    MaybeWho(who): MaybeWho,
    list: List,
) -> Result<Response, Problem> {
    let after = match &list.page.cursor {
        Some(cursor) => Some(ListCursor::decode(LIST, &(), cursor.as_str())?),
        None => None,
    };
    let to_operator = is_operator(who.as_ref());
    let chains = api.platform.chains.current();
    let behind = |name: &ChainName| {
        after.as_ref().is_none_or(|after| name.as_str().as_bytes() > after.as_slice())
    };
    let mut rest = chains.iter().filter(|(_, chain)| behind(&chain.name));
    let page = rest.by_ref().take(list.page.limit);
    let items: Vec<_> =
        page.map(|(source, chain)| ShownChain::new(source, chain, to_operator)).collect();
    let more = rest.next().is_some();
    let next = match items.last().filter(|_| more) {
        Some(last) => Some(Cursor::parse(&ListCursor::encode(LIST, &(), last.name.as_bytes()))?),
        None => None,
    };
    Ok(list.answer(items, next.as_ref()))
}

/// A chain.
#[utoipa::path(get, path = "/api/chains/{chain}", tag = "chains", operation_id = "chain",
    params(("chain" = String, Path, description = "Its name.",
        pattern = "^[a-z](-?[a-z0-9])+$", max_length = 32)),
    responses((status = 200, description = "The chain.", body = ShownChain)))]
async fn chain(
    State(api): State<Api>,
    MaybeWho(who): MaybeWho,
    Path(name): Path<String>,
) -> Result<Json<ShownChain>, Problem> {
    let chains = api.platform.chains.current();
    let found = chains.iter().find(|(_, chain)| chain.name.as_str() == name);
    let (source, chain) = found.ok_or_else(|| missing(&name))?;
    Ok(Json(ShownChain::new(source, chain, is_operator(who.as_ref()))))
}

fn missing(name: &str) -> Problem {
    Problem::not_found(format_args!("chain {}", name.chars().take(64).collect::<String>()))
}

/// Add a chain.
///
/// It is served by every process within a second, without a restart. For operators.
#[utoipa::path(post, path = "/api/chains", tag = "chains", operation_id = "add_chain",
    params(Seen), request_body = Chain,
    responses((status = 201, description = "It is there.", body = Changed)))]
async fn add(
    State(api): State<Api>,
    _operator: Operator,
    operation: Operation,
    Query(seen): Query<Seen>,
    Json(chain): Json<Chain>,
) -> Result<(StatusCode, Json<Changed>), Problem> {
    let name = chain.name.clone();
    let version = api.platform.chains.add(chain, seen.version.map(Version), operation.id).await?;
    tell(&api, "chain.added", name, operation).await;
    Ok((StatusCode::CREATED, Json(Changed { version: version.0 })))
}

/// Replace a chain.
///
/// For operators. A chain of the configuration is changed there.
#[utoipa::path(put, path = "/api/chains/{chain}", tag = "chains", operation_id = "change_chain",
    params(("chain" = String, Path, description = "Its name, as in the body.",
        pattern = "^[a-z](-?[a-z0-9])+$", max_length = 32), Seen),
    request_body = Chain,
    responses((status = 200, description = "It is changed.", body = Changed)))]
async fn change(
    State(api): State<Api>,
    _operator: Operator,
    operation: Operation,
    Path(name): Path<String>,
    Query(seen): Query<Seen>,
    Json(chain): Json<Chain>,
) -> Result<Json<Changed>, Problem> {
    if chain.name.as_str() != name {
        let detail = "The name differs from the one in the path. A chain keeps its name.";
        return Err(Problem::bad_body("name", detail));
    }
    let name = chain.name.clone();
    let seen = seen.version.map(Version);
    let version = api.platform.chains.change(chain, seen, operation.id).await?;
    tell(&api, "chain.changed", name, operation).await;
    Ok(Json(Changed { version: version.0 }))
}

/// Remove a chain.
///
/// Its rows and projects stay, and count again when it comes back. For operators.
#[utoipa::path(delete, path = "/api/chains/{chain}", tag = "chains",
    operation_id = "remove_chain",
    params(("chain" = String, Path, description = "Its name.",
        pattern = "^[a-z](-?[a-z0-9])+$", max_length = 32), Seen),
    responses((status = 200, description = "It is gone.", body = Changed)))]
async fn remove(
    State(api): State<Api>,
    _operator: Operator,
    operation: Operation,
    Path(name): Path<String>,
    Query(seen): Query<Seen>,
) -> Result<Json<Changed>, Problem> {
    let name = ChainName::new(name.as_str()).map_err(|_| missing(&name))?;
    let seen = seen.version.map(Version);
    let version = api.platform.chains.remove(&name, seen, operation.id).await?;
    tell(&api, "chain.removed", name, operation).await;
    Ok(Json(Changed { version: version.0 }))
}

async fn tell(api: &Api, kind: &str, name: ChainName, operation: Operation) {
    let data = json!({ "name": name });
    api.platform.tell(kind, Some(name), data, operation.part("event")).await;
}
