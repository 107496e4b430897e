//! Redis, from Debian's `redis-server`: the store that papers 000 and 003 had in mind.

use std::process::Command;
use std::time::Duration;

use crate::command::run;
use crate::debian;
use crate::need::Missing;
use crate::port::free_port;
use crate::process::{Part, PartError, Process};

/// How long a server may take until it answers; an idle machine needs 50 ms.
const READY: Duration = Duration::from_secs(20);

/// An installed Redis, ready to be started any number of times.
#[derive(Clone, Copy, Debug)]
pub struct Redis(());

/// Installs Redis if it is not there.
///
/// # Errors
///
/// A [`Missing`] with the command to run, for [`require`](crate::require).
pub fn install() -> Result<Redis, Missing> {
    debian::ensure(&["redis-server", "redis-tools"]).map(|()| Redis(()))
}

impl Redis {
    /// Starts a server without persistence and waits until it answers.
    ///
    /// # Errors
    ///
    /// When it does not start; the error quotes its log.
    pub fn start(self) -> Result<Server, PartError> {
        self.start_with(&["--save", "", "--appendonly", "no"])
    }

    /// Starts a server with settings of one's own (`--appendonly yes`) and waits until it answers.
    ///
    /// # Errors
    ///
    /// When it does not start; the error quotes its log.
    pub fn start_with(self, settings: &[&str]) -> Result<Server, PartError> {
        let port = free_port().map_err(PartError::io("redis", "find a port"))?;
        let part = Part::new("redis", "redis-server")?
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--daemonize", "no"])
            .args(settings);
        let mut server = Server { process: part.start()?, port };
        server.wait_ready()?;
        Ok(server)
    }

    /// Runs one command through `redis-cli` against any server that speaks its protocol on
    /// 127.0.0.1, and returns the answer without the last line end.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached or answers with an error.
    pub fn ask(self, port: u16, arguments: &[&str]) -> Result<String, PartError> {
        run(cli(port).arg("-e").args(arguments))
            .map(|answer| answer.trim_end_matches('\n').to_owned())
            .map_err(|source| PartError::Command { part: "redis".to_owned(), source })
    }
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    process: Process,
    port: u16,
}

impl Server {
    /// The port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The process, to kill it, pause it or start it again.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Waits until the server answers PING; for use after a new start.
    ///
    /// # Errors
    ///
    /// When it does not answer; the error quotes its log.
    pub fn wait_ready(&mut self) -> Result<(), PartError> {
        let port = self.port;
        self.process.wait_until("redis answers PING", READY, || match run(cli(port).arg("PING")) {
            Ok(answer) if answer.trim() == "PONG" => Ok(()),
            Ok(answer) => Err(answer),
            Err(error) => Err(error.to_string()),
        })
    }

    /// Runs one command through `redis-cli` and returns its answer without the last line end.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached or answers with an error.
    pub fn cli(&self, arguments: &[&str]) -> Result<String, PartError> {
        Redis(()).ask(self.port, arguments)
    }
}

fn cli(port: u16) -> Command {
    let mut command = Command::new("redis-cli");
    command.args(["-h", "127.0.0.1", "-p", &port.to_string()]);
    command
}
