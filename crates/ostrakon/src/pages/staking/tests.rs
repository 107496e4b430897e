//! The pages with nothing behind them, with real rows behind them, and asked for wrongly.

use std::sync::Arc;

use ::staking::{Intake as _, Message, Staking, Taken};
use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use devnet::staking::{World, btc_info};
use serde_json::{Value, json};
use tower::ServiceExt as _;
use web::{CHINESE, ENGLISH, Messages};

use crate::config::Settings;
use crate::opening::OpenStore;
use crate::server::served;

/// The operator of the tests.
const OPERATOR: (&str, &str) = ("keeper", "a long way to go");
/// The staker of the tests.
const STAKER: &str = "91fef91f0f00d010d6c918acb9197db6cd33d99ee617090fa8cb61fa2a31405a";
/// Where the requests of a browser go.
const HOST: &str = "staking.test";

/// A server, and the service behind its pages.
struct Server {
    router: axum::Router,
    staking: Staking,
}

impl Server {
    async fn start() -> Self {
        let opened = Arc::new(OpenStore::model().await);
        let settings = Settings::defaults("data".into());
        let (product, built) = served(opened, &settings).await.expect("opens");
        let (name, password) = OPERATOR;
        let op = index::new_op().expect("an operation");
        let accounts = &product.platform.accounts;
        accounts.make_operator(name, password, op).await.expect("made");
        Self { router: built.router, staking: product.staking }
    }

    async fn tell(&self, values: &[Value]) -> Vec<Taken> {
        let message =
            |value: &Value| Message { source: "test".into(), body: value.to_string().into() };
        self.staking.take(values.iter().map(message).collect()).await
    }

    /// Sixty delegations of one staker with many finality providers, some of them taken out.
    async fn told() -> (Self, Told) {
        let server = Self::start().await;
        let mut rng = fastrand::Rng::with_seed(7);
        let mut world = World::new(&mut rng, 1, 90, 850_000, 300);
        // Not every number is a key, and only a key has an address.
        let ::staking::PublicKey(key) = ::staking::PublicKey::parse(STAKER).expect("a key");
        world.stakers = vec![key];
        let mut lives: Vec<_> = (0..60).map(|_| world.life(&mut rng)).collect();
        let mut events = vec![btc_info(851_000, 5, 8)];
        for life in &mut lives {
            life.slashed = None;
            events.extend(life.messages(&mut rng).into_iter().map(|(_, event)| event));
        }
        assert!(!server.tell(&events).await.iter().any(|it| matches!(it, Taken::Later(_))));
        let out = lives.iter().find(|life| life.unbonding.is_some()).expect("one is taken out");
        let hex = |bytes: &[u8]| ::staking::hex::Hex(bytes).to_string();
        let told = Told { provider: hex(&out.provider), delegation: hex(&out.hash) };
        (server, told)
    }

    async fn send(&self, request: Request<Body>) -> (StatusCode, axum::http::HeaderMap, String) {
        let response = self.router.clone().oneshot(request).await.expect("answered");
        let (head, body) = response.into_parts();
        let body = axum::body::to_bytes(body, 1 << 22).await.expect("a body");
        (head.status, head.headers, String::from_utf8(body.to_vec()).expect("text"))
    }

    async fn get(&self, path: &str, language: &str, cookie: &str) -> (StatusCode, String) {
        let request = Request::get(path).header("accept", "text/html").header("host", HOST);
        let request = request.header("accept-language", language).header("cookie", cookie);
        let (status, _, page) = self.send(request.body(Body::empty()).expect("a request")).await;
        (status, page)
    }

    async fn post(&self, path: &str, cookie: &str, form: String) -> (StatusCode, String, String) {
        let request = Request::post(path).header("accept", "text/html").header("host", HOST);
        let request = request.header("origin", format!("http://{HOST}")).header("cookie", cookie);
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let (status, headers, page) =
            self.send(request.body(Body::from(form)).expect("a request")).await;
        let set = headers.get(header::SET_COOKIE).and_then(|value| value.to_str().ok());
        let set = set.and_then(|text| text.split(';').next()).unwrap_or_default().to_owned();
        (status, page, set)
    }

    /// The cookie of somebody who is logged in.
    async fn log_in(&self) -> String {
        let (name, password) = OPERATOR;
        let form = format!("name={name}&password={}", password.replace(' ', "+"));
        let (status, page, cookie) = self.post("/login", "", form).await;
        assert!(status == StatusCode::SEE_OTHER && !cookie.is_empty(), "{page}");
        cookie
    }
}

/// Names of what was told.
struct Told {
    provider: String,
    delegation: String,
}

/// What stands between two texts.
fn between<'a>(page: &'a str, before: &str, after: &str) -> &'a str {
    let (_, rest) = page.split_once(before).unwrap_or_else(|| panic!("no {before} in {page}"));
    rest.split_once(after).expect("an end").0
}

fn words(language: &str) -> &'static Messages {
    if language == "zh" { &CHINESE } else { &ENGLISH }
}

#[tokio::test]
async fn without_delegations_every_page_says_what_to_do() {
    let server = Server::start().await;
    for language in ["en", "zh"] {
        let words = words(language);
        for path in ["/staking", "/staking/providers", "/staking/stakers"] {
            let (status, page) = server.get(path, language, "").await;
            assert_eq!(status, StatusCode::OK, "{path}: {page}");
            assert!(page.contains(words.no_delegations_advice), "{path}: {page}");
        }
        let (_, page) = server.get("/", language, "").await;
        assert!(page.contains("0.00000000 BTC"), "{page}");
    }
}

#[tokio::test]
async fn every_page_shows_what_was_told_in_both_languages() {
    let (server, told) = Server::told().await;
    let provider = format!("/staking/providers/{}", told.provider);
    let staker = format!("/staking/stakers/{STAKER}");
    let delegation = format!("/staking/delegations/{}", told.delegation);
    for language in ["en", "zh"] {
        let words = words(language);
        for (path, said) in [
            ("/staking", vec![words.active_tvl, words.top_stakers, "<svg", "851,000"]),
            ("/staking", vec!["data-live=\"staking.delegations.changed\"", &staker]),
            ("/staking/providers", vec![words.share, "<meter", words.next_page]),
            ("/staking/stakers", vec![words.share, &staker, "100.00 %"]),
            (&provider, vec![words.total_tvl, &told.provider, &staker]),
            (&staker, vec![words.taproot_address, "bc1p", words.next_page, "/staking/providers/"]),
            (&delegation, vec![words.history, words.unbonding, &staker, &provider]),
            (&delegation, vec![words.lock_records, "overall_stats", words.performed, "/search?q="]),
            ("/", vec![words.staking, "href=\"/staking\"", words.active_delegations]),
        ] {
            let (status, page) = server.get(path, language, "").await;
            assert_eq!(status, StatusCode::OK, "{path}: {page}");
            for text in said {
                assert!(page.contains(text), "{path} does not show {text}: {page}");
            }
        }
    }
}

#[tokio::test]
async fn cursors_lead_through_the_whole_list_and_states_sift_it() {
    let (server, _) = Server::told().await;
    let staker = format!("/staking/stakers/{STAKER}");
    let (mut path, mut seen) = (Some(staker.clone()), Vec::new());
    while let Some(now) = path {
        let (status, page) = server.get(&now, "en", "").await;
        assert_eq!(status, StatusCode::OK, "{page}");
        let rows = page.split("href=\"/staking/delegations/").skip(1);
        seen.extend(rows.map(|row| row.chars().take(64).collect::<String>()));
        let next = page.contains("rel=\"next\"");
        path = next.then(|| between(&page, "rel=\"next\" href=\"", "\"").replace("&amp;", "&"));
        assert!(seen.len() <= 60, "the pages do not end");
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 60);
    let (_, page) = server.get(&format!("{staker}?state=active"), "en", "").await;
    let active = page.split("<tbody>").nth(1).expect("a table");
    assert!(!active.contains(ENGLISH.state_unbonded), "{active}");
    let (status, page) = server.get(&format!("{staker}?state=slashed"), "en", "").await;
    assert!(status == StatusCode::OK && page.contains(ENGLISH.none_in_state), "{page}");
}

#[tokio::test]
async fn a_step_that_came_too_early_is_shown_as_waiting() {
    let server = Server::start().await;
    let hash = "ab".repeat(32);
    let step = json!({ "event_type": 4, "staking_tx_hash_hex": hash, "tx_type": "active" });
    assert_eq!(server.tell(&[step]).await, [Taken::Parked]);
    let (status, page) = server.get(&format!("/staking/delegations/{hash}"), "en", "").await;
    assert_eq!(status, StatusCode::OK, "{page}");
    for text in [ENGLISH.no_stake, ENGLISH.waits, ENGLISH.staking_expired, ENGLISH.state_unknown] {
        assert!(page.contains(&text.replace('\'', "&#39;")) || page.contains(text), "{text}");
    }
    assert!(!page.contains(ENGLISH.lock_records), "{page}");
}

#[tokio::test]
async fn wrong_input_is_refused_in_the_language_of_the_reader() {
    let (server, _) = Server::told().await;
    let unknown = "0".repeat(64);
    let staker = format!("/staking/stakers/{STAKER}");
    for (path, status, said) in [
        (format!("/staking/providers/{unknown}"), 404, CHINESE.no_such_provider),
        (format!("/staking/stakers/{unknown}"), 404, CHINESE.no_such_staker),
        (format!("/staking/delegations/{unknown}"), 404, CHINESE.no_such_delegation),
        ("/staking/providers/12".to_owned(), 400, CHINESE.bad_key_advice),
        ("/staking/stakers/xyz".to_owned(), 400, CHINESE.bad_key_advice),
        ("/staking/delegations/0".to_owned(), 400, CHINESE.bad_key_advice),
        (format!("{staker}?state=lost"), 400, CHINESE.bad_choice_advice),
        (format!("{staker}?cursor=abc"), 400, CHINESE.bad_cursor_advice),
        ("/staking/providers?cursor=abc".to_owned(), 400, CHINESE.bad_cursor_advice),
        ("/staking/stakers?cursor=abc".to_owned(), 400, CHINESE.bad_cursor_advice),
    ] {
        let (answered, page) = server.get(&path, "zh", "").await;
        assert_eq!(answered.as_u16(), status, "{path}: {page}");
        assert!(page.contains(said), "{path} does not say {said}: {page}");
    }
    let (_, page) = server.get("/staking/providers", "en", "").await;
    let next = between(&page, "rel=\"next\" href=\"", "\"");
    let elsewhere = next.replace("providers", "stakers");
    assert_eq!(server.get(&elsewhere, "en", "").await.0, StatusCode::BAD_REQUEST, "{elsewhere}");
}

#[tokio::test]
async fn operators_replay_and_drop_what_could_not_be_applied() {
    const PAGE: &str = "/staking/unprocessable";
    let server = Server::start().await;
    assert_eq!(server.get(PAGE, "en", "").await.0, StatusCode::UNAUTHORIZED);
    let cookie = server.log_in().await;
    let (status, page) = server.get(PAGE, "en", &cookie).await;
    assert!(status == StatusCode::OK && page.contains(ENGLISH.no_unprocessable), "{page}");
    let broken = [json!("<b>rubbish"), json!({ "event_type": 99 })];
    assert!(server.tell(&broken).await.iter().all(|it| matches!(it, Taken::Unprocessable(_))));

    let (_, page) = server.get(PAGE, "en", &cookie).await;
    for text in ["&lt;b&gt;rubbish", "99 is none of 1 to 8", "test", ENGLISH.replay_page] {
        assert!(page.contains(text), "{text} is not in {page}");
    }
    let csrf = between(&page, "name=\"csrf\" value=\"", "\"").to_owned();
    let ids: Vec<String> = page.split("name=\"ids\" value=\"").skip(1).map(id_of).collect();
    let all = ids.last().expect("the form of the page").replace(' ', "+");
    let form = |ids: &str| format!("csrf={csrf}&ids={ids}");

    let without = format!("ids={}", ids[0]);
    let refused = server.post(&format!("{PAGE}/drop"), &cookie, without).await;
    assert_eq!(refused.0, StatusCode::FORBIDDEN, "{}", refused.1);
    let one = server.post(&format!("{PAGE}/replay"), &cookie, form(&ids[0])).await;
    assert_eq!(one.0, StatusCode::UNPROCESSABLE_ENTITY, "{}", one.1);
    assert!(one.1.contains(ENGLISH.still_unprocessable), "{}", one.1);
    let every = server.post(&format!("{PAGE}/replay"), &cookie, form(&all)).await;
    let said = "Taken: 0. Still unprocessable: 2. Gone already: 0.";
    assert!(every.0 == StatusCode::OK && every.1.contains(said), "{}", every.1);
    let dropped = server.post(&format!("{PAGE}/drop"), &cookie, form(&ids[0])).await;
    assert!(dropped.0 == StatusCode::OK && dropped.1.contains(ENGLISH.dropped), "{}", dropped.1);
    for (action, ids, status) in [
        ("drop", ids[0].as_str(), StatusCode::NOT_FOUND),
        ("replay", ids[0].as_str(), StatusCode::NOT_FOUND),
        ("replay", "rubbish", StatusCode::BAD_REQUEST),
        ("drop", "", StatusCode::BAD_REQUEST),
    ] {
        let (found, page, _) = server.post(&format!("{PAGE}/{action}"), &cookie, form(ids)).await;
        assert_eq!(found, status, "{action} {ids}: {page}");
    }
    assert_eq!(server.staking.kept(None, 10).await.expect("read").messages.len(), 1);
}

fn id_of(rest: &str) -> String {
    rest.split('"').next().unwrap_or_default().to_owned()
}
