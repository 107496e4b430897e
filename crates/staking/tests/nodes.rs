//! Three nodes of Cassandra, three copies: many lives while one node is killed with -9, and the
//! scenarios of the original with it still dead.

#[path = "../../store-cassandra/tests/common/mod.rs"]
mod cassandra;
mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::{Plain, compare, scenarios, schema, seeded};
use devnet::staking::World;
use platform::Clock;
use staking::{Intake as _, Message, Settings, Staking, Taken};
use store::Store;
use tokio::task::{JoinSet, block_in_place};

/// Messages of one call.
const BATCH: usize = 100;

/// Sends messages until each is taken, as a broker does. How often one was not.
async fn send(staking: Staking, mut waiting: Vec<Message>, taken_so_far: Arc<AtomicUsize>) -> u64 {
    let mut later = 0;
    while !waiting.is_empty() {
        let batch: Vec<Message> = waiting.drain(..BATCH.min(waiting.len())).collect();
        let taken = staking.take(batch.clone()).await;
        for (message, taken) in batch.into_iter().zip(taken) {
            match taken {
                Taken::Later(_) => {
                    later += 1;
                    waiting.push(message);
                }
                Taken::Unprocessable(reason) => panic!("{reason}"),
                Taken::Applied | Taken::Repeated | Taken::Parked => {
                    taken_so_far.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }
    later
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_on_three_nodes_with_one_killed() {
    let Some(mut ring) = block_in_place(cassandra::ring) else { return };
    let options = cassandra::options_of(&ring.addresses(), 3);
    let engines = cassandra::open_apart(&options, &schema()).await;
    let mut rng = seeded();
    let handles = engines.each_ref().map(|engine| {
        let store = Store::new(engine.clone(), 0);
        Staking::new(store, Clock::system(), None, Settings::default()).expect("settings")
    });
    let world = World::new(&mut rng, 60, 8, 800_000, 3_000);
    let plain = Plain::new(&world, parts::pick(300, 3_000), &mut rng);
    let mut senders = vec![Vec::new(); handles.len()];
    for (number, (queue, body)) in plain.shuffled(30, &mut rng).into_iter().enumerate() {
        senders[number % handles.len()].push(Message { source: queue.to_owned(), body });
    }
    let all: usize = senders.iter().map(Vec::len).sum();
    let taken = Arc::new(AtomicUsize::new(0));
    let mut tasks = JoinSet::new();
    for (handle, messages) in handles.iter().zip(senders) {
        tasks.spawn(send(handle.clone(), messages, taken.clone()));
    }
    let victim = rng.usize(..3);
    while taken.load(Ordering::Relaxed) < all / 4 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    block_in_place(|| ring.node(victim).process().kill());
    let before = taken.load(Ordering::Relaxed);
    assert!(before < all, "all {all} messages were taken before the node died");
    let later: u64 = tasks.join_all().await.into_iter().sum();
    println!(
        "{} lives, {before} of {all} messages taken with three nodes, {later} sent again",
        plain.lives.len()
    );
    for handle in &handles {
        handle.finish_notes(0).await.expect("finished");
    }
    for handle in &handles {
        compare(handle, &plain).await;
    }
    // With one node still dead: the scenarios, each with a staker of its own.
    scenarios::all(&handles[0], &mut rng).await;
}
