//! Parts of a tally: each has a sum of its own, whoever writes and however often shards fill up.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{check_sound, events, expected, fjall, model, overall, tallies, values};
use store::conformance::seed;
use store::{Entry, Maintenance as _};
use tally::{Set, Settings, Tallies, limits};

/// Shards that soon fill up.
const SETTINGS: Settings = Settings { shards: 3, shard_entries: 120, in_flight: 4 };
const PARTS: u64 = 23;

/// A fifth of all entries belong to one part.
fn part_of(entry: u64) -> u64 {
    if entry.is_multiple_of(5) { 0 } else { entry % PARTS }
}

fn set((entry, rank): (u64, u64)) -> Set {
    let part = part_of(entry).to_be_bytes();
    let values = values(entry, rank);
    Set::of_part(&overall(), &part, &entry.to_be_bytes(), rank, &values).expect("a set")
}

fn by_part(events: &[(u64, u64)]) -> BTreeMap<u64, Vec<(u64, u64)>> {
    let mut parts: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
    for event in events {
        parts.entry(part_of(event.0)).or_default().push(*event);
    }
    parts
}

/// Sums of all parts, and every entry by itself.
async fn check_parts(tallies: &Tallies, events: &[(u64, u64)]) {
    let parts = by_part(events);
    let keys: Vec<[u8; 8]> = parts.keys().map(|part| part.to_be_bytes()).collect();
    let found = tallies.part_sums(&overall(), &keys).await.expect("sums");
    for ((part, events), found) in parts.iter().zip(&found) {
        let (sums, entries) = expected(events);
        assert_eq!([found.values.get(0), found.values.get(1)], sums, "part {part}");
        assert_eq!(found.entries, entries, "part {part}");
    }
    for (part, events) in &parts {
        let wanted: BTreeSet<u64> = events.iter().map(|(entry, _)| *entry).collect();
        assert_eq!(listed(tallies, Some(*part)).await, wanted, "part {part}");
    }
    for (entry, _) in events.iter().take(50) {
        let (part, key) = (part_of(*entry).to_be_bytes(), entry.to_be_bytes());
        assert!(tallies.part_entry(&overall(), &part, &key).await.expect("read").is_some());
        assert_eq!(tallies.part_entry(&overall(), b"other", &key).await.expect("read"), None);
        assert_eq!(tallies.entry(&overall(), &key).await.expect("read"), None, "it has a part");
    }
    assert_eq!(tallies.part_sums(&overall(), &[b"never"]).await.expect("sums")[0].entries, 0);
}

/// All entries, or those of a part, by pages of a size that ends in the middle of parts.
async fn listed(tallies: &Tallies, part: Option<u64>) -> BTreeSet<u64> {
    let (mut seen, mut position) = (BTreeSet::new(), None);
    loop {
        let page = match part {
            Some(part) => tallies.part_entries(&overall(), &part.to_be_bytes(), position, 7).await,
            None => tallies.entries(&overall(), position, 7).await,
        };
        let page = page.expect("a page");
        for (entry, _) in page.entries {
            let entry = u64::from_be_bytes(entry.try_into().expect("eight bytes"));
            assert!(seen.insert(entry), "an entry is in two pages");
        }
        position = page.next;
        if position.is_none() {
            return seen;
        }
    }
}

async fn write(tallies: &Tallies, events: &[(u64, u64)], size: usize) {
    for group in events.chunks(size) {
        for answer in tallies.set_many(group.iter().copied().map(set).collect()).await {
            let _ = answer.expect("is set");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn parts_add_up_in_any_order_by_many_writers_through_generations() {
    let seed = seed("parts");
    let mut random = fastrand::Rng::with_seed(seed);
    let directory = tempfile::tempdir().expect("a directory");
    let engine = fjall(directory.path());
    let all = events(&mut random, 700);
    let mut writers = tokio::task::JoinSet::new();
    for (number, share) in all.chunks(all.len() / 3).enumerate() {
        let (tallies, share) = (tallies(engine.clone(), SETTINGS), share.to_vec());
        // The largest groups are more than one commit.
        let size = [1, 60, 2 * limits::GROUP][number % 3];
        writers.spawn(async move { write(&tallies, &share, size).await });
    }
    while let Some(done) = writers.join_next().await {
        done.expect("no panic");
    }
    let tallies = tallies(engine.clone(), SETTINGS);
    assert!(tallies.shards(&overall()).await.expect("shards").len() > 1, "shards filled up");
    let (sums, entries) = expected(&all);
    let found = tallies.sums(&overall()).await.expect("sums");
    assert_eq!(([found.values.get(0), found.values.get(1)], found.entries), (sums, entries));
    check_parts(&tallies, &all).await;
    let entries: BTreeSet<u64> = all.iter().map(|(entry, _)| *entry).collect();
    assert_eq!(listed(&tallies, None).await, entries);
    check_sound(engine.clone(), &tallies, &overall()).await;
}

#[tokio::test]
async fn a_part_may_be_far_larger_than_a_shard() {
    let engine = model();
    let tallies = tallies(engine.clone(), Settings { shards: 100, shard_entries: 4, in_flight: 4 });
    let sets = (0..40u64).map(|entry| {
        Set::of_part(&overall(), b"large", &entry.to_be_bytes(), 1, &[1]).expect("a set")
    });
    for set in sets {
        let _ = tallies.set_many(vec![set]).await.remove(0).expect("is set");
    }
    let shards = tallies.shards(&overall()).await.expect("shards");
    assert_eq!((shards.len(), shards.last()), (20, Some(&400)), "two entries in each generation");
    let sums = tallies.part_sums(&overall(), &[b"large"]).await.expect("sums");
    assert_eq!((sums[0].values.get(0), sums[0].entries), (40, 40));
    check_sound(engine.clone(), &tallies, &overall()).await;
}

#[tokio::test]
async fn the_sum_of_a_part_that_drifted_is_found() {
    let engine = model();
    let tallies = tallies(engine.clone(), Settings { shards: 1, ..SETTINGS });
    write(&tallies, &(0..40).map(|entry| (entry, 1)).collect::<Vec<_>>(), 40).await;
    let shards = tally::tables().into_iter().find(|table| table.name() == "tally.shards");
    let shards = shards.expect("a table");
    let walker = engine.walk().await.expect("a walk");
    let page = walker.page(shards, None, 1_000).await.expect("a page");
    // The second byte of a row says whether it is a sum; that of the shard has the shortest name.
    let sums: Vec<_> = (page.entries.into_iter())
        .filter_map(|entry| match entry {
            Entry::Row { key, value } => Some((key, value)),
            _ => None,
        })
        .filter(|(key, value)| key.sort().len() > 1 && value.get(1) == Some(&0))
        .collect();
    let [first, second, ..] = sums.as_slice() else { panic!("no parts: {sums:?}") };
    for ((key, _), (_, value)) in [(first, second), (second, first)] {
        let planted = Entry::Row { key: key.clone(), value: value.clone() };
        engine.load(shards, vec![planted]).await.expect("loads");
    }
    let recount = tallies.recount(&overall()).await.expect("a recount");
    assert_eq!((recount.counted == recount.stored, recount.drifted), (true, 2));
    assert!(!recount.agrees());
    let report = tally::verify(engine.clone(), &mut |_| {}).await.expect("the walk ends");
    let found = report.findings.iter().filter(|finding| finding.what.contains("part 0x"));
    assert_eq!(found.count(), 2, "{:#?}", report.findings);
}
