//! Messages from RabbitMQ, handed to an [`Intake`] in batches.
//!
//! ```text
//!   eight queues ──► gathered ──► Intake::take ──► acknowledged
//!                    next batch   this batch  └──► Later: to <queue>_delay, and back from there
//! ```
//!
//! Nothing is acknowledged before the call that takes it has returned, so whatever ends in between,
//! the broker, the connection or this process, the broker delivers again: at least once, and the
//! intake knows what it has seen.
//!
//! | room | what it holds |
//! | --- | --- |
//! | `settings` | what an operator can set, within bounds |
//! | `topology` | the queues, declared as Babylon's own client declares them |
//! | `session` | one connection: opened, consumed until it fails |
//! | `retry` | what becomes of a batch: acknowledged, or put off |
//! | `backoff` | how long to wait before the next connection |
//! | `status` | what the outside may know |
//!
//! # Deliberately absent
//!
//! - `amqps`: the client would bring its own reader of key files, a dozen crates of old ciphers. A
//!   broker beyond this machine or its private network is reached through a tunnel.
//! - The client's own recovery: it ends after some attempts, and hides the failure meanwhile.

mod backoff;
mod error;
mod retry;
mod session;
mod settings;
mod status;
mod topology;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::intake::Intake;
use backoff::Backoff;
pub use error::SourceError;
use session::Session;
pub use settings::{Settings, SettingsError};
pub use status::{Reading, Status};
pub use topology::QUEUES;

/// A connection that held so long was a good one: the next failure is a new story.
const STEADY: Duration = Duration::from_secs(30);

/// The queues of a RabbitMQ, as a source of messages.
///
/// ```no_run
/// # use std::sync::Arc;
/// # use staking::source::SettingsError;
/// # async fn example(intake: Arc<dyn staking::Intake>) -> Result<(), SettingsError> {
/// use staking::source::{RabbitMq, Settings};
///
/// let source = RabbitMq::new(Settings::new("amqp://user:password@127.0.0.1:5672"), intake)?;
/// let status = source.status();
/// let running = tokio::spawn(source.run());
/// println!("connected: {}", status.read().connected);
/// running.abort();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct RabbitMq {
    settings: Settings,
    intake: Arc<dyn Intake>,
    status: Arc<Status>,
}

impl RabbitMq {
    /// A source that is not connected yet.
    ///
    /// # Errors
    ///
    /// When a setting is out of its bounds. That a broker is away is no error.
    pub fn new(settings: Settings, intake: Arc<dyn Intake>) -> Result<Self, SettingsError> {
        settings.check()?;
        Ok(Self { settings, intake, status: Arc::new(Status::new()) })
    }

    /// How the source is doing, for metrics and readiness.
    #[must_use]
    pub fn status(&self) -> Arc<Status> {
        Arc::clone(&self.status)
    }

    /// Connects, hands messages over, and connects again when that fails. It never returns: drop
    /// the future, or abort its task, to end it. What was not acknowledged by then is delivered
    /// again to whoever connects next.
    ///
    /// It needs a runtime of tokio with several threads.
    pub async fn run(self) -> Infallible {
        let mut backoff = Backoff::default();
        loop {
            let began = Instant::now();
            let error = Box::pin(self.connect_and_consume()).await;
            if began.elapsed() >= STEADY {
                backoff = Backoff::default();
            }
            let pause = backoff.next_pause();
            self.status.failed(&error);
            let pause_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
            if error.needs_a_person() {
                tracing::error!(%error, pause_ms, "staking: no messages from RabbitMQ");
            } else {
                tracing::warn!(%error, pause_ms, "staking: no messages from RabbitMQ for now");
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// One connection, to its end.
    async fn connect_and_consume(&self) -> SourceError {
        let session = Session::open(&self.settings, &self.intake, &self.status).await;
        match session {
            Ok(session) => {
                let _connected = self.status.connected();
                tracing::info!(queues = QUEUES.len(), "staking: consuming from RabbitMQ");
                session.run().await
            }
            Err(error) => error,
        }
    }
}
