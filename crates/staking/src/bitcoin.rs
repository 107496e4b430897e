//! Where Bitcoin is, and which timelocks have passed there.

use serde::{Deserialize, Serialize};

use crate::derive::{STRETCH, Turn, by_stretch, of_entry, part_of};
use crate::event::{Step, Timelock};
use crate::guarded;
use crate::staking::{Staking, StakingError};
use crate::tables::{BITCOIN, Directory};
use crate::{BATCH, BtcHeight, TxHash};

/// Entries of a stretch that are read at a time.
const PAGE: usize = 1_000;

/// Where Bitcoin is. Each part moves forward only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bitcoin {
    /// The highest height that anybody told of.
    pub height: u64,
    /// What the indexer says is staked.
    pub info: Option<Info>,
    /// What the indexer says is staked and confirmed.
    pub confirmed: Option<Confirmed>,
    /// Timelocks up to this height have passed, and delegations know it.
    pub expired: u64,
}
store::serde_value!(Bitcoin, format 1);

/// What the indexer says is staked, at a height.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Info {
    /// The height.
    pub height: u64,
    /// Confirmed, satoshi.
    pub confirmed_tvl: u64,
    /// Confirmed and unconfirmed together, satoshi.
    pub unconfirmed_tvl: u64,
}

/// What the indexer says is staked and confirmed, at a height.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirmed {
    /// The height.
    pub height: u64,
    /// Satoshi.
    pub tvl: u64,
}

impl Bitcoin {
    /// Learns of a height.
    pub(crate) fn rise(&mut self, BtcHeight(height): BtcHeight) {
        self.height = self.height.max(height);
    }

    /// Learns what the indexer says. What it said of a higher height stays.
    pub(crate) fn inform(&mut self, info: Info) {
        self.rise(BtcHeight(info.height));
        if self.info.is_none_or(|known| known.height < info.height) {
            self.info = Some(info);
        }
    }

    /// Learns what the indexer says is confirmed. What it said of a higher height stays.
    pub(crate) fn confirm(&mut self, confirmed: Confirmed) {
        self.rise(BtcHeight(confirmed.height));
        if self.confirmed.is_none_or(|known| known.height < confirmed.height) {
            self.confirmed = Some(confirmed);
        }
    }
}

impl Staking {
    /// Where Bitcoin is.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn bitcoin(&self) -> Result<Bitcoin, StakingError> {
        Ok(self.inner.store.get(&BITCOIN, &(), &()).await?.unwrap_or_default())
    }

    /// Learns that Bitcoin is at a height; whether that is news.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn reach(&self, height: BtcHeight) -> Result<bool, StakingError> {
        self.learn(|bitcoin| bitcoin.rise(height)).await
    }

    /// Changes the row; whether there was anything to change.
    pub(crate) async fn learn(
        &self,
        change: impl Fn(&mut Bitcoin) + Send + Sync,
    ) -> Result<bool, StakingError> {
        let news = guarded::change(&self.inner.store, &BITCOIN, (&(), &()), |found| {
            let before: Bitcoin = found.unwrap_or_default();
            let mut after = before;
            change(&mut after);
            let news = after != before;
            Ok::<_, StakingError>((news.then_some(after), news))
        });
        let news = news.await?;
        if news {
            self.inner.risen.notify_one();
        }
        Ok(news)
    }

    /// Lets delegations know of all timelocks that have passed; how many there were.
    ///
    /// Repeating is harmless, and so is doing it in several processes. What is staked while this
    /// runs, with a timelock that has passed, is seen by whoever stakes it: it looks at the height
    /// again after the timelock can be found here.
    ///
    /// # Errors
    /// When the store fails; what was done stays done.
    pub async fn expire(&self) -> Result<u64, StakingError> {
        let bitcoin = self.bitcoin().await?;
        if bitcoin.expired >= bitcoin.height {
            return Ok(0);
        }
        let height = BtcHeight(bitcoin.height);
        let mut expired = 0;
        let stretches = self.directory(Directory::Heights).await?;
        let first = bitcoin.expired / STRETCH;
        for stretch in stretches.into_iter().filter(|stretch| *stretch >= first) {
            if stretch * STRETCH > height.0 {
                break;
            }
            expired += self.expire_stretch(stretch, bitcoin.expired, height).await?;
        }
        self.learn(|bitcoin| bitcoin.expired = bitcoin.expired.max(height.0)).await?;
        Ok(expired)
    }

    async fn expire_stretch(
        &self,
        stretch: u64,
        above: u64,
        upto: BtcHeight,
    ) -> Result<u64, StakingError> {
        let (tally, part) = (by_stretch()?, part_of(stretch));
        let (mut position, mut expired) = (None, 0);
        loop {
            let page = self.inner.tallies.part_entries(&tally, &part, position, PAGE).await?;
            let due: Vec<(TxHash, Step)> = (page.entries.iter())
                .filter_map(|(entry, _)| of_entry(entry))
                .filter(|(height, _, _)| *height <= upto && height.0 > above)
                .filter_map(|(_, turn, hash)| Some((hash, Step::Expired(timelock(turn)?))))
                .collect();
            for batch in due.chunks(BATCH) {
                expired += self.apply(batch.to_vec()).await?;
            }
            position = page.next;
            if position.is_none() {
                return Ok(expired);
            }
        }
    }
}

/// The timelock that passes at a turn.
fn timelock(turn: Turn) -> Option<Timelock> {
    match turn {
        Turn::Ends => Some(Timelock::Staking),
        Turn::Unbonded => Some(Timelock::Unbonding),
        Turn::Begins | Turn::Unbonds | Turn::Slashed => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_older_changes_nothing() {
        let mut bitcoin = Bitcoin::default();
        let info = |height, unconfirmed_tvl| Info { height, confirmed_tvl: 1, unconfirmed_tvl };
        bitcoin.inform(info(100, 5));
        for older in [info(99, 7), info(100, 8)] {
            bitcoin.inform(older);
            assert_eq!((bitcoin.height, bitcoin.info), (100, Some(info(100, 5))));
        }
        bitcoin.confirm(Confirmed { height: 90, tvl: 3 });
        bitcoin.confirm(Confirmed { height: 89, tvl: 4 });
        assert_eq!(bitcoin.confirmed, Some(Confirmed { height: 90, tvl: 3 }));
        bitcoin.rise(BtcHeight(50));
        assert_eq!(bitcoin.height, 100);
    }
}
