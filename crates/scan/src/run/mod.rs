//! Keeps chains up to date: one writer for each, wherever the lease is.
//!
//! ```text
//!   registry ──► a runner for each chain ──► lease ──► follow ── sweep ── tell
//!                                            │          │
//!                     another process has it ┘          └ a node fails: the next one
//! ```

mod progress;
mod runner;
mod sweeper;
mod teller;
mod wake;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use platform::chains::{Chain, ChainName};
use platform::events::Events;
use platform::outgoing::NodeClient;
use tokio::task::JoinHandle;

use crate::explorer::Explorers;

pub use progress::{Counter, Progress};
pub use runner::Runner;
pub use sweeper::sweep;
pub use teller::TellError;

/// How often the registry is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// A task that runs for as long as this is kept.
struct Task(JoinHandle<()>);

impl Task {
    fn spawn(work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(work))
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A chain as its runner was begun with; no runner when that failed, and is not tried again until
/// the chain changes.
struct Running {
    chain: Chain,
    _task: Option<Task>,
}

/// Follows the nodes of all chains for ever: chains that are added are begun, chains that are
/// changed are begun anew, chains that are taken out are left. End it by dropping the future.
pub async fn run(explorers: Explorers, events: Events, client: Arc<NodeClient>) {
    let mut running: BTreeMap<ChainName, Running> = BTreeMap::new();
    loop {
        let chains = explorers.all();
        running.retain(|name, run| {
            chains.iter().any(|(_, chain)| chain.name == *name && *chain == run.chain)
        });
        for (explorer, chain) in chains {
            if running.contains_key(&chain.name) || chain.nodes.is_empty() {
                continue;
            }
            let runner = Runner::new(explorer, &chain, events.clone(), client.clone());
            let task = match runner {
                Ok(runner) => Some(Task::spawn(async move { runner.run().await })),
                Err(error) => {
                    tracing::error!(chain = %chain.name, %error, "the chain is not indexed");
                    None
                }
            };
            running.insert(chain.name.clone(), Running { chain, _task: task });
        }
        tokio::time::sleep(LOOK).await;
    }
}
