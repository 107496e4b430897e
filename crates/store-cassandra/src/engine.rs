//! The engine: the four verbs, each in a file of its own.

use std::future::Future;
use std::sync::{Arc, PoisonError, RwLock};

use rustc_hash::FxHashSet;
use scylla::client::session::Session;
use scylla::errors::{ExecutionError, PrepareError};
use scylla::statement::prepared::PreparedStatement;
use store::{
    Commit, CommitError, Committed, Engine, EngineError, Found, Page, PutError, RangeRequest, Read,
    ReadError, Row, RowKey, Schema, SchemaError, TableDef, Task, Writes, compare_schema,
};
use tokio::sync::Semaphore;

use crate::connect::connect;
use crate::cql::Kind;
use crate::error::{OpenError, Trouble, engine_error, prepare_trouble, trouble};
use crate::metrics::Metrics;
use crate::options::Options;
use crate::put::Batches;
use crate::retry::Patience;
use crate::statements::Statements;
use crate::turns::Turns;

/// A store on a cluster.
pub struct CassandraEngine {
    pub(crate) session: Session,
    pub(crate) options: Options,
    pub(crate) statements: Statements,
    pub(crate) metrics: Metrics,
    pub(crate) turns: Turns,
    pub(crate) batches: Batches,
    permits: Semaphore,
    tables: RwLock<FxHashSet<&'static str>>,
}

impl std::fmt::Debug for CassandraEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CassandraEngine").field("options", &self.options).finish_non_exhaustive()
    }
}

impl CassandraEngine {
    /// Connects, and checks that the tables of `schema` are there, or creates them when the options
    /// say so.
    ///
    /// # Errors
    /// When no node answers, or the tables do not fit.
    pub async fn open(options: &Options, schema: &Schema) -> Result<Arc<Self>, OpenError> {
        let session = connect(options).await?;
        let engine = Arc::new(Self {
            session,
            statements: Statements::new(options),
            metrics: Metrics::default(),
            turns: Turns::new(),
            batches: Batches::default(),
            permits: Semaphore::new(options.in_flight.max(1)),
            tables: RwLock::default(),
            options: options.clone(),
        });
        if options.apply_schema {
            engine.apply_now(schema).await?;
            return Ok(engine);
        }
        let records = engine.stored_records().await?;
        if let Some(store::SchemaChange::Create(missing)) =
            compare_schema(schema, &records)?.into_iter().next()
        {
            return Err(SchemaError::Missing { table: missing.name }.into());
        }
        engine.know(schema.tables());
        Ok(engine)
    }

    /// Remembers that tables are there.
    pub(crate) fn know(&self, tables: impl Iterator<Item = &'static TableDef>) {
        let mut known = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        known.extend(tables.map(TableDef::name));
    }

    /// Whether a table is there.
    pub(crate) fn has(&self, table: &'static TableDef) -> bool {
        self.tables.read().unwrap_or_else(PoisonError::into_inner).contains(table.name())
    }

    /// A prepared statement; preparing changes nothing, so it is repeated while that may help.
    pub(crate) async fn prepared(
        &self,
        table: &'static TableDef,
        kind: Kind,
        read: Read,
    ) -> Result<Arc<PreparedStatement>, EngineError> {
        match self.statements.known(table, kind, read) {
            Some(statement) => Ok(statement),
            // On the heap: it happens once, and every request would carry its size.
            None => Box::pin(self.prepare(table, kind, read)).await,
        }
    }

    async fn prepare(
        &self,
        table: &'static TableDef,
        kind: Kind,
        read: Read,
    ) -> Result<Arc<PreparedStatement>, EngineError> {
        let mut patience = Patience::new(self.options.patience);
        loop {
            let error = match self.statements.prepare(&self.session, table, kind, read).await {
                Ok(statement) => return Ok(statement),
                Err(error) => error,
            };
            if prepare_trouble(&error) == Trouble::Lasting || !patience.wait().await {
                return Err(preparing_failed(error));
            }
        }
    }

    /// Sends a request that may be repeated, until it succeeds or patience ends.
    pub(crate) async fn repeat<T, F>(
        &self,
        doing: &str,
        mut request: impl FnMut() -> F,
    ) -> Result<T, EngineError>
    where
        F: Future<Output = Result<T, ExecutionError>>,
    {
        let mut patience = Patience::new(self.options.patience);
        loop {
            let error = match self.send(&mut request).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if trouble(&error) == Trouble::Lasting || !patience.wait().await {
                return Err(engine_error(doing, &error));
            }
            tracing::debug!(doing, %error, "sent again");
            Metrics::add(&self.metrics.repeats, 1);
        }
    }

    /// Sends one request when there is room for it.
    ///
    /// It is made here and not by the caller: the driver's requests are large, and each hand they
    /// pass through copies them.
    pub(crate) async fn send<T, F>(&self, request: impl FnOnce() -> F) -> Result<T, ExecutionError>
    where
        F: Future<Output = Result<T, ExecutionError>>,
    {
        // The semaphore is never closed; without a permit the request is sent all the same.
        let _permit = match self.permits.try_acquire() {
            Ok(permit) => Some(permit),
            Err(_) => self.permits.acquire().await.ok(),
        };
        Metrics::add(&self.metrics.requests, 1);
        request().await
    }
}

fn preparing_failed(error: PrepareError) -> EngineError {
    engine_error("preparing a statement", &ExecutionError::PrepareError(error))
}

impl Engine for CassandraEngine {
    fn get<'a>(
        &'a self,
        table: &'static TableDef,
        keys: &'a [RowKey],
        read: Read,
    ) -> Task<'a, Result<Vec<Found>, ReadError>> {
        // A path of its own for the usual case: what one future can hold, all of its calls pay for.
        if let ([key], Writes::Once) = (keys, table.writes()) {
            return Box::pin(self.get_row(table, key, read));
        }
        Box::pin(self.get_rows(table, keys, read))
    }

    fn range<'a>(&'a self, request: &'a RangeRequest) -> Task<'a, Result<Page, ReadError>> {
        Box::pin(self.read_range(request))
    }

    fn put(&self, rows: Vec<Row>) -> Task<'_, Result<(), PutError>> {
        Box::pin(self.put_rows(rows))
    }

    fn commit(&self, commit: Commit) -> Task<'_, Result<Committed, CommitError>> {
        Box::pin(self.commit_changes(commit))
    }
}
