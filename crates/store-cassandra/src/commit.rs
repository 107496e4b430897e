//! `commit`: one conditional batch of one partition.
//!
//! ```text
//! UPDATE … SET version = 8 IF version = 7
//! INSERT … operation IF NOT EXISTS USING TTL a day
//! INSERT / DELETE … the changes
//! ```
//!
//! All or nothing, and at most once whatever happens: sent again after an unknown outcome it finds
//! its own operation, or the version it expects.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use scylla::errors::ExecutionError;
use scylla::serialize::row::{RowSerializationContext, SerializeRow};
use scylla::serialize::writers::RowWriter;
use scylla::statement::batch::{Batch, BatchType};
use scylla::statement::prepared::PreparedStatement;
use store::{Change, Commit, CommitError, Committed, EngineError, Read, ReadError, Version};

use crate::cql::Kind;
use crate::engine::CassandraEngine;
use crate::error::{Trouble, engine_error, trouble};
use crate::layout::{self, Operation};
use crate::metrics::Metrics;
use crate::read::{rows_result, strange};
use crate::retry::Patience;

/// What the batch did.
enum Outcome {
    Done,
    Refused,
}

impl CassandraEngine {
    pub(crate) async fn commit_changes(&self, commit: Commit) -> Result<Committed, CommitError> {
        if !self.has(commit.table) {
            return Err(CommitError::NoTable { table: commit.table.name() });
        }
        let mut patience = Patience::new(self.options.patience);
        // Waiting is part of the patience, else those who wait while replicas are dead would be
        // told one after the other.
        let _turn = self.turn(commit.table, commit.partition.as_bytes(), &patience).await?;
        let prepared = self.build(&commit).await?;
        let mut unknown = false;
        loop {
            let error = match self.try_commit(&prepared).await {
                Ok(Outcome::Done) => return Ok(self.done(&commit)),
                Ok(Outcome::Refused) => {
                    // On the heap: it is seldom, and every commit would carry its size.
                    let known = Box::pin(self.refused(&commit, unknown)).await;
                    return match known {
                        Err(CommitError::Engine(error)) if unknown => {
                            Err(CommitError::Unknown(error))
                        }
                        known => known,
                    };
                }
                Err(error) => error,
            };
            match trouble(&error) {
                Trouble::NotSent => {}
                Trouble::Passing => unknown = true,
                Trouble::Lasting if unknown => return Err(self.unknown(&error)),
                Trouble::Lasting => return Err(engine_error("committing", &error).into()),
            }
            if !patience.wait().await {
                let failed = || engine_error("committing", &error);
                return Err(if unknown { self.unknown(&error) } else { failed().into() });
            }
            Metrics::add(&self.metrics.repeats, 1);
        }
    }

    fn done(&self, commit: &Commit) -> Committed {
        Metrics::add(&self.metrics.commits, 1);
        Committed {
            version: commit.expected.next(),
            result: commit.result.clone(),
            repeated: false,
        }
    }

    fn unknown(&self, error: &ExecutionError) -> CommitError {
        Metrics::add(&self.metrics.unknown, 1);
        CommitError::Unknown(engine_error("committing", error))
    }

    /// The batch was refused: because it was done before, or because of the version.
    async fn refused(&self, commit: &Commit, unknown: bool) -> Result<Committed, CommitError> {
        // The version first: a commit that lands in between is then found as done, and never
        // mistaken for somebody else's.
        let partition = commit.partition.as_bytes();
        let current = self.version(commit.table, partition, Read::Serial).await.map_err(failed)?;
        if let Some(operation) = self.operation(commit).await? {
            let Operation { version, result, .. } = operation;
            // Found after a failure of our own: this call did it.
            return Ok(Committed { version, result, repeated: !unknown });
        }
        Metrics::add(&self.metrics.conflicts, 1);
        Err(CommitError::Conflict { expected: commit.expected, current })
    }

    async fn operation(&self, commit: &Commit) -> Result<Option<Operation>, CommitError> {
        let statement = self.prepared(commit.table, Kind::Get, Read::Serial).await?;
        let sort = layout::operation_sort(commit.op);
        let values = (commit.partition.as_bytes(), sort.as_slice());
        let result = self
            .repeat("reading an operation", || self.session.execute_unpaged(&statement, values))
            .await?;
        let rows = rows_result(result)?;
        let row = rows
            .maybe_first_row::<(Option<bytes::Bytes>, Option<bytes::Bytes>, Option<i64>)>()
            .map_err(strange)?;
        let Some((_, Some(value), _)) = row else { return Ok(None) };
        let damaged = || EngineError::new("an operation cannot be read", "restore a backup");
        Ok(Some(Operation::decode(&value).ok_or_else(damaged)?))
    }

    async fn try_commit(
        &self,
        (batch, values): &(Batch, Vec<Values<'_>>),
    ) -> Result<Outcome, ExecutionError> {
        let result = self.send(|| self.session.batch(batch, values)).await?;
        Ok(if applied(result) { Outcome::Done } else { Outcome::Refused })
    }

    async fn build<'c>(&self, commit: &'c Commit) -> Result<(Batch, Vec<Values<'c>>), EngineError> {
        let partition = commit.partition.as_bytes();
        let version = commit.expected.next();
        let mut batch = Batch::new(BatchType::Unlogged);
        let mut values = Vec::with_capacity(commit.changes.len() + 2);
        let mut add = |statement: &PreparedStatement, value: Values<'c>| {
            batch.append_statement(statement.clone());
            values.push(value);
        };
        let statement = |kind| self.prepared(commit.table, kind, Read::Quorum);
        if commit.expected == Version::NEVER {
            add(&*statement(Kind::Begin).await?, Values::Begin(stored(version), partition));
        } else {
            let raise = Values::Raise(stored(version), partition, stored(commit.expected));
            add(&*statement(Kind::Raise).await?, raise);
        }
        let age = self.options.operation_age;
        let operation =
            Operation { version, expires: now() + age.as_secs(), result: commit.result.clone() };
        let seconds = i32::try_from(age.as_secs()).unwrap_or(i32::MAX);
        let sort = layout::operation_sort(commit.op);
        let remember = Values::Remember(partition, sort, operation.encode(), seconds);
        add(&*statement(Kind::Remember).await?, remember);
        for change in &commit.changes {
            let sort = layout::row_sort(change.sort());
            match change {
                Change::Put { value, .. } => {
                    let insert = Values::Insert(partition, sort, value);
                    add(&*statement(Kind::Insert).await?, insert);
                }
                Change::Delete { .. } => {
                    add(&*statement(Kind::Delete).await?, Values::Delete(partition, sort));
                }
            }
        }
        Ok((batch, values))
    }
}

/// The values of one statement of a commit.
enum Values<'c> {
    Begin(i64, &'c [u8]),
    Raise(i64, &'c [u8], i64),
    Remember(&'c [u8], Vec<u8>, Vec<u8>, i32),
    Insert(&'c [u8], Vec<u8>, &'c [u8]),
    Delete(&'c [u8], Vec<u8>),
}

impl SerializeRow for Values<'_> {
    fn serialize(
        &self,
        context: &RowSerializationContext<'_>,
        writer: &mut RowWriter<'_>,
    ) -> Result<(), scylla::serialize::SerializationError> {
        match self {
            Self::Begin(version, partition) => (version, partition).serialize(context, writer),
            Self::Raise(version, partition, expected) => {
                (version, partition, expected).serialize(context, writer)
            }
            Self::Remember(partition, sort, value, seconds) => {
                (partition, sort, value, seconds).serialize(context, writer)
            }
            Self::Insert(partition, sort, value) => {
                (partition, sort, value).serialize(context, writer)
            }
            Self::Delete(partition, sort) => (partition, sort).serialize(context, writer),
        }
    }

    fn is_empty(&self) -> bool {
        false
    }
}

/// Whether a conditional batch was applied: its first column says so.
fn applied(result: scylla::response::query_result::QueryResult) -> bool {
    use scylla::value::{CqlValue, Row};
    let Ok(rows) = result.into_rows_result() else { return false };
    let Ok(Some(first)) = rows.maybe_first_row::<Row>() else { return false };
    matches!(first.columns.first(), Some(Some(CqlValue::Boolean(true))))
}

/// A version as it is stored.
pub(crate) fn stored(version: Version) -> i64 {
    version.0.cast_signed()
}

/// The Unix second.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs()
}

fn failed(error: ReadError) -> CommitError {
    match error {
        ReadError::Engine(error) => error.into(),
        other => EngineError::new(other.to_string(), "report this as a bug").into(),
    }
}
