//! The scenarios of the original, and what it lacks.

mod common;

use std::sync::Arc;

use common::scenarios::{self, Told};
use common::{Plain, compare, feed, on_model, seeded};
use devnet::staking::World;
use platform::{Clock, Hand};
use staking::derive::Calculation;
use staking::{Settings, Staking, StakingError, Taken};
use store::{ModelEngine, Store};

const HOUR: u64 = 60 * 60 * 1000;

fn on(store: &Store, settings: Settings) -> Staking {
    Staking::new(store.clone(), Clock::system(), None, settings).expect("settings")
}

/// Staking that gives up what waits for a day, and the hand of its clock.
fn patient_for_a_day() -> (Staking, Hand) {
    let store = Store::new(Arc::new(ModelEngine::default()), 0);
    let (clock, hand) = Clock::by_hand(1_000 * HOUR);
    let settings = Settings { patience_hours: 24, ..Settings::default() };
    (Staking::new(store, clock, None, settings).expect("settings"), hand)
}

#[tokio::test]
async fn the_scenarios_of_the_original() {
    let mut rng = seeded();
    scenarios::all(&on_model(Settings::default()), &mut rng).await;
}

#[tokio::test]
async fn a_calculation_that_is_added_later_is_back_filled_and_goes_on_after_a_crash() {
    let mut rng = seeded();
    let store = Store::new(Arc::new(ModelEngine::default()), 0);
    let world = World::new(&mut rng, 50, 7, 800_000, 3_000);
    let plain = Plain::new(&world, 1_300, &mut rng);
    let mut messages = plain.shuffled(10, &mut rng);
    let rest = messages.split_off(messages.len() / 2);
    let first = vec![Calculation::OverallStats, Calculation::Staker];
    let before = on(&store, Settings { calculations: first, ..Settings::default() });
    feed(&before, messages, 500).await;
    before.backfill().await.expect("nothing to do");
    // A new version counts two things more. It is dropped in the middle of its work.
    let after = on(&store, Settings::default());
    let half = tokio::time::timeout(std::time::Duration::from_millis(30), after.backfill()).await;
    println!("the first try ended: {half:?}");
    let after = on(&store, Settings::default());
    feed(&after, rest, 500).await;
    let counted = after.backfill().await.expect("back-filled");
    println!("{counted} delegations were back-filled");
    for calculation in Calculation::ALL {
        assert!(after.backfilled(calculation).await.expect("read").1, "{calculation:?}");
    }
    assert_eq!(after.backfill().await.expect("nothing left"), 0);
    compare(&after, &plain).await;
}

#[tokio::test]
async fn a_program_that_is_taken_back_and_comes_again_counts_what_was_left_out() {
    let mut rng = seeded();
    let store = Store::new(Arc::new(ModelEngine::default()), 0);
    let (clock, hand) = Clock::by_hand(1_000 * HOUR);
    let starts = async |calculations: &[Calculation]| {
        let settings = Settings { calculations: calculations.to_vec(), ..Settings::default() };
        let staking = Staking::new(store.clone(), clock.clone(), None, settings).expect("settings");
        staking.adopt().await.expect("written down");
        staking.backfill().await.expect("back-filled");
        staking
    };
    let older = &[Calculation::OverallStats, Calculation::Staker];
    let world = World::new(&mut rng, 50, 7, 800_000, 3_000);
    let plain = Plain::new(&world, 300, &mut rng);
    let mut messages = plain.shuffled(10, &mut rng).into_iter();
    let mut some = || messages.by_ref().take(300).collect::<Vec<_>>();
    let before = starts(older).await;
    feed(&before, some(), 100).await;
    feed(&starts(&Calculation::ALL).await, some(), 100).await;
    // The older one is still there, and may not count any more: it would leave something out.
    let told = Told::new(&before, &mut rng);
    let Taken::Later(reason) = told.take(&told.active()).await else { panic!("counted") };
    assert!(reason.contains("update this one"), "{reason}");
    assert!(matches!(before.finish_notes(0).await, Err(StakingError::Outdated(_))));
    // The newer one is taken back, and comes again.
    feed(&starts(older).await, some(), 100).await;
    let after = starts(&Calculation::ALL).await;
    feed(&after, messages.collect(), 100).await;
    let done = after.backfilled(Calculation::Heights).await.expect("read").1;
    assert!(!done, "others may still be in the middle of something");
    hand.forward(4 * 60 * 1000);
    after.backfill().await.expect("back-filled");
    assert!(after.backfilled(Calculation::Heights).await.expect("read").1);
    compare(&after, &plain).await;
}

#[tokio::test]
async fn what_is_counted_late_still_runs_out() {
    // A process died after a stake was written and before it could be found by its timelock.
    // Meanwhile Bitcoin passed it. Whoever counted it later counted it as active, for ever.
    let mut rng = seeded();
    let store = Store::new(Arc::new(ModelEngine::default()), 0);
    let without = vec![Calculation::OverallStats, Calculation::Staker];
    let before = on(&store, Settings { calculations: without, ..Settings::default() });
    let told = Told::new(&before, &mut rng);
    assert_eq!(told.take(&told.active()).await, Taken::Applied);
    let end = staking::BtcHeight(told.life.start + told.life.timelock);
    before.reach(end).await.expect("reached");
    assert_eq!(before.expire().await.expect("looked"), 0, "it is not found");
    let after = on(&store, Settings::default());
    after.backfill().await.expect("back-filled");
    assert_eq!(told.state().await, Some(staking::delegation::State::Unbonded));
    assert_eq!(told.sums().await, Some(told.expected(0)));
}

#[tokio::test]
async fn shards_are_raised_on_live_data_and_never_lowered() {
    let mut rng = seeded();
    let store = Store::new(Arc::new(ModelEngine::default()), 0);
    let world = World::new(&mut rng, 50, 7, 800_000, 3_000);
    let plain = Plain::new(&world, 300, &mut rng);
    let mut messages = plain.shuffled(10, &mut rng).into_iter();
    for shards in [4, 4, 10, 64] {
        let staking = on(&store, Settings { shards, ..Settings::default() });
        staking.raise_shards().await.expect("raised");
        feed(&staking, messages.by_ref().take(300).collect(), 100).await;
    }
    let fewer = on(&store, Settings { shards: 10, ..Settings::default() });
    let error = fewer.raise_shards().await.expect_err("fewer");
    assert!(matches!(error, StakingError::Shards(_)), "{error}");
    assert!(error.to_string().contains("keep 64"), "{error}");
    let staking = on(&store, Settings { shards: 64, ..Settings::default() });
    feed(&staking, messages.collect(), 100).await;
    compare(&staking, &plain).await;
}

#[tokio::test]
async fn steps_that_wait_in_vain_are_given_up_and_can_be_replayed() {
    let mut rng = seeded();
    let (staking, hand) = patient_for_a_day();
    let told = Told::new(&staking, &mut rng);
    let early = [told.unbonding(), told.life.expired("unbonding"), told.withdrawn()];
    for step in &early {
        assert_eq!(told.take(step).await, Taken::Parked);
    }
    let patient = Told::new(&staking, &mut rng);
    let (unbonding, active) = (patient.unbonding(), patient.active());
    assert_eq!(patient.take(&unbonding).await, Taken::Parked);
    assert_eq!(patient.take(&active).await, Taken::Applied);
    hand.forward(20 * HOUR);
    assert_eq!(staking.give_up().await.expect("looked"), 0, "too early");
    hand.forward(10 * HOUR);
    assert_eq!(staking.give_up().await.expect("given up"), 3);
    assert_eq!(staking.give_up().await.expect("nothing left"), 0);
    assert_eq!(patient.sums().await, Some(patient.expected(0)), "what was made stays");
    let kept = staking.kept(None, 10).await.expect("read").messages;
    assert_eq!(kept.len(), 3);
    let active = told.active();
    assert_eq!(told.take(&active).await, Taken::Applied);
    assert_eq!(told.sums().await, Some(told.expected(1)), "what was given up does not count");
    for (id, _) in kept {
        assert!(matches!(staking.replay(id).await, Ok(Some(Taken::Applied | Taken::Parked))));
    }
    assert_eq!(told.sums().await, Some(told.expected(0)));
    assert_eq!(told.state().await, Some(staking::delegation::State::Withdrawn));
    assert!(staking.kept(None, 10).await.expect("read").messages.is_empty());
}

#[tokio::test]
async fn a_step_that_waits_in_vain_behind_a_known_stake_is_told_of_and_still_applies() {
    let mut rng = seeded();
    let (staking, hand) = patient_for_a_day();
    let told = Told::new(&staking, &mut rng);
    let (active, unbonding) = (told.active(), told.unbonding());
    assert_eq!(told.take(&active).await, Taken::Applied);
    assert_eq!(told.take(&told.life.expired("unbonding")).await, Taken::Parked);
    hand.forward(30 * HOUR);
    assert_eq!(staking.give_up().await.expect("told of"), 1);
    assert_eq!(staking.give_up().await.expect("nothing left"), 0);
    let kept = staking.kept(None, 10).await.expect("read").messages;
    assert!(kept.iter().all(|(_, message)| message.reason.contains("stays noted")), "{kept:?}");
    assert_eq!((kept.len(), told.sums().await), (1, Some(told.expected(1))));
    assert_eq!(told.take(&unbonding).await, Taken::Applied);
    assert_eq!(told.state().await, Some(staking::delegation::State::Unbonded));
    assert_eq!(told.sums().await, Some(told.expected(0)));
    assert!(matches!(staking.replay(kept[0].0).await, Ok(Some(Taken::Repeated))));
    assert!(staking.kept(None, 10).await.expect("read").messages.is_empty());
}

#[tokio::test]
async fn what_a_dropped_call_left_half_written_is_finished() {
    let mut rng = seeded();
    let store = Store::new(Arc::new(ModelEngine::default()), 0);
    let world = World::new(&mut rng, 30, 5, 800_000, 3_000);
    let plain = Plain::new(&world, 200, &mut rng);
    let messages = plain.shuffled(20, &mut rng);
    let mut dropped = 0;
    for batch in messages.chunks(40) {
        let staking = on(&store, Settings::default());
        let micros = std::time::Duration::from_micros(rng.u64(..30_000));
        let fed = tokio::time::timeout(micros, feed(&staking, batch.to_vec(), 40)).await;
        dropped += u32::from(fed.is_err());
        // Its source was told nothing, so it sends all of it again.
        if fed.is_err() {
            feed(&on(&store, Settings::default()), batch.to_vec(), 40).await;
        }
    }
    // Notes of calls that were not dropped are removed behind their backs.
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    let (clock, hand) = Clock::by_hand(Clock::system().now());
    let staking = Staking::new(store, clock, None, Settings::default()).expect("settings");
    let counted = staking.finish_notes(0).await.expect("counted");
    println!("{dropped} calls were dropped, {counted} notes were left");
    assert_eq!(staking.finish_notes(0).await.expect("looked"), 0, "each once");
    compare(&staking, &plain).await;
    // Until its writer must have ended, a note is not removed: it may still be needed.
    hand.forward(4 * 60 * 1000);
    assert_eq!(staking.finish_notes(0).await.expect("counted"), counted, "once more");
    assert_eq!(staking.finish_notes(0).await.expect("looked"), 0, "all are gone");
    compare(&staking, &plain).await;
}
