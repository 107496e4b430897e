//! Three nodes of Cassandra, three copies: the scenarios of the original, and many lives while one
//! node is killed with -9 and brought back.

#[path = "../../store-cassandra/tests/common/mod.rs"]
mod cassandra;
mod common;

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
async fn send(staking: Staking, mut waiting: Vec<Message>) -> u64 {
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
                Taken::Applied | Taken::Repeated | Taken::Parked => {}
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
    let mut tasks = JoinSet::new();
    for (handle, messages) in handles.iter().zip(senders) {
        tasks.spawn(send(handle.clone(), messages));
    }
    let victim = rng.usize(..3);
    block_in_place(|| {
        std::thread::sleep(Duration::from_secs(2));
        ring.node(victim).process().kill();
    });
    let later: u64 = tasks.join_all().await.into_iter().sum();
    println!("{} lives, {later} messages were sent again", plain.lives.len());
    for handle in &handles {
        handle.finish_notes(0).await.expect("finished");
    }
    for handle in &handles {
        compare(handle, &plain).await;
    }
    // With one node still dead: the scenarios, each with a staker of its own.
    scenarios::all(&handles[(victim + 1) % 3], &mut rng).await;
}
