//! What happened to a delegation, as far as it is known.

use crate::delegation::{Delegation, Waiting};
use crate::event::{Staked, Unbonding};
use crate::{BtcHeight, TxHash};

/// A step of a delegation's life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What it is.
    pub what: &'static str,
    /// The height, where it is known.
    pub height: Option<BtcHeight>,
    /// The transaction, where there is one.
    pub tx: Option<TxHash>,
    /// It waits for an earlier step.
    pub is_parked: bool,
}

impl Delegation {
    /// What happened to it, as far as it is known, in the order of its states.
    #[must_use]
    pub fn history(&self) -> Vec<Event> {
        let parked: Vec<Waiting> = self.parked().collect();
        let event = |what, height, tx, waiting: Option<Waiting>| Event {
            what,
            height,
            tx,
            is_parked: waiting.is_some_and(|waiting| parked.contains(&waiting)),
        };
        let mut events = Vec::new();
        if let Some(staked) = &self.staked {
            events.push(event("active", Some(staked.start), None, None));
        }
        if let Some(request) = &self.request {
            events.push(event("unbonding_requested", None, Some(request.hash), None));
        }
        if let Some(found) = &self.unbonding {
            let waiting = Some(Waiting::Unbonding);
            events.push(event("unbonding", Some(found.start), Some(found.hash), waiting));
        }
        if self.unbonding_expired {
            let height = self.unbonding.as_ref().map(Unbonding::end);
            events.push(event("unbonding_expired", height, None, Some(Waiting::UnbondingExpired)));
        }
        if self.staking_expired {
            let height = self.staked.as_ref().map(Staked::end);
            events.push(event("staking_expired", height, None, Some(Waiting::StakingExpired)));
        }
        if let Some(slashing) = &self.slashing {
            let waiting = Some(Waiting::Slashing);
            events.push(event("slashed", Some(slashing.height), Some(slashing.hash), waiting));
        }
        if let Some(found) = &self.withdrawal {
            events.push(event("withdrawn", found.height, found.hash, Some(Waiting::Withdrawal)));
        }
        events
    }
}
