//! Damage that was recovered from is written down, because a log line scrolls away.

use std::io::Write;
use std::path::Path;

const FILE: &str = "incidents.log";

/// Appends one line. Failing to write it must not keep the store closed.
pub(crate) fn record(directory: &Path, what: &str) {
    tracing::warn!(directory = %directory.display(), "{what}");
    let seconds = crate::expiry::now();
    let file = std::fs::OpenOptions::new().create(true).append(true).open(directory.join(FILE));
    if let Err(error) = file.and_then(|mut file| writeln!(file, "{seconds} {what}")) {
        tracing::error!(%error, "incidents.log cannot be written");
    }
}

/// All lines so far.
pub(crate) fn list(directory: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(directory.join(FILE)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}
