//! The states of a delegation.
//!
//! ```text
//!   active ──► unbonding requested ──► unbonding ──► unbonded ──► withdrawn
//!     │  └────────────────────────────────▲             ▲
//!     └──────────── its timelock has passed ────────────┘
//! ```
//!
//! A step that the state has passed already changes nothing. A step that cannot be made yet is
//! parked, and made the moment it can.

use serde::{Deserialize, Serialize};

use crate::event::{Staked, Step, Timelock, Unbonding, Withdrawal};
use crate::{PublicKey, Satoshi};

/// Steps that one delegation may have parked: there are four kinds, and doubles are not kept.
const PARKED: usize = 8;

/// How far a delegation is. The order is the order of ranks: a count is never taken back to one
/// that is lower.
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
}

/// What is known of a delegation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegation {
    /// What is staked, and how far it is; none as long as only later steps are known.
    pub known: Option<(Staked, State)>,
    /// How it was taken out before its time.
    pub unbonding: Option<Unbonding>,
    /// How it came back.
    pub withdrawal: Option<Withdrawal>,
    /// Steps that cannot be made yet.
    pub parked: Vec<Step>,
}

/// What became of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was made, and perhaps parked ones after it.
    Made,
    /// It was made before, or the delegation is further already.
    Repeated,
    /// It waits for an earlier one.
    Parked,
}

/// Why a step is refused for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StepError {
    /// The same transaction with another stake.
    #[error("another stake is known of this transaction; see who sends this")]
    Differs,
    /// More steps than a delegation can have.
    #[error("too many steps wait for a delegation that is not known; see who sends this")]
    TooMany,
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

/// What a state makes of a step.
enum Verdict {
    /// It leads here.
    To(State),
    Passed,
    Early,
}

fn judge(state: State, step: &Step) -> Verdict {
    use State::{Active, Unbonded, UnbondingRequested, Withdrawn};
    let is_staked = matches!(state, Active | UnbondingRequested);
    match step {
        Step::Active(_) => Verdict::Passed,
        Step::Unbonding(_) if is_staked => Verdict::To(State::Unbonding),
        Step::Expired(Timelock::Staking) if is_staked => Verdict::To(Unbonded),
        Step::Expired(Timelock::Unbonding) if is_staked => Verdict::Early,
        Step::Expired(Timelock::Unbonding) if state == State::Unbonding => Verdict::To(Unbonded),
        Step::Withdrawn(_) if state == Unbonded => Verdict::To(Withdrawn),
        Step::Withdrawn(_) if state < Unbonded => Verdict::Early,
        _ => Verdict::Passed,
    }
}

impl Delegation {
    /// How far it is.
    #[must_use]
    pub fn state(&self) -> Option<State> {
        self.known.as_ref().map(|(_, state)| *state)
    }

    /// Makes a step, parks it, or sees that it was made before.
    ///
    /// # Errors
    /// When it can never be made.
    pub fn apply(&mut self, step: &Step) -> Result<Outcome, StepError> {
        let outcome = self.make(step)?;
        if outcome == Outcome::Made {
            self.make_parked();
        }
        Ok(outcome)
    }

    /// Notes that the staker has asked to take it out.
    ///
    /// # Errors
    /// When it is not active.
    pub fn request_unbonding(&mut self) -> Result<(), StepError> {
        match &mut self.known {
            Some((_, state @ State::Active)) => {
                *state = State::UnbondingRequested;
                Ok(())
            }
            _ => Err(StepError::NotActive),
        }
    }

    fn make(&mut self, step: &Step) -> Result<Outcome, StepError> {
        let Some((staked, state)) = &mut self.known else {
            let Step::Active(staked) = step else { return self.park(step) };
            self.known = Some((Staked::clone(staked), State::Active));
            return Ok(Outcome::Made);
        };
        if let Step::Active(again) = step
            && **again != *staked
        {
            return Err(StepError::Differs);
        }
        match judge(*state, step) {
            Verdict::To(next) => *state = next,
            Verdict::Passed => return Ok(Outcome::Repeated),
            Verdict::Early => return self.park(step),
        }
        match step {
            Step::Unbonding(unbonding) => self.unbonding = Some(Unbonding::clone(unbonding)),
            Step::Withdrawn(withdrawal) => self.withdrawal = Some(Withdrawal::clone(withdrawal)),
            Step::Active(_) | Step::Expired(_) => {}
        }
        Ok(Outcome::Made)
    }

    fn park(&mut self, step: &Step) -> Result<Outcome, StepError> {
        if self.parked.contains(step) {
            return Ok(Outcome::Repeated);
        }
        if self.parked.len() == PARKED {
            return Err(StepError::TooMany);
        }
        self.parked.push(step.clone());
        Ok(Outcome::Parked)
    }

    /// Makes parked steps until none can be made.
    fn make_parked(&mut self) {
        loop {
            let Some(state) = self.state() else { return };
            let ready = |step: &Step| !matches!(judge(state, step), Verdict::Early);
            let Some(place) = self.parked.iter().position(ready) else { return };
            let step = self.parked.remove(place);
            // What is ready is made or was passed; neither parks nor fails.
            let _ = self.make(&step);
        }
    }

    /// What it counts for now.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let Some((staked, state)) = &self.known else { return Counts::default() };
        if staked.is_overflow {
            return Counts::default();
        }
        let Satoshi(value) = staked.value;
        let active = u64::from(*state <= State::UnbondingRequested);
        Counts { active_tvl: active * value, total_tvl: value, active, total: 1 }
    }

    /// Whom it counts for.
    #[must_use]
    pub fn parties(&self) -> Option<(PublicKey, PublicKey)> {
        self.known.as_ref().map(|(staked, _)| (staked.staker, staked.provider))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BtcHeight, TxHash};

    fn staked(value: u64, is_overflow: bool) -> Step {
        Step::Active(Box::new(Staked {
            staker: PublicKey([1; 32]),
            provider: PublicKey([2; 32]),
            value: Satoshi(value),
            start: BtcHeight(100),
            timestamp: 5,
            timelock: 10,
            output: 0,
            tx: "00".to_owned(),
            is_overflow,
        }))
    }

    fn unbonding() -> Step {
        let (hash, tx) = (TxHash([3; 32]), "00".to_owned());
        let start = BtcHeight(103);
        Step::Unbonding(Box::new(Unbonding {
            hash,
            tx,
            start,
            timestamp: 6,
            timelock: 2,
            output: 0,
        }))
    }

    fn withdrawn() -> Step {
        Step::Withdrawn(Box::default())
    }

    /// The lives that a delegation can have.
    fn lives() -> [Vec<Step>; 5] {
        let expired = |which| Step::Expired(which);
        [
            vec![staked(7, false)],
            vec![staked(7, false), unbonding()],
            vec![staked(7, false), unbonding(), expired(Timelock::Unbonding), withdrawn()],
            vec![staked(7, false), expired(Timelock::Staking), withdrawn()],
            vec![staked(7, true), unbonding(), expired(Timelock::Unbonding)],
        ]
    }

    #[test]
    fn any_order_with_any_doubles_ends_in_the_same_delegation() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut rng = fastrand::Rng::with_seed(seed);
        for life in lives() {
            let mut straight = Delegation::default();
            for step in &life {
                assert_eq!(straight.apply(step), Ok(Outcome::Made), "{step:?}");
            }
            for _ in 0..500 {
                let mut steps = life.clone();
                steps.extend(life.iter().filter(|_| rng.bool()).cloned());
                rng.shuffle(&mut steps);
                let mut shuffled = Delegation::default();
                for step in &steps {
                    shuffled.apply(step).expect("taken");
                }
                assert_eq!(shuffled, straight, "{steps:?}");
            }
        }
    }

    #[test]
    fn it_counts_while_it_is_staked_and_overflow_never_does() {
        let counts = |steps: &[Step]| {
            let mut delegation = Delegation::default();
            for step in steps {
                delegation.apply(step).expect("taken");
            }
            let Counts { active_tvl, total_tvl, active, total } = delegation.counts();
            (active_tvl, total_tvl, active, total)
        };
        assert_eq!(counts(&[staked(7, false)]), (7, 7, 1, 1));
        assert_eq!(counts(&[staked(7, false), unbonding()]), (0, 7, 0, 1));
        let expired = Step::Expired(Timelock::Staking);
        assert_eq!(counts(&[staked(7, false), expired]), (0, 7, 0, 1), "natural expiry too");
        assert_eq!(counts(&[staked(7, true), unbonding()]), (0, 0, 0, 0));
        assert_eq!(counts(&[unbonding(), withdrawn()]), (0, 0, 0, 0), "nothing is known of it");
    }

    #[test]
    fn what_can_never_be_is_refused() {
        let mut delegation = Delegation::default();
        assert_eq!(delegation.request_unbonding(), Err(StepError::NotActive));
        assert_eq!(delegation.apply(&staked(7, false)), Ok(Outcome::Made));
        assert_eq!(delegation.apply(&staked(8, false)), Err(StepError::Differs));
        assert_eq!(delegation.request_unbonding(), Ok(()));
        assert_eq!(delegation.request_unbonding(), Err(StepError::NotActive));
        assert_eq!(delegation.counts().active, 1, "asking takes nothing out");
        assert_eq!(delegation.apply(&unbonding()), Ok(Outcome::Made));
        assert_eq!(delegation.apply(&unbonding()), Ok(Outcome::Repeated));
    }
}
