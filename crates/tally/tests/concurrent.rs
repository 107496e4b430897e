//! 64 writers, 30% duplicates, ranks in any order, K raised on the way: the sums are exact.

mod common;

use std::sync::Arc;

use common::storm::storm;
use common::{fjall, model, schema};
use store::Maintenance;
use store::conformance::seed;
use tally::Settings;

/// A storm on one engine, of which no set may fail.
async fn on(engine: Arc<dyn Maintenance>, seed: u64, entries: u64, settings: Settings) {
    storm(engine.clone(), &[engine], seed, (entries, 0), settings).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sums_are_exact_on_the_model() {
    let engine = model();
    engine.apply(&schema()).await.expect("tables");
    let settings = Settings { shards: 4, ..Settings::default() };
    on(engine, seed("model"), parts::pick(3_000, 100_000), settings).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sums_are_exact_when_shards_fill_up_on_the_way() {
    let settings = Settings { shards: 2, shard_entries: 200, in_flight: 8 };
    on(model(), seed("model, small shards"), parts::pick(3_000, 50_000), settings).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sums_are_exact_on_the_embedded_engine() {
    let directory = tempfile::tempdir().expect("a directory");
    let settings = Settings { shards: 4, ..Settings::default() };
    let engine = fjall(directory.path());
    on(engine, seed("fjall"), parts::pick(1_500, 50_000), settings).await;
}
