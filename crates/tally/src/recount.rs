//! Counting anew from the entries, while others go on counting.

use store::{PageRequest, Read, ReadError, Store, Version};

use crate::attempt::Attempts;
use crate::name::Part;
use crate::read::{Sums, shards};
use crate::tables::{Counted, Record, RowName, SHARDS, Shard, Sum};
use crate::{SumError, Tallies, Tally, Values, limits};

/// What the entries add up to beside what the sums say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recount {
    /// From the entries.
    pub counted: Sums,
    /// From the sum rows.
    pub stored: Sums,
    /// Parts whose sums are not those of their entries.
    pub drifted: u64,
}

impl Recount {
    /// Whether all are equal. Anything else is damage: nothing this crate does leads there.
    #[must_use]
    pub fn agrees(&self) -> bool {
        self.counted == self.stored && self.drifted == 0
    }
}

impl Tallies {
    /// Adds up all entries of a tally again. Each shard is seen at one moment, also while it is
    /// being written; it reads every entry, so it is for checks and not for pages.
    ///
    /// # Errors
    /// When a sum overflows, a shard changes faster than it can be read, or the store fails.
    pub async fn recount(&self, tally: &Tally) -> Result<Recount, SumError> {
        let mut recount = Recount::default();
        let Some(row) = self.row(tally).await? else { return Ok(recount) };
        for shard in shards(tally, &row) {
            let added = recount_shard(&self.inner.store, &shard).await?;
            let overflow = |column| SumError::Overflow { tally: tally.to_string(), column };
            recount.counted.add(&added.all.counted).map_err(overflow)?;
            recount.stored.add(&added.all.stored.unwrap_or_default()).map_err(overflow)?;
            recount.drifted += added.drifted.len() as u64;
        }
        Ok(recount)
    }
}

/// Sums of the entries and stored sums of one shard, at one moment.
pub(crate) async fn recount_shard(store: &Store, shard: &Shard) -> Result<Adding, SumError> {
    let tally = || shard.tally.to_string();
    let mut attempts = Attempts::default();
    loop {
        if let Some(found) = try_recount(store, shard).await? {
            return Ok(found);
        }
        let waited = attempts.again().await;
        waited.map_err(|attempts| SumError::Busy { tally: tally(), attempts })?;
    }
}

/// Reads a shard page by page; none when it changed between two pages.
async fn try_recount(store: &Store, shard: &Shard) -> Result<Option<Adding>, SumError> {
    let mut adding = Adding::default();
    let mut version: Option<Version> = None;
    let mut cursor = None;
    loop {
        let first = PageRequest::first(limits::PAGE);
        let request = PageRequest { cursor, read: Read::Serial, ..first };
        let listing = store.page(&SHARDS, shard, request).await?;
        if *version.get_or_insert(listing.version) != listing.version {
            return Ok(None);
        }
        for (name, record) in listing.rows {
            adding.see(&name, record).map_err(|problem| problem.into_error(&shard.tally))?;
        }
        cursor = listing.next;
        if cursor.is_none() {
            adding.end_part();
            return Ok(Some(adding));
        }
    }
}

/// Adds up the rows of one shard, in their order.
#[derive(Debug, Default)]
pub(crate) struct Adding {
    pub(crate) all: Added,
    /// The part whose rows are being read.
    part: Option<(Part, Added)>,
    /// Parts that drifted, in words.
    pub(crate) drifted: Vec<String>,
}

/// What entries add up to beside what a sum row says.
#[derive(Debug, Default)]
pub(crate) struct Added {
    pub(crate) counted: Sum,
    /// None until the sum row is seen.
    pub(crate) stored: Option<Sum>,
}

/// A row that cannot be added.
#[derive(Debug)]
pub(crate) enum Problem {
    Overflow(usize),
    Kind(store::DecodeError),
}

impl Problem {
    fn into_error(self, tally: &Tally) -> SumError {
        match self {
            Self::Overflow(column) => SumError::Overflow { tally: tally.to_string(), column },
            Self::Kind(error) => SumError::Read(ReadError::from(error)),
        }
    }
}

impl Adding {
    pub(crate) fn see(&mut self, name: &RowName, record: Record) -> Result<(), Problem> {
        let sum = |record| Record::sum(Some(record)).map_err(Problem::Kind);
        match name {
            RowName::Sum => self.all.stored = Some(sum(record)?),
            RowName::Part(part) => self.part(part).stored = Some(sum(record)?),
            RowName::Entry(entry) => {
                let counted = record.entry().map_err(Problem::Kind)?;
                if let Some(part) = &entry.part {
                    self.part(part).add(&counted)?;
                }
                self.all.add(&counted)?;
            }
            // Never a row.
            RowName::EndOf(_) => {}
        }
        Ok(())
    }

    fn part(&mut self, part: &Part) -> &mut Added {
        if self.part.as_ref().is_none_or(|(current, _)| current != part) {
            self.end_part();
        }
        &mut self.part.get_or_insert_with(|| (part.clone(), Added::default())).1
    }

    /// What differs between sums and entries, in words, after the last row.
    pub(crate) fn drifts(&self) -> impl Iterator<Item = String> + '_ {
        self.all.drift().into_iter().chain(self.drifted.iter().cloned())
    }

    /// Whether the sum row says that no entries are added any more.
    pub(crate) fn is_sealed(&self) -> bool {
        self.all.stored.as_ref().is_some_and(|sum| sum.sealed)
    }

    /// No row of the last part comes any more.
    pub(crate) fn end_part(&mut self) {
        let Some((part, added)) = self.part.take() else { return };
        self.drifted.extend(added.drift().map(|drift| format!("part {part:?}: {drift}")));
    }
}

impl Added {
    fn add(&mut self, counted: &Counted) -> Result<(), Problem> {
        self.counted.entries += 1;
        let values = self.counted.values.replace(&Values::default(), &counted.values);
        self.counted.values = values.map_err(Problem::Overflow)?;
        Ok(())
    }

    /// What differs between entries and sum, in words.
    fn drift(&self) -> Option<String> {
        let nothing = Sum::default();
        let (counted, stored) = (&self.counted, self.stored.as_ref().unwrap_or(&nothing));
        let equal = counted.values == stored.values && counted.entries == stored.entries;
        (!equal).then(|| {
            let show =
                |sum: &Sum| format!("{:?} of {} entries", sum.values.as_slice(), sum.entries);
            format!("the sum row says {}, the entries add up to {}", show(stored), show(counted))
        })
    }
}
