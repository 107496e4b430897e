//! A store of another format, or with other tables, is refused with the remedy.

mod common;

use std::path::Path;

use common::{CELLS, ROWS, RUNS, options, says, schema};
use placement::Placement;
use store::{Bounds, FORMAT_VERSION, Maintenance, Schema, SchemaChange, SchemaError, Table};
use store_fjall::{FjallEngine, OpenError};

static MOVED: Table<u64, u64, Vec<u8>> = Table::once(
    "faults.rows",
    "The same name, placed elsewhere.",
    Placement::Bucketed { size: 10 },
    Bounds::rows(10),
);

static GUARDED: Table<u64, u64, Vec<u8>> = Table::guarded(
    "faults.rows",
    "The same name, written otherwise.",
    Placement::Hashed,
    Bounds::rows(10),
);

static NEW: Table<u64, u64, Vec<u8>> =
    Table::once("faults.new", "A table of a later version.", Placement::Hashed, Bounds::rows(10));

fn open(directory: &Path, schema: &Schema) -> Result<FjallEngine, OpenError> {
    FjallEngine::open(&options(directory), schema)
}

fn made() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    drop(open(directory.path(), &schema()).expect("opens"));
    directory
}

/// Records another format, as another version of Ostrakon would have.
fn set_format(directory: &Path, format: u32) {
    let database = fjall::Database::builder(directory.join("fjall")).open().expect("opens");
    let meta = database.keyspace("_meta", Default::default).expect("is there");
    assert_eq!(meta.get("format").expect("reads").as_deref(), Some(&1_u32.to_le_bytes()[..]));
    // Into a table and not into the journal, where it would be a batch without a marker.
    let mut run = meta.start_ingestion().expect("begins");
    run.write("format", format.to_le_bytes()).expect("writes");
    run.finish().expect("writes");
}

#[test]
fn a_newer_format_is_refused_with_advice() {
    let directory = made();
    set_format(directory.path(), FORMAT_VERSION + 1);
    let error = open(directory.path(), &schema()).expect_err("is newer");
    assert!(matches!(error, OpenError::Schema(SchemaError::Newer { .. })), "{error}");
    says(&error, &["format 2", "up to 1", "use the version that wrote it"]);
    // `schema apply` must not touch it either.
    let mut apply = options(directory.path());
    apply.apply_schema = true;
    let error = FjallEngine::open(&apply, &schema()).expect_err("is newer");
    says(&error, &["format 2", "use the version that wrote it"]);
}

#[test]
fn an_older_format_asks_for_schema_apply() {
    let directory = made();
    set_format(directory.path(), FORMAT_VERSION - 1);
    let error = open(directory.path(), &schema()).expect_err("is older");
    assert!(matches!(error, OpenError::Schema(SchemaError::Older { .. })), "{error}");
    says(&error, &["format 0", "backup", "ostrakon schema apply"]);
}

#[test]
fn a_table_with_another_placement_or_other_writes_is_refused() {
    let directory = made();
    for (changed, words) in [
        (MOVED.def(), ["faults.rows", "hashed, once", "bucketed(10), once", "copy"]),
        (GUARDED.def(), ["faults.rows", "hashed, once", "hashed, guarded", "copy"]),
    ] {
        let changed = Schema::new([changed, RUNS.def(), CELLS.def()]);
        for apply_schema in [false, true] {
            let mut options = options(directory.path());
            options.apply_schema = apply_schema;
            let error = FjallEngine::open(&options, &changed).expect_err("has changed");
            assert!(matches!(error, OpenError::Schema(SchemaError::Changed { .. })), "{error}");
            says(&error, &words);
        }
    }
    // Refusing changed nothing.
    open(directory.path(), &schema()).expect("opens as before");
}

#[tokio::test]
async fn a_missing_table_names_schema_apply_which_makes_it() {
    let directory = made();
    let larger = Schema::new([ROWS.def(), RUNS.def(), CELLS.def(), NEW.def()]);
    let error = open(directory.path(), &larger).expect_err("has no such table");
    assert!(matches!(error, OpenError::Schema(SchemaError::Missing { .. })), "{error}");
    says(&error, &["faults.new", "ostrakon schema apply"]);

    let engine = open(directory.path(), &schema()).expect("opens");
    let changes = engine.apply(&larger).await.expect("applies");
    assert!(matches!(&changes[..], [SchemaChange::Create(table)] if table.name == "faults.new"));
    assert_eq!(engine.apply(&larger).await.expect("applies"), []);
    drop(engine);
    let engine = open(directory.path(), &larger).expect("opens");
    assert_eq!(engine.records().await.expect("reads").len(), 4);
    // A program that does not know the new table still opens the store.
    drop(engine);
    open(directory.path(), &schema()).expect("opens");
}
