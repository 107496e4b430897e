//! `put`: unlogged batches, one partition each.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use futures_util::future::try_join_all;
use rustc_hash::FxHashMap;
use scylla::serialize::SerializationError;
use scylla::serialize::row::{RowSerializationContext, SerializeRow};
use scylla::serialize::writers::RowWriter;
use scylla::statement::batch::{Batch, BatchType};
use scylla::statement::prepared::PreparedStatement;
use store::{EngineError, PutError, Read, Row, TableDef};

use crate::cql::Kind;
use crate::engine::CassandraEngine;
use crate::metrics::Metrics;

/// Batches of one `put` under way at the same time.
const BATCHES: usize = 64;
/// Statements of one batch.
const STATEMENTS: usize = 500;

/// Rows of one partition.
struct Group<'r> {
    table: &'static TableDef,
    rows: Vec<Values<'r>>,
    bytes: usize,
    /// Whether some of them are swept.
    sweeps: bool,
}

impl CassandraEngine {
    pub(crate) async fn put_rows(&self, rows: Vec<Row>) -> Result<(), PutError> {
        // Rows of one table usually follow each other.
        for run in rows.chunk_by(|a, b| std::ptr::eq(a.table, b.table)) {
            if let Some(missing) = run.first().filter(|row| !self.has(row.table)) {
                return Err(PutError::NoTable { table: missing.table.name() });
            }
        }
        let groups = groups(&rows, self.options.batch_bytes);
        let lanes = groups.len().min(BATCHES);
        let rest = Mutex::new(groups.into_iter());
        // A lane is made once and sends one batch after the other, so that a batch costs no task.
        let lane = async |_| {
            while let Some(group) = next(&rest) {
                self.put_group(&group).await?;
            }
            Ok::<(), EngineError>(())
        };
        try_join_all((0..lanes).map(lane)).await?;
        Metrics::add(&self.metrics.rows_put, rows.len());
        Ok(())
    }

    async fn put_group(&self, group: &Group<'_>) -> Result<(), EngineError> {
        Metrics::add(&self.metrics.batches, 1);
        if let [row] = group.rows.as_slice() {
            let kind = if row.0.value.is_some() { Kind::Put } else { Kind::Sweep };
            let statement = self.prepared(group.table, kind, Read::Quorum).await?;
            let doing = "putting a row";
            self.repeat(doing, || self.session.execute_unpaged(&statement, row)).await?;
            return Ok(());
        }
        let put = self.prepared(group.table, Kind::Put, Read::Quorum).await?;
        let batch = if group.sweeps {
            self.mixed(group, &put).await?
        } else {
            self.batches.take(group.table, &put, group.rows.len())
        };
        self.repeat("putting rows", || self.session.batch(&batch, &group.rows)).await?;
        if !group.sweeps {
            self.batches.give_back(group.table, batch);
        }
        Ok(())
    }

    /// A batch that also sweeps.
    async fn mixed(
        &self,
        group: &Group<'_>,
        put: &PreparedStatement,
    ) -> Result<Batch, EngineError> {
        let sweep = self.prepared(group.table, Kind::Sweep, Read::Quorum).await?;
        let mut batch = empty();
        for row in &group.rows {
            let statement = if row.0.value.is_some() { put } else { &*sweep };
            batch.append_statement(statement.clone());
        }
        Ok(batch)
    }
}

/// Batches of puts that were sent, for the next ones of the same table: a batch holds a copy of the
/// statement for each of its rows, which costs about as much as to write the row into the request.
#[derive(Default)]
pub(crate) struct Batches(Mutex<VecDeque<(&'static str, Batch)>>);

impl Batches {
    /// A batch of so many puts.
    fn take(&self, table: &TableDef, put: &PreparedStatement, rows: usize) -> Batch {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = kept.iter().rposition(|(name, _)| *name == table.name());
        let found = same.and_then(|place| kept.swap_remove_back(place));
        drop(kept);
        let mut batch = found.map_or_else(empty, |(_, batch)| batch);
        batch.statements.resize_with(rows, || put.clone().into());
        batch
    }

    /// Keeps a batch, instead of the oldest one when there are enough.
    fn give_back(&self, table: &'static TableDef, batch: Batch) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let oldest = if kept.len() == BATCHES { kept.pop_front() } else { None };
        kept.push_back((table.name(), batch));
        drop(kept);
        drop(oldest);
    }
}

fn empty() -> Batch {
    let mut batch = Batch::new(BatchType::Unlogged);
    batch.set_is_idempotent(true);
    batch
}

/// The next group that nobody has taken.
fn next<'r>(rest: &Mutex<std::vec::IntoIter<Group<'r>>>) -> Option<Group<'r>> {
    rest.lock().unwrap_or_else(PoisonError::into_inner).next()
}

/// The values of a row's statement: a sweeping has no value.
struct Values<'r>(&'r Row);

impl SerializeRow for Values<'_> {
    fn serialize(
        &self,
        context: &RowSerializationContext<'_>,
        writer: &mut RowWriter<'_>,
    ) -> Result<(), SerializationError> {
        let Row { key, value, .. } = self.0;
        match value {
            Some(value) => (key.partition(), key.sort(), value.as_ref()).serialize(context, writer),
            None => (key.partition(), key.sort()).serialize(context, writer),
        }
    }

    fn is_empty(&self) -> bool {
        false
    }
}

/// Rows by partition, cut where a batch would grow too large.
fn groups(rows: &[Row], batch_bytes: usize) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    // The last group of each partition; asked only where a row is not of the same one as before.
    let mut open: FxHashMap<(&'static str, &[u8]), usize> = FxHashMap::default();
    let mut current = usize::MAX;
    for row in rows {
        let place = (row.table.name(), row.key.partition());
        if !groups.get(current).is_some_and(|group| group.holds(row)) {
            current = *open.entry(place).or_insert(groups.len());
        }
        let size = row.key.joined().len() + row.value.as_ref().map_or(0, Bytes::len);
        if groups.get(current).is_some_and(|group| group.is_full(size, batch_bytes)) {
            current = groups.len();
            open.insert(place, current);
        }
        if current >= groups.len() {
            groups.push(Group { table: row.table, rows: Vec::new(), bytes: 0, sweeps: false });
        }
        if let Some(group) = groups.get_mut(current) {
            group.bytes += size;
            group.sweeps |= row.value.is_none();
            group.rows.push(Values(row));
        }
    }
    groups
}

impl Group<'_> {
    fn holds(&self, row: &Row) -> bool {
        let first = self.rows.first();
        std::ptr::eq(self.table, row.table)
            && first.is_some_and(|first| first.0.key.partition() == row.key.partition())
    }

    fn is_full(&self, more: usize, batch_bytes: usize) -> bool {
        !self.rows.is_empty() && (self.bytes + more > batch_bytes || self.rows.len() == STATEMENTS)
    }
}

#[cfg(test)]
mod tests {
    use placement::Placement;
    use store::{Bounds, Table};

    use super::*;

    static ROWS: Table<u64, u64, Vec<u8>> =
        Table::once("test.rows", "A row.", Placement::Hashed, Bounds::rows(10));

    #[test]
    fn groups_are_of_one_partition_and_within_the_limit() {
        let row = |i: u64| ROWS.row(&(i % 3), &i, &vec![0; 83]).expect("a row");
        let rows: Vec<Row> = (0..30).map(row).collect();
        let groups = groups(&rows, 300);
        assert_eq!(groups.iter().map(|group| group.rows.len()).sum::<usize>(), 30);
        for group in &groups {
            let first = group.rows.first().expect("not empty").0;
            assert!(group.rows.iter().all(|row| row.0.key.partition() == first.key.partition()));
            assert!(group.bytes <= 300, "{} bytes", group.bytes);
        }
    }
}
