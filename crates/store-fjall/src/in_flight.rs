//! Which batch is being written, so that no reader sees half of it.
//!
//! fjall numbers a batch when it begins to write it and shows it when it is applied. But a flush, a
//! compaction or a bulk run that ends meanwhile takes a later number and makes everything up to
//! its own visible, the batch that is being applied among it. A snapshot taken then would show the
//! rows of a commit one by one. So a reader whose snapshot reaches beyond the first number the
//! batch can have waits until the batch is applied. That is rare: without such an event in the
//! middle a snapshot ends right before the batch.

use std::sync::atomic::{AtomicU64, Ordering};

use fjall::Database;

/// No batch is being written.
const NONE: u64 = u64::MAX;

/// The least sequence number the batch being written can have.
#[derive(Debug)]
pub(crate) struct InFlight(AtomicU64);

impl Default for InFlight {
    fn default() -> Self {
        Self(AtomicU64::new(NONE))
    }
}

impl InFlight {
    /// Says that a batch is about to be written, until the answer is dropped.
    pub(crate) fn begin(&self, database: &Database) -> Batch<'_> {
        let floor = database.seqno();
        self.0.store(floor, Ordering::SeqCst);
        Batch { floor, of: self }
    }

    /// Waits until everything a snapshot at `seqno` can see is there. Called after the snapshot was
    /// taken: a batch that begins later has a number the snapshot cannot see.
    pub(crate) async fn applied(&self, seqno: u64) {
        while self.0.load(Ordering::SeqCst) < seqno {
            tokio::task::yield_now().await;
        }
    }
}

/// A batch while it is written.
pub(crate) struct Batch<'a> {
    floor: u64,
    of: &'a InFlight,
}

impl Batch<'_> {
    /// The least sequence number it can have.
    pub(crate) fn floor(&self) -> u64 {
        self.floor
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.of.0.store(NONE, Ordering::SeqCst);
    }
}
