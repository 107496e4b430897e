//! What is answered.

use serde::Serialize;
use utoipa::ToSchema;

use crate::delegation::State;
use crate::event::Lock;
use crate::hex::Hex;
use crate::life::Event;
use crate::query::Listed;
use crate::{PublicKey, Standing};

/// Sums.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[schema(as = StakingSums)]
pub(super) struct Sums {
    /// Staked and not taken out, satoshi.
    active_tvl: u64,
    /// Ever staked, satoshi.
    total_tvl: u64,
    /// Delegations that are staked.
    active_delegations: u64,
    /// Delegations there ever were.
    total_delegations: u64,
}

impl From<Standing> for Sums {
    fn from(standing: Standing) -> Self {
        let Standing { active_tvl, total_tvl, active_delegations, total_delegations } = standing;
        Self { active_tvl, total_tvl, active_delegations, total_delegations }
    }
}

/// A staker or a finality provider with its sums.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StakingParty)]
pub(super) struct Party {
    /// The public key.
    key: String,
    /// Its sums.
    #[serde(flatten)]
    sums: Sums,
}

impl Party {
    pub(super) fn new((key, standing): (PublicKey, Standing)) -> Self {
        Self { key: key.to_string(), sums: standing.into() }
    }
}

/// A transaction that locks a stake.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StakingLock)]
struct Locking {
    /// The transaction, hexadecimal.
    tx_hex: String,
    /// The output that is locked.
    output_index: u32,
    /// The height at which it begins.
    start_height: u64,
    /// When that was, Unix seconds.
    start_timestamp: u64,
    /// For how many blocks.
    timelock: u16,
    /// The height at which the lock has passed.
    end_height: u64,
}

impl From<Lock<'_>> for Locking {
    fn from(lock: Lock<'_>) -> Self {
        Self {
            tx_hex: Hex(lock.tx).to_string(),
            output_index: lock.output,
            start_height: lock.start.0,
            start_timestamp: lock.timestamp,
            timelock: lock.timelock.0,
            end_height: lock.end().0,
        }
    }
}

/// Something that happened to a delegation.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StakingHistory)]
pub(super) struct Happened {
    /// The state it led to, or the step that waits.
    what: &'static str,
    /// The height of Bitcoin, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    height: Option<u64>,
    /// The transaction, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    tx_hash_hex: Option<String>,
    /// It waits for an earlier step.
    is_parked: bool,
}

/// A delegation.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StakingDelegation)]
pub(super) struct Delegation {
    /// The hash of the staking transaction.
    staking_tx_hash_hex: String,
    /// How far it is; absent while only later steps are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'static str>,
    /// The staker.
    #[serde(skip_serializing_if = "Option::is_none")]
    staker_pk_hex: Option<String>,
    /// The finality provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    finality_provider_pk_hex: Option<String>,
    /// Satoshi.
    #[serde(skip_serializing_if = "Option::is_none")]
    staking_value: Option<u64>,
    /// It came when no more was taken, and counts for nothing.
    is_overflow: bool,
    /// The stake.
    #[serde(skip_serializing_if = "Option::is_none")]
    staking_tx: Option<Locking>,
    /// How it is taken out before its time.
    #[serde(skip_serializing_if = "Option::is_none")]
    unbonding_tx: Option<Locking>,
    /// What happened to it, as far as it is known.
    history: Vec<Happened>,
}

impl Delegation {
    pub(super) fn new(listed: &Listed) -> Self {
        let known = &listed.delegation;
        let staked = known.staked.as_ref();
        Self {
            staking_tx_hash_hex: listed.hash.to_string(),
            state: known.state().map(State::word),
            staker_pk_hex: staked.map(|staked| staked.staker.to_string()),
            finality_provider_pk_hex: staked.map(|staked| staked.provider.to_string()),
            staking_value: staked.map(|staked| staked.value.0),
            is_overflow: staked.is_some_and(|staked| staked.is_overflow),
            staking_tx: staked.map(|staked| staked.lock().into()),
            unbonding_tx: known.unbonding.as_ref().map(|unbonding| unbonding.lock().into()),
            history: known.history().into_iter().map(Happened::from).collect(),
        }
    }
}

impl From<Event> for Happened {
    fn from(event: Event) -> Self {
        Self {
            what: event.what,
            height: event.height.map(|height| height.0),
            tx_hash_hex: event.tx.map(|hash| hash.to_string()),
            is_parked: event.is_parked,
        }
    }
}
