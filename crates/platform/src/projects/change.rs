//! Creating, renaming, rotating keys, deleting: one change each, with consequences by rank.

use bytes::Bytes;
use index::{ChangeError, Effects, Lists};
use store::{EngineError, OpId, Store, Version};
use tally::Tallies;
use tokio::sync::watch;

use std::sync::Arc;

use crate::accounts::UserId;
use crate::chains::{ChainName, Chains};
use crate::clock::Clock;
use crate::guarded::{Attempts, StoreError, commit_of};
use crate::secret::{Secret, SecretHash};
use crate::tables::{PROJECTS, USER_PROJECTS};

use super::calls::calls;
use super::record::check_name;
use super::{
    BY_CREATED, KEY_PREFIX, Pid, Project, ProjectError, ProjectRecord, Status, USER_PROJECTS_LIMIT,
};

/// Projects in a store. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Projects {
    pub(super) store: Store,
    pub(super) lists: Lists,
    pub(super) tallies: Tallies,
    effects: Effects,
    chains: watch::Receiver<Arc<Chains>>,
    clock: Clock,
}

/// A project to be made.
#[derive(Clone, Debug)]
pub struct NewProject {
    /// Whose it is.
    pub uid: UserId,
    /// For which chain.
    pub chain: String,
    /// What its owner calls it.
    pub name: String,
}

/// A project that was made.
#[derive(Clone, Debug)]
pub struct Created {
    /// The project.
    pub project: Project,
    /// Its key, shown this once; none when the same operation had made the project before. Then
    /// rotate the key to get one.
    pub key: Option<Secret>,
}

/// A project with a new key.
#[derive(Clone, Debug)]
pub struct Rotated {
    /// The project.
    pub project: Project,
    /// The key, shown this once; none when the same operation had rotated it before.
    pub key: Option<Secret>,
}

/// What a project's key is hashed for: the hash of one project's key is of no use for another.
pub(super) fn key_hash(pid: Pid, key: &str) -> SecretHash {
    SecretHash::of(&format!("project {pid}"), key)
}

/// What the key of a project begins with: a key names its project.
pub(super) fn key_prefix(pid: Pid) -> String {
    format!("{KEY_PREFIX}{pid}_")
}

impl Projects {
    /// Projects in `store`. `effects` must know the lists of [`lists`](crate::lists) and
    /// [`TallyCalls`](crate::TallyCalls); somebody must run its driver.
    #[must_use]
    pub fn new(
        store: Store,
        effects: Effects,
        tallies: Tallies,
        chains: watch::Receiver<Arc<Chains>>,
        clock: Clock,
    ) -> Self {
        let lists = Lists::new(store.clone());
        Self { store, lists, tallies, effects, chains, clock }
    }

    /// A project by its id, deleted ones included.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn find(&self, pid: Pid) -> Result<Option<Project>, StoreError> {
        let record = self.store.get(&PROJECTS, &pid, &()).await?;
        Ok(record.map(|record| record.shown(pid)))
    }

    /// Makes a project.
    ///
    /// # Errors
    /// When name or chain are not possible, or the owner has too many.
    pub async fn create(&self, new: NewProject, op: OpId) -> Result<Created, ProjectError> {
        let name = check_name(&new.name)?;
        let pid = Pid::of(&new.uid, op);
        let key = Secret::new(&key_prefix(pid))?;
        let mut attempts = Attempts::of(PROJECTS.def().name());
        loop {
            let seen = self.store.get_versioned(&PROJECTS, &pid, &()).await?;
            if let Some(there) = seen.value {
                return Ok(Created { project: there.shown(pid), key: None });
            }
            let chain = self.served_chain(&new.chain)?;
            self.check_room(&new.uid).await?;
            let now = self.clock.now();
            let record = ProjectRecord {
                uid: new.uid.clone(),
                chain,
                name: name.clone(),
                key: key_hash(pid, key.reveal()),
                createtime: now,
                lasttime: now,
                status: Status::Active,
                changed_by: u128::from_be_bytes(op.0),
            };
            match self.apply(pid, seen.version, &record, true, op).await? {
                Done::Now => return Ok(Created { project: record.shown(pid), key: Some(key) }),
                // Read again: somebody, or this operation itself, was faster.
                Done::Before | Done::Not => attempts.again().await?,
            }
        }
    }

    /// Gives a project another name.
    ///
    /// # Errors
    /// When the name is not possible, or the project is not the user's.
    pub async fn rename(
        &self,
        by: &UserId,
        pid: Pid,
        name: &str,
        op: OpId,
    ) -> Result<Project, ProjectError> {
        let name = check_name(name)?;
        let change = |record: &mut ProjectRecord| record.name.clone_from(&name);
        Ok(self.change(by, pid, op, false, change).await?.0)
    }

    /// Gives a project another key. The old one opens nothing from then on (a process may remember
    /// it for some seconds, see [`Keys`](super::Keys)).
    ///
    /// # Errors
    /// When the project is not the user's.
    pub async fn rotate_key(
        &self,
        by: &UserId,
        pid: Pid,
        op: OpId,
    ) -> Result<Rotated, ProjectError> {
        let key = Secret::new(&key_prefix(pid))?;
        let hash = key_hash(pid, key.reveal());
        let (project, made) = self.change(by, pid, op, false, |record| record.key = hash).await?;
        Ok(Rotated { project, key: made.then_some(key) })
    }

    /// Deletes a project: it leaves all lists and counts, and its key opens nothing.
    ///
    /// # Errors
    /// When the project is not the user's.
    pub async fn delete(&self, by: &UserId, pid: Pid, op: OpId) -> Result<Project, ProjectError> {
        let change = |record: &mut ProjectRecord| record.status = Status::Deleted;
        Ok(self.change(by, pid, op, true, change).await?.0)
    }

    /// Changes a project of `by`; says also whether it was done just now.
    async fn change(
        &self,
        by: &UserId,
        pid: Pid,
        op: OpId,
        counts: bool,
        change: impl Fn(&mut ProjectRecord),
    ) -> Result<(Project, bool), ProjectError> {
        let changed_by = u128::from_be_bytes(op.0);
        let mut attempts = Attempts::of(PROJECTS.def().name());
        loop {
            let seen = self.store.get_versioned(&PROJECTS, &pid, &()).await?;
            let there = seen.value.filter(|there| there.uid == *by).ok_or(ProjectError::Missing)?;
            if there.changed_by == changed_by {
                return Ok((there.shown(pid), false));
            }
            if there.status == Status::Deleted {
                return Err(ProjectError::Missing);
            }
            let mut record = there;
            change(&mut record);
            // A clock that was set back must not take a project back in its lists.
            record.lasttime = self.clock.now().max(record.lasttime);
            record.changed_by = changed_by;
            match self.apply(pid, seen.version, &record, counts, op).await? {
                Done::Now => return Ok((record.shown(pid), true)),
                // Done under this operation id before, and changed by others since.
                Done::Before => {
                    let now = self.store.get(&PROJECTS, &pid, &()).await?;
                    let now = now.ok_or(ProjectError::Missing)?;
                    return Ok((now.shown(pid), false));
                }
                Done::Not => attempts.again().await?,
            }
        }
    }

    async fn apply(
        &self,
        pid: Pid,
        version: Version,
        record: &ProjectRecord,
        counts: bool,
        op: OpId,
    ) -> Result<Done, ProjectError> {
        let calls = calls(pid, record, version.next().0, counts).map_err(|error| {
            EngineError::new(error.to_string(), "report this as a bug: names are bounded")
        })?;
        let changes = vec![PROJECTS.insert(&(), record)];
        let commit = commit_of(&PROJECTS, &pid, version, changes, op, Bytes::new())?;
        match self.effects.change(commit, calls).await {
            Ok(changed) if changed.repeated => Ok(Done::Before),
            Ok(_) => Ok(Done::Now),
            Err(ChangeError::Conflict { .. }) => Ok(Done::Not),
            Err(error) => Err(error.into()),
        }
    }

    fn served_chain(&self, name: &str) -> Result<ChainName, ProjectError> {
        let served = self.chains.borrow().served(name).map(|chain| chain.name.clone());
        served.ok_or_else(|| ProjectError::Chain { name: name.chars().take(64).collect() })
    }

    /// A user who creates at the same time from many places may go beyond the limit by as many; the
    /// lists have room for that.
    async fn check_room(&self, user: &UserId) -> Result<(), ProjectError> {
        let key = (user.clone(), String::new(), BY_CREATED);
        let known = self.lists.counts(&USER_PROJECTS, &key).await?.known;
        if known < USER_PROJECTS_LIMIT { Ok(()) } else { Err(ProjectError::Full) }
    }
}

/// What became of a change.
enum Done {
    Now,
    Before,
    Not,
}
