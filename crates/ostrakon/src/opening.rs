//! Opens stores. The only place that names an engine.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use store::{Maintenance, Schema, Store};
pub(crate) use store_fjall::OpenError;
use store_fjall::{FjallEngine, Options};

use crate::catalogue;
use crate::config::Settings;

/// Bytes of the store's own read cache. None yet: nothing here reads a row twice in a second.
const ROW_CACHE: u64 = 0;

/// An open store: for services the four verbs, for commands the rest.
pub(crate) struct OpenStore {
    /// The engine.
    pub(crate) engine: Arc<dyn Maintenance>,
    /// The store on it.
    pub(crate) store: Store,
    /// The tables of this program.
    pub(crate) schema: Schema,
}

/// What to do about tables that are missing in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tables {
    /// Refuse to open.
    Required,
    /// Create them.
    Created,
    /// Open without any table, to look at which there are or to create them explicitly.
    Untouched,
}

impl OpenStore {
    fn new(engine: Arc<dyn Maintenance>) -> Self {
        let store = Store::new(engine.clone(), ROW_CACHE);
        Self { engine, store, schema: catalogue::schema() }
    }

    /// A store in memory, for tests.
    #[cfg(test)]
    pub(crate) async fn model() -> Self {
        let opened = Self::new(Arc::new(store::ModelEngine::default()));
        opened.engine.apply(&opened.schema).await.expect("tables are created");
        opened
    }
}

/// Opens the directory of the settings.
pub(crate) fn open(settings: &Settings, tables: Tables) -> Result<OpenStore, OpenError> {
    make_private(&settings.data)?;
    let mut options = Options::new(&settings.data);
    options.cache_bytes = settings.cache_bytes;
    options.apply_schema = tables == Tables::Created;
    let schema = match tables {
        Tables::Untouched => Schema::default(),
        Tables::Required | Tables::Created => catalogue::schema(),
    };
    Ok(OpenStore::new(Arc::new(FjallEngine::open(&options, &schema)?)))
}

/// Makes the directory, if it is not there, for this user only: it will hold accounts and keys.
fn make_private(directory: &Path) -> Result<(), OpenError> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(directory);
    made.map_err(|source| OpenError::Io { path: directory.to_owned(), source })
}

/// Whether a store is in the directory. Opening would create one, and a command that only looks
/// must not leave an empty store behind a misspelt path.
pub(crate) fn exists(directory: &Path) -> bool {
    directory.join("identity").exists()
}

/// Closes the store, so that the next opening is quick.
pub(crate) async fn close(opened: &OpenStore) -> anyhow::Result<()> {
    opened.engine.close().await.context("the store could not be closed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[tokio::test]
    async fn a_store_without_our_tables_is_refused_with_the_remedy_and_can_be_looked_at() {
        let dir = tempfile::tempdir().expect("a directory");
        let settings = Settings::defaults(dir.path().join("data"));
        assert!(!exists(&settings.data));
        let opened = open(&settings, Tables::Untouched).expect("opened");
        assert_eq!(opened.engine.records().await.expect("read"), []);
        drop(opened);
        assert!(exists(&settings.data));
        let mode = fs::metadata(&settings.data).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "others may not look into it");
        let error = open(&settings, Tables::Required).err().expect("refused").to_string();
        assert!(error.contains("ostrakon schema apply"), "{error}");
        let opened = open(&settings, Tables::Created).expect("created");
        let records = opened.engine.records().await.expect("read");
        assert_eq!(records.len(), catalogue::tables().len());
    }
}
