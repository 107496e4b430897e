//! Which tables a store has, and how they were placed when they were created.

use placement::Placement;
use serde::{Deserialize, Serialize};

use crate::{SchemaError, TableDef, Writes};

/// The format of the store as a whole: keys, versions, operation rows, backup entries.
///
/// Raise it when any of those bytes change, and add a migration from the one before.
pub const FORMAT_VERSION: u32 = 1;

/// The tables a program uses.
#[derive(Clone, Debug, Default)]
pub struct Schema(Vec<&'static TableDef>);

impl Schema {
    /// The tables of several services in one.
    ///
    /// # Panics
    /// When two tables have the same name: a mistake in the program that no operator can mend.
    #[must_use]
    pub fn new(tables: impl IntoIterator<Item = &'static TableDef>) -> Self {
        let mut tables: Vec<_> = tables.into_iter().collect();
        tables.sort_by_key(|table| table.name());
        for pair in tables.windows(2) {
            if let [a, b] = pair {
                assert_ne!(a.name(), b.name(), "two tables have one name");
            }
        }
        Self(tables)
    }

    /// The tables, by name.
    pub fn tables(&self) -> impl Iterator<Item = &'static TableDef> + '_ {
        self.0.iter().copied()
    }

    /// The table called `name`.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<&'static TableDef> {
        self.0.iter().copied().find(|table| table.name() == name)
    }
}

/// A table as it is recorded in a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableRecord {
    /// Its name.
    pub name: String,
    /// Its placement, e.g. `bucketed(1000)`.
    pub placement: String,
    /// `once` or `guarded`.
    pub writes: String,
}
crate::serde_value!(TableRecord, format 1);

impl TableRecord {
    /// What would be recorded for a table of this program.
    #[must_use]
    pub fn of(table: &TableDef) -> Self {
        let writes = match table.writes() {
            Writes::Once => "once",
            Writes::Guarded => "guarded",
        };
        let placement = match table.placement() {
            // The number of shards may be raised on live data, so it is not part of the record.
            Placement::Logical { .. } => "logical".to_owned(),
            other => other.to_string(),
        };
        Self { name: table.name().to_owned(), placement, writes: writes.to_owned() }
    }

    fn words(&self) -> String {
        format!("{}, {}", self.placement, self.writes)
    }
}

/// What `schema apply` did, or would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SchemaChange {
    /// A table is created.
    Create(TableRecord),
    /// The format is migrated.
    Migrate {
        /// From this format.
        from: u32,
        /// To this one.
        to: u32,
    },
}

/// What must be done so that a store with `recorded` tables serves `schema`.
///
/// # Errors
/// When a recorded table would have to change its placement or its writes.
pub fn compare_schema(
    schema: &Schema,
    recorded: &[TableRecord],
) -> Result<Vec<SchemaChange>, SchemaError> {
    let mut changes = Vec::new();
    for declared in schema.tables().map(TableRecord::of) {
        match recorded.iter().find(|record| record.name == declared.name) {
            None => changes.push(SchemaChange::Create(declared)),
            Some(stored) if *stored == declared => {}
            Some(stored) => {
                return Err(SchemaError::Changed {
                    table: declared.name.clone(),
                    stored: stored.words(),
                    declared: declared.words(),
                });
            }
        }
    }
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bounds, Table};

    static SMALL: Table<u64, u64, ()> =
        Table::once("test.list", "A.", Placement::Bucketed { size: 10 }, Bounds::rows(10));
    static LARGE: Table<u64, u64, ()> =
        Table::once("test.list", "A.", Placement::Bucketed { size: 20 }, Bounds::rows(20));

    #[test]
    fn a_new_table_is_created_and_then_known() {
        let schema = Schema::new([SMALL.def()]);
        let record = TableRecord::of(SMALL.def());
        let changes = compare_schema(&schema, &[]).expect("can be created");
        assert_eq!(changes, [SchemaChange::Create(record.clone())]);
        assert_eq!(compare_schema(&schema, &[record]).expect("known"), []);
    }

    #[test]
    fn another_placement_is_refused_with_the_remedy() {
        let stored = TableRecord::of(SMALL.def());
        let error = compare_schema(&Schema::new([LARGE.def()]), &[stored]).expect_err("refused");
        let text = error.to_string();
        assert!(text.contains("bucketed(10)") && text.contains("bucketed(20)"), "{text}");
        assert!(text.contains("copy"), "{text}");
    }
}
