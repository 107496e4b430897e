//! What a tally is called, and what is counted in it.

use std::fmt;
use std::sync::Arc;

use store::{DecodeError, KeyPart, KeyReader};

use crate::{LimitError, limits};

/// The name of a tally, 1 to [`limits::TALLY_BYTES`] bytes: `staking.overall`, or a service's name
/// with a project and an hour. All tallies of a store share two tables, so a name begins with its
/// service. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tally(Arc<Vec<u8>>);

impl Tally {
    /// A tally called by these bytes.
    ///
    /// # Errors
    /// When there are none, or too many.
    pub fn new(name: impl Into<Vec<u8>>) -> Result<Self, LimitError> {
        let name = name.into();
        LimitError::check("a tally's name", name.len(), 1, limits::TALLY_BYTES)?;
        Ok(Self(Arc::new(name)))
    }

    /// A tally called by a key of several parts, such as `("gateway.usage", project, hour)`.
    ///
    /// # Errors
    /// When the key is longer than a name may be.
    pub fn of(key: &impl KeyPart) -> Result<Self, LimitError> {
        let mut name = Vec::with_capacity(key.size());
        key.encode(&mut name);
        Self::new(name)
    }

    /// The bytes of the name.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        readable(&self.0, f)
    }
}

impl fmt::Debug for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        readable(&self.0, f)
    }
}

impl KeyPart for Tally {
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
    }
    fn size(&self) -> usize {
        self.0.size()
    }
    fn decode(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        Ok(Self(Arc::new(Vec::decode(reader)?)))
    }
}

/// The key of a part of a tally, 1 to [`limits::PART_BYTES`] bytes. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Part(pub(crate) Arc<Vec<u8>>);

impl Part {
    pub(crate) fn new(bytes: &[u8]) -> Result<Self, LimitError> {
        LimitError::check("a part", bytes.len(), 1, limits::PART_BYTES)?;
        Ok(Self(Arc::new(bytes.to_vec())))
    }
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        readable(&self.0, f)
    }
}

/// An entry inside its tally: a key of 1 to [`limits::ENTRY_BYTES`] bytes, and the part it belongs
/// to, if its tally has parts. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Entry {
    pub(crate) part: Option<Part>,
    pub(crate) key: Arc<Vec<u8>>,
}

impl Entry {
    pub(crate) fn new(part: Option<&[u8]>, key: &[u8]) -> Result<Self, LimitError> {
        LimitError::check("an entry", key.len(), 1, limits::ENTRY_BYTES)?;
        Ok(Self { part: part.map(Part::new).transpose()?, key: Arc::new(key.to_vec()) })
    }

    /// What its shard is a function of: the entries of a part stand together.
    pub(crate) fn home(&self) -> &[u8] {
        self.part.as_ref().map_or(&self.key, |Part(part)| part)
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(part) = &self.part {
            write!(f, "{part:?}/")?;
        }
        readable(&self.key, f)
    }
}

/// Text as it is, other bytes in hex.
fn readable(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if bytes.iter().all(u8::is_ascii_graphic) {
        return bytes.iter().try_for_each(|byte| write!(f, "{}", char::from(*byte)));
    }
    write!(f, "0x")?;
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bounded_and_readable() {
        for (name, shown) in [
            (b"staking.overall".to_vec(), Some("staking.overall")),
            (vec![0, 255], Some("0x00ff")),
            (vec![], None),
            (vec![b'a'; limits::TALLY_BYTES + 1], None),
        ] {
            let found = Tally::new(name).ok().map(|tally| tally.to_string());
            assert_eq!(found.as_deref(), shown);
        }
    }

    #[test]
    fn a_name_of_parts_keeps_them_apart() {
        let of = |service: &str, hour: u32| Tally::of(&(service.to_owned(), hour)).expect("short");
        assert_ne!(of("a", 1), of("a", 2));
        assert_ne!(of("ab", 1), of("a", 1));
        let long = "x".repeat(200);
        assert!(Tally::of(&(long, 1u32)).is_err());
    }
}
