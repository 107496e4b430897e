//! The CQL that is sent: pure text. Only what Cassandra 5 and ScyllaDB both understand.

use std::fmt::Write as _;

use store::{Schema, TableDef, Writes};

/// The table of the store's own records.
pub(crate) const META: &str = "ostrakon_meta";

/// The timestamp of every row of a `Once` table, in microseconds of 1970.
pub(crate) const PUT_TIMESTAMP: i64 = 1;
/// The timestamp of every sweeping: above, so that it is final.
pub(crate) const SWEEP_TIMESTAMP: i64 = 2;

/// `service.table` as Cassandra spells it.
#[must_use]
pub fn table_name(table: &TableDef) -> String {
    table.name().replace('.', "_")
}

/// A statement on one table. Those with a version are for guarded tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// One row by partition and sort.
    Get,
    /// Some rows of one partition by their sorts.
    GetMany,
    /// Rows from a sort on, ascending.
    From,
    /// Rows between two sorts, ascending.
    Between,
    /// Rows from a sort on, descending.
    FromDown,
    /// Rows between two sorts, descending.
    BetweenDown,
    /// The version of a partition.
    Version,
    /// Everything, in token order.
    Walk,
    /// Everything behind the token of a partition.
    WalkOn,
    /// All partitions of one token.
    WalkToken,
    /// Writes a `Once` row.
    Put,
    /// Sweeps a `Once` row.
    Sweep,
    /// Raises the version from a known one.
    Raise,
    /// Sets the version of a partition that has none.
    Begin,
    /// Remembers an operation that is not known.
    Remember,
    /// Writes a guarded row inside a commit.
    Insert,
    /// Deletes a guarded row inside a commit.
    Delete,
    /// Sets a version while a table is loaded.
    LoadVersion,
    /// Writes a row while a table is loaded.
    LoadRow,
    /// Writes an operation while a table is loaded.
    LoadOperation,
}

impl Kind {
    /// Whether it only reads.
    pub(crate) const fn reads(self) -> bool {
        matches!(
            self,
            Self::Get
                | Self::GetMany
                | Self::From
                | Self::Between
                | Self::FromDown
                | Self::BetweenDown
                | Self::Version
                | Self::Walk
                | Self::WalkOn
                | Self::WalkToken
        )
    }

    /// Its text for a table.
    pub(crate) fn text(self, keyspace: &str, table: &TableDef) -> String {
        let name = format!("{keyspace}.{}", table_name(table));
        let guarded = table.writes() == Writes::Guarded;
        let columns = if guarded { "sort, value, version" } else { "sort, value" };
        let select =
            |rest: &str| format!("SELECT {columns} FROM {name} WHERE partition = ? {rest}");
        let walk = format!("SELECT partition, {columns} FROM {name}");
        let insert = format!("INSERT INTO {name} (partition, sort, value) VALUES (?, ?, ?)");
        let down = "ORDER BY sort DESC LIMIT ?";
        match self {
            Self::Get => select("AND sort = ?"),
            Self::GetMany => select("AND sort IN ?"),
            Self::From => select("AND sort >= ? LIMIT ?"),
            Self::Between => select("AND sort >= ? AND sort < ? LIMIT ?"),
            Self::FromDown => select(&format!("AND sort >= ? {down}")),
            Self::BetweenDown => select(&format!("AND sort >= ? AND sort < ? {down}")),
            Self::Version => format!("SELECT version FROM {name} WHERE partition = ? LIMIT 1"),
            Self::Walk => walk,
            Self::WalkOn => format!("{walk} WHERE token(partition) > token(?)"),
            Self::WalkToken => format!("{walk} WHERE token(partition) = token(?)"),
            Self::Put => format!("{insert} USING TIMESTAMP {PUT_TIMESTAMP}"),
            Self::Sweep => format!(
                "DELETE FROM {name} USING TIMESTAMP {SWEEP_TIMESTAMP} \
                 WHERE partition = ? AND sort = ?"
            ),
            Self::Raise => {
                format!("UPDATE {name} SET version = ? WHERE partition = ? IF version = ?")
            }
            Self::Begin => {
                format!("UPDATE {name} SET version = ? WHERE partition = ? IF version = null")
            }
            Self::Remember => format!("{insert} IF NOT EXISTS USING TTL ?"),
            Self::Insert => insert,
            Self::Delete => format!("DELETE FROM {name} WHERE partition = ? AND sort = ?"),
            // Far in the past: the first commit must be later than what was loaded, whatever the
            // clock of whoever loads.
            Self::LoadVersion => format!(
                "UPDATE {name} USING TIMESTAMP {PUT_TIMESTAMP} SET version = ? WHERE partition = ?"
            ),
            Self::LoadRow => format!("{insert} USING TIMESTAMP {PUT_TIMESTAMP}"),
            Self::LoadOperation => format!("{insert} USING TIMESTAMP {PUT_TIMESTAMP} AND TTL ?"),
        }
    }
}

/// Creates the keyspace.
pub(crate) fn create_keyspace(keyspace: &str, replication: u8) -> String {
    format!(
        "CREATE KEYSPACE IF NOT EXISTS {keyspace} WITH replication = \
         {{'class': 'NetworkTopologyStrategy', 'replication_factor': {replication}}}"
    )
}

/// Creates the table of records.
pub(crate) fn create_meta(keyspace: &str) -> String {
    format!("CREATE TABLE IF NOT EXISTS {keyspace}.{META} (name text PRIMARY KEY, value blob)")
}

/// How long a node waits for the replicas it asked before it asks another one as well. Fixed,
/// because the usual share of past latencies is unknown for a quiet table, and a read that picked a
/// replica which has just died would wait until the other nodes call it dead.
const ASK_ANOTHER_AFTER: &str = "50ms";

/// Creates one table.
///
/// Guarded partitions are rewritten and read often: levels keep a partition in few files. `Once`
/// rows are written once, in bulk: tiers write them the fewest times again.
pub(crate) fn create_table(keyspace: &str, table: &TableDef) -> String {
    let (version, compaction) = match table.writes() {
        Writes::Once => ("", "SizeTieredCompactionStrategy"),
        Writes::Guarded => ("version bigint static, ", "LeveledCompactionStrategy"),
    };
    let about = table.about().replace('\'', "''");
    format!(
        "CREATE TABLE IF NOT EXISTS {keyspace}.{} \
         (partition blob, sort blob, {version}value blob, PRIMARY KEY (partition, sort)) \
         WITH CLUSTERING ORDER BY (sort ASC) AND compaction = {{'class': '{compaction}'}} \
         AND speculative_retry = '{ASK_ANOTHER_AFTER}' \
         AND gc_grace_seconds = 864000 AND comment = '{about}'",
        table_name(table)
    )
}

/// All that `schema apply` would send to an empty cluster, for a person to read.
#[must_use]
pub fn schema_text(schema: &Schema, keyspace: &str, replication: u8) -> String {
    let mut text = String::new();
    let statements = [create_keyspace(keyspace, replication), create_meta(keyspace)];
    let tables = schema.tables().map(|table| create_table(keyspace, table));
    for statement in statements.into_iter().chain(tables) {
        let _ = writeln!(text, "{statement};");
    }
    text
}

#[cfg(test)]
mod tests {
    use placement::Placement;
    use store::{Bounds, Table};

    use super::*;

    static FACTS: Table<u64, u64, Vec<u8>> =
        Table::once("test.facts", "A fact's value.", Placement::Hashed, Bounds::rows(10));
    static CELLS: Table<u64, u64, Vec<u8>> =
        Table::guarded("test.cells", "A cell.", Placement::Hashed, Bounds::rows(10));

    #[test]
    fn the_schema_is_printed_whole() {
        let text = schema_text(&Schema::new([FACTS.def(), CELLS.def()]), "ks", 3);
        assert_eq!(text.lines().count(), 4);
        assert!(text.contains("CREATE TABLE IF NOT EXISTS ks.test_facts"), "{text}");
        assert!(text.contains("version bigint static") && text.contains("Leveled"), "{text}");
        assert!(text.contains("'A fact''s value.'"), "quotes are doubled: {text}");
        assert_eq!(text.matches("speculative_retry = '50ms'").count(), 2, "{text}");
    }

    #[test]
    fn sweeping_is_later_than_putting_and_commits_have_no_timestamp() {
        let text = |kind: Kind| kind.text("ks", FACTS.def());
        assert!(text(Kind::Put).ends_with("USING TIMESTAMP 1"));
        assert!(text(Kind::Sweep).contains("USING TIMESTAMP 2"));
        for kind in [Kind::Raise, Kind::Begin, Kind::Remember, Kind::Insert, Kind::Delete] {
            let text = kind.text("ks", CELLS.def());
            assert!(!text.contains("TIMESTAMP"), "replicas agree on it: {text}");
        }
    }
}
