//! Lists equal a simple model: random operations, many placers at once, and the bounds.

mod common;

use common::faults::Faulty;
use common::lists::{concurrent, random, unknown};
use common::{BY_CHAIN, BY_OWNER, Home, says};
use index::{Counts, Lists, Place, Placed};
use store::conformance::{full, seed};
use store::{PageRequest, Store};

#[tokio::test]
async fn random_placements_equal_a_model() {
    let seed = seed("lists random");
    for (name, home) in Home::both() {
        let operations = match (name, full()) {
            ("model", false) => 3_000,
            ("model", true) => 100_000,
            (_, false) => 600,
            (_, true) => 10_000,
        };
        random(&home, &Lists::new(Store::new(home.engine(), 0)), seed, operations).await;
    }
}

#[tokio::test]
async fn placements_of_unknown_outcome_equal_a_model() {
    let seed = seed("lists unknown");
    let home = Home::model();
    let faulty = Faulty::lying(home.engine(), seed);
    unknown(&home, &faulty, seed, if full() { 20_000 } else { 1_000 }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_placers_with_ranks_in_any_order_equal_a_model() {
    let seed = seed("lists concurrent");
    let ranks = if full() { 200 } else { 20 };
    for (name, home) in Home::both() {
        println!("{name}");
        concurrent(&home, &[home.engine()], seed, (48, ranks)).await;
    }
}

#[tokio::test]
async fn a_removed_entry_is_not_brought_back_by_a_late_rank() {
    let lists = Lists::new(Store::new(Home::model().engine(), 0));
    let place = |rank, sort| Place::at(1, rank, sort, vec![0]);
    assert_eq!(lists.place(&BY_OWNER, &1, &place(1, 5)).await.expect("placed"), Placed::Moved);
    let gone = Place::gone(1, 3);
    assert_eq!(lists.place(&BY_OWNER, &1, &gone).await.expect("placed"), Placed::Moved);
    assert_eq!(lists.place(&BY_OWNER, &1, &place(2, 6)).await.expect("placed"), Placed::Unchanged);
    assert_eq!(lists.place(&BY_OWNER, &1, &gone).await.expect("placed"), Placed::Unchanged);
    let counts = lists.counts(&BY_OWNER, &1).await.expect("counts");
    assert_eq!(counts, Counts { placed: 0, known: 1 });
    assert_eq!(lists.place(&BY_OWNER, &1, &place(4, 6)).await.expect("placed"), Placed::Moved);
    let standing = lists.standing(&BY_OWNER, &1, &1).await.expect("reads");
    assert_eq!(standing, Some((4, Some(6))));
}

#[tokio::test]
async fn bounds_are_refused_with_the_reason_and_the_remedy() {
    let lists = Lists::new(Store::new(Home::model().engine(), 0));
    let chain = "c".to_owned();
    let place = |entry, rank| Place::at(entry, rank, 1, vec![0]);
    for entry in 0..40 {
        lists.place(&BY_CHAIN, &chain, &place(entry, 1)).await.expect("fits");
    }
    let error = lists.place(&BY_CHAIN, &chain, &place(40, 1)).await.expect_err("full");
    says(&error, &["test.by_chain", "40 entries", "bound is 40", "Raise", "split"]);
    // Entries it knows still move.
    lists.place(&BY_CHAIN, &chain, &Place::gone(39, 2)).await.expect("moves");
    assert!(lists.place(&BY_CHAIN, &chain, &place(40, 1)).await.is_err(), "the rank is kept");
    let error = lists.place(&BY_CHAIN, &chain, &place(3, 1)).await;
    assert_eq!(error.expect("a duplicate"), Placed::Unchanged);
    let other = Place::at(3, 1, 1, vec![9]);
    let error = lists.place(&BY_CHAIN, &chain, &other).await.expect_err("another payload");
    says(&error, &["rank 1", "another sort key or payload", "take ranks from"]);
    let large = Place::at(3, 5, 1, vec![0; 100]);
    let error = lists.place(&BY_CHAIN, &chain, &large).await.expect_err("too large");
    says(&error, &["a payload", "64"]);
    let long = "x".repeat(300);
    let error = lists.place(&BY_CHAIN, &long, &place(1, 1)).await.expect_err("too long");
    says(&error, &["a partition key", "255"]);
    assert!(lists.page(&BY_CHAIN, &chain, PageRequest::first(1001)).await.is_err());
}
