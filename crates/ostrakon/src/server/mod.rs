//! Everything that runs while a server runs, and how it ends.
//!
//! ```text
//! signal ──► stop ──► HTTP finishes what it began ─┐
//!                 ──► admin commands give up       ├──► the store is closed ──► exit 0
//!                 ──► background work ends         ┘
//! ```

mod broker;
mod document;
mod http;
mod lag;
mod redis;
pub(crate) mod reports;
pub(crate) mod shell;
pub(crate) mod signals;

pub(crate) use broker::Broker;
pub(crate) use document::document;
#[cfg(test)]
pub(crate) use document::served;

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use platform::Platform;
use platform::bridge::LiveEvents;
use platform::http::CookieJar;
use scan::Explorers;
use staking::Staking;
use store::Store;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::admin::{self, socket};
use crate::catalogue;
use crate::config::{EngineKind, Settings};
use crate::opening::{self, OpenStore};
use crate::services::{self, Services};
use crate::system::ingest;

/// What a request handler may use.
pub(crate) struct App {
    /// The store.
    pub(crate) opened: Arc<OpenStore>,
    /// This start.
    pub(crate) start: ingest::Registered,
    /// Shard reports of the live store.
    pub(crate) reports: reports::Reports,
    /// Chains, accounts, projects, events.
    pub(crate) platform: Arc<Platform>,
    /// Chains that are explored.
    pub(crate) explorers: Explorers,
    /// Delegations and their statistics.
    pub(crate) staking: Staking,
    /// The broker of staking messages.
    pub(crate) broker: Broker,
    /// How session cookies are written.
    pub(crate) jar: CookieJar,
    /// What the ports with Redis keys have counted, chain by chain.
    pub(crate) redis: Vec<redis::Counted>,
}

/// Resolves when the server is to stop.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    // A sender that is gone can say nothing more: that is a stop as well.
    let _ = stop.wait_for(|stop| *stop).await;
}

/// A port to serve on, taken before anything else happens: that it is in use should be said first.
pub(crate) fn listen(address: SocketAddr) -> anyhow::Result<std::net::TcpListener> {
    bind(address, "choose another address with --listen")
}

fn bind(address: SocketAddr, advice: &str) -> anyhow::Result<std::net::TcpListener> {
    let listener = std::net::TcpListener::bind(address)
        .with_context(|| format!("cannot listen on {address}; {advice}"))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// What all services share, and the services. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Product {
    /// Chains, accounts, projects, events.
    pub(crate) platform: Arc<Platform>,
    /// Chains that are explored.
    pub(crate) explorers: Explorers,
    /// Delegations and their statistics.
    pub(crate) staking: Staking,
}

/// Everything on a store.
async fn open_product(store: Store, settings: &Settings) -> anyhow::Result<Product> {
    let options = platform::Options {
        chains: settings.chains.clone(),
        loopback_webhooks: settings.loopback_webhooks,
        ..platform::Options::default()
    };
    let mut platform = Platform::open(store.clone(), catalogue::schema(), options).await?;
    let explored = scan::Settings { latest: settings.latest_blocks, ..scan::Settings::default() };
    let explorers = Explorers::new(store.clone(), platform.chains.clone(), explored);
    platform.searchers = platform.searchers.with(explorers.clone());
    let (clock, events) = (platform.clock.clone(), platform.events.clone());
    let staking = Staking::new(store, clock, Some(events), settings.staking.service())?;
    staking.raise_shards().await?;
    staking.adopt().await?;
    platform.searchers = platform.searchers.with(staking.clone());
    Ok(Product { platform: platform.shared(), explorers, staking })
}

/// Serves pages and API on the store until a signal asks to end, then closes it. `prepare` may add
/// to it before pages answer, and what it returns lives as long as the server; `ready` is called
/// once they do.
pub(crate) async fn run<E>(
    opened: OpenStore,
    settings: &Settings,
    services: &Services,
    listener: std::net::TcpListener,
    prepare: impl AsyncFnOnce(&Product) -> anyhow::Result<E>,
    ready: impl FnOnce(&E),
) -> anyhow::Result<()> {
    // Signals are caught from here on: an early Ctrl-C also ends cleanly.
    let signal = signals::catch()?;
    http::raise_file_limit();
    let opened = Arc::new(opened);
    // Before anything is written: it fails when another server has the directory.
    let socket = socket::AdminSocket::bind(&settings.data)?;
    let start = ingest::register(&opened.store).await?;
    let (stop, stopped) = watch::channel(false);
    let product = open_product(opened.store.clone(), settings).await?;
    let sampler = tokio::spawn(ingest::sample(opened.clone(), start.number, stopped.clone()));
    let desk = tokio::spawn(admin::server::serve(socket, opened.clone(), stopped.clone()));
    let shared = share(&opened, settings, stopped.clone())?;
    let ports = redis::listen(settings)?;
    let extra = prepare(&product).await?;
    let (background, broker) = services::start(&product, services, settings)?;
    let Product { platform, explorers, staking } = product;
    let live = LiveEvents::follow(platform.events.clone()).await?;
    let reports = reports::Reports::new(opened.clone());
    let jar = CookieJar::new(shell::is_encrypted(settings));
    let redis = ports.iter().map(redis::Port::counted).collect();
    let app = Arc::new(App {
        opened: opened.clone(),
        start,
        reports,
        platform,
        explorers,
        staking,
        broker,
        jar,
        redis,
    });
    let followed = app.platform.chains.follow();
    let router = shell::whole(&app, settings, live, stopped.clone()).router;
    let redis = redis::serve(&opened.store, settings.latest_blocks, ports, &stopped);
    let pages = tokio::spawn(http::serve(TcpListener::from_std(listener)?, router, stopped));
    tracing::info!(start = app.start.number.0, "serving");
    ready(&extra);
    let name = signal.await;
    tracing::info!(signal = name, "stopping");
    // The receivers may be gone already; then there is nothing left to stop.
    let _ = stop.send(true);
    let _ = tokio::join!(pages, desk, sampler, shared, redis.join_all(), app.reports.cancel());
    drop((background, followed, extra));
    opening::close(&opened).await?;
    tracing::info!("the store is closed");
    Ok(())
}

/// Lets other processes of this machine use an embedded store. A cluster is reached by each itself.
fn share(
    opened: &OpenStore,
    settings: &Settings,
    stop: watch::Receiver<bool>,
) -> anyhow::Result<tokio::task::JoinHandle<()>> {
    if settings.engine == EngineKind::Cassandra {
        return Ok(tokio::spawn(async {}));
    }
    let (listener, file) = socket::listen(&settings.data, socket::STORE)?;
    let engine: Arc<dyn store::Engine> = opened.engine.clone();
    let limits = store_remote::Limits::default();
    let served = store_remote::serve(listener, engine, opened.schema.clone(), limits, stop);
    Ok(tokio::spawn(async move {
        served.await;
        drop(file);
    }))
}

/// Works in the background on a store that may be another process's, until a signal asks to end.
/// The listener answers for supervisors only: health, readiness, measurements.
pub(crate) async fn work(
    store: Store,
    settings: &Settings,
    services: &Services,
    listener: std::net::TcpListener,
    ready: impl FnOnce(),
) -> anyhow::Result<()> {
    let signal = signals::catch()?;
    http::raise_file_limit();
    let product = open_product(store, settings).await?;
    let (stop, stopped) = watch::channel(false);
    let followed = product.platform.chains.follow();
    let (background, _broker) = services::start(&product, services, settings)?;
    let router = shell::health_only(&product.platform, settings).router;
    let health = tokio::spawn(http::serve(TcpListener::from_std(listener)?, router, stopped));
    tracing::info!(?services, "working");
    ready();
    let name = signal.await;
    tracing::info!(signal = name, "stopping");
    let _ = stop.send(true);
    let _ = health.await;
    drop((background, followed));
    Ok(())
}
