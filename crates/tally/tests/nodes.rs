//! Three nodes, three copies: a run of many writers goes on while one node is killed with -9 and
//! brought back, and its sums are exact.

#[path = "../../store-cassandra/tests/common/mod.rs"]
mod cassandra;
mod common;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use common::{check, overall, schema, tallies, values};
use parts::cassandra::Cluster;
use store::conformance::seed;
use tally::{Settings, Tallies};
use tokio::task::{JoinSet, block_in_place};

const WRITERS: u64 = 16;
const SETTINGS: Settings = Settings { shards: 16, shard_entries: 50_000, in_flight: 8 };
/// The issue's own bound.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// When a set last succeeded, and the longest time between two of them.
struct Pulse(Mutex<(Instant, Duration)>);

impl Pulse {
    fn beat(&self) {
        let mut pulse = self.0.lock().expect("no panic inside");
        let now = Instant::now();
        *pulse = (now, pulse.1.max(now - pulse.0));
    }

    fn longest(&self) -> Duration {
        self.0.lock().expect("no panic inside").1
    }
}

/// What all writers share.
struct Run {
    stop: AtomicBool,
    pulse: Pulse,
}

/// Sets events of its own entries until it is told to stop. Returns those that were acknowledged,
/// the plain list the sums are compared with, and how many errors it met on the way.
async fn write(run: Arc<Run>, tallies: Tallies, writer: u64, seed: u64) -> (Vec<(u64, u64)>, u64) {
    let mut rng = fastrand::Rng::with_seed(seed.wrapping_add(writer));
    let (mut acknowledged, mut errors) = (Vec::new(), 0);
    let mut entries = 0;
    while !run.stop.load(Ordering::Relaxed) {
        let known = if entries == 0 || rng.u8(0..3) == 0 { entries } else { rng.u64(0..entries) };
        entries = entries.max(known + 1);
        let (entry, rank) = (known * WRITERS + writer, rng.u64(1..=6));
        // An event is not given up, whatever happens: it is set until it is acknowledged.
        while let Err(error) =
            tallies.set(&overall(), &entry.to_be_bytes(), rank, &values(entry, rank)).await
        {
            println!("writer {writer}: {error}");
            errors += 1;
        }
        run.pulse.beat();
        acknowledged.push((entry, rank));
    }
    (acknowledged, errors)
}

/// Kills a node, lets the others work without it for long enough that they notice, and waits until
/// it is back among them.
fn kill_and_bring_back(ring: &mut Cluster, node: usize) {
    std::thread::sleep(Duration::from_secs(6));
    ring.node(node).process().kill();
    println!("node {node} is dead");
    std::thread::sleep(Duration::from_secs(25));
    ring.node(node).process().start_again().expect("starts again");
    ring.wait_ready().expect("the ring is whole again");
    println!("node {node} is back");
    std::thread::sleep(Duration::from_secs(6));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_node_killed_loses_nothing_and_stops_nobody() {
    let Some(mut ring) = block_in_place(cassandra::ring) else { return };
    let options = cassandra::options_of(&ring.addresses(), 3);
    let engines = cassandra::open_apart(&options, &schema()).await;
    let seed = seed("one node killed, tally");
    let pulse = Pulse(Mutex::new((Instant::now(), Duration::ZERO)));
    let run = Arc::new(Run { stop: AtomicBool::new(false), pulse });
    let handles = engines.each_ref().map(|engine| tallies(engine.clone(), SETTINGS));
    let mut tasks = JoinSet::new();
    for (writer, handle) in (0..WRITERS).zip(handles.iter().cycle()) {
        tasks.spawn(write(run.clone(), handle.clone(), writer, seed));
    }
    let victim = usize::try_from(seed % 3).expect("small");
    block_in_place(|| kill_and_bring_back(&mut ring, victim));
    run.stop.store(true, Ordering::Relaxed);
    let (mut events, mut errors) = (Vec::new(), 0);
    for (acknowledged, met) in tasks.join_all().await {
        events.extend(acknowledged);
        errors += met;
    }
    // What the dead one missed must not depend on those who were there.
    ring.node((victim + 1) % 3).process().kill();
    for (engine, handle) in engines.iter().zip(&handles) {
        check(engine.clone(), handle, &overall(), &events).await;
    }
    let longest = run.pulse.longest();
    println!("{} events, {errors} errors, longest pause {longest:?}", events.len());
    assert!(events.len() > 500, "too slow to prove anything: {} events", events.len());
    assert!(longest <= LONGEST_PAUSE, "the run stood still for {longest:?}");
}
