//! The randomised check of the design: competing, pausing and dying writers, deep switches, sweeps,
//! long readers, somebody else's step between every two steps; no view is ever torn. And three
//! broken writers that the check must catch.

mod common;

use std::sync::Arc;

use common::actors::{Counts, World};
use common::tree::schema;
use store::conformance::{full, seed};
use store::{Engine, Maintenance, ModelEngine};
use store_fjall::{FjallEngine, Options};
use tempfile::TempDir;
use timeline::Broken;

fn model() -> Arc<dyn Engine> {
    Arc::new(ModelEngine::default())
}

/// Runs `checks` checks in worlds of `each`: a world's chain stays short while its hidden past
/// grows, and a fresh one brings other dice.
fn run(
    name: &str,
    checks: u64,
    each: u64,
    engine: impl Fn() -> (Arc<dyn Engine>, Option<TempDir>),
) {
    let first = seed(name);
    let mut sum = Counts::default();
    for round in 0..checks.div_ceil(each) {
        let (engine, _directory) = engine();
        let world = World::new(engine, first.wrapping_add(round), None);
        match world.run(each) {
            Ok(counts) => sum.add(counts),
            Err(torn) => panic!("OSTRAKON_SEED={}: {torn}", first.wrapping_add(round)),
        }
        if (round + 1) % 40 == 0 {
            println!("{name}: {} of {checks} checks", sum.checks);
        }
    }
    println!("{name}: {sum:?}");
    assert!(sum.reorganisations > 0 && sum.crashes > 0 && sum.lost > 0, "{sum:?}");
    assert!(sum.swept > 0 && sum.publishes > sum.reorganisations, "{sum:?}");
}

#[test]
fn no_view_is_torn_on_the_model() {
    let checks = if full() { 200_000 } else { 5_000 };
    run("timeline on the model", checks, 5_000, || (model(), None));
}

#[test]
fn no_view_is_torn_on_the_embedded_engine() {
    let checks = if full() { 200_000 } else { 1_000 };
    run("timeline on fjall", checks, 500, || {
        // In memory where the system has such a place: what is checked here is order, not the disk.
        let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let directory = directory.expect("a directory");
        let mut options = Options::new(directory.path());
        options.check_once = true;
        let engine = FjallEngine::open(&options, &schema()).expect("opens");
        assert!(!engine.stats().is_empty());
        (Arc::new(engine), Some(directory))
    });
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
