//! Processes that end with their owner, whatever happens to it.
//!
//! # Why a guard, and not the kernel's parent-death signal
//!
//! Linux can signal a child when its parent dies (`PR_SET_PDEATHSIG`, `setpriv --pdeathsig`). For
//! tests it has three gaps: "the parent" is the *thread* that forked, and a test harness runs every
//! test in a thread of its own; it reaches only the direct child, while servers start through
//! shells and fork helpers; and it is cleared when the child changes its user.
//!
//! So each group has a guard: a small shell that leads the process group and reads a pipe whose
//! other end only the owner holds. The kernel closes that end when the owner drops the group, and
//! also when the owner dies in any way, `kill -9` included. The guard then kills whoever carries
//! the group's mark in its environment, which finds daemons that left the group (`epmd`), and then
//! the whole group with itself. Dropping a group and dying take the same path, so every test
//! tests it. While the guard lives its process id names the group and cannot be given to another.
//!
//! What escapes: a process that has both left the group and wiped its environment. None of our
//! parts does; one that did would have to be ended by its own pid file.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The variable that marks every process of a group.
const MARK: &str = "OSTRAKON_PART";

/// Waits for the end of the pipe. The signals of a terminal are not for the guard.
const WAIT: &str = "trap '' HUP INT TERM; read -r _;";

/// Kills the marked processes, up to 10 s while some cannot die yet, then the group and itself.
const KILL_ALL: &str = r#"
i=0
while [ "$i" -lt 200 ]; do
    marked=$(grep -lszxF -- "$1" /proc/[0-9]*/environ)
    [ -n "$marked" ] || break
    for file in $marked; do
        pid=${file#/proc/}
        kill -KILL "${pid%/environ}" 2>/dev/null
    done
    sleep 0.05
    i=$((i + 1))
done
kill -KILL 0"#;

/// A set of processes that is killed as a whole when it is dropped or when its owner dies.
///
/// ```
/// let group = parts::Group::new()?;
/// let mut child = group.spawn(std::process::Command::new("sleep").arg("600"))?;
/// drop(group);
/// assert!(!child.wait()?.success());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Group {
    guard: Guard,
    mark: String,
}

impl Group {
    /// An empty group, with its guard already on watch.
    ///
    /// # Errors
    ///
    /// When the guard cannot be started.
    pub fn new() -> io::Result<Self> {
        let mark = unique_mark();
        let guard = Guard::start(KILL_ALL, &format!("{MARK}={mark}"))?;
        Ok(Self { guard, mark })
    }

    /// Starts a process in the group. Its own children belong to the group too.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    pub fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        let leader = i32::try_from(self.guard.shell.id()).map_err(io::Error::other)?;
        command.process_group(leader).env(MARK, &self.mark).spawn()
    }
}

/// A shell that runs a script when its owner lets go of it or dies.
#[derive(Debug)]
pub(crate) struct Guard {
    shell: Child,
    /// The only writing end of the guard's pipe; closing it sets the guard to work.
    pipe: Option<ChildStdin>,
}

impl Guard {
    /// Starts a guard that will run `script` with `argument` as `$1`.
    pub(crate) fn start(script: &str, argument: &str) -> io::Result<Self> {
        let mut shell = Command::new("sh")
            .args(["-c", &format!("{WAIT}{script}"), "ostrakon-guard", argument])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Its own group, so that a Ctrl-C in the terminal does not reach it.
            .process_group(0)
            // A guard inside another group must outlive it, to clean up its own.
            .env_remove(MARK)
            // It must not keep a directory busy that is to be removed or unmounted.
            .current_dir("/")
            .spawn()?;
        let pipe = shell.stdin.take();
        Ok(Self { shell, pipe })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.pipe.take());
        // The script has a bound of its own, so this ends; there is nobody to tell of an error.
        let _ = self.shell.wait();
    }
}

/// A mark that no other group on this machine has.
fn unique_mark() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    format!("{}-{}-{now}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_differ() {
        assert_ne!(unique_mark(), unique_mark());
    }

    #[test]
    fn a_guard_runs_its_script_when_dropped() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("done");
        let guard = Guard::start("echo yes > \"$1\"", &file.to_string_lossy()).expect("starts");
        assert!(!file.exists());
        drop(guard);
        assert_eq!(std::fs::read_to_string(file).expect("written"), "yes\n");
    }
}
