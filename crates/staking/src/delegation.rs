//! A delegation is the set of what is known of it, and its state is a function of that set.
//!
//! ```text
//!   active ──► unbonding requested ──► unbonding ──► unbonded ──► withdrawn
//!     │  └────────────────────────────────▲             ▲             │
//!     ├──────────── its timelock has passed ────────────┘             ▼
//!     └─────────────────────────────────────────────────────────► slashed
//! ```
//!
//! A step adds a fact. In whatever order the same facts come, and however often, the same are known
//! in the end, so the state is the same too. A fact that builds on one that is not known yet is
//! kept and says nothing until that one comes: it is parked.

use serde::{Deserialize, Serialize};

use crate::event::{Slashing, Staked, Step, Timelock, Unbonding, Withdrawal};
use crate::{BtcHeight, Satoshi, TxHash};

/// How far a delegation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum State {
    /// It is staked.
    Active,
    /// Its staker has asked to take it out.
    UnbondingRequested,
    /// It is being taken out.
    Unbonding,
    /// Nothing holds it any more.
    Unbonded,
    /// The staker has it back.
    Withdrawn,
    /// It was taken away.
    Slashed,
}

impl State {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Active,
        Self::UnbondingRequested,
        Self::Unbonding,
        Self::Unbonded,
        Self::Withdrawn,
        Self::Slashed,
    ];

    /// The word that interfaces use.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::UnbondingRequested => "unbonding_requested",
            Self::Unbonding => "unbonding",
            Self::Unbonded => "unbonded",
            Self::Withdrawn => "withdrawn",
            Self::Slashed => "slashed",
        }
    }

    /// The state of a word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == word)
    }
}

/// How a staker asked to take it out: what whoever signs and sends the transaction needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnbondingRequest {
    /// The transaction that would do so.
    pub hash: TxHash,
    /// The same, whole.
    pub tx: Vec<u8>,
    /// The staker's signature of it.
    pub signature: Vec<u8>,
}

/// What is known of a delegation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegation {
    /// What is staked; none as long as only later steps are known.
    pub staked: Option<Staked>,
    /// How its staker asked to take it out.
    pub request: Option<UnbondingRequest>,
    /// How it is taken out before its time.
    pub unbonding: Option<Unbonding>,
    /// The timelock of the stake has passed.
    pub staking_expired: bool,
    /// The timelock of the unbonding has passed.
    pub unbonding_expired: bool,
    /// How it came back.
    pub withdrawal: Option<Withdrawal>,
    /// How it was taken away.
    pub slashing: Option<Slashing>,
}
store::serde_value!(Delegation, format 1);

/// What became of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is known now, and it counts.
    Made,
    /// It was known before.
    Repeated,
    /// It is known now, and waits for an earlier one.
    Parked,
}

/// Why a step is refused for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StepError {
    /// The same step with another content.
    #[error("this delegation is known with another content of `{0}`; see who sends this")]
    Differs(&'static str),
    /// Only an active delegation can be asked back.
    #[error("only an active delegation can be unbonded")]
    NotActive,
}

/// What a delegation counts for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Staked and not yet taken out.
    pub active_tvl: u64,
    /// Ever staked.
    pub total_tvl: u64,
    /// Delegations that are staked.
    pub active: u64,
    /// Delegations there ever were.
    pub total: u64,
}

/// A step that waits for an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Waiting {
    /// For the stake.
    Unbonding,
    /// For the stake.
    StakingExpired,
    /// For the unbonding.
    UnbondingExpired,
    /// For the end of a timelock.
    Withdrawal,
    /// For the stake.
    Slashing,
}

impl Delegation {
    /// How far it is; none as long as the stake is not known.
    #[must_use]
    pub fn state(&self) -> Option<State> {
        self.staked.as_ref()?;
        Some(if self.slashing.is_some() {
            State::Slashed
        } else if self.is_unbonded() && self.withdrawal.is_some() {
            State::Withdrawn
        } else if self.is_unbonded() {
            State::Unbonded
        } else if self.unbonding.is_some() {
            State::Unbonding
        } else if self.request.is_some() {
            State::UnbondingRequested
        } else {
            State::Active
        })
    }

    /// Whether the lock that holds it has passed: the one of the unbonding, once there is one,
    /// because then the stake's own output is spent.
    fn is_unbonded(&self) -> bool {
        match &self.unbonding {
            Some(_) => self.unbonding_expired,
            None => self.staking_expired,
        }
    }

    /// How many facts are known. It only grows, so it ranks what follows from them.
    #[must_use]
    pub fn rank(&self) -> u64 {
        [
            self.staked.is_some(),
            self.unbonding.is_some(),
            self.staking_expired,
            self.unbonding_expired,
            self.withdrawal.is_some(),
            self.slashing.is_some(),
        ]
        .into_iter()
        .map(u64::from)
        .sum()
    }

    /// Learns a step.
    ///
    /// # Errors
    /// When another content of the same step is known.
    pub fn apply(&mut self, step: &Step) -> Result<Outcome, StepError> {
        let (is_new, waiting) = match step {
            Step::Active(staked) => (learn(&mut self.staked, staked, "active")?, None),
            Step::Unbonding(unbonding) => {
                let is_new = learn(&mut self.unbonding, unbonding, "unbonding")?;
                (is_new, Some(Waiting::Unbonding))
            }
            Step::Expired(Timelock::Staking) => {
                let is_new = !std::mem::replace(&mut self.staking_expired, true);
                (is_new, Some(Waiting::StakingExpired))
            }
            Step::Expired(Timelock::Unbonding) => {
                let is_new = !std::mem::replace(&mut self.unbonding_expired, true);
                (is_new, Some(Waiting::UnbondingExpired))
            }
            Step::Withdrawn(withdrawal) => (self.withdraw(withdrawal)?, Some(Waiting::Withdrawal)),
            Step::Slashed(slashing) => {
                (learn(&mut self.slashing, slashing, "slashed")?, Some(Waiting::Slashing))
            }
        };
        Ok(match waiting {
            _ if !is_new => Outcome::Repeated,
            Some(waiting) if self.parked().any(|parked| parked == waiting) => Outcome::Parked,
            _ => Outcome::Made,
        })
    }

    /// Older senders do not say how it came back; whoever does is believed.
    fn withdraw(&mut self, withdrawal: &Withdrawal) -> Result<bool, StepError> {
        match &self.withdrawal {
            Some(known) if withdrawal.hash.is_none() || known == withdrawal => Ok(false),
            Some(known) if known.hash.is_some() => Err(StepError::Differs("withdrawn")),
            _ => {
                self.withdrawal = Some(withdrawal.clone());
                Ok(true)
            }
        }
    }

    /// Notes that the staker has asked to take it out.
    ///
    /// # Errors
    /// When it is not active.
    pub fn request_unbonding(&mut self, request: UnbondingRequest) -> Result<(), StepError> {
        if self.state() != Some(State::Active) {
            return Err(StepError::NotActive);
        }
        self.request = Some(request);
        Ok(())
    }

    /// Learns which timelocks have passed at a height. Whether it learnt something.
    pub fn expire(&mut self, height: BtcHeight) -> bool {
        let staking = self.staked.as_ref().is_some_and(|staked| staked.end() <= height);
        let unbonding = self.unbonding.as_ref().is_some_and(|unbonding| unbonding.end() <= height);
        let learnt = (staking && !self.staking_expired) || (unbonding && !self.unbonding_expired);
        self.staking_expired |= staking;
        self.unbonding_expired |= unbonding;
        learnt
    }

    /// Facts that say nothing yet.
    pub fn parked(&self) -> impl Iterator<Item = Waiting> + '_ {
        let is_known = self.staked.is_some();
        let waiting = [
            (Waiting::Unbonding, self.unbonding.is_some() && !is_known),
            (Waiting::StakingExpired, self.staking_expired && !is_known),
            (
                Waiting::UnbondingExpired,
                self.unbonding_expired && !(is_known && self.unbonding.is_some()),
            ),
            (Waiting::Withdrawal, self.withdrawal.is_some() && !(is_known && self.is_unbonded())),
            (Waiting::Slashing, self.slashing.is_some() && !is_known),
        ];
        waiting.into_iter().filter(|(_, waits)| *waits).map(|(waiting, _)| waiting)
    }

    /// Whether it counts as staked.
    fn is_active(&self) -> bool {
        matches!(self.state(), Some(State::Active | State::UnbondingRequested))
    }

    /// What it counts for now.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let Some(staked) = self.staked.as_ref().filter(|staked| !staked.is_overflow) else {
            return Counts::default();
        };
        let Satoshi(value) = staked.value;
        let active = u64::from(self.is_active());
        Counts { active_tvl: active * value, total_tvl: value, active, total: 1 }
    }
}

/// Keeps a fact; whether it is new.
fn learn<T: Clone + PartialEq>(
    known: &mut Option<T>,
    fact: &T,
    name: &'static str,
) -> Result<bool, StepError> {
    match known {
        Some(known) if known == fact => Ok(false),
        Some(_) => Err(StepError::Differs(name)),
        None => {
            *known = Some(fact.clone());
            Ok(true)
        }
    }
}

#[cfg(test)]
mod tests;
