//! The rows of one answer to a range, packed.

use crate::Version;

/// Rows of one partition, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The partition's version, seen together with the rows.
    pub version: Version,
    /// Sort keys and values.
    pub rows: PageRows,
    /// Whether rows follow in this direction.
    pub more: bool,
}

/// Sort keys and values of a page, one after the other in one buffer.
///
/// Whoever asked for them decodes each once, so a counted reference to every cell would cost more
/// than the copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageRows {
    bytes: Vec<u8>,
    /// Where the sort key of each row ends, and where its value does.
    ends: Vec<(usize, usize)>,
}

impl PageRows {
    /// Room for so many rows of so many bytes together.
    #[must_use]
    pub fn with_capacity(rows: usize, bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), ends: Vec::with_capacity(rows) }
    }

    /// Adds a row.
    pub fn push(&mut self, sort: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(sort);
        let sort_end = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.ends.push((sort_end, self.bytes.len()));
    }

    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes of all sort keys and values.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Sort key and value of each row.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut start = 0;
        self.ends.iter().map(move |&(sort_end, end)| {
            let row = self.row(start, sort_end, end);
            start = end;
            row
        })
    }

    /// The last row.
    #[must_use]
    pub fn last(&self) -> Option<(&[u8], &[u8])> {
        let (sort_end, end) = *self.ends.last()?;
        let before = self.ends.len().checked_sub(2).and_then(|index| self.ends.get(index));
        Some(self.row(before.map_or(0, |(_, end)| *end), sort_end, end))
    }

    fn row(&self, start: usize, sort_end: usize, end: usize) -> (&[u8], &[u8]) {
        let cell = |from, to| self.bytes.get(from..to).unwrap_or_default();
        (cell(start, sort_end), cell(sort_end, end))
    }
}

impl<S: AsRef<[u8]>, V: AsRef<[u8]>> FromIterator<(S, V)> for PageRows {
    fn from_iter<I: IntoIterator<Item = (S, V)>>(rows: I) -> Self {
        let mut packed = Self::default();
        for (sort, value) in rows {
            packed.push(sort.as_ref(), value.as_ref());
        }
        packed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_out_as_they_went_in() {
        let rows: [(&[u8], &[u8]); 4] =
            [(b"a", b"first"), (b"", b""), (b"bc", b""), (b"", b"last")];
        let packed: PageRows = rows.into_iter().collect();
        assert_eq!(packed.iter().collect::<Vec<_>>(), rows);
        assert_eq!((packed.len(), packed.bytes()), (4, 12));
        assert_eq!(packed.last(), rows.last().copied());
        let one: PageRows = rows.into_iter().take(1).collect();
        assert_eq!(one.last(), rows.first().copied());
        assert_eq!(PageRows::default().last(), None);
        assert!(PageRows::default().is_empty() && !one.is_empty());
    }

    #[test]
    fn the_same_bytes_cut_otherwise_are_other_rows() {
        let packed = |rows: &[(&str, &str)]| rows.iter().copied().collect::<PageRows>();
        assert_ne!(packed(&[("a", "bc")]), packed(&[("ab", "c")]));
        assert_ne!(packed(&[("a", "b"), ("c", "d")]), packed(&[("a", "bcd")]));
    }
}
