//! Two nodes: connected, parted, connected again.

use std::fs;
use std::time::Duration;

use serde_json::json;

use super::account::{Account, hex};
use super::node::ConfluxNode;
use super::rpc::RpcError;
use crate::wait::wait_until;

/// How long two nodes may take to meet, to part, or to agree.
const PATIENCE: Duration = Duration::from_secs(60);

impl ConfluxNode {
    /// The node's name among nodes: the public key of the secret it made at its first start.
    ///
    /// # Errors
    ///
    /// When the secret cannot be read.
    pub fn id(&self) -> Result<String, RpcError> {
        let path = self.running().dir().join("data/net_config/key");
        let secret = fs::read_to_string(path).map_err(RpcError::io("read the node's key"))?;
        let account = unhex(secret.trim()).and_then(|bytes| Account::from_secret(&bytes));
        let account =
            account.ok_or_else(|| RpcError::strange("the node's key", &"not a secret"))?;
        Ok(hex(&account.public_key()))
    }

    /// Connects the two nodes and waits until each knows the other. They exchange their blocks
    /// then, and the heavier chain becomes the pivot chain of both: see [`Self::wait_agreed`].
    ///
    /// # Errors
    ///
    /// When a node does not answer, or they do not meet.
    pub fn connect(&self, other: &Self) -> Result<(), RpcError> {
        // One side is enough, and two would race for the connection.
        self.rpc("addnode", json!([other.id()?, other.peer_address()]))?;
        self.wait_peer(other, true)?;
        other.wait_peer(self, true)
    }

    /// Parts the two nodes: what is mined on one is unknown to the other until they are connected
    /// again.
    ///
    /// # Errors
    ///
    /// When a node does not answer, or they do not part.
    pub fn part(&self, other: &Self) -> Result<(), RpcError> {
        // On both sides: a node that still knows the other connects to it by itself.
        self.rpc("removenode", json!([other.id()?, other.peer_address()]))?;
        other.rpc("removenode", json!([self.id()?, self.peer_address()]))?;
        self.wait_peer(other, false)?;
        other.wait_peer(self, false)
    }

    /// Waits until both nodes have the same best block, and returns it.
    ///
    /// # Errors
    ///
    /// When a node does not answer, or they do not agree.
    pub fn wait_agreed(&self, other: &Self) -> Result<String, RpcError> {
        let agreed = wait_until("the nodes have the same best block", PATIENCE, || {
            match (self.best(), other.best()) {
                (Ok(one), Ok(two)) if one == two => Ok(one),
                (one, two) => Err(format!("{one:?} and {two:?}")),
            }
        });
        agreed.map_err(RpcError::from)
    }

    /// Waits until this node has the other among its peers, or not any more.
    fn wait_peer(&self, other: &Self, wanted: bool) -> Result<(), RpcError> {
        let id = other.id()?;
        let what = format!("{id} is {} peer", if wanted { "a" } else { "no" });
        let seen = wait_until(&what, PATIENCE, || {
            let peers = self.rpc("getpeerinfo", json!([])).map_err(|error| error.to_string())?;
            let peers = peers.to_string();
            if peers.contains(&id) == wanted { Ok(()) } else { Err(peers) }
        });
        seen.map_err(RpcError::from)
    }
}

/// Bytes of hex without `0x`.
fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |index: usize| char::from(text.as_bytes()[index]).to_digit(16);
    let byte = |index: usize| u8::try_from(digit(index)? << 4 | digit(index + 1)?).ok();
    if text.len() % 2 == 1 {
        return None;
    }
    (0..text.len()).step_by(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_is_read() {
        assert_eq!(unhex("00ff7A"), Some(vec![0, 255, 0x7a]));
        assert_eq!(unhex(""), Some(vec![]));
        assert_eq!(unhex("0"), None);
        assert_eq!(unhex("0x"), None);
    }
}
