//! `put`: unlogged batches, one partition each.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
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
        for row in &rows {
            if !self.has(row.table) {
                return Err(PutError::NoTable { table: row.table.name() });
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
    let mut full = Vec::new();
    let mut open: HashMap<(&'static str, Bytes), Group> = HashMap::new();
    for Row { table, key, value } in rows {
        let place = (table.name(), key.joined().slice(1..=key.partition().len()));
        let size = key.joined().len() + value.as_ref().map_or(0, Bytes::len);
        let group =
            open.entry(place).or_insert_with(|| Group { table, rows: Vec::new(), bytes: 0 });
        if group.bytes + size > batch_bytes && !group.rows.is_empty()
            || group.rows.len() == STATEMENTS
        {
            let next = Group { table, rows: Vec::new(), bytes: 0 };
            full.push(std::mem::replace(group, next));
        }
        group.bytes += size;
        group.rows.push((key, value));
    }
    full.extend(open.into_values());
    full
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
