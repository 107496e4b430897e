//! What a node of a test is told.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::account::Account;
use crate::port::free_port;
use crate::process::PartError;

/// The name of the part.
pub(super) const NAME: &str = "conflux";

/// How many accounts own something from the beginning, unless a test says which.
const ACCOUNTS: u32 = 8;

/// When blocks are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mining {
    /// Only by calls: the test decides on every block.
    ByHand,
    /// One after each such pause, with what the pool has; calls still work.
    Every(Duration),
    /// Five for each transaction that is sent, so that it is executed when the call returns.
    AtOnce,
}

/// How a node differs from others.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The chain of the core space.
    pub chain_id: u32,
    /// The chain of the eSpace.
    pub evm_chain_id: u32,
    /// When blocks are made.
    pub mining: Mining,
    /// Who owns 10,000 CFX from the beginning. Nodes that shall connect must have the same: their
    /// first block follows from it.
    pub genesis: Vec<Account>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            chain_id: 1234,
            evm_chain_id: 1235,
            mining: Mining::ByHand,
            genesis: (0..ACCOUNTS).map(Account::numbered).collect(),
        }
    }
}

impl Settings {
    /// The file that the start script reads. `dir` is the node's own directory.
    pub(super) fn file(&self, ports: &Ports, dir: &Path) -> Value {
        let mut file = json!({
            "jsonrpcHttpPort": ports.http,
            "jsonrpcWsPort": ports.ws,
            "jsonrpcHttpEthPort": ports.eth_http,
            "jsonrpcWsEthPort": ports.eth_ws,
            "tcpPort": ports.peers,
            "udpPort": ports.peers,
            "publicAddress": format!("127.0.0.1:{}", ports.peers),
            "stratumPort": ports.stratum,
            // Without it the calls that make blocks are missing.
            "publicRpcApis": "all",
            "chainId": self.chain_id,
            "evmChainId": self.evm_chain_id,
            "confluxDataDir": dir.join("data"),
            // Otherwise it stands beside the packages, which all nodes share.
            "posPrivateKeyPath": dir.join("pos_key"),
            // The default, sqlite, stands in a directory that is new at every start: a node that
            // is started again would begin with an empty chain.
            "blockDbType": "rocksdb",
            // Filters exist only with a life time.
            "pollLifetimeInSeconds": 300,
            "genesisSecrets": self.genesis.iter().map(Account::secret).collect::<Vec<_>>(),
            "devPackTxImmediately": self.mining == Mining::AtOnce,
            "logLevel": "warn",
        });
        if let Mining::Every(pause) = self.mining {
            // At least one, or the node would not rest at all.
            file["devBlockIntervalMs"] = json!(pause.as_millis().clamp(1, u128::from(u32::MAX)));
        }
        file
    }
}

/// Where a node listens, all on 127.0.0.1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ports {
    pub(super) http: u16,
    pub(super) ws: u16,
    pub(super) eth_http: u16,
    pub(super) eth_ws: u16,
    /// TCP and UDP: a node that is told of another takes both to be the same.
    pub(super) peers: u16,
    pub(super) stratum: u16,
}

impl Ports {
    pub(super) fn free() -> Result<Self, PartError> {
        let port = || free_port().map_err(PartError::io(NAME, "find a port"));
        Ok(Self {
            http: port()?,
            ws: port()?,
            eth_http: port()?,
            eth_ws: port()?,
            peers: port()?,
            stratum: port()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(mining: Mining) -> Value {
        let ports = Ports { http: 1, ws: 2, eth_http: 3, eth_ws: 4, peers: 5, stratum: 6 };
        Settings { mining, ..Settings::default() }.file(&ports, Path::new("/tmp/node"))
    }

    #[test]
    fn by_hand_nothing_makes_blocks() {
        let file = file(Mining::ByHand);
        assert_eq!(file["devPackTxImmediately"], json!(false));
        assert!(file.get("devBlockIntervalMs").is_none());
        assert_eq!(file["confluxDataDir"], json!("/tmp/node/data"));
        assert_eq!(file["genesisSecrets"].as_array().map(Vec::len), Some(8));
    }

    #[test]
    fn a_pause_is_told_in_milliseconds() {
        let every = |pause| file(Mining::Every(pause))["devBlockIntervalMs"].clone();
        assert_eq!(every(Duration::from_secs(1)), json!(1000));
        assert_eq!(every(Duration::ZERO), json!(1));
        assert_eq!(file(Mining::AtOnce)["devPackTxImmediately"], json!(true));
    }
}
