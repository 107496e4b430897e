//! Between the store's types and the wire's.

use bytes::Bytes;
use store::{
    Bound, Change, Commit, CommitError, EngineError, Found, Order, Page, PartitionKey, PutError,
    RangeRequest, Read, ReadError, Row, RowKey, Schema, TableDef, Version,
};

use crate::wire::{Answer, End, Refusal, Verb};

/// What a client says about an answer that does not fit its question.
pub(crate) fn misfit() -> EngineError {
    EngineError::new(
        "the store's process answered something else",
        "run the same version of Ostrakon everywhere",
    )
}

pub(crate) fn range_verb(request: &RangeRequest) -> Verb {
    let end = |bound: &Bound| match bound {
        Bound::Unbounded => End::Unbounded,
        Bound::Included(sort) => End::Included(sort.to_vec()),
        Bound::Excluded(sort) => End::Excluded(sort.to_vec()),
    };
    Verb::Range {
        table: request.table.name().to_owned(),
        partition: request.partition.as_bytes().to_vec(),
        from: end(&request.from),
        to: end(&request.to),
        descending: request.order == Order::Descending,
        limit: request.limit as u64,
        serial: request.read == Read::Serial,
    }
}

pub(crate) fn commit_verb(commit: &Commit) -> Verb {
    let changes = commit.changes.iter().map(|change| match change {
        Change::Put { sort, value } => (sort.to_vec(), Some(value.to_vec())),
        Change::Delete { sort } => (sort.to_vec(), None),
    });
    Verb::Commit {
        table: commit.table.name().to_owned(),
        partition: commit.partition.as_bytes().to_vec(),
        expected: commit.expected.0,
        changes: changes.collect(),
        op: commit.op.0,
        result: commit.result.to_vec(),
    }
}

pub(crate) fn read_level(serial: bool) -> Read {
    if serial { Read::Serial } else { Read::Quorum }
}

/// The table called `name`.
pub(crate) fn table(schema: &Schema, name: &str) -> Result<&'static TableDef, Refusal> {
    schema.table(name).ok_or(Refusal::NoTable)
}

/// Bytes from outside become a key only when they are one.
pub(crate) fn row_key(joined: Vec<u8>) -> Result<RowKey, Refusal> {
    RowKey::from_joined(joined.into()).ok_or_else(|| bad("a key that is none"))
}

pub(crate) fn partition_key(
    table: &'static TableDef,
    bytes: Vec<u8>,
) -> Result<PartitionKey, Refusal> {
    PartitionKey::new(table, bytes).map_err(|error| bad(&error.to_string()))
}

pub(crate) fn bad(what: &str) -> Refusal {
    Refusal::Failed { what: what.to_owned(), advice: "report this as a bug".to_owned() }
}

pub(crate) fn bound(end: End) -> Bound {
    match end {
        End::Unbounded => Bound::Unbounded,
        End::Included(sort) => Bound::Included(sort.into()),
        End::Excluded(sort) => Bound::Excluded(sort.into()),
    }
}

pub(crate) fn changes(changes: Vec<(Vec<u8>, Option<Vec<u8>>)>) -> Vec<Change> {
    let change = |(sort, value): (Vec<u8>, Option<Vec<u8>>)| match value {
        Some(value) => Change::Put { sort: sort.into(), value: value.into() },
        None => Change::Delete { sort: sort.into() },
    };
    changes.into_iter().map(change).collect()
}

pub(crate) fn row(
    schema: &Schema,
    (name, key, value): (String, Vec<u8>, Option<Vec<u8>>),
) -> Result<Row, Refusal> {
    let (table, key) = (table(schema, &name)?, row_key(key)?);
    Ok(Row { table, key, value: value.map(Bytes::from) })
}

pub(crate) fn found_answer(found: Vec<Found>) -> Answer {
    let one = |found: Found| (found.version.0, found.value.map(|value| value.to_vec()));
    Answer::Found(found.into_iter().map(one).collect())
}

pub(crate) fn page_answer(page: &Page) -> Answer {
    let rows = page.rows.iter().map(|(sort, value)| (sort.to_vec(), value.to_vec()));
    Answer::Page { version: page.version.0, rows: rows.collect(), more: page.more }
}

pub(crate) fn found(answers: Vec<(u64, Option<Vec<u8>>)>) -> Vec<Found> {
    let one = |(version, value): (u64, Option<Vec<u8>>)| Found {
        version: Version(version),
        value: value.map(Bytes::from),
    };
    answers.into_iter().map(one).collect()
}

fn failed(error: &EngineError) -> Refusal {
    Refusal::Failed { what: error.what.clone(), advice: error.advice.clone() }
}

pub(crate) fn read_refusal(error: ReadError) -> Refusal {
    match error {
        ReadError::NoTable { .. } => Refusal::NoTable,
        ReadError::Engine(error) => failed(&error),
        other => bad(&other.to_string()),
    }
}

pub(crate) fn put_refusal(error: PutError) -> Refusal {
    match error {
        PutError::NoTable { .. } => Refusal::NoTable,
        PutError::Differs { table, key } => Refusal::Differs { table: table.to_owned(), key },
        PutError::Engine(error) => failed(&error),
        other => bad(&other.to_string()),
    }
}

pub(crate) fn commit_refusal(error: CommitError) -> Refusal {
    match error {
        CommitError::NoTable { .. } => Refusal::NoTable,
        CommitError::Conflict { current, .. } => Refusal::Conflict { current: current.0 },
        CommitError::Unknown(EngineError { what, advice }) => Refusal::Unknown { what, advice },
        CommitError::Engine(error) => failed(&error),
        other => bad(&other.to_string()),
    }
}

/// A refusal as the error of a read.
pub(crate) fn read_error(table: &'static TableDef, refusal: Refusal) -> ReadError {
    match refusal {
        Refusal::NoTable => ReadError::NoTable { table: table.name() },
        Refusal::Failed { what, advice } => EngineError::new(what, advice).into(),
        _ => misfit().into(),
    }
}

/// A refusal as the error of a put.
pub(crate) fn put_error(table: &'static TableDef, refusal: Refusal) -> PutError {
    match refusal {
        Refusal::NoTable => PutError::NoTable { table: table.name() },
        Refusal::Differs { key, .. } => PutError::Differs { table: table.name(), key },
        Refusal::Failed { what, advice } => EngineError::new(what, advice).into(),
        _ => misfit().into(),
    }
}

/// A refusal as the error of a commit.
pub(crate) fn commit_error(commit: &Commit, refusal: Refusal) -> CommitError {
    match refusal {
        Refusal::NoTable => CommitError::NoTable { table: commit.table.name() },
        Refusal::Conflict { current } => {
            CommitError::Conflict { expected: commit.expected, current: Version(current) }
        }
        Refusal::Unknown { what, advice } => CommitError::Unknown(EngineError::new(what, advice)),
        Refusal::Failed { what, advice } => EngineError::new(what, advice).into(),
        Refusal::Differs { .. } => misfit().into(),
    }
}
