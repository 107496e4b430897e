//! Apache Cassandra 5.0.9, from Maven: the store for what one machine cannot hold.
//!
//! ```no_run
//! let Some(cassandra) = parts::require(parts::cassandra::install()) else { return };
//! let server = cassandra.start().expect("cassandra starts");
//! println!("CQL at {}", server.address());
//! ```
//!
//! | start | what runs |
//! | --- | --- |
//! | [`Cassandra::start`] | one node of its own, to be killed and paused at will |
//! | [`Cassandra::shared`] | one node that the tests of a process share |
//! | [`Cassandra::cluster`] | a ring of nodes on 127.0.0.1, .2, .3 and so on |
//! | [`Cassandra::start_secured`] | one node that asks for a password, over TLS |
//!
//! [`Pauses`] stops a node and lets it go on, again and again, so that requests to it time out.
//!
//! Every node and every ring has ports of its own, so test processes do not meet. The data center
//! is `datacenter1`.

mod cql;
mod install;
mod pauses;
mod secured;
mod server;
mod settings;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

pub use install::install;
pub use pauses::Pauses;
pub use secured::Secured;
pub use server::{Cluster, Server};

use crate::port::free_port;
use crate::process::PartError;
use settings::{NAME, Node};

/// The heap of a node that runs alone; it begins small and is seldom used up.
const HEAP: &str = "1G";

/// The heap of a node that has neighbours.
const HEAP_IN_CLUSTER: &str = "512M";

/// An installed Cassandra, ready to be started any number of times.
#[derive(Clone, Debug)]
pub struct Cassandra {
    /// The `java` of a JDK 17; its other programs stand beside it.
    java: PathBuf,
    /// The directory of the jars.
    lib: PathBuf,
}

impl Cassandra {
    /// Starts one node and waits until it answers.
    ///
    /// # Errors
    ///
    /// When it does not start; the error quotes its log.
    pub fn start(&self) -> Result<Server, PartError> {
        self.start_with(&[])
    }

    /// Starts one node with options of one's own for its JVM, which win over the usual ones, and
    /// waits until it answers.
    ///
    /// A setting of `cassandra.yaml` is such an option too. These make a node that is fast and not
    /// quick to start, for measuring; killed with -9 it forgets its last 100 ms:
    ///
    /// ```no_run
    /// # let cassandra = parts::cassandra::install().expect("installed");
    /// let server = cassandra.start_with(&[
    ///     "-XX:TieredStopAtLevel=4",
    ///     "-Dcassandra.settings.commitlog_sync=periodic",
    ///     "-Dcassandra.settings.commitlog_sync_period=1000ms",
    /// ]);
    /// # drop(server);
    /// ```
    ///
    /// # Errors
    ///
    /// When it does not start; the error quotes its log.
    pub fn start_with(&self, options: &[&str]) -> Result<Server, PartError> {
        let ring = Ring::new(1)?;
        let mut server = Server::start(self, &ring.node(0, HEAP)?, options)?;
        server.wait_ready()?;
        Ok(server)
    }

    /// The node that the tests of this process share; started for the first that asks.
    ///
    /// It ends with the last holder, and like any part with this process. Nobody can kill it, and
    /// its rows are seen by all holders: use a keyspace of your own.
    ///
    /// # Errors
    ///
    /// When it does not start; the error quotes its log.
    pub fn shared(&self) -> Result<Arc<Server>, PartError> {
        // Weak, because a static is never dropped and would leave the node's directory behind.
        static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = shared.upgrade() {
            return Ok(server);
        }
        let server = Arc::new(self.start()?);
        *shared = Arc::downgrade(&server);
        Ok(server)
    }

    /// Starts a ring of nodes, one after the other, and waits until each reaches all others.
    ///
    /// # Errors
    ///
    /// When a node does not start or does not join; the error quotes its log.
    pub fn cluster(&self, nodes: usize) -> Result<Cluster, PartError> {
        let ring = Ring::new(nodes)?;
        let mut servers = Vec::with_capacity(nodes);
        for index in 0..nodes {
            let mut server = Server::start(self, &ring.node(index, HEAP_IN_CLUSTER)?, &[])?;
            server.wait_ready()?;
            servers.push(server);
        }
        let mut cluster = Cluster::new(servers);
        cluster.wait_ready()?;
        Ok(cluster)
    }

    /// Starts one node that speaks only TLS and asks for a password, and waits until it does.
    ///
    /// # Errors
    ///
    /// When it does not start; the error quotes its log.
    pub fn start_secured(&self) -> Result<Secured, PartError> {
        let ring = Ring::new(1)?;
        Secured::start(self, ring.node(0, HEAP)?)
    }
}

/// The ports that the nodes of one ring have in common; by their addresses they differ.
struct Ring {
    nodes: usize,
    storage_port: u16,
    cql_port: u16,
}

impl Ring {
    fn new(nodes: usize) -> Result<Self, PartError> {
        // More would not fit a machine that runs tests, and the last byte of an address.
        if !(1..=16).contains(&nodes) {
            let error = io::Error::new(io::ErrorKind::InvalidInput, "1 to 16 nodes are possible");
            return Err(PartError::io(NAME, &format!("start {nodes} nodes"))(error));
        }
        Ok(Self { nodes, storage_port: port()?, cql_port: port()? })
    }

    fn node(&self, index: usize, heap: &'static str) -> Result<Node, PartError> {
        let first = Ipv4Addr::LOCALHOST.to_bits();
        let ip = (first..).map(Ipv4Addr::from_bits).nth(index).unwrap_or(Ipv4Addr::LOCALHOST);
        Ok(Node {
            cql: SocketAddr::from((ip, self.cql_port)),
            storage_port: self.storage_port,
            jmx_port: port()?,
            nodes: self.nodes,
            heap,
        })
    }
}

fn port() -> Result<u16, PartError> {
    free_port().map_err(PartError::io(NAME, "find a port"))
}
