//! Why an event was not appended or read.

use crate::guarded::{StoreError, store_failures};

use super::{EVENTS_PER_APPEND, EVENTS_PER_PAGE};

/// What is wrong with an event or a filter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} of the event is not possible: {remedy}")]
pub struct EventError {
    /// The field.
    pub field: &'static str,
    /// What to do about it.
    pub remedy: &'static str,
}

/// Why events were not appended. None was, unless the outcome is unknown.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AppendError {
    /// None, or too many at a time.
    #[error("an append has 1 to {EVENTS_PER_APPEND} events, not {0}; split it")]
    Count(usize),
    /// Together too large.
    #[error("the events have {size} bytes together, the limit is {limit}; split them, or say less")]
    Bytes {
        /// Their size.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// One is wrong.
    #[error(transparent)]
    Event(#[from] EventError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why events were not read.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadEventsError {
    /// The page is empty or too long.
    #[error("a page has 1 to {EVENTS_PER_PAGE} events; ask for as many")]
    Limit,
    /// The events behind this id are gone.
    #[error("events before {first} are gone; read on after {}", first - 1)]
    Gone {
        /// The first that is there.
        first: u64,
    },
    /// No event has this id yet.
    #[error("the newest event is {newest}; read on after that, or after an earlier one")]
    Ahead {
        /// The newest there is; 0 when there is none.
        newest: u64,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a feed gave no event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FeedError {
    /// The subscriber was too slow, or began further back.
    #[error("events behind {last} were passed over here; read on after it, then resume the feed")]
    Lagged {
        /// The last event the feed accounted for.
        last: u64,
    },
    /// The program ends.
    #[error("the event feed has ended; connect again")]
    Closed,
}

store_failures!(AppendError, ReadEventsError);
