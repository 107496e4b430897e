//! From what a shard holds and what is to be set to one commit. Pure.

use std::collections::HashMap;

use store::Change;

use crate::name::{Entry, Part};
use crate::set::{Rank, Set};
use crate::tables::{Counted, Record, RowName, SHARDS, Sum};
use crate::{Outcome, SetError};

/// What becomes of one set in a shard.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// It is decided, once the plan is committed.
    Done(Result<Outcome, SetError>),
    /// The entry is new and cannot begin here.
    Elsewhere(Why),
}

/// Why a new entry cannot begin in a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Why {
    /// The shard was sealed: a newer generation is there or on its way.
    Sealed,
    /// The shard is at its bound: a newer generation is needed.
    Full,
    /// The same of an entry of a part. More shards do not help a large part: it stands in one.
    Crowded,
}

/// Changes of one shard and one answer per set. The answers hold if the shard is still what it was
/// when the changes are committed, or if there are no changes.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) answers: Vec<Answer>,
    sum: Sum,
    parts: HashMap<Part, State<Sum>>,
    entries: HashMap<Entry, State<Counted>>,
}

/// What a shard holds of the rows that a plan needs.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    pub(crate) sum: Sum,
    pub(crate) parts: Vec<(Part, Sum)>,
    pub(crate) entries: Vec<(Entry, Counted)>,
}

/// A row as the plan leaves it.
#[derive(Debug, Default)]
struct State<T> {
    row: T,
    changed: bool,
}

impl<T> State<T> {
    fn unchanged<K>((key, row): (K, T)) -> (K, Self) {
        (key, Self { row, changed: false })
    }
}

impl Plan {
    /// Plans `sets`, one after the other, on a shard of which these rows are known: its sum, and
    /// those of the entries and their parts that are there. `bound` is the number of rows at which
    /// it is full.
    pub(crate) fn new<'a>(
        stored: Stored,
        sets: impl IntoIterator<Item = &'a Set>,
        bound: u64,
    ) -> Self {
        let Stored { sum, parts, entries } = stored;
        let parts = parts.into_iter().map(State::unchanged).collect();
        let entries = entries.into_iter().map(State::unchanged).collect();
        let mut plan = Self { answers: Vec::new(), sum, parts, entries };
        for set in sets {
            let answer = plan.answer(set, bound);
            plan.answers.push(answer);
        }
        plan
    }

    /// The changes to commit; empty when nothing changes.
    pub(crate) fn changes(&self) -> Vec<Change> {
        let changed = self.entries.iter().filter(|(_, state)| state.changed);
        let mut changes: Vec<Change> = changed
            .map(|(entry, state)| {
                let record = Record::Entry(state.row.clone());
                SHARDS.insert(&RowName::Entry(entry.clone()), &record)
            })
            .collect();
        changes.extend(self.parts.iter().filter(|(_, state)| state.changed).map(
            |(part, state)| {
                let record = Record::Sum(state.row.clone());
                SHARDS.insert(&RowName::Part(part.clone()), &record)
            },
        ));
        if !changes.is_empty() {
            changes.push(SHARDS.insert(&RowName::Sum, &Record::Sum(self.sum.clone())));
        }
        changes
    }

    fn answer(&mut self, set: &Set, bound: u64) -> Answer {
        let stored = self.entries.get(&set.entry).map(|state| state.row.clone());
        let Some(stored) = stored else {
            if self.sum.sealed {
                return Answer::Elsewhere(Why::Sealed);
            }
            // Each entry of a part may be alone in it, and then there are two rows of it.
            let (rows, why) = match &set.entry.part {
                Some(_) => (2, Why::Crowded),
                None => (1, Why::Full),
            };
            if self.sum.entries.saturating_mul(rows) >= bound {
                return Answer::Elsewhere(why);
            }
            let rank = match set.rank {
                Rank::At(rank) => rank,
                Rank::Next => 1,
            };
            return Answer::Done(self.change(set, rank, None));
        };
        Answer::Done(self.compare(set, stored))
    }

    /// Sets an entry that is there.
    fn compare(&mut self, set: &Set, stored: Counted) -> Result<Outcome, SetError> {
        let (tally, entry) = (|| set.tally.to_string(), || format!("{:?}", set.entry));
        let equal = stored.values == set.values;
        let rank = stored.rank;
        match set.rank {
            Rank::At(given) if given < rank => Ok(Outcome::Late { rank }),
            Rank::At(given) if given > rank => self.change(set, given, Some(stored)),
            // Equal values need no new rank: so `set_next` may be repeated.
            _ if equal => Ok(Outcome::Duplicate { rank }),
            Rank::At(_) => Err(SetError::Differs { tally: tally(), entry: entry(), rank }),
            Rank::Next => match rank.checked_add(1) {
                Some(next) => self.change(set, next, Some(stored)),
                None => Err(SetError::LastRank { tally: tally(), entry: entry() }),
            },
        }
    }

    fn change(
        &mut self,
        set: &Set,
        rank: u64,
        before: Option<Counted>,
    ) -> Result<Outcome, SetError> {
        let nothing = Counted::default();
        let old = before.as_ref().unwrap_or(&nothing);
        let overflow = |column| SetError::Overflow { tally: set.tally.to_string(), column };
        let replaced = self.sum.values.replace(&old.values, &set.values).map_err(overflow)?;
        if let Some(part) = &set.entry.part {
            let State { row, changed } = self.parts.entry(part.clone()).or_default();
            row.values = row.values.replace(&old.values, &set.values).map_err(overflow)?;
            row.entries += u64::from(before.is_none());
            *changed = true;
        }
        self.sum.values = replaced;
        self.sum.entries += u64::from(before.is_none());
        let counted = Counted { rank, values: set.values.clone() };
        self.entries.insert(set.entry.clone(), State { row: counted, changed: true });
        Ok(Outcome::Counted { rank, before })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Tally, Values};

    const BOUND: u64 = 3;

    fn at(entry: &str, rank: u64, value: i128) -> Set {
        let tally = Tally::new("test").expect("a name");
        Set::new(&tally, entry.as_bytes(), rank, &[value]).expect("a set")
    }

    fn next(entry: &str, value: i128) -> Set {
        let tally = Tally::new("test").expect("a name");
        Set::next(&tally, entry.as_bytes(), &[value]).expect("a set")
    }

    fn counted(rank: u64, value: i128) -> Counted {
        Counted { rank, values: Values::new(&[value]).expect("one value") }
    }

    fn word(answer: &Answer) -> String {
        match answer {
            Answer::Done(Ok(Outcome::Counted { rank, before })) => {
                let before = before.as_ref().map_or(0, |before| before.rank);
                format!("counted {before}->{rank}")
            }
            Answer::Done(Ok(Outcome::Duplicate { rank })) => format!("duplicate {rank}"),
            Answer::Done(Ok(Outcome::Late { rank })) => format!("late {rank}"),
            Answer::Done(Err(SetError::Differs { rank, .. })) => format!("differs {rank}"),
            Answer::Done(Err(SetError::LastRank { .. })) => "last rank".to_owned(),
            Answer::Done(Err(SetError::Overflow { .. })) => "overflow".to_owned(),
            Answer::Done(Err(error)) => format!("{error}"),
            Answer::Elsewhere(Why::Sealed) => "sealed".to_owned(),
            Answer::Elsewhere(Why::Full) => "full".to_owned(),
            Answer::Elsewhere(Why::Crowded) => "crowded".to_owned(),
        }
    }

    /// Plans on a shard where `a` counts 10 under rank 5.
    fn check(sealed: bool, sets: &[Set], answers: &[&str], sum: i128, entries: u64) -> usize {
        let values = Values::new(&[10]).expect("one value");
        let a = (Entry::new(None, b"a").expect("an entry"), counted(5, 10));
        let before = Sum { values, entries: 1, sealed };
        let stored = Stored { sum: before, entries: vec![a], parts: Vec::new() };
        let plan = Plan::new(stored, sets, BOUND);
        assert_eq!(plan.answers.iter().map(word).collect::<Vec<_>>(), answers);
        assert_eq!((plan.sum.values.get(0), plan.sum.entries), (sum, entries));
        assert_eq!(plan.sum.sealed, sealed);
        plan.changes().len()
    }

    #[test]
    fn only_a_higher_rank_changes_an_entry() {
        assert_eq!(check(false, &[at("a", 4, 99)], &["late 5"], 10, 1), 0);
        assert_eq!(check(false, &[at("a", 5, 10)], &["duplicate 5"], 10, 1), 0);
        assert_eq!(check(false, &[at("a", 5, 11)], &["differs 5"], 10, 1), 0);
        assert_eq!(check(false, &[at("a", 6, 11)], &["counted 5->6"], 11, 1), 2);
        assert_eq!(check(false, &[at("a", 6, 10)], &["counted 5->6"], 10, 1), 2);
        assert_eq!(check(false, &[at("b", 0, 7)], &["counted 0->0"], 17, 2), 2);
    }

    #[test]
    fn the_next_rank_is_taken_from_the_entry() {
        assert_eq!(check(false, &[next("a", 1)], &["counted 5->6"], 1, 1), 2);
        assert_eq!(check(false, &[next("a", 10)], &["duplicate 5"], 10, 1), 0);
        assert_eq!(check(false, &[next("b", 1)], &["counted 0->1"], 11, 2), 2);
        let sets = [at("a", u64::MAX, 1), next("a", 2)];
        let changes =
            check(false, &sets, &[&format!("counted 5->{}", u64::MAX), "last rank"], 1, 1);
        assert_eq!(changes, 2);
    }

    #[test]
    fn sets_of_one_entry_are_one_change() {
        let sets = [at("b", 2, 20), at("b", 1, 1), at("b", 2, 20), at("b", 3, 30), at("b", 3, 31)];
        let answers = ["counted 0->2", "late 2", "duplicate 2", "counted 2->3", "differs 3"];
        assert_eq!(check(false, &sets, &answers, 40, 2), 2);
    }

    #[test]
    fn a_sealed_shard_takes_changes_and_no_entries() {
        let sets = [at("b", 1, 1), at("a", 6, 11), next("b", 1)];
        assert_eq!(check(true, &sets, &["sealed", "counted 5->6", "sealed"], 11, 1), 2);
    }

    #[test]
    fn a_full_shard_takes_changes_and_no_entries() {
        let sets = [at("b", 1, 1), at("c", 1, 1), at("d", 1, 1), at("a", 6, 0), at("c", 2, 2)];
        let answers = ["counted 0->1", "counted 0->1", "full", "counted 5->6", "counted 1->2"];
        assert_eq!(check(false, &sets, &answers, 3, 3), 4);
    }

    #[test]
    fn a_part_has_a_sum_of_its_own() {
        let tally = Tally::new("test").expect("a name");
        let of_part = |part: &str, entry: &str, rank, value| {
            Set::of_part(&tally, part.as_bytes(), entry.as_bytes(), rank, &[value]).expect("a set")
        };
        let sets = [
            of_part("x", "a", 1, 10),
            of_part("y", "a", 1, 5),
            of_part("x", "b", 1, 3),
            of_part("x", "a", 2, 1),
            of_part("x", "a", 1, 7),
            of_part("z", "c", 1, i128::MAX),
        ];
        let plan = Plan::new(Stored::default(), &sets, 100);
        let last = plan.answers.last().map(word);
        assert_eq!((plan.sum.values.get(0), last.as_deref()), (9, Some("overflow")));
        let sum = |part: &str| {
            let sum = &plan.parts[&Part::new(part.as_bytes()).expect("a part")].row;
            (sum.values.get(0), sum.entries)
        };
        assert_eq!((sum("x"), sum("y")), ((4, 2), (5, 1)));
        assert_eq!(plan.changes().len(), 3 + 2 + 1, "entries, parts and the sum");
        let full = Plan::new(Stored::default(), &sets[..3], 4);
        assert_eq!(full.answers.iter().map(word).next_back().as_deref(), Some("crowded"));
    }

    #[test]
    fn an_overflow_refuses_one_set_and_no_other() {
        let sets = [at("b", 1, i128::MAX), at("c", 1, 5)];
        assert_eq!(check(false, &sets, &["overflow", "counted 0->1"], 15, 2), 2);
    }
}
