//! Answers: plain data that travels through the socket, and how a terminal shows it.

use std::fmt::Write as _;
use std::path::PathBuf;

use placement::render::ShardReport;
use serde::{Deserialize, Serialize};
use store::{EngineInfo, TableRecord, VerifyReport};

use super::KeptAnswer;
use crate::catalogue;
use crate::format;

/// What comes back for a [`Request`](super::Request).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    /// Tables declared and recorded.
    Schema(SchemaAnswer),
    /// The shard report.
    Shards(Box<ShardReport>),
    /// What a walk found.
    Verify(VerifyAnswer),
    /// What was written.
    Backup(BackupAnswer),
    /// What was copied.
    Copy(CopyAnswer),
    /// Messages of staking, and what became of them.
    StakingKept(KeptAnswer),
    /// The name of the operator that was made.
    Operator(String),
}

/// Tables of the program and of the store.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SchemaAnswer {
    /// The engine.
    pub(crate) engine: String,
    /// Where the store is.
    pub(crate) location: String,
    /// Its format.
    pub(crate) format: u32,
    /// The tables, by name.
    pub(crate) tables: Vec<TableAnswer>,
}

/// One table of the program, of the store, or of both.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TableAnswer {
    /// Its name.
    pub(crate) name: String,
    /// What a row is; empty when only the store knows the table.
    pub(crate) about: String,
    /// Where rows live.
    pub(crate) placement: String,
    /// `once` or `guarded`.
    pub(crate) writes: String,
    /// Its limits; none when only the store knows the table.
    pub(crate) bounds: Option<BoundsAnswer>,
    /// Whether store and program agree on it.
    pub(crate) state: TableState,
}

/// The limits of a table.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct BoundsAnswer {
    /// Rows of a partition.
    pub(crate) partition_rows: u64,
    /// Bytes of a value.
    pub(crate) value_bytes: usize,
    /// Rows of a page.
    pub(crate) page_rows: usize,
}

/// Whether store and program agree on a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TableState {
    /// They do.
    Stored,
    /// The store does not have it yet.
    Missing,
    /// The store has it with another placement or other writes.
    Differs,
    /// Only the store has it: from another version of the program.
    Unknown,
}

impl TableState {
    fn words(self) -> &'static str {
        match self {
            Self::Stored => "in the store",
            Self::Missing => "missing",
            Self::Differs => "stored otherwise",
            Self::Unknown => "not of this version",
        }
    }
}

impl SchemaAnswer {
    /// Compares the program's tables with those recorded.
    pub(crate) fn new(info: &EngineInfo, records: &[TableRecord]) -> Self {
        let declared = catalogue::tables().into_iter().map(|table| {
            let (table, record) = (table.def, TableRecord::of(table.def));
            let state = match records.iter().find(|stored| stored.name == record.name) {
                None => TableState::Missing,
                Some(stored) if *stored == record => TableState::Stored,
                Some(_) => TableState::Differs,
            };
            let bounds = table.bounds();
            TableAnswer {
                name: record.name,
                about: table.about().to_owned(),
                placement: table.placement().to_string(),
                writes: record.writes,
                bounds: Some(BoundsAnswer {
                    partition_rows: bounds.partition_rows,
                    value_bytes: bounds.value_bytes,
                    page_rows: bounds.page_rows,
                }),
                state,
            }
        });
        let mut tables: Vec<TableAnswer> = declared.collect();
        let known = |name: &str| tables.iter().any(|table| table.name == name);
        let foreign = records.iter().filter(|record| !known(&record.name));
        let foreign: Vec<TableAnswer> = foreign.map(TableAnswer::foreign).collect();
        tables.extend(foreign);
        tables.sort_by(|a, b| a.name.cmp(&b.name));
        let (engine, location) = (info.engine.to_owned(), info.location.clone());
        Self { engine, location, format: info.format, tables }
    }

    /// For a terminal.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{} in {}, format {}\n", self.engine, self.location, self.format);
        for table in &self.tables {
            text.push_str(&table.text());
        }
        let count = |state| self.tables.iter().filter(|table| table.state == state).count();
        if count(TableState::Missing) > 0 {
            text.push_str("\nTables are missing: run `ostrakon schema apply`.\n");
        }
        if count(TableState::Differs) > 0 {
            text.push_str(
                "\nTables are stored with another placement or other writes: use the version of \
                 Ostrakon that wrote them, or copy them into a new store.\n",
            );
        }
        text
    }
}

impl TableAnswer {
    fn foreign(record: &TableRecord) -> Self {
        Self {
            name: record.name.clone(),
            about: String::new(),
            placement: record.placement.clone(),
            writes: record.writes.clone(),
            bounds: None,
            state: TableState::Unknown,
        }
    }

    fn text(&self) -> String {
        let state = self.state.words();
        let mut text = format!("\n{}  {}, {}  [{state}]\n", self.name, self.placement, self.writes);
        if !self.about.is_empty() {
            let _ = writeln!(text, "    {}", self.about);
        }
        if let Some(bounds) = self.bounds {
            let _ = writeln!(
                text,
                "    At most {} rows in a partition, {} in a value, {} rows in a page.",
                format::count(bounds.partition_rows),
                format::bytes(bounds.value_bytes as u64),
                format::count(bounds.page_rows as u64),
            );
        }
        text
    }
}

/// What a walk found.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct VerifyAnswer(pub(crate) VerifyReport);

impl VerifyAnswer {
    /// For a terminal.
    pub(crate) fn text(&self) -> String {
        let row = |table: &store::TableSummary| {
            vec![
                table.table.clone(),
                format::count(table.rows),
                format::count(table.partitions),
                format::count(table.largest_partition),
                format::bytes(table.bytes),
            ]
        };
        let rows: Vec<Vec<String>> = self.0.tables.iter().map(row).collect();
        let head = ["table", "rows", "partitions", "largest", "bytes"];
        let mut text = format::columns(&head, &rows);
        text.push('\n');
        for found in &self.0.findings {
            let table = found.table.as_deref().unwrap_or("the store");
            let _ = writeln!(text, "{table}: {}", found.what);
        }
        let unlisted = self.0.findings_total.saturating_sub(self.0.findings.len() as u64);
        if unlisted > 0 {
            let _ = writeln!(text, "and {} more", format::count(unlisted));
        }
        let _ = match self.0.findings_total {
            0 => writeln!(text, "Everything is as it should be."),
            total => writeln!(text, "{} findings.", format::count(total)),
        };
        text
    }
}

/// What a backup holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct BackupAnswer {
    /// The file.
    pub(crate) file: PathBuf,
    /// Its size.
    pub(crate) bytes: u64,
    /// Name, entries and digest of each table.
    pub(crate) tables: Vec<(String, u64, String)>,
}

impl BackupAnswer {
    /// For a terminal.
    pub(crate) fn text(&self) -> String {
        let table = digests(&self.tables);
        format!("{table}\n{}, {}\n", self.file.display(), format::bytes(self.bytes))
    }
}

fn digests(tables: &[(String, u64, String)]) -> String {
    let row = |(name, entries, digest): &(String, u64, String)| {
        vec![name.clone(), format::count(*entries), digest.clone()]
    };
    let rows: Vec<Vec<String>> = tables.iter().map(row).collect();
    format::columns(&["table", "entries", "digest"], &rows)
}

/// What was copied, and where to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CopyAnswer {
    /// The store it is in now.
    pub(crate) to: String,
    /// The configuration of that store.
    pub(crate) config: PathBuf,
    /// Name, entries and digest of each table, equal in both stores.
    pub(crate) tables: Vec<(String, u64, String)>,
    /// Whether it went on with a copy begun earlier.
    pub(crate) resumed: bool,
    /// Tables that had changed since then and were copied once more.
    pub(crate) again: Vec<String>,
}

impl CopyAnswer {
    /// For a terminal.
    pub(crate) fn text(&self) -> String {
        let mut text = digests(&self.tables);
        let _ = writeln!(text, "\nCopied to {}; digests are equal.", self.to);
        if self.resumed {
            text.push_str("It went on with a copy begun earlier.\n");
        }
        if !self.again.is_empty() {
            let tables = self.again.join(", ");
            let _ = writeln!(text, "Changed since then, and copied once more: {tables}.");
        }
        let _ = writeln!(
            text,
            "What is written to the old store from now on is not in the copy. Next: stop the \
             server of the old store, and start one with --config {}.",
            self.config.display()
        );
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_of_a_table_is_shown() {
        let info =
            EngineInfo { engine: "model", location: "memory".into(), format: 1, disk_bytes: 0 };
        let record = |name: &str, placement: &str| TableRecord {
            name: name.into(),
            placement: placement.into(),
            writes: "once".into(),
        };
        let records = [
            record("system.starts", "bucketed(1000)"),
            record("system.samples", "bucketed(9)"),
            record("old.table", "hashed"),
        ];
        let answer = SchemaAnswer::new(&info, &records);
        let ours = |name: &str| name.starts_with("system.") || name.starts_with("old.");
        let tables = answer.tables.iter().filter(|table| ours(&table.name));
        let states: Vec<_> = tables.map(|table| (table.name.as_str(), table.state)).collect();
        assert_eq!(
            states,
            [
                ("old.table", TableState::Unknown),
                ("system.samples", TableState::Differs),
                ("system.settings", TableState::Missing),
                ("system.starts", TableState::Stored),
            ]
        );
        let text = answer.text();
        assert!(text.contains("ostrakon schema apply") && text.contains("copy them"), "{text}");
    }

    #[test]
    fn a_copy_says_what_it_did_and_what_to_do_next() {
        let mut answer = CopyAnswer {
            to: "keyspace ostrakon at a:9042".into(),
            config: "/etc/cluster.toml".into(),
            tables: vec![("a.b".into(), 1234, "00ff".into())],
            resumed: false,
            again: vec![],
        };
        let text = answer.text();
        assert!(text.contains("a.b      1,234    00ff\n\nCopied to keyspace ostrakon"), "{text}");
        assert!(text.ends_with("start one with --config /etc/cluster.toml.\n"), "{text}");
        assert!(!text.contains("earlier") && !text.contains("once more"), "{text}");
        (answer.resumed, answer.again) = (true, vec!["a.b".into()]);
        let text = answer.text();
        assert!(text.contains("begun earlier.\nChanged since then, and copied once more: a.b.\n"));
    }

    #[test]
    fn findings_are_listed_and_counted() {
        let found = store::Finding { table: Some("a.b".into()), what: "too large".into() };
        let report = VerifyReport { tables: vec![], findings: vec![found], findings_total: 1500 };
        let answer = VerifyAnswer(report);
        let text = answer.text();
        assert!(text.contains("a.b: too large\nand 1,499 more\n1,500 findings."), "{text}");
    }
}
