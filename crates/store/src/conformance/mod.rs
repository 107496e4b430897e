//! The suite every engine must pass: the contract, case by case and at random.
//!
//! An engine's crate implements [`Subject`] and calls [`cases`], [`random`] and [`concurrent`] from
//! its tests. Random runs print their seed; `OSTRAKON_SEED` repeats one.

mod cases;
mod concurrent;
mod faults;
mod random;
mod tables;
mod walks;

use std::sync::Arc;

pub use cases::cases;
pub use concurrent::concurrent;
pub use faults::{Call, Choose, Fault, Faulty};
pub use random::random;
pub use tables::{CELLS, FACTS, LIST, schema};

use crate::{Engine, Maintenance, Store, Task};

/// An engine under test.
pub trait Subject: Send + Sync {
    /// Opens the engine with the tables of [`schema`]. Called again after the last reference to the
    /// engine before was dropped: what had been acknowledged must be there.
    fn open(&self) -> Task<'_, Arc<dyn Maintenance>>;

    /// Whether it refuses another value under a key of a `Once` table.
    fn checks_once(&self) -> bool;

    /// Whether contents survive closing.
    fn is_durable(&self) -> bool;
}

/// The seed of a run: from the environment, or a new one. Always printed.
#[must_use]
pub fn seed(name: &str) -> u64 {
    let given = std::env::var("OSTRAKON_SEED").ok().and_then(|text| text.parse().ok());
    let seed = given.unwrap_or_else(|| fastrand::u64(..));
    println!("{name}: OSTRAKON_SEED={seed}");
    seed
}

/// Whether the counts written in the issues are asked for.
#[must_use]
pub fn full() -> bool {
    std::env::var_os("OSTRAKON_FULL").is_some()
}

/// A store without a cache, so that every read reaches the engine.
fn store_on(engine: &Arc<dyn Maintenance>) -> Store {
    let engine: Arc<dyn Engine> = engine.clone();
    Store::new(engine, 0)
}
