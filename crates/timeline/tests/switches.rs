//! Many switches: the tip row stays small, and the journal tells the whole story.

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use common::tree::{CHAIN, hash, schema};
use store::conformance::{Fault, Faulty, full, seed};
use store::{Engine, Entry, Maintenance, ModelEngine, Store};
use timeline::{
    Cut, Height, Lane, NewUnit, PublishError, Settings, Timeline, Unit, UnitRow, Watch, Writer,
    WriterId, verify,
};

async fn lead(timeline: &Timeline) -> Writer {
    let writer = timeline.lead(WriterId([1; 16]), &mut Watch::default()).await;
    writer.expect("the tip can be written").expect("nobody else leads")
}

fn new_unit(height: u64, id: u64, parent: Option<u64>) -> NewUnit {
    let parent = parent.map(hash).unwrap_or_default();
    let row = UnitRow { hash: hash(id), parent, of: None, items: 0 };
    NewUnit { lane: Lane::MINED, height: Height(height), row }
}

/// Leaves the chain at `keep` and pushes `ids` on top.
async fn push(
    writer: &mut Writer,
    keep: Option<u64>,
    below: Option<u64>,
    ids: &[u64],
) -> Result<(), PublishError> {
    let cut = Cut { lane: Lane::MINED, keep: keep.map(Height) };
    let mut attempt = writer.begin(&[cut], ids.len() as u64).await?;
    let first = keep.map_or(0, |height| height + 1);
    let mut parent = below;
    let mut units = Vec::new();
    for (height, id) in (first..).zip(ids) {
        units.push(new_unit(height, *id, parent));
        parent = Some(*id);
    }
    writer.write_units(&mut attempt, units).await?;
    writer.publish(attempt).await.map(|_| ())
}

fn timeline_on(engine: Arc<dyn Engine>) -> Timeline {
    Timeline::new(Store::new(engine, 0), CHAIN.to_owned(), Settings::default())
}

/// Bytes of the largest row in the tip's partition.
async fn tip_bytes(engine: &ModelEngine) -> usize {
    let walker = engine.walk().await.expect("walks");
    let table = schema().table("timeline.tips").expect("is there");
    let page = walker.page(table, None, 100_000).await.expect("reads");
    let bytes = |entry: &Entry| match entry {
        Entry::Row { value, .. } => value.len(),
        _ => 0,
    };
    page.entries.iter().map(bytes).max().expect("a tip")
}

/// Each round pushes a block, leaves it for two others, and so hides one number for ever.
#[tokio::test]
async fn the_tip_stays_small_through_many_switches() {
    let rounds: u64 = if full() { 100_000 } else { 4_000 };
    let engine = Arc::new(ModelEngine::default());
    let timeline = timeline_on(engine.clone());
    let mut writer = lead(&timeline).await;
    let mut head = None;
    for round in 0..rounds {
        let (keep, id) = (head.map(|(height, _)| height), round * 3);
        let below = head.map(|(_, id)| id);
        push(&mut writer, keep, below, &[id]).await.expect("extends");
        push(&mut writer, keep, below, &[id + 1, id + 2]).await.expect("switches");
        head = Some((keep.map_or(1, |height| height + 2), id + 2));
    }
    let bytes = tip_bytes(&engine).await;
    println!("{rounds} switches: the tip row has {bytes} bytes");
    assert!(bytes < 64 * 1024, "{bytes}");
    // A reader that comes fresh must see exactly what the writer sees.
    let view = timeline_on(engine).view().await.expect("a view");
    assert_eq!(view.hidden().unit_count(), rounds);
    for round in 0..rounds {
        let seen = [0, 1, 2].map(|i| view.sees(Unit(round * 3 + 1 + i)));
        assert_eq!(seen, [false, true, true], "round {round}");
    }
}

/// Applies the journal to an empty chain; it must give the chain of the view.
async fn replay(timeline: &Timeline) -> BTreeMap<Height, Unit> {
    let mut chain = BTreeMap::new();
    let mut next = 0;
    loop {
        let switches = timeline.follow(next).await.expect("follows");
        if switches.is_empty() {
            return chain;
        }
        for (number, switch) in switches {
            assert_eq!(number, next);
            for (height, unit) in switch.popped.iter().rev().flat_map(|run| run.units().rev()) {
                assert_eq!(chain.remove(&height), Some(unit), "switch {number} pops what is there");
            }
            for (height, unit) in switch.pushed.iter().flat_map(timeline::Run::units) {
                assert_eq!(chain.insert(height, unit), None, "switch {number} pushes once");
            }
            next += 1;
        }
    }
}

/// Random switches, with every commit's outcome unknown at first, applied or not.
#[tokio::test]
async fn the_journal_tells_the_whole_story_under_unknown_outcomes() {
    let seed = seed("switches");
    let model = Arc::new(ModelEngine::default());
    let choose = move |call: store::conformance::Call| match (call.repetition, call.number % 2) {
        (0, 0) => Fault::AppliedUnknown,
        (0, _) => Fault::LostUnknown,
        _ => Fault::None,
    };
    let faulty = Faulty::new(model.clone(), Box::new(choose));
    let timeline = timeline_on(faulty.clone());
    let mut writer = lead(&timeline).await;
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut chain: Vec<u64> = Vec::new();
    for round in 0..if full() { 3_000 } else { 400 } {
        let keep = rng.usize(chain.len().saturating_sub(6)..=chain.len());
        chain.truncate(keep);
        let ids: Vec<u64> = (0..rng.u64(1..5)).map(|i| round * 10 + i).collect();
        let below = chain.last().copied();
        let height = (keep as u64).checked_sub(1);
        push(&mut writer, height, below, &ids).await.expect("publishes, once its outcome is known");
        chain.extend(ids);
    }
    assert!(faulty.injected() > 0);
    let timeline = timeline_on(model);
    let view = timeline.view().await.expect("a view");
    let top = view.head(Lane::MINED).expect("a head").height;
    let units = timeline.units_between(&view, Lane::MINED, Height(0), top).await.expect("reads");
    let found: Vec<Vec<u8>> = units.iter().map(|(_, _, row)| row.hash.clone()).collect();
    assert_eq!(found, chain.iter().map(|id| hash(*id)).collect::<Vec<_>>());
    let expected: BTreeMap<Height, Unit> = units.iter().map(|(h, unit, _)| (*h, *unit)).collect();
    assert_eq!(replay(&timeline).await, expected);
    assert_eq!(verify(&timeline).await.expect("walks"), []);
}

/// A writer that slept while another took over cannot publish, and its numbers stay hidden.
#[tokio::test]
async fn a_writer_that_slept_too_long_has_lost() {
    let engine: Arc<dyn Engine> = Arc::new(ModelEngine::default());
    let settings = Settings { patience: std::time::Duration::ZERO, ..Settings::default() };
    let open = || Timeline::new(Store::new(engine.clone(), 0), CHAIN.to_owned(), settings);
    let mut sleeper = lead(&open()).await;
    push(&mut sleeper, None, None, &[1]).await.expect("publishes");
    let cut = Cut { lane: Lane::MINED, keep: Some(Height(0)) };
    let mut attempt = sleeper.begin(&[cut], 1).await.expect("begins");
    let other = open().lead(WriterId([2; 16]), &mut Watch::default()).await.expect("asks");
    let mut other = other.expect("patience is over");
    push(&mut other, Some(0), Some(1), &[2, 3]).await.expect("publishes");
    let unit = attempt.unit(0);
    sleeper.write_units(&mut attempt, vec![new_unit(1, 9, Some(1))]).await.expect("writes");
    let lost = sleeper.publish(attempt).await.expect_err("the other went on");
    assert!(matches!(lost, PublishError::Lost), "{lost}");
    assert!(!open().view().await.expect("a view").sees(unit));
}

/// `verify` must see what readers would stumble over.
#[tokio::test]
async fn a_missing_unit_is_found_by_verification() {
    let engine = Arc::new(ModelEngine::default());
    let timeline = timeline_on(engine.clone());
    let mut writer = lead(&timeline).await;
    push(&mut writer, None, None, &[1, 2, 3]).await.expect("publishes");
    assert_eq!(verify(&timeline).await.expect("walks"), []);
    assert_eq!(timeline::chains(engine.as_ref()).await.expect("walks"), [CHAIN]);
    let schema = schema();
    let table = schema.table("timeline.heights").expect("is there");
    let walker = engine.walk().await.expect("walks");
    let page = walker.page(table, None, 10).await.expect("reads");
    let rows: Vec<_> = page
        .entries
        .into_iter()
        .filter_map(|entry| match entry {
            Entry::Row { key, .. } => Some(store::Row { table, key, value: None }),
            _ => None,
        })
        .collect();
    let middle = rows.into_iter().nth(1).expect("three units");
    timeline.store().put(vec![middle]).await.expect("puts");
    let found = verify(&timeline).await.expect("walks");
    assert!(found.iter().any(|found| found.what.contains("height 1")), "{found:?}");
}
