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
use crate::tables::SKIPPED_BLOCKS;
use crate::{BlockInput, EpochInput, Hash, ResultsInput};

/// Questions of one request.
const BATCH: usize = 20;
/// Blocks at which a node cuts an epoch.
const CUT_EPOCH: usize = 200;

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
    /// It has executed the epoch elsewhere, or not yet.
    #[error("the node has no results of epoch {0} under its pivot; it is asked again")]
    NoResults(u64),
    /// It has not got what it just named.
    #[error("the node does not know block {0}, which it named itself; it may be catching up")]
    Missing(Hash),
}

/// How far a node is: numbers of epochs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heights {
    /// The newest one.
    pub mined: u64,
    /// The newest one with results.
    pub executed: u64,
    /// The newest one that is buried deep enough.
    pub confirmed: u64,
    /// The newest one that is decided.
    pub finalized: u64,
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

    /// How far it is.
    ///
    /// # Errors
    /// When the node gives no numbers.
    pub async fn heights(&self) -> Result<Heights, SourceError> {
        let tags = ["latest_mined", "latest_state", "latest_confirmed", "latest_finalized"];
        let asked = tags.iter().map(|tag| json!([tag])).collect();
        let answers = self.call("cfx_epochNumber", asked).await?;
        let number = |at: usize| message::number(answers.get(at).unwrap_or(&Value::Null));
        let (mined, executed) = (number(0)?, number(1)?);
        Ok(Heights { mined, executed, confirmed: number(2)?, finalized: number(3)? })
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
        let skipped = self.skipped(&lists).await?;
        let all = lists.iter().chain(&skipped).flat_map(|(_, hashes)| hashes);
        let mut blocks = self.blocks(all.copied().collect()).await?.into_iter();
        let mut epochs: Vec<EpochInput> = lists
            .into_iter()
            .map(|(number, hashes)| {
                let blocks = blocks.by_ref().take(hashes.len()).collect();
                EpochInput { number, blocks, skipped: Vec::new() }
            })
            .collect();
        for (number, hashes) in skipped {
            let blocks = blocks.by_ref().take(hashes.len()).collect();
            if let Some(epoch) = epochs.iter_mut().find(|epoch| epoch.number == number) {
                epoch.skipped = blocks;
            }
        }
        Ok(epochs)
    }

    /// What came of executing epochs, each under its own pivot: pairs of number and blocks.
    ///
    /// # Errors
    /// When the node has no results under one of the pivots, or an answer does not fit.
    pub async fn results(
        &self,
        epochs: &[(u64, Vec<Hash>)],
    ) -> Result<Vec<ResultsInput>, SourceError> {
        let pivot = |blocks: &[Hash]| blocks.last().map(|hash| format!("hash:{hash}"));
        let asked = epochs.iter().map(|(_, blocks)| json!([pivot(blocks)])).collect();
        let answers = self.call("cfx_getEpochReceipts", asked).await?;
        let mut results = Vec::with_capacity(epochs.len());
        for ((number, hashes), answer) in epochs.iter().zip(answers) {
            let pivot = hashes.last().ok_or(SourceError::NoResults(*number))?;
            let blocks = match (number, answer) {
                // Nobody executed the first epoch: it is where the state begins.
                (0, Value::Null) => Vec::new(),
                (_, Value::Null) => return Err(SourceError::NoResults(*number)),
                (_, answer) => message::receipts(&answer, hashes)?,
            };
            results.push(ResultsInput { number: *number, pivot: *pivot, blocks });
        }
        Ok(results)
    }

    /// Blocks by their hashes.
    ///
    /// # Errors
    /// When one is missing, or is not the one that was asked for.
    pub async fn blocks(&self, hashes: Vec<Hash>) -> Result<Vec<BlockInput>, SourceError> {
        let asked = hashes.iter().map(|hash| json!([hash.to_string(), true])).collect();
        let answers = self.call("cfx_getBlockByHash", asked).await?;
        let mut blocks = Vec::with_capacity(hashes.len());
        for (answer, hash) in answers.iter().zip(hashes) {
            if answer.is_null() {
                return Err(SourceError::Missing(hash));
            }
            let block = message::block(answer)?;
            if block.hash != hash {
                let what = format!("block {hash} was asked for, {} came", block.hash);
                return Err(MessageError::new("hash", what).into());
            }
            blocks.push(block);
        }
        Ok(blocks)
    }

    /// The blocks that epochs skip. Only an epoch that is cut skips any.
    async fn skipped(
        &self,
        lists: &[(u64, Vec<Hash>)],
    ) -> Result<Vec<(u64, Vec<Hash>)>, SourceError> {
        let cut = lists.iter().filter(|(_, hashes)| hashes.len() >= CUT_EPOCH);
        let numbers: Vec<u64> = cut.map(|(number, _)| *number).collect();
        let asked = numbers.iter().map(|number| json!([format!("{number:#x}")])).collect();
        let answers = self.call("cfx_getSkippedBlocksByEpoch", asked).await?;
        let mut skipped = Vec::with_capacity(numbers.len());
        for (number, answer) in numbers.into_iter().zip(answers) {
            let none = answer.as_array().is_some_and(Vec::is_empty);
            let mut hashes = if none { Vec::new() } else { message::hashes(&answer)? };
            hashes.truncate(SKIPPED_BLOCKS);
            skipped.push((number, hashes));
        }
        Ok(skipped)
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
        let (mut rest, mut size) = (asked.as_slice(), BATCH);
        while !rest.is_empty() {
            let (some, others) = rest.split_at(size.min(rest.len()));
            match self.batch(method, some).await {
                Ok(found) => results.extend(found),
                // An answer that is too long for us, or takes too long: the same in smaller parts.
                Err(SourceError::Silent(error)) if some.len() > 1 && is_too_much(&error) => {
                    size = some.len() / 2;
                    continue;
                }
                Err(error) => return Err(error),
            }
            rest = others;
        }
        Ok(results)
    }

    async fn batch(&self, method: &str, asked: &[Value]) -> Result<Vec<Value>, SourceError> {
        let first = self.ids.fetch_add(asked.len() as u64, Ordering::Relaxed);
        let calls: Vec<Value> = (first..)
            .zip(asked)
            .map(|(id, params)| {
                json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
            })
            .collect();
        let body = Value::Array(calls).to_string();
        let text = self.ask.ask(&self.url, &body).await?;
        answers(method, &text, first, asked.len())
    }
}

/// Whether less would have been answered.
fn is_too_much(error: &AskError) -> bool {
    error.0.contains("longer than") || error.0.contains("no answer within")
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

    /// Answers no more than three questions at a time.
    struct Small;

    impl Ask for Small {
        fn ask<'a>(
            &'a self,
            _: &'a str,
            body: &'a str,
        ) -> store::Task<'a, Result<String, AskError>> {
            Box::pin(async move {
                let calls: Vec<Value> = serde_json::from_str(body).expect("a batch");
                if calls.len() > 3 {
                    return Err(AskError("its answer is longer than 5 bytes".to_owned()));
                }
                let answer = |call: &Value| json!({ "id": call["id"], "result": call["params"] });
                Ok(Value::Array(calls.iter().map(answer).collect()).to_string())
            })
        }
    }

    #[tokio::test]
    async fn an_answer_that_is_too_long_is_asked_for_in_parts() {
        let node = Node::new("http://127.0.0.1:1", Arc::new(Small));
        let asked: Vec<Value> = (0..47).map(|number| json!([number])).collect();
        assert_eq!(node.call("m", asked.clone()).await, Ok(asked));
    }
}
