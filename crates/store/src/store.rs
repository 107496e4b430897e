//! The store as services use it: typed tables in front, one engine behind, limits in between.

use std::sync::Arc;

use bytes::Bytes;

use crate::cache::Cache;
use crate::row::within;
use crate::table::encode_sort;
use crate::{
    Bound, BoundError, Commit, CommitError, Committed, Cursor, Engine, Found, KeyPart, KeyReader,
    Order, Page, Partition, PutError, RangeRequest, Read, ReadError, Row, RowKey, Table, TableDef,
    Value, Version, Writes, limits,
};

/// How often a commit of unknown outcome is repeated before the caller is told.
const UNKNOWN_REPEATS: usize = 3;

/// A store. Cheap to clone; all clones share one engine and one cache.
#[derive(Clone)]
pub struct Store {
    engine: Arc<dyn Engine>,
    cache: Cache,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("cache", &self.cache).finish_non_exhaustive()
    }
}

/// A guarded value with the version of its partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versioned<V> {
    /// The partition's version, to be expected by the next commit.
    pub version: Version,
    /// The value, if the row exists.
    pub value: Option<V>,
}

/// Which rows of a partition, in which direction, how many.
#[derive(Clone, Debug)]
pub struct PageRequest<S> {
    /// Lower end.
    pub from: std::ops::Bound<S>,
    /// Upper end.
    pub to: std::ops::Bound<S>,
    /// Direction.
    pub order: Order,
    /// Rows at the most.
    pub limit: usize,
    /// Where the page before ended.
    pub cursor: Option<Cursor>,
    /// How strongly to read.
    pub read: Read,
}

impl<S> PageRequest<S> {
    /// The first `limit` rows of a partition.
    #[must_use]
    pub fn first(limit: usize) -> Self {
        Self {
            from: std::ops::Bound::Unbounded,
            to: std::ops::Bound::Unbounded,
            order: Order::Ascending,
            limit,
            cursor: None,
            read: Read::Quorum,
        }
    }

    /// The last `limit` rows of a partition, last one first.
    #[must_use]
    pub fn last(limit: usize) -> Self {
        Self { order: Order::Descending, ..Self::first(limit) }
    }
}

/// A page of typed rows.
#[derive(Clone, Debug)]
pub struct Listing<S, V> {
    /// The partition's version, seen together with the rows.
    pub version: Version,
    /// Sort keys and values.
    pub rows: Vec<(S, V)>,
    /// Where the next page begins; none at the end.
    pub next: Option<Cursor>,
}

impl Store {
    /// A store on `engine` with a read cache of `cache_bytes` (0 for none).
    #[must_use]
    pub fn new(engine: Arc<dyn Engine>, cache_bytes: u64) -> Self {
        Self { engine, cache: Cache::new(cache_bytes) }
    }

    /// One row.
    ///
    /// # Errors
    /// On a limit, a row that cannot be read, or a failing engine.
    pub async fn get<P: Partition, S: KeyPart, V: Value>(
        &self,
        table: &'static Table<P, S, V>,
        partition: &P,
        sort: &S,
    ) -> Result<Option<V>, ReadError> {
        let key = table.key(partition, sort)?;
        let found = self.get_raw(table.def(), std::slice::from_ref(&key), Read::Quorum).await?;
        decode_first(found)
    }

    /// Many rows, one answer per key, in the order of the keys.
    ///
    /// # Errors
    /// On a limit, a row that cannot be read, or a failing engine.
    pub async fn get_many<P: Partition, S: KeyPart, V: Value>(
        &self,
        table: &'static Table<P, S, V>,
        keys: &[(P, S)],
    ) -> Result<Vec<Option<V>>, ReadError> {
        let found = self.read_many(table, keys, Read::Quorum).await?;
        Ok(found.into_iter().map(|found| found.value).collect())
    }

    /// One row with the version of its partition, read serially: what a writer needs before a
    /// commit.
    ///
    /// # Errors
    /// On a limit, a row that cannot be read, or a failing engine.
    pub async fn get_versioned<P: Partition, S: KeyPart, V: Value>(
        &self,
        table: &'static Table<P, S, V>,
        partition: &P,
        sort: &S,
    ) -> Result<Versioned<V>, ReadError> {
        let key = table.key(partition, sort)?;
        let found = self.get_raw(table.def(), std::slice::from_ref(&key), Read::Serial).await?;
        let first = found.into_iter().next().ok_or_else(no_answer)?;
        decode(first)
    }

    /// Many rows, each with the version of its partition: what a writer needs before many commits.
    ///
    /// # Errors
    /// On a limit, a row that cannot be read, or a failing engine.
    pub async fn get_many_versioned<P: Partition, S: KeyPart, V: Value>(
        &self,
        table: &'static Table<P, S, V>,
        keys: &[(P, S)],
    ) -> Result<Vec<Versioned<V>>, ReadError> {
        self.read_many(table, keys, Read::Serial).await
    }

    async fn read_many<P: Partition, S: KeyPart, V: Value>(
        &self,
        table: &'static Table<P, S, V>,
        keys: &[(P, S)],
        read: Read,
    ) -> Result<Vec<Versioned<V>>, ReadError> {
        let keys = keys.iter().map(|(p, s)| table.key(p, s)).collect::<Result<Vec<_>, _>>()?;
        let found = self.get_raw(table.def(), &keys, read).await?;
        found.into_iter().map(decode).collect()
    }

    /// Rows of one partition, in order.
    ///
    /// # Errors
    /// On a limit, a foreign cursor, a row that cannot be read, or a failing engine.
    pub async fn page<P: Partition, S: KeyPart, V: Value>(
        &self,
        table: &'static Table<P, S, V>,
        partition: &P,
        request: PageRequest<S>,
    ) -> Result<Listing<S, V>, ReadError> {
        let range = RangeRequest {
            table: table.def(),
            partition: table.partition(partition)?,
            from: encode_end(&request.from),
            to: encode_end(&request.to),
            order: request.order,
            limit: request.limit,
            read: request.read,
        };
        let page = self.range_raw(&range, request.cursor.as_ref()).await?;
        let next = match page.rows.last() {
            Some((sort, _)) if page.more => Some(Cursor::after(&range, sort)),
            _ => None,
        };
        let mut rows = Vec::with_capacity(page.rows.len());
        for (sort, value) in page.rows.iter() {
            rows.push((KeyReader::whole(sort)?, V::from_bytes(value)?));
        }
        Ok(Listing { version: page.version, rows, next })
    }

    /// Writes rows of `Once` tables. Acknowledged means durable and visible; repeating changes
    /// nothing.
    ///
    /// # Errors
    /// On a limit (then nothing was written), or a failing engine (then some rows may be).
    pub async fn put(&self, rows: Vec<Row>) -> Result<(), PutError> {
        check_put(&rows)?;
        if self.cache.enabled() {
            for row in rows.iter().filter(|row| row.value.is_none()) {
                self.cache.remove(row.table, &row.key);
            }
        }
        self.engine.put(rows).await
    }

    /// Changes one guarded partition, if it is at the expected version.
    ///
    /// An unknown outcome is resolved here by repeating the commit under its operation id; only
    /// when that fails several times does the caller see [`CommitError::Unknown`].
    ///
    /// # Errors
    /// On a limit, a conflict, an outcome that stays unknown, or a failing engine.
    pub async fn commit(&self, commit: Commit) -> Result<Committed, CommitError> {
        check_commit(&commit)?;
        let mut unknown = false;
        for _ in 1..UNKNOWN_REPEATS {
            match self.engine.commit(commit.clone()).await {
                Err(CommitError::Unknown(_)) => unknown = true,
                // This repetition wrote nothing; what came before it may have.
                Err(CommitError::Engine(error)) if unknown => {
                    return Err(CommitError::Unknown(error));
                }
                known => return known,
            }
        }
        match self.engine.commit(commit).await {
            Err(CommitError::Engine(error)) if unknown => Err(CommitError::Unknown(error)),
            last => last,
        }
    }

    async fn get_raw(
        &self,
        table: &'static TableDef,
        keys: &[RowKey],
        read: Read,
    ) -> Result<Vec<Found>, ReadError> {
        within(table, "a batch of keys", keys.len(), limits::GET_KEYS)?;
        if !self.cache.enabled() || table.writes() == Writes::Guarded {
            return self.engine.get(table, keys, read).await;
        }
        self.get_cached(table, keys, read).await
    }

    async fn get_cached(
        &self,
        table: &'static TableDef,
        keys: &[RowKey],
        read: Read,
    ) -> Result<Vec<Found>, ReadError> {
        let mut answers: Vec<Option<Bytes>> =
            keys.iter().map(|key| self.cache.get(table, key)).collect();
        let missing: Vec<RowKey> = (keys.iter().zip(&answers))
            .filter(|(_, answer)| answer.is_none())
            .map(|(key, _)| key.clone())
            .collect();
        if !missing.is_empty() {
            let found = self.engine.get(table, &missing, read).await?;
            let empty = answers.iter_mut().filter(|answer| answer.is_none());
            for ((slot, key), found) in empty.zip(&missing).zip(found) {
                if let Some(value) = &found.value {
                    self.cache.insert(table, key, value);
                }
                *slot = found.value;
            }
        }
        Ok(answers.into_iter().map(|value| Found { version: Version::NEVER, value }).collect())
    }

    async fn range_raw(
        &self,
        request: &RangeRequest,
        cursor: Option<&Cursor>,
    ) -> Result<Page, ReadError> {
        let table = request.table;
        if request.limit == 0 {
            return Err(BoundError::EmptyPage { table: table.name() }.into());
        }
        within(table, "a page", request.limit, table.bounds().page_rows)?;
        let Some(cursor) = cursor else { return self.engine.range(request).await };
        let behind = Bound::Excluded(cursor.resume(request)?);
        let mut rest = request.clone();
        match request.order {
            Order::Ascending => rest.from = behind,
            Order::Descending => rest.to = behind,
        }
        self.engine.range(&rest).await
    }
}

fn no_answer() -> ReadError {
    crate::EngineError::new("the engine gave no answer for a key", "report this as a bug").into()
}

fn decode<V: Value>(found: Found) -> Result<Versioned<V>, ReadError> {
    let value = found.value.map(|bytes| V::from_bytes(&bytes)).transpose()?;
    Ok(Versioned { version: found.version, value })
}

fn decode_first<V: Value>(found: Vec<Found>) -> Result<Option<V>, ReadError> {
    Ok(decode(found.into_iter().next().ok_or_else(no_answer)?)?.value)
}

fn encode_end<S: KeyPart>(end: &std::ops::Bound<S>) -> Bound {
    match end {
        std::ops::Bound::Included(sort) => Bound::Included(encode_sort(sort)),
        std::ops::Bound::Excluded(sort) => Bound::Excluded(encode_sort(sort)),
        std::ops::Bound::Unbounded => Bound::Unbounded,
    }
}

fn check_put(rows: &[Row]) -> Result<(), BoundError> {
    let Some(first) = rows.first() else { return Ok(()) };
    within(first.table, "a batch of rows", rows.len(), limits::PUT_ROWS)?;
    let mut bytes = 0;
    for row in rows {
        check_verb(row.table, Writes::Once, "put")?;
        let value = row.value.as_ref().map_or(0, Bytes::len);
        within(row.table, "a value", value, row.table.bounds().value_bytes)?;
        bytes += row.key.joined().len() + value;
    }
    within(first.table, "the bytes of a batch", bytes, limits::PUT_BYTES)
}

fn check_commit(commit: &Commit) -> Result<(), BoundError> {
    let table = commit.table;
    check_verb(table, Writes::Guarded, "commit")?;
    within(table, "a commit", commit.changes.len(), limits::COMMIT_CHANGES)?;
    within(table, "a result", commit.result.len(), limits::RESULT_BYTES)?;
    let mut bytes = 0;
    for change in &commit.changes {
        within(table, "a sort key", change.sort().len(), limits::SORT_KEY_BYTES)?;
        if let crate::Change::Put { value, .. } = change {
            within(table, "a value", value.len(), table.bounds().value_bytes)?;
        }
        bytes += change.size();
    }
    within(table, "the bytes of a commit", bytes, limits::COMMIT_BYTES)?;
    let mut sorts: Vec<_> = commit.changes.iter().map(crate::Change::sort).collect();
    sorts.sort_unstable();
    // In a Cassandra batch a delete beats an insert of the same row, whatever their order.
    if sorts.windows(2).any(|pair| matches!(pair, [a, b] if a == b)) {
        return Err(BoundError::ChangedTwice { table: table.name() });
    }
    Ok(())
}

fn check_verb(
    table: &'static TableDef,
    needs: Writes,
    verb: &'static str,
) -> Result<(), BoundError> {
    if table.writes() == needs {
        return Ok(());
    }
    Err(BoundError::WrongVerb { table: table.name(), verb, writes: table.writes() })
}
