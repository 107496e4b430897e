//! The store on Apache Cassandra 5 or ScyllaDB.
//!
//! ```text
//! get, range   SELECT at QUORUM, or at SERIAL for writers
//! put          INSERT … USING TIMESTAMP 1, DELETE … USING TIMESTAMP 2, in unlogged batches
//! commit       one conditional batch: IF version = ?, IF the operation is not there yet
//! ```
//!
//! # Clocks
//!
//! No clock of a client decides anything. A row of a `Once` table has one value for ever, so every
//! writer gives it the same timestamp, and sweeping it is final: a put that arrives late, from a
//! hint or from a writer that slept, cannot bring it back. Guarded rows are written by conditional
//! batches only, whose timestamps the replicas agree on.
//!
//! # Failures
//!
//! What may be repeated is repeated with growing pauses until the patience of [`Options`] ends:
//! reads, puts, and commits too, because a commit names its operation and is done at most once. The
//! driver itself repeats nothing.

mod commit;
mod connect;
mod cql;
mod engine;
mod error;
mod estimates;
mod layout;
mod maintenance;
mod metrics;
mod options;
mod put;
mod range;
mod read;
mod retry;
mod statements;
mod turns;
mod walk;

pub use cql::{schema_text, table_name};
pub use engine::CassandraEngine;
pub use error::OpenError;
pub use options::{Credentials, Level, Options};
