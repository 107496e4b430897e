//! Reads: sums of tallies and of their parts, and single entries.

use store::{ReadError, limits as store_limits};

use crate::generations::Generations;
use crate::name::{Entry, Part};
use crate::tables::{Counted, GENERATIONS, Record, RowName, SHARDS, Shard, Sum, shard_of};
use crate::{SumError, Tallies, Tally, Values};

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
        self.add_up(&mut sums, keys, |_| RowName::Sum).await?;
        Ok(sums)
    }

    /// The sums of parts of a tally, one answer per part, in their order.
    ///
    /// # Errors
    /// When the sums of one overflow, or the store cannot be read.
    pub async fn part_sums<P: AsRef<[u8]>>(
        &self,
        tally: &Tally,
        parts: &[P],
    ) -> Result<Vec<Sums>, SumError> {
        let mut sums = vec![Sums::default(); parts.len()];
        let Some(row) = self.row(tally).await? else { return Ok(sums) };
        let mut keys = Vec::with_capacity(parts.len());
        let mut names = Vec::with_capacity(parts.len());
        for (index, part) in parts.iter().enumerate() {
            names.push(Part(part.as_ref().to_vec().into()));
            keys.extend(homes(tally, &row, part.as_ref()).map(|shard| (index, shard)));
        }
        let name = |index: usize| names.get(index).cloned().map_or(RowName::Sum, RowName::Part);
        self.add_up(&mut sums, keys, name).await?;
        Ok(sums)
    }

    /// Adds rows of shards to the sums of their numbers.
    async fn add_up(
        &self,
        sums: &mut [Sums],
        shards: Vec<(usize, Shard)>,
        name: impl Fn(usize) -> RowName,
    ) -> Result<(), SumError> {
        for batch in shards.chunks(store_limits::GET_KEYS) {
            let rows: Vec<_> = batch.iter().map(|(i, shard)| (shard.clone(), name(*i))).collect();
            let found = self.inner.store.get_many(&SHARDS, &rows).await?;
            for ((index, shard), found) in batch.iter().zip(found) {
                let sum = Record::sum(found).map_err(ReadError::from)?;
                let Some(total) = sums.get_mut(*index) else { continue };
                let tally = || shard.tally.to_string();
                total.add(&sum).map_err(|column| SumError::Overflow { tally: tally(), column })?;
            }
        }
        Ok(())
    }

    /// What an entry counts; none when it was never set.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn entry(&self, tally: &Tally, entry: &[u8]) -> Result<Option<Counted>, ReadError> {
        self.entry_of(tally, None, entry).await
    }

    /// What an entry of a part counts; none when it was never set.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn part_entry(
        &self,
        tally: &Tally,
        part: &[u8],
        entry: &[u8],
    ) -> Result<Option<Counted>, ReadError> {
        self.entry_of(tally, Some(part), entry).await
    }

    async fn entry_of(
        &self,
        tally: &Tally,
        part: Option<&[u8]>,
        entry: &[u8],
    ) -> Result<Option<Counted>, ReadError> {
        // What can never be set is not there.
        let Ok(entry) = Entry::new(part, entry) else { return Ok(None) };
        let Some(row) = self.row(tally).await? else { return Ok(None) };
        let key = |shard| (shard, RowName::Entry(entry.clone()));
        let keys: Vec<_> = homes(tally, &row, entry.home()).map(key).collect();
        let found = self.inner.store.get_many(&SHARDS, &keys).await?;
        Ok(found.into_iter().flatten().next().map(Record::entry).transpose()?)
    }

    /// The row of a tally, as readers see it.
    pub(crate) async fn row(&self, tally: &Tally) -> Result<Option<Generations>, ReadError> {
        Ok(self.rows(std::slice::from_ref(tally)).await?.into_iter().next().flatten())
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

/// Where an entry or a part is, if it is there: one shard of each generation.
pub(crate) fn homes(
    tally: &Tally,
    generations: &Generations,
    home: &[u8],
) -> impl Iterator<Item = Shard> {
    generations.all().map(move |(generation, shards)| {
        let number = shard_of(home, shards);
        Shard { tally: tally.clone(), generation, number }
    })
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
