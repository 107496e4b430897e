//! `ostrakon demo`: the platform with nothing set up, gone when it ends.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;

use super::{Global, in_runtime, print};
use crate::config::{self, EngineKind, Settings};
use crate::demo::{self, Show};
use crate::failure;
use crate::opening::{self, Tables};
use crate::server;
use crate::services::Services;

/// Start a server on a store of its own, to look around; stop it with Ctrl-C
///
/// Commands reach it while it runs: give them the directory it prints with --data. With --config it
/// runs on the store of that configuration, which may be a cluster; its rows stay there.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Address of the pages [default: 127.0.0.1:8480, or any free port if that is taken]
    #[arg(long, value_name = "ADDR", value_parser = config::listen_address)]
    listen: Option<SocketAddr>,
    /// Keep the store when the demo ends
    #[arg(long)]
    keep: bool,
}

impl Demo {
    /// Serves until a signal comes.
    pub(crate) fn run(self, global: &Global) -> anyhow::Result<u8> {
        let place = Place::new(global.data.as_deref(), self.keep)?;
        let settings = settings(global, place.path())?;
        crate::log::start(&settings.log);
        let listener = self.listener(settings.listen)?;
        let address = listener.local_addr()?;
        if !address.ip().is_loopback() {
            tracing::warn!(%address, "anybody who reaches this address can see the pages");
        }
        in_runtime(async {
            let opened = opening::open(&settings, Tables::Created).await?;
            let services = Services::new(&[]);
            let ready = |show: &Show| announce(address, &settings, &place, show);
            server::run(opened, &settings, &services, listener, demo::prepare, ready).await
        })?;
        Ok(failure::OK)
    }

    /// An address that was asked for is a must; the usual one is only a convenience.
    fn listener(&self, usual: SocketAddr) -> anyhow::Result<TcpListener> {
        match self.listen {
            Some(address) => server::listen(address),
            None => {
                server::listen(usual).or_else(|_| server::listen(SocketAddr::new(usual.ip(), 0)))
            }
        }
    }
}

/// The demo looks at no file unless it is named: it must not touch an operator's store.
fn settings(global: &Global, data: &Path) -> anyhow::Result<Settings> {
    let Some(config) = &global.config else {
        let data = std::path::absolute(data)?;
        return Ok(Settings::defaults(data));
    };
    Ok(Settings::load(Some(config), Some(data))?)
}

fn announce(address: SocketAddr, settings: &Settings, place: &Place, show: &Show) {
    let fate = match (settings.engine, place) {
        (EngineKind::Embedded, Place::Passing(_)) => "removed when the demo ends; --keep keeps it",
        (EngineKind::Cassandra, _) | (_, Place::Lasting(_)) => "kept when the demo ends",
    };
    let text = format!(
        "Ostrakon {} is running. Chains, events, accounts, status and API:\n\n  \
         http://{address}/\n\nLog in as {} with the password {}\n\
         Store: {} ({fate})\nStop with Ctrl-C.\n",
        env!("CARGO_PKG_VERSION"),
        show.name,
        show.password,
        settings.place(),
    );
    // The pages answer whether or not somebody reads this.
    let _ = print(&text);
}

/// Where the demo's store is.
enum Place {
    /// Removed at the end.
    Passing(tempfile::TempDir),
    /// Stays.
    Lasting(PathBuf),
}

impl Place {
    fn new(data: Option<&Path>, keep: bool) -> anyhow::Result<Self> {
        if let Some(data) = data {
            return Ok(Self::Lasting(data.to_owned()));
        }
        let made = tempfile::Builder::new().prefix("ostrakon-demo-").tempdir();
        let made = made.context("no temporary directory; name one with --data")?;
        Ok(if keep { Self::Lasting(made.keep()) } else { Self::Passing(made) })
    }

    fn path(&self) -> &Path {
        match self {
            Self::Passing(dir) => dir.path(),
            Self::Lasting(path) => path,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passing_place_goes_and_a_lasting_one_stays() {
        let passing = Place::new(None, false).expect("made");
        let path = passing.path().to_owned();
        assert!(path.is_dir());
        drop(passing);
        assert!(!path.exists());
        let lasting = Place::new(None, true).expect("made").path().to_owned();
        assert!(lasting.is_dir());
        std::fs::remove_dir_all(lasting).expect("removed");
        let named = Place::new(Some(Path::new("mine")), false).expect("named");
        assert_eq!(named.path(), Path::new("mine"));
    }

    #[test]
    fn the_usual_port_may_be_taken_and_a_named_one_may_not() {
        let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = taken.local_addr().expect("an address");
        let usual = Demo { listen: None, keep: false }.listener(address).expect("another port");
        assert_ne!(usual.local_addr().expect("an address"), address);
        let named = Demo { listen: Some(address), keep: false }.listener(address);
        let error = named.expect_err("taken").to_string();
        assert!(error.contains("--listen"), "{error}");
    }
}
