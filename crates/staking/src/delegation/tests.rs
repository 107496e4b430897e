//! Lives of delegations in any order.

use super::*;
use crate::{Blocks, PublicKey};

fn staked(value: u64, is_overflow: bool) -> Step {
    Step::Active(Box::new(Staked {
        staker: PublicKey([1; 32]),
        provider: PublicKey([2; 32]),
        value: Satoshi(value),
        start: BtcHeight(100),
        timestamp: 5,
        timelock: Blocks(10),
        output: 0,
        tx: vec![0],
        is_overflow,
    }))
}

fn unbonding() -> Step {
    let (hash, start, timelock) = (TxHash([3; 32]), BtcHeight(103), Blocks(2));
    let tx = vec![0];
    Step::Unbonding(Box::new(Unbonding { hash, tx, start, timestamp: 6, timelock, output: 0 }))
}

fn withdrawn(hash: Option<u8>) -> Step {
    let hash = hash.map(|byte| TxHash([byte; 32]));
    let height = hash.map(|_| BtcHeight(120));
    Step::Withdrawn(Box::new(Withdrawal { hash, height }))
}

fn slashed() -> Step {
    Step::Slashed(Box::new(Slashing { hash: TxHash([9; 32]), height: BtcHeight(104) }))
}

const STAKING: Step = Step::Expired(Timelock::Staking);
const UNBONDING: Step = Step::Expired(Timelock::Unbonding);

/// Lives that a delegation can have, and where they end. An indexer tells of both timelocks, also
/// of the one whose output was spent long before.
fn lives() -> Vec<(Vec<Step>, State)> {
    let stake = || staked(7, false);
    vec![
        (vec![stake()], State::Active),
        (vec![stake(), unbonding()], State::Unbonding),
        (vec![stake(), unbonding(), UNBONDING], State::Unbonded),
        (vec![stake(), unbonding(), STAKING], State::Unbonding),
        (vec![stake(), unbonding(), UNBONDING, withdrawn(Some(4)), STAKING], State::Withdrawn),
        (vec![stake(), STAKING, withdrawn(None)], State::Withdrawn),
        (vec![stake(), STAKING, withdrawn(None), withdrawn(Some(4))], State::Withdrawn),
        (vec![staked(7, true), unbonding(), UNBONDING], State::Unbonded),
        (vec![stake(), unbonding(), slashed(), UNBONDING], State::Slashed),
    ]
}

#[test]
fn any_order_with_any_doubles_ends_in_the_same_delegation() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    for (life, end) in lives() {
        let mut straight = Delegation::default();
        for step in &life {
            straight.apply(step).expect("taken");
        }
        assert_eq!(straight.state(), Some(end), "{life:?}");
        for _ in 0..500 {
            let mut steps = life.clone();
            steps.extend(life.iter().filter(|_| rng.bool()).cloned());
            rng.shuffle(&mut steps);
            let mut shuffled = Delegation::default();
            let mut rank = 0;
            for step in &steps {
                let outcome = shuffled.apply(step).expect("taken");
                let raised = shuffled.rank() > rank;
                let upgraded = matches!(step, Step::Withdrawn(_));
                assert!(raised != (outcome == Outcome::Repeated) || upgraded, "{step:?}");
                rank = shuffled.rank();
            }
            assert_eq!(shuffled, straight, "{steps:?}");
        }
    }
}

#[test]
fn a_step_before_its_time_is_parked_until_then() {
    let mut delegation = Delegation::default();
    for step in [withdrawn(None), UNBONDING, unbonding()] {
        assert_eq!(delegation.apply(&step), Ok(Outcome::Parked), "{step:?}");
        assert_eq!(delegation.apply(&step), Ok(Outcome::Repeated), "{step:?}");
        assert_eq!((delegation.state(), delegation.counts()), (None, Counts::default()));
    }
    let parked: Vec<_> = delegation.parked().collect();
    assert_eq!(parked, [Waiting::Unbonding, Waiting::UnbondingExpired, Waiting::Withdrawal]);
    assert_eq!(delegation.apply(&staked(7, false)), Ok(Outcome::Made));
    assert_eq!((delegation.state(), delegation.parked().count()), (Some(State::Withdrawn), 0));
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
    let stake = || staked(7, false);
    assert_eq!(counts(&[stake()]), (7, 7, 1, 1));
    assert_eq!(counts(&[stake(), unbonding()]), (0, 7, 0, 1));
    assert_eq!(counts(&[stake(), STAKING]), (0, 7, 0, 1), "natural expiry too");
    assert_eq!(counts(&[stake(), slashed()]), (0, 7, 0, 1), "slashing too");
    assert_eq!(counts(&[stake(), UNBONDING]), (7, 7, 1, 1), "nothing was unbonded");
    assert_eq!(counts(&[staked(7, true), unbonding()]), (0, 0, 0, 0));
    assert_eq!(counts(&[unbonding(), withdrawn(None)]), (0, 0, 0, 0), "nothing is known of it");
}

#[test]
fn timelocks_pass_at_their_height() {
    let mut delegation = Delegation::default();
    assert!(!delegation.expire(BtcHeight(1_000)), "nothing is known of it");
    delegation.apply(&staked(7, false)).expect("taken");
    assert!(!delegation.expire(BtcHeight(109)));
    delegation.apply(&unbonding()).expect("taken");
    assert!(!delegation.expire(BtcHeight(104)));
    assert!(delegation.expire(BtcHeight(105)));
    assert_eq!(delegation.state(), Some(State::Unbonded));
    assert!(delegation.expire(BtcHeight(110)), "the stake's own");
    assert!(!delegation.expire(BtcHeight(110)));
}

#[test]
fn what_can_never_be_is_refused() {
    let request =
        || UnbondingRequest { hash: TxHash([3; 32]), tx: vec![0], signature: vec![0; 64] };
    let mut delegation = Delegation::default();
    assert_eq!(delegation.request_unbonding(request()), Err(StepError::NotActive));
    assert_eq!(delegation.apply(&staked(7, false)), Ok(Outcome::Made));
    assert_eq!(delegation.apply(&staked(8, false)), Err(StepError::Differs("active")));
    assert_eq!(delegation.request_unbonding(request()), Ok(()));
    assert_eq!(delegation.state(), Some(State::UnbondingRequested));
    assert_eq!(delegation.request_unbonding(request()), Err(StepError::NotActive));
    assert_eq!(delegation.counts().active, 1, "asking takes nothing out");
    assert_eq!(delegation.apply(&unbonding()), Ok(Outcome::Made));
    delegation.apply(&withdrawn(Some(4))).expect("taken");
    assert_eq!(delegation.apply(&withdrawn(None)), Ok(Outcome::Repeated));
    assert_eq!(delegation.apply(&withdrawn(Some(5))), Err(StepError::Differs("withdrawn")));
}
