//! Projects: an id and a key for a chain, owned by a user. The module Project of paper 003.
//!
//! ```text
//!   create, rename, rotate, delete
//!        │  one change: intent, commit, calls by rank
//!        ▼
//!   platform.projects        hashed by project id; the version is the rank of all that follows
//!        ├─► platform.user_projects    per user, per user and chain; by creation, by update
//!        ├─► platform.chain_projects   per chain, 16 shards;          by creation, by update
//!        └─► tally                     all projects, projects of a chain
//! ```
//!
//! - **The commit of the project decides**; lists and counts follow by rank, exactly once, and a
//!   driver finishes what a crash left.
//! - **A project is deleted by its status.** Its row stays, so that its id is never given again.
//! - **A key is shown once.** Only its hash is stored; a new one takes its place at once.
//! - **The id of a project is a function of its owner and the operation** that creates it, random
//!   as the operation id is. So a repeated request meets the project it made before.

mod calls;
mod change;
mod error;
mod keys;
mod pid;
mod query;
mod record;

pub use change::{Created, NewProject, Projects, Rotated};
pub use error::{KeyError, ListError, ProjectError};
pub use keys::{Access, Keys};
pub use pid::Pid;
pub use query::{By, ListRequest, ProjectPage, Which};
pub use record::{Project, ProjectLine, ProjectRecord, Status};

pub(crate) use pid::Position;
pub(crate) use query::{BY_CREATED, BY_UPDATED};

/// Projects a user may ever have made, deleted ones included: lists keep their ranks.
pub const USER_PROJECTS_LIMIT: u64 = 1_000;
/// Partitions over which the projects of a chain are spread. A list carries 49,999 entries well, so
/// a chain carries about 800,000.
pub(crate) const CHAIN_SHARDS: u8 = 16;
/// What a project's key begins with, so that scanners of leaked secrets know it.
pub const KEY_PREFIX: &str = "osk_";
