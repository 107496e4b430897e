//! Pages both ways while entries move: what does not move is seen once, in order.

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::{BY_OWNER, Home};
use fastrand::Rng;
use index::{Lists, Place};
use store::conformance::{full, seed};
use store::{Order, PageRequest, Store, Version};

/// Entries below this one never move.
const STILL: u64 = 100;
const ALL: u64 = 140;

fn sort_of(entry: u64) -> u64 {
    // Several entries share a sort key, so that pages end between them.
    entry / 3 * 10
}

async fn read_all(lists: &Lists, order: Order, limit: usize) -> (Vec<(Version, u64, u64)>, bool) {
    let (mut seen, mut cursor) = (Vec::new(), None);
    loop {
        let request = PageRequest { order, cursor, ..PageRequest::first(limit) };
        let page = lists.page(&BY_OWNER, &1, request).await.expect("a page");
        seen.extend(page.rows.iter().map(|row| (page.version, row.sort, row.entry)));
        cursor = page.next;
        if cursor.is_none() {
            let one_version =
                seen.iter().all(|(version, ..)| Some(version) == seen.first().map(|(v, ..)| v));
            return (seen, one_version);
        }
        tokio::task::yield_now().await;
    }
}

fn check(seen: &[(Version, u64, u64)], order: Order) {
    let keys: Vec<_> = seen.iter().map(|(_, sort, entry)| (*sort, *entry)).collect();
    let in_order = match order {
        Order::Ascending => keys.is_sorted_by(|a, b| a < b),
        Order::Descending => keys.is_sorted_by(|a, b| a > b),
    };
    assert!(in_order, "a place in the order is seen twice, or out of order: {keys:?}");
    let still: Vec<_> = keys.iter().filter(|(_, entry)| *entry < STILL).collect();
    assert_eq!(still.len() as u64, STILL, "an entry that did not move was missed");
    // Within pages of one version the order is one: no entry twice.
    let mut by_version: BTreeMap<(Version, u64), u32> = BTreeMap::new();
    for (version, _, entry) in seen {
        let times = by_version.entry((*version, *entry)).or_default();
        *times += 1;
        assert_eq!(*times, 1, "entry {entry} twice at version {version}");
    }
}

#[tokio::test]
async fn a_page_begins_behind_any_place() {
    let lists = Lists::new(Store::new(std::sync::Arc::new(store::ModelEngine::default()), 0));
    let places: Vec<_> =
        (0..ALL).map(|entry| (1, Place::at(entry, 1, sort_of(entry), vec![1]))).collect();
    lists.place_many(&BY_OWNER, &places).await.expect("is placed");
    for last in [0, 1, 2, 3, ALL - 2, ALL - 1] {
        let place = (&sort_of(last), &last);
        let page = lists.page_behind(&BY_OWNER, &1, place, 5).await.expect("a page");
        let seen: Vec<u64> = page.rows.iter().map(|row| row.entry).collect();
        assert_eq!(seen, (last + 1..ALL.min(last + 6)).collect::<Vec<_>>(), "behind {last}");
    }
    // Nobody stands there.
    let page = lists.page_behind(&BY_OWNER, &1, (&5, &999), 1).await.expect("a page");
    assert_eq!(page.rows.first().map(|row| row.entry), Some(3));
}

async fn pages_while_moving(home: &Home, seed: u64, reads: usize) {
    let lists = Lists::new(Store::new(home.engine(), 0));
    let places: Vec<_> =
        (0..ALL).map(|entry| (1, Place::at(entry, 1, sort_of(entry), vec![1]))).collect();
    lists.place_many(&BY_OWNER, &places).await.expect("is placed");
    let stop = Arc::new(AtomicBool::new(false));
    let mover = tokio::spawn(keep_moving(lists.clone(), Rng::with_seed(seed), stop.clone()));
    let mut rng = Rng::with_seed(seed + 1);
    let mut moved_meanwhile = 0;
    // A busy machine may let the mover sleep through the reads; then more are needed.
    for read in 0..10 * reads {
        if read >= reads && moved_meanwhile > 0 {
            break;
        }
        let order = if rng.bool() { Order::Ascending } else { Order::Descending };
        let (seen, one_version) = read_all(&lists, order, rng.usize(1..20)).await;
        moved_meanwhile += usize::from(!one_version);
        check(&seen, order);
    }
    stop.store(true, Ordering::Relaxed);
    let moves = mover.await.expect("the mover ends");
    println!("at least {reads} reads, {moved_meanwhile} while entries moved; {moves} moves");
    assert!(moved_meanwhile > 0, "nothing moved while reading");
    let (seen, one_version) = read_all(&lists, Order::Ascending, 7).await;
    assert!(one_version);
    check(&seen, Order::Ascending);
    let counts = lists.counts(&BY_OWNER, &1).await.expect("counts");
    assert_eq!(counts.placed, seen.len() as u64);
    home.expect_clean().await;
}

async fn keep_moving(lists: Lists, mut rng: Rng, stop: Arc<AtomicBool>) -> u64 {
    let mut rank = 1;
    while !stop.load(Ordering::Relaxed) {
        rank += 1;
        let (entry, sort) = (rng.u64(STILL..ALL), rng.u64(0..500));
        let at = (rng.u8(0..5) > 0).then(|| (sort, vec![2]));
        lists.place(&BY_OWNER, &1, &Place { entry, rank, at }).await.expect("is placed");
        tokio::task::yield_now().await;
    }
    rank
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_stay_are_seen_once_while_others_move() {
    let seed = seed("pages");
    for (name, home) in Home::both() {
        println!("{name}");
        let reads = match (name, full()) {
            (_, false) => 100,
            ("model", true) => 2_000,
            // Reads of a list slow down with the moves since it was last flushed: measured here,
            // 100 of them take 0.4 s after 500 moves and about 30 s after 60,000.
            (_, true) => 500,
        };
        pages_while_moving(&home, seed, reads).await;
    }
}
