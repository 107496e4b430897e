//! Keys of pages: opaque to clients, bound to their list and filter.

use platform::{ListCursor, ListCursorError};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::answer::Refusal;

/// A list under a filter.
pub(super) struct Keys<F> {
    /// The name of the list.
    pub(super) list: &'static str,
    /// What it is filtered by: a key of another filter is refused.
    pub(super) filter: F,
}

impl<F: Serialize> Keys<F> {
    /// The key of the page behind a place.
    pub(super) fn write(&self, place: &impl Serialize) -> String {
        ListCursor::behind(self.list, &self.filter, place)
    }

    /// The place of a key; none without a key.
    pub(super) fn read<P: DeserializeOwned>(&self, key: &str) -> Result<Option<P>, Refusal> {
        if key.is_empty() {
            return Ok(None);
        }
        ListCursor::place(self.list, &self.filter, key).map(Some).map_err(|error| match error {
            ListCursorError::Damaged => Refusal::bad("invalid pagination key format"),
            error => Refusal::bad(format!("invalid pagination key: {error}")),
        })
    }
}
