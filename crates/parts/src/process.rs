//! One real server: described, started, watched, killed, started again, ended.

use std::ffi::{OsStr, OsString};
use std::fmt::{self, Display};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::command::CommandError;
use crate::group::Group;
use crate::wait::{NotReady, log_tail, wait_while_running};

/// Why a part does not run.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum PartError {
    /// The machine refused something the part needs.
    #[error("{part}: cannot {doing}: {source}")]
    Io {
        /// The part's name.
        part: String,
        /// What was tried.
        doing: String,
        /// What the system said.
        source: io::Error,
    },
    /// The part does not answer.
    #[error("{part}: {source}")]
    NotReady {
        /// The part's name.
        part: String,
        /// What was waited for, and the end of the log.
        source: NotReady,
    },
    /// A tool of the part failed.
    #[error("{part}: {source}")]
    Command {
        /// The part's name.
        part: String,
        /// The command and what it printed.
        source: CommandError,
    },
}

impl PartError {
    /// Wraps an error of the system with what was being done.
    pub fn io(part: &str, doing: &str) -> impl FnOnce(io::Error) -> Self + use<> {
        let (part, doing) = (part.to_owned(), doing.to_owned());
        move |source| Self::Io { part, doing, source }
    }
}

// As it is displayed: tests fail by `expect`, which shows this form, and a log must stay readable.
impl fmt::Debug for PartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The description of a server: its program, arguments and environment, and its own directory.
#[derive(Debug)]
pub struct Part {
    name: String,
    program: OsString,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    user: Option<String>,
    dir: TempDir,
}

impl Part {
    /// A part that runs `program`, with an empty directory of its own.
    ///
    /// # Errors
    ///
    /// When the directory cannot be made.
    pub fn new(name: &str, program: impl AsRef<OsStr>) -> Result<Self, PartError> {
        let dir = tempfile::Builder::new()
            .prefix(&format!("ostrakon-{name}-"))
            .tempdir()
            .map_err(PartError::io(name, "make its directory"))?;
        Ok(Self {
            name: name.to_owned(),
            program: program.as_ref().to_owned(),
            arguments: Vec::new(),
            environment: Vec::new(),
            user: None,
            dir,
        })
    }

    /// The part's directory: its working directory, and the place for its data and configuration.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// Sets a variable of the environment.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Runs the part as another user, to whom its directory is given. Only root can do that, and
    /// some servers (RabbitMQ, PostgreSQL) refuse to run as root.
    #[must_use]
    pub fn user(mut self, name: impl Into<String>) -> Self {
        self.user = Some(name.into());
        self
    }

    /// Runs a tool to its end before the part starts, as the part's user and in its directory
    /// (`initdb`), and returns what it printed.
    ///
    /// # Errors
    ///
    /// When the tool cannot be started or fails; the error quotes what it printed.
    pub fn prepare<A: AsRef<OsStr>>(
        &self,
        tool: impl AsRef<OsStr>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<String, PartError> {
        self.give_directory()?;
        self.tool(self.command_of(tool.as_ref())?.args(arguments))
    }

    /// Starts the part. It runs, but may not answer yet: go on with [`Process::wait_until`].
    ///
    /// # Errors
    ///
    /// When the program cannot be started.
    pub fn start(self) -> Result<Process, PartError> {
        self.give_directory()?;
        let log = self.dir().join(format!("{}.log", self.name));
        let running = Running::start(&self, &log)?;
        Ok(Process { part: self, log, running, keep: false })
    }

    fn give_directory(&self) -> Result<(), PartError> {
        let Some(user) = &self.user else { return Ok(()) };
        // `user:` means the user and the group it logs in with.
        let mut chown = Command::new("chown");
        self.tool(chown.arg("-R").arg(format!("{user}:")).arg(self.dir())).map(drop)
    }

    fn command(&self) -> Result<Command, PartError> {
        let mut command = self.command_of(&self.program)?;
        command.args(&self.arguments);
        Ok(command)
    }

    fn command_of(&self, program: &OsStr) -> Result<Command, PartError> {
        let mut command = match &self.user {
            None => Command::new(program),
            Some(user) => {
                let group = self.tool(Command::new("id").args(["-g", user]))?;
                let mut command = Command::new("setpriv");
                command.arg(format!("--reuid={user}")).arg(format!("--regid={}", group.trim()));
                command.args(["--init-groups", "--"]).arg(program);
                command
            }
        };
        command.envs(self.environment.iter().map(|(k, v)| (k, v))).current_dir(self.dir());
        Ok(command)
    }

    fn tool(&self, command: &mut Command) -> Result<String, PartError> {
        crate::run(command).map_err(|source| PartError::Command { part: self.name.clone(), source })
    }
}

/// A started server. Dropping it kills it and everything it has started.
///
/// Its directory, with the log, is removed then, unless the test has failed: a panicking test, a
/// failed [`wait_until`](Self::wait_until) and [`keep`](Self::keep) leave it, and its path is
/// printed. So let tests fail by panic (`expect`), and own the process in the test: a `static` is
/// never dropped, which leaves the directory behind (not the process; its group's guard ends it).
#[derive(Debug)]
pub struct Process {
    part: Part,
    log: PathBuf,
    running: Running,
    keep: bool,
}

impl Process {
    /// The process id of the program.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.running.child.id()
    }

    /// The part's directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.part.dir()
    }

    /// The file that takes the part's standard output and standard error.
    #[must_use]
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// How the program ended, if it has.
    pub fn exited(&mut self) -> Option<ExitStatus> {
        // An error here means the child was reaped elsewhere, which this type does not allow.
        self.running.child.try_wait().ok().flatten()
    }

    /// Probes until the answer is `Ok`; gives up at once when the program has ended.
    ///
    /// # Errors
    ///
    /// When the time is over or the program has ended; the error quotes the end of the log.
    pub fn wait_until<T, E: Display>(
        &mut self,
        what: &str,
        timeout: Duration,
        probe: impl FnMut() -> Result<T, E>,
    ) -> Result<T, PartError> {
        let child = &mut self.running.child;
        let exited = || child.try_wait().ok().flatten();
        wait_while_running(what, timeout, exited, probe).map_err(|source| {
            self.keep = true;
            let source = source.quoting(&self.log);
            PartError::NotReady { part: self.part.name.clone(), source }
        })
    }

    /// Asks the program to end (SIGTERM) and waits for it; kills the rest of its group after it.
    ///
    /// # Errors
    ///
    /// When it has not ended in time. It still runs then.
    pub fn terminate(&mut self, timeout: Duration) -> Result<ExitStatus, PartError> {
        self.signal(Signal::TERM)?;
        let name = self.part.name.clone();
        let status = crate::wait_until("it ends after SIGTERM", timeout, || {
            self.exited().ok_or("it still runs")
        });
        match status {
            Ok(status) => {
                self.kill();
                Ok(status)
            }
            Err(source) => {
                self.keep = true;
                Err(PartError::NotReady { part: name, source: source.quoting(&self.log) })
            }
        }
    }

    /// Kills the program and everything it has started, as `kill -9` does, and waits until it is
    /// gone. The directory stays, for [`start_again`](Self::start_again).
    pub fn kill(&mut self) {
        self.running.end();
    }

    /// Starts the program again in its directory, with the same arguments and ports, after
    /// [`kill`](Self::kill) or its own end.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    pub fn start_again(&mut self) -> Result<(), PartError> {
        self.running.end();
        self.running = Running::start(&self.part, &self.log)?;
        Ok(())
    }

    /// Stops the program where it is (SIGSTOP), as a stalled disk or a paused machine does.
    ///
    /// # Errors
    ///
    /// When the program has ended.
    pub fn pause(&mut self) -> Result<(), PartError> {
        self.signal(Signal::STOP)
    }

    /// Lets a paused program go on (SIGCONT).
    ///
    /// # Errors
    ///
    /// When the program has ended.
    pub fn resume(&mut self) -> Result<(), PartError> {
        self.signal(Signal::CONT)
    }

    /// Keeps the directory and the log when the process is dropped.
    pub fn keep(&mut self) {
        self.keep = true;
    }

    /// Signals the program alone, not what it has started.
    fn signal(&mut self, signal: Signal) -> Result<(), PartError> {
        let gone = || io::Error::other("it has ended already");
        let sent = match self.exited() {
            Some(_) => Err(gone()),
            None => i32::try_from(self.id())
                .ok()
                .and_then(Pid::from_raw)
                .ok_or_else(gone)
                .and_then(|pid| kill_process(pid, signal).map_err(io::Error::from)),
        };
        sent.map_err(PartError::io(&self.part.name, &format!("signal it ({signal:?})")))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.running.end();
        if self.keep || std::thread::panicking() {
            self.part.dir.disable_cleanup(true);
            let (name, log) = (&self.part.name, self.log.display());
            let tail = log_tail(&self.log);
            // Written to the stream itself and as a whole: a failed test shows it in any case.
            let _ = writeln!(io::stderr(), "{name}: log kept: {log}, its end:\n{tail}");
        }
    }
}

/// The child and the group that ends with it.
#[derive(Debug)]
struct Running {
    child: Child,
    group: Option<Group>,
}

impl Running {
    fn start(part: &Part, log: &Path) -> Result<Self, PartError> {
        let open = || File::options().create(true).append(true).open(log);
        let files = open().and_then(|out| Ok((out.try_clone()?, out)));
        let (out, err) = files.map_err(PartError::io(&part.name, "open its log"))?;
        let group = Group::new().map_err(PartError::io(&part.name, "start its guard"))?;
        let mut command = part.command()?;
        command.stdin(Stdio::null()).stdout(out).stderr(err);
        let spawned = group.spawn(&mut command);
        let doing = format!("start `{}`", command.get_program().to_string_lossy());
        let child = spawned.map_err(PartError::io(&part.name, &doing))?;
        Ok(Self { child, group: Some(group) })
    }

    /// Kills the group and reaps the child. Harmless when that has been done.
    fn end(&mut self) {
        drop(self.group.take());
        // Reaped, so that nobody takes a zombie for a running server.
        let _ = self.child.wait();
    }
}
