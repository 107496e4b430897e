//! What the original's tests show, each with a staker of its own, so that all can share a store.

use devnet::staking::{Life, World, btc_info};
use fastrand::Rng;
use serde_json::{Value, json};
use staking::delegation::State;
use staking::{Intake as _, LockState, Message, PublicKey, Staking, Standing, Taken, TxHash};

/// One life, and what is told of it.
pub(crate) struct Told {
    staking: Staking,
    pub(crate) life: Life,
    rng: Rng,
}

impl Told {
    pub(crate) fn new(staking: &Staking, rng: &mut Rng) -> Self {
        let world = World::new(rng, 1, 1, 840_000, 1_000);
        let mut life = world.life(rng);
        life.is_overflow = false;
        life.unbonding.get_or_insert(devnet::staking::Unbonding {
            hash: [7; 32],
            start: life.start + 50,
            timelock: 10,
        });
        Self { staking: staking.clone(), life, rng: rng.fork() }
    }

    pub(crate) async fn take(&self, value: &Value) -> Taken {
        let message = Message { source: "test".into(), body: value.to_string().into_bytes() };
        self.staking.take(vec![message]).await.into_iter().next().expect("an answer")
    }

    pub(crate) fn active(&self) -> Value {
        self.life.active(&mut self.rng.clone())
    }

    pub(crate) fn unbonding(&self) -> Value {
        self.life.unbonds(&self.life.unbonding.expect("one"), &mut self.rng.clone())
    }

    pub(crate) fn withdrawn(&self) -> Value {
        let hash = devnet::staking::hex(&self.life.hash);
        json!({ "event_type": 3, "staking_tx_hash_hex": hash })
    }

    pub(crate) async fn state(&self) -> Option<State> {
        let found = self.staking.delegation(TxHash(self.life.hash)).await.expect("read");
        found.and_then(|delegation| delegation.state())
    }

    /// Sums of the staker, which must be those of the provider too.
    pub(crate) async fn sums(&self) -> Option<Standing> {
        let staker = self.staking.staker(PublicKey(self.life.staker)).await.expect("read");
        let provider = self.staking.provider(PublicKey(self.life.provider)).await.expect("read");
        assert_eq!(staker, provider);
        staker
    }

    pub(crate) fn expected(&self, active: u64) -> Standing {
        let value = self.life.value;
        Standing {
            active_tvl: active * value,
            total_tvl: value,
            active_delegations: active,
            total_delegations: 1,
        }
    }

    async fn performed(&self, state: LockState) -> Vec<(&'static str, bool)> {
        let lock = self.staking.lock(TxHash(self.life.hash), state).await.expect("read");
        let lock = lock.expect("known").into_iter();
        lock.map(|(calculation, done)| (calculation.word(), done)).collect()
    }
}

/// All scenarios, one after the other.
pub(crate) async fn all(staking: &Staking, rng: &mut Rng) {
    duplicates_count_once(Told::new(staking, rng)).await;
    steps_before_the_stake_wait_for_it(Told::new(staking, rng)).await;
    a_withdrawal_waits_for_the_end_of_the_timelock(Told::new(staking, rng)).await;
    overflow_counts_on_neither_side(Told::new(staking, rng)).await;
    both_schemas_are_read(Told::new(staking, rng)).await;
    lock_records_say_what_was_calculated(Told::new(staking, rng)).await;
    rubbish_is_kept_and_replayed(Told::new(staking, rng)).await;
    what_is_said_of_bitcoin_out_of_order_moves_forward_only(Told::new(staking, rng)).await;
}

async fn duplicates_count_once(told: Told) {
    let (active, unbonding) = (told.active(), told.unbonding());
    assert_eq!(told.take(&active).await, Taken::Applied);
    for _ in 0..3 {
        assert_eq!(told.take(&active).await, Taken::Repeated);
    }
    assert_eq!(told.sums().await, Some(told.expected(1)));
    assert_eq!(told.take(&unbonding).await, Taken::Applied);
    for again in [&unbonding, &active, &unbonding] {
        assert_eq!(told.take(again).await, Taken::Repeated);
    }
    assert_eq!(told.sums().await, Some(told.expected(0)));
    assert_eq!(told.state().await, Some(State::Unbonding));
    let mut other = active;
    other["staking_value"] = json!(1);
    assert!(matches!(told.take(&other).await, Taken::Unprocessable(_)), "another stake");
    assert_eq!(told.sums().await, Some(told.expected(0)));
}

async fn steps_before_the_stake_wait_for_it(told: Told) {
    let early = [told.life.expired("unbonding"), told.unbonding(), told.life.expired("active")];
    for step in &early {
        assert_eq!(told.take(step).await, Taken::Parked);
    }
    assert_eq!((told.state().await, told.sums().await), (None, None));
    let active = told.active();
    assert_eq!(told.take(&active).await, Taken::Applied);
    assert_eq!(told.state().await, Some(State::Unbonded));
    assert_eq!(told.sums().await, Some(told.expected(0)));
}

async fn a_withdrawal_waits_for_the_end_of_the_timelock(told: Told) {
    let (active, withdrawn) = (told.active(), told.withdrawn());
    assert_eq!(told.take(&active).await, Taken::Applied);
    assert_eq!(told.take(&withdrawn).await, Taken::Parked);
    assert_eq!(
        (told.state().await, told.sums().await),
        (Some(State::Active), Some(told.expected(1)))
    );
    let expired = told.life.expired("active");
    assert_eq!(told.take(&expired).await, Taken::Applied);
    assert_eq!(told.state().await, Some(State::Withdrawn));
    assert_eq!(told.sums().await, Some(told.expected(0)), "natural expiry subtracts");
}

async fn overflow_counts_on_neither_side(mut told: Told) {
    told.life.is_overflow = true;
    let (active, unbonding) = (told.active(), told.unbonding());
    assert_eq!(told.take(&active).await, Taken::Applied);
    assert_eq!(told.sums().await, Some(Standing::default()));
    assert_eq!(told.take(&unbonding).await, Taken::Applied);
    assert_eq!(told.sums().await, Some(Standing::default()));
    assert_eq!(told.state().await, Some(State::Unbonding));
}

async fn both_schemas_are_read(told: Told) {
    let mut active = told.active();
    let fields = active.as_object_mut().expect("an object");
    fields.remove("schema_version");
    fields.remove("is_overflow");
    assert_eq!(told.take(&active).await, Taken::Applied);
    assert_eq!(told.take(&told.active()).await, Taken::Repeated, "not an overflow");
    let mut stats = active.clone();
    (stats["event_type"], stats["state"]) = (json!(5), json!("active"));
    assert_eq!(told.take(&stats).await, Taken::Repeated, "statistics follow from delegations");
    assert_eq!(told.sums().await, Some(told.expected(1)));
    let mut newer = active;
    newer["schema_version"] = json!(2);
    assert!(matches!(told.take(&newer).await, Taken::Unprocessable(_)));
}

async fn lock_records_say_what_was_calculated(told: Told) {
    let words = ["overall_stats", "finality_provider", "staker", "heights"];
    let (active, unbonding) = (told.active(), told.unbonding());
    assert_eq!(told.take(&active).await, Taken::Applied);
    assert_eq!(told.performed(LockState::Active).await, words.map(|word| (word, true)));
    assert_eq!(told.performed(LockState::Unbonded).await, words.map(|word| (word, false)));
    assert_eq!(told.take(&unbonding).await, Taken::Applied);
    assert_eq!(told.performed(LockState::Unbonded).await, words.map(|word| (word, true)));
}

async fn rubbish_is_kept_and_replayed(told: Told) {
    let before = told.staking.kept(None, 100).await.expect("read").messages.len();
    let rubbish = [
        json!("a rubbish message"),
        json!([]),
        json!({ "event_type": 77 }),
        json!({ "event_type": 1, "staking_value": -1 }),
    ];
    for message in &rubbish {
        assert!(matches!(told.take(message).await, Taken::Unprocessable(_)), "{message}");
    }
    let active = told.active();
    assert_eq!(told.take(&active).await, Taken::Applied);
    let mut differs = active.clone();
    differs["staking_value"] = json!(1);
    assert!(matches!(told.take(&differs).await, Taken::Unprocessable(_)));
    let kept = told.staking.kept(None, 100).await.expect("read").messages;
    assert_eq!(kept.len(), before + rubbish.len() + 1);
    for (id, message) in &kept {
        let taken = told.staking.replay(*id).await.expect("replayed");
        assert!(matches!(taken, Some(Taken::Unprocessable(_))), "{message:?}");
    }
    let again = told.staking.kept(None, 100).await.expect("read").messages;
    assert_eq!(again.len(), kept.len(), "none is lost, none is doubled");
    for (id, _) in again {
        told.staking.drop_kept(id).await.expect("dropped");
    }
    assert!(told.staking.kept(None, 100).await.expect("read").messages.is_empty());
    assert_eq!(told.sums().await, Some(told.expected(1)));
}

/// Heights below all stakes, so that no timelock passes.
async fn what_is_said_of_bitcoin_out_of_order_moves_forward_only(told: Told) {
    let confirmed =
        |height: u64, tvl: u64| json!({ "event_type": 7, "height": height, "tvl": tvl });
    for (message, taken) in [
        (btc_info(10, 5, 9), Taken::Applied),
        (btc_info(9, 7, 70), Taken::Repeated),
        (btc_info(10, 5, 9), Taken::Repeated),
        (confirmed(8, 4), Taken::Applied),
        (confirmed(7, 3), Taken::Repeated),
    ] {
        assert_eq!(told.take(&message).await, taken, "{message}");
    }
    let overall = told.staking.overall().await.expect("read");
    assert_eq!((overall.height, overall.unconfirmed_tvl, overall.pending_tvl), (10, 9, 4));
    assert_eq!(told.take(&btc_info(11, 5, 10)).await, Taken::Applied);
    let overall = told.staking.overall().await.expect("read");
    assert_eq!((overall.height, overall.unconfirmed_tvl, overall.pending_tvl), (11, 10, 5));
}
