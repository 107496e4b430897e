//! JSON-RPC 2.0: requests to answers. Pure.

use serde_json::{Value as Json, json};

use super::Graph;
use super::subscriptions::Subscriptions;

/// Requests of one batch.
pub const BATCH_REQUESTS: usize = 100;

/// Why a request has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RpcError {
    Parse,
    InvalidRequest,
    BatchTooLarge,
    UnknownMethod,
    InvalidParams(String),
    /// The hash is of no block.
    NoBlock,
    /// The block is not, or no longer, the pivot of its epoch.
    NoPivot(String),
    /// There are no subscriptions over HTTP.
    NoSubscriptions,
}

impl RpcError {
    fn to_json(&self) -> Json {
        let (code, message) = match self {
            Self::Parse => (-32700, "Parse error".to_owned()),
            Self::InvalidRequest => (-32600, "Invalid request".to_owned()),
            Self::BatchTooLarge => {
                (-32600, format!("Invalid request: a batch has at most {BATCH_REQUESTS} requests"))
            }
            Self::UnknownMethod => (-32601, "Method not found".to_owned()),
            Self::InvalidParams(why) => (-32602, format!("Invalid params: {why}")),
            Self::NoBlock => (-32602, "Invalid parameters: block_hash".to_owned()),
            Self::NoPivot(_) => (-32075, "pivot chain assumption failed".to_owned()),
            Self::NoSubscriptions => {
                (-32090, "Subscriptions are not available on this transport.".to_owned())
            }
        };
        let mut error = json!({ "code": code, "message": message });
        match self {
            Self::NoBlock => error["data"] = json!("block not found"),
            Self::NoPivot(data) => error["data"] = json!(data),
            _ => {}
        }
        error
    }
}

pub(super) fn invalid(why: impl Into<String>) -> RpcError {
    RpcError::InvalidParams(why.into())
}

/// Answers requests about a graph.
#[derive(Clone, Copy, Debug)]
pub struct Rpc<'a> {
    pub(super) graph: &'a Graph,
    pub(super) network: u64,
}

impl<'a> Rpc<'a> {
    /// Answers about `graph` on the network of this number.
    #[must_use]
    pub fn new(graph: &'a Graph, network: u64) -> Self {
        Self { graph, network }
    }

    /// The answer to a body; none when it holds notifications only.
    #[must_use]
    pub fn answer(&self, body: &[u8]) -> Option<Json> {
        self.answer_over(body, None)
    }

    /// The answer over a connection that holds subscriptions.
    pub(super) fn answer_over(
        &self,
        body: &[u8],
        mut held: Option<&mut Subscriptions>,
    ) -> Option<Json> {
        match serde_json::from_slice(body) {
            Err(_) => Some(failure(Json::Null, &RpcError::Parse)),
            Ok(Json::Array(batch)) if batch.is_empty() => {
                Some(failure(Json::Null, &RpcError::InvalidRequest))
            }
            Ok(Json::Array(batch)) if batch.len() > BATCH_REQUESTS => {
                Some(failure(Json::Null, &RpcError::BatchTooLarge))
            }
            Ok(Json::Array(batch)) => {
                let one = |request: &Json| self.one(request, held.as_deref_mut());
                let answers: Vec<Json> = batch.iter().filter_map(one).collect();
                (!answers.is_empty()).then_some(Json::Array(answers))
            }
            Ok(request) => self.one(&request, held),
        }
    }

    fn one(&self, request: &Json, held: Option<&mut Subscriptions>) -> Option<Json> {
        let id = request.get("id");
        let good_id = id.is_none_or(|id| id.is_null() || id.is_number() || id.is_string());
        let (Some(method), Some("2.0"), true) = (
            request.get("method").and_then(Json::as_str),
            request.get("jsonrpc").and_then(Json::as_str),
            good_id,
        ) else {
            let id = id.filter(|_| good_id).cloned().unwrap_or_default();
            return Some(failure(id, &RpcError::InvalidRequest));
        };
        let result = match request.get("params") {
            None | Some(Json::Null) => self.any(method, &[], held),
            Some(Json::Array(params)) => self.any(method, params, held),
            Some(Json::Object(_)) => Err(invalid("give them in an array")),
            Some(_) => Err(RpcError::InvalidRequest),
        };
        // A notification is heard and not answered.
        let id = id?.clone();
        Some(match result {
            Ok(result) => json!({ "jsonrpc": "2.0", "result": result, "id": id }),
            Err(error) => failure(id, &error),
        })
    }

    fn any(
        &self,
        method: &str,
        params: &[Json],
        held: Option<&mut Subscriptions>,
    ) -> Result<Json, RpcError> {
        match (method, held) {
            ("cfx_subscribe" | "cfx_unsubscribe", None) => Err(RpcError::NoSubscriptions),
            ("cfx_subscribe", Some(held)) => held.subscribe(params),
            ("cfx_unsubscribe", Some(held)) => held.unsubscribe(params),
            _ => self.call(method, params),
        }
    }
}

fn failure(id: Json, error: &RpcError) -> Json {
    json!({ "jsonrpc": "2.0", "error": error.to_json(), "id": id })
}

#[cfg(test)]
#[path = "rpc_tests.rs"]
mod tests;
