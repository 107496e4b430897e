//! Writes what follows from changed delegations: sums, lists, boards.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use index::{Place, PlaceError};
use store::{PageRequest, Row, Sequenced};
use tally::{Set, SetError, Sums};

use crate::delegation::Delegation;
use crate::derive::{Calculation, by_staker, sets, stakers};
use crate::staking::{Staking, StakingError};
use crate::tables::{BOARD, BOARD_LISTS, BY_STAKER, DIRECTORY, Directory, Standing};
use crate::{PublicKey, TxHash, address, query};

/// How often the sums of a staker are read anew when others change them meanwhile.
const READINGS: usize = 20;
/// Stakers whose sums are read at a time: each is two rows.
const STAKERS: usize = 4_000;

/// A delegation that changed.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) hash: TxHash,
    pub(crate) before: Delegation,
    pub(crate) after: Delegation,
}

impl Staking {
    /// Counts what changed. Repeating is always right.
    pub(crate) async fn settle(
        &self,
        changes: &[Change],
        calculations: &[Calculation],
    ) -> Result<(), StakingError> {
        let mut counts = Vec::new();
        let (mut stretches, mut of_stakers) = (BTreeSet::new(), BTreeSet::new());
        let mut rows = Vec::new();
        for Change { hash, before, after } in changes {
            let sets = sets(*hash, before, after, calculations)?;
            counts.extend(sets.counts);
            stretches.extend(sets.stretches);
            let Some(staked) = after.staked.as_ref().filter(|_| sets.of_staker) else { continue };
            of_stakers.insert(staked.staker);
            if before.staked.is_none() {
                let place = Sequenced(staked.staker.0, staked.start.0);
                rows.push(BY_STAKER.row(&place, &(staked.start.0, hash.0), &())?);
            }
        }
        rows.extend(self.address_rows(&of_stakers)?);
        let (listed, counted) = tokio::join!(
            self.list(Directory::Heights, stretches, rows),
            self.inner.tallies.set_many(counts)
        );
        listed?;
        for answer in counted {
            let _ = answer?;
        }
        let of_stakers: Vec<PublicKey> = of_stakers.into_iter().collect();
        for stakers in of_stakers.chunks(STAKERS) {
            self.rank_stakers(stakers).await?;
        }
        self.addressed().learn(of_stakers);
        Ok(())
    }

    /// Puts rows, and those of the directory that name them.
    pub(crate) async fn list(
        &self,
        directory: Directory,
        keys: impl IntoIterator<Item = u64>,
        mut rows: Vec<Row>,
    ) -> Result<(), StakingError> {
        let keys = keys.into_iter().map(|key| (directory, key));
        let new: Vec<_> = keys.filter(|key| !self.listed().knows(key)).collect();
        for (directory, key) in &new {
            rows.push(DIRECTORY.row(&(*directory as u8), key, &())?);
        }
        if !rows.is_empty() {
            self.inner.store.put(rows).await?;
        }
        self.listed().learn(new);
        Ok(())
    }

    /// What the directory names, ascending.
    pub(crate) async fn directory(&self, directory: Directory) -> Result<Vec<u64>, StakingError> {
        let (mut keys, mut cursor) = (Vec::new(), None);
        loop {
            let request = PageRequest { cursor, ..PageRequest::first(10_000) };
            let page = self.inner.store.page(&DIRECTORY, &(directory as u8), request).await?;
            keys.extend(page.rows.into_iter().map(|(key, ())| key));
            cursor = page.next;
            if cursor.is_none() {
                return Ok(keys);
            }
        }
    }

    /// Addresses lead to their staker; rows that are known to be there are not written again.
    fn address_rows(&self, stakers: &BTreeSet<PublicKey>) -> Result<Vec<Row>, StakingError> {
        let mut rows = Vec::new();
        for staker in stakers.iter().filter(|staker| !self.addressed().knows(staker)) {
            rows.extend(address::rows(*staker)?);
        }
        Ok(rows)
    }

    /// Places stakers by their sums, and counts who they are. The ranks of a staker's delegations
    /// add up to a rank of the sums; sums that others change while they are read are read again.
    async fn rank_stakers(&self, keys: &[PublicKey]) -> Result<(), StakingError> {
        let mut keys = keys.to_vec();
        for reading in 1.. {
            let parts: Vec<[u8; 32]> = keys.iter().map(|key| key.0).collect();
            let sums = self.inner.tallies.part_sums(&by_staker()?, &parts).await?;
            let standings: Vec<(PublicKey, u64, Standing)> = (keys.iter().zip(&sums))
                .filter_map(|(key, sums)| standing(sums).map(|(rank, at)| (*key, rank, at)))
                .filter(|(_, _, standing)| standing.total_delegations > 0)
                .collect();
            match self.place_stakers(&standings).await {
                Err(error) if reading < READINGS && is_torn(&error) => {}
                done => return done,
            }
            keys = standings.into_iter().map(|(key, _, _)| key).collect();
        }
        Ok(())
    }

    async fn place_stakers(
        &self,
        standings: &[(PublicKey, u64, Standing)],
    ) -> Result<(), StakingError> {
        let tally = stakers()?;
        let (mut sets, mut places) = (Vec::new(), BTreeMap::<u8, Vec<_>>::new());
        for (PublicKey(key), rank, standing) in standings {
            let is_active = i128::from(standing.active_delegations > 0);
            sets.push(Set::new(&tally, key, *rank, &[1, is_active])?);
            let list = board_list(PublicKey(*key));
            let place = Place::at(*key, *rank, Reverse(standing.active_tvl), *standing);
            places.entry(list).or_default().push((list, place));
        }
        let place = async {
            let lists = places.into_values().map(|places| async move {
                self.inner.lists.place_many(&BOARD, &places).await.map(drop)
            });
            futures_util::future::try_join_all(lists).await
        };
        let (counted, placed) = tokio::join!(self.inner.tallies.set_many(sets), place);
        placed?;
        for answer in counted {
            let _ = answer?;
        }
        Ok(())
    }
}

/// The list of the board that a staker is in.
pub(crate) fn board_list(PublicKey(key): PublicKey) -> u8 {
    key.first().copied().unwrap_or_default() % BOARD_LISTS
}

/// Whether sums were read while others changed them, so that one rank has two meanings.
fn is_torn(error: &StakingError) -> bool {
    matches!(
        error,
        StakingError::Set(SetError::Differs { .. })
            | StakingError::Place(PlaceError::Differs { .. })
    )
}

/// Rank and sums of a staker; none when there is nothing.
fn standing(sums: &Sums) -> Option<(u64, Standing)> {
    let rank = u64::try_from(sums.values.get(4)).unwrap_or_default();
    (rank > 0).then(|| (rank, query::standing(sums)))
}
