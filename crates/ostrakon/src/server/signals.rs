//! How a server is asked to end: Ctrl-C, or SIGTERM from a supervisor.

use tokio::signal::unix::{SignalKind, signal};

/// Resolves to the name of the first signal. A second one ends the process at once, for those who
/// cannot wait; nothing acknowledged is lost by that.
pub(crate) fn catch() -> anyhow::Result<impl Future<Output = &'static str>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        let name = tokio::select! {
            _ = interrupt.recv() => "SIGINT",
            _ = terminate.recv() => "SIGTERM",
        };
        tokio::spawn(async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            std::process::exit(130);
        });
        name
    })
}
