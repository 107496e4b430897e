//! Reads: sums of all shards, single entries, pages of entries.

use serde::{Deserialize, Serialize};
use store::{PageRequest, ReadError, limits as store_limits};

use crate::generations::Generations;
use crate::name::Entry;
use crate::tables::{Counted, GENERATIONS, Record, RowName, SHARDS, Shard, Sum, shard_of};
use crate::{LimitError, SumError, Tallies, Tally, Values, limits};

/// Shards that one page looks into at the most, so that a page of an empty tally ends soon.
const SHARDS_OF_A_PAGE: usize = 64;

/// What a tally adds up to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// The sums of the values.
    pub values: Values,
    /// Entries that were ever set.
    pub entries: u64,
}

impl Sums {
    pub(crate) fn add(&mut self, sum: &Sum) -> Result<(), usize> {
        self.values = self.values.plus(&sum.values)?;
        self.entries += sum.entries;
        Ok(())
    }
}

/// Entries of a tally and where to go on.
#[derive(Clone, Debug, Default)]
pub struct EntryPage {
    /// Entries and what they count, in no order that means something.
    pub entries: Vec<(Vec<u8>, Counted)>,
    /// Where the next page begins; none at the end. A page may be short and not the last.
    pub next: Option<Position>,
}

/// A place between two entries of a tally.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    generation: u16,
    shard: u16,
    behind: Option<Vec<u8>>,
}

impl Tallies {
    /// The sums of a tally: every set that was acknowledged before the call is in them. On an
    /// engine of several machines the shards are read one by one, so sets that are acknowledged
    /// during the call may be in or not.
    ///
    /// # Errors
    /// When the sums overflow together, or the store cannot be read.
    pub async fn sums(&self, tally: &Tally) -> Result<Sums, SumError> {
        let sums = self.sums_many(std::slice::from_ref(tally)).await?;
        Ok(sums.into_iter().next().unwrap_or_default())
    }

    /// The sums of many tallies in few reads, one answer per tally, in their order.
    ///
    /// # Errors
    /// When the sums of one overflow, or the store cannot be read.
    pub async fn sums_many(&self, tallies: &[Tally]) -> Result<Vec<Sums>, SumError> {
        let mut sums = vec![Sums::default(); tallies.len()];
        let mut keys = Vec::new();
        for (index, row) in self.rows(tallies).await?.into_iter().enumerate() {
            let (Some(row), Some(tally)) = (row, tallies.get(index)) else { continue };
            keys.extend(shards(tally, &row).map(|shard| (index, shard)));
        }
        for batch in keys.chunks(store_limits::GET_KEYS) {
            let rows: Vec<_> = batch.iter().map(|(_, s)| (s.clone(), RowName::Sum)).collect();
            let found = self.inner.store.get_many(&SHARDS, &rows).await?;
            for ((index, shard), found) in batch.iter().zip(found) {
                let sum = Record::sum(found).map_err(ReadError::from)?;
                let Some(total) = sums.get_mut(*index) else { continue };
                let tally = || shard.tally.to_string();
                total.add(&sum).map_err(|column| SumError::Overflow { tally: tally(), column })?;
            }
        }
        Ok(sums)
    }

    /// What an entry counts; none when it was never set.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn entry(&self, tally: &Tally, entry: &[u8]) -> Result<Option<Counted>, ReadError> {
        // What can never be set is not there.
        let Ok(entry) = Entry::new(entry) else { return Ok(None) };
        let row = self.rows(std::slice::from_ref(tally)).await?.into_iter().next().flatten();
        let Some(row) = row else { return Ok(None) };
        let key = |(generation, shards)| {
            let number = shard_of(&entry, shards);
            let shard = Shard { tally: tally.clone(), generation, number };
            (shard, RowName::Entry(entry.clone()))
        };
        let keys: Vec<_> = row.all().map(key).collect();
        let found = self.inner.store.get_many(&SHARDS, &keys).await?;
        Ok(found.into_iter().flatten().next().map(Record::entry).transpose()?)
    }

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
        LimitError::check("entries of a page", limit, 1, limits::PAGE)?;
        let row = self.rows(std::slice::from_ref(tally)).await?.into_iter().next().flatten();
        let mut page = EntryPage::default();
        let Some(row) = row else { return Ok(page) };
        let from = from.unwrap_or_default();
        let start = (from.generation, from.shard);
        let all = shards(tally, &row).skip_while(|s| (s.generation, s.number) < start);
        let mut behind = from.behind;
        for (looked, shard) in all.enumerate() {
            let (generation, number) = (shard.generation, shard.number);
            let room = limit.saturating_sub(page.entries.len());
            if room == 0 || looked == SHARDS_OF_A_PAGE {
                page.next = Some(Position { generation, shard: number, behind: None });
                break;
            }
            let more = self.entries_of(&shard, behind.take(), room, &mut page).await?;
            if more {
                let behind = page.entries.last().map(|(entry, _)| entry.clone());
                page.next = Some(Position { generation, shard: number, behind });
                break;
            }
        }
        Ok(page)
    }

    /// Adds entries of one shard to a page, and says whether there are more.
    async fn entries_of(
        &self,
        shard: &Shard,
        behind: Option<Vec<u8>>,
        room: usize,
        page: &mut EntryPage,
    ) -> Result<bool, ReadError> {
        let behind = behind.map_or(RowName::Sum, |entry| RowName::Entry(Entry(entry.into())));
        let from = std::ops::Bound::Excluded(behind);
        let request = PageRequest { from, ..PageRequest::first(room) };
        let listing = self.inner.store.page(&SHARDS, shard, request).await?;
        for (name, record) in listing.rows {
            let RowName::Entry(entry) = name else { continue };
            page.entries.push((entry.0.to_vec(), record.entry()?));
        }
        Ok(listing.next.is_some())
    }

    /// The rows of tallies, as readers see them.
    pub(crate) async fn rows(
        &self,
        tallies: &[Tally],
    ) -> Result<Vec<Option<Generations>>, ReadError> {
        let mut rows = Vec::with_capacity(tallies.len());
        for batch in tallies.chunks(store_limits::GET_KEYS) {
            let keys: Vec<_> = batch.iter().map(|tally| (tally.clone(), ())).collect();
            rows.extend(self.inner.store.get_many(&GENERATIONS, &keys).await?);
        }
        Ok(rows)
    }
}

/// All shards of a tally, oldest generation first.
pub(crate) fn shards<'a>(
    tally: &'a Tally,
    generations: &'a Generations,
) -> impl Iterator<Item = Shard> + 'a {
    generations.all().flat_map(move |(generation, shards)| {
        (0..shards).map(move |number| Shard { tally: tally.clone(), generation, number })
    })
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
