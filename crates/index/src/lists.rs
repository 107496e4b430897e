//! Placing: read the list's head and entries, decide, commit; again if others were faster.

use std::collections::BTreeMap;

use store::{Commit, CommitError, KeyPart, Store, Value, Version};

use crate::error::PlaceError;
use crate::ids::new_op;
use crate::list::{List, ListDef};
use crate::place::{Judgement, Place, Placed, RawPlace, Standing};
use crate::place::{changes, cut, differs, judge, merge};
use crate::retry::Attempts;
use crate::slot::{Cell, Counts, ListKey, Slot};

/// Places entries and reads lists. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Lists {
    pub(crate) store: Store,
}

/// What an attempt saw of the list.
struct Seen {
    version: Version,
    counts: Counts,
    standings: Vec<Option<Standing>>,
}

impl Lists {
    /// Lists in `store`.
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self { store }
    }

    /// Moves one entry of one list, if the rank is higher than the stored one.
    ///
    /// Entry, row and counts change in one commit. Repeating is always right, also after an error.
    ///
    /// # Errors
    /// When the rank was given to another sort key or payload, when the list is full, when others
    /// are always faster, or when the store fails.
    pub async fn place<K: KeyPart, E: KeyPart, S: KeyPart, V: Value>(
        &self,
        list: &'static List<K, E, S, V>,
        key: &K,
        place: &Place<E, S, V>,
    ) -> Result<Placed, PlaceError> {
        self.place_one(list.def(), &ListKey::of(key), list.raw(place)).await
    }

    /// Moves entries of several lists, grouped: one commit per list (and per 333 entries). Returns
    /// how many moved.
    ///
    /// A commit is whole or not at all, and an error ends the call: what was committed before it
    /// stays, and repeating the whole call is right.
    ///
    /// # Errors
    /// As [`Lists::place`].
    pub async fn place_many<K: KeyPart, E: KeyPart, S: KeyPart, V: Value>(
        &self,
        list: &'static List<K, E, S, V>,
        places: &[(K, Place<E, S, V>)],
    ) -> Result<u64, PlaceError> {
        let mut groups: BTreeMap<ListKey, Vec<RawPlace>> = BTreeMap::new();
        for (key, place) in places {
            groups.entry(ListKey::of(key)).or_default().push(list.raw(place));
        }
        let mut moved = 0;
        for (key, group) in groups {
            for commit in cut(merge(list.def(), group)?) {
                moved += self.place_group(list.def(), &key, &commit).await?;
            }
        }
        Ok(moved)
    }

    pub(crate) async fn place_one(
        &self,
        list: &'static ListDef,
        key: &ListKey,
        place: RawPlace,
    ) -> Result<Placed, PlaceError> {
        let group = merge(list, [place])?;
        let moved = self.place_group(list, key, &group).await?;
        Ok(if moved == 0 { Placed::Unchanged } else { Placed::Moved })
    }

    /// One commit, retried while others are faster.
    async fn place_group(
        &self,
        list: &'static ListDef,
        key: &ListKey,
        group: &[RawPlace],
    ) -> Result<u64, PlaceError> {
        let mut attempts = Attempts::default();
        loop {
            let failed = match self.try_group(list, key, group).await {
                // After an unknown outcome the next attempt finds either its own ranks, and has
                // nothing to do, or the list as it was. Whatever was in flight cannot land after
                // it: it expects a version that the next commit passes.
                Err(PlaceError::Commit(
                    error @ (CommitError::Conflict { .. } | CommitError::Unknown(_)),
                )) => error,
                settled => return settled,
            };
            if !attempts.again().await {
                return Err(match failed {
                    CommitError::Conflict { .. } => {
                        PlaceError::Contended { list: list.table().name() }
                    }
                    unknown => unknown.into(),
                });
            }
        }
    }

    async fn try_group(
        &self,
        list: &'static ListDef,
        key: &ListKey,
        group: &[RawPlace],
    ) -> Result<u64, PlaceError> {
        let Seen { version, counts, standings } = self.look(list, key, group).await?;
        let mut moves = Vec::new();
        let mut compare = Vec::new();
        for (place, standing) in group.iter().zip(standings) {
            match judge(standing.as_ref(), place) {
                Judgement::Move => moves.push((place, standing)),
                Judgement::Keep => {}
                Judgement::Compare => compare.push(place),
                Judgement::Differs => return Err(differs(list, place)),
            }
        }
        self.compare_payloads(list, key, &compare).await?;
        if moves.is_empty() {
            return Ok(0);
        }
        let commit = Commit {
            table: list.table(),
            partition: list.cells().partition(key)?,
            expected: version,
            changes: changes(list, key, counts, &moves)?,
            op: new_op()?,
            result: bytes::Bytes::new(),
        };
        self.store.commit(commit).await?;
        Ok(moves.len() as u64)
    }

    /// The head with its version first, then the entries.
    ///
    /// The entries may be younger than the head. That is harmless: then the commit, which expects
    /// the head's version, fails; and where there is nothing to commit a younger rank only says so
    /// more firmly, because ranks never fall.
    async fn look(
        &self,
        list: &'static ListDef,
        key: &ListKey,
        group: &[RawPlace],
    ) -> Result<Seen, PlaceError> {
        let cells = list.cells();
        let head = self.store.get_versioned(cells, key, &Slot::head()).await?;
        let slots: Vec<_> =
            group.iter().map(|place| (key.clone(), Slot::entry(&place.entry))).collect();
        let found = self.store.get_many(cells, &slots).await?;
        let standings = found.into_iter().map(|cell| cell.map(Cell::entry).transpose());
        Ok(Seen {
            version: head.version,
            counts: Cell::head(head.value)?,
            standings: standings.collect::<Result<_, _>>()?,
        })
    }

    /// Duplicates must bring the payload that stands there.
    async fn compare_payloads(
        &self,
        list: &'static ListDef,
        key: &ListKey,
        places: &[&RawPlace],
    ) -> Result<(), PlaceError> {
        if places.is_empty() {
            return Ok(());
        }
        let slots: Vec<_> = (places.iter())
            .filter_map(|place| place.at.as_ref().map(|(sort, _)| Slot::row(sort, &place.entry)))
            .map(|slot| (key.clone(), slot))
            .collect();
        let found = self.store.get_many(list.cells(), &slots).await?;
        for (place, cell) in places.iter().zip(found) {
            let Some((rank, payload)) = cell.map(Cell::row).transpose()? else { continue };
            let given = place.at.as_ref().map(|(_, payload)| payload);
            // Another rank: the entry moved on since it was read, and this placement is too late.
            if rank == place.rank && Some(&payload) != given {
                return Err(differs(list, place));
            }
        }
        Ok(())
    }
}
