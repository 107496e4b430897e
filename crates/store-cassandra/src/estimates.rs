//! What the cluster itself thinks of its tables.

use std::collections::BTreeMap;

use store::{EngineError, TableEstimate};

use crate::engine::CassandraEngine;
use crate::read::{rows_result, strange};

impl CassandraEngine {
    /// Partitions and bytes by table, as the node that answers estimates them for its own ranges.
    /// Cassandra renews them every five minutes, from flushed tables only.
    pub(crate) async fn read_estimates(&self) -> Result<Vec<TableEstimate>, EngineError> {
        let text = "SELECT table_name, mean_partition_size, partitions_count \
                    FROM system.size_estimates WHERE keyspace_name = ?";
        let values = (self.options.keyspace.as_str(),);
        let result = self
            .repeat("reading size estimates", || self.session.query_unpaged(text, values))
            .await?;
        let rows = rows_result(result)?;
        let mut tables: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for row in rows.rows::<(String, i64, i64)>().map_err(strange)? {
            let (table, mean, count) = row.map_err(strange)?;
            let (mean, count) = (mean.max(0).cast_unsigned(), count.max(0).cast_unsigned());
            let (partitions, bytes) = tables.entry(table).or_default();
            *partitions += count;
            *bytes += mean * count;
        }
        let estimate = |(table, (partitions, bytes))| TableEstimate { table, partitions, bytes };
        Ok(tables.into_iter().map(estimate).collect())
    }
}
