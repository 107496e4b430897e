//! The event stream: several writers, lies about commits, slow subscribers, old events.

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use common::{Home, op};
use fastrand::Rng;
use platform::chains::ChainName;
use platform::events::{
    AppendError, Event, EventFilter, Events, EventsSettings, FeedError, NewEvent, ReadEventsError,
};
use platform::{Clock, StoreError};
use serde_json::json;
use store::conformance::{Fault, Faulty, full, seed};
use store::{Engine, OpId, Store};

fn events(engine: Arc<dyn Engine>, buckets: u64) -> Events {
    Events::new(Store::new(engine, 0), Clock::by_hand(7).0, EventsSettings { buckets })
}

fn event(kind: &str, number: u64) -> NewEvent {
    NewEvent { kind: kind.into(), chain: None, data: json!({ "number": number }) }
}

fn numbers(events: &[Event]) -> Vec<u64> {
    events.iter().map(|event| event.data["number"].as_u64().expect("a number")).collect()
}

async fn append(events: &Events, numbers: std::ops::Range<u64>) {
    let all: Vec<_> = numbers.collect();
    for some in all.chunks(200) {
        let new = some.iter().map(|number| event("test.counted", *number)).collect();
        events.append(new, op()).await.expect("appends");
    }
}

/// Everything behind `after`, page by page.
async fn read_all(events: &Events, after: u64, filter: &EventFilter, limit: usize) -> Vec<Event> {
    let (mut all, mut after) = (Vec::new(), after);
    loop {
        let page = events.read_after(after, filter, limit).await.expect("reads");
        assert!(page.events.len() <= limit);
        all.extend(page.events);
        after = page.last;
        if !page.more {
            return all;
        }
    }
}

#[tokio::test]
async fn events_are_numbered_kept_in_order_and_filtered() {
    for home in Home::both() {
        let events = events(home.engine.clone(), 9);
        assert_eq!(events.span().await.expect("reads"), None);
        append(&events, 0..3000).await;
        assert_eq!(events.span().await.expect("reads"), Some((1, 3000)));
        let all = read_all(&events, 0, &EventFilter::default(), 700).await;
        assert!(all.iter().map(|event| event.id).eq(1..=3000), "archived or not, none is missing");
        assert_eq!(numbers(&all), (0..3000).collect::<Vec<_>>());
        assert_eq!(all[0].at, 7);
        let eth = ChainName::new("eth").expect("a name");
        let mut other = event("chain.added", 1);
        other.chain = Some(eth.clone());
        events.append(vec![other.clone(), event("chain.added", 2)], op()).await.expect("appends");
        let filter = EventFilter { kinds: vec!["chain.*".into()], chain: Some(eth) };
        let found = read_all(&events, 0, &filter, 10).await;
        assert_eq!(found.iter().map(|event| event.id).collect::<Vec<_>>(), [3001]);
        let error = events.read_after(3003, &filter, 10).await.expect_err("ahead");
        assert!(matches!(error, ReadEventsError::Ahead { newest: 3002 }), "{error}");
    }
}

#[tokio::test]
async fn an_append_happens_once_however_often_it_is_repeated() {
    let home = Home::model();
    let events = events(home.engine.clone(), 9);
    let name = op();
    let first = events.append(vec![event("a.b", 1), event("a.b", 2)], name).await.expect("appends");
    assert_eq!((first.first, first.last, first.repeated), (1, 2, false));
    append(&events, 0..2000).await;
    let again = events.append(vec![event("a.b", 1), event("a.b", 2)], name).await.expect("repeats");
    assert_eq!((again.first, again.last, again.repeated), (1, 2, true));
    assert_eq!(events.span().await.expect("reads"), Some((1, 2002)));
}

#[tokio::test]
async fn what_is_too_much_or_misspelt_is_refused() {
    let events = events(Home::model().engine, 9);
    let large = |bytes| NewEvent { data: json!("x".repeat(bytes)), ..event("a.b", 0) };
    for new in [
        vec![],
        vec![event("a.b", 0); 257],
        vec![event("Upper.Case", 0)],
        vec![event("single", 0)],
        vec![large(17 * 1024)],
        vec![large(15 * 1024); 30],
    ] {
        events.append(new, op()).await.expect_err("refused");
    }
    assert_eq!(events.span().await.expect("reads"), None);
    for limit in [0, 1001] {
        events.read_after(0, &EventFilter::default(), limit).await.expect_err("out of range");
    }
}

#[tokio::test]
async fn old_events_go_and_a_reader_is_told_where_to_begin() {
    for home in Home::both() {
        let events = events(home.engine.clone(), 1);
        append(&events, 0..(3 * 4096 + 1600)).await;
        let (first, newest) = events.span().await.expect("reads").expect("some");
        assert_eq!((first, newest), (2 * 4096, 3 * 4096 + 1600));
        let error = events.read_after(100, &EventFilter::default(), 10).await.expect_err("gone");
        let ReadEventsError::Gone { first: told } = error else { panic!("{error}") };
        assert_eq!(told, first);
        while events.sweep().await.expect("sweeps") {}
        let kept = read_all(&events, first - 1, &EventFilter::default(), 1000).await;
        assert!(kept.iter().map(|event| event.id).eq(first..=newest));
        append(&events, 0..300).await;
        let more = read_all(&events, newest, &EventFilter::default(), 1000).await;
        assert_eq!(more.len(), 300);
    }
}

/// What a writer was told: ids of its events by their numbers.
type Told = BTreeMap<u64, u64>;

async fn write(events: Events, writer: u64, mut rng: Rng, appends: usize) -> Told {
    let mut told = Told::new();
    let mut number = writer * 1_000_000;
    for _ in 0..appends {
        let count = rng.u64(1..40);
        let op = OpId(rng.u128(1..).to_be_bytes());
        let new: Vec<_> = (number..number + count).map(|n| event("test.counted", n)).collect();
        let appended = loop {
            match events.append(new.clone(), op).await {
                Err(AppendError::Store(StoreError::Commit(_))) => {}
                settled => break settled.expect("appends"),
            }
        };
        assert_eq!(appended.last + 1 - appended.first, count);
        told.extend((number..number + count).zip(appended.first..));
        number += count;
        tokio::task::yield_now().await;
    }
    told
}

async fn at_random(home: Home, seed: u64, appends: usize, share: u8) {
    let mut rng = Rng::with_seed(seed);
    let faults = &[Fault::AppliedUnknown, Fault::LostUnknown, Fault::LostFailed];
    let faulty = Faulty::at_random(home.engine.clone(), rng.u64(..), share, faults);
    // Three processes, so that writers meet in the store and not only in one process's line.
    let processes: [Events; 3] = std::array::from_fn(|_| events(faulty.clone(), 99));
    let writers = (1..=6).map(|writer: u64| {
        let process = processes[writer as usize % 3].clone();
        tokio::spawn(write(process, writer, rng.fork(), appends))
    });
    let mut told = Told::new();
    for writer in futures_util::future::join_all(writers).await {
        told.extend(writer.expect("no panic"));
    }
    let all = read_all(&events(home.engine.clone(), 99), 0, &EventFilter::default(), 333).await;
    assert!(all.iter().map(|event| event.id).eq(1..=told.len() as u64), "no gap and no double");
    let found: Told = numbers(&all).into_iter().zip(all.iter().map(|event| event.id)).collect();
    assert_eq!(found, told, "each event is where its writer was told");
    for writer in 1..=6u64 {
        let own = found.range(writer * 1_000_000..(writer + 1) * 1_000_000);
        assert!(own.map(|(_, id)| id).is_sorted(), "a writer's events keep their order");
    }
    println!("{} events, {} faults", all.len(), faulty.injected());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_writers_leave_no_gap_no_double_and_keep_order() {
    let seed = seed("events on the model engine");
    let appends = if full() { 500 } else { 60 };
    for (round, share) in [0, 60, 150].into_iter().enumerate() {
        at_random(Home::model(), seed.wrapping_add(round as u64), appends, share).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_writers_on_disk_leave_no_gap_and_no_double() {
    let seed = seed("events on fjall");
    at_random(Home::fjall(), seed, if full() { 200 } else { 25 }, 40).await;
}

#[tokio::test]
async fn a_subscriber_hears_of_events_here_and_in_other_processes() {
    let home = Home::model();
    let (here, there) = (events(home.engine.clone(), 9), events(home.engine.clone(), 9));
    append(&here, 0..5).await;
    let _follower = here.follow().await.expect("follows");
    let mut feed = here.subscribe(None, EventFilter::default());
    let only = EventFilter { kinds: vec!["test.other".into()], chain: None };
    let mut filtered = here.subscribe(None, only);
    append(&here, 5..7).await;
    append(&there, 7..9).await;
    there.append(vec![event("test.other", 9)], op()).await.expect("appends");
    for expected in 6..=10 {
        assert_eq!(feed.next().await.expect("an event").id, expected);
    }
    assert_eq!(filtered.next().await.expect("an event").id, 10);
    assert_eq!(here.subscribers(), 2);
}

/// A subscriber that does not read is not waited for; it is told, reads on from its last id, and
/// goes on with the feed. Every event arrives once.
#[tokio::test]
async fn a_slow_subscriber_is_told_and_misses_nothing() {
    let home = Home::model();
    let stream = events(home.engine.clone(), 9);
    let _follower = stream.follow().await.expect("follows");
    let mut feed = stream.subscribe(Some(0), EventFilter::default());
    append(&stream, 0..3).await;
    let mut heard = vec![feed.next().await.expect("an event").id];
    append(&stream, 3..5000).await;
    // Another subscriber sees the last event, so the feed has passed the slow one by.
    let mut quick = stream.subscribe(Some(4999), EventFilter::default());
    append(&stream, 5000..5002).await;
    while !matches!(quick.next().await, Ok(event) if event.id >= 5001) {
        let page = stream.read_after(quick.last(), &EventFilter::default(), 10).await;
        quick.resume_at(page.expect("reads").last);
        if quick.last() >= 5002 {
            break;
        }
    }
    let mut lagged = 0;
    while heard.len() < 5002 {
        match feed.next().await {
            Ok(event) => heard.push(event.id),
            Err(FeedError::Lagged { last }) => {
                lagged += 1;
                assert_eq!(last, *heard.last().expect("heard something"));
                let page = stream.read_after(last, &EventFilter::default(), 300).await;
                let page = page.expect("reads");
                heard.extend(page.events.iter().map(|event| event.id));
                feed.resume_at(page.last);
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(lagged > 0, "it was never slow");
    assert!(heard.into_iter().eq(1..=5002), "each once, in order");
}
