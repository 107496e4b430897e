//! A process dies between any two commits of a call. Another one takes what is sent again, Bitcoin
//! passes the timelocks, and only then is finished what the dead one left.

mod common;

use std::sync::Arc;

use common::scenarios::Told;
use common::{Plain, compare, seeded};
use devnet::staking::World;
use fastrand::Rng;
use platform::Clock;
use staking::{BtcHeight, Intake as _, Message, Settings, Staking, Taken};
use store::conformance::Faulty;
use store::{Engine, ModelEngine, Store};

const HOUR: u64 = 60 * 60 * 1000;
/// Beyond all timelocks.
const END: u64 = 900_000;

fn on(engine: Arc<dyn Engine>, clock: &Clock) -> Staking {
    let settings = Settings { patience_hours: 24, shards: 2, ..Settings::default() };
    Staking::new(Store::new(engine, 0), clock.clone(), None, settings).expect("settings")
}

/// Whether it died before its work was done.
async fn cut_after(commits: u64, seed: u64) -> bool {
    let mut rng = Rng::with_seed(seed);
    let engine = Arc::new(ModelEngine::default());
    let (clock, hand) = Clock::by_hand(1_000 * HOUR);
    let first = on(Faulty::dies_after(engine.clone(), commits), &clock);
    let second = on(engine.clone(), &clock);
    let world = World::new(&mut rng, 3, 2, 800_000, 100);
    let mut plain = Plain::new(&world, 5, &mut rng);
    let early = Told::new(&second, &mut rng).withdrawn().to_string().into_bytes();
    let mut messages = plain.shuffled(0, &mut rng);
    messages.push(("withdraw_staking_queue", early));
    let message = |(queue, body): &(&str, Vec<u8>)| Message {
        source: (*queue).to_owned(),
        body: body.clone(),
    };
    let messages: Vec<Message> = messages.iter().map(message).collect();
    let died = first.take(messages.clone()).await.iter().any(|it| matches!(it, Taken::Later(_)));
    for taken in second.take(messages).await {
        assert!(!matches!(taken, Taken::Later(_) | Taken::Unprocessable(_)), "{taken:?}");
    }
    plain.height = END;
    second.reach(BtcHeight(END)).await.expect("reached");
    second.expire().await.expect("passed");
    second.finish_notes(0).await.expect("finished");
    compare(&second, &plain).await;
    let audit = second.audit(engine.as_ref(), &mut |_| {}).await.expect("read");
    assert_eq!(audit.findings, Vec::<String>::new());
    hand.forward(30 * HOUR);
    assert_eq!(second.give_up().await.expect("looked"), 1, "the step that waits in vain");
    died
}

#[tokio::test]
async fn a_call_cut_between_any_two_commits_is_finished_by_another() {
    let seed = seeded().u64(..);
    let mut commits = 0;
    while cut_after(commits, seed).await {
        commits += 1;
    }
    println!("cut after each of {commits} commits");
    assert!(commits > 10, "nothing was cut");
}
