//! What every test of the service needs: a store, messages of many lives, and a plain list that
//! says what they must add up to.
#![allow(dead_code, reason = "each test uses a part of it")]

pub(crate) mod scenarios;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use devnet::staking::{Life, World};
use fastrand::Rng;
use platform::Clock;
use staking::{Intake as _, Message, Overall, PublicKey, Settings, Staking, Standing, Taken};
use store::{ModelEngine, Schema, Store};

/// Full counts, as the issue has them, or reduced ones.
pub(crate) fn full() -> bool {
    std::env::var_os("OSTRAKON_FULL").is_some()
}

/// A seed that is printed, so that a failure can be seen again.
pub(crate) fn seeded() -> Rng {
    let seed = match std::env::var("OSTRAKON_SEED") {
        Ok(seed) => seed.parse().expect("a number"),
        Err(_) => fastrand::u64(..),
    };
    println!("seed {seed} (OSTRAKON_SEED)");
    Rng::with_seed(seed)
}

/// The tables that the service needs.
pub(crate) fn schema() -> Schema {
    let mut tables = staking::tables::tables();
    tables.extend(tally::tables());
    tables.extend(platform::tables());
    Schema::new(tables)
}

/// Staking on the model engine.
pub(crate) fn on_model(settings: Settings) -> Staking {
    let store = Store::new(Arc::new(ModelEngine::default()), 0);
    Staking::new(store, Clock::system(), None, settings).expect("settings")
}

/// Lives, and what they add up to.
#[derive(Debug, Default)]
pub(crate) struct Plain {
    pub(crate) lives: Vec<Life>,
    /// The height of Bitcoin.
    pub(crate) height: u64,
}

impl Plain {
    pub(crate) fn new(world: &World, count: usize, rng: &mut Rng) -> Self {
        Self { lives: (0..count).map(|_| world.life(rng)).collect(), height: 0 }
    }

    /// All messages, some of them twice, in any order.
    pub(crate) fn shuffled(
        &self,
        doubled_percent: u8,
        rng: &mut Rng,
    ) -> Vec<(&'static str, Vec<u8>)> {
        let mut messages = Vec::new();
        for life in &self.lives {
            for (queue, message) in life.messages(rng) {
                let body = message.to_string().into_bytes();
                if rng.u8(..100) < doubled_percent {
                    messages.push((queue, body.clone()));
                }
                messages.push((queue, body));
            }
        }
        rng.shuffle(&mut messages);
        messages
    }

    fn is_active(&self, life: &Life) -> bool {
        let ran_out = life.expires || life.start + life.timelock <= self.height;
        life.unbonding.is_none() && life.slashed.is_none() && !ran_out
    }

    fn add(&self, standing: &mut Standing, life: &Life) {
        if life.is_overflow {
            return;
        }
        let active = u64::from(self.is_active(life));
        standing.active_tvl += active * life.value;
        standing.total_tvl += life.value;
        standing.active_delegations += active;
        standing.total_delegations += 1;
    }

    pub(crate) fn standing(&self, of: impl Fn(&Life) -> bool) -> Standing {
        let mut standing = Standing::default();
        self.lives.iter().filter(|life| of(life)).for_each(|life| self.add(&mut standing, life));
        standing
    }

    pub(crate) fn overall(&self) -> Overall {
        let counted = || self.lives.iter().filter(|life| !life.is_overflow);
        let total: BTreeSet<_> = counted().map(|life| life.staker).collect();
        let active: BTreeSet<_> =
            counted().filter(|life| self.is_active(life)).map(|life| life.staker).collect();
        Overall {
            standing: self.standing(|_| true),
            total_stakers: total.len() as u64,
            active_stakers: active.len() as u64,
            height: self.height,
            ..Overall::default()
        }
    }

    /// What is staked at a height, by what is told of heights alone.
    pub(crate) fn as_of(&self, height: u64) -> Standing {
        let mut standing = Standing::default();
        for life in self.lives.iter().filter(|life| !life.is_overflow && life.start <= height) {
            let unbonds = life.unbonding.map(|unbonding| unbonding.start);
            let leaves = [Some(life.start + life.timelock), unbonds, life.slashed];
            let leaves = leaves.into_iter().flatten().min().expect("its own end");
            let active = u64::from(leaves > height);
            standing.active_tvl += active * life.value;
            standing.total_tvl += life.value;
            standing.active_delegations += active;
            standing.total_delegations += 1;
        }
        standing
    }

    pub(crate) fn by<K: Ord>(&self, key: impl Fn(&Life) -> K) -> BTreeMap<K, Standing> {
        let mut standings = BTreeMap::new();
        for life in &self.lives {
            self.add(standings.entry(key(life)).or_default(), life);
        }
        standings
    }
}

/// Hands messages over in batches, and counts the answers that are neither applied nor repeated.
pub(crate) async fn feed(staking: &Staking, messages: Vec<(&'static str, Vec<u8>)>, batch: usize) {
    for batch in messages.chunks(batch) {
        let messages: Vec<Message> = (batch.iter())
            .map(|(queue, body)| Message { source: (*queue).to_owned(), body: body.clone() })
            .collect();
        for taken in staking.take(messages).await {
            assert!(!matches!(taken, Taken::Later(_) | Taken::Unprocessable(_)), "{taken:?}");
        }
    }
}

/// Compares everything with the plain list.
pub(crate) async fn compare(staking: &Staking, plain: &Plain) {
    assert_eq!(staking.overall().await.expect("read"), plain.overall());
    let mut providers = BTreeMap::new();
    let mut after = None;
    loop {
        let page = staking.providers(after, 7).await.expect("read");
        assert!(page.rows.is_sorted_by_key(|(_, standing)| std::cmp::Reverse(standing.active_tvl)));
        for (PublicKey(key), standing) in page.rows {
            assert_eq!(providers.insert(key, standing), None, "a row twice");
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(providers, plain.by(|life| life.provider));
    compare_stakers(staking, plain).await;
    for height in heights(plain) {
        let found = staking.as_of(staking::BtcHeight(height)).await.expect("read");
        assert_eq!(found, plain.as_of(height), "as of {height}");
    }
}

async fn compare_stakers(staking: &Staking, plain: &Plain) {
    let mut expected = plain.by(|life| life.staker);
    expected.retain(|_, standing| standing.total_delegations > 0);
    let mut stakers = BTreeMap::new();
    let mut after = None;
    loop {
        let page = staking.stakers(after, 37).await.expect("read");
        for (PublicKey(key), standing) in page.rows {
            assert_eq!(stakers.insert(key, standing), None, "a row twice");
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(stakers, expected);
    for (key, standing) in expected.iter().take(50) {
        let found = staking.staker(PublicKey(*key)).await.expect("read");
        assert_eq!(found.as_ref(), Some(standing));
    }
}

fn heights(plain: &Plain) -> Vec<u64> {
    let mut heights: Vec<u64> = plain.lives.iter().take(20).map(|life| life.start).collect();
    heights.extend(plain.lives.iter().take(20).map(|life| life.start + life.timelock));
    heights.extend([0, 9_000_000]);
    heights
}
