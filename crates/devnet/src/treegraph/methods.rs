//! The methods: what each answers. Pure.

use serde_json::{Value as Json, json};

use super::messages::{self, GAS_PRICE, hex, latest_confirmed, latest_finalized, latest_state};
use super::receipts;
use super::rpc::{RpcError, invalid};
use super::{Hash, Rpc};

/// How we name ourselves: nobody should take this for a real node.
const CLIENT_VERSION: &str = concat!("ostrakon-devnet/v", env!("CARGO_PKG_VERSION"));

impl Rpc<'_> {
    pub(super) fn call(&self, method: &str, params: &[Json]) -> Result<Json, RpcError> {
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
            "cfx_getBlockByHashWithPivotAssumption" => {
                at_most(3)?;
                self.block_with_pivot(hash(params.first())?, hash(params.get(1))?, params.get(2))
            }
            "cfx_getSkippedBlocksByEpoch" => {
                at_most(1)?;
                // No epoch reaches the number of blocks at which a node skips some.
                self.epoch(params.first()).map(|_| json!([]))
            }
            "cfx_getBestBlockHash" => {
                at_most(0)?;
                Ok(json!(graph.pivot(graph.latest()).map(|hash| hash.to_string())))
            }
            "cfx_gasPrice" => {
                at_most(0)?;
                Ok(json!(hex(GAS_PRICE)))
            }
            "cfx_getTransactionByHash" => {
                at_most(1)?;
                Ok(messages::transaction_by_hash(graph, self.network, &hash(params.first())?))
            }
            "cfx_getTransactionReceipt" => {
                at_most(1)?;
                Ok(receipts::of_transaction(graph, self.network, &hash(params.first())?))
            }
            "cfx_getEpochReceipts" => {
                at_most(2)?;
                let spaces = match params.get(1) {
                    None | Some(Json::Null) => false,
                    param => flag(param)?,
                };
                let epoch = self.epoch_or_block(params.first())?;
                let told = epoch.and_then(|it| receipts::of_epoch(graph, self.network, it, spaces));
                Ok(told.unwrap_or_default())
            }
            _ => Err(RpcError::UnknownMethod),
        }
    }

    fn block(&self, hash: &Hash, whole: bool) -> Json {
        let found = self.graph.block(hash);
        found.map_or(Json::Null, |found| messages::block(self.graph, self.network, found, whole))
    }

    /// A whole block, if the pivot of an epoch is what the asker takes it for.
    fn block_with_pivot(
        &self,
        block: Hash,
        pivot: Hash,
        epoch: Option<&Json>,
    ) -> Result<Json, RpcError> {
        let epoch = epoch_number(epoch.and_then(Json::as_str).unwrap_or_default())?;
        if self.graph.pivot(epoch) != Some(pivot) {
            return Err(invalid("Error: pivot chain assumption failed"));
        }
        match self.block(&block, true) {
            Json::Null => Err(invalid("Error: block not found")),
            block => Ok(block),
        }
    }

    /// The epoch of a pivot block, given as `hash:0x…` or as an object, or an epoch by its name.
    /// None for a block without an epoch, because it is not executed.
    fn epoch_or_block(&self, param: Option<&Json>) -> Result<Option<u64>, RpcError> {
        let (text, strict) = match param {
            Some(Json::String(text)) if text.starts_with("hash:") => (text.get(5..), true),
            Some(Json::Object(fields)) if fields.contains_key("blockHash") => {
                let strict = fields.get("requirePivot").and_then(Json::as_bool).unwrap_or(true);
                (fields.get("blockHash").and_then(Json::as_str), strict)
            }
            _ => return self.epoch(param).map(Some),
        };
        let block = hash(text.map(|text| json!(text)).as_ref())?;
        let found = self.graph.block(&block).ok_or(RpcError::NoBlock)?;
        // Taken out by a switch, it is still looked for where it was.
        let Some(epoch) = found.seat.map(|seat| seat.epoch).or(found.was_in) else {
            return Ok(None);
        };
        match self.graph.pivot(epoch) {
            Some(pivot) if strict && pivot != block => Err(RpcError::NoPivot(format!(
                "pivot assumption: {block}, actual pivot hash: {pivot}"
            ))),
            _ => Ok(Some(epoch)),
        }
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
