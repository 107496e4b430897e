//! One event on its way into a tally, and what became of it.

use crate::name::Entry;
use crate::{Counted, LimitError, Tally, Values};

/// A rank, given by the caller or taken inside the commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    At(u64),
    Next,
}

/// What an entry is to count, for [`Tallies::set_many`](crate::Tallies::set_many).
#[derive(Clone, Debug)]
pub struct Set {
    pub(crate) tally: Tally,
    pub(crate) entry: Entry,
    pub(crate) rank: Rank,
    pub(crate) values: Values,
}

impl Set {
    /// `entry` counts `values`, if `rank` is higher than the rank it has.
    ///
    /// # Errors
    /// When the entry is empty or too long, or the values are too many.
    pub fn new(
        tally: &Tally,
        entry: &[u8],
        rank: u64,
        values: &[i128],
    ) -> Result<Self, LimitError> {
        Self::build(tally, None, entry, Rank::At(rank), values)
    }

    /// The same for an entry of a part: it counts in the sums of the tally and of the part. The
    /// same entry in another part is another entry.
    ///
    /// # Errors
    /// When the part or the entry is empty or too long, or the values are too many.
    pub fn of_part(
        tally: &Tally,
        part: &[u8],
        entry: &[u8],
        rank: u64,
        values: &[i128],
    ) -> Result<Self, LimitError> {
        Self::build(tally, Some(part), entry, Rank::At(rank), values)
    }

    /// `entry` counts `values` from now on: its rank is the stored one + 1, or 1.
    ///
    /// # Errors
    /// When the entry is empty or too long, or the values are too many.
    pub fn next(tally: &Tally, entry: &[u8], values: &[i128]) -> Result<Self, LimitError> {
        Self::build(tally, None, entry, Rank::Next, values)
    }

    fn build(
        tally: &Tally,
        part: Option<&[u8]>,
        entry: &[u8],
        rank: Rank,
        values: &[i128],
    ) -> Result<Self, LimitError> {
        let (entry, values) = (Entry::new(part, entry)?, Values::new(values)?);
        Ok(Self { tally: tally.clone(), entry, rank, values })
    }
}

/// What a set did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    /// The entry counts with these values now.
    Counted {
        /// Its rank now.
        rank: u64,
        /// What it counted before; none when it is new.
        before: Option<Counted>,
    },
    /// It counted just so already. Nothing changed.
    Duplicate {
        /// Its rank.
        rank: u64,
    },
    /// A higher rank was there before. Nothing changed.
    Late {
        /// The rank that is there.
        rank: u64,
    },
}

impl Outcome {
    /// The rank the entry has now.
    #[must_use]
    pub fn rank(&self) -> u64 {
        match self {
            Self::Counted { rank, .. } | Self::Duplicate { rank } | Self::Late { rank } => *rank,
        }
    }

    /// Whether this set changed the entry.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        matches!(self, Self::Counted { .. })
    }
}
