//! How many shards a tally has and had, and the two steps in which that number grows.
//!
//! ```text
//! [16]  ──begin(32)──▶  [16] raising 32  ──finish──▶  [16, 32]
//!                            │
//!                            every shard of the 16 is sealed in between
//! ```

use serde::{Deserialize, Serialize};
use store::serde_value;

use crate::{RaiseError, limits};

/// The row of a tally: the shards of each generation, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Generations {
    shards: Vec<u16>,
    /// The number of shards of the next generation, while the newest is being sealed. It stands
    /// here so that whoever finds a raise half done can finish it as it was meant.
    raising: Option<u16>,
}
serde_value!(Generations, format 1);

impl Generations {
    /// A new tally.
    pub(crate) fn first(shards: u16) -> Self {
        Self { shards: vec![shards], raising: None }
    }

    /// Number and shards of the generation that takes new entries.
    pub(crate) fn newest(&self) -> (u16, u16) {
        let number = self.shards.len().saturating_sub(1);
        (index(number), self.shards.last().copied().unwrap_or(1))
    }

    /// Number and shards of all generations, oldest first.
    pub(crate) fn all(&self) -> impl DoubleEndedIterator<Item = (u16, u16)> + '_ {
        self.shards.iter().enumerate().map(|(number, shards)| (index(number), *shards))
    }

    /// Generations that take no new entries: absence there is final.
    pub(crate) fn sealed(&self) -> impl DoubleEndedIterator<Item = (u16, u16)> + '_ {
        let newest = self.newest().0;
        self.all().filter(move |(number, _)| *number < newest)
    }

    /// Shards of a generation.
    pub(crate) fn shards(&self, generation: u16) -> Option<u16> {
        self.shards.get(usize::from(generation)).copied()
    }

    /// The shards of the next generation while the newest is being sealed.
    pub(crate) fn raising(&self) -> Option<u16> {
        self.raising
    }

    /// The first step towards `shards`; none when there is nothing to raise.
    pub(crate) fn begin(&self, shards: u16) -> Result<Option<Self>, RaiseError> {
        let current = self.newest().1;
        if shards < current {
            return Err(RaiseError::Lower { asked: shards, current });
        }
        if shards > limits::SHARDS {
            return Err(RaiseError::TooMany { asked: shards, limit: limits::SHARDS });
        }
        if shards == current {
            return Ok(None);
        }
        self.begin_next(shards).map(Some)
    }

    /// The first step towards as many shards again.
    pub(crate) fn begin_again(&self) -> Result<Self, RaiseError> {
        self.begin_next(self.newest().1)
    }

    fn begin_next(&self, shards: u16) -> Result<Self, RaiseError> {
        if self.shards.len() >= limits::GENERATIONS {
            return Err(RaiseError::Generations { limit: limits::GENERATIONS });
        }
        Ok(Self { raising: Some(shards), ..self.clone() })
    }

    /// The last step: the next generation opens. None when no raise is on its way.
    pub(crate) fn finish(&self) -> Option<Self> {
        let mut next = self.clone();
        next.shards.push(next.raising.take()?);
        Some(next)
    }

    /// What is wrong with a row that was read, if anything.
    pub(crate) fn damage(&self) -> Option<&'static str> {
        if self.shards.is_empty() || self.shards.contains(&0) {
            return Some("a generation without shards");
        }
        (!self.shards.is_sorted()).then_some("a generation with fewer shards than the one before")
    }

    /// The row that takes the most bytes.
    #[cfg(test)]
    pub(crate) fn widest() -> Self {
        Self { shards: vec![u16::MAX; limits::GENERATIONS], raising: Some(u16::MAX) }
    }
}

/// Generations are few; see [`limits::GENERATIONS`].
fn index(number: usize) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raising_takes_two_steps() {
        let first = Generations::first(4);
        assert_eq!((first.newest(), first.sealed().count()), ((0, 4), 0));
        let begun = first.begin(8).expect("higher").expect("a change");
        assert_eq!((begun.newest(), begun.raising()), ((0, 4), Some(8)));
        let done = begun.finish().expect("begun");
        assert_eq!((done.newest(), done.raising()), ((1, 8), None));
        assert_eq!(done.sealed().collect::<Vec<_>>(), [(0, 4)]);
        assert_eq!((done.shards(0), done.shards(1), done.shards(2)), (Some(4), Some(8), None));
        assert_eq!(done.finish(), None);
    }

    #[test]
    fn lowering_and_raising_beyond_the_limits_are_refused() {
        let first = Generations::first(4);
        assert!(matches!(first.begin(4), Ok(None)));
        assert!(matches!(first.begin(3), Err(RaiseError::Lower { asked: 3, current: 4 })));
        assert!(matches!(first.begin(limits::SHARDS + 1), Err(RaiseError::TooMany { .. })));
        let mut many = first;
        for shards in 5..4 + u16::try_from(limits::GENERATIONS).expect("a few") {
            many = many.begin(shards).expect("higher").expect("a change").finish().expect("begun");
        }
        assert!(matches!(many.begin(1000), Err(RaiseError::Generations { .. })));
    }

    #[test]
    fn damage_is_seen() {
        let row = |shards: &[u16]| Generations { shards: shards.to_vec(), raising: None };
        assert_eq!(row(&[4, 8]).damage(), None);
        for bad in [&[][..], &[0], &[8, 4]] {
            assert!(row(bad).damage().is_some(), "{bad:?}");
        }
    }
}
