//! Reaches a store: through the server that holds it, or by opening its directory.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, bail};

use super::{Answer, Request, Watch, client, execute, socket};
use crate::config::Settings;
use crate::opening::{self, OpenError, Tables};

/// How long a server that holds the store may take to open its socket: it is just starting.
const STARTING: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(100);

/// Asks whoever holds the store, or does the work here when nobody does.
pub(crate) async fn ask(
    settings: &Settings,
    request: &Request,
    watch: &mut Watch,
) -> anyhow::Result<Answer> {
    let deadline = tokio::time::Instant::now() + STARTING;
    loop {
        if let Some(stream) = socket::connect(&settings.data).await? {
            return client::ask(stream, request, watch).await;
        }
        if !opening::exists(&settings.data) {
            bail!(
                "there is no store in {}; `ostrakon schema apply` makes one, or name another \
                 directory with --data",
                settings.data.display()
            );
        }
        let tables = match request {
            Request::Schema => Tables::Untouched,
            _ => Tables::Required,
        };
        match opening::open(settings, tables) {
            Ok(opened) => return execute(request, &opened, watch).await,
            Err(OpenError::Held { .. }) if tokio::time::Instant::now() < deadline => {
                tokio::time::sleep(PAUSE).await;
            }
            Err(error @ OpenError::Held { .. }) => {
                return Err(error).context(
                    "the store is held by a process that has no admin socket; wait until its \
                     command has ended, or stop it",
                );
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// An error with advice when a server holds the store, for commands that need it for themselves.
pub(crate) async fn refuse_if_held(directory: &Path, advice: &str) -> anyhow::Result<()> {
    if socket::connect(directory).await?.is_some() {
        bail!("{} is in use by a running server; {advice}", directory.display());
    }
    Ok(())
}
