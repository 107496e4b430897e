//! Prepared statements, prepared when they are first needed.

use std::sync::{Arc, PoisonError, RwLock};

use rustc_hash::FxHashMap;
use scylla::client::session::Session;
use scylla::errors::PrepareError;
use scylla::statement::prepared::PreparedStatement;
use store::{Read, TableDef, limits};

use crate::cql::Kind;
use crate::options::{Level, Options};

/// Rows of one page of the driver: few where rows may be large, so that a page fits into memory.
fn page_rows(table: &TableDef, kind: Kind) -> i32 {
    let rows = 2 * limits::PAGE_BYTES / table.bounds().value_bytes.max(1);
    let rows = i32::try_from(rows.clamp(8, 1000)).unwrap_or(1000);
    // A partition that must be of one moment: the fewer pages, the fewer changes in between.
    if kind == Kind::WalkToken { rows * 8 } else { rows }
}

/// By name: a definition may stand in several places of the program.
type Key = (&'static str, Kind, bool);

/// All statements that were needed so far.
#[derive(Debug)]
pub(crate) struct Statements {
    keyspace: String,
    level: Level,
    prepared: RwLock<FxHashMap<Key, Arc<PreparedStatement>>>,
}

impl Statements {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            keyspace: options.keyspace.clone(),
            level: options.level,
            prepared: RwLock::default(),
        }
    }

    /// The statement, if it was prepared before.
    pub(crate) fn known(
        &self,
        table: &'static TableDef,
        kind: Kind,
        read: Read,
    ) -> Option<Arc<PreparedStatement>> {
        let prepared = self.prepared.read().unwrap_or_else(PoisonError::into_inner);
        prepared.get(&key(table, kind, read)).cloned()
    }

    /// Prepares the statement.
    pub(crate) async fn prepare(
        &self,
        session: &Session,
        table: &'static TableDef,
        kind: Kind,
        read: Read,
    ) -> Result<Arc<PreparedStatement>, PrepareError> {
        use scylla::statement::Consistency;
        let key = key(table, kind, read);
        let (_, _, serial) = key;
        let mut statement = session.prepare(kind.text(&self.keyspace, table)).await?;
        statement.set_page_size(page_rows(table, kind));
        statement.set_is_idempotent(kind.reads() || matches!(kind, Kind::Put | Kind::Sweep));
        // The columns of our tables never change, so answers need not describe them each time.
        statement.set_use_cached_result_metadata(kind.reads());
        if serial {
            statement.set_consistency(match self.level {
                Level::Quorum => Consistency::Serial,
                Level::Local => Consistency::LocalSerial,
            });
        }
        let statement = Arc::new(statement);
        let mut prepared = self.prepared.write().unwrap_or_else(PoisonError::into_inner);
        prepared.insert(key, statement.clone());
        Ok(statement)
    }
}

fn key(table: &'static TableDef, kind: Kind, read: Read) -> Key {
    (table.name(), kind, kind.reads() && read == Read::Serial)
}
