//! What a test needs and this machine lacks: skip it here, fail it in CI.

use std::fmt;
use std::fs::OpenOptions;
use std::io::Write as _;

/// The variable that names a file to which every skip is appended, one line each.
///
/// `cargo xtask test` sets it, because a passing test shows no output and a skip must be seen.
pub const SKIPS: &str = "OSTRAKON_SKIPS";

/// Something that a test needs and that this machine does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    what: String,
    why: String,
    command: String,
}

impl Missing {
    /// Says what is missing, why it could not be had, and the exact command that provides it.
    pub fn new(
        what: impl Into<String>,
        why: impl Into<String>,
        command: impl Into<String>,
    ) -> Self {
        Self { what: what.into(), why: why.into(), command: command.into() }
    }

    /// The command to run, ready to be pasted into a shell.
    #[must_use]
    pub fn command(&self) -> &str {
        &self.command
    }

    /// The whole message on one line, as it stands in the file of skips.
    #[must_use]
    pub fn line(&self) -> String {
        let why = self.why.split_whitespace().collect::<Vec<_>>().join(" ");
        format!("{}: {why}; run: {}", self.what, self.command)
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is missing: {}\n  run: {}", self.what, self.why, self.command)
    }
}

impl std::error::Error for Missing {}

/// Whether this is a CI run (`CI=true`), in which nothing may be skipped.
#[must_use]
pub fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true")
}

/// Whether the full counts are asked for (`cargo xtask test --full`).
#[must_use]
pub fn full() -> bool {
    std::env::var("OSTRAKON_FULL").is_ok_and(|value| value == "1")
}

/// A count of a test: `ci` on an ordinary run, `all` with `cargo xtask test --full`.
#[must_use]
pub fn pick<T>(ci: T, all: T) -> T {
    if full() { all } else { ci }
}

/// Whether this process may install packages and mount file systems.
#[must_use]
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Unwraps what a test needs, or says that the test is skipped and why.
///
/// ```no_run
/// let Some(disk) = parts::require(parts::Tmpfs::mount(16 << 20)) else { return };
/// # drop(disk);
/// ```
///
/// # Panics
///
/// With `CI=true`, with the command that would have helped: there a skip is a failure.
pub fn require<T>(need: Result<T, Missing>) -> Option<T> {
    match need {
        Ok(value) => Some(value),
        Err(missing) if in_ci() => panic!("with CI=true a skip is a failure: {missing}"),
        Err(missing) => {
            note_skip(&missing);
            None
        }
    }
}

/// Shows a skip to the person and records it for the runner.
fn note_skip(missing: &Missing) {
    // Written to the stream itself: the test harness hides what `eprintln!` says in a passing test.
    // A skip that cannot be written must not fail the test, so these results are ignored.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {missing}");
    if let Some(path) = std::env::var_os(SKIPS) {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let _ = file.and_then(|mut file| writeln!(file, "{}", missing.line()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_carries_the_command() {
        let missing = Missing::new("redis", "not\n root", "sudo apt-get install redis");
        assert_eq!(missing.command(), "sudo apt-get install redis");
        assert_eq!(missing.line(), "redis: not root; run: sudo apt-get install redis");
        assert!(missing.to_string().ends_with("run: sudo apt-get install redis"));
    }

    #[test]
    fn require_passes_on_what_is_there() {
        assert_eq!(require(Ok(3)), Some(3));
    }
}
