//! Errors of the driver, and what the operator can do about each.

use std::path::PathBuf;

use scylla::errors::{DbError, ExecutionError, PrepareError, RequestAttemptError};
use store::{EngineError, SchemaError};

/// Why a cluster could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Nobody answers, or not to us.
    #[error(
        "no Cassandra node of {contact_points} could be reached ({source}); check that they run, \
         and store.cassandra.contact_points, user, password and tls_ca"
    )]
    Connect {
        /// Where it was tried.
        contact_points: String,
        /// What the driver says.
        source: Box<scylla::errors::NewSessionError>,
    },
    /// The certificates cannot be used.
    #[error("{path}: {what}; name a PEM file with the certificates to trust in tls_ca")]
    Tls {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A setting that cannot work.
    #[error("{0}")]
    Setting(String),
    /// The tables do not fit.
    #[error(transparent)]
    Schema(#[from] SchemaError),
}

/// What went wrong with a request, as far as a repetition is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// It was never sent: nothing happened.
    NotSent,
    /// Sent; whether it was done is unknown, and trying again may help.
    Passing,
    /// Trying again will not help.
    Lasting,
}

/// Judges an error.
pub(crate) fn trouble(error: &ExecutionError) -> Trouble {
    match error {
        ExecutionError::EmptyPlan | ExecutionError::ConnectionPoolError(_) => Trouble::NotSent,
        ExecutionError::PrepareError(error) => prepare_trouble(error),
        ExecutionError::RequestTimeout(_) => Trouble::Passing,
        ExecutionError::LastAttemptError(attempt) => attempt_trouble(attempt),
        _ => Trouble::Lasting,
    }
}

/// Judges an error of preparing a statement, which changes nothing in the cluster.
pub(crate) fn prepare_trouble(error: &PrepareError) -> Trouble {
    match error {
        PrepareError::ConnectionPoolError(_) => Trouble::NotSent,
        PrepareError::AllAttemptsFailed { first_attempt } => match attempt_trouble(first_attempt) {
            Trouble::Lasting => Trouble::Lasting,
            Trouble::Passing | Trouble::NotSent => Trouble::NotSent,
        },
        _ => Trouble::Lasting,
    }
}

fn attempt_trouble(error: &RequestAttemptError) -> Trouble {
    match error {
        RequestAttemptError::UnableToAllocStreamId => Trouble::NotSent,
        RequestAttemptError::BrokenConnectionError(_) => Trouble::Passing,
        RequestAttemptError::DbError(error, _) if passes(error) => Trouble::Passing,
        _ => Trouble::Lasting,
    }
}

/// Whether the cluster may answer otherwise in a moment.
fn passes(error: &DbError) -> bool {
    matches!(
        error,
        DbError::Unavailable { .. }
            | DbError::Overloaded
            | DbError::IsBootstrapping
            | DbError::TruncateError
            | DbError::ReadTimeout { .. }
            | DbError::WriteTimeout { .. }
            | DbError::ReadFailure { .. }
            | DbError::WriteFailure { .. }
            | DbError::ServerError
            | DbError::RateLimitReached { .. }
            // Contention between conditional writes has a code of its own.
            | DbError::Other(_)
    )
}

/// What the operator reads.
pub(crate) fn engine_error(doing: &str, error: &ExecutionError) -> EngineError {
    let advice = match error {
        ExecutionError::LastAttemptError(RequestAttemptError::DbError(error, _)) => advice(error),
        ExecutionError::RequestTimeout(_) => {
            "the cluster is slow or partly down: see `nodetool status` and `nodetool tpstats`, or \
             raise store.cassandra.request_timeout"
        }
        ExecutionError::EmptyPlan
        | ExecutionError::ConnectionPoolError(_)
        | ExecutionError::LastAttemptError(RequestAttemptError::BrokenConnectionError(_)) => {
            "start the Cassandra nodes; work goes on by itself when they answer"
        }
        _ => "see the log of the Cassandra nodes",
    };
    EngineError::new(format!("Cassandra, {doing}: {error}"), advice)
}

fn advice(error: &DbError) -> &'static str {
    match error {
        DbError::Unavailable { .. } => {
            "too few replicas are up: start the missing Cassandra nodes; work goes on by itself"
        }
        DbError::ReadTimeout { .. } | DbError::WriteTimeout { .. } | DbError::Other(_) => {
            "replicas did not answer in time: see `nodetool status` and `nodetool tpstats`"
        }
        DbError::Overloaded => "the cluster is overloaded: add nodes, or write more slowly",
        DbError::Unauthorized | DbError::AuthenticationError => {
            "grant the user of store.cassandra.user all rights on the keyspace"
        }
        DbError::Invalid => {
            "run `ostrakon schema apply`; when a batch is called too large, set \
             batch_size_fail_threshold to 640KiB in cassandra.yaml"
        }
        _ => "see the log of the Cassandra nodes",
    }
}
