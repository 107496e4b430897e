//! Names of chains.

use std::fmt;

use serde::{Deserialize, Serialize};
use store::{DecodeError, KeyPart, KeyReader};

use super::ChainError;

/// Words that are no names of chains: each stands first in an address of the platform itself, or
/// may do so one day.
pub const RESERVED: &[&str] = &[
    "about", "account", "accounts", "admin", "api", "assets", "chain", "chains", "compat", "demo",
    "docs", "event", "events", "favicon", "health", "help", "home", "index", "livez", "login",
    "logout", "metrics", "new", "openapi", "portal", "project", "projects", "ready", "readyz",
    "register", "resp", "robots", "rpc", "scan", "search", "settings", "shards", "staking",
    "static", "status", "system", "tokens", "utxo", "webhooks", "ws",
];

/// Characters of a name at the most.
const NAME_CHARS: usize = 32;

/// The name of a chain: 2 to 32 lower-case letters, digits and single hyphens, a letter first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ChainName(String);

impl ChainName {
    /// Reads a name. Upper case is refused and not mended: the same name must be written the same
    /// way wherever it is used as a key.
    ///
    /// # Errors
    /// With the rule it breaks.
    pub fn new(text: impl Into<String>) -> Result<Self, ChainError> {
        let text = text.into();
        let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        let problem = if !(2..=NAME_CHARS).contains(&text.len()) {
            "use 2 to 32 characters"
        } else if !text.bytes().all(allowed) {
            "use lower-case letters, digits and hyphens only"
        } else if !text.starts_with(|c: char| c.is_ascii_lowercase()) {
            "begin with a letter"
        } else if text.ends_with('-') || text.contains("--") {
            "put hyphens between other characters, one at a time"
        } else if RESERVED.contains(&text.as_str()) {
            "it is a reserved word of our own addresses; choose another name"
        } else {
            return Ok(Self(text));
        };
        Err(ChainError::field("name", text, problem))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ChainName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<ChainName> for String {
    fn from(name: ChainName) -> Self {
        name.0
    }
}

impl TryFrom<String> for ChainName {
    type Error = ChainError;
    fn try_from(text: String) -> Result<Self, ChainError> {
        Self::new(text)
    }
}

impl KeyPart for ChainName {
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
    }
    fn size(&self) -> usize {
        self.0.size()
    }
    fn decode(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        // A word that became reserved later must not make a stored row unreadable.
        String::decode(reader).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_lower_case_and_not_reserved() {
        for good in ["conflux", "eth", "bitcoin-testnet", "bsc56", "polkadot-1"] {
            assert_eq!(ChainName::new(good).expect(good).as_str(), good);
        }
        for (bad, remedy) in [
            ("Conflux", "lower-case"),
            ("a", "2 to 32"),
            ("", "2 to 32"),
            ("1inch", "begin with a letter"),
            ("eth-", "between"),
            ("e--th", "between"),
            ("eth main", "lower-case"),
            ("ünicode", "lower-case"),
            ("api", "reserved"),
            ("rpc", "reserved"),
            ("utxo", "reserved"),
        ] {
            let error = ChainName::new(bad).expect_err(bad).to_string();
            assert!(error.contains(remedy) && error.contains("name"), "{bad}: {error}");
        }
    }

    #[test]
    fn every_word_of_our_addresses_is_reserved() {
        assert!(RESERVED.is_sorted(), "keep the words in order");
        for word in [
            "api", "rpc", "compat", "assets", "login", "account", "chains", "status", "shards",
            "search", "docs", "metrics", "projects", "staking", "events", "health", "ready",
            "scan", "utxo",
        ] {
            assert!(ChainName::new(word).is_err(), "{word}");
        }
    }
}
