//! JSON-RPC 2.0: requests to answers. Pure.

use serde_json::{Value as Json, json};

use super::messages::{self, hex, latest_confirmed, latest_finalized, latest_state};
use super::{Graph, Hash};

/// Requests of one batch.
pub const BATCH_REQUESTS: usize = 100;

/// How we name ourselves: nobody should take this for a real node.
const CLIENT_VERSION: &str = concat!("ostrakon-devnet/v", env!("CARGO_PKG_VERSION"));

/// Why a request has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RpcError {
    Parse,
    InvalidRequest,
    BatchTooLarge,
    UnknownMethod,
    InvalidParams(String),
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
        };
        json!({ "code": code, "message": message })
    }
}

fn invalid(why: impl Into<String>) -> RpcError {
    RpcError::InvalidParams(why.into())
}

/// Answers requests about a graph.
#[derive(Clone, Copy, Debug)]
pub struct Rpc<'a> {
    graph: &'a Graph,
    network: u64,
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
        match serde_json::from_slice(body) {
            Err(_) => Some(failure(Json::Null, &RpcError::Parse)),
            Ok(Json::Array(batch)) => self.batch(&batch),
            Ok(request) => self.one(&request),
        }
    }

    fn batch(&self, batch: &[Json]) -> Option<Json> {
        if batch.is_empty() {
            return Some(failure(Json::Null, &RpcError::InvalidRequest));
        }
        if batch.len() > BATCH_REQUESTS {
            return Some(failure(Json::Null, &RpcError::BatchTooLarge));
        }
        let answers: Vec<Json> = batch.iter().filter_map(|request| self.one(request)).collect();
        (!answers.is_empty()).then_some(Json::Array(answers))
    }

    fn one(&self, request: &Json) -> Option<Json> {
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
            None | Some(Json::Null) => self.call(method, &[]),
            Some(Json::Array(params)) => self.call(method, params),
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

    fn call(&self, method: &str, params: &[Json]) -> Result<Json, RpcError> {
        let graph = self.graph;
        let at_most = |count: usize| match params.len() <= count {
            true => Ok(()),
            false => Err(invalid(format!("at most {count} are expected, got {}", params.len()))),
        };
        match method {
            "cfx_clientVersion" => {
                at_most(0)?;
                Ok(json!(CLIENT_VERSION))
            }
            "cfx_getStatus" => {
                at_most(0)?;
                Ok(messages::status(graph, self.network))
            }
            "cfx_epochNumber" => {
                at_most(1)?;
                let epoch = match params.first() {
                    None | Some(Json::Null) => graph.latest(),
                    Some(param) => self.epoch(Some(param))?,
                };
                Ok(json!(hex(epoch)))
            }
            "cfx_getBlocksByEpoch" => {
                at_most(1)?;
                let blocks = graph.epoch(self.epoch(params.first())?).unwrap_or_default();
                Ok(json!(blocks.iter().map(Hash::to_string).collect::<Vec<_>>()))
            }
            "cfx_getBlockByHash" => {
                at_most(2)?;
                let (hash, whole) = (hash(params.first())?, flag(params.get(1))?);
                Ok(self.block(&hash, whole))
            }
            "cfx_getBlockByEpochNumber" => {
                at_most(2)?;
                let (epoch, whole) = (self.epoch(params.first())?, flag(params.get(1))?);
                Ok(graph.pivot(epoch).map_or(Json::Null, |hash| self.block(&hash, whole)))
            }
            _ => Err(RpcError::UnknownMethod),
        }
    }

    fn block(&self, hash: &Hash, whole: bool) -> Json {
        let found = self.graph.block(hash);
        found.map_or(Json::Null, |found| messages::block(self.graph, self.network, found, whole))
    }

    /// An epoch that is kept, by its number or its name. The errors are the real node's.
    fn epoch(&self, param: Option<&Json>) -> Result<u64, RpcError> {
        let graph = self.graph;
        let Some(Json::String(text)) = param else {
            let found = param.map_or_else(|| "nothing".to_owned(), Json::to_string);
            return Err(invalid(format!(
                "invalid type: {found}, expected an epoch number or 'latest_mined', \
                 'latest_state', 'latest_checkpoint', 'latest_finalized', 'latest_confirmed' or \
                 'earliest'."
            )));
        };
        let number = match text.as_str() {
            "earliest" | "latest_checkpoint" => graph.earliest(),
            "latest_mined" => graph.latest(),
            "latest_state" => latest_state(graph),
            "latest_confirmed" => latest_confirmed(graph),
            "latest_finalized" => latest_finalized(graph),
            number => epoch_number(number)?,
        };
        if number > graph.latest() {
            let why = "expected a numbers with less than largest epoch number.";
            return Err(invalid(why));
        }
        if number < graph.earliest() {
            let first = hex(graph.earliest());
            return Err(invalid(format!("the epoch is forgotten, the first one kept is {first}")));
        }
        Ok(number)
    }
}

fn failure(id: Json, error: &RpcError) -> Json {
    json!({ "jsonrpc": "2.0", "error": error.to_json(), "id": id })
}

fn epoch_number(text: &str) -> Result<u64, RpcError> {
    let wrong = |why: &str| invalid(format!("Invalid epoch number: {why}."));
    let digits = text.strip_prefix("0x").ok_or_else(|| wrong("missing 0x prefix"))?;
    if digits.starts_with('+') {
        return Err(wrong("invalid digit found in string"));
    }
    u64::from_str_radix(digits, 16).map_err(|error| wrong(&error.to_string()))
}

fn hash(param: Option<&Json>) -> Result<Hash, RpcError> {
    let text = param.and_then(Json::as_str).unwrap_or_default();
    let why = "expected a 0x-prefixed hex string with length of 64";
    Hash::parse(text).map_err(|_| invalid(why))
}

fn flag(param: Option<&Json>) -> Result<bool, RpcError> {
    param.and_then(Json::as_bool).ok_or_else(|| invalid("expected a boolean"))
}

#[cfg(test)]
#[path = "rpc_tests.rs"]
mod tests;
