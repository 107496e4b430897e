//! Cursors of the API: opaque, and bound to their list and filter.
//!
//! A client that changes the filter and keeps the cursor would get rows from the middle of another
//! list. A checksum over list, filter and position makes that an error with a remedy. It is no
//! secret: a cursor gives access to nothing that its list does not.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use serde::de::DeserializeOwned;
use xxhash_rust::xxh3::Xxh3;

/// The version of the layout, so that cursors of another release are told apart.
const LAYOUT: u8 = 1;
/// Bytes before the position: layout, checksum of the whole, checksum of list and filter.
const HEAD_BYTES: usize = 1 + 8 + 4;
/// Bytes of a position at the most.
pub const CURSOR_BYTES: usize = 1536;

/// Makes and reads cursors.
#[derive(Debug)]
pub struct ListCursor;

/// Why a cursor is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ListCursorError {
    /// Not a cursor, or a damaged one.
    #[error("the cursor is damaged; send it as it was given, or start again without one")]
    Damaged,
    /// A cursor of another list or filter.
    #[error(
        "the cursor belongs to another list or to another filter; keep list and filter as they \
         were, or start again without a cursor"
    )]
    Foreign,
    /// A cursor of another release.
    #[error("the cursor comes from another version of the program; start again without one")]
    Layout,
}

impl ListCursor {
    /// A cursor of `list` under `filter` that goes on at `inner`.
    #[must_use]
    pub fn encode(list: &str, filter: &impl Serialize, inner: &[u8]) -> String {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + inner.len());
        let bound = bound_to(list, filter);
        bytes.push(LAYOUT);
        bytes.extend_from_slice(&checksum(bound, inner).to_be_bytes());
        bytes.extend_from_slice(&bound.to_be_bytes());
        bytes.extend_from_slice(inner);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The position in a cursor of `list` under `filter`.
    ///
    /// # Errors
    /// When it is damaged, or belongs to another list or filter.
    pub fn decode(
        list: &str,
        filter: &impl Serialize,
        text: &str,
    ) -> Result<Vec<u8>, ListCursorError> {
        if text.len() > (HEAD_BYTES + CURSOR_BYTES) * 4 / 3 + 4 {
            return Err(ListCursorError::Damaged);
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| ListCursorError::Damaged)?;
        let (&[layout], rest) = bytes.split_first_chunk::<1>().ok_or(ListCursorError::Damaged)?;
        if layout != LAYOUT {
            return Err(ListCursorError::Layout);
        }
        let (sum, rest) = rest.split_first_chunk::<8>().ok_or(ListCursorError::Damaged)?;
        let (bound, inner) = rest.split_first_chunk::<4>().ok_or(ListCursorError::Damaged)?;
        let bound = u32::from_be_bytes(*bound);
        // Damage first: only an undamaged cursor can say where it belongs.
        if u64::from_be_bytes(*sum) != checksum(bound, inner) {
            return Err(ListCursorError::Damaged);
        }
        if bound != bound_to(list, filter) {
            return Err(ListCursorError::Foreign);
        }
        Ok(inner.to_vec())
    }

    /// A cursor of `list` under `filter` that goes on behind `place`.
    #[must_use]
    pub fn behind(list: &str, filter: &impl Serialize, place: &impl Serialize) -> String {
        // A place that cannot be written down makes a cursor that is refused.
        Self::encode(list, filter, &serde_json::to_vec(place).unwrap_or_default())
    }

    /// The place behind which a cursor of `list` under `filter` goes on.
    ///
    /// # Errors
    /// When it is damaged, or belongs to another list or filter.
    pub fn place<T: DeserializeOwned>(
        list: &str,
        filter: &impl Serialize,
        text: &str,
    ) -> Result<T, ListCursorError> {
        let inner = Self::decode(list, filter, text)?;
        serde_json::from_slice(&inner).map_err(|_| ListCursorError::Damaged)
    }
}

fn bound_to(list: &str, filter: &impl Serialize) -> u32 {
    let mut hash = Xxh3::new();
    hash.update(&(list.len() as u64).to_be_bytes());
    hash.update(list.as_bytes());
    // A filter that cannot be written down is the same for all its cursors: none is bound to it.
    hash.update(&serde_json::to_vec(filter).unwrap_or_default());
    let [high, low] = [hash.digest() >> 32, hash.digest()].map(|half| half as u32);
    high ^ low
}

fn checksum(bound: u32, inner: &[u8]) -> u64 {
    let mut hash = Xxh3::with_seed(u64::from(LAYOUT));
    hash.update(&bound.to_be_bytes());
    hash.update(inner);
    hash.digest()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Filter {
        chain: Option<&'static str>,
        order: u8,
    }

    const FILTER: Filter = Filter { chain: Some("conflux"), order: 1 };

    #[test]
    fn a_cursor_comes_back_in_its_own_list() {
        for inner in [&b""[..], b"x", &[0; CURSOR_BYTES]] {
            let text = ListCursor::encode("projects", &FILTER, inner);
            assert!(text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b)));
            assert_eq!(ListCursor::decode("projects", &FILTER, &text).as_deref(), Ok(inner));
        }
    }

    #[test]
    fn a_place_comes_back_and_nothing_else_does() {
        let place = (7_u64, "here".to_owned());
        let text = ListCursor::behind("projects", &FILTER, &place);
        assert_eq!(ListCursor::place("projects", &FILTER, &text), Ok(place));
        let other = ListCursor::place::<u8>("projects", &FILTER, &text);
        assert_eq!(other, Err(ListCursorError::Damaged));
        let foreign = ListCursor::place::<(u64, String)>("events", &FILTER, &text);
        assert_eq!(foreign, Err(ListCursorError::Foreign));
    }

    #[test]
    fn other_lists_and_filters_are_refused_with_a_remedy() {
        let text = ListCursor::encode("projects", &FILTER, b"here");
        let filters = [
            Filter { chain: None, ..FILTER },
            Filter { chain: Some("eth"), ..FILTER },
            Filter { order: 0, ..FILTER },
        ];
        for filter in &filters {
            let found = ListCursor::decode("projects", filter, &text);
            assert_eq!(found, Err(ListCursorError::Foreign));
        }
        let error = ListCursor::decode("events", &FILTER, &text).expect_err("another list");
        assert!(error.to_string().contains("start again"), "{error}");
    }

    #[test]
    fn every_damaged_cursor_is_refused() {
        let text = ListCursor::encode("projects", &FILTER, b"here");
        for at in 0..text.len() {
            for with in [b'A', b'-', b'9'] {
                let mut bytes = text.clone().into_bytes();
                if bytes[at] == with {
                    continue;
                }
                bytes[at] = with;
                let wrong = String::from_utf8(bytes).expect("ASCII");
                assert!(ListCursor::decode("projects", &FILTER, &wrong).is_err(), "{wrong}");
            }
            assert!(ListCursor::decode("projects", &FILTER, &text[..at]).is_err());
        }
        for wrong in ["", "?", "AA", &"A".repeat(5000), "é"] {
            assert!(ListCursor::decode("projects", &FILTER, wrong).is_err(), "{wrong}");
        }
    }
}
