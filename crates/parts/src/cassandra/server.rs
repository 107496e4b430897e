//! Running nodes: one, or several that form a ring.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use super::settings::{NAME, Node, opened};
use super::{Cassandra, cql};
use crate::command::run;
use crate::process::{PartError, Process};

/// How long a node may take until it answers; an idle machine needs 6 s.
pub(super) const READY: Duration = Duration::from_secs(180);

/// An empty table with a copy on every node (its keyspace is told so at the start). Reading all of
/// it at ALL asks every node.
const ON_ALL_NODES: &str = "SELECT * FROM system_distributed.view_build_status";

/// The class that is `nodetool`.
const NODETOOL: &str = "org.apache.cassandra.tools.NodeTool";

/// A running node.
#[derive(Debug)]
pub struct Server {
    process: Process,
    address: SocketAddr,
    jmx_port: u16,
    cassandra: Cassandra,
}

impl Server {
    /// Starts a node, which may not answer yet.
    pub(super) fn start(
        cassandra: &Cassandra,
        node: &Node,
        options: &[&str],
    ) -> Result<Self, PartError> {
        let process = node.part(cassandra, "", options)?.start()?;
        let (address, jmx_port) = (node.cql, node.jmx_port);
        Ok(Self { process, address, jmx_port, cassandra: cassandra.clone() })
    }

    /// Where CQL is spoken.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The process, to kill it, pause it or start it again.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Waits until the node answers CQL; for use after a new start.
    ///
    /// In a ring it may not have heard of its neighbours by then: see [`Cluster::wait_ready`].
    ///
    /// # Errors
    ///
    /// When it does not answer; the error quotes its log.
    pub fn wait_ready(&mut self) -> Result<(), PartError> {
        let address = self.address;
        self.process.wait_until("cassandra answers OPTIONS", READY, || cql::options(address))
    }

    /// Runs a command of `nodetool` (`flush`, `compact`, `repair`) and returns what it prints.
    ///
    /// # Errors
    ///
    /// When the node cannot be reached or the command fails.
    pub fn nodetool(&self, arguments: &[&str]) -> Result<String, PartError> {
        let mut command = Command::new(&self.cassandra.java);
        command.args(["-Xmx128M", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"]).args(opened());
        // It writes a history of commands to the user's home.
        command.arg(format!("-Duser.home={}", self.process.dir().display()));
        command.arg("-cp").arg(self.cassandra.lib.join("*")).arg(NODETOOL);
        command.args(["-h", "127.0.0.1", "-p", &self.jmx_port.to_string()]).args(arguments);
        run(&mut command).map_err(|source| PartError::Command { part: NAME.to_owned(), source })
    }

    /// Waits until all nodes of the ring answer through this one.
    fn wait_ring(&mut self) -> Result<(), PartError> {
        let address = self.address;
        self.process.wait_until("all nodes answer through this one", READY, || {
            cql::query_all(address, ON_ALL_NODES)
        })
    }
}

/// A ring of nodes.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<Server>,
}

impl Cluster {
    pub(super) fn new(nodes: Vec<Server>) -> Self {
        Self { nodes }
    }

    /// A node, counted from 0, to kill it, pause it or start it again.
    ///
    /// # Panics
    ///
    /// When there is no such node.
    pub fn node(&mut self, index: usize) -> &mut Server {
        &mut self.nodes[index]
    }

    /// Where CQL is spoken, in the order of the nodes; the port is the same everywhere.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.nodes.iter().map(Server::address).collect()
    }

    /// How many nodes there are, dead ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no node; never so.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Waits until every node answers, and sees all others; for use after a new start of one.
    ///
    /// # Errors
    ///
    /// When one does not answer or does not see the others; the error quotes its log.
    pub fn wait_ready(&mut self) -> Result<(), PartError> {
        self.nodes.iter_mut().try_for_each(Server::wait_ready)?;
        self.nodes.iter_mut().try_for_each(Server::wait_ring)
    }
}
