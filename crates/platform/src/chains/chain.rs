//! A chain and its nodes, checked field by field.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::address::Address;
use crate::guarded::json_value;

use super::{ChainError, ChainName};

/// Nodes of one chain at the most.
pub const CHAIN_NODES: usize = 16;
/// The highest weight.
const WEIGHT: u32 = 1000;
/// Characters of a node's name, of a network and of a title.
const WORD_CHARS: usize = 64;

/// What protocol the nodes of a chain speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ChainKind {
    /// Conflux, a tree-graph.
    Conflux,
    /// Ethereum and its kin.
    Evm,
    /// Bitcoin and its kin.
    Bitcoin,
    /// Polkadot and its kin.
    Substrate,
    /// Chains of the Cosmos SDK, such as Babylon.
    Cosmos,
    /// Anything else that speaks JSON-RPC.
    Other,
}

/// A chain as it is configured, stored and shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Chain {
    /// The name in addresses and keys: 2 to 32 lower-case letters, digits and single hyphens.
    #[schema(value_type = String, pattern = "^[a-z](-?[a-z0-9])+$", max_length = 32,
        example = "conflux")]
    pub name: ChainName,
    /// What its nodes speak.
    pub kind: ChainKind,
    /// Which network: `mainnet`, `testnet`, `regtest`, a number.
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9_.:-]+$")]
    pub network: String,
    /// Its nodes, at most 16.
    #[serde(default)]
    #[schema(max_items = 16)]
    pub nodes: Vec<Node>,
    /// Whether it is served. A chain that is not keeps its rows and its projects.
    #[serde(default = "yes")]
    pub enabled: bool,
}
json_value!(Chain, format 1);

/// A node of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// The name in logs and on pages, unique in its chain.
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9_.:-]+$")]
    pub name: String,
    /// The address for requests, `http://` or `https://`. A node has this one or `ws`, or both.
    #[serde(default)]
    #[schema(pattern = "^https?://.")]
    pub http: Option<String>,
    /// The address for subscriptions, `ws://` or `wss://`.
    #[serde(default)]
    #[schema(pattern = "^wss?://.")]
    pub ws: Option<String>,
    /// The port of `http`, where the address does not name it.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 65535)]
    pub http_port: Option<u16>,
    /// The port of `ws`, where the address does not name it.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 65535)]
    pub ws_port: Option<u16>,
    /// Its share among nodes of one priority, 1 to 1000.
    #[serde(default = "one")]
    #[schema(minimum = 1, maximum = 1000)]
    pub weight: u32,
    /// Nodes of a lower number are asked first; higher ones stand by.
    #[serde(default)]
    #[schema(maximum = 65535)]
    pub priority: u16,
}

fn yes() -> bool {
    true
}

fn one() -> u32 {
    1
}

impl Chain {
    /// Checks every field.
    ///
    /// # Errors
    /// With the first field that is wrong, and the remedy.
    pub fn check(&self) -> Result<(), ChainError> {
        // A name that came through serde or `ChainName::new` is checked; one from a key is not.
        ChainName::new(self.name.as_str())?;
        check_word("network", &self.network)?;
        if self.nodes.len() > CHAIN_NODES {
            let remedy = format!("a chain has at most {CHAIN_NODES} nodes; remove some");
            return Err(ChainError::field("nodes", self.nodes.len(), remedy));
        }
        let mut names = BTreeSet::new();
        for (number, node) in self.nodes.iter().enumerate() {
            let place = format!("nodes[{number}]");
            node.check().map_err(|error| error.inside(&place))?;
            if !names.insert(node.name.as_str()) {
                let remedy = "another node of this chain has the name; rename one of them";
                return Err(ChainError::field("name", &node.name, remedy).inside(&place));
            }
        }
        Ok(())
    }
}

impl Node {
    fn check(&self) -> Result<(), ChainError> {
        check_word("name", &self.name)?;
        if self.http.is_none() && self.ws.is_none() {
            let remedy = "give the node an address in http or ws";
            return Err(ChainError::field("http", "", remedy));
        }
        self.http_address()?;
        self.ws_address()?;
        if !(1..=WEIGHT).contains(&self.weight) {
            let remedy = "use 1 to 1000; to take a node out, remove it";
            return Err(ChainError::field("weight", self.weight, remedy));
        }
        Ok(())
    }

    /// The whole address for requests, port included.
    ///
    /// # Errors
    /// When it is none.
    pub fn http_address(&self) -> Result<Option<Address>, ChainError> {
        address(("http", self.http.as_deref()), ("http_port", self.http_port), &["http", "https"])
    }

    /// The whole address for subscriptions, port included.
    ///
    /// # Errors
    /// When it is none.
    pub fn ws_address(&self) -> Result<Option<Address>, ChainError> {
        address(("ws", self.ws.as_deref()), ("ws_port", self.ws_port), &["ws", "wss"])
    }
}

fn address(
    (field, text): (&str, Option<&str>),
    (port_field, port): (&str, Option<u16>),
    schemes: &[&str],
) -> Result<Option<Address>, ChainError> {
    if port == Some(0) {
        return Err(ChainError::field(port_field, 0, "use 1 to 65535, or leave it out"));
    }
    let Some(text) = text else {
        return match port {
            None => Ok(None),
            Some(port) => {
                let remedy = format!("it belongs to {field}, which is missing; give that too");
                Err(ChainError::field(port_field, port, remedy))
            }
        };
    };
    let address = Address::parse(text, schemes)
        .map_err(|error| ChainError::field(field, text, error.to_string()))?;
    match (address.port(), port) {
        (Some(inside), Some(apart)) if inside != apart => {
            let remedy = format!("{field} already names port {inside}; give one of the two");
            Err(ChainError::field(port_field, apart, remedy))
        }
        (None, Some(apart)) => Ok(Some(address.with_port(apart))),
        _ => Ok(Some(address)),
    }
}

fn check_word(field: &str, text: &str) -> Result<(), ChainError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
    if !(1..=WORD_CHARS).contains(&text.len()) {
        return Err(ChainError::field(field, text, "use 1 to 64 characters"));
    }
    if !text.chars().all(allowed) {
        return Err(ChainError::field(field, text, "use letters, digits and - _ . : only"));
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn chain(name: &str) -> Chain {
        let node = Node {
            name: "one".into(),
            http: Some("http://127.0.0.1".into()),
            ws: Some("ws://127.0.0.1:12535".into()),
            http_port: Some(12537),
            ws_port: None,
            weight: 1,
            priority: 0,
        };
        let name = ChainName::new(name).expect("a name");
        let network = "mainnet".to_owned();
        Chain { name, kind: ChainKind::Conflux, network, nodes: vec![node], enabled: true }
    }

    fn refused(change: impl FnOnce(&mut Chain), field: &str, remedy: &str) {
        let mut chain = chain("conflux");
        change(&mut chain);
        let error = chain.check().expect_err(field);
        assert_eq!(error.field, field, "{error}");
        assert!(error.remedy.contains(remedy), "{error}");
    }

    #[test]
    fn every_field_is_checked_with_its_name_and_a_remedy() {
        chain("conflux").check().expect("a good chain");
        refused(|c| c.network = String::new(), "network", "1 to 64");
        refused(|c| c.network = "main net".into(), "network", "letters");
        refused(|c| c.nodes = vec![c.nodes[0].clone(); 17], "nodes", "at most 16");
        refused(|c| c.nodes = vec![c.nodes[0].clone(); 2], "nodes[1].name", "rename");
        refused(|c| c.nodes[0].name = "a/b".into(), "nodes[0].name", "letters");
        refused(|c| c.nodes[0].weight = 0, "nodes[0].weight", "1 to 1000");
        refused(|c| c.nodes[0].http = Some("ws://a.org".into()), "nodes[0].http", "http://");
        refused(|c| c.nodes[0].ws = Some("http://a.org".into()), "nodes[0].ws", "wss://");
        refused(|c| c.nodes[0].ws_port = Some(7), "nodes[0].ws_port", "12535");
        refused(|c| c.nodes[0].http_port = Some(0), "nodes[0].http_port", "65535");
        refused(|c| c.nodes[0].http = None, "nodes[0].http_port", "belongs to http");
        let without = |c: &mut Chain| {
            let node = Node { http: None, ws: None, http_port: None, ..c.nodes[0].clone() };
            c.nodes = vec![node];
        };
        refused(without, "nodes[0].http", "address");
    }

    #[test]
    fn a_port_beside_the_address_is_part_of_it() {
        let node = chain("conflux").nodes.remove(0);
        let http = node.http_address().expect("good").expect("is there");
        assert_eq!(http.to_string(), "http://127.0.0.1:12537");
        let ws = node.ws_address().expect("good").expect("is there");
        assert_eq!(ws.to_string(), "ws://127.0.0.1:12535");
    }

    #[test]
    fn a_stored_chain_is_within_its_bounds_and_comes_back() {
        use store::Value as _;
        let mut widest = chain("conflux");
        widest.nodes = (0..CHAIN_NODES)
            .map(|number| Node {
                name: format!("{number:064}"),
                http: Some(format!("https://a.org/{}", "x".repeat(490))),
                ws: Some(format!("wss://a.org/{}", "x".repeat(490))),
                ..widest.nodes[0].clone()
            })
            .collect();
        widest.check().expect("as wide as allowed");
        let bytes = widest.to_bytes();
        assert!(bytes.len() <= crate::tables::CHAINS.def().bounds().value_bytes);
        assert_eq!(Chain::from_bytes(&bytes), Ok(widest));
        let unknown = r#"{"name":"abc","kind":"evm","network":"1","node":[]}"#;
        assert!(serde_json::from_str::<Chain>(unknown).is_err(), "a slip is not passed over");
    }
}
