//! `set`: from events to shards, round after round until every event is decided.

use std::sync::Arc;

use store::{ReadError, limits as store_limits};

use crate::gather::{gather, group};
use crate::generations::Generations;
use crate::plan::{Answer, Why};
use crate::set::Set;
use crate::tables::{RowName, SHARDS, Shard, shard_of};
use crate::tallies::Inner;
use crate::{Outcome, SetError, Tallies, Tally, limits};

/// Rounds of one call. A round that does not end it has found a new generation, or raised one.
const ROUNDS: usize = 2 * limits::GENERATIONS;

/// A set and its place in the call.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) index: usize,
    pub(crate) set: Set,
}

type Decided = Vec<(usize, Result<Outcome, SetError>)>;

impl Tallies {
    /// `entry` counts `values`, if `rank` is higher than the rank it has.
    ///
    /// # Errors
    /// On a limit, other values under the same rank, an overflow, or a failing store.
    pub async fn set(
        &self,
        tally: &Tally,
        entry: &[u8],
        rank: u64,
        values: &[i128],
    ) -> Result<Outcome, SetError> {
        self.set_one(Set::new(tally, entry, rank, values)?).await
    }

    /// `entry` counts `values` from now on: its rank is the stored one + 1, taken inside the
    /// commit. When it has these values already, nothing changes, so repeating is harmless.
    ///
    /// # Errors
    /// On a limit, an overflow, or a failing store.
    pub async fn set_next(
        &self,
        tally: &Tally,
        entry: &[u8],
        values: &[i128],
    ) -> Result<Outcome, SetError> {
        self.set_one(Set::next(tally, entry, values)?).await
    }

    /// Many sets of any tallies: one commit per shard for up to [`limits::GROUP`] of them, shards
    /// at the same time. One answer per set, in their order; a set that fails holds up no other.
    /// Sets of one entry take effect in their order.
    pub async fn set_many(&self, sets: Vec<Set>) -> Vec<Result<Outcome, SetError>> {
        let mut answers: Vec<Result<Outcome, SetError>> = Vec::with_capacity(sets.len());
        answers.resize_with(sets.len(), || Err(SetError::Unknown(unanswered())));
        let items = sets.into_iter().enumerate();
        let tallies = group(items.map(|(index, set)| (set.tally.clone(), Item { index, set })));
        let work = tallies.into_iter().map(|(tally, items)| {
            let inner = self.inner.clone();
            async move { inner.set_tally(&tally, items).await }
        });
        let decided = gather(self.inner.settings.in_flight, work).await.unwrap_or_default();
        for (index, answer) in decided.into_iter().flatten() {
            if let Some(slot) = answers.get_mut(index) {
                *slot = answer;
            }
        }
        answers
    }

    async fn set_one(&self, set: Set) -> Result<Outcome, SetError> {
        let tally = set.tally.clone();
        let decided = self.inner.set_tally(&tally, vec![Item { index: 0, set }]).await;
        let first = decided.into_iter().next();
        first.map_or_else(|| Err(SetError::Unknown(unanswered())), |(_, answer)| answer)
    }
}

fn unanswered() -> store::EngineError {
    store::EngineError::new("the set was not decided before the program ended", "set again")
}

impl Inner {
    /// Sets entries of one tally.
    async fn set_tally(self: &Arc<Self>, tally: &Tally, mut waiting: Vec<Item>) -> Decided {
        let mut decided = Vec::with_capacity(waiting.len());
        for _ in 0..ROUNDS {
            let indexes: Vec<usize> = waiting.iter().map(|item| item.index).collect();
            match self.round(tally, waiting, &mut decided).await {
                Ok(rest) if rest.is_empty() => return decided,
                Ok(rest) => waiting = rest,
                Err(error) => {
                    fail(indexes, &error, &mut decided);
                    return decided;
                }
            }
        }
        let attempts = u32::try_from(ROUNDS).unwrap_or(u32::MAX);
        let indexes = waiting.iter().map(|item| item.index).collect();
        fail(indexes, &SetError::Contended { attempts }, &mut decided);
        decided
    }

    /// Writes what can be written into the generations there are, and gives back new entries that
    /// must begin in a newer one, which is open then.
    async fn round(
        self: &Arc<Self>,
        tally: &Tally,
        items: Vec<Item>,
        decided: &mut Decided,
    ) -> Result<Vec<Item>, SetError> {
        let generations = self.generations(tally).await?;
        let shards = group(self.place(tally, &generations, items).await?);
        let work = shards.into_iter().map(|(shard, items)| {
            let inner = self.clone();
            async move { inner.write_shard(&shard, items).await }
        });
        let written = gather(self.settings.in_flight, work).await.map_err(SetError::Unknown)?;
        let mut rest = Vec::new();
        let mut why = Why::Sealed;
        for (item, answer) in written.into_iter().flatten() {
            match answer {
                Answer::Done(result) => decided.push((item.index, result)),
                Answer::Elsewhere(reason) => {
                    why = why.max(reason);
                    rest.push(item);
                }
            }
        }
        if !rest.is_empty() {
            self.newer(tally, generations.newest().0, why).await?;
        }
        Ok(rest)
    }

    /// The shard of each item: where the entry is, if a sealed generation has it, else its shard in
    /// the newest.
    async fn place(
        &self,
        tally: &Tally,
        generations: &Generations,
        items: Vec<Item>,
    ) -> Result<Vec<(Shard, Item)>, ReadError> {
        let sealed: Vec<(u16, u16)> = generations.sealed().collect();
        let newest = generations.newest();
        let mut placed = Vec::with_capacity(items.len());
        let batch = store_limits::GET_KEYS / sealed.len().max(1);
        let mut items = items.into_iter().peekable();
        while items.peek().is_some() {
            let batch: Vec<Item> = items.by_ref().take(batch).collect();
            let mut keys = Vec::with_capacity(batch.len() * sealed.len());
            for item in &batch {
                keys.extend(sealed.iter().map(|generation| {
                    let shard = shard(tally, *generation, item);
                    (shard, RowName::Entry(item.set.entry.clone()))
                }));
            }
            let found = if keys.is_empty() {
                Vec::new()
            } else {
                self.store.get_many(&SHARDS, &keys).await?
            };
            let mut found = found.into_iter();
            for item in batch {
                // All answers of the item are taken, so that the next item meets its own.
                let home = sealed.iter().zip(found.by_ref().take(sealed.len()));
                let home = home.filter(|(_, row)| row.is_some()).map(|(home, _)| *home).last();
                placed.push((shard(tally, home.unwrap_or(newest), &item), item));
            }
        }
        Ok(placed)
    }
}

fn shard(tally: &Tally, (generation, shards): (u16, u16), item: &Item) -> Shard {
    Shard { tally: tally.clone(), generation, number: shard_of(item.set.entry.home(), shards) }
}

/// Gives `error` to every set that has no answer yet.
fn fail(indexes: Vec<usize>, error: &SetError, decided: &mut Decided) {
    let answered: std::collections::HashSet<usize> =
        decided.iter().map(|(index, _)| *index).collect();
    let open = indexes.into_iter().filter(|index| !answered.contains(index));
    decided.extend(open.map(|index| (index, Err(error.clone()))));
}
