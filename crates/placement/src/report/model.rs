//! The report: plain data, the same for every renderer.

use serde::{Deserialize, Serialize};

use super::{QueryShares, Verdict};
use crate::{Join, LorenzPoint};

/// What was found about one table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The table.
    pub table: String,
    /// Its placement, in words.
    pub placement: String,
    /// Rows seen.
    pub rows: u64,
    /// Bytes seen.
    pub bytes: u64,
    /// Different partitions.
    pub partitions: Cardinality,
    /// Different shard-key values (partition keys, when no value was given).
    pub values: Cardinality,
    /// The values with most rows, heaviest first.
    pub top: Vec<TopValue>,
    /// Whether values climb with time; absent when no row had a position.
    pub trend: Option<Trend>,
    /// Load per node for several cluster sizes, smallest first.
    pub balance: Vec<Balance>,
    /// What the declared queries touch.
    pub queries: QueryShares,
    /// Rows and bytes per partition.
    pub sizes: PartitionSizes,
    /// Gini coefficient of rows over partitions.
    pub partition_gini: f64,
    /// Rows over partitions, smallest partition first.
    pub lorenz: Vec<LorenzPoint>,
    /// What a join from 16 to 17 nodes moves.
    pub joins: Vec<Join>,
    /// Whether the joins are about generated keys: the table has too few partitions to tell.
    pub joins_on_generated_keys: bool,
    /// Load per node and window; absent when no row had a position.
    pub heat: Option<Heat>,
    /// What is estimated rather than counted, and why.
    pub estimates: Vec<String>,
    /// What the engine itself thinks of the table, where it has an opinion.
    #[serde(default)]
    pub engine: Option<EngineView>,
    /// The judgement, one sentence each.
    pub verdicts: Vec<Verdict>,
}

/// A table as the engine that holds it estimates it, beside what was seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EngineView {
    /// The engine.
    pub engine: String,
    /// Partitions, as it estimates them.
    pub partitions: u64,
    /// Bytes, as it estimates them.
    pub bytes: u64,
    /// Its partitions over those of the report.
    pub partitions_ratio: f64,
    /// Its bytes over those of the report.
    pub bytes_ratio: f64,
}

impl Report {
    /// Sets the engine's estimate beside what was seen. Without partitions on either side there is
    /// nothing to compare.
    pub fn compare(&mut self, engine: &str, partitions: u64, bytes: u64) {
        if partitions == 0 || self.partitions.count == 0 || self.bytes == 0 {
            return;
        }
        self.engine = Some(EngineView {
            engine: engine.to_owned(),
            partitions,
            bytes,
            partitions_ratio: partitions as f64 / self.partitions.count as f64,
            bytes_ratio: bytes as f64 / self.bytes as f64,
        });
    }
}

/// A number of different things.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cardinality {
    /// How many.
    pub count: u64,
    /// Whether they were counted; else the number is an estimate, good to about one percent.
    pub exact: bool,
}

/// A value and its share of the rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TopValue {
    /// The value as text when it is printable, else in hexadecimal; long ones are shortened.
    pub value: String,
    /// Rows that have it, at least.
    pub rows: u64,
    /// Rows that have it, at most: differs from `rows` only when counting was capped.
    pub rows_at_most: u64,
    /// `rows` over all rows.
    pub share: f64,
}

/// How a shard-key value moves with time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trend {
    /// Over the whole span.
    pub whole: Monotonicity,
    /// Over neighbouring stretches of it: a value that restarts is harmless only over the whole.
    pub windows: Vec<TrendWindow>,
}

/// How closely an order follows time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Monotonicity {
    /// Spearman's rank correlation with time, -1 to 1.
    pub correlation: f64,
    /// Of the steps that change the value, the share that go up.
    pub steps_up: f64,
    /// Rows the figures rest on.
    pub sampled: u64,
}

impl Monotonicity {
    /// Whether MongoDB would call it monotonic, in either direction.
    #[must_use]
    pub fn is_monotonic(&self) -> bool {
        self.correlation.abs() >= super::MONOTONIC
    }
}

/// Monotonicity of a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrendWindow {
    /// First position in it.
    pub from: u64,
    /// Last position in it.
    pub to: u64,
    /// How closely the values follow time there.
    pub monotonicity: Monotonicity,
}

/// How evenly a cluster of some size would be loaded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Balance {
    /// Nodes of the cluster.
    pub nodes: u16,
    /// Rows per node.
    pub rows: Vec<u64>,
    /// Most rows over mean rows.
    pub max_over_mean: f64,
    /// Most bytes over mean bytes.
    pub bytes_max_over_mean: f64,
    /// Standard deviation of rows over their mean.
    pub variation: f64,
    /// Gini coefficient of rows over nodes.
    pub gini: f64,
    /// Nodes without a row.
    pub empty: u16,
}

/// Rows and bytes per partition, against Cassandra's rule.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartitionSizes {
    /// Rows.
    pub rows: Spread,
    /// Bytes.
    pub bytes: Spread,
    /// Share of the partitions that break the rule.
    pub share_over: f64,
}

/// A distribution in three numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    /// The middle.
    pub p50: u64,
    /// 99 of 100 are at most this.
    pub p99: u64,
    /// The largest, at least.
    pub max: u64,
    /// The largest, at most: differs from `max` only when counting was capped.
    pub max_at_most: u64,
}

/// Load over nodes and time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Heat {
    /// Nodes of the cluster.
    pub nodes: u16,
    /// Position at which the first window starts.
    pub first: u64,
    /// Positions per window.
    pub width: u64,
    /// Rows per window (outer, gaps included as zeros) and node (inner).
    pub windows: Vec<Vec<u64>>,
    /// Share of a window's rows on its busiest node, mean over the windows weighted by their rows.
    pub hottest_share: f64,
}
