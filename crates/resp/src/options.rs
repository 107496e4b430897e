//! What a server allows, and what it has counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::wire::Limits;

/// What a server allows. The limits bound what one client can cost.
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// Clients must give it with AUTH or HELLO; without one everybody may read.
    pub password: Option<String>,
    /// Connections at a time.
    pub connections: usize,
    /// Of one request.
    pub request: Limits,
    /// Elements of one answer; fields and members with scores count twice.
    pub reply_elements: u64,
    /// Bytes of one answer. The memory of all answers that wait to be read is bounded by this
    /// times the connections.
    pub reply_bytes: u64,
    /// Keys that one KEYS looks at.
    pub keys_examined: u64,
    /// Commands that run at a time; more wait.
    pub working: usize,
    /// How long a connection may ask nothing; half a request is nothing.
    pub idle: Duration,
    /// How long a client may take to read some of what it asked for.
    pub reading: Duration,
    /// How long one command may take.
    pub command: Duration,
    /// Where things are counted.
    pub stats: Arc<Stats>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            password: None,
            connections: 1_000,
            request: Limits::default(),
            reply_elements: 20_000,
            reply_bytes: 4 * 1024 * 1024,
            keys_examined: 100_000,
            working: 64,
            idle: Duration::from_secs(300),
            reading: Duration::from_secs(10),
            command: Duration::from_secs(30),
            stats: Arc::default(),
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The password does not belong into logs.
        f.debug_struct("Options")
            .field("password", &self.password.is_some())
            .field("connections", &self.connections)
            .field("request", &self.request)
            .field("reply_elements", &self.reply_elements)
            .field("reply_bytes", &self.reply_bytes)
            .finish_non_exhaustive()
    }
}

/// What a server has counted since it began.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Connections that are open.
    pub open: AtomicU64,
    /// Connections that were taken.
    pub accepted: AtomicU64,
    /// Connections that were one too many.
    pub refused: AtomicU64,
    /// Connections that were ended because they said nothing.
    pub idle: AtomicU64,
    /// Connections that were ended because they did not read.
    pub slow: AtomicU64,
    /// Connections that were ended because they did not speak the protocol.
    pub garbled: AtomicU64,
    /// Commands, whatever their answer.
    pub commands: AtomicU64,
    /// Commands that were answered with an error.
    pub errors: AtomicU64,
    /// Wrong passwords.
    pub denied: AtomicU64,
    /// Bytes that were read.
    pub bytes_in: AtomicU64,
    /// Bytes that were written.
    pub bytes_out: AtomicU64,
}

impl Stats {
    /// All counters with their names, for metrics and INFO.
    #[must_use]
    pub fn read(&self) -> [(&'static str, u64); 11] {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        [
            ("open", get(&self.open)),
            ("accepted", get(&self.accepted)),
            ("refused", get(&self.refused)),
            ("idle", get(&self.idle)),
            ("slow", get(&self.slow)),
            ("garbled", get(&self.garbled)),
            ("commands", get(&self.commands)),
            ("errors", get(&self.errors)),
            ("denied", get(&self.denied)),
            ("bytes_in", get(&self.bytes_in)),
            ("bytes_out", get(&self.bytes_out)),
        ]
    }
}

pub(crate) fn count(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}
