//! Verification finds what is wrong with a list, and says where.

mod common;

use bytes::Bytes;
use common::{BY_OWNER, Home, says};
use index::{Lists, Place};
use store::{Change, Commit, Store};

/// Places three entries, changes one row behind the list's back, and expects findings.
async fn damage(change: Change, words: &[&str]) {
    let home = Home::model();
    let store = Store::new(home.engine(), 0);
    let lists = Lists::new(store.clone());
    for entry in 1..=3 {
        lists.place(&BY_OWNER, &1, &Place::at(entry, 5, entry * 10, vec![])).await.expect("placed");
    }
    home.expect_clean().await;
    let page = lists.page(&BY_OWNER, &1, store::PageRequest::first(1)).await.expect("a page");
    let commit = Commit {
        table: BY_OWNER.table(),
        partition: store::PartitionKey::new(BY_OWNER.table(), 1u64.to_be_bytes().to_vec())
            .expect("a key"),
        expected: page.version,
        changes: vec![change],
        op: common::op(),
        result: Bytes::new(),
    };
    store.commit(commit).await.expect("is damaged");
    let report = home.verify().await;
    assert!(!report.is_clean());
    let all: Vec<_> = report.findings.iter().map(|finding| finding.what.clone()).collect();
    says(&all.join("\n"), words);
}

fn row(sort: u64, entry: u64) -> Bytes {
    [&[2][..], &sort.to_be_bytes(), &entry.to_be_bytes()].concat().into()
}

#[tokio::test]
async fn a_missing_row_and_a_wrong_count_are_found() {
    let change = Change::Delete { sort: row(20, 2) };
    damage(change, &["its head says", "placed: 3", "placed: 2", "entry 0000000000000002"]).await;
}

#[tokio::test]
async fn a_row_without_an_entry_is_found() {
    let value = Bytes::from_static(&[1, 2, 5, 1, 1]);
    damage(Change::Put { sort: row(25, 2), value }, &["belongs to no entry", "head says"]).await;
}

#[tokio::test]
async fn a_row_of_another_rank_is_found() {
    let value = Bytes::from_static(&[1, 2, 4, 1, 1]);
    damage(Change::Put { sort: row(20, 2), value }, &["at rank 5, its row at Some(4)"]).await;
}

#[tokio::test]
async fn a_missing_entry_is_found() {
    let sort = [&[1][..], &2u64.to_be_bytes()].concat().into();
    damage(Change::Delete { sort }, &["known: 3", "known: 2", "belongs to no entry"]).await;
}

#[tokio::test]
async fn a_cell_that_cannot_be_read_is_found() {
    let value = Bytes::from_static(&[1, 9, 9]);
    damage(Change::Put { sort: row(20, 2), value }, &["damaged"]).await;
    let value = Bytes::from_static(&[1, 0, 1, 1]);
    damage(Change::Put { sort: row(20, 2), value }, &["another kind of cell"]).await;
}

#[tokio::test]
async fn an_old_intent_is_found_and_a_young_one_is_not() {
    let home = Home::model();
    let world = home.world();
    world.score(1, common::POISON, common::op()).await.expect("is committed");
    let now = index::Millis::now();
    let minute = std::time::Duration::from_secs(60);
    let check = |now| index::verify(home.engine.as_ref(), &[], minute, now);
    let young = check(now).await.expect("walks");
    assert!(young.is_clean() && young.intents == 1);
    let old = check(index::Millis(now.0 + 61_000)).await.expect("walks");
    assert_eq!(old.findings_total, 1);
    says(&old.findings[0].what, &["is 61 s old and unfinished", "driver"]);
}
