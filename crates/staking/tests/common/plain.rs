//! A plain list of lives, and what they add up to.

use std::collections::{BTreeMap, BTreeSet};

use devnet::staking::{Life, World};
use fastrand::Rng;
use staking::{Overall, Standing};

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
