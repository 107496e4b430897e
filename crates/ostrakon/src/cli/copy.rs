//! `ostrakon copy`: every table into the store of another configuration, on the same engine or
//! another.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;

use super::{Global, in_runtime, print, progress, unexpected};
use crate::admin::{self, Answer, Request};
use crate::config::Settings;
use crate::failure;
use crate::server::signals;

/// How long a copy gets to end by itself after Ctrl-C. Cutting it off loses nothing either.
const GRACE: Duration = Duration::from_secs(3);

/// Copy every table into the store of another configuration, and compare the digests
///
/// The other store must be new, or hold an unfinished copy of this one: a copy that was
/// interrupted, by Ctrl-C or by kill -9, goes on where it was when it is run again. Until it is
/// finished no server starts on that store.
///
/// From an embedded store the copy is of one moment. A running server makes it itself, so it must
/// be able to read FILE and what FILE names; what it writes after the copy began is not in the
/// copy. To move for good, stop the server first.
///
/// A cluster has no view of one moment: stop all servers that write to it before you copy from it.
#[derive(Debug, Args)]
pub(crate) struct Copy {
    /// Configuration file of the store to copy to
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
}

impl Copy {
    /// Copies, until it is done or a signal comes.
    pub(crate) fn run(self, global: &Global) -> anyhow::Result<u8> {
        let settings = global.settings()?;
        let to = std::path::absolute(&self.to)
            .with_context(|| format!("{} is no path", self.to.display()))?;
        refuse_itself(&settings, &to)?;
        let answer = in_runtime(copy(settings, Request::Copy { to }))?;
        let Answer::Copy(answer) = answer else { return Err(unexpected()) };
        print(&answer.text())?;
        Ok(failure::OK)
    }
}

/// Mistakes in the other configuration are found here, before a server is asked.
fn refuse_itself(settings: &Settings, to: &Path) -> anyhow::Result<()> {
    let target = Settings::load(Some(to), None)?;
    if settings.same_store(&target) {
        let what = format!(
            "{} names the store that is to be copied, {}; name another directory or keyspace in it",
            to.display(),
            target.place()
        );
        return Err(failure::Usage(what).into());
    }
    Ok(())
}

async fn copy(settings: Settings, request: Request) -> anyhow::Result<Answer> {
    let signal = signals::catch()?;
    let cancelled = Arc::new(AtomicBool::new(false));
    let mut watch = progress::until(cancelled.clone());
    // A thread of its own: engines read without leaving theirs, and a signal must get through.
    let handle = tokio::runtime::Handle::current();
    let mut work = tokio::task::spawn_blocking(move || {
        handle.block_on(admin::ask(&settings, &request, &mut watch))
    });
    tokio::select! {
        done = &mut work => done?,
        name = signal => {
            cancelled.store(true, Ordering::Relaxed);
            match tokio::time::timeout(GRACE, work).await {
                Ok(done) => done?,
                Err(_) => anyhow::bail!("the copy was ended by {name}; run it again to go on"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_not_copied_to_itself() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("to.toml");
        std::fs::write(&file, "[store]\ndirectory = \"data\"\n").expect("written");
        let refuse = |data| refuse_itself(&Settings::defaults(dir.path().join(data)), &file);
        refuse("other").expect("another store");
        let error = refuse("data").expect_err("the same").to_string();
        assert!(error.contains("name another directory"), "{error}");
    }
}
