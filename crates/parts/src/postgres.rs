//! PostgreSQL, from Debian's `postgresql`: what most would count staking statistics in.
//!
//! The package brings a cluster of its own, which is left alone: each server here has a new one in
//! its own directory, listens on the loopback address only and has no socket in the file system.
//! Whatever it acknowledges is on the disk (`fsync` and `synchronous_commit` are on).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::command::run;
use crate::debian;
use crate::need::{Missing, is_root};
use crate::port::free_port;
use crate::process::{Part, PartError, Process};

/// Where Debian keeps the programs, one directory for each version.
const VERSIONS: &str = "/usr/lib/postgresql";
/// The user that the package makes. As root the server refuses to run.
const USER: &str = "postgres";
/// How long a server may take until it answers; after `kill -9` it replays its log first.
const READY: Duration = Duration::from_secs(60);
/// How long a server may take to end. It writes what is in memory first.
const ENDED: Duration = Duration::from_secs(60);
/// How long a server may take to end at once, before it is killed.
const AT_ONCE: Duration = Duration::from_secs(5);

/// An installed PostgreSQL, ready to be started any number of times.
#[derive(Clone, Debug)]
pub struct Postgres {
    programs: PathBuf,
}

/// Installs PostgreSQL if it is not there.
///
/// # Errors
///
/// A [`Missing`] with the command to run, for [`require`](crate::require).
pub fn install() -> Result<Postgres, Missing> {
    debian::ensure(&["postgresql"])?;
    let programs = newest(Path::new(VERSIONS)).ok_or_else(|| {
        let command = "sudo apt-get install --reinstall -y postgresql";
        Missing::new("PostgreSQL", format!("there is no version in {VERSIONS}"), command)
    })?;
    Ok(Postgres { programs })
}

/// The programs of the newest version that has a server.
fn newest(versions: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(versions).ok()?.filter_map(Result::ok);
    let numbered = entries.filter_map(|entry| {
        let number: u32 = entry.file_name().to_str()?.parse().ok()?;
        let programs = entry.path().join("bin");
        programs.join("postgres").is_file().then_some((number, programs))
    });
    numbered.max().map(|(_, programs)| programs)
}

impl Postgres {
    /// Makes a cluster, starts its server and waits until it answers.
    ///
    /// # Errors
    ///
    /// When it does not start; the error quotes its log.
    pub fn start(&self) -> Result<Server, PartError> {
        self.start_with(&[])
    }

    /// As [`start`](Self::start), with settings of one's own (`max_connections=200`).
    ///
    /// # Errors
    ///
    /// When it does not start; the error quotes its log.
    pub fn start_with(&self, settings: &[&str]) -> Result<Server, PartError> {
        let port = free_port().map_err(PartError::io("postgres", "find a port"))?;
        let mut part = Part::new("postgres", self.programs.join("postgres"))?;
        if is_root() {
            part = part.user(USER);
        }
        let data = part.dir().join("data");
        // Texts compare as bytes do: no rules of a language, and the same on every machine.
        let cluster = ["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C"];
        part.prepare(
            self.programs.join("initdb"),
            [data.as_os_str()].into_iter().chain(cluster.map(AsRef::as_ref)),
        )?;
        let port_setting = format!("port={port}");
        let own = [
            &port_setting,
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "fsync=on",
            "synchronous_commit=on",
            // In its own directory, so that nothing of it stays when it is killed.
            "dynamic_shared_memory_type=mmap",
        ];
        let settings = own.into_iter().chain(settings.iter().copied());
        part = part.arg("-D").arg(&data).args(settings.flat_map(|setting| ["-c", setting]));
        let psql = self.programs.join("psql");
        let mut server = Server { process: part.start()?, port, psql };
        server.wait_ready()?;
        Ok(server)
    }
}

/// A running server. Dropping it ends it at once, without writing what is in memory.
#[derive(Debug)]
pub struct Server {
    process: Process,
    port: u16,
    psql: PathBuf,
}

impl Server {
    /// The port on 127.0.0.1. The user is `postgres`, without a password, and so is the database.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The process, to pause it or start it again.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// The process ids of the server now: itself first, then its children, one for each connection
    /// and some that write and clean. What they have used when they end is added to its account.
    #[must_use]
    pub fn processes(&self) -> Vec<u32> {
        let own = self.process.id();
        let numbers = fs::read_dir("/proc").into_iter().flatten().filter_map(|entry| {
            let number: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            (parent(number)? == own).then_some(number)
        });
        std::iter::once(own).chain(numbers).collect()
    }

    /// Waits until the server answers a query; for use after a new start.
    ///
    /// # Errors
    ///
    /// When it does not answer; the error quotes its log.
    pub fn wait_ready(&mut self) -> Result<(), PartError> {
        let (psql, port) = (self.psql.clone(), self.port);
        self.process.wait_until("postgres answers a query", READY, || {
            run(ask(&psql, port).args(["-c", "SELECT 1"])).map(drop)
        })
    }

    /// Runs statements through `psql` and returns the rows without the last line end: columns
    /// parted by `|`, no heads.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached or answers with an error.
    pub fn psql(&self, statements: &str) -> Result<String, PartError> {
        run(ask(&self.psql, self.port).args(["-c", statements]))
            .map(|answer| answer.trim_end_matches('\n').to_owned())
            .map_err(|source| PartError::Command { part: "postgres".to_owned(), source })
    }

    /// Ends the server in order: connections are closed, and all is written.
    ///
    /// # Errors
    ///
    /// When it has not ended in time.
    pub fn stop(&mut self) -> Result<(), PartError> {
        self.end(Signal::INT, ENDED)
    }

    /// Kills the server as `kill -9` does, and waits until its children have noticed: a new one
    /// refuses to start beside them.
    ///
    /// # Errors
    ///
    /// When a child does not end.
    pub fn kill(&mut self) -> Result<(), PartError> {
        let children = self.processes().split_off(1);
        self.process.kill();
        self.process_gone(&children)
    }

    /// Sends the signal that ends a server; each means another haste.
    fn end(&mut self, signal: Signal, limit: Duration) -> Result<(), PartError> {
        let children = self.processes().split_off(1);
        if self.process.exited().is_none() {
            let number = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw);
            let sent = number.map_or(Ok(()), |number| kill_process(number, signal));
            sent.map_err(|error| PartError::io("postgres", "signal it")(error.into()))?;
        }
        let process = &mut self.process;
        crate::wait_until("it ends", limit, || process.exited().map(drop).ok_or("it still runs"))
            .map_err(|source| PartError::NotReady { part: "postgres".to_owned(), source })?;
        self.process_gone(&children)
    }

    fn process_gone(&self, numbers: &[u32]) -> Result<(), PartError> {
        let own = |number: u32| {
            let name = fs::read_to_string(format!("/proc/{number}/comm"));
            name.is_ok_and(|name| name.trim() == "postgres")
        };
        crate::wait_until("its children end", ENDED, || {
            let left = numbers.iter().copied().filter(|number| own(*number)).count();
            if left == 0 { Ok(()) } else { Err(format!("{left} still run")) }
        })
        .map_err(|source| PartError::NotReady { part: "postgres".to_owned(), source })
    }
}

/// A killed server leaves a segment of shared memory in the system, one that ends by itself does
/// not. So it is asked first, to end at once; what does not listen is killed after that.
impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.end(Signal::QUIT, AT_ONCE);
    }
}

/// The process that has started a process.
fn parent(number: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    // Behind the name, which may hold anything: the state, then the parent.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

fn ask(psql: &Path, port: u16) -> Command {
    let mut command = Command::new(psql);
    command.args(["--no-psqlrc", "--no-align", "--tuples-only", "--quiet"]);
    command.args(["-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-U", "postgres"]);
    command.args(["-p", &port.to_string()]);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_with_a_server_is_taken() {
        let versions = tempfile::tempdir().expect("a directory");
        for (name, program) in [("9", "postgres"), ("15", "postgres"), ("17", "psql")] {
            let programs = versions.path().join(name).join("bin");
            fs::create_dir_all(&programs).expect("made");
            fs::write(programs.join(program), "").expect("written");
        }
        assert_eq!(newest(versions.path()), Some(versions.path().join("15/bin")));
        assert_eq!(newest(&versions.path().join("nowhere")), None);
    }

    #[test]
    fn a_process_knows_its_parent() {
        let parent_now = std::os::unix::process::parent_id();
        assert_eq!(parent(std::process::id()), Some(parent_now));
        assert_eq!(parent(u32::MAX), None);
    }
}
