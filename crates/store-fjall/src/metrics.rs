//! What the engine measures about itself.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use store::Stat;

/// Counters since the store was opened.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    pub(crate) rows_put: AtomicU64,
    pub(crate) rows_bulk: AtomicU64,
    pub(crate) bulk_runs: AtomicU64,
    pub(crate) commits: AtomicU64,
    pub(crate) conflicts: AtomicU64,
    pub(crate) repeated: AtomicU64,
    pub(crate) groups: AtomicU64,
    pub(crate) requests: AtomicU64,
    pub(crate) group_nanos: AtomicU64,
    pub(crate) group_nanos_max: AtomicU64,
    pub(crate) bulk_nanos_max: AtomicU64,
    pub(crate) flushes: AtomicU64,
    pub(crate) open_nanos: AtomicU64,
}

impl Metrics {
    pub(crate) fn add(counter: &AtomicU64, amount: usize) {
        counter.fetch_add(amount as u64, Ordering::Relaxed);
    }

    pub(crate) fn time(counter: &AtomicU64, elapsed: Duration) {
        counter.fetch_add(nanos(elapsed), Ordering::Relaxed);
    }

    pub(crate) fn longest(counter: &AtomicU64, elapsed: Duration) {
        counter.fetch_max(nanos(elapsed), Ordering::Relaxed);
    }

    pub(crate) fn stats(&self) -> Vec<Stat> {
        let count = Stat::count;
        let seconds = |name, help, counter: &AtomicU64, grows| Stat {
            name,
            help,
            counter: grows,
            value: counter.load(Ordering::Relaxed) as f64 / 1e9,
        };
        vec![
            count("rows_put_total", "Rows written through the journal.", &self.rows_put),
            count("rows_bulk_total", "Rows written in bulk runs.", &self.rows_bulk),
            count("bulk_runs_total", "Bulk runs.", &self.bulk_runs),
            count("commits_total", "Commits applied.", &self.commits),
            count("commit_conflicts_total", "Commits refused for their version.", &self.conflicts),
            count("commit_repeats_total", "Commits that had been done before.", &self.repeated),
            count("groups_total", "Journal batches synced.", &self.groups),
            count("group_requests_total", "Requests answered by those batches.", &self.requests),
            seconds("group_seconds_total", "Time spent writing batches.", &self.group_nanos, true),
            seconds("commit_seconds_max", "Longest batch.", &self.group_nanos_max, false),
            seconds("bulk_seconds_max", "Longest bulk run.", &self.bulk_nanos_max, false),
            count("flushes_total", "Times the journal was kept short.", &self.flushes),
            seconds("open_seconds", "Time it took to open the store.", &self.open_nanos, false),
        ]
    }
}

fn nanos(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
}
