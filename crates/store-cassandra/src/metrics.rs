//! What is counted since the engine was opened.

use std::sync::atomic::{AtomicU64, Ordering};

use store::Stat;

/// Counters.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    pub(crate) requests: AtomicU64,
    pub(crate) repeats: AtomicU64,
    pub(crate) rows_put: AtomicU64,
    pub(crate) batches: AtomicU64,
    pub(crate) commits: AtomicU64,
    pub(crate) conflicts: AtomicU64,
    pub(crate) unknown: AtomicU64,
}

impl Metrics {
    pub(crate) fn add(counter: &AtomicU64, count: usize) {
        counter.fetch_add(count as u64, Ordering::Relaxed);
    }

    pub(crate) fn stats(&self) -> Vec<Stat> {
        let count = Stat::count;
        vec![
            count("requests_total", "Requests sent to the cluster.", &self.requests),
            count("repeats_total", "Requests sent again after a failure.", &self.repeats),
            count("rows_put_total", "Rows put.", &self.rows_put),
            count("batches_total", "Batches of rows.", &self.batches),
            count("commits_total", "Commits done.", &self.commits),
            count("conflicts_total", "Commits refused for their version.", &self.conflicts),
            count("unknown_total", "Commits whose outcome stayed unknown.", &self.unknown),
        ]
    }
}
