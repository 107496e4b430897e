//! Waiting between attempts: longer each time, at random, and not for ever.

use std::time::Duration;

use crate::ids::random;

/// Attempts of one commit. With the waits between them they take about two seconds.
pub(crate) const ATTEMPTS: u32 = 48;
/// The longest wait before the second attempt; it doubles from there.
const FIRST: Duration = Duration::from_millis(1);
/// The longest wait of all.
const LONGEST: Duration = Duration::from_millis(100);

/// The attempts of one operation.
#[derive(Debug, Default)]
pub(crate) struct Attempts(u32);

impl Attempts {
    /// Waits before the next attempt; false when there is none left.
    pub(crate) async fn again(&mut self) -> bool {
        self.0 += 1;
        if self.0 >= ATTEMPTS {
            return false;
        }
        tokio::time::sleep(jittered(longest_wait(self.0))).await;
        true
    }
}

fn longest_wait(attempt: u32) -> Duration {
    FIRST.saturating_mul(1 << attempt.min(10).saturating_sub(1)).min(LONGEST)
}

/// Anything between nothing and `longest`: writers that collided must not collide again.
pub(crate) fn jittered(longest: Duration) -> Duration {
    // Without randomness the longest wait is still a wait.
    let Ok(bytes) = random::<4>() else { return longest };
    longest.mul_f64(f64::from(u32::from_be_bytes(bytes)) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_end() {
        let waits: Vec<_> = (1..ATTEMPTS).map(longest_wait).collect();
        assert!(waits.is_sorted());
        assert_eq!(waits.first(), Some(&FIRST));
        assert_eq!(waits.last(), Some(&LONGEST));
        assert!(jittered(LONGEST) <= LONGEST);
    }
}
