//! Waiting for something, with an error that says for what, how long, and what was seen last.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use crate::command::{TAIL_LINES, tail};

/// The pause between two probes grows from the first of these to the second.
const PAUSES: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(200));

/// What was waited for did not come.
pub struct NotReady(Box<Seen>);

/// What is known when the time is over. Boxed, to keep the good path of every `Result` small.
struct Seen {
    what: String,
    waited: Duration,
    last: String,
    exited: Option<ExitStatus>,
    log: Option<(PathBuf, String)>,
}

impl NotReady {
    /// Adds the end of a log to the message.
    pub(crate) fn quoting(mut self, log: &Path) -> Self {
        self.0.log = Some((log.to_owned(), log_tail(log)));
        self
    }
}

impl fmt::Display for NotReady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Seen { what, waited, last, exited, log } = &*self.0;
        let seconds = waited.as_secs_f64();
        match exited {
            Some(status) => write!(f, "{what}: the process ended after {seconds:.1} s ({status})")?,
            None => write!(f, "{what}: not so after {seconds:.1} s; last: {last}")?,
        }
        if let Some((path, tail)) = log {
            write!(f, "\nlog: {}, its end:\n{tail}", path.display())?;
        }
        Ok(())
    }
}

// As it is displayed: tests fail by `expect`, which shows this form, and a log must stay readable.
impl fmt::Debug for NotReady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for NotReady {}

/// Probes until the answer is `Ok`, and returns it.
///
/// `what` names the awaited state in the error ("redis answers PING"). A probe must have a bound of
/// its own: it is not interrupted when the time is over.
///
/// # Errors
///
/// When the time is over; the error quotes the last answer of the probe.
pub fn wait_until<T, E: fmt::Display>(
    what: &str,
    timeout: Duration,
    probe: impl FnMut() -> Result<T, E>,
) -> Result<T, NotReady> {
    wait_while_running(what, timeout, || None, probe)
}

/// As [`wait_until`], but gives up at once when `exited` says that the process is gone.
pub(crate) fn wait_while_running<T, E: fmt::Display>(
    what: &str,
    timeout: Duration,
    mut exited: impl FnMut() -> Option<ExitStatus>,
    mut probe: impl FnMut() -> Result<T, E>,
) -> Result<T, NotReady> {
    let start = Instant::now();
    let mut pause = PAUSES.0;
    loop {
        // Asked before the probe: another process on the same port must not answer for a dead one.
        let gone = exited();
        let last = match probe() {
            Ok(value) if gone.is_none() => return Ok(value),
            Ok(_) => "something else answered".to_owned(),
            Err(error) => error.to_string(),
        };
        let waited = start.elapsed();
        if gone.is_some() || waited >= timeout {
            let seen = Seen { what: what.to_owned(), waited, last, exited: gone, log: None };
            return Err(NotReady(Box::new(seen)));
        }
        std::thread::sleep(pause.min(timeout - waited));
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// The end of a log, or a word on why it cannot be read.
pub(crate) fn log_tail(log: &Path) -> String {
    match std::fs::read(log) {
        Ok(bytes) if bytes.is_empty() => "(the log is empty)".to_owned(),
        Ok(bytes) => tail(&String::from_utf8_lossy(&bytes), TAIL_LINES),
        Err(error) => format!("(cannot be read: {error})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_returns_the_first_good_answer() {
        let mut left = 3;
        let answer = wait_until("counts down", Duration::from_secs(5), || {
            left -= 1;
            if left == 0 { Ok("done") } else { Err("not yet") }
        });
        assert_eq!(answer.expect("comes"), "done");
    }

    #[test]
    fn the_error_names_the_wish_and_the_last_answer() {
        let never = || Err::<(), _>("connection refused");
        let error = wait_until("redis answers", Duration::from_millis(20), never).expect_err("no");
        let text = error.to_string();
        assert!(text.starts_with("redis answers: not so after 0.0 s"), "{text}");
        assert!(text.ends_with("last: connection refused"), "{text}");
    }

    #[test]
    fn the_error_quotes_the_log() {
        let dir = tempfile::tempdir().expect("a directory");
        let log = dir.path().join("x.log");
        std::fs::write(&log, "first\nbad option\n").expect("written");
        let never = || Err::<(), _>("no");
        let error = wait_until("x", Duration::ZERO, never).expect_err("no").quoting(&log);
        let text = error.to_string();
        assert!(text.contains("x.log") && text.ends_with("bad option"), "{text}");
    }
}
