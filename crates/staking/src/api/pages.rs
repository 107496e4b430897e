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
    let inner = ListCursor::decode(name, bound, cursor.as_str())?;
    let place = serde_json::from_slice(&inner);
    Ok(Some(place.map_err(|_| platform::ListCursorError::Damaged)?))
}

/// The cursor of a page that ended at `last`.
pub(super) fn next(
    name: &str,
    bound: &impl Serialize,
    last: Option<&impl Serialize>,
) -> Result<Option<Cursor>, Problem> {
    let Some(last) = last else { return Ok(None) };
    let inner = serde_json::to_vec(last).map_err(Problem::internal)?;
    Ok(Some(Cursor::parse(&ListCursor::encode(name, bound, &inner))?))
}
