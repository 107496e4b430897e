//! Calls: consequences of a change, as bytes that can be kept and applied again.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use store::Task;

use crate::error::CallError;

/// A consequence of a change in another partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Which [`Apply`] understands it, e.g. `index.place`.
    pub kind: String,
    /// What is to be done, as that kind encodes it. Kept in the store, so the kind must go on
    /// reading what it once wrote.
    pub body: Vec<u8>,
}

/// A kind of call.
///
/// Its duties:
///
/// - **Ranked.** A call carries a rank, and changes nothing where as high a rank has been. Calls of
///   one entry arrive in any order.
/// - **Repeatable.** A call is applied at least once, often twice, sometimes by two at a time.
/// - **Whole.** It changes one partition in one commit, and is durable when it returns.
/// - **Honest about failure.** [`CallError::Unavailable`] when it may work later;
///   [`CallError::Refused`] when it cannot, as it is.
pub trait Apply: Send + Sync + 'static {
    /// The name calls carry. Never reused for another meaning.
    fn kind(&self) -> &'static str;

    /// Applies one call.
    fn apply<'a>(&'a self, body: &'a [u8]) -> Task<'a, Result<(), CallError>>;
}

/// The kinds of calls a program knows. The binary registers those of all crates.
#[derive(Clone, Default)]
pub struct Calls(BTreeMap<&'static str, Arc<dyn Apply>>);

impl std::fmt::Debug for Calls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Calls {
    /// No kinds yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// These and one more.
    ///
    /// # Panics
    /// When the name is taken: a mistake in the program that no operator can mend.
    #[must_use]
    pub fn with(mut self, apply: impl Apply) -> Self {
        let kind = apply.kind();
        assert!(self.0.insert(kind, Arc::new(apply)).is_none(), "two kinds are named {kind}");
        self
    }

    /// Whether a kind is known.
    #[must_use]
    pub fn knows(&self, kind: &str) -> bool {
        self.0.contains_key(kind)
    }

    pub(crate) async fn apply(&self, call: &Call) -> Result<(), CallError> {
        match self.0.get(call.kind.as_str()) {
            Some(kind) => kind.apply(&call.body).await,
            None => {
                let what = format!("this program knows no call named {}; upgrade it", call.kind);
                Err(CallError::Refused(what))
            }
        }
    }
}
