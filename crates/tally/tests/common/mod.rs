//! What the tests share: engines, writers, and what they must lead to.
#![allow(dead_code, reason = "each test file compiles this module and uses a part of it")]

pub(crate) mod storm;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use store::{Engine, Maintenance, ModelEngine, Schema, Store};
use store_fjall::{FjallEngine, Options};
use tally::{Outcome, Set, SetError, Settings, Sums, Tallies, Tally};

/// The tables of this crate.
pub(crate) fn schema() -> Schema {
    Schema::new(tally::tables())
}

/// An empty model.
pub(crate) fn model() -> Arc<ModelEngine> {
    Arc::new(ModelEngine::default())
}

/// The embedded engine in a directory.
pub(crate) fn fjall(directory: &Path) -> Arc<FjallEngine> {
    let mut options = Options::new(directory);
    options.cache_bytes = 16 * 1024 * 1024;
    Arc::new(FjallEngine::open(&options, &schema()).expect("the store opens"))
}

/// Tallies on an engine: what one process would hold.
pub(crate) fn tallies(engine: Arc<dyn Engine>, settings: Settings) -> Tallies {
    Tallies::new(Store::new(engine, 0), settings).expect("good settings")
}

/// The tally of most tests.
pub(crate) fn overall() -> Tally {
    Tally::new("test.overall").expect("a name")
}

/// The values an entry has under a rank: a function of both, so that any order leads to the same.
/// Some are negative, and the second column comes and goes.
pub(crate) fn values(entry: u64, rank: u64) -> [i128; 2] {
    let mixed = (entry.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ rank.wrapping_mul(0xd6e8_feb8)) >> 8;
    [i128::from(mixed % 2_000_003) - 1_000_000, i128::from(rank % 2)]
}

/// An event: an entry under a rank.
pub(crate) fn event(tally: &Tally, entry: u64, rank: u64) -> Set {
    Set::new(tally, &entry.to_be_bytes(), rank, &values(entry, rank)).expect("a set")
}

/// Events in random order: each entry under ranks 1 to 4, some of them missing, 30% of all twice.
pub(crate) fn events(random: &mut fastrand::Rng, entries: u64) -> Vec<(u64, u64)> {
    let mut events = Vec::new();
    for entry in 0..entries {
        let highest = random.u64(1..=4);
        events.extend((1..=highest).filter(|_| random.u8(..) < 200).map(|rank| (entry, rank)));
        events.push((entry, highest));
    }
    let all = events.len();
    for _ in 0..all * 3 / 10 {
        events.push(events[random.usize(..all)]);
    }
    random.shuffle(&mut events);
    events
}

/// Sums and number of entries that events lead to, in whatever order.
pub(crate) fn expected(events: &[(u64, u64)]) -> ([i128; 2], u64) {
    let mut highest: HashMap<u64, u64> = HashMap::new();
    for &(entry, rank) in events {
        let known = highest.entry(entry).or_default();
        *known = rank.max(*known);
    }
    let mut sums = [0, 0];
    for (&entry, &rank) in &highest {
        let values = values(entry, rank);
        sums = [sums[0] + values[0], sums[1] + values[1]];
    }
    (sums, highest.len() as u64)
}

/// Sets events in groups of random sizes and counts those that changed something. Sets that fail
/// are tried again, as a service does; `patience` times in all.
pub(crate) async fn write(
    tallies: &Tallies,
    tally: &Tally,
    events: &[(u64, u64)],
    random: &mut fastrand::Rng,
    mut patience: usize,
) -> usize {
    let mut waiting: Vec<(u64, u64)> = events.to_vec();
    let mut counted = 0;
    while !waiting.is_empty() {
        let size = if random.bool() { 1 } else { random.usize(1..200) };
        let group: Vec<_> = waiting.split_off(waiting.len().saturating_sub(size));
        let answers = match group.as_slice() {
            [(entry, rank)] => {
                let values = values(*entry, *rank);
                vec![tallies.set(tally, &entry.to_be_bytes(), *rank, &values).await]
            }
            many => {
                let sets = many.iter().map(|(entry, rank)| event(tally, *entry, *rank));
                tallies.set_many(sets.collect()).await
            }
        };
        assert_eq!(answers.len(), group.len(), "one answer per set");
        for (event, answer) in group.into_iter().zip(answers) {
            match answer {
                Ok(outcome) => counted += usize::from(check_outcome(event, &outcome)),
                Err(error) if patience > 0 && may_retry(&error) => {
                    patience -= 1;
                    waiting.push(event);
                }
                Err(error) => panic!("{event:?}: {error}"),
            }
        }
    }
    counted
}

/// Outcomes agree with the event.
fn check_outcome((_, rank): (u64, u64), outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Counted { rank: now, before } => {
            assert_eq!(*now, rank);
            assert!(before.as_ref().is_none_or(|before| before.rank < rank), "{before:?}");
        }
        Outcome::Duplicate { rank: now } => assert_eq!(*now, rank),
        Outcome::Late { rank: now } => assert!(*now > rank),
    }
    outcome.is_counted()
}

fn may_retry(error: &SetError) -> bool {
    matches!(
        error,
        SetError::Unknown(_) | SetError::Commit(_) | SetError::Contended { .. } | SetError::Read(_)
    )
}

/// Sums, recount, every single entry and the walk over the store agree with the events.
pub(crate) async fn check(
    engine: Arc<dyn Maintenance>,
    tallies: &Tallies,
    tally: &Tally,
    events: &[(u64, u64)],
) {
    let (sums, entries) = expected(events);
    let found = tallies.sums(tally).await.expect("sums");
    assert_eq!([found.values.get(0), found.values.get(1)], sums, "sums are exact");
    assert_eq!(found.entries, entries, "every entry counts once");
    let (stored, walked) = check_sound(engine, tallies, tally).await;
    assert_eq!(stored, found);
    assert!(walked >= entries);
    check_entries(tallies, tally, events).await;
}

/// Every sum is that of its entries: the sums of the tally, and the entries of the whole store.
pub(crate) async fn check_sound(
    engine: Arc<dyn Maintenance>,
    tallies: &Tallies,
    tally: &Tally,
) -> (Sums, u64) {
    let recount = tallies.recount(tally).await.expect("a recount");
    assert!(recount.agrees(), "{recount:?}");
    let report = tally::verify(engine, &mut |_| {}).await.expect("the walk ends");
    assert!(report.is_clean(), "{:#?}", report.findings);
    (recount.stored, report.entries)
}

async fn check_entries(tallies: &Tallies, tally: &Tally, events: &[(u64, u64)]) {
    let mut highest: HashMap<u64, u64> = HashMap::new();
    for &(entry, rank) in events {
        let known = highest.entry(entry).or_default();
        *known = rank.max(*known);
    }
    for (entry, rank) in highest.iter().take(500) {
        let found = tallies.entry(tally, &entry.to_be_bytes()).await.expect("an entry");
        let found = found.expect("it was set");
        assert_eq!((found.rank, found.values.get(0)), (*rank, values(*entry, *rank)[0]));
    }
    let mut from = None;
    loop {
        let page = tallies.entries(tally, from, 77).await.expect("a page");
        for (entry, counted) in page.entries {
            let entry = u64::from_be_bytes(entry.try_into().expect("eight bytes"));
            assert_eq!(highest.remove(&entry), Some(counted.rank), "entry {entry}");
        }
        from = page.next;
        if from.is_none() {
            break;
        }
    }
    assert!(highest.is_empty(), "the pages miss {} entries", highest.len());
}

/// Entries of every shard of a store.
pub(crate) async fn shard_sizes(engine: &dyn Maintenance) -> Vec<usize> {
    let walker = engine.walk().await.expect("a walk");
    let mut sizes: HashMap<Vec<u8>, usize> = HashMap::new();
    let mut position = None;
    loop {
        let page = walker.page(tally::tables()[1], position, 1_000).await.expect("a page");
        for entry in &page.entries {
            let is_entry =
                matches!(entry, store::Entry::Row { key, .. } if key.sort().first() == Some(&1));
            *sizes.entry(entry.partition().to_vec()).or_default() += usize::from(is_entry);
        }
        position = page.next;
        if position.is_none() {
            return sizes.into_values().collect();
        }
    }
}
