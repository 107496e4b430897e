//! RabbitMQ 3.10, from Debian's `rabbitmq-server`: the broker that staking events come through.
//!
//! ```no_run
//! let Some(rabbitmq) = parts::require(parts::rabbitmq::install()) else { return };
//! let mut server = rabbitmq.start().expect("rabbitmq starts");
//! println!("AMQP at {}", server.url());
//! server.restart().expect("it comes back with the same messages");
//! ```
//!
//! Every server has an `epmd`, the port mapper of Erlang, of its own, so test processes do not meet
//! and nothing that a machine runs already is found or disturbed. Both end with the server.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::command::run;
use crate::debian;
use crate::need::{Missing, is_root};
use crate::port::free_port;
use crate::process::{Part, PartError, Process};

const NAME: &str = "rabbitmq";

/// The scripts themselves; those in `PATH` insist on the data of the machine's own broker.
const SCRIPTS: &str = "/usr/lib/rabbitmq/bin";

/// Root's server runs as this user, whom the package creates: RabbitMQ does not run as root.
const USER: &str = "rabbitmq";

/// Where the server writes the id of its own process, in its directory.
const PID_FILE: &str = "rabbitmq.pid";

/// How long a server may take until it answers; an idle machine needs 5 s.
const READY: Duration = Duration::from_secs(120);

/// How long a server may take to close its queues and end; an idle machine needs 2 s.
const STOPPED: Duration = Duration::from_secs(60);

/// How long one probe waits for an answer.
const PROBE: Duration = Duration::from_secs(2);

/// Erlang's own listener stays on the loopback address too, and idle schedulers sleep: by default
/// they spin, which takes the cores from the test.
const ERLANG: &str = "-kernel inet_dist_use_interface {127,0,0,1} \
                      +sbwt none +sbwtdcpu none +sbwtdio none";

/// An installed RabbitMQ, ready to be started any number of times.
#[derive(Clone, Copy, Debug)]
pub struct RabbitMq(());

/// Installs RabbitMQ if it is not there.
///
/// # Errors
///
/// A [`Missing`] with the command to run, for [`require`](crate::require).
pub fn install() -> Result<RabbitMq, Missing> {
    debian::ensure(&["rabbitmq-server"]).map(|()| RabbitMq(()))
}

impl RabbitMq {
    /// Starts a server and waits until it answers.
    ///
    /// # Errors
    ///
    /// When it does not start; the error quotes its log.
    pub fn start(self) -> Result<Server, PartError> {
        self.start_with(&[])
    }

    /// Starts a server with lines of one's own for `rabbitmq.conf` (`heartbeat = 5`) and waits
    /// until it answers.
    ///
    /// # Errors
    ///
    /// When it does not start; the error quotes its log.
    pub fn start_with(self, settings: &[&str]) -> Result<Server, PartError> {
        let port = port()?;
        let mut part = Part::new(NAME, format!("{SCRIPTS}/rabbitmq-server"))?;
        let configuration = part.dir().join("rabbitmq.conf");
        std::fs::write(configuration, format!("{}\n", settings.join("\n")))
            .map_err(PartError::io(NAME, "write its configuration"))?;
        let environment = environment(part.dir(), port)?;
        for (name, value) in &environment {
            part = part.env(name, value);
        }
        if is_root() {
            part = part.user(USER);
        }
        let mut server = Server { process: part.start()?, port, environment };
        server.wait_ready()?;
        Ok(server)
    }
}

/// Where a server finds its files and listens; its tools need the same.
fn environment(dir: &Path, port: u16) -> Result<Vec<(&'static str, String)>, PartError> {
    let file = |name: &str| dir.join(name).to_string_lossy().into_owned();
    Ok(vec![
        // Here Erlang keeps the secret that a server and its tools share.
        ("HOME", file("")),
        ("RABBITMQ_NODENAME", format!("ostrakon-{port}@localhost")),
        ("RABBITMQ_NODE_IP_ADDRESS", Ipv4Addr::LOCALHOST.to_string()),
        ("RABBITMQ_NODE_PORT", port.to_string()),
        ("RABBITMQ_DIST_PORT", self::port()?.to_string()),
        ("ERL_EPMD_ADDRESS", Ipv4Addr::LOCALHOST.to_string()),
        ("ERL_EPMD_PORT", self::port()?.to_string()),
        ("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", ERLANG.to_owned()),
        ("RABBITMQ_CONFIG_FILE", file("rabbitmq.conf")),
        // These do not exist: what the machine's own broker is told does not count here.
        ("RABBITMQ_CONF_ENV_FILE", file("rabbitmq-env.conf")),
        ("RABBITMQ_ADVANCED_CONFIG_FILE", file("advanced.config")),
        ("RABBITMQ_ENABLED_PLUGINS_FILE", file("enabled_plugins")),
        ("RABBITMQ_MNESIA_BASE", file("mnesia")),
        ("RABBITMQ_LOG_BASE", file("logs")),
        ("RABBITMQ_PID_FILE", file(PID_FILE)),
        // To standard output, where errors of this crate quote it from.
        ("RABBITMQ_LOGS", "-".to_owned()),
        // No image of the memory of a server that does not start; its log tells why.
        ("ERL_CRASH_DUMP_SECONDS", "0".to_owned()),
    ])
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    process: Process,
    port: u16,
    environment: Vec<(&'static str, String)>,
}

impl Server {
    /// The port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where AMQP is spoken, with the user that may do everything from this machine.
    #[must_use]
    pub fn url(&self) -> String {
        format!("amqp://guest:guest@127.0.0.1:{}/%2f", self.port)
    }

    /// The process, to kill it, pause it or start it again.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Waits until the server begins a conversation; for use after a new start.
    ///
    /// # Errors
    ///
    /// When it does not answer; the error quotes its log.
    pub fn wait_ready(&mut self) -> Result<(), PartError> {
        let address = self.address();
        self.process.wait_until("rabbitmq answers AMQP", READY, || greet(address))
    }

    /// Asks the server to end, which closes its queues in good order, and waits for it. Its
    /// directory stays, for [`Process::start_again`].
    ///
    /// # Errors
    ///
    /// When it does not end in time.
    pub fn stop(&mut self) -> Result<(), PartError> {
        self.process.terminate(STOPPED).map(drop)
    }

    /// Ends the server in good order and starts it again, with the same queues and ports.
    ///
    /// # Errors
    ///
    /// When it does not end in time or does not answer again; the error quotes its log.
    pub fn restart(&mut self) -> Result<(), PartError> {
        self.stop()?;
        self.process.start_again()?;
        self.wait_ready()
    }

    /// Stops the server where it is (SIGSTOP): connections stay, and nobody answers. The process
    /// that [`process`](Self::process) knows is only the shell around it.
    ///
    /// # Errors
    ///
    /// When the server has ended.
    pub fn pause(&self) -> Result<(), PartError> {
        self.signal(Signal::STOP)
    }

    /// Lets a paused server go on (SIGCONT).
    ///
    /// # Errors
    ///
    /// When the server has ended.
    pub fn resume(&self) -> Result<(), PartError> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> Result<(), PartError> {
        let file = self.process.dir().join(PID_FILE);
        let unknown = || io::Error::other("its pid file holds no number");
        std::fs::read_to_string(file)
            .and_then(|text| text.trim().parse().ok().and_then(Pid::from_raw).ok_or_else(unknown))
            .and_then(|pid| kill_process(pid, signal).map_err(io::Error::from))
            .map_err(PartError::io(NAME, &format!("signal it ({signal:?})")))
    }

    /// Runs a command of `rabbitmqctl` (`set_policy`, `list_queues`) and returns what it prints.
    ///
    /// A server that does not answer is not asked: its tools would start a port mapper for it,
    /// which would outlive the test.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached or the command fails.
    pub fn ctl(&self, arguments: &[&str]) -> Result<String, PartError> {
        greet(self.address()).map_err(PartError::io(NAME, "reach it"))?;
        let mut command = if is_root() {
            let mut command = Command::new("setpriv");
            command.args([format!("--reuid={USER}"), format!("--regid={USER}")]);
            command.args(["--init-groups", "--", &format!("{SCRIPTS}/rabbitmqctl")]);
            command
        } else {
            Command::new(format!("{SCRIPTS}/rabbitmqctl"))
        };
        command.current_dir(self.process.dir()).arg("--quiet").args(arguments);
        command.envs(self.environment.iter().cloned());
        run(&mut command).map_err(|source| PartError::Command { part: NAME.to_owned(), source })
    }

    /// All queues with the number of their messages, those on their way to a consumer included.
    ///
    /// The server counts from time to time: a number may be some seconds old.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached.
    pub fn queues(&self) -> Result<BTreeMap<String, u64>, PartError> {
        let table = self.ctl(&["list_queues", "--no-table-headers", "name", "messages"])?;
        let row = |line: &str| {
            let (name, messages) = line.split_once('\t')?;
            Some((name.to_owned(), messages.trim().parse().ok()?))
        };
        Ok(table.lines().filter_map(row).collect())
    }

    fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }
}

/// Sends the header of AMQP 0-9-1 and expects a method frame: `connection.start`.
fn greet(address: SocketAddr) -> io::Result<()> {
    let mut stream = TcpStream::connect_timeout(&address, PROBE)?;
    stream.set_read_timeout(Some(PROBE))?;
    stream.write_all(b"AMQP\x00\x00\x09\x01")?;
    let mut kind = [0];
    stream.read_exact(&mut kind)?;
    match kind {
        [1] => Ok(()),
        [other] => Err(io::Error::other(format!("a frame of type {other} and not a greeting"))),
    }
}

fn port() -> Result<u16, PartError> {
    free_port().map_err(PartError::io(NAME, "find a port"))
}
