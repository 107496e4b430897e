//! The Redis keys of the paper, a port for each chain that has one.

use std::sync::Arc;

use resp::Stats;
use scan::keys::PaperKeys;
use store::Store;
use timeline::Timeline;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::config::{RedisSettings, Settings};

/// The port of a chain.
pub(super) struct Port<'a> {
    settings: &'a RedisSettings,
    listener: std::net::TcpListener,
    stats: Arc<Stats>,
}

/// What the port of a chain has counted.
pub(crate) struct Counted {
    pub(super) chain: String,
    pub(super) stats: Arc<Stats>,
}

impl<'a> Port<'a> {
    fn take(settings: &'a RedisSettings) -> anyhow::Result<Self> {
        let advice = format!("choose another address in [redis.{}]", settings.chain);
        let listener = super::bind(settings.listen, &advice)?;
        Ok(Self { settings, listener, stats: Arc::default() })
    }

    /// What will be counted, for the measurements.
    pub(super) fn counted(&self) -> Counted {
        Counted { chain: self.settings.chain.clone(), stats: self.stats.clone() }
    }
}

/// The ports, taken before anything is written: that one is in use should be said first.
pub(super) fn listen(settings: &Settings) -> anyhow::Result<Vec<Port<'_>>> {
    settings.redis.iter().map(Port::take).collect()
}

/// Serves each chain until the server stops.
pub(super) fn serve(
    store: &Store,
    latest_blocks: u64,
    ports: Vec<Port<'_>>,
    stop: &watch::Receiver<bool>,
) -> JoinSet<()> {
    let mut served = JoinSet::new();
    for Port { settings, listener, stats } in ports {
        let (store, chain) = (store.clone(), settings.chain.clone());
        let timeline = Timeline::new(store, chain, timeline::Settings::default());
        let keys = Arc::new(PaperKeys::new(timeline, latest_blocks));
        let mut options = resp::Options::default();
        options.password = settings.password.as_ref().map(|password| password.0.clone());
        options.stats = stats;
        match TcpListener::from_std(listener) {
            Ok(listener) => {
                served.spawn(resp::serve(listener, keys, options, stop.clone()));
            }
            Err(error) => tracing::error!(chain = %settings.chain, %error, "no Redis keys"),
        }
    }
    served
}
