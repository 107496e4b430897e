//! The section `[store.cassandra]`: how the cluster is reached and treated.
//!
//! The password is in no configuration: files are copied, mailed and committed. It stands in a file
//! of its own or in the environment, and is read when a connection is made.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use toml::{Spanned, Value};

use super::file::{Check, Item, kind, suggestion};
use super::problem::Problem;
use super::span;

/// The port of CQL, for contact points without one.
const PORT: u16 = 9042;
/// Copies of a row: more than a cluster has nodes for is a slip.
const REPLICATION: std::ops::RangeInclusive<i64> = 1..=16;
/// Requests under way: above, they only wait in the cluster instead of here.
const IN_FLIGHT: std::ops::RangeInclusive<i64> = 1..=16_384;
/// Below, a pause of the garbage collector counts as a lost request; above, nobody is told in time.
const REQUEST_TIMEOUT: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(60)];
const PATIENCE: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(3600)];
/// Bytes of a keyspace's name; Cassandra takes no more.
const KEYSPACE_BYTES: usize = 48;

/// How the cluster is reached and treated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CassandraSettings {
    /// `host:port` of some nodes.
    pub(crate) contact_points: Vec<String>,
    /// The keyspace of all tables.
    pub(crate) keyspace: String,
    /// Copies of every row, when the keyspace is created.
    pub(crate) replication: u8,
    /// The datacenter of this process.
    pub(crate) datacenter: Option<String>,
    /// The user, where the cluster asks for one.
    pub(crate) user: Option<String>,
    /// A file with the password.
    pub(crate) password_file: Option<PathBuf>,
    /// Certificates to trust; encrypts the connections.
    pub(crate) tls_ca: Option<PathBuf>,
    /// How many replicas must agree.
    pub(crate) consistency: Consistency,
    /// How long one request may take.
    pub(crate) request_timeout: Duration,
    /// How long a request is repeated before it fails.
    pub(crate) patience: Duration,
    /// Requests under way at a time.
    pub(crate) in_flight: usize,
}

/// How many replicas must agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consistency {
    /// A majority of all.
    Quorum,
    /// A majority in one datacenter.
    LocalQuorum,
}

impl Default for CassandraSettings {
    fn default() -> Self {
        Self {
            contact_points: vec![format!("127.0.0.1:{PORT}")],
            keyspace: "ostrakon".to_owned(),
            replication: 3,
            datacenter: None,
            user: None,
            password_file: None,
            tls_ca: None,
            consistency: Consistency::Quorum,
            request_timeout: Duration::from_secs(3),
            patience: Duration::from_secs(15),
            in_flight: 256,
        }
    }
}

/// The section as it stands in the file.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "the section [store.cassandra]")]
pub(super) struct CassandraSection {
    contact_points: Item,
    keyspace: Item,
    replication: Item,
    datacenter: Item,
    user: Item,
    password_file: Item,
    tls_ca: Item,
    consistency: Item,
    request_timeout: Item,
    patience: Item,
    in_flight: Item,
}

/// Every key of the section, for suggestions.
pub(super) const KEYS: [&str; 11] = [
    "contact_points",
    "keyspace",
    "replication",
    "datacenter",
    "user",
    "password_file",
    "tls_ca",
    "consistency",
    "request_timeout",
    "patience",
    "in_flight",
];

impl CassandraSection {
    /// The settings; relative paths start from `base`.
    pub(super) fn read(
        &self,
        check: &Check<'_>,
        base: &Path,
    ) -> Result<CassandraSettings, Problem> {
        let mut settings = CassandraSettings::default();
        if let Some(item) = &self.contact_points {
            settings.contact_points = check.contact_points(item)?;
        }
        if let Some(item) = &self.keyspace {
            settings.keyspace = check.keyspace(item)?;
        }
        if let Some(item) = &self.replication {
            let number = check.number(item, "replication", REPLICATION, 3)?;
            settings.replication = u8::try_from(number).unwrap_or(u8::MAX);
        }
        if let Some(item) = &self.in_flight {
            let number = check.number(item, "in_flight", IN_FLIGHT, 256)?;
            settings.in_flight = usize::try_from(number).unwrap_or(1);
        }
        if let Some(item) = &self.request_timeout {
            settings.request_timeout =
                check.span(item, "request_timeout", REQUEST_TIMEOUT, "3 s")?;
        }
        if let Some(item) = &self.patience {
            settings.patience = check.span(item, "patience", PATIENCE, "15 s")?;
        }
        let word = |item: &Item, key, example| {
            item.as_ref().map(|item| check.filled(item, key, example)).transpose()
        };
        settings.datacenter = word(&self.datacenter, "datacenter", "datacenter1")?;
        settings.user = word(&self.user, "user", "ostrakon")?;
        let path = |item: &Item, key, example| {
            item.as_ref().map(|item| check.path(item, key, example, base)).transpose()
        };
        settings.password_file = path(&self.password_file, "password_file", "password")?;
        settings.tls_ca = path(&self.tls_ca, "tls_ca", "ca.pem")?;
        if let Some(item) = &self.consistency {
            settings.consistency = check.consistency(item)?;
        }
        self.together(&settings, check)?;
        Ok(settings)
    }

    /// Settings that are right one by one and wrong together.
    fn together(&self, settings: &CassandraSettings, check: &Check<'_>) -> Result<(), Problem> {
        if let (Some(item), None) = (&self.password_file, &self.user) {
            let what = "`password_file` is set, but no `user`".to_owned();
            return Err(check.problem(item, what, "add a line: user = \"ostrakon\"".to_owned()));
        }
        let local = settings.consistency == Consistency::LocalQuorum;
        if let (Some(item), true, None) = (&self.consistency, local, &self.datacenter) {
            let what = "`consistency` is \"local_quorum\", but no `datacenter` is named".to_owned();
            let remedy = "name the one all writers are in: datacenter = \"datacenter1\"".to_owned();
            return Err(check.problem(item, what, remedy));
        }
        let item = self.patience.as_ref().or(self.request_timeout.as_ref());
        if let Some(item) = item.filter(|_| settings.patience < settings.request_timeout) {
            let patience = span::text(settings.patience);
            let request = span::text(settings.request_timeout);
            let what = format!("`patience` is {patience}, less than `request_timeout`, {request}");
            let remedy = "give it room for some requests: patience = \"15 s\"".to_owned();
            return Err(check.problem(item, what, remedy));
        }
        Ok(())
    }
}

impl Check<'_> {
    fn contact_points(&self, item: &Spanned<Value>) -> Result<Vec<String>, Problem> {
        let remedy = || "name some nodes: contact_points = [\"10.0.0.1:9042\"]".to_owned();
        let Value::Array(values) = item.get_ref() else {
            let what = format!("`contact_points` is {}, and must be a list", kind(item.get_ref()));
            return Err(self.problem(item, what, remedy()));
        };
        if values.is_empty() {
            let what = "`contact_points` is empty".to_owned();
            return Err(self.problem(item, what, remedy()));
        }
        let point = |value: &Value| {
            value.as_str().and_then(contact_point).ok_or_else(|| {
                let what = format!("`contact_points` has {value}, which is no host and port");
                self.problem(item, what, remedy())
            })
        };
        values.iter().map(point).collect()
    }

    fn keyspace(&self, item: &Spanned<Value>) -> Result<String, Problem> {
        let text = self.words(item, "keyspace", "ostrakon")?;
        let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let begins = text.starts_with(|c: char| c.is_ascii_lowercase());
        if begins && text.chars().all(word) && text.len() <= KEYSPACE_BYTES {
            return Ok(text.to_owned());
        }
        let what = format!("`keyspace` is \"{text}\", which cannot be a keyspace");
        let remedy = format!(
            "write up to {KEYSPACE_BYTES} lower-case letters, digits and underscores, a letter \
             first"
        );
        Err(self.problem(item, what, remedy))
    }

    fn consistency(&self, item: &Spanned<Value>) -> Result<Consistency, Problem> {
        match self.words(item, "consistency", "quorum")? {
            "quorum" => Ok(Consistency::Quorum),
            "local_quorum" => Ok(Consistency::LocalQuorum),
            text => {
                let what = format!("`consistency` is \"{text}\", and must be a majority");
                let hint = suggestion(text, ["quorum", "local_quorum"]).unwrap_or_default();
                let remedy = "write consistency = \"quorum\" or consistency = \"local_quorum\"";
                Err(self.problem(item, what, format!("{hint}{remedy}")))
            }
        }
    }

    /// A whole number within a range.
    fn number(
        &self,
        item: &Spanned<Value>,
        key: &str,
        range: std::ops::RangeInclusive<i64>,
        example: i64,
    ) -> Result<i64, Problem> {
        let remedy = || {
            let (least, most) = (range.start(), range.end());
            format!("write a number from {least} to {most}: {key} = {example}")
        };
        let Value::Integer(number) = item.get_ref() else {
            let what = format!("`{key}` is {}, and must be a number", kind(item.get_ref()));
            return Err(self.problem(item, what, remedy()));
        };
        if range.contains(number) {
            return Ok(*number);
        }
        Err(self.problem(item, format!("`{key}` is {number}, out of range"), remedy()))
    }

    /// A span of time within a range.
    fn span(
        &self,
        item: &Spanned<Value>,
        key: &str,
        [least, most]: [Duration; 2],
        example: &str,
    ) -> Result<Duration, Problem> {
        let text = self.words(item, key, example)?;
        let Some(span) = span::parse(text) else {
            let what = format!("`{key}` is \"{text}\", which is no span of time");
            let remedy = format!("write a number and ms, s, min or h: {key} = \"{example}\"");
            return Err(self.problem(item, what, remedy));
        };
        if (least..=most).contains(&span) {
            return Ok(span);
        }
        let what = format!("`{key}` is \"{text}\", out of range");
        let remedy = format!("give it {} to {}", span::text(least), span::text(most));
        Err(self.problem(item, what, remedy))
    }
}

/// `host:port`, with the usual port where none is named.
fn contact_point(text: &str) -> Option<String> {
    let whole = |text: &str| !text.is_empty() && !text.contains(['/', ' ', '\t', '@', ',']);
    if let Ok(ip) = text.parse::<std::net::IpAddr>() {
        return Some(std::net::SocketAddr::new(ip, PORT).to_string());
    }
    match text.rsplit_once(':') {
        None => whole(text).then(|| format!("{text}:{PORT}")),
        Some((host, port)) => {
            let port: u16 = port.parse().ok().filter(|port| *port > 0)?;
            whole(host).then(|| format!("{host}:{port}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::file;

    fn read(text: &str) -> Result<CassandraSettings, String> {
        let text = format!("[store.cassandra]\n{text}\n");
        let read = file::read(Path::new("/etc/o.toml"), &text);
        read.map(|settings| settings.cassandra).map_err(|problem| problem.to_string())
    }

    fn check(text: &str, expected: &str) {
        let problem = read(text).expect_err(text);
        assert_eq!(problem, format!("/etc/o.toml:{expected}"), "for {text:?}");
    }

    #[test]
    fn every_setting_is_read() {
        let text = "contact_points = [\"10.0.0.1:9999\", \"db.local\", \"::1\"]\n\
                    keyspace = \"chain_1\"\nreplication = 1\ndatacenter = \"north\"\n\
                    user = \"me\"\npassword_file = \"secret\"\ntls_ca = \"/ca.pem\"\n\
                    consistency = \"local_quorum\"\nrequest_timeout = \"500 ms\"\n\
                    patience = \"1 min\"\nin_flight = 8";
        let expected = CassandraSettings {
            contact_points: ["10.0.0.1:9999", "db.local:9042", "[::1]:9042"]
                .map(str::to_owned)
                .to_vec(),
            keyspace: "chain_1".into(),
            replication: 1,
            datacenter: Some("north".into()),
            user: Some("me".into()),
            password_file: Some("/etc/secret".into()),
            tls_ca: Some("/ca.pem".into()),
            consistency: Consistency::LocalQuorum,
            request_timeout: Duration::from_millis(500),
            patience: Duration::from_secs(60),
            in_flight: 8,
        };
        assert_eq!(read(text), Ok(expected));
        assert_eq!(read(""), Ok(CassandraSettings::default()));
    }

    #[test]
    fn wrong_values_are_named_with_a_right_one() {
        check(
            "contact_points = \"a:1\"",
            "2:18: `contact_points` is text, and must be a list\n  \
             name some nodes: contact_points = [\"10.0.0.1:9042\"]",
        );
        for bad in ["a:b", "cql://a", "a:0", " "] {
            let problem = read(&format!("contact_points = [\"{bad}\"]")).expect_err(bad);
            assert!(problem.contains("which is no host and port"), "{problem}");
        }
        check(
            "keyspace = \"Chain-1\"",
            "2:12: `keyspace` is \"Chain-1\", which cannot be a keyspace\n  \
             write up to 48 lower-case letters, digits and underscores, a letter first",
        );
        check(
            "replication = 0",
            "2:15: `replication` is 0, out of range\n  \
             write a number from 1 to 16: replication = 3",
        );
        check(
            "consistency = \"one\"",
            "2:15: `consistency` is \"one\", and must be a majority\n  \
             write consistency = \"quorum\" or consistency = \"local_quorum\"",
        );
        check(
            "patience = \"5\"",
            "2:12: `patience` is \"5\", which is no span of time\n  \
             write a number and ms, s, min or h: patience = \"15 s\"",
        );
        check(
            "request_timeout = \"5 h\"",
            "2:19: `request_timeout` is \"5 h\", out of range\n  give it 100 ms to 1 min",
        );
    }

    #[test]
    fn settings_that_contradict_each_other_are_refused() {
        check(
            "password_file = \"secret\"",
            "2:17: `password_file` is set, but no `user`\n  add a line: user = \"ostrakon\"",
        );
        check(
            "consistency = \"local_quorum\"",
            "2:15: `consistency` is \"local_quorum\", but no `datacenter` is named\n  \
             name the one all writers are in: datacenter = \"datacenter1\"",
        );
        check(
            "patience = \"1 s\"",
            "2:12: `patience` is 1 s, less than `request_timeout`, 3 s\n  \
             give it room for some requests: patience = \"15 s\"",
        );
    }

    #[test]
    fn a_password_in_the_file_is_sent_elsewhere() {
        check(
            "password = \"secret\"",
            "2:1: unknown key `password`\n  \
             a password does not belong here: name a file that holds it with `password_file`, or \
             set OSTRAKON_CASSANDRA_PASSWORD",
        );
    }
}
