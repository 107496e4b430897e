//! Raising K: crashes at every step, help from others, refusals, and shards that fill up.

mod common;

use std::sync::Arc;

use common::{check, event, events, model, overall, tallies, values, write};
use store::conformance::{Faulty, seed};
use store::{Engine, ModelEngine};
use tally::{Outcome, RaiseError, SetError, Settings, Tallies, Tally, limits};

const SETTINGS: Settings = Settings { shards: 3, shard_entries: 50_000, in_flight: 4 };

async fn count(tallies: &Tallies, entries: std::ops::Range<u64>, rank: u64) {
    let sets = entries.map(|entry| event(&overall(), entry, rank)).collect();
    for answer in tallies.set_many(sets).await {
        assert!(answer.expect("is set").is_counted());
    }
}

/// A process that dies after each possible commit of a raise leaves work that the next insert, or
/// the next raise, finishes.
#[tokio::test]
async fn a_raise_cut_at_any_commit_is_finished_by_whoever_comes_next() {
    for helper in ["set", "raise", "higher raise"] {
        for commits in 0..=5 {
            let engine = model();
            count(&tallies(engine.clone(), SETTINGS), 0..50, 1).await;
            let stale = tallies(engine.clone(), SETTINGS);
            count(&stale, 50..51, 1).await;
            // One commit says what is meant, three seal, one opens.
            let dying = Faulty::dies_after(engine.clone(), commits);
            let raised = tallies(dying, SETTINGS).raise(&overall(), 5).await;
            assert_eq!(raised.is_ok(), commits == 5, "{commits}: {raised:?}");
            let shards = match helper {
                "set" => {
                    count(&stale, 51..100, 1).await;
                    if commits == 0 { vec![3] } else { vec![3, 5] }
                }
                "raise" => {
                    assert_eq!(stale.raise(&overall(), 5).await.expect("finishes"), 5);
                    vec![3, 5]
                }
                _ => {
                    assert_eq!(stale.raise(&overall(), 9).await.expect("finishes"), 9);
                    if commits == 0 { vec![3, 9] } else { vec![3, 5, 9] }
                }
            };
            let case = format!("{helper} after {commits} commits");
            let found = stale.shards(&overall()).await.expect("shards");
            // A set that met no sealed shard had no reason to help.
            let unhelped = helper == "set" && commits == 1 && found == [3];
            assert!(found == shards || unhelped, "{case}: {found:?}");
            finish(&engine, &stale).await;
        }
    }
}

/// All 100 entries under rank 1 and 2, in whatever generation they are.
async fn finish(engine: &Arc<ModelEngine>, tallies: &Tallies) {
    let all: Vec<(u64, u64)> = (0..100).flat_map(|entry| [(entry, 1), (entry, 2)]).collect();
    let mut random = fastrand::Rng::with_seed(1);
    write(tallies, &overall(), &all, &mut random, 0).await;
    check(engine.clone(), tallies, &overall(), &all).await;
}

#[tokio::test]
async fn entries_stay_where_they_are_and_still_change() {
    let engine = model();
    let tallies = tallies(engine.clone(), SETTINGS);
    count(&tallies, 0..100, 1).await;
    assert_eq!(tallies.raise(&overall(), 7).await.expect("raised"), 7);
    assert_eq!(tallies.raise(&overall(), 7).await.expect("no change"), 7);
    count(&tallies, 0..200, 2).await;
    assert_eq!(tallies.raise(&overall(), 8).await.expect("raised"), 8);
    count(&tallies, 0..300, 3).await;
    let all: Vec<(u64, u64)> = (0..300).map(|entry| (entry, 3)).collect();
    check(engine.clone(), &tallies, &overall(), &all).await;
    assert_eq!(tallies.shards(&overall()).await.expect("shards"), [3, 7, 8]);
}

#[tokio::test]
async fn lowering_is_refused_with_its_reason() {
    let tallies = tallies(model(), SETTINGS);
    count(&tallies, 0..10, 1).await;
    let error = tallies.raise(&overall(), 2).await.expect_err("lower");
    assert!(matches!(error, RaiseError::Lower { asked: 2, current: 3 }));
    assert!(error.to_string().contains("keep 3"), "{error}");
    let error = tallies.raise(&overall(), limits::SHARDS + 1).await.expect_err("too many");
    assert!(matches!(error, RaiseError::TooMany { .. }));
    assert_eq!(tallies.shards(&overall()).await.expect("shards"), [3]);
}

#[tokio::test]
async fn a_full_shard_doubles_k_by_itself_and_is_never_overfull() {
    let engine = model();
    let settings = Settings { shards: 1, shard_entries: 10, in_flight: 4 };
    let tallies = tallies(engine.clone(), settings);
    for (entries, grown) in [(10, false), (11, true), (400, true)] {
        let sets = (0..entries).map(|entry| event(&overall(), entry, 1)).collect();
        for answer in tallies.set_many(sets).await {
            let _ = answer.expect("is set");
        }
        let shards = tallies.shards(&overall()).await.expect("shards");
        assert_eq!(shards.len() > 1, grown, "{entries} entries: {shards:?}");
        assert!(shards.windows(2).all(|pair| pair[1] == 2 * pair[0]), "{shards:?}");
    }
    let all: Vec<(u64, u64)> = (0..400).map(|entry| (entry, 1)).collect();
    check(engine.clone(), &tallies, &overall(), &all).await;
    for partition in common::shard_sizes(engine.as_ref()).await {
        assert!(partition <= 10, "a shard holds {partition} entries");
    }
}

/// Where K can rise no more, new entries are refused and old ones still change.
#[tokio::test]
async fn a_tally_at_its_limits_says_so() {
    let settings = Settings { shards: limits::SHARDS, shard_entries: 1, in_flight: 4 };
    let tallies = tallies(model(), settings);
    let mut refused = 0;
    for entry in 0..2_000u64 {
        match tallies.set(&overall(), &entry.to_be_bytes(), 1, &values(entry, 1)).await {
            Ok(outcome) => assert!(outcome.is_counted()),
            Err(SetError::Raise(RaiseError::TooMany { .. })) => refused += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(refused > 0, "some of 2,000 entries meet in one of 32,768 shards");
    let outcome = tallies.set(&overall(), &0u64.to_be_bytes(), 2, &[7]).await.expect("changes");
    assert!(outcome.is_counted());
}

#[tokio::test]
async fn one_call_sets_entries_of_many_tallies() {
    let tallies = tallies(model(), SETTINGS);
    let name = |project: u64| Tally::of(&("gateway.usage".to_owned(), project)).expect("short");
    let mut sets = Vec::new();
    for project in 0..50 {
        sets.extend((0..20).map(|entry| event(&name(project), entry, 1)));
    }
    sets.push(tally::Set::new(&name(7), &3u64.to_be_bytes(), 1, &[1, 2, 3]).expect("a set"));
    let answers = tallies.set_many(sets).await;
    let (last, others) = answers.split_last().expect("answers");
    assert!(others.iter().all(|answer| matches!(answer, Ok(Outcome::Counted { .. }))));
    assert!(matches!(last, Err(SetError::Differs { rank: 1, .. })), "{last:?}");
    let names: Vec<Tally> = (0..51).map(name).collect();
    let sums = tallies.sums_many(&names).await.expect("sums");
    let (expected, entries) = common::expected(&(0..20).map(|e| (e, 1)).collect::<Vec<_>>());
    for sums in &sums[..50] {
        assert_eq!((sums.values.as_slice(), sums.entries), (&expected[..], entries));
    }
    assert_eq!(sums[50], tally::Sums::default(), "never set");
}

/// Handles that begin a tally at the same time agree on its first number of shards.
#[tokio::test(flavor = "multi_thread")]
async fn a_tally_begins_once() {
    let engine = model();
    let events = events(&mut fastrand::Rng::with_seed(seed("begin")), 200);
    let mut tasks = tokio::task::JoinSet::new();
    for shards in 1..=8 {
        let tallies = tallies(engine.clone() as Arc<dyn Engine>, Settings { shards, ..SETTINGS });
        let events = events.clone();
        tasks.spawn(async move {
            let mut random = fastrand::Rng::with_seed(u64::from(shards));
            write(&tallies, &overall(), &events, &mut random, 0).await
        });
    }
    tasks.join_all().await;
    let reader = tallies(engine.clone(), SETTINGS);
    assert_eq!(reader.shards(&overall()).await.expect("shards").len(), 1);
    check(engine.clone(), &reader, &overall(), &events).await;
}
