//! What an operator can set, within bounds.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use lapin::uri::{AMQPScheme, AMQPUri};

use crate::intake::BATCH;

/// Seconds between two signs of life, unless the address says otherwise: a broker that is silent
/// for twice as long is taken for gone.
const HEARTBEAT: u16 = 10;

/// How messages are fetched from RabbitMQ.
#[derive(Clone, PartialEq, Eq)]
pub struct Settings {
    /// Where the broker is: `amqp://user:password@host:port/virtual-host`, the virtual host
    /// percent-encoded, and without it `/`.
    pub url: String,
    /// Messages of one queue that may wait here unacknowledged: 1 to 10,000.
    pub prefetch: u16,
    /// Messages of one call of the intake: 1 to [`BATCH`].
    pub batch: usize,
    /// How long a batch waits to fill: up to a second. A queue that is full never waits.
    pub linger: Duration,
    /// How long a message that the store did not take stays away: 10 ms to an hour.
    pub retry_delay: Duration,
    /// After so many attempts (up to 1,000) a message stays away twelve times as long. It is never
    /// given up: that a store fails is not the fault of a message.
    pub retries: u32,
    /// Whether queues are quorum queues, as Babylon's own client declares them, or classic ones.
    pub quorum: bool,
}

impl Settings {
    /// The defaults, with this broker.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            prefetch: 2_000,
            batch: 1_000,
            linger: Duration::from_millis(5),
            retry_delay: Duration::from_secs(5),
            retries: 10,
            quorum: true,
        }
    }

    /// Whether every setting is within its bounds.
    ///
    /// # Errors
    /// With the first one that is wrong.
    pub fn check(&self) -> Result<(), SettingsError> {
        self.uri()?;
        within("prefetch", self.prefetch, 1..=10_000)?;
        within("batch", self.batch, 1..=BATCH)?;
        within("linger in ms", self.linger.as_millis(), 0..=1_000)?;
        within("retry_delay in ms", self.retry_delay.as_millis(), 10..=3_600_000)?;
        within("retries", self.retries, 0..=1_000)
    }

    /// The address, taken apart.
    pub(super) fn uri(&self) -> Result<AMQPUri, SettingsError> {
        let mut uri: AMQPUri = self.url.parse().map_err(SettingsError::Url)?;
        if uri.scheme == AMQPScheme::AMQPS {
            return Err(SettingsError::Encrypted);
        }
        uri.query.heartbeat.get_or_insert(HEARTBEAT);
        Ok(uri)
    }
}

// Without the password: settings are logged.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let broker = match self.uri() {
            Ok(uri) => format!("{}:{}/{}", uri.authority.host, uri.authority.port, uri.vhost),
            Err(error) => error.to_string(),
        };
        f.debug_struct("Settings")
            .field("broker", &broker)
            .field("prefetch", &self.prefetch)
            .field("batch", &self.batch)
            .field("linger", &self.linger)
            .field("retry_delay", &self.retry_delay)
            .field("retries", &self.retries)
            .field("quorum", &self.quorum)
            .finish()
    }
}

/// A setting that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The address cannot be read.
    #[error("the url of RabbitMQ: {0}; write amqp://user:password@host:port/virtual-host")]
    Url(String),
    /// The address asks for TLS.
    #[error("amqps is not spoken; reach the broker through a tunnel and write its amqp:// url")]
    Encrypted,
    /// A number is too small or too large.
    #[error("`{name}` is {value}; use {from} to {to}")]
    Range {
        /// The setting.
        name: &'static str,
        /// What it is.
        value: String,
        /// The smallest that works.
        from: String,
        /// The largest that works.
        to: String,
    },
}

fn within<T: PartialOrd + ToString>(
    name: &'static str,
    value: T,
    bounds: RangeInclusive<T>,
) -> Result<(), SettingsError> {
    if bounds.contains(&value) {
        return Ok(());
    }
    let (from, to) = (bounds.start().to_string(), bounds.end().to_string());
    Err(SettingsError::Range { name, value: value.to_string(), from, to })
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "amqp://user:secret@broker:5673/chain%2Fone";

    fn refused(change: impl FnOnce(&mut Settings)) -> String {
        let mut settings = Settings::new(URL);
        change(&mut settings);
        settings.check().expect_err("it is out of bounds").to_string()
    }

    #[test]
    fn the_defaults_are_within_their_bounds() {
        assert_eq!(Settings::new(URL).check(), Ok(()));
        assert_eq!(Settings::new("amqp://localhost").check(), Ok(()));
    }

    #[test]
    fn what_is_out_of_bounds_is_named_with_its_bounds() {
        assert_eq!(refused(|it| it.prefetch = 0), "`prefetch` is 0; use 1 to 10000");
        assert_eq!(refused(|it| it.batch = BATCH + 1), "`batch` is 2001; use 1 to 2000");
        assert!(refused(|it| it.linger = Duration::from_secs(2)).contains("`linger in ms`"));
        assert!(refused(|it| it.retry_delay = Duration::ZERO).contains("use 10 to 3600000"));
        assert!(refused(|it| it.retries = 1_001).contains("`retries` is 1001"));
    }

    #[test]
    fn a_url_of_another_kind_is_refused_with_the_right_form() {
        assert!(refused(|it| it.url = "http://broker".into()).contains("write amqp://"));
        assert!(refused(|it| it.url = "amqps://broker".into()).contains("through a tunnel"));
    }

    #[test]
    fn the_password_is_not_shown() {
        let shown = format!("{:?}", Settings::new(URL));
        assert!(shown.contains("broker:5673/chain/one") && !shown.contains("secret"), "{shown}");
    }

    #[test]
    fn a_heartbeat_of_the_url_wins() {
        let heartbeat = |url: &str| Settings::new(url).uri().expect("a url").query.heartbeat;
        assert_eq!(heartbeat(URL), Some(HEARTBEAT));
        assert_eq!(heartbeat("amqp://broker/%2f?heartbeat=60"), Some(60));
    }
}
