//! One directory, one process.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

use crate::OpenError;

const FILE: &str = "ostrakon.lock";

/// Held while a store is open; the system lets go of it when the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct DirectoryLock {
    _file: File,
}

impl DirectoryLock {
    pub(crate) fn take(directory: &Path) -> Result<Self, OpenError> {
        let path = directory.join(FILE);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(OpenError::io(&path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = file.read_to_string(&mut holder);
                let holder = holder.trim();
                let holder = if holder.is_empty() { "unknown" } else { holder }.to_owned();
                return Err(OpenError::Held { directory: directory.to_owned(), holder });
            }
            Err(TryLockError::Error(source)) => return Err(OpenError::io(&path)(source)),
        }
        let write_id = |file: &mut File| {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "{}", std::process::id())
        };
        // The process id is a courtesy to whoever finds the lock; a full disk must not prevent
        // opening.
        if let Err(error) = write_id(&mut file) {
            tracing::warn!(%error, "the lock file does not name this process");
        }
        Ok(Self { _file: file })
    }
}
