//! Why a chain is refused.

use store::Version;

use crate::guarded::{StoreError, store_failures};

use super::{CHAINS_LIMIT, ChainName};

/// What is wrong with a chain, where, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {value:?}: {remedy}")]
pub struct ChainError {
    /// The field, such as `nodes[1].http`.
    pub field: String,
    /// What was given.
    pub value: String,
    /// What to do about it.
    pub remedy: String,
}

impl ChainError {
    pub(crate) fn field(
        field: impl Into<String>,
        value: impl ToString,
        remedy: impl Into<String>,
    ) -> Self {
        Self { field: field.into(), value: value.to_string(), remedy: remedy.into() }
    }

    /// The same about a field inside `outer`.
    pub(crate) fn inside(self, outer: &str) -> Self {
        Self { field: format!("{outer}.{}", self.field), ..self }
    }
}

/// Why the registry was not changed. Nothing was written, unless the outcome is unknown.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChainChangeError {
    /// A field is wrong.
    #[error(transparent)]
    Invalid(#[from] ChainError),
    /// The chain comes from the configuration.
    #[error(
        "{name} comes from the configuration, which wins over the API; change it there, in \
         [chains.{name}], and restart or reload"
    )]
    Configured {
        /// The chain.
        name: ChainName,
    },
    /// There is one of this name.
    #[error("there is a chain {name} already; change that one, or choose another name")]
    Exists {
        /// The chain.
        name: ChainName,
    },
    /// There is none of this name.
    #[error("there is no chain {name}; list the chains, or add it")]
    Missing {
        /// The chain.
        name: ChainName,
    },
    /// The registry changed since the caller looked.
    #[error("the chains are at version {current}, not {seen}; read them again and decide anew")]
    Stale {
        /// The version the caller had seen.
        seen: Version,
        /// The version they have.
        current: Version,
    },
    /// The registry is full.
    #[error("there are {CHAINS_LIMIT} chains, which is the limit; remove one first")]
    Full,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
store_failures!(ChainChangeError);
