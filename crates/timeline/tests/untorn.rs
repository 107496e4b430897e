//! The randomised check of the design: competing, pausing and dying writers, deep switches, sweeps,
//! long readers, somebody else's step between every two steps; no view is ever torn. And three
//! broken writers that the check must catch.

mod common;

use std::sync::Arc;

use common::actors::World;
use common::rounds::rounds;
use common::tree::schema;
use store::conformance::{full, seed};
use store::{Engine, Maintenance, ModelEngine};
use store_fjall::{FjallEngine, Options};
use timeline::Broken;

fn model() -> Vec<Arc<dyn Engine>> {
    vec![Arc::new(ModelEngine::default())]
}

#[test]
fn no_view_is_torn_on_the_model() {
    let checks = if full() { 200_000 } else { 5_000 };
    let world = |seed| (World::new(model(), seed, None), ());
    rounds("timeline on the model", checks, 5_000, world).expect_all();
}

#[test]
fn no_view_is_torn_on_the_embedded_engine() {
    let checks = if full() { 200_000 } else { 1_000 };
    let world = |seed| {
        // In memory where the system has such a place: what is checked here is order, not the disk.
        let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let directory = directory.expect("a directory");
        let mut options = Options::new(directory.path());
        options.check_once = true;
        let engine = FjallEngine::open(&options, &schema()).expect("opens");
        assert!(!engine.stats().is_empty());
        (World::new(vec![Arc::new(engine)], seed, None), directory)
    };
    rounds("timeline on fjall", checks, 500, world).expect_all();
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
