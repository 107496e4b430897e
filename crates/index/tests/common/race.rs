//! A race of writers and drivers over the same projects: everything is done once, and whole.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fastrand::Rng;
use index::{ChangeError, Driver, DriverSettings, INTENTS, Millis};
use store::{Engine, OpId, PageRequest};

use super::cancel::Yielding;
use super::{Home, World};

/// Projects of a race, from 1.
const PROJECTS: u64 = 60;
const WRITERS: usize = 16;

/// A driver that takes every intent at once.
pub(crate) fn eager(world: &World) -> Driver {
    let settings =
        DriverSettings { age: Duration::ZERO, period: Duration::ZERO, ..DriverSettings::default() };
    Driver::new(world.effects.clone(), settings)
}

/// A moment at which all intents of this test are old enough.
pub(crate) fn soon() -> Millis {
    Millis(Millis::now().0 + 1000)
}

pub(crate) async fn intents(world: &World) -> usize {
    let mut count = 0;
    for lane in 0..16 {
        let page = world.store.page(&INTENTS, &lane, PageRequest::first(256)).await;
        count += page.expect("reads").rows.len();
    }
    count
}

/// What the writers of a race were told.
#[derive(Default)]
struct Told {
    done: Vec<(u64, u128)>,
    conflicts: Vec<(u64, u128)>,
    unknown: Vec<(u64, u128)>,
}

async fn write(world: World, mut rng: Rng, changes: usize) -> Told {
    let mut told = Told::default();
    for _ in 0..changes {
        // Few projects, so that writers meet; and many, so that for most of them some change is the
        // last one, which no later change covers up.
        let project = if rng.u8(0..3) < 2 { rng.u64(1..3) } else { rng.u64(3..PROJECTS) };
        let score = rng.u64(0..50);
        let op = OpId(rng.u128(1..).to_be_bytes());
        let name = (project, u128::from_be_bytes(op.0));
        match world.score(project, score, op).await {
            Ok(_) => told.done.push(name),
            Err(ChangeError::Conflict { .. }) => told.conflicts.push(name),
            Err(ChangeError::Unknown(_)) => told.unknown.push(name),
            Err(error) => panic!("{error}"),
        }
        tokio::task::yield_now().await;
    }
    told
}

/// Writers and two drivers that wait for nobody, on engines that may lie, with which they take
/// turns.
pub(crate) async fn race(home: &Home, engines: &[Arc<dyn Engine>], seed: u64, changes: usize) {
    // More awaits, so that writers and drivers meet between any two steps.
    let world = |engine: &Arc<dyn Engine>| World::on(Arc::new(Yielding(engine.clone())));
    let worlds: Vec<World> = engines.iter().map(world).collect();
    let stop = Arc::new(AtomicBool::new(false));
    let drivers: Vec<_> = (worlds.iter().cycle().take(2))
        .map(|world| {
            let (mut driver, stop) = (eager(world), stop.clone());
            tokio::spawn(async move {
                let mut taken = 0;
                while !stop.load(Ordering::Relaxed) {
                    taken += driver.step(soon()).await.map_or(0, |step| step.found);
                    tokio::task::yield_now().await;
                }
                taken
            })
        })
        .collect();
    let writers: Vec<_> = (0..WRITERS as u64)
        .zip(worlds.iter().cycle())
        .map(|(i, world)| (world.clone(), Rng::with_seed(seed.wrapping_add(i))))
        .map(|(world, rng)| tokio::spawn(write(world, rng, changes / WRITERS)))
        .collect();
    let mut told = Told::default();
    for writer in writers {
        let more = writer.await.expect("a writer ends");
        told.done.extend(more.done);
        told.conflicts.extend(more.conflicts);
        told.unknown.extend(more.unknown);
    }
    stop.store(true, Ordering::Relaxed);
    let mut taken = 0;
    for driver in drivers {
        taken += driver.await.expect("a driver ends");
    }
    check_race(home, &told).await;
    let (done, conflicts) = (told.done.len(), told.conflicts.len());
    println!("{done} done, {conflicts} conflicts, {} unknown, {taken} taken", told.unknown.len());
    assert!(done > 0 && conflicts > 0 && taken > 0, "no race");
}

async fn check_race(home: &Home, told: &Told) {
    let honest = home.world();
    let mut driver = eager(&honest);
    // A step is bounded; there may be more than one step's worth.
    let mut more = true;
    while more {
        let step = driver.step(soon()).await.expect("reads");
        assert_eq!(step.left, 0, "{step:?}");
        more = step.more;
    }
    assert_eq!(intents(&honest).await, 0);
    for project in 1..PROJECTS {
        assert!(honest.is_whole(project).await, "{project}: {:?}", honest.seen(project).await);
        // One operation for each version: nothing is doubled.
        let done = honest.operations(project).await;
        let of = |names: &[(u64, u128)]| {
            let own = names.iter().filter(|(of, _)| *of == project);
            own.map(|(_, op)| *op).collect::<Vec<_>>()
        };
        assert!(of(&told.done).iter().all(|op| done.contains(op)), "a change was lost");
        assert!(!of(&told.conflicts).iter().any(|op| done.contains(op)), "a refused one was done");
        let known = [of(&told.done), of(&told.unknown)].concat();
        assert!(done.iter().all(|op| known.contains(op)), "a change from nowhere");
    }
    home.expect_clean().await;
}
