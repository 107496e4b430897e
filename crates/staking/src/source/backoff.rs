//! How long to wait before the next connection: longer each time, at random, and not for ever.

use std::time::Duration;

/// The longest pause after the first failure; it doubles from there.
const FIRST: Duration = Duration::from_millis(100);
/// The longest pause of all: a broker that is back is found within it.
const LONGEST: Duration = Duration::from_secs(30);

/// The failures in a row.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The pause after another failure: between half of what is allowed and all of it, so that the
    /// clients of a broker that was away do not all come at once.
    pub(super) fn next_pause(&mut self) -> Duration {
        let longest = longest(self.failures);
        self.failures = self.failures.saturating_add(1);
        longest / 2 + (longest / 2).mul_f64(random_fraction())
    }
}

fn longest(failures: u32) -> Duration {
    // Doubled so often, any first pause is longer than the longest.
    FIRST.saturating_mul(1 << failures.min(16)).min(LONGEST)
}

/// Between 0 and 1; without randomness 1, the longest pause.
fn random_fraction() -> f64 {
    let mut bytes = [0; 4];
    match getrandom::fill(&mut bytes) {
        Ok(()) => f64::from(u32::from_be_bytes(bytes)) / f64::from(u32::MAX),
        Err(_) => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_within_bounds() {
        let mut backoff = Backoff::default();
        for failure in 0..100 {
            let (pause, longest) = (backoff.next_pause(), longest(failure));
            assert!(longest / 2 <= pause && pause <= longest, "{failure}: {pause:?}");
        }
        assert_eq!(longest(0), FIRST);
        assert_eq!(longest(1), FIRST * 2);
        assert_eq!(longest(u32::MAX), LONGEST);
    }
}
