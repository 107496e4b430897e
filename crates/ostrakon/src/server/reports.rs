//! Shard reports of the live store, made at most once at a time and not too often.
//!
//! A report walks the whole store. Pages therefore share one, and a page never waits long for it:
//! what is not ready is shown as such.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use placement::render::ShardReport;
use tokio::sync::watch;

use crate::admin::Watch;
use crate::opening::OpenStore;
use crate::shard_report;

/// A report younger than this is not made again.
const FRESH: Duration = Duration::from_secs(10);
/// And one is not made again before this many times as long as it took has passed, so that a large
/// store is not walked without end.
const REST: u32 = 20;
/// How long a report gets to give up when the server stops, and how often that is looked at.
const GRACE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(20);

/// A report and when it was asked for.
#[derive(Debug)]
pub(crate) struct Made {
    /// The report.
    pub(crate) report: ShardReport,
    /// Unix second.
    pub(crate) at: u64,
    due: Instant,
}

/// The latest report, and who is making the next one.
pub(crate) struct Reports {
    opened: Arc<OpenStore>,
    latest: watch::Sender<Option<Arc<Made>>>,
    making: Arc<Mutex<bool>>,
    cancelled: Arc<AtomicBool>,
}

impl Reports {
    /// No report yet.
    pub(crate) fn new(opened: Arc<OpenStore>) -> Self {
        let latest = watch::Sender::new(None);
        Self { opened, latest, making: Arc::default(), cancelled: Arc::default() }
    }

    /// Gives up the report that is being made, and waits until nobody reads for it any more: a
    /// request to a cluster must not outlive the runtime that drives it.
    pub(crate) async fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
        let given_up = async {
            while *self.making.lock().unwrap_or_else(PoisonError::into_inner) {
                tokio::time::sleep(PAUSE).await;
            }
        };
        // What is left when it ends is a read that nobody waits for.
        let _ = tokio::time::timeout(GRACE, given_up).await;
    }

    /// The latest report. Has a new one made when it is due, and waits for that up to `patience`.
    pub(crate) async fn get(&self, patience: Duration) -> Option<Arc<Made>> {
        let mut latest = self.latest.subscribe();
        let known = latest.borrow_and_update().clone();
        if known.as_ref().is_some_and(|made| Instant::now() < made.due) {
            return known;
        }
        self.make();
        let changed = tokio::time::timeout(patience, latest.changed()).await;
        match changed {
            Ok(Ok(())) => latest.borrow_and_update().clone(),
            _ => known,
        }
    }

    /// Makes a report in the background, unless that is being done.
    fn make(&self) {
        let mut making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut *making, true) {
            return;
        }
        let (opened, latest) = (self.opened.clone(), self.latest.clone());
        let done = Done(self.making.clone());
        let mut watch = Watch::new(|_, _| {}, self.cancelled.clone());
        let handle = tokio::runtime::Handle::current();
        tokio::task::spawn_blocking(move || {
            let (begun, at) = (Instant::now(), crate::system::ingest::now());
            let observed = shard_report::observe(&opened, None, &mut watch);
            let observed = handle.block_on(observed);
            // A new one may be begun before those who wait for this one look.
            drop(done);
            match observed {
                Ok(report) => {
                    let due = Instant::now() + FRESH.max(begun.elapsed() * REST);
                    latest.send_replace(Some(Arc::new(Made { report, at, due })));
                }
                Err(error) => {
                    tracing::warn!(error = %format!("{error:#}"), "no shard report was made");
                }
            }
        });
    }
}

/// Says that nobody is making a report any more, also after a panic.
struct Done(Arc<Mutex<bool>>);

impl Drop for Done {
    fn drop(&mut self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn pages_share_one_report_while_it_is_fresh() {
        let reports = Reports::new(Arc::new(OpenStore::model().await));
        let patience = Duration::from_secs(10);
        let (a, b) = tokio::join!(reports.get(patience), reports.get(patience));
        let (a, b) = (a.expect("made"), b.expect("made"));
        assert!(Arc::ptr_eq(&a, &b));
        assert_eq!(a.report.tables.len(), crate::catalogue::tables().len());
        let c = reports.get(Duration::ZERO).await.expect("kept");
        assert!(Arc::ptr_eq(&a, &c));
    }
}
