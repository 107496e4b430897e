//! Staking as a whole: a real broker that is restarted, a server that is killed, an API that is
//! sent nonsense.

mod common;
#[path = "security/people.rs"]
#[allow(dead_code, reason = "people do more elsewhere")]
mod people;
#[path = "../../staking/tests/common/plain.rs"]
mod plain;
mod queues;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use common::{Place, Server, ask, items};
use devnet::staking::{World, btc_info, hex};
use fastrand::Rng;
use people::Person;
use plain::Plain;
use serde_json::{Value, json};
use staking::Standing;

/// How long a server may take to take what there is.
const PATIENCE: Duration = Duration::from_secs(1_200);

fn seeded() -> Rng {
    let given = std::env::var("OSTRAKON_SEED").ok().and_then(|text| text.parse().ok());
    let seed = given.unwrap_or_else(|| fastrand::u64(..));
    println!("OSTRAKON_SEED={seed}");
    Rng::with_seed(seed)
}

fn standing(value: &Value) -> Standing {
    let number = |name: &str| value[name].as_u64().unwrap_or_else(|| panic!("{name}: {value}"));
    Standing {
        active_tvl: number("active_tvl"),
        total_tvl: number("total_tvl"),
        active_delegations: number("active_delegations"),
        total_delegations: number("total_delegations"),
    }
}

/// All parties of a list with their sums. None may come twice.
fn parties(server: &Server, list: &str) -> BTreeMap<String, Standing> {
    let mut found = BTreeMap::new();
    for item in items(server, &format!("/api/staking/{list}?limit=100")) {
        let key = item["key"].as_str().expect("a key").to_owned();
        assert_eq!(found.insert(key, standing(&item)), None, "a row twice");
    }
    found
}

fn compare(server: &Server, plain: &Plain) {
    let stats = ask(server, "/api/staking/stats");
    let expected = plain.overall();
    assert_eq!(standing(&stats), expected.standing);
    assert_eq!(stats["total_stakers"], expected.total_stakers);
    assert_eq!(stats["active_stakers"], expected.active_stakers);
    let named = |sums: BTreeMap<[u8; 32], Standing>| -> BTreeMap<String, Standing> {
        sums.into_iter().map(|(key, sums)| (hex(&key), sums)).collect()
    };
    assert_eq!(parties(server, "providers"), named(plain.by(|life| life.provider)));
    let mut stakers = plain.by(|life| life.staker);
    stakers.retain(|_, sums| sums.total_delegations > 0);
    assert_eq!(parties(server, "stakers"), named(stakers));
    for height in (840_000..900_000).step_by(7_001) {
        let stats = ask(server, &format!("/api/staking/stats?height={height}"));
        assert_eq!(standing(&stats), plain.as_of(height), "as of {height}");
    }
}

/// Lets servers work until no message is left: none in a queue, and none that comes back when the
/// last one ends. Then one that finds nothing to do but what a killed one left half written.
async fn drained(url: &str, place: &Place, mut server: Server) -> Server {
    let begun = Instant::now();
    loop {
        let mut quiet = 0;
        while quiet < 3 {
            assert!(begun.elapsed() < PATIENCE, "messages are left");
            quiet = if queues::waiting(url).await == Some(0) { quiet + 1 } else { 0 };
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        assert!(server.terminate().success());
        tokio::time::sleep(Duration::from_secs(1)).await;
        let left = queues::waiting(url).await;
        server = place.serve("run --config o.toml");
        if left == Some(0) {
            break;
        }
    }
    loop {
        let audit = place.run("verify staking --config o.toml");
        if audit.code == Some(0) {
            println!("{}", audit.out);
            return server;
        }
        assert!(begun.elapsed() < PATIENCE, "{}{}", audit.out, audit.err);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_again_and_again_behind_a_restarted_broker_it_counts_each_event_once() {
    let Some(rabbitmq) = parts::require(parts::rabbitmq::install()) else { return };
    let mut broker = rabbitmq.start().expect("starts");
    let url = broker.url();
    let mut rng = seeded();
    let count = parts::pick(1_500, 100_000);
    let world = World::new(&mut rng, count / 5, parts::pick(20, 200), 840_000, 20_000);
    let mut plain = Plain::new(&world, count, &mut rng);
    plain.height = 870_000;
    let mut messages = plain.shuffled(30, &mut rng);
    for height in [860_000, plain.height, 850_000] {
        let place = rng.usize(..messages.len());
        messages.insert(place, ("btc_info_queue", btc_info(height, 5, 9).to_string().into()));
    }
    messages.push(("withdraw_staking_queue", b"a rubbish message".to_vec()));
    let place = Place::new();
    place.write(
        "o.toml",
        format!("[store]\ndirectory = \"data\"\n[staking.rabbitmq]\nurl = \"{url}\"\n"),
    );
    place.run("schema apply --config o.toml").ok();
    let total = messages.len();
    let begun = Instant::now();
    // The first server declares the queues.
    let server = place.serve("run --config o.toml");
    let declared = Instant::now();
    while queues::waiting(&url).await.is_none() {
        assert!(declared.elapsed() < Duration::from_secs(60), "no queues are declared");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let publishing = {
        let url = url.clone();
        let over = Duration::from_secs(parts::pick(6, 60));
        tokio::spawn(async move { queues::publish(&url, &messages, over).await })
    };
    let (kills, restarts) = (parts::pick(3, 10), parts::pick(1, 2));
    let mut server = Some(server);
    for kill in 0..kills {
        let pause = parts::pick(2_000, 8_000);
        tokio::time::sleep(Duration::from_millis(rng.u64(pause / 4..pause))).await;
        assert!(kill > 0 || !publishing.is_finished(), "the first kill is in the middle");
        if let Some(server) = server.take() {
            server.kill();
        }
        if kill % (kills / restarts) == 1 {
            broker.restart().expect("comes back");
        }
        server = Some(place.serve("run --config o.toml"));
    }
    let repeated = publishing.await.expect("published");
    let server = drained(&url, &place, server.expect("runs")).await;
    println!(
        "{count} delegations, {total} messages and {repeated} again, {kills} kills, {restarts} \
         restarts of the broker, {} s",
        begun.elapsed().as_secs()
    );
    compare(&server, &plain);
    let kept = place.run("staking unprocessable --json --config o.toml").ok();
    let kept: Value = serde_json::from_str(&kept).expect("JSON");
    let kept = kept["messages"].as_array().expect("a list").clone();
    assert!(kept.iter().all(|message| message["message"] == "a rubbish message"), "{kept:?}");
    assert!(!kept.is_empty(), "what cannot be read is kept");
    assert!(server.terminate().success());
    assert_eq!(queues::waiting(&url).await, Some(0), "none came back");
}

#[test]
fn bad_input_is_refused_or_kept_and_changes_no_sum() {
    let place = Place::new();
    let server = place.demo("data");
    let operator = Person::logs_in(&server, "demo", &server.password());
    let nobody = server.send("POST", "/api/staking/events", &[], "{}");
    assert_eq!(nobody.status, 401, "{nobody:?}");
    let post = |kind: &str, body: &str| {
        let origin = people::origin(&server);
        let headers = [
            ("Cookie", &*operator.cookie),
            ("X-CSRF-Token", &*operator.csrf),
            ("Origin", &*origin),
            ("Content-Type", kind),
        ];
        server.send("POST", "/api/staking/events", &headers, body)
    };
    let mut rng = seeded();
    let life = World::new(&mut rng, 1, 1, 800_000, 10).life(&mut rng);
    let sums = || ask(&server, &format!("/api/staking/stakers/{}", hex(&life.staker)));
    let wrong = |field: &str, value: Value| {
        let mut event = life.active(&mut Rng::with_seed(1));
        event[field] = value;
        event.to_string()
    };
    let json = "application/json";
    for (kind, body, status, says) in [
        (json, "{".to_owned(), 400, "not JSON"),
        (json, "[{},".to_owned(), 400, "not JSON"),
        ("text/plain", "{}".to_owned(), 415, "application/x-ndjson"),
        (json, "{}".to_owned(), 422, "event_type"),
        (json, "5".to_owned(), 422, "not an object"),
        (json, wrong("event_type", json!(99)), 422, "none of 1 to 8"),
        (json, wrong("staking_value", json!(-1)), 422, "staking_value"),
        (json, wrong("staking_value", json!(1e300)), 422, "staking_value"),
        (json, wrong("staking_value", json!(2_100_000_000_000_001_u64)), 422, "staking_value"),
        (json, wrong("staking_tx_hash_hex", json!("0x12")), 422, "64 hexadecimal"),
        (json, wrong("staker_pk_hex", json!("zz")), 422, "64 hexadecimal"),
        (json, wrong("staking_tx_hex", json!("0")), 422, "hexadecimal"),
        ("application/x-ndjson", "rubbish\nmore rubbish\n".to_owned(), 422, "message"),
        (json, format!("[{}5]", "5,".repeat(2_000)), 400, "at most 2000"),
        (json, format!("\"{}\"", "x".repeat(9 << 20)), 413, "large"),
    ] {
        let answer = post(kind, &body);
        let start: String = body.chars().take(60).collect();
        assert_eq!(answer.status, status, "{start}: {answer:?}");
        assert!(answer.body.contains(says), "{start}: {answer:?}");
        assert_eq!(sums()["status"], 404, "{start} counts");
    }
    // One right event among wrong ones counts, and the wrong ones are kept.
    let right = life.active(&mut Rng::with_seed(1)).to_string();
    let taken = post("application/x-ndjson", &format!("rubbish\n{right}\n\n{right}\n"));
    let outcomes = taken.json()["outcomes"].clone();
    let word = |at: usize| outcomes[at]["outcome"].as_str().unwrap_or_default().to_owned();
    assert_eq!([word(0), word(1)], ["unprocessable", "applied"], "{taken:?}");
    assert_eq!(sums()["total_delegations"], u64::from(!life.is_overflow));
    for (path, status, says) in [
        ("stakers/zz", 400, "64 hexadecimal"),
        ("delegations/12", 400, "64 hexadecimal"),
        (&*format!("delegations/{}", "ab".repeat(32)), 404, "delegation"),
        (&*format!("locks/{}", hex(&life.hash)), 400, "colon"),
        (&*format!("locks/{}:withdrawn", hex(&life.hash)), 400, "colon"),
        ("stakers?cursor=abc", 400, "cursor"),
        ("stats?height=99999999999", 400, "height"),
        ("history?from=9&to=5", 400, "from"),
        ("history?points=0", 400, "from 1 to"),
    ] {
        let problem = ask(&server, &format!("/api/staking/{path}"));
        assert_eq!(problem["status"], status, "{path}: {problem}");
        assert!(problem["detail"].as_str().unwrap_or_default().contains(says), "{path}: {problem}");
    }
    let cursor = ask(&server, "/api/staking/stakers?limit=3")["next"].clone();
    let path = format!("/api/staking/providers?cursor={}", cursor.as_str().expect("more"));
    assert_eq!(ask(&server, &path)["code"], "bad-cursor", "a cursor of another list");
    let state = format!("/api/staking/stakers/{}/delegations?state=lost", hex(&life.staker));
    assert!(ask(&server, &state)["detail"].as_str().unwrap_or_default().contains("one of active"));
}
