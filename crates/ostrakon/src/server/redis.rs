//! The Redis keys of the paper, a port for each chain that has one.

use std::sync::Arc;

use anyhow::Context as _;
use scan::keys::PaperKeys;
use store::Store;
use timeline::Timeline;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::config::Settings;

/// The ports, taken before anything is written: that one is in use should be said first.
pub(super) fn listen(settings: &Settings) -> anyhow::Result<Vec<std::net::TcpListener>> {
    let bind = |redis: &crate::config::RedisSettings| {
        let address = redis.listen;
        let listener = std::net::TcpListener::bind(address).with_context(|| {
            let chain = &redis.chain;
            format!("cannot listen on {address}; choose another address in [redis.{chain}]")
        })?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    };
    settings.redis.iter().map(bind).collect()
}

/// Serves each chain until the server stops.
pub(super) fn serve(
    store: &Store,
    settings: &Settings,
    listeners: Vec<std::net::TcpListener>,
    stop: &watch::Receiver<bool>,
) -> JoinSet<()> {
    let mut served = JoinSet::new();
    for (redis, listener) in settings.redis.iter().zip(listeners) {
        let (store, chain) = (store.clone(), redis.chain.clone());
        let timeline = Timeline::new(store, chain, timeline::Settings::default());
        let keys = Arc::new(PaperKeys::new(timeline, settings.latest_blocks));
        let mut options = resp::Options::default();
        options.password = redis.password.as_ref().map(|password| password.0.clone());
        match TcpListener::from_std(listener) {
            Ok(listener) => {
                served.spawn(resp::serve(listener, keys, options, stop.clone()));
            }
            Err(error) => tracing::error!(chain = %redis.chain, %error, "no Redis keys"),
        }
    }
    served
}
