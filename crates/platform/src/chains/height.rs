//! How a node is asked for its tip, and how its answer is read. Pure text.

use serde_json::Value as Json;

use super::ChainKind;

/// Characters of what a node said that are told again.
const SAID_CHARS: usize = 100;

/// Why an answer tells no height, in words for the operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum HeightError {
    /// The node refused.
    #[error("it refused {method} with {said:?}; check that the chain's kind fits this node")]
    Refused {
        /// What it was asked.
        method: &'static str,
        /// Its error, shortened.
        said: String,
    },
    /// A page for people.
    #[error("it answered with a web page; give the address of its JSON-RPC, not of its site")]
    WebPage,
    /// Not JSON.
    #[error("it answered {said:?}, which is not JSON; check its address and what stands before it")]
    NotJson {
        /// What it said, shortened.
        said: String,
    },
    /// JSON without a height where it belongs.
    #[error("its answer to {method} has no height in {place}; check the kind of the chain")]
    Shape {
        /// What it was asked.
        method: &'static str,
        /// Where the height belongs.
        place: &'static str,
    },
}

/// A question for the tip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Question {
    method: &'static str,
    params: &'static str,
    /// Where the height stands, as a JSON pointer.
    place: &'static str,
}

impl Question {
    /// What nodes of a kind are asked; nothing where the kind does not say.
    pub(super) fn of(kind: ChainKind) -> Option<Self> {
        let (method, params, place) = match kind {
            ChainKind::Conflux => ("cfx_epochNumber", r#"["latest_mined"]"#, "/result"),
            ChainKind::Evm => ("eth_blockNumber", "[]", "/result"),
            ChainKind::Bitcoin => ("getblockcount", "[]", "/result"),
            ChainKind::Substrate => ("chain_getHeader", "[]", "/result/number"),
            ChainKind::Cosmos => ("status", "[]", "/result/sync_info/latest_block_height"),
            ChainKind::Other => return None,
        };
        Some(Self { method, params, place })
    }

    /// The body of the request.
    pub(super) fn body(&self) -> String {
        let Self { method, params, .. } = self;
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
    }

    /// The height in an answer.
    pub(super) fn read(&self, answer: &str) -> Result<u64, HeightError> {
        let Self { method, place, .. } = *self;
        let json: Json = serde_json::from_str(answer).map_err(|_| not_json(answer))?;
        // Bitcoin's nodes send `"error": null` along with every success.
        if let Some(error) = json.get("error").filter(|error| !error.is_null()) {
            let message = error.get("message").and_then(Json::as_str);
            let said = message.map_or_else(|| shortened(&error.to_string()), shortened);
            return Err(HeightError::Refused { method, said });
        }
        json.pointer(place).and_then(number).ok_or(HeightError::Shape { method, place })
    }
}

/// A height as nodes write it: a number, hexadecimal digits, or decimal ones in quotes.
fn number(json: &Json) -> Option<u64> {
    let Json::String(text) = json else { return json.as_u64() };
    let (digits, radix) = match text.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None => (text.as_str(), 10),
    };
    // `from_str_radix` takes a sign, which no node writes.
    if digits.starts_with('+') { None } else { u64::from_str_radix(digits, radix).ok() }
}

fn not_json(answer: &str) -> HeightError {
    if answer.trim_start().starts_with('<') {
        return HeightError::WebPage;
    }
    HeightError::NotJson { said: shortened(answer) }
}

/// The beginning of a text in one line.
fn shortened(text: &str) -> String {
    let printable = |c: char| if c.is_control() { ' ' } else { c };
    text.trim().chars().take(SAID_CHARS).map(printable).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(kind: ChainKind) -> Question {
        Question::of(kind).expect("a question")
    }

    fn check(kind: ChainKind, method: &str, answer: &str, height: u64) {
        let question = question(kind);
        let body: Json = serde_json::from_str(&question.body()).expect("JSON");
        assert_eq!(body["method"], method);
        assert_eq!((&body["jsonrpc"], &body["id"]), (&Json::from("2.0"), &Json::from(1)));
        assert!(body["params"].is_array());
        assert_eq!(question.read(answer), Ok(height), "{answer}");
    }

    #[test]
    fn every_kind_is_asked_in_its_own_words_and_its_answer_read() {
        let hex = r#"{"jsonrpc":"2.0","result":"0x2b","id":1}"#;
        check(ChainKind::Conflux, "cfx_epochNumber", hex, 43);
        check(ChainKind::Evm, "eth_blockNumber", hex, 43);
        let count = r#"{"result":902861,"error":null,"id":1}"#;
        check(ChainKind::Bitcoin, "getblockcount", count, 902_861);
        let header = r#"{"jsonrpc":"2.0","result":{"digest":{"logs":["0x0661757261"]},
            "parentHash":"0x6d51","number":"0x3f80a1","stateRoot":"0x5f"},"id":1}"#;
        check(ChainKind::Substrate, "chain_getHeader", header, 4_161_697);
        let status = r#"{"jsonrpc":"2.0","id":1,"result":{"node_info":{"network":"bbn-1"},
            "sync_info":{"latest_block_height":"1262196","catching_up":false}}}"#;
        check(ChainKind::Cosmos, "status", status, 1_262_196);
        assert_eq!(Question::of(ChainKind::Other), None);
    }

    #[test]
    fn a_tree_graph_is_asked_for_what_is_mined_not_for_what_is_executed() {
        let body: Json = serde_json::from_str(&question(ChainKind::Conflux).body()).expect("JSON");
        assert_eq!(body["params"], serde_json::json!(["latest_mined"]));
    }

    fn refused(kind: ChainKind, answer: &str, remedy: &str) {
        let error = question(kind).read(answer).expect_err(answer).to_string();
        assert!(error.contains(remedy), "{answer}: {error}");
        assert!(error.chars().count() < 250 && !error.contains('\n'), "{error}");
    }

    #[test]
    fn what_is_no_height_says_what_to_do() {
        let unknown = r#"{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},
            "id":1}"#;
        refused(ChainKind::Evm, unknown, "Method not found");
        refused(ChainKind::Evm, unknown, "kind");
        refused(ChainKind::Evm, r#"{"error":"rate limited"}"#, "rate limited");
        refused(ChainKind::Evm, "<!doctype html><title>Hello</title>", "web page");
        refused(ChainKind::Evm, "\n <html>", "web page");
        refused(ChainKind::Evm, "upstream\nfailed", "not JSON");
        refused(ChainKind::Evm, &"x".repeat(5000), "not JSON");
        refused(ChainKind::Evm, "", "not JSON");
        for shape in [
            "null",
            "[]",
            r#"{"result":null}"#,
            r#"{"result":{"number":"0x1"}}"#,
            r#"{"result":-1}"#,
            r#"{"result":1.5}"#,
            r#"{"result":"0x"}"#,
            r#"{"result":"0x+1"}"#,
            r#"{"result":"0x10000000000000000"}"#,
        ] {
            refused(ChainKind::Evm, shape, "has no height in /result");
        }
        refused(ChainKind::Substrate, r#"{"result":"0x1"}"#, "/result/number");
    }
}
