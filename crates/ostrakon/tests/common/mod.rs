//! Runs the real binary: commands that end, and servers that are ended with their test.

#![allow(dead_code, unused_imports, reason = "each test file uses a part of it")]

mod api;
mod raw;

pub(crate) use api::{ask, items};
pub(crate) use raw::Answer;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a command did.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Exit code.
    pub(crate) code: Option<i32>,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
}

impl Outcome {
    /// The output of a command that must have succeeded.
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.out
    }

    /// The error of a command that must have ended with `code`.
    pub(crate) fn fails(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{self:?}");
        self.err
    }
}

/// A directory for one test, in which its commands run.
pub(crate) struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    /// A new one.
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a directory") }
    }

    /// A path in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), text).expect("written");
    }

    /// Runs `ostrakon` with the words of a line.
    pub(crate) fn run(&self, line: &str) -> Outcome {
        let done = self.command(line).stdin(Stdio::null()).output().expect("it starts");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        Outcome { code: done.status.code(), out: text(done.stdout), err: text(done.stderr) }
    }

    /// Starts `ostrakon demo` on the directory `data` and waits for its page.
    pub(crate) fn demo(&self, data: &str) -> Server {
        let mut command = self.command(&format!("demo --listen 127.0.0.1:0 --data {data}"));
        command.env("OSTRAKON_LOG", "warn");
        Server::start(command)
    }

    /// Starts a server that prints nothing, on a port of its own, and waits until it answers.
    pub(crate) fn serve(&self, line: &str) -> Server {
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = free.local_addr().expect("an address").to_string();
        drop(free);
        let mut command = self.command(&format!("{line} --listen {address}"));
        command.env("OSTRAKON_LOG", "warn").stdin(Stdio::null());
        let child = command.spawn().expect("it starts");
        let mut server = Server { child, address, printed: String::new() };
        let begun = Instant::now();
        while TcpStream::connect(&server.address).is_err() {
            assert_eq!(server.child.try_wait().expect("asked"), None, "{line} ended");
            assert!(begun.elapsed() < PATIENCE, "{line} does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
        // The port is taken before anything else; the answer comes when all is ready.
        assert!(server.get("/health").starts_with("HTTP/1.1 200"), "{line}");
        server
    }

    /// The command of a line, not yet started.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ostrakon"));
        command.args(line.split_whitespace()).current_dir(self.dir.path());
        command.env_remove("OSTRAKON_LOG");
        command
    }
}

/// A server that runs. Killed when the test ends, however it ends.
pub(crate) struct Server {
    child: Child,
    /// `127.0.0.1:PORT`.
    pub(crate) address: String,
    /// What it printed up to its address.
    pub(crate) printed: String,
}

impl Server {
    /// Starts it and waits until it prints its address.
    pub(crate) fn start(mut command: Command) -> Self {
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut child = child.expect("it starts");
        let out = child.stdout.take().expect("standard output");
        let mut server = Self { child, address: String::new(), printed: String::new() };
        // Lines are read until the end, so that the server never waits for a reader.
        let (sender, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        while server.address.is_empty() || !server.printed.contains("Stop with") {
            let line = lines.recv_timeout(PATIENCE).expect("it prints its address");
            if let Some(address) = line.trim().strip_prefix("http://") {
                server.address = address.trim_end_matches('/').to_owned();
            }
            server.printed += &line;
            server.printed += "\n";
        }
        server
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The password of the demo's account, which is new at every start.
    pub(crate) fn password(&self) -> String {
        let after = self.printed.split("with the password ").nth(1).expect("it is printed");
        after.split_whitespace().next().expect("a word").to_owned()
    }

    /// The whole answer to a GET.
    pub(crate) fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }

    /// Asks it to end and waits.
    pub(crate) fn terminate(mut self) -> ExitStatus {
        self.signal(rustix::process::Signal::TERM);
        self.wait()
    }

    /// Kills it with -9.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("gone");
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, signal).expect("it runs");
    }

    fn wait(&mut self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("asked") {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Rows per table as `verify store --json` counts them.
pub(crate) fn rows(json: &str) -> Vec<(String, u64)> {
    let value: serde_json::Value = serde_json::from_str(json).expect("JSON");
    let tables = value["tables"].as_array().expect("tables");
    let row = |table: &serde_json::Value| {
        let name = table["table"].as_str().expect("a name").to_owned();
        (name, table["rows"].as_u64().expect("a number"))
    };
    tables.iter().map(row).collect()
}

/// Whether a path is there, a dangling link included.
pub(crate) fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
