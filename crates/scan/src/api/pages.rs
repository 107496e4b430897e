//! Pages of dense lists: a cursor is the position that comes next.

use axum::response::Response;
use platform::http::{List, Problem};
use platform::{ListCursor, ListCursorError};
use serde::{Deserialize, Serialize};
use store::{Cursor, Order};
use timeline::ViewError;
use utoipa::{IntoParams, ToSchema};

use super::{Opened, problem};
use crate::query::Stretch;

/// In which direction a list is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ScanOrder)]
pub(super) enum Sorted {
    /// The newest first.
    #[default]
    Desc,
    /// The oldest first.
    Asc,
}

/// How a list is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Reading {
    /// `desc`, the newest first, or `asc`.
    #[serde(default)]
    #[param(inline)]
    pub(super) order: Sorted,
}

/// A dense list of `total` entries, numbered from 0.
pub(super) struct Dense<'a> {
    /// What cursors are bound to: the list, the chain, the key.
    pub(super) name: &'a str,
    pub(super) key: (&'a str, String),
    pub(super) total: u64,
}

impl Dense<'_> {
    /// The page of a list that `read` reads from a position on.
    pub(super) async fn answer<F: Serialize, V, T: Serialize, R>(
        &self,
        opened: &Opened,
        (list, sorted): (&List<F>, Sorted),
        read: impl FnOnce(Stretch) -> R,
        item: impl Fn((u64, V)) -> T,
    ) -> Result<Response, Problem>
    where
        R: Future<Output = Result<Vec<(u64, V)>, ViewError>>,
    {
        let Some(stretch) = self.stretch(list, sorted)? else {
            return Ok(list.answer(Vec::<T>::new(), None));
        };
        let lines = read(stretch).await.map_err(problem)?;
        opened.check()?;
        let next = self.next(list, sorted, lines.last().map(|(position, _)| *position))?;
        Ok(list.answer(lines.into_iter().map(item).collect(), next.as_ref()))
    }

    /// Where the page begins; none when there is nothing there.
    pub(super) fn stretch<F: Serialize>(
        &self,
        list: &List<F>,
        sorted: Sorted,
    ) -> Result<Option<Stretch>, Problem> {
        let bound = (&self.key, &list.filter);
        let start = match &list.page.cursor {
            Some(cursor) => {
                let inner = ListCursor::decode(self.name, &bound, cursor.as_str())?;
                let position = inner.try_into().map(u64::from_be_bytes);
                Some(position.map_err(|_| ListCursorError::Damaged)?)
            }
            None => match sorted {
                Sorted::Desc => self.total.checked_sub(1),
                Sorted::Asc => Some(0),
            },
        };
        let order = match sorted {
            Sorted::Desc => Order::Descending,
            Sorted::Asc => Order::Ascending,
        };
        // A switch may have made the list shorter than where the cursor stands.
        let start = match (start, order) {
            (Some(start), Order::Descending) => self.total.checked_sub(1).map(|top| start.min(top)),
            (start, _) => start.filter(|start| *start < self.total),
        };
        Ok(start.map(|start| (start, order, list.page.limit)))
    }

    /// The cursor behind `last`, when there is more.
    pub(super) fn next<F: Serialize>(
        &self,
        list: &List<F>,
        sorted: Sorted,
        last: Option<u64>,
    ) -> Result<Option<Cursor>, Problem> {
        let next = match (sorted, last) {
            (_, None) => None,
            (Sorted::Desc, Some(last)) => last.checked_sub(1),
            (Sorted::Asc, Some(last)) => Some(last + 1).filter(|next| *next < self.total),
        };
        let bound = (&self.key, &list.filter);
        let encode = |next: u64| ListCursor::encode(self.name, &bound, &next.to_be_bytes());
        Ok(next.map(|next| Cursor::parse(&encode(next))).transpose()?)
    }
}

/// A list whose entries stand at places of several numbers; a cursor is one of these. Each list
/// decides whether the page before ended there or the next one begins there.
pub(super) struct Places<'a> {
    /// What cursors are bound to: the list, the chain, the key.
    pub(super) name: &'a str,
    pub(super) key: (&'a str, String),
}

impl Places<'_> {
    /// The place in the cursor.
    pub(super) fn read<const N: usize>(&self, list: &List) -> Result<Option<[u64; N]>, Problem> {
        let Some(cursor) = &list.page.cursor else { return Ok(None) };
        let inner = ListCursor::decode(self.name, &self.key, cursor.as_str())?;
        let numbers: Vec<u64> = inner
            .chunks_exact(8)
            .filter_map(|bytes| bytes.try_into().ok().map(u64::from_be_bytes))
            .collect();
        Ok(Some(numbers.try_into().map_err(|_| ListCursorError::Damaged)?))
    }

    /// The cursor with a place.
    pub(super) fn next<const N: usize>(
        &self,
        place: Option<[u64; N]>,
    ) -> Result<Option<Cursor>, Problem> {
        let Some(place) = place else { return Ok(None) };
        let inner: Vec<u8> = place.iter().flat_map(|number| number.to_be_bytes()).collect();
        Ok(Some(Cursor::parse(&ListCursor::encode(self.name, &self.key, &inner))?))
    }
}
