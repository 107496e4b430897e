//! `put`: unlogged batches, one partition each.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use rustc_hash::FxHashMap;
use scylla::statement::batch::{Batch, BatchType};
use scylla::statement::prepared::PreparedStatement;
use store::{EngineError, PutError, Read, Row, RowKey, TableDef};

use crate::cql::Kind;
use crate::engine::CassandraEngine;
use crate::metrics::Metrics;

/// Batches of one `put` under way at the same time.
const BATCHES: usize = 64;
/// Statements of one batch.
const STATEMENTS: usize = 500;

/// Rows of one partition.
struct Group {
    table: &'static TableDef,
    rows: Vec<(RowKey, Option<Bytes>)>,
    bytes: usize,
}

impl CassandraEngine {
    pub(crate) async fn put_rows(&self, rows: Vec<Row>) -> Result<(), PutError> {
        let count = rows.len();
        // Rows of one table usually follow each other.
        for run in rows.chunk_by(|a, b| std::ptr::eq(a.table, b.table)) {
            if let Some(missing) = run.first().filter(|row| !self.has(row.table)) {
                return Err(PutError::NoTable { table: missing.table.name() });
            }
        }
        stream::iter(groups(rows, self.options.batch_bytes))
            .map(|group| self.put_group(group))
            .buffer_unordered(BATCHES)
            .try_collect::<Vec<()>>()
            .await?;
        Metrics::add(&self.metrics.rows_put, count);
        Ok(())
    }

    async fn put_group(&self, group: Group) -> Result<(), EngineError> {
        let (mut put, mut sweep) = (None, None);
        if group.rows.iter().any(|(_, value)| value.is_some()) {
            put = Some(self.prepared(group.table, Kind::Put, Read::Quorum).await?);
        }
        if group.rows.iter().any(|(_, value)| value.is_none()) {
            sweep = Some(self.prepared(group.table, Kind::Sweep, Read::Quorum).await?);
        }
        Metrics::add(&self.metrics.batches, 1);
        if let ([(key, Some(value))], Some(put)) = (group.rows.as_slice(), &put) {
            let values = (key.partition(), key.sort(), value.as_ref());
            let doing = "putting a row";
            self.repeat(doing, || self.session.execute_unpaged(put, values)).await?;
            return Ok(());
        }
        let (batch, values) = batch(&group, put.as_ref(), sweep.as_ref());
        self.repeat("putting rows", || self.session.batch(&batch, &values)).await?;
        Ok(())
    }
}

/// The values of one statement: a sweeping has no value.
#[derive(Debug)]
enum Values<'a> {
    Put(&'a [u8], &'a [u8], &'a [u8]),
    Sweep(&'a [u8], &'a [u8]),
}

impl scylla::serialize::row::SerializeRow for Values<'_> {
    fn serialize(
        &self,
        context: &scylla::serialize::row::RowSerializationContext<'_>,
        writer: &mut scylla::serialize::writers::RowWriter<'_>,
    ) -> Result<(), scylla::serialize::SerializationError> {
        match self {
            Self::Put(partition, sort, value) => {
                (partition, sort, value).serialize(context, writer)
            }
            Self::Sweep(partition, sort) => (partition, sort).serialize(context, writer),
        }
    }

    fn is_empty(&self) -> bool {
        false
    }
}

fn batch<'a>(
    group: &'a Group,
    put: Option<&Arc<PreparedStatement>>,
    sweep: Option<&Arc<PreparedStatement>>,
) -> (Batch, Vec<Values<'a>>) {
    let mut batch = Batch::new(BatchType::Unlogged);
    batch.set_is_idempotent(true);
    let mut values = Vec::with_capacity(group.rows.len());
    for (key, value) in &group.rows {
        match (value, put, sweep) {
            (Some(value), Some(put), _) => {
                batch.append_statement(PreparedStatement::clone(put));
                values.push(Values::Put(key.partition(), key.sort(), value));
            }
            (None, _, Some(sweep)) => {
                batch.append_statement(PreparedStatement::clone(sweep));
                values.push(Values::Sweep(key.partition(), key.sort()));
            }
            // Both statements were prepared where a row needs them.
            _ => {}
        }
    }
    (batch, values)
}

/// Rows by partition, cut where a batch would grow too large.
fn groups(rows: Vec<Row>, batch_bytes: usize) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    // The last group of each partition; asked only where a row is not of the same one as before.
    let mut open: FxHashMap<(&'static str, Bytes), usize> = FxHashMap::default();
    let mut current = usize::MAX;
    for Row { table, key, value } in rows {
        let same = groups.get(current).is_some_and(|group| group.holds(table, &key));
        if !same {
            let place = (table.name(), key.joined().slice(1..=key.partition().len()));
            current = *open.entry(place).or_insert(groups.len());
        }
        let size = key.joined().len() + value.as_ref().map_or(0, Bytes::len);
        if groups.get(current).is_some_and(|group| group.is_full(size, batch_bytes)) {
            let place = (table.name(), key.joined().slice(1..=key.partition().len()));
            current = groups.len();
            open.insert(place, current);
        }
        if current >= groups.len() {
            groups.push(Group { table, rows: Vec::new(), bytes: 0 });
        }
        if let Some(group) = groups.get_mut(current) {
            group.bytes += size;
            group.rows.push((key, value));
        }
    }
    groups
}

impl Group {
    fn holds(&self, table: &'static TableDef, key: &RowKey) -> bool {
        let first = self.rows.first();
        std::ptr::eq(self.table, table)
            && first.is_some_and(|(first, _)| first.partition() == key.partition())
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
        let groups = groups((0..30).map(row).collect(), 300);
        assert_eq!(groups.iter().map(|group| group.rows.len()).sum::<usize>(), 30);
        for group in &groups {
            let first = group.rows.first().expect("not empty").0.partition().to_vec();
            assert!(group.rows.iter().all(|(key, _)| key.partition() == first));
            assert!(group.bytes <= 300, "{} bytes", group.bytes);
        }
    }
}
