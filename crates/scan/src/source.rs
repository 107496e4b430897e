//! A node to ask: JSON-RPC, in batches, and epochs that belong together.
//!
//! A node may switch its pivot between two questions. What a hash leads to never changes, and an
//! epoch's list of hashes is one answer, so the only thing that can be torn is the link between two
//! epochs: the parent of a pivot is the pivot below. Whoever asks checks that.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use platform::chains::{Ask, AskError};
use serde_json::{Value, json};

use crate::message::{self, MessageError};
use crate::{EpochInput, Hash};

/// Questions of one request.
const BATCH: usize = 20;

/// Why a node gave no answer. Nothing was written; ask again, or another node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// It was not reached, or not in time.
    #[error("the node gave no answer: {0}")]
    Silent(#[from] AskError),
    /// It refused.
    #[error("the node refused {method}: {message} ({code})")]
    Refused {
        /// What was asked.
        method: String,
        /// Its code.
        code: i64,
        /// Its words.
        message: String,
    },
    /// It answered something else.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// It has not got what it just named.
    #[error("the node does not know block {0}, which it named itself; it may be catching up")]
    Missing(Hash),
}

/// A node of a chain.
#[derive(Clone)]
pub struct Node {
    url: String,
    ask: Arc<dyn Ask>,
    ids: Arc<AtomicU64>,
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The address may hold a key.
        f.debug_struct("Node").finish_non_exhaustive()
    }
}

impl Node {
    /// The node at `url`.
    pub fn new(url: impl Into<String>, ask: Arc<dyn Ask>) -> Self {
        Self { url: url.into(), ask, ids: Arc::default() }
    }

    /// The newest epoch that is mined.
    ///
    /// # Errors
    /// When the node gives no number.
    pub async fn latest_mined(&self) -> Result<u64, SourceError> {
        let answers = self.call("cfx_epochNumber", vec![json!(["latest_mined"])]).await?;
        Ok(message::number(answers.first().unwrap_or(&Value::Null))?)
    }

    /// The pivot of an epoch.
    ///
    /// # Errors
    /// When the node gives no list of blocks.
    pub async fn pivot(&self, epoch: u64) -> Result<Hash, SourceError> {
        let lists = self.lists(epoch, epoch).await?;
        let hash = lists.first().and_then(|(_, hashes)| hashes.last()).copied();
        hash.ok_or_else(|| MessageError::new("epoch", "it has no blocks").into())
    }

    /// Epochs with all their blocks, as the node has each of them now.
    ///
    /// # Errors
    /// When an answer is missing or does not fit.
    pub async fn epochs(&self, from: u64, to: u64) -> Result<Vec<EpochInput>, SourceError> {
        let lists = self.lists(from, to).await?;
        let all: Vec<Hash> = lists.iter().flat_map(|(_, hashes)| hashes).copied().collect();
        let asked = all.iter().map(|hash| json!([hash.to_string(), true])).collect();
        let mut answers = self.call("cfx_getBlockByHash", asked).await?.into_iter().zip(all);
        let mut epochs = Vec::with_capacity(lists.len());
        for (number, hashes) in lists {
            let mut blocks = Vec::with_capacity(hashes.len());
            for (answer, hash) in answers.by_ref().take(hashes.len()) {
                if answer.is_null() {
                    return Err(SourceError::Missing(hash));
                }
                let block = message::block(&answer)?;
                if block.hash != hash {
                    let what = format!("block {hash} was asked for, {} came", block.hash);
                    return Err(MessageError::new("hash", what).into());
                }
                blocks.push(block);
            }
            epochs.push(EpochInput { number, blocks });
        }
        Ok(epochs)
    }

    async fn lists(&self, from: u64, to: u64) -> Result<Vec<(u64, Vec<Hash>)>, SourceError> {
        let asked = (from..=to).map(|number| json!([format!("{number:#x}")])).collect();
        let answers = self.call("cfx_getBlocksByEpoch", asked).await?;
        let lists = (from..)
            .zip(answers)
            .map(|(number, answer)| Ok::<_, SourceError>((number, message::hashes(&answer)?)));
        lists.collect()
    }

    /// The results of one method for several parameters, in their order.
    async fn call(&self, method: &str, asked: Vec<Value>) -> Result<Vec<Value>, SourceError> {
        let mut results = Vec::with_capacity(asked.len());
        for asked in asked.chunks(BATCH) {
            let first = self.ids.fetch_add(asked.len() as u64, Ordering::Relaxed);
            let calls: Vec<Value> = (first..)
                .zip(asked)
                .map(|(id, params)| {
                    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
                })
                .collect();
            let body = Value::Array(calls).to_string();
            let text = self.ask.ask(&self.url, &body).await?;
            results.extend(answers(method, &text, first, asked.len())?);
        }
        Ok(results)
    }
}

/// The results of a batch, by their ids: a node may answer in any order.
fn answers(method: &str, text: &str, first: u64, count: usize) -> Result<Vec<Value>, SourceError> {
    let half = |what: &str| SourceError::from(MessageError::new("answer", what));
    let value: Value = serde_json::from_str(text).map_err(|error| half(&error.to_string()))?;
    let listed = match value {
        Value::Array(listed) => listed,
        // A batch that is refused as a whole.
        single => vec![single],
    };
    let mut results: Vec<Option<Value>> = vec![None; count];
    for mut answer in listed {
        if let Some(error) = answer.get("error").filter(|error| !error.is_null()) {
            return Err(refused(method, error));
        }
        let id = answer.get("id").and_then(Value::as_u64);
        let place = id.and_then(|id| usize::try_from(id.checked_sub(first)?).ok());
        let slot = place.and_then(|place| results.get_mut(place));
        let slot = slot.ok_or_else(|| half("it has an id that was not asked for"))?;
        let result = answer.get_mut("result").map(Value::take);
        *slot = Some(result.ok_or_else(|| half("it has neither result nor error"))?);
    }
    let all: Option<Vec<Value>> = results.into_iter().collect();
    all.ok_or_else(|| half("some of the questions were not answered"))
}

fn refused(method: &str, error: &Value) -> SourceError {
    let message = error.get("message").and_then(Value::as_str).unwrap_or("it gives no reason");
    SourceError::Refused {
        method: method.to_owned(),
        code: error.get("code").and_then(Value::as_i64).unwrap_or_default(),
        message: message.chars().take(200).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_in_any_order_and_half_a_batch_is_none() {
        let check = |text: &str| answers("m", text, 5, 2);
        let good = r#"[{"id":6,"result":"b"},{"id":5,"result":null}]"#;
        assert_eq!(check(good), Ok(vec![Value::Null, "b".into()]));
        for (bad, part) in [
            (r#"[{"id":6,"result":"b"}]"#, "not answered"),
            (r#"[{"id":6,"result":"b"},{"id":9,"result":"b"}]"#, "not asked for"),
            (r#"[{"id":6},{"id":5,"result":1}]"#, "neither"),
            (r#"[{"id":6,"result":"b"},{"id":5,"resu"#, "EOF"),
            ("<html>", "expected value"),
            (r#"{"error":{"code":-32000,"message":"busy"},"id":null}"#, "busy (-32000)"),
            (
                r#"[{"id":5,"result":1},{"id":6,"error":{"code":1,"message":"no"}}]"#,
                "refused m: no",
            ),
        ] {
            let error = check(bad).expect_err(bad).to_string();
            assert!(error.contains(part), "{bad}: {error}");
        }
    }
}
