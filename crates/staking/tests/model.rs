//! Any order, any doubles, any batches: the sums are those of a plain list.

mod common;

use common::{Plain, compare, feed, on_model, seeded};
use devnet::staking::{World, btc_info};
use staking::{BtcHeight, Intake as _, Message, Settings, Taken};

#[tokio::test(flavor = "multi_thread")]
async fn any_order_adds_up_to_the_plain_list() {
    let mut rng = seeded();
    for batch in [1, 7, 500] {
        let world = World::new(&mut rng, 40, 9, 800_000, 3_000);
        let plain = Plain::new(&world, 150, &mut rng);
        let staking = on_model(Settings::default());
        feed(&staking, plain.shuffled(30, &mut rng), batch).await;
        compare(&staking, &plain).await;
        assert!(staking.kept(None, 10).await.expect("read").messages.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_callers_with_one_message_each_count_it_once_even_when_some_give_up() {
    let mut rng = seeded();
    let world = World::new(&mut rng, 40, 9, 800_000, 3_000);
    let plain = Plain::new(&world, 150, &mut rng);
    let staking = on_model(Settings::default());
    let mut callers = tokio::task::JoinSet::new();
    for (queue, body) in plain.shuffled(30, &mut rng) {
        let staking = staking.clone();
        let patience = std::time::Duration::from_micros(rng.u64(..20_000));
        callers.spawn(async move {
            // One that gives up, or is told to come later, comes again.
            let message = || vec![Message { source: queue.to_owned(), body: body.clone() }];
            let _ = tokio::time::timeout(patience, staking.take(message())).await;
            while let [Taken::Later(_)] = staking.take(message()).await.as_slice() {}
        });
    }
    callers.join_all().await;
    staking.finish_notes(0).await.expect("finished");
    compare(&staking, &plain).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn timelocks_pass_by_the_height_of_bitcoin_in_any_order() {
    let mut rng = seeded();
    let world = World::new(&mut rng, 20, 5, 800_000, 3_000);
    let mut plain = Plain::new(&world, 200, &mut rng);
    plain.lives.iter_mut().for_each(|life| life.expires = false);
    let staking = on_model(Settings::default());
    let mut messages = plain.shuffled(20, &mut rng);
    let rest = messages.split_off(messages.len() / 2);
    feed(&staking, messages, 100).await;
    plain.height = 825_000;
    let told = |height| vec![("btc_info_queue", btc_info(height, 90, 100).to_string().into())];
    feed(&staking, told(plain.height), 1).await;
    feed(&staking, told(801_000), 1).await;
    assert!(staking.expire().await.expect("expired") > 0);
    assert_eq!(staking.expire().await.expect("nothing left"), 0);
    // What comes after its timelock has passed is seen at once.
    feed(&staking, rest, 100).await;
    let overall = staking.overall().await.expect("read");
    assert_eq!((overall.unconfirmed_tvl, overall.pending_tvl), (100, 10));
    assert_eq!(overall.standing, plain.overall().standing);
    plain.height = 900_000;
    staking.reach(BtcHeight(plain.height)).await.expect("reached");
    staking.expire().await.expect("expired");
    assert_eq!(staking.overall().await.expect("read").standing, plain.overall().standing);
    let as_of = staking.as_of(BtcHeight(plain.height)).await.expect("read");
    assert_eq!(as_of, plain.as_of(plain.height), "by heights");
    assert_eq!(as_of, plain.overall().standing, "both ways to count agree");
}
