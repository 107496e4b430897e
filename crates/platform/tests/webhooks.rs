//! Webhooks: in order, signed, patient, and by one process at a time.

mod common;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use common::{DAY, Home, World, op, user};
use platform::chains::ChainName;
use platform::events::{Event, EventFilter, Events, EventsSettings, NewEvent};
use platform::webhooks::{Delivery, NewWebhook, Post, PostError, WebhookError, Webhooks, verify};
use serde_json::json;
use store::Task;

/// A receiver that keeps what it got, and refuses while it is told to.
#[derive(Default)]
struct Receiver {
    got: Mutex<Vec<Delivery>>,
    /// Deliveries to refuse, from now on.
    refuse: AtomicU64,
}

impl Receiver {
    fn ids(&self) -> Vec<u64> {
        let got = self.got.lock().expect("no panic inside");
        got.iter().map(|d| serde_json::from_str::<Event>(&d.body).expect("an event").id).collect()
    }
}

impl Post for Receiver {
    fn post<'a>(&'a self, delivery: &'a Delivery) -> Task<'a, Result<(), PostError>> {
        Box::pin(async move {
            let less = |left: u64| left.checked_sub(1);
            let refused = self.refuse.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
            if refused.is_ok() {
                return Err(PostError("answered 503".into()));
            }
            self.got.lock().expect("no panic inside").push(delivery.clone());
            Ok(())
        })
    }
}

struct Setting {
    world: World,
    events: Events,
    hooks: Webhooks,
}

async fn setting(home: &Home) -> Setting {
    let world = World::on(home.engine.clone()).await;
    let (store, clock) = (world.store.clone(), world.clock.clone());
    let events = Events::new(store.clone(), clock.clone(), EventsSettings::default());
    let hooks = Webhooks::new(store, events.clone(), clock, true);
    Setting { world, events, hooks }
}

async fn append(events: &Events, kind: &str, count: usize) {
    let chain = Some(ChainName::new("eth").expect("a name"));
    let event = NewEvent { kind: kind.into(), chain, data: json!({}) };
    events.append(vec![event; count], op()).await.expect("appends");
}

fn new(kinds: &[&str]) -> NewWebhook {
    let kinds = kinds.iter().map(|kind| (*kind).to_owned()).collect();
    let filter = EventFilter { kinds, chain: None };
    NewWebhook { url: "https://example.org/hook".into(), filter }
}

#[tokio::test]
async fn events_are_delivered_in_order_once_and_signed() {
    for home in Home::both() {
        let Setting { world, events, hooks } = setting(&home).await;
        let receiver = Receiver::default();
        append(&events, "test.before", 3).await;
        let (_, secret) = hooks.create(&user("ann"), new(&["test.*"])).await.expect("makes");
        append(&events, "test.after", 30).await;
        append(&events, "other.kind", 30).await;
        append(&events, "test.after", 5).await;
        while hooks.step(&receiver).await.expect("delivers") > 0 {}
        assert_eq!(receiver.ids(), (4..=33).chain(64..=68).collect::<Vec<_>>());
        assert_eq!(hooks.step(&receiver).await.expect("nothing new"), 0);
        let now = world.clock.now() / 1000;
        for delivery in receiver.got.lock().expect("no panic inside").iter() {
            assert_eq!(delivery.url, "https://example.org/hook");
            assert!(verify(secret.reveal(), &delivery.signature, &delivery.body, now, 5));
        }
    }
}

#[tokio::test]
async fn a_failing_address_is_tried_again_and_disabled_after_a_day() {
    let Setting { world, events, hooks } = setting(&Home::model()).await;
    let ann = user("ann");
    let receiver = Receiver::default();
    let (id, _) = hooks.create(&ann, new(&[])).await.expect("makes");
    append(&events, "test.event", 3).await;
    receiver.refuse.store(2, Ordering::SeqCst);
    assert_eq!(hooks.step(&receiver).await.expect("tries"), 0);
    assert_eq!(hooks.step(&receiver).await.expect("pauses"), 0);
    assert_eq!(receiver.refuse.load(Ordering::SeqCst), 1, "nobody is asked during a pause");
    world.hand.forward(10_000);
    assert_eq!(hooks.step(&receiver).await.expect("tries again"), 0);
    world.hand.forward(20_000);
    assert_eq!(hooks.step(&receiver).await.expect("delivers"), 3);
    assert_eq!(receiver.ids(), [1, 2, 3], "nothing is missed and nothing comes twice");
    receiver.refuse.store(u64::MAX, Ordering::SeqCst);
    append(&events, "test.event", 1).await;
    for _ in 0..40 {
        hooks.step(&receiver).await.expect("tries");
        world.hand.forward(DAY / 20);
    }
    let state = hooks.list(&ann).await.expect("reads").remove(0).state;
    let reason = state.disabled.expect("it is disabled");
    assert!(reason.contains("503"), "{reason}");
    receiver.refuse.store(0, Ordering::SeqCst);
    assert_eq!(hooks.step(&receiver).await.expect("is disabled"), 0);
    hooks.enable(&ann, id).await.expect("enables");
    assert_eq!(hooks.step(&receiver).await.expect("delivers"), 1);
    assert_eq!(receiver.ids(), [1, 2, 3, 4]);
}

/// A batch that breaks off in the middle goes on behind what was acknowledged.
#[tokio::test]
async fn what_was_acknowledged_is_not_delivered_again() {
    struct Breaks(Receiver, u64);
    impl Post for Breaks {
        fn post<'a>(&'a self, delivery: &'a Delivery) -> Task<'a, Result<(), PostError>> {
            let third = self.0.ids().len() as u64 == self.1;
            Box::pin(async move {
                if third { Err(PostError("broke".into())) } else { self.0.post(delivery).await }
            })
        }
    }
    let Setting { world, events, hooks } = setting(&Home::model()).await;
    hooks.create(&user("ann"), new(&[])).await.expect("makes");
    append(&events, "test.event", 9).await;
    let breaks = Breaks(Receiver::default(), 4);
    assert_eq!(hooks.step(&breaks).await.expect("tries"), 4);
    world.hand.forward(10_000);
    let Breaks(receiver, _) = breaks;
    assert_eq!(hooks.step(&receiver).await.expect("goes on"), 5);
    assert_eq!(receiver.ids(), (1..=9).collect::<Vec<_>>());
}

#[tokio::test]
async fn addresses_and_numbers_are_limited() {
    let Setting { world, events, hooks } = setting(&Home::model()).await;
    let ann = user("ann");
    let to = |url: &str| NewWebhook { url: url.into(), filter: EventFilter::default() };
    hooks.create(&ann, to("http://127.0.0.1:9/x")).await.expect("loopback is allowed here");
    let error = hooks.create(&ann, to("http://example.org")).await.expect_err("plain");
    assert!(matches!(error, WebhookError::Plain), "{error}");
    for bad in ["ftp://a.org", "https://a@b.org", "https://"] {
        hooks.create(&ann, to(bad)).await.expect_err(bad);
    }
    let strict = Webhooks::new(world.store.clone(), events, world.clock.clone(), false);
    let error = strict.create(&ann, to("https://localhost/x")).await.expect_err("loopback");
    assert!(matches!(error, WebhookError::Loopback), "{error}");
    for _ in 1..20 {
        hooks.create(&ann, new(&[])).await.expect("there is room");
    }
    let error = hooks.create(&ann, new(&[])).await.expect_err("full");
    assert!(matches!(error, WebhookError::Full), "{error}");
    let listed = hooks.list(&ann).await.expect("reads");
    assert_eq!(listed.len(), 20);
    hooks.remove(&user("bob"), listed[0].id).await.expect_err("not his");
    hooks.remove(&ann, listed[0].id).await.expect("removes");
    assert_eq!(hooks.list(&ann).await.expect("reads").len(), 19);
}

/// Two processes run; only the one with the lease delivers, and the other takes over when it ends.
#[tokio::test(start_paused = true)]
async fn one_process_delivers_and_another_takes_over() {
    let home = Home::model();
    let (one, other) = (setting(&home).await, setting(&home).await);
    one.hooks.create(&user("ann"), new(&[])).await.expect("makes");
    let receivers = std::sync::Arc::new([Receiver::default(), Receiver::default()]);
    let spawn = |hooks: Webhooks, number: usize| {
        let receivers = receivers.clone();
        tokio::spawn(async move { hooks.run(&receivers[number]).await })
    };
    let first = spawn(one.hooks, 0);
    append(&one.events, "test.event", 5).await;
    while receivers[0].ids().len() < 5 {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    let second = spawn(other.hooks, 1);
    append(&one.events, "test.event", 5).await;
    while receivers[0].ids().len() < 10 {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert!(receivers[1].ids().is_empty(), "the lease is held");
    first.abort();
    append(&one.events, "test.event", 5).await;
    while receivers[1].ids().len() < 5 {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert_eq!(receivers[0].ids(), (1..=10).collect::<Vec<_>>());
    assert_eq!(receivers[1].ids(), (11..=15).collect::<Vec<_>>());
    second.abort();
}
