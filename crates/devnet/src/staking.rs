//! Lives of delegations, and the messages in which an indexer of Bitcoin staking would tell them.
//!
//! Transactions are random bytes and spend nothing; what is told of one life is consistent.

use fastrand::Rng;
use serde_json::{Value, json};

/// Who stakes, with whom, and where Bitcoin is.
#[derive(Clone, Debug)]
pub struct World {
    /// Keys of stakers.
    pub stakers: Vec<[u8; 32]>,
    /// Keys of finality providers.
    pub providers: Vec<[u8; 32]>,
    /// The lowest height of a stake.
    pub first: u64,
    /// Over how many heights stakes begin.
    pub heights: u64,
}

/// How a delegation is taken out before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unbonding {
    /// The transaction.
    pub hash: [u8; 32],
    /// The height.
    pub start: u64,
    /// For how many blocks.
    pub timelock: u64,
}

/// What happens to one delegation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Life {
    /// The staking transaction.
    pub hash: [u8; 32],
    /// The staker.
    pub staker: [u8; 32],
    /// The finality provider.
    pub provider: [u8; 32],
    /// Satoshi.
    pub value: u64,
    /// The height at which it begins.
    pub start: u64,
    /// For how many blocks.
    pub timelock: u64,
    /// It came when no more was taken.
    pub is_overflow: bool,
    /// It is taken out before its time.
    pub unbonding: Option<Unbonding>,
    /// It is told that the stake's own timelock has passed.
    pub expires: bool,
    /// It is told that the staker has it back.
    pub is_withdrawn: bool,
    /// It is slashed, at this height.
    pub slashed: Option<u64>,
}

impl World {
    /// Keys at random.
    #[must_use]
    pub fn new(rng: &mut Rng, stakers: usize, providers: usize, first: u64, heights: u64) -> Self {
        let mut keys = |count: usize| (0..count).map(|_| bytes(rng)).collect();
        Self { stakers: keys(stakers), providers: keys(providers), first, heights }
    }

    /// A life at random. Providers are chosen unevenly, as stakers do.
    #[must_use]
    pub fn life(&self, rng: &mut Rng) -> Life {
        let favourite = |rng: &mut Rng, keys: &[[u8; 32]]| {
            let place = rng.usize(..keys.len().max(1)).min(rng.usize(..keys.len().max(1)));
            keys.get(place).copied().unwrap_or_default()
        };
        let start = self.first + rng.u64(..self.heights.max(1));
        let timelock = rng.u64(100..=60_000);
        let unbonds = rng.u8(..10) < 5;
        let unbonding = unbonds.then(|| Unbonding {
            hash: bytes(rng),
            start: start + rng.u64(1..timelock),
            timelock: 1_008,
        });
        Life {
            hash: bytes(rng),
            staker: self
                .stakers
                .get(rng.usize(..self.stakers.len().max(1)))
                .copied()
                .unwrap_or_default(),
            provider: favourite(rng, &self.providers),
            value: rng.u64(50_000..5_000_000_000),
            start,
            timelock,
            is_overflow: rng.u8(..20) == 0,
            unbonding,
            expires: rng.u8(..10) < 3,
            is_withdrawn: rng.u8(..10) < 4,
            slashed: (rng.u8(..50) == 0).then(|| start + rng.u64(1..timelock)),
        }
    }
}

impl Life {
    /// Everything that is told of it, in order, each with its queue.
    #[must_use]
    pub fn messages(&self, rng: &mut Rng) -> Vec<(&'static str, Value)> {
        let mut messages =
            vec![("active_staking_queue", self.active(rng)), ("staking_stats_queue", self.stats())];
        if let Some(found) = &self.unbonding {
            messages.push(("unbonding_staking_queue", self.unbonds(found, rng)));
            messages.push(("expired_staking_queue", self.expired("unbonding")));
        }
        if self.expires {
            messages.push(("expired_staking_queue", self.expired("active")));
        }
        if self.is_withdrawn {
            messages.push(("withdraw_staking_queue", self.withdrawn(rng)));
        }
        if let Some(height) = self.slashed {
            let hash = hex(&self.slashing_hash());
            messages.push((
                "slashed_staking_queue",
                json!({
                    "schema_version": 0, "event_type": 8, "staking_tx_hash_hex": hex(&self.hash),
                    "slashing_tx_hash_hex": hash, "slashing_tx_btc_height": height,
                }),
            ));
        }
        messages
    }

    /// That it begins.
    #[must_use]
    pub fn active(&self, rng: &mut Rng) -> Value {
        json!({
            "schema_version": 0, "event_type": 1, "staking_tx_hash_hex": hex(&self.hash),
            "staker_pk_hex": hex(&self.staker), "finality_provider_pk_hex": hex(&self.provider),
            "staking_value": self.value, "staking_start_height": self.start,
            "staking_start_timestamp": self.timestamp(self.start),
            "staking_timelock": self.timelock, "staking_output_index": 1,
            "staking_tx_hex": transaction(rng), "is_overflow": self.is_overflow,
        })
    }

    /// That it is taken out.
    #[must_use]
    pub fn unbonds(&self, unbonding: &Unbonding, rng: &mut Rng) -> Value {
        json!({
            "schema_version": 0, "event_type": 2, "staking_tx_hash_hex": hex(&self.hash),
            "unbonding_start_height": unbonding.start,
            "unbonding_start_timestamp": self.timestamp(unbonding.start),
            "unbonding_timelock": unbonding.timelock, "unbonding_output_index": 0,
            "unbonding_tx_hex": transaction(rng), "unbonding_tx_hash_hex": hex(&unbonding.hash),
        })
    }

    /// That a timelock has passed: `active` or `unbonding`.
    #[must_use]
    pub fn expired(&self, which: &str) -> Value {
        json!({
            "schema_version": 0, "event_type": 4, "staking_tx_hash_hex": hex(&self.hash),
            "tx_type": which,
        })
    }

    /// That the staker has it back, as an older or a newer indexer says it.
    #[must_use]
    pub fn withdrawn(&self, rng: &mut Rng) -> Value {
        let hash = hex(&self.hash);
        if rng.bool() {
            return json!({ "schema_version": 0, "event_type": 3, "staking_tx_hash_hex": hash });
        }
        let mut withdrawal = self.hash;
        withdrawal.reverse();
        json!({
            "schema_version": 1, "event_type": 3, "staking_tx_hash_hex": hash,
            "withdraw_tx_hash_hex": hex(&withdrawal),
            "withdraw_tx_btc_height": self.start + self.timelock + 3,
            "withdraw_tx_hex": transaction(rng),
        })
    }

    fn stats(&self) -> Value {
        json!({
            "schema_version": 1, "event_type": 5, "staking_tx_hash_hex": hex(&self.hash),
            "staker_pk_hex": hex(&self.staker), "finality_provider_pk_hex": hex(&self.provider),
            "staking_value": self.value, "state": "active", "is_overflow": self.is_overflow,
        })
    }

    fn slashing_hash(&self) -> [u8; 32] {
        self.hash.map(|byte| !byte)
    }

    /// Ten minutes a block, since the first one.
    fn timestamp(&self, height: u64) -> u64 {
        1_231_006_505 + height * 600
    }
}

/// What an indexer says of the whole.
#[must_use]
pub fn btc_info(height: u64, confirmed: u64, unconfirmed: u64) -> Value {
    json!({
        "schema_version": 0, "event_type": 6, "height": height,
        "confirmed_tvl": confirmed, "unconfirmed_tvl": unconfirmed,
    })
}

fn bytes(rng: &mut Rng) -> [u8; 32] {
    let mut bytes = [0; 32];
    rng.fill(&mut bytes);
    bytes
}

fn transaction(rng: &mut Rng) -> String {
    let mut bytes = vec![0; rng.usize(200..420)];
    rng.fill(&mut bytes);
    hex(&bytes)
}

/// Bytes in lower case.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
