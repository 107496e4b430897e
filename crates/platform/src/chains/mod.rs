//! The chains of this platform and the nodes that serve them: the module Chain of paper 003.
//!
//! ```text
//!   configuration ──────────────┐ wins, cannot be changed by API
//!                               ▼
//!   add, change, remove ──► platform.chains ──► every process, a second later
//!                           one partition        Registry::watch()
//! ```
//!
//! - **A name is in lower case**, short, and none of the words that stand first in our own
//!   addresses, because `/{chain}/{project}` is an address too.
//! - **One guarded partition** holds all chains, so its version is the version of the registry: a
//!   change that was decided on an older one is refused.
//! - **Configured chains win.** They are not written to the store; taking one out of the
//!   configuration shows the stored one again, if there is any.
//! - **What nodes say is apart from what chains are.** One process asks all nodes for their tips;
//!   `platform.tips` has what each said last, and the event `chain.tip` tells that a chain moved.
//!   There is no HTTP in here: whoever wires the program brings an [`Ask`].

mod chain;
mod error;
mod height;
mod name;
mod registry;
mod tip;
mod tip_writer;
mod tips;

pub use chain::{CHAIN_NODES, Chain, ChainKind, Node};
pub use error::{ChainChangeError, ChainError};
pub use name::{ChainName, RESERVED};
pub use registry::{CHAINS_LIMIT, Chains, Registry, RegistryWatch, Source};
pub use tip::Tip;
pub use tips::{Ask, AskError, Tips};
