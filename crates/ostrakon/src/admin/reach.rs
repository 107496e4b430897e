//! Reaches a store: through the server that holds it, or by opening it. A cluster is held by
//! nobody, and is opened at once.

use std::time::Duration;

use anyhow::{Context as _, bail};

use super::{Answer, Request, Watch, client, execute, socket};
use crate::config::{EngineKind, Settings};
use crate::opening::{self, Tables};

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
        if settings.engine == EngineKind::Embedded
            && let Some(stream) = socket::connect(&settings.data).await?
        {
            return client::ask(stream, request, watch).await;
        }
        if !opening::exists(settings) {
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
        match opening::open(settings, tables).await {
            Ok(opened) => return execute(request, &opened, watch).await,
            Err(error) if !opening::is_held(&error) => return Err(error),
            Err(_) if tokio::time::Instant::now() < deadline => tokio::time::sleep(PAUSE).await,
            Err(error) => {
                return Err(error).context(
                    "the store is held by a process that has no admin socket; wait until its \
                     command has ended, or stop it",
                );
            }
        }
    }
}

/// An error with advice when a server holds the store, for commands that need it for themselves.
/// A cluster is nobody's: it is never refused.
pub(crate) async fn refuse_if_held(settings: &Settings, advice: &str) -> anyhow::Result<()> {
    if settings.engine == EngineKind::Embedded && socket::connect(&settings.data).await?.is_some() {
        bail!("{} is in use by a running server; {advice}", settings.data.display());
    }
    Ok(())
}
