//! Repeats what may be repeated, with growing pauses.

use std::time::Duration;

use tokio::time::Instant;

const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// The pauses between the attempts at one request.
#[derive(Debug)]
pub(crate) struct Patience {
    until: Instant,
    pause: Duration,
}

impl Patience {
    pub(crate) fn new(patience: Duration) -> Self {
        Self { until: Instant::now() + patience, pause: FIRST_PAUSE }
    }

    /// Waits for something else than a request, for as long as there is patience.
    pub(crate) async fn within<T>(&self, wait: impl Future<Output = T>) -> Option<T> {
        tokio::time::timeout_at(self.until, wait).await.ok()
    }

    /// Waits before the next attempt; false when it is time to give up.
    pub(crate) async fn wait(&mut self) -> bool {
        if Instant::now() >= self.until {
            return false;
        }
        tokio::time::sleep(self.pause.mul_f64(spread())).await;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        true
    }
}

/// Between a half and three halves: those who met once should not meet again.
fn spread() -> f64 {
    let mut byte = [0];
    // Without randomness everybody waits the same time, which is only slower.
    let _ = getrandom::fill(&mut byte);
    0.5 + f64::from(byte[0]) / 256.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn waiting_for_others_ends_with_patience() {
        let patience = Patience::new(Duration::from_millis(20));
        assert_eq!(patience.within(std::future::ready(3)).await, Some(3));
        assert_eq!(patience.within(std::future::pending::<u8>()).await, None);
    }

    #[tokio::test]
    async fn pauses_grow_and_patience_ends() {
        let mut patience = Patience::new(Duration::from_millis(200));
        let mut attempts = 0;
        while patience.wait().await {
            attempts += 1;
        }
        assert!((2..40).contains(&attempts), "{attempts} attempts");
        assert!(patience.pause > FIRST_PAUSE * 2);
    }
}
