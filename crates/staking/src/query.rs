//! Answers: statistics, delegations, stakers, finality providers, lock records.

use std::cmp::Reverse;
use std::ops::Bound;

use store::{Order, PageRequest, Sequenced};
use tally::{Counted, Position, Sums};

use crate::delegation::{Delegation, State};
use crate::derive::{self, Calculation, STRETCH};
use crate::event::Staked;
use crate::staking::{Staking, StakingError};
use crate::tables::{
    ADDRESSES, BOARD, BOARD_LISTS, BY_STAKER, DELEGATIONS, DIRECTORY, Directory, STAKER_BUCKET,
    Standing,
};
use crate::{PublicKey, TxHash};

/// Rows of one page at the most.
pub const PAGE: usize = 100;
/// Delegations that a filtered page looks at before it ends early.
const LOOKED_AT: usize = 10_000;
/// Finality providers at the most: they are ordered in memory.
pub const PROVIDERS: usize = 20_000;

/// Statistics of everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overall {
    /// Sums of all delegations.
    pub standing: Standing,
    /// Stakers there ever were.
    pub total_stakers: u64,
    /// Stakers that have something staked.
    pub active_stakers: u64,
    /// Confirmed and unconfirmed together, by the indexer.
    pub unconfirmed_tvl: u64,
    /// Of these, what is not confirmed yet.
    pub pending_tvl: u64,
    /// The height of Bitcoin.
    pub height: u64,
}

/// A delegation of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The hash of its staking transaction.
    pub hash: TxHash,
    /// What is known of it.
    pub delegation: Delegation,
}

/// A page of a list, and behind what the next one begins.
#[derive(Clone, Debug)]
pub struct ListPage<T, P> {
    /// The rows.
    pub rows: Vec<T>,
    /// None at the end. A page may be short and not the last.
    pub next: Option<P>,
}

/// A place in a list by height.
pub type StakerPlace = (u64, [u8; 32]);
/// A place in a list by what is staked.
pub type RankPlace = (u64, [u8; 32]);

/// Which of the paper's two states a lock record is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockState {
    /// The stake was added.
    Active,
    /// It was subtracted.
    Unbonded,
}

impl Staking {
    /// Statistics of everything.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn overall(&self) -> Result<Overall, StakingError> {
        let tallies = [derive::overall()?, derive::stakers()?];
        let sums = self.inner.tallies.sums_many(&tallies).await?;
        let bitcoin = self.bitcoin().await?;
        let (standing, stakers) = match sums.as_slice() {
            [overall, stakers] => (standing(overall), stakers.clone()),
            _ => Default::default(),
        };
        let info = bitcoin.info;
        Ok(Overall {
            standing,
            total_stakers: count(&stakers, 0),
            active_stakers: count(&stakers, 1),
            unconfirmed_tvl: info.map_or(0, |info| info.unconfirmed_tvl),
            pending_tvl: info
                .map_or(0, |info| info.unconfirmed_tvl.saturating_sub(info.confirmed_tvl)),
            height: bitcoin.height,
        })
    }

    /// A delegation by the hash of its staking transaction; also one of which only later steps are
    /// known.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn delegation(&self, hash: TxHash) -> Result<Option<Delegation>, StakingError> {
        let found = self.inner.store.get(&DELEGATIONS, &hash.0, &()).await?;
        Ok(found.filter(|delegation| *delegation != Delegation::default()))
    }

    /// Sums of a staker; none when there is no such staker.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn staker(&self, key: PublicKey) -> Result<Option<Standing>, StakingError> {
        let sums = self.inner.tallies.part_sums(&derive::by_staker()?, &[key.0]).await?;
        Ok(sums.first().filter(|sums| sums.entries > 0).map(standing))
    }

    /// Sums of a finality provider; none when nobody ever staked with it.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn provider(&self, key: PublicKey) -> Result<Option<Standing>, StakingError> {
        let sums = self.inner.tallies.part_sums(&derive::by_provider()?, &[key.0]).await?;
        Ok(sums.first().filter(|sums| sums.entries > 0).map(standing))
    }

    /// Finality providers by what is staked with them, then by key.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn providers(
        &self,
        after: Option<RankPlace>,
        limit: usize,
    ) -> Result<ListPage<(PublicKey, Standing), RankPlace>, StakingError> {
        let mut all = self.all_providers().await?;
        all.sort_unstable_by_key(|(PublicKey(key), standing)| (Reverse(standing.active_tvl), *key));
        let behind = |(PublicKey(key), standing): &(PublicKey, Standing)| {
            after.is_none_or(|(tvl, last)| {
                (Reverse(standing.active_tvl), *key) > (Reverse(tvl), last)
            })
        };
        Ok(cut(all.into_iter().filter(behind), limit))
    }

    /// All finality providers, in no order.
    pub(crate) async fn all_providers(&self) -> Result<Vec<(PublicKey, Standing)>, StakingError> {
        let (tally, mut position) = (derive::providers()?, None);
        let mut keys: Vec<[u8; 32]> = Vec::new();
        loop {
            let page = self.inner.tallies.entries(&tally, position, 1000).await?;
            keys.extend(page.entries.iter().filter_map(|(k, _)| <[u8; 32]>::try_from(&k[..]).ok()));
            position = page.next;
            if position.is_none() || keys.len() >= PROVIDERS {
                break;
            }
        }
        let sums = self.inner.tallies.part_sums(&derive::by_provider()?, &keys).await?;
        Ok(keys.into_iter().map(PublicKey).zip(sums.iter().map(standing)).collect())
    }

    /// Stakers by what they have staked, then by key.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn stakers(
        &self,
        after: Option<RankPlace>,
        limit: usize,
    ) -> Result<ListPage<(PublicKey, Standing), RankPlace>, StakingError> {
        let limit = limit.clamp(1, PAGE);
        let pages = (0..BOARD_LISTS).map(|list| self.board_page(list, after, limit));
        let pages = futures_util::future::try_join_all(pages).await?;
        let mut rows: Vec<(PublicKey, Standing)> = pages.into_iter().flatten().collect();
        rows.sort_unstable_by_key(|(PublicKey(key), standing)| {
            (Reverse(standing.active_tvl), *key)
        });
        Ok(cut(rows.into_iter(), limit))
    }

    /// Rows of one list of the board behind a place: one more than a page, so that its end is seen.
    async fn board_page(
        &self,
        list: u8,
        after: Option<RankPlace>,
        limit: usize,
    ) -> Result<Vec<(PublicKey, Standing)>, StakingError> {
        let lists = &self.inner.lists;
        let page = match after {
            None => lists.page(&BOARD, &list, PageRequest::first(limit + 1)).await?,
            Some((tvl, key)) => {
                lists.page_behind(&BOARD, &list, (&Reverse(tvl), &key), limit + 1).await?
            }
        };
        Ok(page.rows.into_iter().map(|row| (PublicKey(row.entry), row.payload)).collect())
    }

    /// Delegations of a staker in one of the states (in any, if there are none), newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn staker_delegations(
        &self,
        key: PublicKey,
        states: &[State],
        after: Option<StakerPlace>,
        limit: usize,
    ) -> Result<ListPage<Listed, StakerPlace>, StakingError> {
        let limit = limit.clamp(1, PAGE);
        // A cursor may name any height; there are no stakes above this one.
        let highest = self.highest().await?;
        let highest = after.map_or(highest, |(height, _)| height.min(highest));
        let mut page = ListPage { rows: Vec::new(), next: None };
        let mut looked = 0;
        for bucket in (0..=highest / STAKER_BUCKET).rev() {
            let place = Sequenced(key.0, bucket * STAKER_BUCKET);
            let to = after.map_or(Bound::Unbounded, Bound::Excluded);
            let mut cursor = None;
            loop {
                let request =
                    PageRequest { to, cursor, order: Order::Descending, ..PageRequest::last(100) };
                let found = self.inner.store.page(&BY_STAKER, &place, request).await?;
                looked += found.rows.len();
                let hashes: Vec<StakerPlace> = found.rows.into_iter().map(|(at, ())| at).collect();
                for (at, delegation) in self.delegations(&hashes).await? {
                    let state = delegation.state();
                    let wanted = states.is_empty() || state.is_some_and(|s| states.contains(&s));
                    if !wanted {
                        continue;
                    }
                    if page.rows.len() == limit {
                        page.next = page.rows.last().map(place_of);
                        return Ok(page);
                    }
                    page.rows.push(Listed { hash: TxHash(at.1), delegation });
                }
                if looked >= LOOKED_AT && !hashes.is_empty() {
                    page.next = hashes.last().copied();
                    return Ok(page);
                }
                cursor = found.next;
                if cursor.is_none() {
                    break;
                }
            }
        }
        Ok(page)
    }

    async fn delegations(
        &self,
        places: &[StakerPlace],
    ) -> Result<Vec<(StakerPlace, Delegation)>, StakingError> {
        let keys: Vec<_> = places.iter().map(|(_, hash)| (*hash, ())).collect();
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let found = self.inner.store.get_many(&DELEGATIONS, &keys).await?;
        let found = places.iter().zip(found).filter_map(|(at, found)| Some((*at, found?)));
        Ok(found.collect())
    }

    /// A height that no stake is above.
    async fn highest(&self) -> Result<u64, StakingError> {
        let kind = Directory::Heights as u8;
        let last = self.inner.store.page(&DIRECTORY, &kind, PageRequest::last(1)).await?;
        Ok(last.rows.first().map_or(0, |(stretch, ())| (stretch + 1) * STRETCH))
    }

    /// Delegations with a finality provider, in no order that means something.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn provider_delegations(
        &self,
        key: PublicKey,
        from: Option<Position>,
        limit: usize,
    ) -> Result<ListPage<Listed, Position>, StakingError> {
        let (tally, limit) = (derive::by_provider()?, limit.clamp(1, PAGE));
        let page = self.inner.tallies.part_entries(&tally, &key.0, from, limit).await?;
        let hashes = page.entries.iter().filter_map(|(key, _)| key.as_slice().try_into().ok());
        let places: Vec<StakerPlace> = hashes.map(|hash| (0, hash)).collect();
        let found = self.delegations(&places).await?.into_iter();
        let rows = found.map(|((_, hash), delegation)| Listed { hash: TxHash(hash), delegation });
        Ok(ListPage { rows: rows.collect(), next: page.next })
    }

    /// The staker of an address, by its lookup key.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn staker_of(&self, lookup: Vec<u8>) -> Result<Option<PublicKey>, StakingError> {
        Ok(self.inner.store.get(&ADDRESSES, &lookup, &()).await?)
    }

    /// Which calculations were performed for a delegation in a state, as the sums themselves have
    /// it; none when the delegation is not known.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn lock(
        &self,
        hash: TxHash,
        state: LockState,
    ) -> Result<Option<Vec<(Calculation, bool)>>, StakingError> {
        let Some(delegation) = self.delegation(hash).await? else { return Ok(None) };
        let Some(staked) = &delegation.staked else { return Ok(None) };
        let mut performed = Vec::new();
        for calculation in Calculation::ALL {
            let counted = self.counted_in(calculation, hash, staked).await?;
            let done = match state {
                LockState::Active => counted.is_some(),
                // A stake that never counted has nothing to subtract, and that is done at once.
                LockState::Unbonded => {
                    let is_out = delegation.counts().active == 0;
                    let by_height = calculation == Calculation::Heights;
                    is_out && counted.is_some_and(|at| by_height || at.values.get(2) == 0)
                }
            };
            performed.push((calculation, done));
        }
        Ok(Some(performed))
    }

    /// What a calculation counts of a delegation.
    async fn counted_in(
        &self,
        calculation: Calculation,
        hash: TxHash,
        staked: &Staked,
    ) -> Result<Option<Counted>, StakingError> {
        let (tallies, entry) = (&self.inner.tallies, &hash.0);
        Ok(match calculation {
            Calculation::OverallStats => tallies.entry(&derive::overall()?, entry).await?,
            Calculation::FinalityProvider => {
                tallies.part_entry(&derive::by_provider()?, &staked.provider.0, entry).await?
            }
            Calculation::Staker => {
                tallies.part_entry(&derive::by_staker()?, &staked.staker.0, entry).await?
            }
            Calculation::Heights => {
                let begins = derive::entry_of(staked.start, derive::Turn::Begins, hash);
                let part = derive::part_of(staked.start.0 / STRETCH);
                tallies.part_entry(&derive::by_stretch()?, &part, &begins).await?
            }
        })
    }
}

fn place_of(listed: &Listed) -> StakerPlace {
    let start = listed.delegation.staked.as_ref().map_or(0, |staked| staked.start.0);
    (start, listed.hash.0)
}

/// The first rows, and behind what the next page begins.
fn cut(
    rows: impl Iterator<Item = (PublicKey, Standing)>,
    limit: usize,
) -> ListPage<(PublicKey, Standing), RankPlace> {
    let limit = limit.clamp(1, PAGE);
    let mut rows: Vec<_> = rows.take(limit + 1).collect();
    let more = rows.len() > limit;
    rows.truncate(limit);
    let last = rows.last().filter(|_| more);
    let next = last.map(|(PublicKey(key), standing)| (standing.active_tvl, *key));
    ListPage { rows, next }
}

fn count(sums: &Sums, column: usize) -> u64 {
    u64::try_from(sums.values.get(column)).unwrap_or_default()
}

/// The sums as they are shown.
pub(crate) fn standing(sums: &Sums) -> Standing {
    Standing {
        active_tvl: count(sums, 0),
        total_tvl: count(sums, 1),
        active_delegations: count(sums, 2),
        total_delegations: count(sums, 3),
    }
}
