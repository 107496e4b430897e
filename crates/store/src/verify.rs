//! Walks a store and proves what the contract promises about the rows that are there.

use serde::{Deserialize, Serialize};

use crate::{
    EngineError, Entry, Maintenance, ReadError, Schema, TableDef, Version, Walker, Writes, limits,
};

/// Entries read at a time.
const PAGE: usize = 10_000;
/// Findings kept; more are counted only.
const FINDINGS: usize = 1_000;

/// Something that should not be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The table, if it is about one.
    pub table: Option<String>,
    /// What was found, and what to do about it.
    pub what: String,
}

/// What was walked in one table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableSummary {
    /// The table.
    pub table: String,
    /// Its rows.
    pub rows: u64,
    /// Its partitions.
    pub partitions: u64,
    /// Bytes of keys and values.
    pub bytes: u64,
    /// Rows of its largest partition.
    pub largest_partition: u64,
}

/// The outcome of a walk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifyReport {
    /// Per table.
    pub tables: Vec<TableSummary>,
    /// What should not be; the first thousand.
    pub findings: Vec<Finding>,
    /// How many findings there were in all.
    pub findings_total: u64,
}

impl VerifyReport {
    /// Whether nothing was found.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.findings_total == 0
    }

    fn add(&mut self, finding: Finding) {
        self.findings_total += 1;
        if self.findings.len() < FINDINGS {
            self.findings.push(finding);
        }
    }
}

/// Walks every table of `schema` and checks keys, values, versions and bounds, and asks the engine
/// for its own checks. `progress` is told the table and the rows seen so far.
///
/// # Errors
/// When a table cannot be read to its end.
pub async fn verify(
    engine: &dyn Maintenance,
    schema: &Schema,
    progress: &mut (dyn FnMut(&str, u64) + Send),
) -> Result<VerifyReport, ReadError> {
    let mut report = VerifyReport::default();
    engine.check().await?.into_iter().for_each(|finding| report.add(finding));
    let recorded = engine.records().await.map_err(|error| {
        EngineError::new(error.to_string(), "mend the schema first: `ostrakon schema show`")
    })?;
    let walker = engine.walk().await?;
    for table in schema.tables() {
        if recorded.iter().all(|record| record.name != table.name()) {
            let what = "it is not in the store; run `ostrakon schema apply`".to_owned();
            report.add(Finding { table: Some(table.name().to_owned()), what });
            continue;
        }
        let summary = walk_table(walker.as_ref(), table, &mut report, progress).await?;
        report.tables.push(summary);
    }
    Ok(report)
}

async fn walk_table(
    walker: &dyn Walker,
    table: &'static TableDef,
    report: &mut VerifyReport,
    progress: &mut (dyn FnMut(&str, u64) + Send),
) -> Result<TableSummary, ReadError> {
    let mut state = TableWalk::new(table);
    let mut position = None;
    loop {
        let page = walker.page(table, position, PAGE).await?;
        for entry in &page.entries {
            state.see(entry, report);
        }
        progress(table.name(), state.summary.rows);
        match page.next {
            Some(next) => position = Some(next),
            None => {
                state.end_partition(report);
                return Ok(state.summary);
            }
        }
    }
}

/// The checks of one table. Entries of a partition follow each other on every engine.
struct TableWalk {
    table: &'static TableDef,
    summary: TableSummary,
    partition: Vec<u8>,
    rows: u64,
    version: Version,
    newest_operation: Version,
}

impl TableWalk {
    fn new(table: &'static TableDef) -> Self {
        Self {
            table,
            summary: TableSummary { table: table.name().to_owned(), ..TableSummary::default() },
            partition: Vec::new(),
            rows: 0,
            version: Version::NEVER,
            newest_operation: Version::NEVER,
        }
    }

    fn see(&mut self, entry: &Entry, report: &mut VerifyReport) {
        if entry.partition() != self.partition {
            self.end_partition(report);
            self.partition = entry.partition().to_vec();
        }
        match entry {
            Entry::Version { version, .. } => self.version = *version,
            Entry::Operation { version, .. } => {
                self.newest_operation = self.newest_operation.max(*version);
            }
            Entry::Row { key, value } => {
                self.rows += 1;
                self.summary.bytes += (key.joined().len() + value.len()) as u64;
                let bound = self.table.bounds().value_bytes;
                if value.len() > bound {
                    self.find(report, format!("a value of {} bytes, bound {bound}", value.len()));
                }
                if key.sort().len() > limits::SORT_KEY_BYTES {
                    self.find(report, format!("a sort key of {} bytes", key.sort().len()));
                }
                if value.first().is_none_or(|format| *format == 0) {
                    self.find(report, "a value without a format byte".to_owned());
                }
            }
        }
    }

    fn end_partition(&mut self, report: &mut VerifyReport) {
        if self.partition.is_empty() {
            return;
        }
        self.summary.partitions += u64::from(self.rows > 0);
        self.summary.rows += self.rows;
        self.summary.largest_partition = self.summary.largest_partition.max(self.rows);
        let bound = self.table.bounds().partition_rows;
        if self.rows > bound {
            self.find(report, format!("{} rows, bound {bound}; choose smaller buckets", self.rows));
        }
        if self.table.writes() == Writes::Guarded && self.version == Version::NEVER {
            self.find(report, "guarded rows without a version; restore a backup".to_owned());
        }
        if self.newest_operation > self.version {
            let (op, version) = (self.newest_operation, self.version);
            self.find(report, format!("an operation at {op} but the partition at {version}"));
        }
        (self.rows, self.version) = (0, Version::NEVER);
        self.newest_operation = Version::NEVER;
    }

    fn find(&self, report: &mut VerifyReport, what: String) {
        let partition = crate::row::hex(&self.partition);
        let what = format!("partition {partition}: {what}");
        report.add(Finding { table: Some(self.table.name().to_owned()), what });
    }
}
