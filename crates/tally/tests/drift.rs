//! `verify` and `recount` see what should not be. The damage is done behind the crate's back.

mod common;

use std::sync::Arc;

use common::{event, model, overall, tallies};
use store::{Entry, Maintenance, ModelEngine, RowKey, TableDef};
use tally::{Settings, Tallies};

const SETTINGS: Settings = Settings { shards: 3, shard_entries: 50_000, in_flight: 4 };

/// A tally of two generations with 60 entries.
async fn sound() -> (Arc<ModelEngine>, Tallies) {
    let engine = model();
    let tallies = tallies(engine.clone(), SETTINGS);
    for (entries, shards) in [(0..30, 3), (30..60, 5)] {
        tallies.raise(&overall(), shards).await.expect("raised");
        let sets = entries.map(|entry| event(&overall(), entry, 1)).collect();
        for answer in tallies.set_many(sets).await {
            let _ = answer.expect("is set");
        }
    }
    (engine, tallies)
}

fn table(name: &str) -> &'static TableDef {
    tally::tables().into_iter().find(|table| table.name() == name).expect("a table")
}

/// The rows of a table.
async fn rows(engine: &ModelEngine, name: &str) -> Vec<(RowKey, Vec<u8>)> {
    let walker = engine.walk().await.expect("a walk");
    let page = walker.page(table(name), None, 10_000).await.expect("a page");
    let row = |entry| match entry {
        Entry::Row { key, value } => Some((key, value.to_vec())),
        _ => None,
    };
    page.entries.into_iter().filter_map(row).collect()
}

/// Writes a row past all guards.
async fn plant(engine: &ModelEngine, name: &str, key: RowKey, value: Vec<u8>) {
    let entry = Entry::Row { key, value: value.into() };
    engine.load(table(name), vec![entry]).await.expect("loads");
}

async fn expect_finding(engine: &Arc<ModelEngine>, words: &str) {
    let report = tally::verify(engine.clone(), &mut |_| {}).await.expect("the walk ends");
    let found = report.findings.iter().any(|finding| finding.what.contains(words));
    assert!(found, "`{words}` is not in {:#?}", report.findings);
    assert!(!report.is_clean());
}

const SUM: &[u8] = &[0];

#[tokio::test]
async fn a_sound_store_has_no_findings() {
    let (engine, tallies) = sound().await;
    let report = tally::verify(engine.clone(), &mut |_| {}).await.expect("the walk ends");
    assert!(report.is_clean(), "{:#?}", report.findings);
    assert_eq!((report.tallies, report.shards, report.entries), (1, 8, 60));
    assert!(tallies.recount(&overall()).await.expect("a recount").agrees());
}

#[tokio::test]
async fn a_sum_that_drifted_is_found() {
    let (engine, tallies) = sound().await;
    let all = rows(&engine, "tally.shards").await;
    let sums: Vec<_> = all.iter().filter(|(key, _)| key.sort() == SUM).collect();
    // The sum of the last shard is put into the first of the same generation.
    let (newest, other) = (sums[sums.len() - 1], sums[sums.len() - 2]);
    plant(&engine, "tally.shards", newest.0.clone(), other.1.clone()).await;
    expect_finding(&engine, "the entries add up to").await;
    assert!(!tallies.recount(&overall()).await.expect("a recount").agrees());
}

#[tokio::test]
async fn an_entry_in_a_foreign_shard_is_found() {
    let (engine, _) = sound().await;
    let all = rows(&engine, "tally.shards").await;
    let (key, value) = all.iter().rfind(|(key, _)| key.sort() != SUM).expect("an entry");
    let mut partition = key.partition().to_vec();
    *partition.last_mut().expect("a shard") -= 1;
    let foreign = RowKey::new(table("tally.shards"), &partition, key.sort()).expect("a key");
    plant(&engine, "tally.shards", foreign, value.clone()).await;
    expect_finding(&engine, "belongs into shard").await;
}

#[tokio::test]
async fn an_entry_in_two_generations_is_found() {
    let (engine, _) = sound().await;
    let all = rows(&engine, "tally.shards").await;
    // An entry of the older generation is put into each shard of the newer; one is its home there.
    let (old, value) = all.iter().find(|(key, _)| key.sort() != SUM).expect("an entry");
    for (sum, _) in all.iter().filter(|(key, _)| key.sort() == SUM) {
        if sum.partition()[sum.partition().len() - 3] == 1 {
            let key = RowKey::new(table("tally.shards"), sum.partition(), old.sort());
            plant(&engine, "tally.shards", key.expect("a key"), value.clone()).await;
        }
    }
    expect_finding(&engine, "also counts in generation 0").await;
}

#[tokio::test]
async fn shards_that_no_read_finds_and_broken_rows_are_found() {
    let (engine, _) = sound().await;
    let all = rows(&engine, "tally.shards").await;
    let (key, value) = all.last().expect("rows");
    let mut partition = key.partition().to_vec();
    *partition.last_mut().expect("a shard") = 99;
    let lost = RowKey::new(table("tally.shards"), &partition, SUM).expect("a key");
    plant(&engine, "tally.shards", lost, value.clone()).await;
    expect_finding(&engine, "no such shard").await;
    plant(&engine, "tally.shards", key.clone(), vec![1, 77]).await;
    expect_finding(&engine, "damaged").await;
}

#[tokio::test]
async fn an_older_generation_that_is_open_is_found() {
    let (engine, _) = sound().await;
    let (key, value) = rows(&engine, "tally.shards").await.into_iter().next().expect("rows");
    assert_eq!(key.sort(), SUM);
    let (sealed, rest) = value.split_last().expect("bytes");
    assert_eq!(*sealed, 1, "the flag is the last byte");
    plant(&engine, "tally.shards", key, [rest, &[0]].concat()).await;
    expect_finding(&engine, "1 shards of older generations are not sealed").await;
}
