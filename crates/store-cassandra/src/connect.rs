//! Opens a session.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use scylla::client::execution_profile::ExecutionProfile;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::policies::load_balancing::DefaultPolicy;
use scylla::policies::retry::FallthroughRetryPolicy;
use scylla::policies::timestamp_generator::TimestampGenerator;
use scylla::statement::{Consistency, SerialConsistency};

use crate::error::OpenError;
use crate::options::{Level, Options};

/// A node that says nothing for so long is left alone until it answers again.
const KEEPALIVE: Duration = Duration::from_secs(2);
const CONNECT: Duration = Duration::from_secs(5);

/// Connects to the cluster.
pub(crate) async fn connect(options: &Options) -> Result<Session, OpenError> {
    check(options)?;
    let mut builder = SessionBuilder::new()
        .known_nodes(&options.contact_points)
        .default_execution_profile_handle(profile(options).into_handle())
        .connection_timeout(CONNECT)
        .keepalive_interval(KEEPALIVE)
        .keepalive_timeout(KEEPALIVE)
        .tcp_nodelay(true)
        // Only our own keyspace: enough to send each request to a replica of its partition.
        .keyspaces_to_fetch([&options.keyspace]);
    if let Some(credentials) = &options.credentials {
        builder = builder.user(&credentials.user, &credentials.password);
    }
    if options.tls_ca.is_some() {
        builder = builder.tls_context(Some(Arc::new(tls(options)?)));
    }
    if options.clock_offset_micros != 0 {
        builder = builder.timestamp_generator(Arc::new(Wrong(options.clock_offset_micros)));
    }
    builder.build().await.map_err(|source| OpenError::Connect {
        contact_points: options.contact_points.join(", "),
        source: Box::new(source),
    })
}

fn check(options: &Options) -> Result<(), OpenError> {
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let name = &options.keyspace;
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    if !begins || !name.chars().all(word) || name.len() > 48 {
        let what = format!(
            "`{name}` cannot be a keyspace; use up to 48 lower-case letters, digits and \
             underscores in store.cassandra.keyspace"
        );
        return Err(OpenError::Setting(what));
    }
    if options.contact_points.is_empty() {
        let what = "store.cassandra.contact_points is empty; name at least one node as host:port";
        return Err(OpenError::Setting(what.to_owned()));
    }
    Ok(())
}

/// The driver repeats nothing by itself: we know better what may be repeated.
fn profile(options: &Options) -> ExecutionProfile {
    let (consistency, serial) = match options.level {
        Level::Quorum => (Consistency::Quorum, SerialConsistency::Serial),
        Level::Local => (Consistency::LocalQuorum, SerialConsistency::LocalSerial),
    };
    let mut balancing = DefaultPolicy::builder().token_aware(true);
    if let Some(datacenter) = &options.datacenter {
        balancing = balancing
            .prefer_datacenter(datacenter.clone())
            .permit_dc_failover(options.level == Level::Quorum);
    }
    ExecutionProfile::builder()
        .consistency(consistency)
        .serial_consistency(Some(serial))
        .request_timeout(Some(options.request_timeout))
        .retry_policy(Arc::new(FallthroughRetryPolicy::new()))
        .load_balancing_policy(balancing.build())
        .build()
}

fn tls(options: &Options) -> Result<rustls::ClientConfig, OpenError> {
    let path = options.tls_ca.clone().unwrap_or_default();
    let failed = |what: String| OpenError::Tls { path: path.clone(), what };
    let mut roots = rustls::RootCertStore::empty();
    let certificates =
        CertificateDer::pem_file_iter(&path).map_err(|error| failed(error.to_string()))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| failed(error.to_string()))?;
        roots.add(certificate).map_err(|error| failed(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(failed("it holds no certificate".to_owned()));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(error.to_string()))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// A clock that goes wrong by a fixed amount.
#[derive(Debug)]
struct Wrong(i64);

impl TimestampGenerator for Wrong {
    fn next_timestamp(&self) -> i64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(now.as_micros()).unwrap_or(i64::MAX).saturating_add(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_cannot_work_are_refused_with_the_remedy() {
        let mut options = Options::new(["127.0.0.1:9042".to_owned()]);
        check(&options).expect("the defaults are fine");
        for bad in ["", "Upper", "with space", "9digits", "a;DROP"] {
            options.keyspace = bad.to_owned();
            let error = check(&options).expect_err("refused").to_string();
            assert!(error.contains("store.cassandra.keyspace"), "{error}");
        }
        let error = check(&Options::new([])).expect_err("refused").to_string();
        assert!(error.contains("contact_points"), "{error}");
    }

    #[test]
    fn a_file_without_certificates_is_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut options = Options::new(["127.0.0.1:9042".to_owned()]);
        let path = directory.path().join("ca.pem");
        options.tls_ca = Some(path.clone());
        assert!(tls(&options).expect_err("not there").to_string().contains("ca.pem"));
        std::fs::write(&path, "no certificate").expect("writes");
        assert!(tls(&options).expect_err("empty").to_string().contains("tls_ca"));
    }
}
