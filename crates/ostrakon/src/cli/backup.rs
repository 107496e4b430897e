//! `ostrakon backup`: every table at one moment, in one file, while the server runs.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;

use super::{Global, print, unexpected};
use crate::admin::{Answer, Request};
use crate::failure;

/// Write every table, as it is at this moment, into one file
///
/// A running server writes the file itself, so the place must be one that it can reach. The file
/// appears under its name only when it is whole and on disk. A cluster has no view of one moment:
/// stop the servers that write to it first, or use its own snapshots.
#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// The file to write; it must not exist
    file: PathBuf,
}

impl Backup {
    /// Writes the backup.
    pub(crate) fn run(self, global: &Global) -> anyhow::Result<u8> {
        let file = std::path::absolute(&self.file)
            .with_context(|| format!("{} is no path", self.file.display()))?;
        let Answer::Backup(answer) = global.ask(&Request::Backup { file })? else {
            return Err(unexpected());
        };
        print(&answer.text())?;
        Ok(failure::OK)
    }
}
