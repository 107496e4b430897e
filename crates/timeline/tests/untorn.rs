//! The randomised check of the design: competing, pausing and dying writers, deep switches, sweeps,
//! long readers, somebody else's step between every two steps; no view is ever torn. And three
//! broken writers that the check must catch.

mod common;

use std::sync::Arc;

use common::actors::World;
use common::tree::schema;
use store::conformance::{full, seed};
use store::{Engine, Maintenance, ModelEngine};
use store_fjall::{FjallEngine, Options};
use timeline::Broken;

fn model() -> Arc<dyn Engine> {
    Arc::new(ModelEngine::default())
}

fn run(name: &str, engine: Arc<dyn Engine>, checks: u64) {
    let world = World::new(engine, seed(name), None);
    let counts = world.run(checks).expect("no view is torn");
    println!("{name}: {counts:?}");
    assert!(counts.reorganisations > 0 && counts.crashes > 0 && counts.lost > 0, "{counts:?}");
    assert!(counts.swept > 0 && counts.publishes > counts.reorganisations, "{counts:?}");
}

#[test]
fn no_view_is_torn_on_the_model() {
    run("timeline on the model", model(), if full() { 200_000 } else { 5_000 });
}

#[test]
fn no_view_is_torn_on_the_embedded_engine() {
    // In memory where the system has such a place: what is checked here is order, not the disk.
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let directory = directory.expect("a directory");
    let mut options = Options::new(directory.path());
    options.check_once = true;
    let engine = FjallEngine::open(&options, &schema()).expect("opens");
    assert!(!engine.stats().is_empty());
    run("timeline on fjall", Arc::new(engine), if full() { 200_000 } else { 1_000 });
}

/// A check that cannot fail proves nothing: each of these must be caught.
fn caught(broken: Broken) {
    let first = seed("a broken writer");
    let failed = (0..20).find_map(|round| {
        let world = World::new(model(), first.wrapping_add(round), Some(broken));
        world.run(5_000).err()
    });
    println!("{broken:?}: {}", failed.expect("the check catches it"));
}

#[test]
fn a_writer_that_reserves_nothing_is_caught() {
    caught(Broken::NoReservation);
}

#[test]
fn a_writer_that_hides_nothing_is_caught() {
    caught(Broken::NoHiding);
}

#[test]
fn a_writer_that_ignores_versions_is_caught() {
    caught(Broken::NoVersionCheck);
}
