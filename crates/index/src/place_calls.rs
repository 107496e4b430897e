//! `index.place`: placements as calls of effects.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use store::{Store, Task, Value};

use crate::calls::{Apply, Call};
use crate::error::CallError;
use crate::list::ListDef;
use crate::lists::Lists;
use crate::place::RawPlace;
use crate::slot::ListKey;

/// A placement as it is kept in an intent.
#[derive(Debug, Serialize, Deserialize)]
struct Body {
    list: String,
    key: Vec<u8>,
    entry: Vec<u8>,
    rank: u64,
    at: Option<(Vec<u8>, Vec<u8>)>,
}
store::serde_value!(Body, format 1);

/// Applies placements in the lists it was given. Make calls for it with
/// [`List::call`](crate::List::call).
#[derive(Debug)]
pub struct PlaceCalls {
    lists: Lists,
    known: BTreeMap<&'static str, &'static ListDef>,
}

impl PlaceCalls {
    /// The kind of its calls.
    pub const KIND: &'static str = "index.place";

    /// Placements in `lists` of `store`.
    pub fn new(store: Store, lists: impl IntoIterator<Item = &'static ListDef>) -> Self {
        let known = lists.into_iter().map(|list| (list.table().name(), list)).collect();
        Self { lists: Lists::new(store), known }
    }

    pub(crate) fn encode(list: &'static ListDef, key: &ListKey, place: &RawPlace) -> Call {
        let RawPlace { entry, rank, at } = place.clone();
        let (list, key) = (list.table().name().to_owned(), key.as_bytes().to_vec());
        let body = Body { list, key, entry, rank, at };
        Call { kind: Self::KIND.to_owned(), body: body.to_bytes() }
    }

    async fn place(&self, body: &[u8]) -> Result<(), CallError> {
        let body = Body::from_bytes(body).map_err(|error| CallError::Refused(error.to_string()))?;
        let Some(list) = self.known.get(body.list.as_str()) else {
            let what = format!("this program knows no list {}; upgrade it", body.list);
            return Err(CallError::Refused(what));
        };
        let place = RawPlace { entry: body.entry, rank: body.rank, at: body.at };
        self.lists.place_one(list, &ListKey::from_bytes(body.key), place).await?;
        Ok(())
    }
}

impl Apply for PlaceCalls {
    fn kind(&self) -> &'static str {
        Self::KIND
    }

    fn apply<'a>(&'a self, body: &'a [u8]) -> Task<'a, Result<(), CallError>> {
        Box::pin(self.place(body))
    }
}
