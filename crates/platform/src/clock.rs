//! The time of day, as something a test can turn.
//!
//! Times are for people and for expiry. Nothing here is ordered by them: order comes from versions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds of a second.
pub(crate) const SECOND: u64 = 1000;
/// Milliseconds of a minute.
pub(crate) const MINUTE: u64 = 60 * SECOND;
/// Milliseconds of an hour.
pub(crate) const HOUR: u64 = 60 * MINUTE;
/// Milliseconds of a day.
pub(crate) const DAY: u64 = 24 * HOUR;

/// Gives the time of day in Unix milliseconds. Cheap to clone.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> u64 + Send + Sync>);

impl Clock {
    /// The clock of this machine.
    #[must_use]
    pub fn system() -> Self {
        Self(Arc::new(|| {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        }))
    }

    /// A clock that stands still at `millis`, and its hand.
    #[must_use]
    pub fn by_hand(millis: u64) -> (Self, Hand) {
        let hand = Hand(Arc::new(AtomicU64::new(millis)));
        let read = hand.clone();
        (Self(Arc::new(move || read.0.load(Ordering::SeqCst))), hand)
    }

    /// Unix milliseconds.
    #[must_use]
    pub fn now(&self) -> u64 {
        (self.0)()
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::system()
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Clock({})", self.now())
    }
}

/// Turns a clock made by [`Clock::by_hand`].
#[derive(Clone, Debug)]
pub struct Hand(Arc<AtomicU64>);

impl Hand {
    /// Goes on by `millis`.
    pub fn forward(&self, millis: u64) {
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_by_hand_goes_only_when_it_is_turned() {
        let (clock, hand) = Clock::by_hand(5);
        assert_eq!((clock.now(), clock.now()), (5, 5));
        hand.forward(DAY);
        assert_eq!(clock.now(), 5 + DAY);
        assert!(Clock::system().now() > DAY);
    }
}
