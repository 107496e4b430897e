//! Limits and surroundings of the shell, each with its default.

use std::net::IpAddr;
use std::time::Duration;

/// What the operator sets.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Scheme, host and port under which browsers reach this server: `https://scan.example`.
    /// Without it the `Host` header is believed, which is right on the loopback address only.
    pub origin: Option<String>,
    /// Browsers reach it over HTTPS: cookies are `Secure` then.
    pub encrypted: bool,
    /// Proxies whose `X-Forwarded-For` is believed. None by default.
    pub trusted_proxies: Vec<IpAddr>,
    /// Bytes of a request's body.
    pub body_bytes: usize,
    /// How long a body may take to come.
    pub body_time: Duration,
    /// How long an answer may take to begin.
    pub answer_time: Duration,
    /// Requests that are answered at a time; more are told to come again.
    pub concurrency: usize,
    /// Limits of event streams.
    pub streams: StreamLimits,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            origin: None,
            encrypted: false,
            trusted_proxies: Vec::new(),
            body_bytes: 1 << 20,
            body_time: Duration::from_secs(20),
            answer_time: Duration::from_secs(30),
            concurrency: 1024,
            streams: StreamLimits::default(),
        }
    }
}

/// Limits of event streams.
#[derive(Clone, Copy, Debug)]
pub struct StreamLimits {
    /// Streams in total.
    pub total: usize,
    /// Streams of one caller: a project, an account, or an address without either.
    pub per_caller: usize,
    /// Silence after which a sign of life is sent.
    pub heartbeat: Duration,
}

impl Default for StreamLimits {
    fn default() -> Self {
        Self { total: 10_000, per_caller: 32, heartbeat: Duration::from_secs(15) }
    }
}

/// What differs for one route. Without a value the setting for all routes holds.
#[derive(Clone, Copy, Debug, Default)]
pub struct RouteLimits {
    /// Bytes of the body.
    pub body_bytes: Option<usize>,
    /// How long the body may take to come.
    pub body_time: Option<Duration>,
    /// How long the answer may take to begin.
    pub answer_time: Option<Duration>,
    /// The route is for programs of any origin although it stands outside of `/api`, `/compat` and
    /// `/rpc`: its writes need not come from our pages. A session cookie is still protected.
    pub for_programs: bool,
}
