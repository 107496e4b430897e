//! What is counted is written down, so that all processes count the same.
//!
//! While a newer program with one calculation more takes over from an older one, the older one
//! would leave it out. So it counts nothing any more as soon as the newer one has written its name
//! down: its messages go to whoever can count them. Taking a program back takes its calculations
//! off the list; when it comes again, they are counted again from the beginning.

use crate::guarded;
use crate::notes::LASTING;
use crate::staking::{Staking, StakingError};
use crate::tables::{BACKFILLS, Backfill, Recorded, SETTINGS};

impl Staking {
    /// Writes down what this program counts, and nothing else. To be called when it starts.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn adopt(&self) -> Result<(), StakingError> {
        self.record(|_| Vec::new()).await
    }

    /// Writes down what this program counts beside what others do, because one that is older may
    /// have started since.
    pub(crate) async fn widen(&self) -> Result<(), StakingError> {
        self.record(<[String]>::to_vec).await
    }

    /// Whether this program counts all that is counted.
    pub(crate) async fn agree(&self) -> Result<(), StakingError> {
        let own = self.own();
        let known = self.recorded().await?.calculations;
        let foreign = known.into_iter().find(|word| !own.contains(&word.as_str()));
        foreign.map_or(Ok(()), |word| Err(StakingError::Outdated(word)))
    }

    fn own(&self) -> Vec<&'static str> {
        self.inner.settings.calculations.iter().map(|calculation| calculation.word()).collect()
    }

    async fn recorded(&self) -> Result<Recorded, StakingError> {
        Ok(self.inner.store.get(&SETTINGS, &(), &()).await?.unwrap_or_default())
    }

    /// Writes down what is counted: what `kept` keeps of what was, and what this program counts.
    async fn record(&self, kept: impl Fn(&[String]) -> Vec<String>) -> Result<(), StakingError> {
        let own = self.own();
        let known = self.recorded().await?.calculations;
        let new = own.iter().filter(|word| !known.iter().any(|it| it == *word));
        // First: a crash in between counts once more, and never too little.
        for word in new {
            self.begin_again(word, !known.is_empty()).await?;
        }
        guarded::change(&self.inner.store, &SETTINGS, (&(), &()), |found| {
            let before: Recorded = found.unwrap_or_default();
            let mut calculations = kept(&before.calculations);
            calculations.extend(own.iter().map(|word| (*word).to_owned()));
            calculations.sort_unstable();
            calculations.dedup();
            let after = Recorded { calculations, ..before.clone() };
            Ok::<_, StakingError>(((after != before).then_some(after), ()))
        })
        .await
    }

    /// Lets a calculation count everything. Where others count already, it waits until none of them
    /// is in the middle of something that it does not count.
    async fn begin_again(&self, word: &str, has_others: bool) -> Result<(), StakingError> {
        let from = if has_others { self.inner.clock.now() + LASTING } else { 0 };
        guarded::change(&self.inner.store, &BACKFILLS, (&(), &word.to_owned()), |found| {
            let again = Backfill { from, ..Backfill::default() };
            let is_needed = has_others || found.is_some();
            Ok::<_, StakingError>((is_needed.then_some(again), ()))
        })
        .await
    }
}
