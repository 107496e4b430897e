//! A stream of staking events, as an indexer would send them: told twice, out of order, and now and
//! then something that cannot be read.

use std::time::Duration;

use devnet::staking::{Life, World, btc_info};
use fastrand::Rng;
use serde_json::Value;
use staking::{BATCH, Intake as _, Message, Staking};

/// Where Bitcoin is when the demo begins.
const HEIGHT: u64 = 865_000;
/// Blocks of Bitcoin that have passed since the first stake.
const PAST: u64 = 7_000;
/// Lives that are told at the start.
const LIVES: usize = 1_500;
/// How often something happens.
const PERIOD: Duration = Duration::from_millis(1_500);
/// Delegations that are remembered for later steps.
const REMEMBERED: usize = 500;

/// A world whose events are told.
#[derive(Debug)]
pub(super) struct Indexer {
    staking: Staking,
    world: World,
    rng: Rng,
    height: u64,
    open: Vec<Life>,
}

impl Indexer {
    /// Tells what happened before.
    pub(super) async fn start(staking: Staking) -> Self {
        let mut rng = Rng::new();
        let world = World::new(&mut rng, 300, 24, HEIGHT - PAST, PAST);
        let mut indexer = Self { staking, world, rng, height: HEIGHT, open: Vec::new() };
        let mut messages = Vec::new();
        for _ in 0..LIVES {
            let life = indexer.world.life(&mut indexer.rng);
            // What lies ahead of Bitcoin has not happened yet.
            let told = indexer.so_far(&life);
            messages.extend(told.messages(&mut indexer.rng));
            if told.unbonding.is_none() {
                indexer.open.push(told);
            }
        }
        indexer.rng.shuffle(&mut messages);
        messages.push(("btc_info_queue", indexer.info().await));
        indexer.tell(messages).await;
        indexer
    }

    /// A life without what Bitcoin has not reached.
    fn so_far(&self, life: &Life) -> Life {
        let mut life = life.clone();
        life.unbonding = life.unbonding.filter(|unbonding| unbonding.start <= self.height);
        life.slashed = life.slashed.filter(|height| *height <= self.height);
        life.expires = false;
        let ended = life.unbonding.is_some_and(|it| it.start + it.timelock <= self.height);
        life.is_withdrawn &= ended;
        life
    }

    async fn info(&self) -> Value {
        let overall = self.staking.overall().await.unwrap_or_default();
        let confirmed = overall.standing.active_tvl;
        btc_info(self.height, confirmed, confirmed + 150_000_000)
    }

    /// Goes on for as long as the demo runs.
    pub(super) async fn run(mut self) {
        loop {
            tokio::time::sleep(PERIOD).await;
            let mut messages = Vec::new();
            self.world.first = self.height;
            self.world.heights = 1;
            for _ in 0..self.rng.usize(1..4) {
                let mut life = self.world.life(&mut self.rng);
                (life.unbonding, life.slashed) = (None, None);
                (life.expires, life.is_withdrawn) = (false, false);
                let active = life.active(&mut self.rng);
                messages.push(("active_staking_queue", active));
                self.open.push(life);
            }
            if self.rng.u8(..3) == 0 && !self.open.is_empty() {
                let life = self.open.swap_remove(self.rng.usize(..self.open.len()));
                let unbonding = devnet::staking::Unbonding {
                    hash: life.hash.map(|byte| byte.wrapping_add(1)),
                    start: self.height,
                    timelock: 1_008,
                };
                messages.push(("unbonding_staking_queue", life.unbonds(&unbonding, &mut self.rng)));
            }
            if self.rng.u8(..4) == 0 {
                self.height += 1;
                messages.push(("btc_info_queue", self.info().await));
            }
            if self.rng.u8(..40) == 0 {
                messages.push(("active_staking_queue", Value::from("a rubbish message")));
            }
            let again = messages.first().filter(|_| self.rng.bool()).cloned();
            messages.extend(again);
            self.tell(messages).await;
            self.open.truncate(REMEMBERED);
        }
    }

    async fn tell(&self, messages: Vec<(&'static str, Value)>) {
        let message = |(queue, value): &(&'static str, Value)| Message {
            source: (*queue).to_owned(),
            body: value.to_string().into_bytes(),
        };
        for batch in messages.chunks(BATCH) {
            let taken = self.staking.take(batch.iter().map(message).collect()).await;
            tracing::debug!(events = taken.len(), "staking events were told");
        }
    }
}
