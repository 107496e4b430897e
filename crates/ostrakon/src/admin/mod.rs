//! The operator's commands: what is asked, what is answered, and the one function that does it.
//!
//! A command reaches the server that holds the store through `admin.sock` in the data directory
//! ([`client`], [`server`]); only when nobody holds the store does it open the directory itself. A
//! cluster is held by nobody: commands on one always open it themselves.
//! Either way [`execute`] does the work, so that both ways behave alike.

pub(crate) mod answer;
mod backup_file;
pub(crate) mod client;
mod copying;
mod kernel;
mod reach;
mod scanned;
pub(crate) mod server;
pub(crate) mod socket;
mod staked;
mod wire;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use platform::Clock;
use platform::accounts::Accounts;
use serde::{Deserialize, Serialize};

pub(crate) use answer::{Answer, VerifyAnswer};
pub(crate) use reach::{ask, refuse_if_held};
pub(crate) use staked::KeptAnswer;

use crate::opening::OpenStore;

/// What can be asked of a store, by socket or directly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Request {
    /// The tables of the program against those of the store.
    Schema,
    /// The shard report.
    Shards {
        /// A cluster size to judge beside the usual ones.
        nodes: Option<u16>,
    },
    /// Walk the store and prove what the contract promises.
    Verify,
    /// Check chains, sums, lists and intents.
    VerifyKernel,
    /// Compare the index of a tree-graph chain with a node.
    VerifyScan {
        /// The chain.
        chain: String,
        /// Address of the node; the first of the registry when it is not given.
        node: Option<String>,
        /// First and last epoch.
        epochs: Option<(u64, u64)>,
        /// So many epochs, when no range is given.
        sample: u64,
        /// Whether a digest is made too.
        digest: bool,
    },
    /// Count delegations again and compare them with the sums.
    VerifyStaking,
    /// Messages of staking that cannot be applied, newest first.
    StakingKept {
        /// Only those that are older than this one.
        before: Option<String>,
    },
    /// Take some of them once more; all of them when none is named.
    StakingReplay {
        /// Their ids.
        ids: Vec<String>,
    },
    /// Write every table into one file.
    Backup {
        /// Absolute: the server has another current directory.
        file: PathBuf,
    },
    /// Copy every table to the store of another configuration.
    Copy {
        /// Its file, absolute as well.
        to: PathBuf,
    },
    /// Make an operator's account.
    Operator {
        /// Its name.
        name: String,
        /// Its password.
        password: Hidden,
    },
}

/// Text that no log shows.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hidden(pub(crate) String);

impl std::fmt::Debug for Hidden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hidden(…)")
    }
}

/// Is told a table and its entries so far.
type Progress = Box<dyn FnMut(&str, u64) + Send>;

/// How the one who asked follows the work, and ends it.
pub(crate) struct Watch {
    progress: Progress,
    cancelled: Arc<AtomicBool>,
}

impl Watch {
    /// Calls `progress` with a table and its entries so far; stops soon after `cancelled` is set.
    pub(crate) fn new(
        progress: impl FnMut(&str, u64) + Send + 'static,
        cancelled: Arc<AtomicBool>,
    ) -> Self {
        Self { progress: Box::new(progress), cancelled }
    }

    /// Tells nobody and goes on to the end, for tests.
    #[cfg(test)]
    pub(crate) fn quiet() -> Self {
        Self::new(|_, _| {}, Arc::default())
    }

    /// Says how far the work is.
    pub(crate) fn tell(&mut self, table: &str, entries: u64) {
        (self.progress)(table, entries);
    }

    /// An error when the work is no longer wanted.
    pub(crate) fn go_on(&self) -> anyhow::Result<()> {
        if self.cancelled.load(Ordering::Relaxed) {
            anyhow::bail!("the work was given up: the one who asked has gone, or the server stops");
        }
        Ok(())
    }

    /// The flag that ends the work.
    fn cancelled(&self) -> Arc<AtomicBool> {
        self.cancelled.clone()
    }
}

/// Does what is asked.
///
/// Engines read without leaving the thread, so a walk holds it to the end: call this where blocking
/// is allowed.
pub(crate) async fn execute(
    request: &Request,
    opened: &OpenStore,
    watch: &mut Watch,
) -> anyhow::Result<Answer> {
    match request {
        Request::Schema => {
            let records = opened.engine.records().await?;
            let info = opened.engine.info().await?;
            Ok(Answer::Schema(answer::SchemaAnswer::new(&info, &records)))
        }
        Request::Shards { nodes } => {
            let report = crate::shard_report::observe(opened, *nodes, watch).await?;
            Ok(Answer::Shards(Box::new(report)))
        }
        Request::Verify => {
            let mut tell = |table: &str, entries| watch.tell(table, entries);
            let report = store::verify(opened.engine.as_ref(), &opened.schema, &mut tell).await?;
            Ok(Answer::Verify(VerifyAnswer(report)))
        }
        Request::VerifyKernel => {
            let report = kernel::verify(opened, watch).await?;
            Ok(Answer::Verify(VerifyAnswer(report)))
        }
        Request::VerifyScan { .. } => {
            let report = scanned::verify(opened, request, watch).await?;
            Ok(Answer::Verify(VerifyAnswer(report)))
        }
        Request::VerifyStaking => {
            let report = staked::verify(opened, watch).await?;
            Ok(Answer::Verify(VerifyAnswer(report)))
        }
        Request::StakingKept { before } => {
            Ok(Answer::StakingKept(staked::kept(opened, before.as_deref()).await?))
        }
        Request::StakingReplay { ids } => {
            Ok(Answer::StakingKept(staked::replay(opened, ids, watch).await?))
        }
        Request::Backup { file } => {
            let summary = backup_file::write(opened, file, watch).await?;
            Ok(Answer::Backup(summary))
        }
        Request::Copy { to } => {
            let summary = copying::run(opened, to, watch).await?;
            Ok(Answer::Copy(summary))
        }
        Request::Operator { name, password } => {
            let accounts = Accounts::new(opened.store.clone(), Clock::system())?;
            let made = accounts.make_operator(name, &password.0, index::new_op()?).await?;
            Ok(Answer::Operator(made.to_string()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_request_is_answered_in_kind() {
        let dir = tempfile::tempdir().expect("a directory");
        let opened = OpenStore::model().await;
        let file = dir.path().join("a.backup");
        let to = dir.path().join("to.toml");
        std::fs::write(&to, "").expect("written");
        for request in [
            Request::Schema,
            Request::Shards { nodes: None },
            Request::Verify,
            Request::VerifyKernel,
            Request::VerifyStaking,
            Request::StakingKept { before: None },
            Request::StakingReplay { ids: Vec::new() },
            Request::Backup { file },
            Request::Copy { to },
            Request::Operator { name: "ann".into(), password: Hidden("long and odd".into()) },
        ] {
            let answer = execute(&request, &opened, &mut Watch::quiet()).await.expect("answered");
            let fits = matches!(
                (&request, &answer),
                (Request::Schema, Answer::Schema(_))
                    | (Request::Shards { .. }, Answer::Shards(_))
                    | (Request::Verify | Request::VerifyKernel, Answer::Verify(_))
                    | (Request::VerifyStaking, Answer::Verify(_))
                    | (Request::StakingKept { .. }, Answer::StakingKept(_))
                    | (Request::StakingReplay { .. }, Answer::StakingKept(_))
                    | (Request::Backup { .. }, Answer::Backup(_))
                    | (Request::Copy { .. }, Answer::Copy(_))
                    | (Request::Operator { .. }, Answer::Operator(_))
            );
            assert!(fits, "{request:?} was answered with {answer:?}");
            let json = serde_json::to_string(&answer).expect("plain data");
            serde_json::from_str::<Answer>(&json).expect("the same shape");
        }
    }

    #[tokio::test]
    async fn cancelled_work_ends_with_an_error() {
        let opened = OpenStore::model().await;
        let mut watch = Watch::new(|_, _| {}, Arc::new(AtomicBool::new(true)));
        let request = Request::Shards { nodes: None };
        let error = execute(&request, &opened, &mut watch).await.expect_err("given up");
        assert!(error.to_string().contains("given up"));
    }
}
