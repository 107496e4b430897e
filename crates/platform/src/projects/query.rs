//! Lists and counts of projects.

use std::ops::Bound;

use futures_util::future::try_join_all;
use index::ListRow;
use serde::Serialize;
use store::{KeyPart, KeyReader, Order, PageRequest, Read, ReadError};

use crate::ListCursor;
use crate::accounts::UserId;
use crate::chains::ChainName;
use crate::guarded::StoreError;
use crate::tables::{CHAIN_PROJECTS, USER_PROJECTS};

use super::calls::{all_tally, chain_tally};
use super::{CHAIN_SHARDS, ListError, Pid, Position, Project, ProjectLine, Projects};

/// Lists by creation time.
pub(crate) const BY_CREATED: u8 = 0;
/// Lists by the time of the last change.
pub(crate) const BY_UPDATED: u8 = 1;
/// Projects of one page.
const PAGE: usize = 200;
/// The name of these lists in cursors.
const LIST: &str = "projects";

/// Which projects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Which {
    /// Those of a user.
    User(UserId),
    /// Those of a user on a chain.
    UserChain(UserId, ChainName),
    /// Those of a chain.
    Chain(ChainName),
}

/// What a list is ordered by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum By {
    /// Creation time.
    #[default]
    Created,
    /// Time of the last change.
    Updated,
}

/// A page of projects to be read.
#[derive(Clone, Debug)]
pub struct ListRequest {
    /// Which projects.
    pub which: Which,
    /// Ordered by what.
    pub by: By,
    /// In which direction.
    pub order: Order,
    /// From this moment on, Unix milliseconds.
    pub from: Option<u64>,
    /// Before this moment.
    pub to: Option<u64>,
    /// How many, at most 200.
    pub limit: usize,
    /// Where the page before ended.
    pub cursor: Option<String>,
}

impl ListRequest {
    /// The latest `limit` projects by creation time.
    #[must_use]
    pub fn latest(which: Which, limit: usize) -> Self {
        let (by, order) = (By::Created, Order::Descending);
        Self { which, by, order, from: None, to: None, limit, cursor: None }
    }
}

/// A page of projects.
#[derive(Clone, Debug)]
pub struct ProjectPage {
    /// The projects, in order.
    pub projects: Vec<Project>,
    /// Where the next page begins; none at the end.
    pub next: Option<String>,
}

/// What a cursor is bound to.
#[derive(Serialize)]
struct Filter<'a>(&'a Which, By, bool, Option<u64>, Option<u64>);

type Line = ListRow<Pid, Position, ProjectLine>;

impl Projects {
    /// A page of a list. A project stands in it once, wherever others move in between.
    ///
    /// # Errors
    /// When the limit is out of range, the cursor belongs elsewhere, or the store cannot be read.
    pub async fn list(&self, request: &ListRequest) -> Result<ProjectPage, ListError> {
        let ListRequest { which, by, order, from, to, limit, cursor } = request;
        if !(1..=PAGE).contains(limit) {
            return Err(ListError::Limit { most: PAGE });
        }
        let filter = Filter(which, *by, *order == Order::Descending, *from, *to);
        let after = cursor.as_ref().map(|text| position(&filter, text)).transpose()?;
        let (from, to) = ends((*from, *to), after, *order);
        let page = PageRequest {
            from,
            to,
            order: *order,
            limit: *limit,
            cursor: None,
            read: Read::Quorum,
        };
        let (mut rows, mut more) = self.rows(which, *by, &page).await?;
        rows.sort_unstable_by_key(|row| row.sort);
        if *order == Order::Descending {
            rows.reverse();
        }
        more |= rows.len() > *limit;
        rows.truncate(*limit);
        let next = rows.last().filter(|_| more).map(|row| {
            let mut inner = Vec::new();
            row.sort.encode(&mut inner);
            ListCursor::encode(LIST, &filter, &inner)
        });
        let projects = rows.into_iter().map(|row| row.payload.shown(row.entry)).collect();
        Ok(ProjectPage { projects, next })
    }

    /// The rows of a page from each partition that has some, and whether any has more.
    async fn rows(
        &self,
        which: &Which,
        by: By,
        page: &PageRequest<Position>,
    ) -> Result<(Vec<Line>, bool), ReadError> {
        if let Some(key) = user_key(which, by) {
            let page = self.lists.page(&USER_PROJECTS, &key, page.clone()).await?;
            return Ok((page.rows, page.next.is_some()));
        }
        let keys = chain_keys(which, by);
        let pages = keys.iter().map(|key| self.lists.page(&CHAIN_PROJECTS, key, page.clone()));
        let pages = try_join_all(pages).await?;
        let more = pages.iter().any(|page| page.next.is_some());
        Ok((pages.into_iter().flat_map(|page| page.rows).collect(), more))
    }

    /// How many projects there are.
    ///
    /// # Errors
    /// When the count cannot be read.
    pub async fn count_all(&self) -> Result<u64, StoreError> {
        self.counted(all_tally()).await
    }

    /// How many projects of this kind there are.
    ///
    /// # Errors
    /// When the count cannot be read.
    pub async fn count(&self, which: &Which) -> Result<u64, StoreError> {
        match (user_key(which, By::Created), which) {
            (Some(key), _) => Ok(self.lists.counts(&USER_PROJECTS, &key).await?.placed),
            (None, Which::Chain(chain)) => self.counted(chain_tally(chain)).await,
            (None, _) => Ok(0),
        }
    }

    /// How many of them were created (or changed last) from `from` on and before `to`. Reads the
    /// rows between: the bound of the lists is the bound of the cost.
    ///
    /// # Errors
    /// When the rows cannot be read.
    pub async fn count_between(
        &self,
        which: &Which,
        by: By,
        from: Option<u64>,
        to: Option<u64>,
    ) -> Result<u64, StoreError> {
        let (from, to) = ends((from, to), None, Order::Ascending);
        if let Some(key) = user_key(which, by) {
            return Ok(self.lists.count_between(&USER_PROJECTS, &key, from, to).await?);
        }
        let keys = chain_keys(which, by);
        let counts =
            keys.iter().map(|key| self.lists.count_between(&CHAIN_PROJECTS, key, from, to));
        Ok(try_join_all(counts).await?.into_iter().sum())
    }

    async fn counted(
        &self,
        tally: Result<tally::Tally, tally::LimitError>,
    ) -> Result<u64, StoreError> {
        let tally = tally.map_err(|error| {
            store::EngineError::new(error.to_string(), "report this as a bug: names are bounded")
        })?;
        let sum = self.tallies.sums(&tally).await?.values.get(0);
        Ok(u64::try_from(sum).unwrap_or_default())
    }
}

fn code(by: By) -> u8 {
    match by {
        By::Created => BY_CREATED,
        By::Updated => BY_UPDATED,
    }
}

fn user_key(which: &Which, by: By) -> Option<(UserId, String, u8)> {
    match which {
        Which::User(user) => Some((user.clone(), String::new(), code(by))),
        Which::UserChain(user, chain) => Some((user.clone(), chain.to_string(), code(by))),
        Which::Chain(_) => None,
    }
}

fn chain_keys(which: &Which, by: By) -> Vec<(ChainName, u8, u8)> {
    match which {
        Which::Chain(chain) => {
            (0..CHAIN_SHARDS).map(|shard| (chain.clone(), code(by), shard)).collect()
        }
        _ => Vec::new(),
    }
}

fn position(filter: &Filter<'_>, text: &str) -> Result<Position, ListError> {
    let inner = ListCursor::decode(LIST, filter, text)?;
    let position = KeyReader::whole(&inner);
    position.map_err(|_| ListError::Cursor(crate::ListCursorError::Damaged))
}

/// The ends of a list between two moments, behind a place in it.
fn ends(
    (from, to): (Option<u64>, Option<u64>),
    after: Option<Position>,
    order: Order,
) -> (Bound<Position>, Bound<Position>) {
    let mut from = from.map_or(Bound::Unbounded, |time| Bound::Included((time, Pid::FIRST)));
    let mut to = to.map_or(Bound::Unbounded, |time| Bound::Excluded((time, Pid::FIRST)));
    if let Some(after) = after {
        match order {
            Order::Ascending => from = Bound::Excluded(after),
            Order::Descending => to = Bound::Excluded(after),
        }
    }
    (from, to)
}
