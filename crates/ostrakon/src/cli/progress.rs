//! Progress of long commands, on standard error: a line that changes on a terminal, a line now and
//! then elsewhere.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crate::admin::Watch;
use crate::format;

/// How often a terminal is told, and how often a log.
const TERMINAL: Duration = Duration::from_millis(200);
const LOG: Duration = Duration::from_secs(10);

/// A watch that writes to standard error, unless the work is done before there is much to say.
pub(crate) fn on_stderr() -> Watch {
    until(Arc::default())
}

/// The same, for work that ends soon after `cancelled` is set.
pub(crate) fn until(cancelled: Arc<AtomicBool>) -> Watch {
    let terminal = std::io::stderr().is_terminal();
    let mut printer = Printer { terminal, last: Instant::now(), open: false };
    Watch::new(move |table: &str, entries| printer.tell(table, entries), cancelled)
}

struct Printer {
    terminal: bool,
    last: Instant,
    /// Whether the cursor stands behind an unfinished line.
    open: bool,
}

impl Printer {
    fn tell(&mut self, table: &str, entries: u64) {
        let pause = if self.terminal { TERMINAL } else { LOG };
        if self.last.elapsed() < pause {
            return;
        }
        self.last = Instant::now();
        self.open = self.terminal;
        let line = format!("{table}: {} entries", format::count(entries));
        let mut out = std::io::stderr();
        // Progress that cannot be shown is no reason to stop.
        let _ = if self.terminal {
            write!(out, "\r\x1b[K{line}").and_then(|()| out.flush())
        } else {
            writeln!(out, "{line}")
        };
    }
}

impl Drop for Printer {
    fn drop(&mut self) {
        if self.open {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
