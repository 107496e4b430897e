//! Reading a list: pages both ways, counts, and single entries.

use std::ops::Bound;

use store::{Cursor, KeyPart, KeyReader, Order, PageRequest, Read, ReadError, Value, Version};

use crate::list::{List, ListRow};
use crate::lists::Lists;
use crate::slot::{Cell, Counts, ListKey, Slot, encoded};

/// Rows read at a time while counting.
const COUNT_ROWS: usize = 1000;

/// A page of a list.
#[derive(Clone, Debug)]
pub struct ListPage<E, S, V> {
    /// The list's version. Pages of one version are of one order.
    pub version: Version,
    /// The rows.
    pub rows: Vec<ListRow<E, S, V>>,
    /// Where the next page begins; none at the end.
    pub next: Option<Cursor>,
}

impl Lists {
    /// Rows of a list in order, in either direction, between two sort keys.
    ///
    /// A cursor names a place in the order and not a number of rows: rows that do not move are seen
    /// once each, however many others move between two pages.
    ///
    /// # Errors
    /// On a limit, a foreign cursor, a row that cannot be read, or a failing engine.
    pub async fn page<K: KeyPart, E: KeyPart, S: KeyPart, V: Value>(
        &self,
        list: &'static List<K, E, S, V>,
        key: &K,
        request: PageRequest<S>,
    ) -> Result<ListPage<E, S, V>, ReadError> {
        let (from, to) = Slot::between(&request.from, &request.to);
        let PageRequest { order, limit, cursor, read, .. } = request;
        let request = PageRequest { from, to, order, limit, cursor, read };
        self.slots(list, key, request).await
    }

    /// The first rows behind a place in the order: a sort key, and an entry that stands under it
    /// or once did.
    ///
    /// # Errors
    /// On a limit, a row that cannot be read, or a failing engine.
    pub async fn page_behind<K: KeyPart, E: KeyPart, S: KeyPart, V: Value>(
        &self,
        list: &'static List<K, E, S, V>,
        key: &K,
        (sort, entry): (&S, &E),
        limit: usize,
    ) -> Result<ListPage<E, S, V>, ReadError> {
        let (_, to) = Slot::between::<S>(&Bound::Unbounded, &Bound::Unbounded);
        let from = Bound::Excluded(Slot::row(&encoded(sort), &encoded(entry)));
        self.slots(list, key, PageRequest { from, to, ..PageRequest::first(limit) }).await
    }

    async fn slots<K: KeyPart, E: KeyPart, S: KeyPart, V: Value>(
        &self,
        list: &'static List<K, E, S, V>,
        key: &K,
        request: PageRequest<Slot>,
    ) -> Result<ListPage<E, S, V>, ReadError> {
        let page = self.store.page(list.def().cells(), &ListKey::of(key), request).await?;
        let rows = page.rows.into_iter().map(|(slot, cell)| list.row(&slot, cell));
        let rows = rows.collect::<Result<_, _>>()?;
        Ok(ListPage { version: page.version, rows, next: page.next })
    }

    /// How many entries the list has: one read.
    ///
    /// # Errors
    /// When the row cannot be read.
    pub async fn counts<K: KeyPart, E, S, V>(
        &self,
        list: &'static List<K, E, S, V>,
        key: &K,
    ) -> Result<Counts, ReadError> {
        let head = self.store.get(list.def().cells(), &ListKey::of(key), &Slot::head()).await?;
        Ok(Cell::head(head)?)
    }

    /// How many rows stand between two sort keys. Reads them all: the list's bound is the cost's.
    ///
    /// # Errors
    /// When a page cannot be read.
    pub async fn count_between<K: KeyPart, E: KeyPart, S: KeyPart, V: Value>(
        &self,
        list: &'static List<K, E, S, V>,
        key: &K,
        from: Bound<S>,
        to: Bound<S>,
    ) -> Result<u64, ReadError> {
        let (from, to) = Slot::between(&from, &to);
        let key = ListKey::of(key);
        let (mut count, mut cursor) = (0, None);
        loop {
            let request = PageRequest {
                from: from.clone(),
                to: to.clone(),
                order: Order::Ascending,
                limit: COUNT_ROWS,
                cursor,
                read: Read::Quorum,
            };
            let page = self.store.page(list.def().cells(), &key, request).await?;
            count += page.rows.len() as u64;
            cursor = page.next;
            if cursor.is_none() {
                return Ok(count);
            }
        }
    }

    /// Rank and sort key of one entry; none when the list never knew it.
    ///
    /// # Errors
    /// When the row cannot be read.
    pub async fn standing<K: KeyPart, E: KeyPart, S: KeyPart, V>(
        &self,
        list: &'static List<K, E, S, V>,
        key: &K,
        entry: &E,
    ) -> Result<Option<(u64, Option<S>)>, ReadError> {
        let slot = Slot::entry(&encoded(entry));
        let cell = self.store.get(list.def().cells(), &ListKey::of(key), &slot).await?;
        let Some((rank, sort)) = cell.map(Cell::entry).transpose()? else { return Ok(None) };
        let sort = sort.map(|sort| KeyReader::whole(&sort)).transpose()?;
        Ok(Some((rank, sort)))
    }
}
