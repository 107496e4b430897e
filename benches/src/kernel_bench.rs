//! The kernel on the embedded store: how much it publishes and counts, and what that costs.

use std::sync::Arc;
use std::time::Duration;

use store::{Engine, Schema, Store};
use store_fjall::{FjallEngine, Options};
use tally::{Set, Tallies, Tally};
use timeline::{
    Cut, Height, Lane, NewUnit, Settings, Timeline, Unit, UnitRow, UnitSet, Watch, WriterId,
};

use crate::measure::Cost;

const PUBLISHES: u64 = 2_000;
const WRITERS: u64 = 64;
const SINGLES: u64 = 300;
const GROUPS: u64 = 50;
const GROUP: u64 = 2_000;

pub(crate) fn run() -> anyhow::Result<()> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build()?;
    println!("| {:<38} | {:>10} | {:>12} |", "workload", "per second", "CPU µs each");
    println!("|{:-<40}|{:-<12}|{:-<14}|", "", "", "");
    publishes(&runtime)?;
    singles(&runtime)?;
    grouped(&runtime)?;
    visibility();
    Ok(())
}

fn line(name: &str, cost: Cost, count: u64) {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    println!("| {name:<38} | {:>10.0} | {:>12.2} |", cost.rate(count), cost.cpu_each(count));
}

fn open(directory: &std::path::Path) -> anyhow::Result<Store> {
    let timeline = timeline::schema();
    let schema = Schema::new(timeline.tables().chain(tally::tables()));
    let engine = FjallEngine::open(&Options::new(directory), &schema)?;
    Ok(Store::new(Arc::new(engine) as Arc<dyn Engine>, 0))
}

/// One writer at the tip: reserve, write, publish, each unit on its own.
fn publishes(runtime: &tokio::runtime::Runtime) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let timeline = Timeline::new(open(directory.path())?, "bench".into(), Settings::default());
    let (cost, ()) = Cost::of(|| {
        runtime.block_on(async {
            let leading = timeline.lead(WriterId([1; 16]), &mut Watch::default()).await?;
            let mut writer = leading.ok_or_else(|| anyhow::anyhow!("somebody else leads"))?;
            let mut parent = Vec::new();
            for height in 0..PUBLISHES {
                let keep = height.checked_sub(1).map(Height);
                let cut = Cut { lane: Lane::MINED, keep };
                let mut attempt = writer.begin(&[cut], 1).await?;
                let hash = height.to_be_bytes().to_vec();
                let row = UnitRow { hash: hash.clone(), parent, of: None, items: height };
                let unit = NewUnit { lane: Lane::MINED, height: Height(height), row };
                writer.write_units(&mut attempt, vec![unit]).await?;
                writer.publish(attempt).await?;
                parent = hash;
            }
            Ok(())
        })
    })?;
    line("publishes of one unit, 3 syncs each", cost, PUBLISHES);
    Ok(())
}

fn entry(number: u64) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(number);
    (0..32).map(|_| rng.u8(..)).collect()
}

fn set(tally: &Tally, number: u64) -> anyhow::Result<Set> {
    Ok(Set::new(tally, &entry(number), 1, &[1, i128::from(number)])?)
}

/// Many writers, one entry at a time.
fn singles(runtime: &tokio::runtime::Runtime) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let tallies = Tallies::new(open(directory.path())?, tally::Settings::default())?;
    let tally = Tally::new(b"bench".to_vec())?;
    let (cost, ()) = Cost::of(|| {
        runtime.block_on(async {
            let mut writers = Vec::new();
            for writer in 0..WRITERS {
                let (tallies, tally) = (tallies.clone(), tally.clone());
                writers.push(tokio::spawn(async move {
                    for i in 0..SINGLES {
                        let number = writer * SINGLES + i;
                        let values = [1, i128::from(number)];
                        let _ = tallies.set(&tally, &entry(number), 1, &values).await?;
                    }
                    anyhow::Ok(())
                }));
            }
            for writer in writers {
                writer.await??;
            }
            Ok(())
        })
    })?;
    line("tally sets, 64 writers, one at a time", cost, WRITERS * SINGLES);
    Ok(())
}

/// One writer, thousands of entries at a time.
fn grouped(runtime: &tokio::runtime::Runtime) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let tallies = Tallies::new(open(directory.path())?, tally::Settings::default())?;
    let tally = Tally::new(b"bench".to_vec())?;
    let (cost, ()) = Cost::of(|| {
        runtime.block_on(async {
            for group in 0..GROUPS {
                let sets = (0..GROUP).map(|i| set(&tally, group * GROUP + i));
                for outcome in tallies.set_many(sets.collect::<Result<_, _>>()?).await {
                    let _ = outcome?;
                }
            }
            Ok(())
        })
    })?;
    line("tally sets, one writer, 2,000 at a time", cost, GROUPS * GROUP);
    Ok(())
}

/// What one row costs to judge after 100,000 switches.
fn visibility() {
    let mut hidden = UnitSet::default();
    (0..100_000).for_each(|i| hidden.insert(Unit(i * 3)));
    let mut rng = fastrand::Rng::with_seed(1);
    let units: Vec<Unit> = (0..1_000_000).map(|_| Unit(rng.u64(0..300_000))).collect();
    let started = std::time::Instant::now();
    let seen = units.iter().filter(|unit| hidden.contains(**unit)).count();
    let each: Duration = started.elapsed() / 1_000_000;
    println!(
        "\nvisibility with 100,000 hidden ranges: {} ns a row ({seen} hidden)",
        each.as_nanos()
    );
}
