//! `tally.set`: counts as calls of effects.
//!
//! Index and tally are of one layer and do not know each other; this is where they meet.

use index::{Apply, Call, CallError};
use serde::{Deserialize, Serialize};
use store::{CommitError, ReadError, Task, Value as _};
use tally::{SetError, Tallies, Tally};

/// A set as it is kept in an intent.
#[derive(Debug, Serialize, Deserialize)]
struct Body {
    tally: Vec<u8>,
    entry: Vec<u8>,
    rank: u64,
    values: Vec<i128>,
}
store::serde_value!(Body, format 1);

/// Applies sets of tallies. Register it where the program's effects are made.
#[derive(Debug)]
pub struct TallyCalls(Tallies);

impl TallyCalls {
    /// The kind of its calls.
    pub const KIND: &'static str = "tally.set";

    /// Sets in `tallies`.
    #[must_use]
    pub fn new(tallies: Tallies) -> Self {
        Self(tallies)
    }

    /// `entry` of `tally` counts `values` from `rank` on.
    #[must_use]
    pub fn call(tally: &Tally, entry: &[u8], rank: u64, values: &[i128]) -> Call {
        let (tally, entry) = (tally.as_bytes().to_vec(), entry.to_vec());
        let body = Body { tally, entry, rank, values: values.to_vec() };
        Call { kind: Self::KIND.to_owned(), body: body.to_bytes() }
    }

    async fn set(&self, body: &[u8]) -> Result<(), CallError> {
        let refused = |error: &dyn std::fmt::Display| CallError::Refused(error.to_string());
        let body = Body::from_bytes(body).map_err(|error| refused(&error))?;
        let tally = Tally::new(body.tally).map_err(|error| refused(&error))?;
        match self.0.set(&tally, &body.entry, body.rank, &body.values).await {
            Ok(_) => Ok(()),
            Err(error) if is_final(&error) => Err(refused(&error)),
            Err(error) => Err(CallError::Unavailable(error.to_string())),
        }
    }
}

/// Whether the set will fail again as it is.
fn is_final(error: &SetError) -> bool {
    matches!(
        error,
        SetError::Limit(_)
            | SetError::Differs { .. }
            | SetError::LastRank { .. }
            | SetError::Overflow { .. }
            | SetError::Raise(_)
            | SetError::Read(ReadError::Bound(_) | ReadError::Decode(_))
            | SetError::Commit(CommitError::Bound(_))
    )
}

impl Apply for TallyCalls {
    fn kind(&self) -> &'static str {
        Self::KIND
    }

    fn apply<'a>(&'a self, body: &'a [u8]) -> Task<'a, Result<(), CallError>> {
        Box::pin(self.set(body))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use store::{ModelEngine, Store};
    use tally::Settings;

    use super::*;

    #[tokio::test]
    async fn a_call_counts_once_and_says_what_will_never_work() {
        let store = Store::new(Arc::new(ModelEngine::default()), 0);
        let tallies = Tallies::new(store, Settings::default()).expect("settings");
        let calls = TallyCalls::new(tallies.clone());
        let tally = Tally::new("test.count").expect("a name");
        let one = TallyCalls::call(&tally, b"entry", 1, &[1]);
        for _ in 0..3 {
            calls.apply(&one.body).await.expect("applied");
        }
        assert_eq!(tallies.sums(&tally).await.expect("reads").values.get(0), 1);
        let differs = TallyCalls::call(&tally, b"entry", 1, &[2]);
        for body in [&differs.body[..], b"", &[9, 9]] {
            let error = calls.apply(body).await.expect_err("never works");
            assert!(matches!(error, CallError::Refused(_)), "{error}");
        }
    }
}
