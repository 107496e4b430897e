//! Bulk runs: sorted tables written beside the journal.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bytes::Bytes;
use fjall::{AbstractTree, Keyspace};
use store::{EngineError, PutError, Row, TableDef};

use crate::engine::Shared;
use crate::error::engine_error;
use crate::metrics::Metrics;
use crate::pressure;

/// Runs in level 0 at which loading waits for compaction: fjall puts no pressure back on ingestion,
/// but halts everybody else at 30.
const LEVEL_0_FULL: usize = 20;
/// How long one load waits for compaction before it goes on all the same.
const PATIENCE: Duration = Duration::from_secs(60);

/// Writes rows as one run per table. Sorting is skipped when they come sorted.
pub(crate) fn put(shared: &Shared, rows: Vec<Row>) -> Result<(), PutError> {
    let mut tables: BTreeMap<&'static str, (&'static TableDef, Vec<Pair>)> = BTreeMap::new();
    for Row { table, key, value } in rows {
        let (_, pairs) = tables.entry(table.name()).or_insert_with(|| (table, Vec::new()));
        pairs.push((key.joined().clone(), value));
    }
    for (name, (table, mut pairs)) in tables {
        let keyspace = shared.table(table).ok_or(PutError::NoTable { table: name })?;
        if !pairs.is_sorted_by(|(a, _), (b, _)| a < b) {
            pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
            // The same row twice is allowed, and both have the same value.
            pairs.dedup_by(|(a, _), (b, _)| a == b);
        }
        load(shared, &keyspace, pairs)?;
    }
    Ok(())
}

/// A key and its value; none sweeps the row.
pub(crate) type Pair = (Bytes, Option<Bytes>);

/// Writes strictly ascending pairs as one run.
pub(crate) fn load(
    shared: &Shared,
    keyspace: &Keyspace,
    pairs: Vec<Pair>,
) -> Result<(), EngineError> {
    let failed = |error: fjall::Error| engine_error("writing a bulk run", &error);
    pressure::alive(&shared.database).map_err(failed)?;
    wait_for_compaction(shared, keyspace).map_err(failed)?;
    let started = Instant::now();
    let rows = pairs.len();
    let mut run = keyspace.start_ingestion().map_err(failed)?;
    for (key, value) in pairs {
        match value {
            Some(value) => run.write(key, value),
            None => run.write_tombstone(key),
        }
        .map_err(failed)?;
    }
    run.finish().map_err(failed)?;
    Metrics::add(&shared.metrics.bulk_runs, 1);
    Metrics::add(&shared.metrics.rows_bulk, rows);
    Metrics::longest(&shared.metrics.bulk_nanos_max, started.elapsed());
    Ok(())
}

fn wait_for_compaction(shared: &Shared, keyspace: &Keyspace) -> fjall::Result<()> {
    let started = Instant::now();
    pressure::wait(&shared.database, keyspace, |keyspace| {
        keyspace.tree.l0_run_count() < LEVEL_0_FULL || started.elapsed() >= PATIENCE
    })
}
