//! The settings of one process: configuration file, then command line.
//!
//! The file is TOML and small on purpose. Every mistake in it is answered with file, line and
//! remedy ([`Problem`]); an unknown key is a mistake, because a misspelt setting that is silently
//! ignored is found at the worst time.

mod cassandra;
mod chains;
mod file;
mod problem;
mod scan;
mod size;
mod span;
mod staking;

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use platform::chains::Chain;

pub(crate) use self::scan::RedisSettings;
pub(crate) use self::staking::StakingSettings;
pub(crate) use cassandra::{CassandraSettings, Consistency};
pub(crate) use file::listen_address;
pub(crate) use problem::Problem;

/// The configuration file when none is named.
pub(crate) const DEFAULT_FILE: &str = "ostrakon.toml";
/// What `ostrakon init` writes. A test reads it back and compares it with the defaults.
pub(crate) const TEMPLATE: &str = include_str!("template.toml");
/// Where a server listens unless told otherwise: this machine only.
pub(crate) const DEFAULT_LISTEN: SocketAddr =
    SocketAddr::new(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8480);

/// Holds the password of the cluster's user; wins over `password_file`.
pub(crate) const PASSWORD_VARIABLE: &str = "OSTRAKON_CASSANDRA_PASSWORD";

const DEFAULT_DIRECTORY: &str = "data";
const DEFAULT_CACHE: u64 = 256 * 1024 * 1024;
const DEFAULT_LEVEL: &str = "info";

/// Everything that can be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Where rows are kept.
    pub(crate) engine: EngineKind,
    /// Directory of the embedded store; of the admin socket whatever the engine is.
    pub(crate) data: PathBuf,
    /// How a cluster is reached, for when it is the engine.
    pub(crate) cassandra: CassandraSettings,
    /// Bytes of the embedded engine's cache.
    pub(crate) cache_bytes: u64,
    /// Where the pages are served.
    pub(crate) listen: SocketAddr,
    /// Scheme, host and port under which browsers reach the server, if it is not `listen`.
    pub(crate) origin: Option<String>,
    /// Proxies whose word about a client's address is taken.
    pub(crate) trusted_proxies: Vec<IpAddr>,
    /// Webhooks may lead to this machine.
    pub(crate) loopback_webhooks: bool,
    /// Chains that are always there.
    pub(crate) chains: Vec<Chain>,
    /// Blocks of an explored chain that count as the latest.
    pub(crate) latest_blocks: u64,
    /// Chains whose Redis keys are served.
    pub(crate) redis: Vec<RedisSettings>,
    /// Statistics of staking.
    pub(crate) staking: StakingSettings,
    /// What is logged, and how.
    pub(crate) log: LogSettings,
}

/// Where rows are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EngineKind {
    /// In the data directory.
    Embedded,
    /// In a cluster of Cassandra or ScyllaDB.
    Cassandra,
}

/// What is logged, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogSettings {
    /// A level, or a list of `target=level`.
    pub(crate) level: String,
    /// How a line looks.
    pub(crate) format: LogFormat,
}

/// How a log line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

impl Settings {
    /// The settings without a file, for data in `data`.
    pub(crate) fn defaults(data: PathBuf) -> Self {
        let log = LogSettings { level: DEFAULT_LEVEL.to_owned(), format: LogFormat::Text };
        Self {
            engine: EngineKind::Embedded,
            data,
            cassandra: CassandraSettings::default(),
            cache_bytes: DEFAULT_CACHE,
            listen: DEFAULT_LISTEN,
            origin: None,
            trusted_proxies: Vec::new(),
            loopback_webhooks: false,
            chains: Vec::new(),
            latest_blocks: ::scan::Settings::default().latest,
            redis: Vec::new(),
            staking: StakingSettings::default(),
            log,
        }
    }

    /// Where the rows are, as an operator would say it.
    pub(crate) fn place(&self) -> String {
        match self.engine {
            EngineKind::Embedded => self.data.display().to_string(),
            EngineKind::Cassandra => {
                let CassandraSettings { keyspace, contact_points, .. } = &self.cassandra;
                format!("keyspace {keyspace} at {}", contact_points.join(", "))
            }
        }
    }

    /// Whether the rows of both are the same ones.
    pub(crate) fn same_store(&self, other: &Self) -> bool {
        let (ours, theirs) = (&self.cassandra, &other.cassandra);
        match (self.engine, other.engine) {
            (EngineKind::Embedded, EngineKind::Embedded) => self.data == other.data,
            (EngineKind::Cassandra, EngineKind::Cassandra) => {
                let shared = |point| theirs.contact_points.contains(point);
                ours.keyspace == theirs.keyspace && ours.contact_points.iter().any(shared)
            }
            _ => false,
        }
    }

    /// The settings for a command: `config` as it was given on the command line, `data` likewise.
    ///
    /// Without either, `ostrakon.toml` must stand in the current directory: guessing a place for
    /// data would one day show an operator an empty store.
    pub(crate) fn load(config: Option<&Path>, data: Option<&Path>) -> Result<Self, Problem> {
        let path = config.unwrap_or(Path::new(DEFAULT_FILE));
        let mut settings = match std::fs::read_to_string(path) {
            Ok(text) => file::read(path, &text)?,
            Err(error) => {
                let missing = error.kind() == std::io::ErrorKind::NotFound;
                match data {
                    Some(data) if missing && config.is_none() => Self::defaults(data.to_owned()),
                    _ => return Err(Problem::unreadable(path, &error)),
                }
            }
        };
        if let Some(data) = data {
            settings.data = data.to_owned();
        }
        settings.data = std::path::absolute(&settings.data)
            .map_err(|error| Problem::unreadable(&settings.data, &error))?;
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_init_writes_means_the_defaults() {
        let read = file::read(Path::new("/etc/ostrakon.toml"), TEMPLATE).expect("correct");
        assert_eq!(read, Settings::defaults("/etc/data".into()));
    }

    #[test]
    fn every_setting_of_what_init_writes_can_be_uncommented() {
        let uncomment = |line: &str| line.strip_prefix("#: ").unwrap_or(line).to_owned();
        let text: Vec<String> = TEMPLATE.lines().map(uncomment).collect();
        let read = file::read(Path::new("/etc/ostrakon.toml"), &text.join("\n")).expect("correct");
        assert_eq!(read, Settings::defaults("/etc/data".into()));
    }

    #[test]
    fn a_store_is_known_by_its_place() {
        let embedded = |data: &str| Settings::defaults(data.into());
        let cluster = |keyspace: &str| {
            let cassandra = CassandraSettings { keyspace: keyspace.into(), ..Default::default() };
            Settings { engine: EngineKind::Cassandra, cassandra, ..embedded("/a") }
        };
        assert!(embedded("/a").same_store(&embedded("/a")));
        assert!(!embedded("/a").same_store(&embedded("/b")));
        assert!(!embedded("/a").same_store(&cluster("x")));
        assert!(cluster("x").same_store(&cluster("x")));
        assert!(!cluster("x").same_store(&cluster("y")));
        assert_eq!(cluster("x").place(), "keyspace x at 127.0.0.1:9042");
    }

    #[test]
    fn the_command_line_wins_over_the_file() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("o.toml");
        std::fs::write(&file, "[store]\ndirectory = \"here\"\n").expect("written");
        let load = |data| Settings::load(Some(&file), data).expect("correct").data;
        assert_eq!(load(None), dir.path().join("here"));
        assert_eq!(load(Some(Path::new("/elsewhere"))), Path::new("/elsewhere"));
    }

    #[test]
    fn a_file_that_is_not_there_is_named_with_the_remedy() {
        let path = Path::new("/nowhere/o.toml");
        let text = Settings::load(Some(path), Some(Path::new("/data"))).expect_err("missing");
        let text = text.to_string();
        assert!(text.contains("/nowhere/o.toml") && text.contains("ostrakon init"), "{text}");
    }
}
