//! Opens stores. The only place that names an engine.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use store::{COPY_NOTE, Maintenance, Schema, Store};
use store_cassandra::{CassandraEngine, Credentials, Level};
use store_fjall::FjallEngine;
use store_remote::{RemoteEngine, RemoteOptions};

use crate::catalogue;
use crate::config::{CassandraSettings, Consistency, EngineKind, PASSWORD_VARIABLE, Settings};

/// Bytes of the store's own read cache. None yet: nothing here reads a row twice in a second.
const ROW_CACHE: u64 = 0;
/// How long a process waits for the one that holds the store.
const PATIENCE: Duration = Duration::from_secs(15);

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

/// Opens the store of the settings.
///
/// An unfinished copy is refused unless tables are left untouched: half of the rows would look like
/// all of them, and rows written now would be lost when the copy goes on.
pub(crate) async fn open(settings: &Settings, tables: Tables) -> anyhow::Result<OpenStore> {
    make_private(&settings.data)?;
    let schema = match tables {
        Tables::Untouched => Schema::default(),
        Tables::Required | Tables::Created => catalogue::schema(),
    };
    let apply = tables == Tables::Created;
    let engine: Arc<dyn Maintenance> = match settings.engine {
        EngineKind::Embedded => {
            let mut options = store_fjall::Options::new(&settings.data);
            options.cache_bytes = settings.cache_bytes;
            options.apply_schema = apply;
            Arc::new(FjallEngine::open(&options, &schema)?)
        }
        EngineKind::Cassandra => {
            let mut options = cluster_options(&settings.cassandra)?;
            options.apply_schema = apply;
            CassandraEngine::open(&options, &schema).await?
        }
    };
    if tables != Tables::Untouched && engine.note(COPY_NOTE).await?.is_some() {
        bail!(
            "the store in {} is an unfinished copy; run `ostrakon copy` again, from the same \
             source, to finish it",
            settings.place()
        );
    }
    Ok(OpenStore::new(engine))
}

/// The store for a process that does not hold it: a cluster as any client, an embedded one through
/// the process that does.
pub(crate) async fn reach(settings: &Settings) -> anyhow::Result<Store> {
    match settings.engine {
        EngineKind::Cassandra => Ok(open(settings, Tables::Required).await?.store),
        EngineKind::Embedded => {
            let socket = settings.data.join(crate::admin::socket::STORE);
            let options = RemoteOptions { socket, patience: PATIENCE };
            Ok(Store::new(RemoteEngine::open(options).await?, ROW_CACHE))
        }
    }
}

/// The settings as the engine takes them, with the password.
fn cluster_options(settings: &CassandraSettings) -> anyhow::Result<store_cassandra::Options> {
    let mut options = store_cassandra::Options::new(settings.contact_points.clone());
    options.keyspace.clone_from(&settings.keyspace);
    options.replication = settings.replication;
    options.datacenter.clone_from(&settings.datacenter);
    options.tls_ca.clone_from(&settings.tls_ca);
    options.level = match settings.consistency {
        Consistency::Quorum => Level::Quorum,
        Consistency::LocalQuorum => Level::Local,
    };
    options.request_timeout = settings.request_timeout;
    options.patience = settings.patience;
    options.in_flight = settings.in_flight;
    if let Some(user) = &settings.user {
        let password = password(settings, std::env::var(PASSWORD_VARIABLE).ok())?;
        options.credentials = Some(Credentials { user: user.clone(), password });
    }
    Ok(options)
}

/// The password of the cluster's user: from the environment, else from its file.
fn password(settings: &CassandraSettings, variable: Option<String>) -> anyhow::Result<String> {
    if let Some(password) = variable {
        return Ok(password);
    }
    let Some(file) = &settings.password_file else {
        bail!(
            "store.cassandra.user is set, but there is no password; name a file that holds it with \
             store.cassandra.password_file, or set {PASSWORD_VARIABLE}"
        );
    };
    let cannot = || {
        let file = file.display();
        format!(
            "the password in {file} cannot be read; let this user read it, or name another file"
        )
    };
    let text = fs::read_to_string(file).with_context(cannot)?;
    // Editors end a file with a newline; blanks may belong to the password.
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

/// What `schema apply` would send to an empty cluster.
pub(crate) fn cql(settings: &CassandraSettings) -> String {
    store_cassandra::schema_text(&catalogue::schema(), &settings.keyspace, settings.replication)
}

/// Whether a store could not be opened because another process has it open.
pub(crate) fn is_held(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(store_fjall::OpenError::Held { .. }))
}

/// Makes the directory, if it is not there, for this user only: it will hold accounts and keys.
fn make_private(directory: &Path) -> anyhow::Result<()> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(directory);
    made.with_context(|| {
        format!("{} cannot be made; check that it is writable", directory.display())
    })
}

/// Whether a store is in the directory. Opening would create one, and a command that only looks
/// must not leave an empty store behind a misspelt path. A cluster is asked when it is opened: only
/// `schema apply` creates anything there.
pub(crate) fn exists(settings: &Settings) -> bool {
    settings.engine == EngineKind::Cassandra || settings.data.join("identity").exists()
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
        assert!(!exists(&settings));
        let opened = open(&settings, Tables::Untouched).await.expect("opened");
        assert_eq!(opened.engine.records().await.expect("read"), []);
        drop(opened);
        assert!(exists(&settings));
        let mode = fs::metadata(&settings.data).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "others may not look into it");
        let error = open(&settings, Tables::Required).await.err().expect("refused").to_string();
        assert!(error.contains("ostrakon schema apply"), "{error}");
        let opened = open(&settings, Tables::Created).await.expect("created");
        let records = opened.engine.records().await.expect("read");
        assert_eq!(records.len(), catalogue::tables().len());
        let held = open(&settings, Tables::Required).await.err().expect("held");
        assert!(is_held(&held), "{held}");
    }

    #[tokio::test]
    async fn an_unfinished_copy_is_not_served_and_can_be_finished() {
        let dir = tempfile::tempdir().expect("a directory");
        let settings = Settings::defaults(dir.path().join("data"));
        let opened = open(&settings, Tables::Created).await.expect("created");
        opened.engine.set_note(COPY_NOTE, Some("half".into())).await.expect("noted");
        drop(opened);
        for tables in [Tables::Required, Tables::Created] {
            let error = open(&settings, tables).await.err().expect("refused").to_string();
            assert!(error.contains("run `ostrakon copy` again"), "{error}");
        }
        let opened = open(&settings, Tables::Untouched).await.expect("opened");
        opened.engine.set_note(COPY_NOTE, None).await.expect("finished");
        drop(opened);
        open(&settings, Tables::Required).await.expect("served");
    }

    #[test]
    fn a_password_comes_from_the_environment_or_from_its_file() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("secret");
        let mut settings = CassandraSettings { user: Some("me".into()), ..Default::default() };
        let error = password(&settings, None).expect_err("none").to_string();
        assert!(error.contains("password_file") && error.contains(PASSWORD_VARIABLE), "{error}");
        settings.password_file = Some(file.clone());
        let error = password(&settings, None).expect_err("not there").to_string();
        assert!(error.contains("secret"), "{error}");
        fs::write(&file, " open sesame \n").expect("written");
        assert_eq!(password(&settings, None).expect("read"), " open sesame ");
        assert_eq!(password(&settings, Some("other".into())).expect("given"), "other");
    }
}
