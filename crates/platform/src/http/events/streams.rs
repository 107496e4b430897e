//! How many streams there are, and of whom.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::http::kinds;
use crate::http::problem::Problem;
use crate::http::settings::StreamLimits;

/// Seconds after which to try again.
const RETRY: u32 = 30;

/// Why the server ended a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The client did not keep up.
    Slow,
    /// Events could not be read.
    Feed,
    /// The server stops.
    Shutdown,
}

/// All streams of this process.
#[derive(Debug, Default)]
pub struct Streams {
    callers: Mutex<HashMap<String, usize>>,
    open: AtomicUsize,
    buffered: AtomicUsize,
    peak: AtomicUsize,
    ended: [AtomicU64; 3],
}

/// A stream's place. Dropping it makes room for another.
#[derive(Debug)]
pub(crate) struct Place {
    streams: Arc<Streams>,
    caller: String,
    held: usize,
}

impl Streams {
    /// Takes a place, or says why there is none.
    pub(crate) fn enter(
        self: &Arc<Self>,
        caller: &str,
        limits: &StreamLimits,
    ) -> Result<Place, Problem> {
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        let refuse = |detail: String, limit: usize| {
            let problem = Problem::new(&kinds::TOO_MANY_STREAMS, detail);
            Err(problem.limit(limit as u64).retry_after(RETRY))
        };
        if self.open.load(Ordering::Relaxed) >= limits.total {
            let detail = format!("All {} event streams of this server are in use.", limits.total);
            return refuse(detail, limits.total);
        }
        let count = callers.entry(caller.to_owned()).or_default();
        if *count >= limits.per_caller {
            let detail = format!(
                "You have {count} event streams open, which is the limit. Close one: a single \
                 stream can carry every kind and every chain."
            );
            return refuse(detail, limits.per_caller);
        }
        *count += 1;
        self.open.fetch_add(1, Ordering::Relaxed);
        Ok(Place { streams: self.clone(), caller: caller.to_owned(), held: 0 })
    }

    /// Counts a stream that the server ended.
    pub(crate) fn ended(&self, reason: Reason) {
        self.ended[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Streams that are open.
    #[must_use]
    pub fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// The most events that were held for all streams at one time.
    #[must_use]
    pub fn most_buffered(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }

    /// Streams that were ended because their client was too slow.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.ended[Reason::Slow as usize].load(Ordering::Relaxed)
    }

    /// Measurements in the text format of Prometheus.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!(
            "# HELP ostrakon_events_streams Event streams that are open.\n\
             # TYPE ostrakon_events_streams gauge\nostrakon_events_streams {}\n\
             # HELP ostrakon_events_buffered Events held for streams.\n\
             # TYPE ostrakon_events_buffered gauge\nostrakon_events_buffered {}\n\
             # HELP ostrakon_events_ended_total Streams that the server ended.\n\
             # TYPE ostrakon_events_ended_total counter\n",
            self.open(),
            self.buffered.load(Ordering::Relaxed)
        );
        for (reason, count) in ["slow", "feed", "shutdown"].iter().zip(&self.ended) {
            let count = count.load(Ordering::Relaxed);
            let _ = writeln!(text, "ostrakon_events_ended_total{{reason=\"{reason}\"}} {count}");
        }
        text
    }
}

impl Place {
    /// The stream holds this many events now.
    pub(crate) fn hold(&mut self, events: usize) {
        let streams = &self.streams;
        let now = streams.buffered.fetch_add(events, Ordering::Relaxed) + events;
        streams.peak.fetch_max(now.saturating_sub(self.held), Ordering::Relaxed);
        streams.buffered.fetch_sub(self.held, Ordering::Relaxed);
        self.held = events;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.hold(0);
        self.streams.open.fetch_sub(1, Ordering::Relaxed);
        let mut callers = self.streams.callers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = callers.get_mut(&self.caller) {
            *count -= 1;
            if *count == 0 {
                callers.remove(&self.caller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_limited_in_total_and_per_caller_and_given_back() {
        let limits = StreamLimits { total: 3, per_caller: 2, ..StreamLimits::default() };
        let streams = Arc::new(Streams::default());
        let mut a1 = streams.enter("a", &limits).expect("a place");
        let a2 = streams.enter("a", &limits).expect("a place");
        let problem = streams.enter("a", &limits).expect_err("two are open");
        assert_eq!((problem.kind().status, problem.code()), (503, "too-many-streams"));
        assert!(problem.detail().contains("Close one"), "{}", problem.detail());
        let b1 = streams.enter("b", &limits).expect("a place");
        let problem = streams.enter("c", &limits).expect_err("all are in use");
        assert!(problem.detail().contains("All 3"), "{}", problem.detail());
        a1.hold(5);
        a1.hold(2);
        assert_eq!(streams.most_buffered(), 5);
        drop((a1, a2, b1));
        assert_eq!(streams.open(), 0);
        assert!(streams.callers.lock().expect("not poisoned").is_empty(), "nobody is remembered");
        assert!(streams.text().contains("ostrakon_events_buffered 0\n"));
        streams.enter("a", &limits).expect("there is room again");
    }
}
