//! Why a directory cannot be opened, and how fjall's failures read to an operator.

use std::io;
use std::path::PathBuf;

use store::{EngineError, SchemaError};

/// Why a directory cannot be opened. Opening never changes a damaged store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process has it open.
    #[error(
        "{directory} is in use by process {holder}; stop that process, or let this command reach \
         it through its admin socket"
    )]
    Held {
        /// The directory.
        directory: PathBuf,
        /// Process id of the holder, as it wrote it down.
        holder: String,
    },
    /// A batch in the middle of a journal is damaged: acknowledged writes after it would be lost.
    #[error(
        "journal {file} is damaged at byte {offset}: batch {batch} cannot be read, but batches up \
         to {last} follow it; nothing was changed. Check the disk, then restore a backup"
    )]
    Damaged {
        /// The journal.
        file: PathBuf,
        /// Where the damaged batch begins.
        offset: u64,
        /// Its number.
        batch: u64,
        /// The last batch known to have been written.
        last: u64,
    },
    /// Batches are missing between or before journals.
    #[error(
        "batches {from} to {to} are in no journal and in no table; nothing was changed. A journal \
         file was removed or replaced: put it back, or restore a backup"
    )]
    Missing {
        /// First missing batch.
        from: u64,
        /// Last missing batch.
        to: u64,
    },
    /// The tables in it do not fit this program.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The directory cannot be used.
    #[error("{path}: {source}; check that it exists, is writable and has free space")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The engine cannot open its files.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl OpenError {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}

/// fjall's failure while `doing` something, with advice.
pub(crate) fn engine_error(doing: &str, error: &fjall::Error) -> EngineError {
    let full =
        matches!(io_kind(error), Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded));
    let advice = if full {
        "free space on the disk, then restart; everything acknowledged is safe"
    } else {
        match error {
            fjall::Error::Poisoned => {
                "an earlier write failed, most often because the disk is full: free space, or see \
                 the log for another cause, then restart; everything acknowledged is safe"
            }
            fjall::Error::Locked => "another process has the directory open; stop it first",
            fjall::Error::InvalidVersion(_) => {
                "the directory was written by another version of fjall"
            }
            _ => {
                "check the disk and the log, then restart; `ostrakon verify store` shows the damage"
            }
        }
    };
    EngineError::new(format!("{doing} failed: {}", words(error)), advice)
}

/// The error without fjall's debug noise around system errors.
fn words(error: &fjall::Error) -> String {
    match error {
        fjall::Error::Io(error) => error.to_string(),
        fjall::Error::Storage(fjall::LsmError::Io(error)) => error.to_string(),
        fjall::Error::Poisoned => "the store takes no more writes".to_owned(),
        other => other.to_string(),
    }
}

fn io_kind(error: &fjall::Error) -> Option<io::ErrorKind> {
    match error {
        fjall::Error::Io(error) | fjall::Error::Storage(fjall::LsmError::Io(error)) => {
            Some(error.kind())
        }
        _ => None,
    }
}
