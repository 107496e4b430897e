//! What a placement changes: a pure function of what stands in the list.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as MapEntry;

use store::{BoundError, Change, limits};

use crate::error::PlaceError;
use crate::ids::hex;
use crate::list::ListDef;
use crate::slot::{Cell, Counts, ListKey, Slot};

/// Placements in one commit: each changes at most three rows, and the head changes once.
pub(crate) const PLACES_PER_COMMIT: usize = (limits::COMMIT_CHANGES - 1) / 3;
/// Bytes of placements in one commit; the rest is for the old rows' keys and the head.
const BYTES_PER_COMMIT: usize = limits::COMMIT_BYTES - 64 * 1024;

/// Where an entry belongs from a rank on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place<E, S, V> {
    /// The entry.
    pub entry: E,
    /// Only a higher rank than the stored one changes anything.
    pub rank: u64,
    /// Sort key and payload; none takes the entry out of the order and keeps its rank.
    pub at: Option<(S, V)>,
}

impl<E, S, V> Place<E, S, V> {
    /// The entry stands at `sort`.
    pub fn at(entry: E, rank: u64, sort: S, payload: V) -> Self {
        Self { entry, rank, at: Some((sort, payload)) }
    }

    /// The entry is not in the order.
    pub fn gone(entry: E, rank: u64) -> Self {
        Self { entry, rank, at: None }
    }
}

/// What a placement did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placed {
    /// The entry moved.
    Moved,
    /// The stored rank was as high or higher: by this placement before, or by another.
    Unchanged,
}

/// A placement in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RawPlace {
    pub(crate) entry: Vec<u8>,
    pub(crate) rank: u64,
    pub(crate) at: Option<(Vec<u8>, Vec<u8>)>,
}

impl RawPlace {
    fn sort(&self) -> Option<&Vec<u8>> {
        self.at.as_ref().map(|(sort, _)| sort)
    }

    /// Bytes it adds to a commit at the most.
    fn bytes(&self) -> usize {
        let at = self.at.as_ref().map_or(0, |(sort, payload)| 2 * sort.len() + payload.len());
        at + 3 * self.entry.len() + limits::SORT_KEY_BYTES + 64
    }

    fn check(&self, list: &'static ListDef) -> Result<(), BoundError> {
        let size = self.at.as_ref().map_or(0, |(_, payload)| payload.len());
        let limit = list.payload_bytes();
        if size <= limit {
            return Ok(());
        }
        Err(BoundError::TooLarge { table: list.table().name(), what: "a payload", size, limit })
    }
}

/// Placements of one commit: each entry once, with its highest rank.
pub(crate) fn merge(
    list: &'static ListDef,
    places: impl IntoIterator<Item = RawPlace>,
) -> Result<Vec<RawPlace>, PlaceError> {
    let mut merged: BTreeMap<Vec<u8>, RawPlace> = BTreeMap::new();
    for place in places {
        place.check(list)?;
        match merged.entry(place.entry.clone()) {
            MapEntry::Vacant(free) => {
                free.insert(place);
            }
            MapEntry::Occupied(known) if known.get().rank == place.rank => {
                if *known.get() != place {
                    return Err(differs(list, &place));
                }
            }
            MapEntry::Occupied(mut known) if known.get().rank < place.rank => {
                known.insert(place);
            }
            MapEntry::Occupied(_) => {}
        }
    }
    Ok(merged.into_values().collect())
}

/// Cuts placements into commits.
pub(crate) fn cut(places: Vec<RawPlace>) -> Vec<Vec<RawPlace>> {
    let mut commits: Vec<Vec<RawPlace>> = Vec::new();
    let mut bytes = usize::MAX;
    for place in places {
        let size = place.bytes();
        let fits = bytes.saturating_add(size) <= BYTES_PER_COMMIT;
        match commits.last_mut() {
            Some(last) if fits && last.len() < PLACES_PER_COMMIT => {
                bytes += size;
                last.push(place);
            }
            _ => {
                bytes = size;
                commits.push(vec![place]);
            }
        }
    }
    commits
}

pub(crate) fn differs(list: &'static ListDef, place: &RawPlace) -> PlaceError {
    let error = PlaceError::Differs {
        list: list.table().name(),
        entry: hex(&place.entry),
        rank: place.rank,
    };
    tracing::error!("{error}");
    error
}

/// What the list knows of one entry: its rank, and the sort key it stands under.
pub(crate) type Standing = (u64, Option<Vec<u8>>);

/// What a placement means for an entry.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    Move,
    Keep,
    /// The same rank and sort key: the payload must be compared, too.
    Compare,
    Differs,
}

pub(crate) fn judge(standing: Option<&Standing>, place: &RawPlace) -> Judgement {
    match standing {
        None => Judgement::Move,
        Some((rank, _)) if *rank < place.rank => Judgement::Move,
        Some((rank, _)) if *rank > place.rank => Judgement::Keep,
        Some((_, sort)) if sort.as_ref() != place.sort() => Judgement::Differs,
        Some((_, None)) => Judgement::Keep,
        Some((_, Some(_))) => Judgement::Compare,
    }
}

/// The changes that move entries from where they stand, and the counts after them.
pub(crate) fn changes(
    list: &'static ListDef,
    key: &ListKey,
    before: Counts,
    moves: &[(&RawPlace, Option<Standing>)],
) -> Result<Vec<Change>, PlaceError> {
    let mut counts = before;
    let mut changes = Vec::with_capacity(1 + 3 * moves.len());
    for (place, standing) in moves {
        let old = standing.as_ref().and_then(|(_, sort)| sort.as_ref());
        counts.known += u64::from(standing.is_none());
        counts.placed += u64::from(place.at.is_some());
        counts.placed = counts.placed.saturating_sub(u64::from(old.is_some()));
        move_entry(list, place, old, &mut changes);
    }
    if counts.known > list.entries() && counts.known > before.known {
        return Err(PlaceError::Full {
            list: list.table().name(),
            key: hex(key.as_bytes()),
            known: before.known,
            bound: list.entries(),
        });
    }
    changes.push(list.cells().insert(&Slot::head(), &Cell::Head(counts)));
    Ok(changes)
}

fn move_entry(
    list: &'static ListDef,
    place: &RawPlace,
    old: Option<&Vec<u8>>,
    changes: &mut Vec<Change>,
) {
    let RawPlace { entry, rank, at } = place;
    let cells = list.cells();
    let cell = Cell::Entry { rank: *rank, sort: place.sort().cloned() };
    changes.push(cells.insert(&Slot::entry(entry), &cell));
    // One change per key: a row that stays where it is is replaced, not deleted and inserted.
    if let Some(old) = old.filter(|old| Some(*old) != place.sort()) {
        changes.push(cells.delete(&Slot::row(old, entry)));
    }
    if let Some((sort, payload)) = at {
        let cell = Cell::Row { rank: *rank, payload: payload.clone() };
        changes.push(cells.insert(&Slot::row(sort, entry), &cell));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::List;

    static LIST: List<u8, u8, u8, Vec<u8>> = List::new("test.place", "A list.", 2, 8);

    fn place(entry: u8, rank: u64, sort: Option<u8>) -> RawPlace {
        LIST.raw(&Place { entry, rank, at: sort.map(|sort| (sort, vec![])) })
    }

    #[test]
    fn only_a_higher_rank_moves() {
        let stands = (5, Some(vec![7]));
        assert_eq!(judge(None, &place(1, 0, None)), Judgement::Move);
        assert_eq!(judge(Some(&stands), &place(1, 6, None)), Judgement::Move);
        assert_eq!(judge(Some(&stands), &place(1, 4, Some(9))), Judgement::Keep);
        assert_eq!(judge(Some(&stands), &place(1, 5, Some(7))), Judgement::Compare);
        assert_eq!(judge(Some(&stands), &place(1, 5, Some(8))), Judgement::Differs);
        assert_eq!(judge(Some(&stands), &place(1, 5, None)), Judgement::Differs);
        assert_eq!(judge(Some(&(5, None)), &place(1, 5, None)), Judgement::Keep);
    }

    #[test]
    fn a_batch_keeps_the_highest_rank_of_each_entry() {
        let batch = [place(1, 3, Some(1)), place(2, 1, None), place(1, 4, None), place(1, 2, None)];
        let merged = merge(LIST.def(), batch).expect("no rank twice");
        assert_eq!(merged, [place(1, 4, None), place(2, 1, None)]);
        let twice = [place(1, 3, Some(1)), place(1, 3, Some(2))];
        assert!(matches!(merge(LIST.def(), twice), Err(PlaceError::Differs { rank: 3, .. })));
        assert!(merge(LIST.def(), [place(1, 3, Some(1)), place(1, 3, Some(1))]).is_ok());
    }

    #[test]
    fn a_payload_has_a_limit() {
        let large = LIST.raw(&Place::at(1, 1, 1, vec![0; 8]));
        let error = merge(LIST.def(), [large]).expect_err("eight bytes and a format byte");
        assert!(error.to_string().contains("a payload is 9, the limit is 8"), "{error}");
    }

    #[test]
    fn commits_are_cut_by_number_and_by_bytes() {
        let many: Vec<_> = (0..=u8::MAX).flat_map(|e| vec![place(e, 1, None); 3]).collect();
        let sizes: Vec<_> = cut(many).iter().map(Vec::len).collect();
        assert_eq!(sizes, [333, 333, 102]);
        let large =
            RawPlace { entry: vec![0; 500], rank: 1, at: Some((vec![0; 500], vec![0; 9000])) };
        let commits = cut(vec![large.clone(); 100]);
        assert!(commits.len() > 1);
        assert!(commits.iter().all(|commit| commit.len() * large.bytes() <= BYTES_PER_COMMIT));
    }

    #[test]
    fn a_row_that_stays_is_changed_once() {
        let stays = place(1, 6, Some(7));
        let counts = Counts { placed: 1, known: 1 };
        let key = ListKey::of(&1u8);
        let moves = [(&stays, Some((5, Some(vec![7]))))];
        assert_eq!(changes(LIST.def(), &key, counts, &moves).expect("fits").len(), 3);
        let moves = [(&stays, Some((5, Some(vec![8]))))];
        assert_eq!(changes(LIST.def(), &key, counts, &moves).expect("fits").len(), 4);
    }
}
