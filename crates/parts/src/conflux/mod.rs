//! A Conflux node, from npm's `@xcfx/node`: the real node, in its development mode.
//!
//! It makes blocks when it is told to, where it is told to, so a test can grow any tree-graph:
//!
//! ```no_run
//! let Some(conflux) = parts::require(parts::conflux::install()) else { return };
//! let node = conflux.start().expect("it starts");
//! node.empty_blocks(5).expect("five epochs");
//! let ancestor = node.pivot(3).expect("an epoch");
//! node.fork_from(&ancestor).expect("epochs 4 and 5 are replaced");
//! node.empty_blocks(1).expect("what was replaced comes back in this epoch");
//! ```
//!
//! [`ConfluxNode`] has the calls; whatever it has no call for is [`ConfluxNode::rpc`]. An epoch is
//! executed when some more have been mined: [`ConfluxNode::execute`] does that.
//!
//! A node takes 5 s to start and 550 MB. It listens on 127.0.0.1 only, by a small library that is
//! loaded into it, because it has no setting for that.

mod account;
mod install;
mod node;
mod peers;
mod random;
mod rlp;
mod rpc;
mod settings;
mod structure;
mod transaction;

use std::path::PathBuf;

pub use account::{Account, Address};
pub use install::install;
pub use node::ConfluxNode;
pub use rpc::RpcError;
pub use settings::{Mining, Settings};
pub use transaction::{Fee, Signed, Transaction};

use crate::process::PartError;

/// An installed Conflux node, ready to be started any number of times.
#[derive(Clone, Debug)]
pub struct Conflux {
    /// The directory above `node_modules`.
    packages: PathBuf,
    /// The library that keeps the node on the loopback address.
    loopback: PathBuf,
}

impl Conflux {
    /// Starts a node with an empty chain, which mines by hand, and waits until it is ready.
    ///
    /// # Errors
    ///
    /// When it does not start; the error quotes its log.
    pub fn start(&self) -> Result<ConfluxNode, PartError> {
        self.start_with(&Settings::default())
    }

    /// Starts a node with settings of one's own and waits until it is ready.
    ///
    /// # Errors
    ///
    /// When it does not start; the error quotes its log.
    pub fn start_with(&self, settings: &Settings) -> Result<ConfluxNode, PartError> {
        ConfluxNode::start(self, settings)
    }
}
