//! What the outside may know of a source.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use super::error::SourceError;

/// How a source is doing; shared with those who ask.
#[derive(Debug)]
pub struct Status {
    delivered: AtomicU64,
    acked: AtomicU64,
    retried: AtomicU64,
    link: Mutex<Link>,
}

#[derive(Debug)]
struct Link {
    connected: bool,
    since: SystemTime,
    last_error: Option<String>,
}

/// A status as it was at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Whether messages are consumed.
    pub connected: bool,
    /// Since when that is so.
    pub since: SystemTime,
    /// Messages that came, those included that came again.
    pub delivered: u64,
    /// Messages that the broker was told to forget, because they were taken or put off.
    pub acked: u64,
    /// Of these the ones that were put off.
    pub retried: u64,
    /// Why the last connection ended or could not be opened; it stays when the next one is good.
    pub last_error: Option<String>,
}

impl Status {
    pub(super) fn new() -> Self {
        let link = Link { connected: false, since: SystemTime::now(), last_error: None };
        Self {
            delivered: AtomicU64::new(0),
            acked: AtomicU64::new(0),
            retried: AtomicU64::new(0),
            link: Mutex::new(link),
        }
    }

    /// How it is now.
    #[must_use]
    pub fn read(&self) -> Reading {
        let link = self.link();
        Reading {
            connected: link.connected,
            since: link.since,
            delivered: self.delivered.load(Ordering::Relaxed),
            acked: self.acked.load(Ordering::Relaxed),
            retried: self.retried.load(Ordering::Relaxed),
            last_error: link.last_error.clone(),
        }
    }

    /// Says that messages are consumed, until what is returned is dropped, for whatever reason.
    pub(super) fn connected(&self) -> Connected<'_> {
        self.link().set(true);
        Connected(self)
    }

    pub(super) fn failed(&self, error: &SourceError) {
        self.link().last_error = Some(error.to_string());
    }

    pub(super) fn add_delivered(&self) {
        self.delivered.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn add_acked(&self, messages: usize) {
        self.acked.fetch_add(messages as u64, Ordering::Relaxed);
    }

    pub(super) fn add_retried(&self) {
        self.retried.fetch_add(1, Ordering::Relaxed);
    }

    fn link(&self) -> MutexGuard<'_, Link> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Link {
    fn set(&mut self, connected: bool) {
        self.connected = connected;
        self.since = SystemTime::now();
    }
}

/// As long as this lives, messages are consumed.
#[derive(Debug)]
pub(super) struct Connected<'a>(&'a Status);

impl Drop for Connected<'_> {
    fn drop(&mut self) {
        self.0.link().set(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_connected_as_long_as_its_session_lives() {
        let status = Status::new();
        assert!(!status.read().connected);
        let session = status.connected();
        assert!(status.read().connected);
        drop(session);
        let reading = status.read();
        assert!(!reading.connected && reading.last_error.is_none());
        status.failed(&SourceError::Cancelled { queue: "q" });
        assert!(status.read().last_error.is_some_and(|error| error.contains('q')));
    }
}
