//! A real RabbitMQ: whatever ends in the middle, every message is taken, and no queue keeps one.

mod broker;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use broker::{Client, Memory, Running, eventually, within};
use lapin::types::AMQPValue;
use staking::source::{QUEUES, Settings};
use staking::{MESSAGE_BYTES, Taken};

/// A broker that was killed carries what was on its way between two queues once more when nobody
/// has confirmed it for three minutes; until then it counts in neither queue.
const CARRIED_AGAIN: Duration = Duration::from_secs(300);
/// What makes the broker carry expired messages at least once, as `topology` tells operators.
const POLICY: &str = r#"{"dead-letter-strategy":"at-least-once","overflow":"reject-publish"}"#;

/// A source that tries again soon.
fn quick(url: &str) -> Settings {
    Settings { retry_delay: Duration::from_millis(300), ..Settings::new(url) }
}

fn numbered(count: usize) -> impl Iterator<Item = Vec<u8>> {
    (0..count).map(|number| format!("{{\"number\":{number}}}").into_bytes())
}

/// Whether a message is one of the tenth that the store refuses when it comes first.
fn unlucky(body: &[u8]) -> bool {
    body.ends_with(b"7}")
}

/// Waits until nothing is left, then ends the source and looks again: what it had and did not
/// acknowledge would be back.
async fn nothing_is_left(client: &Client, running: Running) {
    let quiet = || async {
        let before = running.status.read().delivered;
        let empty = client.leftovers().await.is_empty();
        // What is on its way to the intake is in no queue; so nothing may move for a while either.
        tokio::time::sleep(Duration::from_secs(2)).await;
        empty && running.status.read().delivered == before
    };
    eventually("no queue keeps a message", quiet).await;
    running.stop().await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(client.leftovers().await, BTreeMap::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_taken_from_queues_that_babylon_declared() {
    let Some(rabbitmq) = parts::require(parts::rabbitmq::install()) else { return };
    let server = rabbitmq.start().expect("starts");
    let client = Client::connect(&server.url()).await;
    let each = parts::pick(500, 20_000);
    for queue in QUEUES {
        client.declare(queue, "quorum").await;
        client.publish(queue, numbered(each)).await;
    }
    // Larger than the intake allows: it is for the intake to say so.
    let large = vec![b'x'; MESSAGE_BYTES + 1];
    client.publish("btc_info_queue", [large.clone()]).await;
    let intake = Memory::new(Duration::ZERO, |message, times| match message.body.len() {
        length if length > MESSAGE_BYTES => Taken::Unprocessable("too large".to_owned()),
        _ if times == 1 && unlucky(&message.body) => Taken::Later("not now".to_owned()),
        _ => Taken::Applied,
    });
    let running = Running::start(quick(&server.url()), &intake);
    let status = Arc::clone(&running.status);
    nothing_is_left(&client, running).await;
    assert_eq!(intake.distinct(), each * QUEUES.len() + 1);
    assert_eq!(intake.times("btc_info_queue", &large), 1);
    assert!(intake.largest_batch() <= 1_000 && intake.largest_batch() > 100);
    let put_off = numbered(each).filter(|body| unlucky(body)).count() * QUEUES.len();
    assert!(
        numbered(each)
            .filter(|body| unlucky(body))
            .all(|body| { QUEUES.iter().all(|queue| intake.times(queue, &body) == 2) })
    );
    let reading = status.read();
    assert_eq!(reading.retried, put_off as u64);
    assert_eq!(reading.acked, (intake.distinct() + put_off) as u64);
    assert_eq!(reading.delivered, reading.acked);
    assert!(!reading.connected && reading.last_error.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_and_a_kill_in_the_middle_lose_nothing() {
    let Some(rabbitmq) = parts::require(parts::rabbitmq::install()) else { return };
    let mut server = rabbitmq.start().expect("starts");
    let policy = ["set_policy", "--apply-to", "queues", "delay", "_delay$", POLICY];
    server.ctl(&policy).expect("a policy");
    let url = server.url();
    let each = parts::pick(600, 6_000);
    let client = Client::connect(&url).await;
    for queue in QUEUES {
        client.declare(queue, "quorum").await;
        client.publish(queue, numbered(each)).await;
    }
    drop(client);
    let all = each * QUEUES.len();
    // Slow enough that there is a middle.
    let intake = Memory::new(Duration::from_millis(40), |message, times| {
        if times == 1 && unlucky(&message.body) {
            Taken::Later("not now".to_owned())
        } else {
            Taken::Applied
        }
    });
    let settings = Settings { batch: all / 60, prefetch: 200, ..quick(&url) };
    let running = Running::start(settings, &intake);
    eventually("a third is taken", || async { intake.distinct() > all / 3 }).await;
    server.restart().expect("comes back");
    eventually("two thirds are taken", || async { intake.distinct() > all * 2 / 3 }).await;
    assert!(intake.distinct() < all, "there is a middle");
    server.process().kill();
    server.process().start_again().expect("starts again");
    server.wait_ready().expect("comes back");
    eventually("all are taken", || async { intake.distinct() == all }).await;
    let client = Client::connect(&url).await;
    assert!(running.status.read().last_error.is_some(), "it has seen the broker fail");
    let missing = |queue: &&str| {
        let refused = numbered(each).filter(|body| unlucky(body));
        refused.filter(|body| intake.times(queue, body) < 2).count()
    };
    let came_back = || async { QUEUES.iter().map(&missing).sum::<usize>() == 0 };
    within(CARRIED_AGAIN, "all that were put off came back", came_back).await;
    nothing_is_left(&client, running).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_store_refuses_comes_back_with_its_attempts_counted() {
    let Some(rabbitmq) = parts::require(parts::rabbitmq::install()) else { return };
    let server = rabbitmq.start().expect("starts");
    let client = Client::connect(&server.url()).await;
    let queue = "slashed_staking_queue";
    let willing = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&willing);
    let intake = Memory::new(Duration::ZERO, move |_, _| {
        if asked.load(Ordering::Relaxed) {
            Taken::Applied
        } else {
            Taken::Later("the disk is full".to_owned())
        }
    });
    let settings = Settings { retries: 1, ..quick(&server.url()) };
    let running = Running::start(settings.clone(), &intake);
    eventually("it is connected", || async { running.status.read().connected }).await;
    client.publish(queue, [b"one".to_vec()]).await;
    let start = Instant::now();
    eventually("it came twice", || async { intake.times(queue, b"one") == 2 }).await;
    assert!(start.elapsed() >= settings.retry_delay, "it stayed away meanwhile");
    // After the last of the usual attempts it stays away longer, and is not given up.
    // Ended before it is acknowledged, it would come back at once, a second time.
    eventually("it waits", || async { running.status.read().acked == 2 }).await;
    assert_eq!(client.waiting("slashed_staking_queue_delay").await, 1);
    running.stop().await;
    let start = Instant::now();
    eventually("it is back", || async { client.waiting(queue).await == 1 }).await;
    assert!(start.elapsed() > settings.retry_delay * 6, "{:?}", start.elapsed());
    let got = client.get(queue).await;
    assert_eq!(got, Some((b"one".to_vec(), Some(AMQPValue::LongInt(2)))));

    // Without a place to wait in, it goes back to where it came from, and the place is made anew.
    let running = Running::start(settings, &intake);
    eventually("it is connected", || async { running.status.read().connected }).await;
    client.delete("slashed_staking_queue_delay").await;
    client.publish(queue, [b"two".to_vec()]).await;
    let told = || async {
        let error = running.status.read().last_error.unwrap_or_default();
        error.contains("slashed_staking_queue_delay: there is no such queue")
    };
    eventually("the missing queue is told", told).await;
    willing.store(true, Ordering::Relaxed);
    eventually("it is connected again", || async { running.status.read().connected }).await;
    nothing_is_left(&client, running).await;
    assert!(intake.times(queue, b"two") >= 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_is_away_is_waited_for() {
    let Some(rabbitmq) = parts::require(parts::rabbitmq::install()) else { return };
    let mut server = rabbitmq.start().expect("starts");
    server.stop().expect("stops");
    let intake = Memory::willing();
    let running = Running::start(quick(&server.url()), &intake);
    let said = |words: &'static str| {
        let status = Arc::clone(&running.status);
        move || {
            let error = status.read().last_error;
            async move { error.is_some_and(|error| error.contains(words)) }
        }
    };
    eventually("it says what to do", said("start RabbitMQ or correct the url")).await;
    assert!(!running.status.read().connected);
    server.process().start_again().expect("starts again");
    server.wait_ready().expect("comes up");
    eventually("it is connected", || async { running.status.read().connected }).await;
    let client = Client::connect(&server.url()).await;
    client.publish("active_staking_queue", numbered(10)).await;
    eventually("all are taken", || async { intake.distinct() == 10 }).await;
    nothing_is_left(&client, running).await;

    let wrong = server.url().replace("guest:guest", "guest:wrong");
    let running = Running::start(quick(&wrong), &intake);
    let status = Arc::clone(&running.status);
    let refused = || async {
        let error = status.read().last_error.unwrap_or_default();
        error.contains("correct the user, password or virtual host")
    };
    eventually("it is refused", refused).await;
    assert!(!format!("{:?}", status.read()).contains("wrong"), "the password is not told");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_with_other_arguments_or_deleted_is_told_and_healed() {
    let Some(rabbitmq) = parts::require(parts::rabbitmq::install()) else { return };
    let server = rabbitmq.start().expect("starts");
    let client = Client::connect(&server.url()).await;
    client.declare("withdraw_staking_queue", "classic").await;
    let intake = Memory::willing();
    let running = Running::start(quick(&server.url()), &intake);
    let status = Arc::clone(&running.status);
    let told = || async {
        let error = status.read().last_error.unwrap_or_default();
        error.contains("delete_queue withdraw_staking_queue_delay") && error.contains("`quorum`")
    };
    eventually("it says what to do", told).await;
    assert!(!status.read().connected);
    // The operator does as told.
    client.delete("withdraw_staking_queue_delay").await;
    client.delete("withdraw_staking_queue").await;
    eventually("it is connected", || async { status.read().connected }).await;
    client.publish("withdraw_staking_queue", numbered(10)).await;
    eventually("all are taken", || async { intake.distinct() == 10 }).await;

    client.delete("expired_staking_queue").await;
    let cancelled = || async {
        status.read().last_error.is_some_and(|error| error.contains("expired_staking_queue"))
    };
    eventually("the end of a queue is noticed", cancelled).await;
    eventually("it is connected again", || async { status.read().connected }).await;
    client.publish("expired_staking_queue", numbered(10)).await;
    eventually("all are taken", || async { intake.distinct() == 20 }).await;
    nothing_is_left(&client, running).await;

    let classic = Settings { quorum: false, ..quick(&server.url()) };
    let running = Running::start(classic, &intake);
    let other = Arc::clone(&running.status);
    let told = || async {
        other.read().last_error.is_some_and(|error| error.contains("with other arguments"))
    };
    eventually("classic queues do not fit quorum queues", told).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_acknowledged_goes_back_when_the_source_ends() {
    let Some(rabbitmq) = parts::require(parts::rabbitmq::install()) else { return };
    let server = rabbitmq.start().expect("starts");
    let client = Client::connect(&server.url()).await;
    let queue = "unbonding_staking_queue";
    client.declare(queue, "quorum").await;
    client.publish(queue, numbered(100)).await;
    // The store hangs.
    let intake = Memory::new(Duration::from_secs(3_600), |_, _| Taken::Applied);
    let running = Running::start(quick(&server.url()), &intake);
    let status = Arc::clone(&running.status);
    eventually("all are delivered", || async { status.read().delivered == 100 }).await;
    assert_eq!(client.waiting(queue).await, 0);
    running.stop().await;
    eventually("all are back", || async { client.waiting(queue).await == 100 }).await;
    assert_eq!(status.read().acked, 0);
    assert!(!status.read().connected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_hangs_is_given_up_and_found_again() {
    let Some(rabbitmq) = parts::require(parts::rabbitmq::install()) else { return };
    let server = rabbitmq.start().expect("starts");
    let intake = Memory::willing();
    let running = Running::start(quick(&format!("{}?heartbeat=1", server.url())), &intake);
    let status = Arc::clone(&running.status);
    eventually("it is connected", || async { status.read().connected }).await;
    server.pause().expect("pauses");
    eventually("the silence is noticed", || async { !status.read().connected }).await;
    server.resume().expect("goes on");
    eventually("it is connected again", || async { status.read().connected }).await;
    let client = Client::connect(&server.url()).await;
    client.publish("confirmed_info_queue", numbered(10)).await;
    eventually("all are taken", || async { intake.distinct() == 10 }).await;
    nothing_is_left(&client, running).await;
}
