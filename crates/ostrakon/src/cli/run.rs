//! `ostrakon run`: the server on the configured store.

use std::net::SocketAddr;

use clap::Args;

use super::{Global, in_runtime};
use crate::config::{self, Settings};
use crate::failure;
use crate::opening::{self, Tables};
use crate::server;

/// Serve the configured store until SIGTERM or Ctrl-C
///
/// Tables must be there: `ostrakon schema apply` creates them. Requests that have begun are
/// finished before it ends.
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Address of the pages; wins over the configuration
    #[arg(long, value_name = "ADDR", value_parser = config::listen_address)]
    listen: Option<SocketAddr>,
}

impl Run {
    /// Serves until a signal comes.
    pub(crate) fn run(self, global: &Global) -> anyhow::Result<u8> {
        let settings = Settings::load(global.config.as_deref(), global.data.as_deref())?;
        crate::log::start(&settings.log);
        let listener = server::listen(self.listen.unwrap_or(settings.listen))?;
        let address = listener.local_addr()?;
        in_runtime(async {
            let opened = opening::open(&settings, Tables::Required).await?;
            let ready = || tracing::info!(%address, "pages answer");
            server::run(opened, &settings.data, listener, ready).await
        })?;
        Ok(failure::OK)
    }
}
