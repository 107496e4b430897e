//! Why something did not happen, and what to do.

use std::time::Duration;

use store::{BoundError, CommitError, PutError, ReadError};

use crate::{Height, Lane};

/// Why a view could not be taken or used.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// The store could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The view is older than the sweep delay: rows it sees may be gone.
    #[error("the view is {age:?} old, rows are kept for {limit:?}; take a new view and go on")]
    Expired {
        /// Its age.
        age: Duration,
        /// The sweep delay.
        limit: Duration,
    },
    /// A sealed segment that the tip names is not there.
    #[error("a segment of hidden units is missing; run `ostrakon verify` and restore a backup")]
    Segment,
}

impl From<BoundError> for ViewError {
    fn from(error: BoundError) -> Self {
        Self::Read(error.into())
    }
}

/// Why a writer could not get the lease.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LeadError {
    /// The tip could not be read.
    #[error(transparent)]
    View(#[from] ViewError),
    /// The lease could not be written.
    #[error(transparent)]
    Commit(#[from] CommitError),
}

/// Why a branch was not published.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PublishError {
    /// Another writer has the lease now, or changed the tip. Nothing of this attempt is visible,
    /// and its numbers will never be: lead again and begin anew.
    #[error("another writer went on; lead again and begin anew from the new tip")]
    Lost,
    /// Whether it was published is unknown. Lead again: the tip tells.
    #[error("the outcome is unknown ({0}); lead again and look at the tip")]
    Unknown(CommitError),
    /// A lane was cut above its head.
    #[error("lane {} was to be cut at height {} but does not reach it", lane.0, height.0)]
    NoSuchHeight {
        /// The lane.
        lane: Lane,
        /// The height.
        height: Height,
    },
    /// The units of an attempt do not fit what was reserved, or do not link.
    #[error("{0}; this is a mistake in the caller")]
    Misused(&'static str),
    /// The store could not be read.
    #[error(transparent)]
    View(#[from] ViewError),
    /// Rows could not be written.
    #[error(transparent)]
    Put(#[from] PutError),
    /// The tip could not be written.
    #[error(transparent)]
    Commit(CommitError),
}

impl From<BoundError> for PublishError {
    fn from(error: BoundError) -> Self {
        Self::View(error.into())
    }
}

impl From<ReadError> for PublishError {
    fn from(error: ReadError) -> Self {
        Self::View(error.into())
    }
}

/// Why the journal could not be followed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FollowError {
    /// The store could not be read.
    #[error(transparent)]
    View(#[from] ViewError),
    /// A switch that must be there is not.
    #[error("switch {0} is missing from the journal; run `ostrakon verify`")]
    Missing(u64),
}

impl From<ReadError> for FollowError {
    fn from(error: ReadError) -> Self {
        Self::View(error.into())
    }
}

impl From<BoundError> for FollowError {
    fn from(error: BoundError) -> Self {
        Self::View(error.into())
    }
}
