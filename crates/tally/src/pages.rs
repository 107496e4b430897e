//! Pages of entries, of a whole tally or of one part of it.

use std::ops::Bound;

use serde::{Deserialize, Serialize};
use store::{KeyPart as _, KeyReader, PageRequest, ReadError};

use crate::name::Part;
use crate::read::{homes, shards};
use crate::tables::{Counted, RowName, SHARDS, Shard};
use crate::{LimitError, Tallies, Tally, limits};

/// Shards that one page looks into at the most, so that a page of an empty tally ends soon.
const SHARDS_OF_A_PAGE: usize = 64;

/// Entries of a tally and where to go on.
#[derive(Clone, Debug, Default)]
pub struct EntryPage {
    /// Entries and what they count, in no order that means something; those of all parts.
    pub entries: Vec<(Vec<u8>, Counted)>,
    /// Where the next page begins; none at the end. A page may be short and not the last.
    pub next: Option<Position>,
}

/// A place between two entries of a tally.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    generation: u16,
    shard: u16,
    /// The name of a row of the shard, as its key has it.
    behind: Option<Vec<u8>>,
}

/// Rows of a shard.
#[derive(Clone, Debug)]
struct Rows {
    from: RowName,
    to: Bound<RowName>,
}

impl Tallies {
    /// At most `limit` entries behind `from`, which is none at the start. Entries that are set for
    /// the first time between two pages may be missing.
    ///
    /// # Errors
    /// When the limit is out of range, or the store cannot be read.
    pub async fn entries(
        &self,
        tally: &Tally,
        from: Option<Position>,
        limit: usize,
    ) -> Result<EntryPage, EntriesError> {
        let Some(row) = self.row(tally).await? else { return Ok(EntryPage::default()) };
        let rows = Rows { from: RowName::Sum, to: Bound::Unbounded };
        self.page_of(shards(tally, &row), &rows, from, limit).await
    }

    /// The same of one part. Its entries are in the order of their keys, unless it has more of them
    /// than a shard.
    ///
    /// # Errors
    /// When the limit is out of range, or the store cannot be read.
    pub async fn part_entries(
        &self,
        tally: &Tally,
        part: &[u8],
        from: Option<Position>,
        limit: usize,
    ) -> Result<EntryPage, EntriesError> {
        let Some(row) = self.row(tally).await? else { return Ok(EntryPage::default()) };
        let name = Part::new(part)?;
        let to = Bound::Excluded(RowName::EndOf(name.clone()));
        let rows = Rows { from: RowName::Part(name), to };
        self.page_of(homes(tally, &row, part), &rows, from, limit).await
    }

    /// Entries among the same rows of some shards.
    async fn page_of(
        &self,
        shards: impl Iterator<Item = Shard>,
        rows: &Rows,
        from: Option<Position>,
        limit: usize,
    ) -> Result<EntryPage, EntriesError> {
        LimitError::check("entries of a page", limit, 1, limits::PAGE)?;
        let mut page = EntryPage::default();
        let from = from.unwrap_or_default();
        let start = (from.generation, from.shard);
        let mut behind = from.behind;
        let rest = shards.skip_while(|shard| (shard.generation, shard.number) < start);
        for (looked, shard) in rest.enumerate() {
            let (generation, number) = (shard.generation, shard.number);
            let room = limit.saturating_sub(page.entries.len());
            if room == 0 || looked == SHARDS_OF_A_PAGE {
                page.next = Some(Position { generation, shard: number, behind: None });
                break;
            }
            let mut rows = rows.clone();
            // A place in a shard that this page does not begin in says nothing of this one.
            if let Some(name) = behind.take().filter(|_| (generation, number) == start) {
                rows.from = KeyReader::whole(&name).map_err(ReadError::from)?;
            }
            if let Some(last) = self.entries_of(&shard, rows, room, &mut page).await? {
                let mut behind = Vec::with_capacity(last.size());
                last.encode(&mut behind);
                page.next = Some(Position { generation, shard: number, behind: Some(behind) });
                break;
            }
        }
        Ok(page)
    }

    /// Adds entries of one shard to a page, and says behind which row there are more.
    async fn entries_of(
        &self,
        shard: &Shard,
        Rows { from, to }: Rows,
        room: usize,
        page: &mut EntryPage,
    ) -> Result<Option<RowName>, ReadError> {
        let request = PageRequest { from: Bound::Excluded(from), to, ..PageRequest::first(room) };
        let listing = self.inner.store.page(&SHARDS, shard, request).await?;
        let last = listing.rows.last().map(|(name, _)| name.clone());
        for (name, record) in listing.rows {
            let RowName::Entry(entry) = name else { continue };
            page.entries.push((entry.key.to_vec(), record.entry()?));
        }
        Ok(last.filter(|_| listing.next.is_some()))
    }
}

/// Why a page of entries could not be read.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EntriesError {
    /// A limit.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// The store could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}
