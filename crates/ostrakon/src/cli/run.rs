//! `ostrakon run`: the server on the configured store.

use std::net::SocketAddr;

use clap::Args;

use super::{Global, in_runtime};
use crate::config::{self, Settings};
use crate::failure;
use crate::opening::{self, Tables};
use crate::server;
use crate::services::{Service, Services};

/// Serve the configured store until SIGTERM or Ctrl-C
///
/// Tables must be there: `ostrakon schema apply` creates them. Requests that have begun are
/// finished before it ends. With --only several processes share the work on one store: of a cluster
/// each is a client; an embedded store is held by the process that serves `web`, and the others
/// reach it through a socket in the data directory. Leases decide who writes.
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Address of the pages; wins over the configuration
    #[arg(long, value_name = "ADDR", value_parser = config::listen_address)]
    listen: Option<SocketAddr>,
    /// Only these services; without `web` the address answers health and measurements alone
    #[arg(long, value_name = "SERVICE", value_delimiter = ',', value_enum)]
    only: Vec<Service>,
}

impl Run {
    /// Serves until a signal comes.
    pub(crate) fn run(self, global: &Global) -> anyhow::Result<u8> {
        let settings = Settings::load(global.config.as_deref(), global.data.as_deref())?;
        crate::log::start(&settings.log);
        let listener = server::listen(self.listen.unwrap_or(settings.listen))?;
        let address = listener.local_addr()?;
        let services = Services::new(&self.only);
        let ready = || tracing::info!(%address, "pages answer");
        in_runtime(async {
            if services.has(Service::Web) {
                let opened = opening::open(&settings, Tables::Required).await?;
                let nothing = async |_: &_| Ok(());
                return server::run(opened, &settings, &services, listener, nothing, |()| ready())
                    .await;
            }
            let store = opening::reach(&settings).await?;
            server::work(store, &settings, &services, listener, ready).await
        })?;
        Ok(failure::OK)
    }
}
