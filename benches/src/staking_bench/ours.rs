//! Our side at the call that takes messages, on the embedded engine, in this process: it reads the
//! messages, keeps delegations with their transactions, lists, boards and heights beside the sums,
//! and syncs before it answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use platform::Clock;
use staking::{Intake as _, Message, PublicKey, Settings, Staking, Standing, Taken};
use store::{Engine, Schema};
use store_fjall::{FjallEngine, Options};
use tempfile::TempDir;
use tokio::task::JoinSet;

use super::events::Event;
use super::statistics::{Statistics, Sums};
use super::{Measured, Side, messages};
use crate::measure::Cost;

/// Rows of a page.
const PAGE: usize = 100;

/// How messages are handed over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ours {
    /// At the same time.
    pub(crate) callers: usize,
    /// Messages of a call.
    pub(crate) batch: usize,
    pub(crate) shards: u16,
}

impl Side for Ours {
    fn name(&self) -> String {
        let Self { callers, batch, shards } = self;
        format!("ostrakon: {callers} callers, {shards} shards, {batch} a call")
    }

    fn run(&mut self, events: &[Event]) -> anyhow::Result<Measured> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build()?;
        let Store { staking, directory } = self.open()?;
        let message = |event: &Event| Message {
            source: "bench".to_owned(),
            body: messages::message(event).into_bytes(),
        };
        let mut told: Vec<Vec<Vec<Message>>> = vec![Vec::new(); self.callers];
        for (number, batch) in events.chunks(self.batch).enumerate() {
            if let Some(of_caller) = told.get_mut(number % self.callers) {
                of_caller.push(batch.iter().map(message).collect());
            }
        }
        let meter = Cost::begin();
        runtime.block_on(take(&staking, told))?;
        let client = meter.end();
        let statistics = runtime.block_on(statistics(&staking))?;
        runtime.shutdown_timeout(std::time::Duration::from_secs(5));
        drop(directory);
        Ok(Measured { client, server: std::time::Duration::ZERO, statistics })
    }
}

/// The service on a new store, and where that is.
pub(crate) struct Store {
    pub(crate) staking: Staking,
    pub(crate) directory: TempDir,
}

impl Ours {
    /// Begins with nothing.
    pub(crate) fn open(&self) -> anyhow::Result<Store> {
        let directory = tempfile::tempdir()?;
        let schema = Schema::new(staking::tables::tables().into_iter().chain(tally::tables()));
        let engine = Arc::new(FjallEngine::open(&Options::new(directory.path()), &schema)?);
        let store = store::Store::new(engine as Arc<dyn Engine>, 0);
        let settings = Settings { shards: self.shards, ..Settings::default() };
        let staking = Staking::new(store, Clock::system(), None, settings)?;
        Ok(Store { staking, directory })
    }
}

async fn take(staking: &Staking, told: Vec<Vec<Vec<Message>>>) -> anyhow::Result<()> {
    let mut callers = JoinSet::new();
    for batches in told {
        let staking = staking.clone();
        callers.spawn(async move {
            for batch in batches {
                for taken in staking.take(batch).await {
                    if let Taken::Later(reason) | Taken::Unprocessable(reason) = taken {
                        anyhow::bail!("an event was not taken: {reason}");
                    }
                }
            }
            Ok(())
        });
    }
    while let Some(done) = callers.join_next().await {
        done??;
    }
    Ok(())
}

/// All sums, as they are answered.
pub(crate) async fn statistics(staking: &Staking) -> anyhow::Result<Statistics> {
    let overall = sums(&staking.overall().await?.standing);
    let (mut providers, mut stakers) = (BTreeMap::new(), BTreeMap::new());
    let mut after = None;
    loop {
        let page = staking.providers(after, PAGE).await?;
        providers.extend(page.rows.iter().map(named));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    loop {
        let page = staking.stakers(after, PAGE).await?;
        stakers.extend(page.rows.iter().map(named));
        after = page.next;
        if after.is_none() {
            return Ok(Statistics { overall, providers, stakers });
        }
    }
}

fn named((key, standing): &(PublicKey, Standing)) -> (String, Sums) {
    (key.to_string(), sums(standing))
}

fn sums(standing: &Standing) -> Sums {
    let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    Sums {
        active_tvl: number(standing.active_tvl),
        total_tvl: number(standing.total_tvl),
        active_delegations: number(standing.active_delegations),
        total_delegations: number(standing.total_delegations),
    }
}
