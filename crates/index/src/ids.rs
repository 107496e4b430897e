//! Random numbers, names of intents, and the time of day they carry.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use store::{EngineError, OpId};

/// Bytes of an intent's id that are its time: enough until the year 10889.
const TIME_BYTES: usize = 6;

/// Unix milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Millis(pub u64);

impl Millis {
    /// The time of day.
    #[must_use]
    pub fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    /// This moment minus `span`.
    #[must_use]
    pub fn before(self, span: std::time::Duration) -> Self {
        let span = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        Self(self.0.saturating_sub(span))
    }
}

/// The name of one intent: its time, then 80 random bits.
///
/// The time stands in the key and not in the value, because an intent is a `Once` row. Ids sort by
/// age, so the driver reads the oldest first and none that is younger than it wants.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct IntentId(pub [u8; 16]);

impl IntentId {
    /// No intent: what a change without calls leaves in its result.
    pub(crate) const NONE: Self = Self([0; 16]);

    /// A name that nobody else has.
    ///
    /// # Errors
    /// When there are no random numbers.
    pub fn new(now: Millis) -> Result<Self, EngineError> {
        let mut id = random()?;
        let first = Self::first_at(now);
        for (byte, time) in id.iter_mut().zip(first.0).take(TIME_BYTES) {
            *byte = time;
        }
        Ok(Self(id))
    }

    /// The smallest id of a moment.
    pub(crate) fn first_at(now: Millis) -> Self {
        let mut id = [0; 16];
        let time = now.0.min((1 << (8 * TIME_BYTES)) - 1).to_be_bytes();
        for (byte, time) in id.iter_mut().zip(time.into_iter().skip(8 - TIME_BYTES)) {
            *byte = time;
        }
        Self(id)
    }

    /// When the change began, by the clock of whoever began it.
    #[must_use]
    pub fn time(self) -> Millis {
        let time = self.0.iter().take(TIME_BYTES);
        Millis(time.fold(0, |time, byte| time << 8 | u64::from(*byte)))
    }
}

impl fmt::Debug for IntentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Display for IntentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

/// A new operation id, for changes that no client named.
///
/// # Errors
/// When the system gives no random numbers.
pub fn new_op() -> Result<OpId, EngineError> {
    random().map(OpId)
}

/// Random bytes.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], EngineError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| {
        EngineError::new(format!("no random numbers: {error}"), "see what ails the system")
    })?;
    Ok(bytes)
}

/// Lower-case hex, for messages.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_time_and_carry_it() {
        let early = IntentId::new(Millis(1_700_000_000_000)).expect("random");
        let late = IntentId::new(Millis(1_700_000_000_001)).expect("random");
        assert!(early < late);
        assert_eq!(early.time(), Millis(1_700_000_000_000));
        assert!(IntentId::first_at(Millis(1_700_000_000_000)) <= early);
        assert!(early < IntentId::first_at(Millis(1_700_000_000_001)));
        assert_ne!(early, IntentId::new(Millis(1_700_000_000_000)).expect("random"));
    }
}
