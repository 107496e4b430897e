//! Why something about a project failed.

use crate::ListCursorError;
use crate::guarded::{StoreError, store_failures};

use super::USER_PROJECTS_LIMIT;

/// Why a project was not changed. Nothing was written, unless the outcome is unknown.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectError {
    /// The name breaks a rule.
    #[error("the project's name is not possible; use 1 to 64 characters that can be printed")]
    Name,
    /// There is no such chain, or it is not served.
    #[error("there is no chain {name}, or it is not served; list the chains and choose one")]
    Chain {
        /// What was asked for.
        name: String,
    },
    /// Too many projects.
    #[error(
        "you have made {USER_PROJECTS_LIMIT} projects, deleted ones included, which is the limit; \
         rename one you have, or use another account"
    )]
    Full,
    /// There is no such project, or it is somebody else's, or it was deleted.
    #[error("you have no such project; list your projects again")]
    Missing,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a list or a count was not read.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListError {
    /// The page is empty or too long.
    #[error("a page has 1 to {most} projects; ask for as many")]
    Limit {
        /// The most.
        most: usize,
    },
    /// The cursor does not belong here.
    #[error(transparent)]
    Cursor(#[from] ListCursorError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a key opens nothing.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// There is no such project, or this is not its key; nobody is told which.
    #[error("the project id or its key is wrong; look at both, or rotate the key")]
    Wrong,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

store_failures!(ProjectError, ListError, KeyError);
