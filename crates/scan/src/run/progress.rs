//! How a writer gets on, for measurements and pages.

use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers of one chain. They are those of this process: zero where another one writes.
#[derive(Debug, Default)]
pub struct Progress {
    /// Epochs that were pushed.
    pub pushed: Counter,
    /// Epochs that were popped.
    pub popped: Counter,
    /// Epochs whose results were published.
    pub executed: Counter,
    /// Answers of nodes that did not come, or did not fit.
    pub failures: Counter,
    /// The newest epoch of the node that is followed.
    pub node: Counter,
    /// Epochs that are not indexed yet.
    pub behind: Counter,
    /// Units whose rows were swept.
    pub swept: Counter,
}

/// A number that many see and one changes.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// What it is.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub(crate) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }
}
