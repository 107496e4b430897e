//! Cursors: where the page before ended, bound to its list and filter.

use platform::ListCursor;
use platform::http::{List, Problem};
use serde::Serialize;
use serde::de::DeserializeOwned;
use store::Cursor;

/// The place where the page before ended.
pub(super) fn read<F, T: DeserializeOwned>(
    name: &str,
    bound: &impl Serialize,
    list: &List<F>,
) -> Result<Option<T>, Problem> {
    let Some(cursor) = &list.page.cursor else { return Ok(None) };
    Ok(Some(ListCursor::place(name, bound, cursor.as_str())?))
}

/// The cursor of a page that ended at `last`.
pub(super) fn next(
    name: &str,
    bound: &impl Serialize,
    last: Option<&impl Serialize>,
) -> Result<Option<Cursor>, Problem> {
    let cursor = last.map(|last| Cursor::parse(&ListCursor::behind(name, bound, last)));
    Ok(cursor.transpose()?)
}
