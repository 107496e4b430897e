//! Copies every table from one store to another: other engine, other place, same rows.
//!
//! How far a copy has come is noted in the target after each load, so that a copy that was killed
//! goes on where it was. When the source has changed meanwhile, the digests of a table differ at
//! the end: that table is copied once more, whole, from the view that is being read.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{
    Digest, EngineError, Entry, Maintenance, PutError, ReadError, Schema, SchemaError, TableDef,
    Walker, digest_table,
};

/// The note of an unfinished copy. A store that has it must not be served.
pub const COPY_NOTE: &str = "copy";

/// Entries read at a time.
const PAGE: usize = 5_000;
/// Entries and bytes gathered before they are loaded: what a copy holds in memory.
const LOAD_ENTRIES: usize = 100_000;
const LOAD_BYTES: usize = 32 * 1024 * 1024;

/// Why a copy was not finished. Running it again goes on where it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// The target holds rows that no copy of ours put there.
    #[error("the target store is not empty (table {0}); copy into a new store")]
    NotEmpty(String),
    /// The target holds half a copy of something else.
    #[error(
        "the target holds an unfinished copy of {begun}, not of {source_store}; finish that one, \
         or copy into a new store"
    )]
    OtherSource {
        /// What the unfinished copy is of.
        begun: String,
        /// What is to be copied now.
        source_store: String,
    },
    /// Source and target differ even after copying the table a second time.
    #[error(
        "table {table} differs after copying it twice ({found} instead of {expected}); stop all \
         writers of the source and of the target, then run the copy again"
    )]
    Differs {
        /// The table.
        table: String,
        /// Digest of the source.
        expected: String,
        /// Digest of the target.
        found: String,
    },
    /// Given up by the one who asked.
    #[error("the copy was given up; run it again to go on")]
    GivenUp,
    /// The target could not be prepared.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// A store could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The target could not be written.
    #[error(transparent)]
    Put(#[from] PutError),
    /// A store failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// What was copied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopySummary {
    /// Per table: entries and digest, equal in both stores.
    pub tables: BTreeMap<String, (u64, String)>,
    /// Whether it went on with a copy begun earlier.
    pub resumed: bool,
    /// Tables that had changed since and were copied once more.
    pub again: Vec<String>,
}

/// How far a copy is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Progress {
    source: String,
    done: Vec<String>,
    position: Option<Vec<u8>>,
}
crate::serde_value!(Progress, format 1);

/// Copies every table of `schema`. `progress` is told a table and its entries so far, and says
/// whether to go on.
///
/// # Errors
/// When a store fails, the target is not empty, or the source is written without a view.
pub async fn copy(
    source: &dyn Maintenance,
    target: &dyn Maintenance,
    schema: &Schema,
    progress: &mut (dyn FnMut(&str, u64) -> bool + Send),
) -> Result<CopySummary, CopyError> {
    target.apply(schema).await?;
    let info = source.info().await?;
    let name = format!("{} {}", info.engine, info.location);
    let (mut state, resumed) = begin(target, schema, name).await?;
    let walker = source.walk().await?;
    let mut run = Run { walker: walker.as_ref(), target, progress };
    for table in schema.tables() {
        if !state.done.iter().any(|done| done == table.name()) {
            run.table(table, &mut state, true).await?;
            state.done.push(table.name().to_owned());
            state.position = None;
            note(target, Some(&state)).await?;
        }
    }
    let mut summary = CopySummary { resumed, ..CopySummary::default() };
    for table in schema.tables() {
        let digest = run.settle(table, &mut summary).await?;
        summary.tables.insert(table.name().to_owned(), (digest.entries, digest.to_string()));
    }
    note(target, None).await?;
    Ok(summary)
}

/// Finds the unfinished copy in the target, or begins one in an empty target.
async fn begin(
    target: &dyn Maintenance,
    schema: &Schema,
    source: String,
) -> Result<(Progress, bool), CopyError> {
    use crate::Value as _;
    if let Some(note) = target.note(COPY_NOTE).await? {
        let begun = Progress::from_bytes(&note).map_err(ReadError::from)?;
        if begun.source != source {
            return Err(CopyError::OtherSource { begun: begun.source, source_store: source });
        }
        return Ok((begun, true));
    }
    let walker = target.walk().await?;
    for table in schema.tables() {
        if !walker.page(table, None, 1).await?.entries.is_empty() {
            return Err(CopyError::NotEmpty(table.name().to_owned()));
        }
    }
    let state = Progress { source, ..Progress::default() };
    note(target, Some(&state)).await?;
    Ok((state, false))
}

async fn note(target: &dyn Maintenance, state: Option<&Progress>) -> Result<(), EngineError> {
    use crate::Value as _;
    target.set_note(COPY_NOTE, state.map(|state| state.to_bytes().into())).await
}

/// One run of a copy.
struct Run<'a> {
    walker: &'a dyn Walker,
    target: &'a dyn Maintenance,
    progress: &'a mut (dyn FnMut(&str, u64) -> bool + Send),
}

impl Run<'_> {
    /// Copies one table from where `state` is.
    async fn table(
        &mut self,
        table: &'static TableDef,
        state: &mut Progress,
        noting: bool,
    ) -> Result<(), CopyError> {
        let mut position = state.position.take().map(Bytes::from);
        let (mut batch, mut bytes, mut count) = (Vec::new(), 0, 0);
        loop {
            let page = self.walker.page(table, position, PAGE).await?;
            count += page.entries.len() as u64;
            bytes += page.entries.iter().map(size).sum::<usize>();
            batch.extend(page.entries);
            if !(self.progress)(table.name(), count) {
                return Err(CopyError::GivenUp);
            }
            let end = page.next.is_none();
            if end || batch.len() >= LOAD_ENTRIES || bytes >= LOAD_BYTES {
                self.target.load(table, std::mem::take(&mut batch)).await?;
                bytes = 0;
                if let Some(next) = page.next.as_ref().filter(|_| noting) {
                    state.position = Some(next.to_vec());
                    note(self.target, Some(state)).await?;
                }
            }
            if end {
                return Ok(());
            }
            position = page.next;
        }
    }

    /// Compares one table, and copies it once more when it differs.
    async fn settle(
        &mut self,
        table: &'static TableDef,
        summary: &mut CopySummary,
    ) -> Result<Digest, CopyError> {
        let (mut expected, mut found) = self.digests(table).await?;
        if expected != found {
            summary.again.push(table.name().to_owned());
            self.target.clear(table).await?;
            self.table(table, &mut Progress::default(), false).await?;
            (expected, found) = self.digests(table).await?;
        }
        if expected == found {
            return Ok(expected);
        }
        Err(CopyError::Differs {
            table: table.name().to_owned(),
            expected: expected.to_string(),
            found: found.to_string(),
        })
    }

    async fn digests(&self, table: &'static TableDef) -> Result<(Digest, Digest), CopyError> {
        let expected = digest_table(self.walker, table).await?;
        let copied = self.target.walk().await?;
        Ok((expected, digest_table(copied.as_ref(), table).await?))
    }
}

fn size(entry: &Entry) -> usize {
    match entry {
        Entry::Row { key, value } => key.joined().len() + value.len(),
        Entry::Version { partition, .. } => partition.as_bytes().len() + 8,
        Entry::Operation { partition, result, .. } => {
            partition.as_bytes().len() + result.len() + 32
        }
    }
}

#[cfg(test)]
mod tests {
    use placement::Placement;

    use super::*;
    use crate::{Bounds, Commit, Engine as _, ModelEngine, OpId, Row, Table, Version};

    static FACTS: Table<u64, u64, Vec<u8>> =
        Table::once("test.facts", "A fact.", Placement::Hashed, Bounds::rows(100_000));
    static CELLS: Table<u64, u64, Vec<u8>> =
        Table::guarded("test.cells", "A cell.", Placement::Hashed, Bounds::rows(10));

    fn schema() -> Schema {
        Schema::new([FACTS.def(), CELLS.def()])
    }

    fn facts(range: std::ops::Range<u64>) -> Vec<Row> {
        range.map(|i| FACTS.row(&(i % 7), &i, &vec![1; 9]).expect("a row")).collect()
    }

    async fn filled() -> ModelEngine {
        let engine = ModelEngine::default();
        engine.apply(&schema()).await.expect("applies");
        engine.put(facts(0..12_000)).await.expect("puts");
        let commit = Commit {
            table: CELLS.def(),
            partition: CELLS.partition(&1).expect("a key"),
            expected: Version::NEVER,
            changes: vec![CELLS.insert(&1, &vec![1])],
            op: OpId([1; 16]),
            result: Bytes::new(),
        };
        engine.commit(commit).await.expect("commits");
        engine
    }

    #[tokio::test]
    async fn a_copy_has_equal_digests_and_leaves_no_note() {
        let (source, target) = (filled().await, ModelEngine::default());
        let summary = copy(&source, &target, &schema(), &mut |_, _| true).await.expect("copies");
        assert_eq!(summary.tables["test.facts"].0, 12_000);
        assert_eq!(summary.tables["test.cells"].0, 2, "a version and a row");
        assert!(!summary.resumed && summary.again.is_empty());
        assert_eq!(target.note(COPY_NOTE).await.expect("reads"), None);
        let error = copy(&source, &target, &schema(), &mut |_, _| true).await.expect_err("full");
        assert!(matches!(error, CopyError::NotEmpty(_)), "{error}");
    }

    #[tokio::test]
    async fn a_copy_that_was_given_up_goes_on_and_brings_what_changed_meanwhile() {
        let (source, target) = (filled().await, ModelEngine::default());
        let mut until = |_: &str, count: u64| count < 6_000;
        let error = copy(&source, &target, &schema(), &mut until).await.expect_err("given up");
        assert!(matches!(error, CopyError::GivenUp), "{error}");
        assert!(target.note(COPY_NOTE).await.expect("reads").is_some(), "not to be served");
        source.put(facts(12_000..12_010)).await.expect("puts");
        let summary = copy(&source, &target, &schema(), &mut |_, _| true).await.expect("goes on");
        assert!(summary.resumed);
        assert_eq!(summary.tables["test.facts"].0, 12_010);
        let other = filled().await;
        target.clear(FACTS.def()).await.expect("clears");
        let state = Progress { source: "elsewhere".to_owned(), ..Progress::default() };
        note(&target, Some(&state)).await.expect("notes");
        let error = copy(&other, &target, &schema(), &mut |_, _| true).await.expect_err("refused");
        assert!(matches!(error, CopyError::OtherSource { .. }), "{error}");
    }

    #[tokio::test]
    async fn a_table_that_differs_is_copied_once_more() {
        let (source, target) = (filled().await, ModelEngine::default());
        target.apply(&schema()).await.expect("applies");
        let state = Progress {
            source: "model memory".to_owned(),
            done: vec!["test.cells".to_owned(), "test.facts".to_owned()],
            position: None,
        };
        note(&target, Some(&state)).await.expect("notes");
        target.put(facts(20_000..20_005)).await.expect("rows that the source has not");
        let summary = copy(&source, &target, &schema(), &mut |_, _| true).await.expect("mends");
        assert_eq!(summary.again, ["test.cells", "test.facts"]);
        assert_eq!(summary.tables["test.facts"].0, 12_000);
    }
}
