//! Taking in the rows of a table.

use super::sketch::{Frequent, Sample};
use super::timeline::Timeline;
use super::{DeclaredQuery, Report};
use crate::cluster::Ring;
use crate::random::mix;
use crate::{Tokens, token};

/// Longer values are counted by their beginning and their hash.
const LABEL_BYTES: usize = 64;

/// What is known about a table before its rows are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableFacts {
    /// The table's name.
    pub name: String,
    /// Its placement, in words.
    pub placement: String,
    /// The queries it is made for.
    pub queries: Vec<DeclaredQuery>,
}

/// Some rows of one partition: one row, or several that the caller has already added up.
#[derive(Clone, Copy, Debug)]
pub struct Observation<'a> {
    /// The partition key.
    pub partition: &'a [u8],
    /// Rows.
    pub rows: u64,
    /// Bytes of those rows.
    pub bytes: u64,
    /// When or where in the sequence they were written: a height, a month number, a Unix time.
    pub position: Option<u64>,
    /// The shard-key value, when it is not the partition key. Its bytes must sort as the value
    /// does.
    pub value: Option<&'a [u8]>,
}

impl<'a> Observation<'a> {
    /// One row of a partition.
    #[must_use]
    pub fn row(partition: &'a [u8], bytes: u64) -> Self {
        Self { partition, rows: 1, bytes, position: None, value: None }
    }

    /// The same, written at a position.
    #[must_use]
    pub fn at(self, position: u64) -> Self {
        Self { position: Some(position), ..self }
    }
}

/// What an observer may keep. Each limit is reached gracefully: figures turn into estimates and say
/// so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Partitions and values kept for sizes and cardinality.
    pub sample: usize,
    /// Heaviest partitions and values counted.
    pub heaviest: usize,
    /// Values listed in the report.
    pub top: usize,
    /// Windows of time.
    pub windows: usize,
    /// Rows sampled for monotonicity.
    pub sightings: usize,
    /// Cluster sizes to judge, at most 256 nodes each.
    pub clusters: Vec<u16>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sample: 65_536,
            heaviest: 32_768,
            top: 10,
            windows: 64,
            sightings: 4_096,
            clusters: vec![3, 6, 12, 16, 32],
        }
    }
}

/// Rows and bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Size {
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
}

impl Size {
    fn add(&mut self, observation: &Observation<'_>) {
        self.rows += observation.rows;
        self.bytes += observation.bytes;
    }
}

/// Takes in the rows of one table and turns them into a [`Report`].
#[derive(Debug)]
pub struct Observer {
    pub(crate) facts: TableFacts,
    pub(crate) limits: Limits,
    /// The largest cluster to judge: loads are kept per range of its ring.
    pub(crate) ring: Ring,
    pub(crate) ranges: Vec<Size>,
    pub(crate) total: Size,
    pub(crate) partitions: Sample<Size>,
    pub(crate) heavy_rows: Frequent<i64>,
    pub(crate) heavy_bytes: Frequent<i64>,
    pub(crate) values: Sample<()>,
    pub(crate) top: Frequent<Vec<u8>>,
    pub(crate) timeline: Timeline,
}

impl Observer {
    /// The nodes of the cluster that heat is shown for, and that a node joins.
    pub(crate) const HEAT_NODES: u16 = 16;

    /// An observer with the default limits.
    #[must_use]
    pub fn new(facts: TableFacts) -> Self {
        Self::with_limits(facts, Limits::default())
    }

    /// An observer with limits of the caller's choice.
    #[must_use]
    pub fn with_limits(facts: TableFacts, limits: Limits) -> Self {
        let largest = limits.clusters.iter().copied().max().unwrap_or(1);
        let ring = Ring::new(16, Tokens::Allocated, largest.clamp(Self::HEAT_NODES, 256));
        Self {
            ranges: vec![Size::default(); ring.len()],
            total: Size::default(),
            partitions: Sample::new(limits.sample),
            heavy_rows: Frequent::new(limits.heaviest),
            heavy_bytes: Frequent::new(limits.heaviest),
            values: Sample::new(limits.sample),
            top: Frequent::new(limits.heaviest),
            timeline: Timeline::new(limits.windows, ring.len(), limits.sightings),
            facts,
            limits,
            ring,
        }
    }

    /// Takes in some rows. The order does not matter when they have positions.
    pub fn observe(&mut self, observation: Observation<'_>) {
        let token = token(observation.partition);
        let range = self.ring.range_of(token);
        self.total.add(&observation);
        if let Some(size) = self.ranges.get_mut(range) {
            size.add(&observation);
        }
        if let Some(size) = self.partitions.entry(token.cast_unsigned()) {
            size.add(&observation);
        }
        self.heavy_rows.add(&token, observation.rows);
        self.heavy_bytes.add(&token, observation.bytes);
        let value = observation.value.unwrap_or(observation.partition);
        self.count_value(value, observation.rows);
        if let Some(position) = observation.position {
            self.timeline.add(position, range, observation.rows, value);
        }
    }

    /// Draws the conclusions.
    #[must_use]
    pub fn finish(self) -> Report {
        super::build::build(self)
    }

    fn count_value(&mut self, value: &[u8], rows: u64) {
        let hash = mix(token(value).cast_unsigned());
        // The entry is a member of a set: that it exists is all there is to it.
        let _ = self.values.entry(hash);
        match value.get(..LABEL_BYTES - 8) {
            Some(beginning) if value.len() > LABEL_BYTES => {
                let label = [beginning, &hash.to_be_bytes()].concat();
                self.top.add(label.as_slice(), rows);
            }
            _ => self.top.add(value, rows),
        }
    }
}
