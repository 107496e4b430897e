//! Webhooks as they are stored, and how their pauses grow.

use std::fmt;

use serde::{Deserialize, Serialize};
use store::{DecodeError, KeyPart, KeyReader};

use crate::accounts::UserId;
use crate::clock::{DAY, HOUR, SECOND};
use crate::events::EventFilter;
use crate::guarded::json_value;
use crate::secret::{hex, unhex};

/// The pause after the first failure; it doubles from there.
const FIRST_PAUSE: u64 = 10 * SECOND;
/// The longest pause.
const LONGEST_PAUSE: u64 = HOUR;
/// How long a webhook may fail before it is disabled.
const DISABLED_AFTER: u64 = DAY;
/// Characters of a reason that are kept.
const REASON_CHARS: usize = 200;

/// The id of a webhook, 32 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WebhookId(pub(super) [u8; 16]);

impl WebhookId {
    /// Reads 32 hex digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        unhex(text).map(Self)
    }
}

impl fmt::Display for WebhookId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for WebhookId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl KeyPart for WebhookId {
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
    }
    fn size(&self) -> usize {
        self.0.len()
    }
    fn decode(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        <[u8; 16]>::decode(reader).map(Self)
    }
}

/// A webhook. Its secret must be there as it is: every delivery is signed with it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Webhook {
    pub(crate) uid: UserId,
    pub(crate) url: String,
    pub(crate) filter: EventFilter,
    pub(crate) secret: String,
    pub(crate) created: u64,
    /// The newest event when it was made: it hears of later ones.
    pub(crate) after: u64,
}
json_value!(Webhook, format 1);

/// How far a webhook is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookState {
    /// Events up to this one were delivered, or did not match.
    pub position: u64,
    /// Failures since the last success.
    #[serde(default)]
    pub failures: u32,
    /// When the first of them was, Unix milliseconds.
    #[serde(default)]
    pub failing_since: u64,
    /// No delivery before this moment.
    #[serde(default)]
    pub pause_until: u64,
    /// What the last failure was.
    #[serde(default)]
    pub last_failure: Option<String>,
    /// Why nothing is delivered any more.
    #[serde(default)]
    pub disabled: Option<String>,
}
json_value!(WebhookState, format 1);

impl WebhookState {
    /// Whether something may be delivered.
    pub(crate) fn is_due(&self, now: u64) -> bool {
        self.disabled.is_none() && now >= self.pause_until
    }

    /// Everything up to `position` was delivered.
    pub(crate) fn delivered(&self, position: u64) -> Self {
        Self { position, ..Self::default() }
    }

    /// A delivery behind `position` failed.
    pub(crate) fn failed(&self, position: u64, reason: &str, now: u64) -> Self {
        let fresh = position > self.position || self.failures == 0;
        let failing_since = if fresh { now } else { self.failing_since };
        let failures = if fresh { 1 } else { self.failures.saturating_add(1) };
        let pause = (FIRST_PAUSE << (failures - 1).min(20)).min(LONGEST_PAUSE);
        let reason: String = reason.chars().take(REASON_CHARS).collect();
        let over = now.saturating_sub(failing_since) >= DISABLED_AFTER;
        let disabled = over.then(|| {
            format!("no delivery succeeded for a day ({failures} attempts); the last one: {reason}")
        });
        let (pause_until, last_failure) = (now + pause, Some(reason));
        Self { position, failures, failing_since, pause_until, last_failure, disabled }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_after_a_day_the_webhook_is_disabled_with_a_reason() {
        let mut state = WebhookState { position: 5, ..WebhookState::default() };
        let (mut now, mut pauses) = (DAY, Vec::new());
        while state.disabled.is_none() {
            assert!(state.is_due(now));
            state = state.failed(5, "connection refused", now);
            pauses.push(state.pause_until - now);
            now = state.pause_until;
        }
        assert_eq!(pauses[..3], [FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE]);
        assert!(pauses.is_sorted() && pauses.last() == Some(&LONGEST_PAUSE));
        assert!(!state.is_due(now + DAY));
        let reason = state.disabled.expect("a reason");
        assert!(reason.contains("connection refused"), "{reason}");
    }

    #[test]
    fn progress_begins_the_pauses_anew() {
        let mut state = WebhookState::default();
        for _ in 0..5 {
            state = state.failed(0, "no", DAY);
        }
        let progress = state.failed(3, "no", 2 * DAY);
        assert_eq!((progress.failures, progress.pause_until), (1, 2 * DAY + FIRST_PAUSE));
        assert_eq!(state.delivered(9), WebhookState { position: 9, ..WebhookState::default() });
    }
}
