//! How to reach a cluster and how to treat it.

use std::path::PathBuf;
use std::time::Duration;

/// Settings of the engine.
#[derive(Clone, Debug)]
pub struct Options {
    /// `host:port` of some nodes; the others are learned from them.
    pub contact_points: Vec<String>,
    /// The keyspace all tables are in.
    pub keyspace: String,
    /// Copies of every row, when `schema apply` creates the keyspace.
    pub replication: u8,
    /// The datacenter to prefer, when there are several.
    pub datacenter: Option<String>,
    /// User and password.
    pub credentials: Option<Credentials>,
    /// Certificates to trust, as a PEM file; encrypts the connections.
    pub tls_ca: Option<PathBuf>,
    /// How many replicas must agree.
    pub level: Level,
    /// How long one request may take before it counts as lost.
    pub request_timeout: Duration,
    /// How long a request is repeated before the caller is told.
    pub patience: Duration,
    /// Requests under way at the same time.
    pub in_flight: usize,
    /// Bytes of one batch of `put`.
    pub batch_bytes: usize,
    /// Create missing tables while opening.
    pub apply_schema: bool,
    /// How long operations are remembered.
    pub operation_age: Duration,
    /// Added to the clock of this client, for tests that prove it does not matter.
    pub clock_offset_micros: i64,
}

impl Options {
    /// Settings for a cluster reached at `contact_points`.
    pub fn new(contact_points: impl IntoIterator<Item = String>) -> Self {
        Self {
            contact_points: contact_points.into_iter().collect(),
            keyspace: "ostrakon".to_owned(),
            replication: 3,
            datacenter: None,
            credentials: None,
            tls_ca: None,
            level: Level::Quorum,
            request_timeout: Duration::from_secs(3),
            patience: Duration::from_secs(15),
            in_flight: 256,
            batch_bytes: 16 * 1024,
            apply_schema: false,
            operation_age: store::limits::OPERATION_AGE,
            clock_offset_micros: 0,
        }
    }
}

/// User and password.
#[derive(Clone)]
pub struct Credentials {
    /// The user.
    pub user: String,
    /// The password.
    pub password: String,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Settings are logged; passwords are not.
        f.debug_struct("Credentials").field("user", &self.user).finish_non_exhaustive()
    }
}

/// How many replicas must agree. Anything weaker than a majority would break the contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// A majority of all replicas: QUORUM and SERIAL.
    #[default]
    Quorum,
    /// A majority in the client's datacenter: LOCAL_QUORUM and LOCAL_SERIAL. All writers must be in
    /// one datacenter then.
    Local,
}
