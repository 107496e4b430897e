//! Everything that runs while a server runs, and how it ends.
//!
//! ```text
//! signal ──► stop ──► HTTP finishes what it began ─┐
//!                 ──► admin commands give up       ├──► the store is closed ──► exit 0
//!                 ──► the sampler ends             ┘
//! ```

mod http;
pub(crate) mod reports;
pub(crate) mod signals;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::admin;
use crate::opening::{self, OpenStore};
use crate::system::{self, ingest};

/// What a request handler may use.
pub(crate) struct App {
    /// The store.
    pub(crate) opened: Arc<OpenStore>,
    /// This start.
    pub(crate) start: ingest::Registered,
    /// Shard reports of the live store.
    pub(crate) reports: reports::Reports,
}

/// Resolves when the server is to stop.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    // A sender that is gone can say nothing more: that is a stop as well.
    let _ = stop.wait_for(|stop| *stop).await;
}

/// A port to serve on, taken before anything else happens: that it is in use should be said first.
pub(crate) fn listen(address: SocketAddr) -> anyhow::Result<std::net::TcpListener> {
    let listener = std::net::TcpListener::bind(address).with_context(|| {
        format!("cannot listen on {address}; choose another address with --listen")
    })?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Serves the store until a signal asks to end, then closes it. `ready` is called once pages
/// answer.
pub(crate) async fn run(
    opened: OpenStore,
    directory: &Path,
    listener: std::net::TcpListener,
    ready: impl FnOnce(),
) -> anyhow::Result<()> {
    // Signals are caught from here on: an early Ctrl-C also ends cleanly.
    let signal = signals::catch()?;
    let opened = Arc::new(opened);
    // Before anything is written: it fails when another server has the directory.
    let socket = admin::socket::AdminSocket::bind(directory)?;
    let start = ingest::register(&opened.store).await?;
    let (stop, stopped) = watch::channel(false);
    let sampler = tokio::spawn(ingest::sample(opened.clone(), start.number, stopped.clone()));
    let desk = tokio::spawn(admin::server::serve(socket, opened.clone(), stopped.clone()));
    let reports = reports::Reports::new(opened.clone());
    let app = Arc::new(App { opened: opened.clone(), start, reports });
    let listener = TcpListener::from_std(listener)?;
    let pages = tokio::spawn(http::serve(listener, system::api::router(app.clone()), stopped));
    tracing::info!(start = app.start.number.0, "serving");
    ready();
    let name = signal.await;
    tracing::info!(signal = name, "stopping");
    // The receivers may be gone already; then there is nothing left to stop.
    let _ = stop.send(true);
    let _ = tokio::join!(pages, desk, sampler, app.reports.cancel());
    opening::close(&opened).await?;
    tracing::info!("the store is closed");
    Ok(())
}
