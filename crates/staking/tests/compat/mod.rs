//! Babylon's API on a model store, ways to ask it, and messages of a real stake.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use platform::Clock;
use platform::events::{Events, EventsSettings};
use serde_json::{Value, json};
use staking::address::Network;
use staking::compat::{Compat, CompatSettings, routes};
use staking::{Intake as _, Message, Settings, Staking, Taken};
use store::{ModelEngine, Store};
use tower::ServiceExt as _;

/// The hash of the real stake.
pub(crate) const HASH: &str = "06cb98777a9cc5d3556498f6e5607947759e60f01e1441b6ce375174b8588037";
/// Its staker.
pub(crate) const STAKER: &str = "91fef91f0f00d010d6c918acb9197db6cd33d99ee617090fa8cb61fa2a31405a";
/// Its finality provider.
pub(crate) const PROVIDER: &str =
    "03d5a0bb72d71993e435d6c5a70e2aa4db500a62cfaae33c56050deefee64ec0";
/// Noon of the day on which it began, in milliseconds.
pub(crate) const NOON: u64 = 1_714_046_400_000;

/// The covenant that the real stake was made under.
const COVENANT: [&str; 5] = [
    "57349e985e742d5131e1e2b227b5170f6350ac2e2feb72254fcc25b3cee21a18",
    "59d3532148a597a2d05c0395bf5f7176044b1cd312f37701a9b4d0aad70bc5a4",
    "a5c60c2188e833d39d0fa798ab3f69aa12ed3dd2f3bad659effa252782de3c31",
    "c8ccb03c379e452f10c81232b41a1ca8b63d0baf8387e57d302c987e5abb8527",
    "ffeaec52a9b407b355ef6967a7ffc15fd6c3fe07de2844d61550475e7a5233e5",
];

/// A server, and what it answers from.
pub(crate) struct Server {
    pub(crate) staking: Staking,
    pub(crate) events: Events,
    pub(crate) router: Router,
    pub(crate) hand: platform::Hand,
}

impl Server {
    /// A server of the regtest network.
    pub(crate) fn new(params: Option<&Value>, providers: Option<&Value>) -> Self {
        let store = Store::new(Arc::new(ModelEngine::default()), 0);
        let (clock, hand) = Clock::by_hand(NOON);
        let events = Events::new(store.clone(), clock.clone(), EventsSettings::default());
        let staking = Staking::new(store, clock, Some(events.clone()), Settings::default());
        let staking = staking.expect("settings");
        let params = params.map(Value::to_string);
        let providers = providers.map(Value::to_string);
        let settings =
            CompatSettings::read(Network::Regtest, params.as_deref(), providers.as_deref());
        let compat = Compat::new(staking.clone(), settings.expect("valid files"));
        let (router, _) = routes(compat).split_for_parts();
        Self { staking, events, router, hand }
    }

    /// Takes messages, all of which it must be able to take.
    pub(crate) async fn feed(&self, messages: &[&Value]) {
        let message =
            |body: &&Value| Message { source: "test".to_owned(), body: body.to_string().into() };
        for taken in self.staking.take(messages.iter().map(message).collect()).await {
            assert!(!matches!(taken, Taken::Later(_) | Taken::Unprocessable(_)), "{taken:?}");
        }
    }

    /// The status and the exact text of an answer.
    pub(crate) async fn raw(&self, request: Request<Body>) -> (u16, String) {
        let response = self.router.clone().oneshot(request).await.expect("answered");
        let kind = response.headers().get("content-type").expect("a type");
        assert_eq!(kind, "application/json");
        let status = response.status();
        let is_marked = response.extensions().get::<platform::http::AsIs>().is_some();
        assert!(is_marked || status == StatusCode::OK, "the shell would write it anew");
        let body = axum::body::to_bytes(response.into_body(), 1 << 22).await.expect("a body");
        (status.as_u16(), String::from_utf8(body.to_vec()).expect("text"))
    }

    /// The status and text of an answer to a question.
    pub(crate) async fn text(&self, path: &str) -> (u16, String) {
        let request = Request::get(format!("/compat/babylon{path}"));
        self.raw(request.body(Body::empty()).expect("a request")).await
    }

    /// A good answer.
    pub(crate) async fn get(&self, path: &str) -> Value {
        let (status, body) = self.text(path).await;
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).expect("JSON")
    }

    /// Asks to unbond.
    pub(crate) async fn unbond(&self, body: impl Into<Body>) -> (u16, String) {
        let request = Request::post("/compat/babylon/v1/unbonding").body(body.into());
        self.raw(request.expect("a request")).await
    }

    /// An error as the original writes it.
    pub(crate) async fn refused(&self, path: &str, status: u16, code: &str, message: &str) {
        assert_eq!(self.text(path).await, (status, error(code, message)), "{path}");
    }

    /// All rows of a list, page by page.
    pub(crate) async fn all(&self, path: &str) -> Vec<Value> {
        let (mut rows, mut key) = (Vec::new(), String::new());
        loop {
            let more = if path.contains('?') { '&' } else { '?' };
            let page = self.get(&format!("{path}{more}pagination_key={key}")).await;
            let found = page["data"].as_array().expect("rows").clone();
            assert!(found.len() <= 10, "a page has at most ten rows");
            rows.extend(found);
            let next = page["pagination"]["next_key"].as_str().expect("a key");
            if next.is_empty() {
                return rows;
            }
            next.clone_into(&mut key);
        }
    }
}

/// The text of an error.
pub(crate) fn error(code: &str, message: &str) -> String {
    format!(r#"{{"errorCode":"{code}","message":"{message}"}}"#)
}

/// A message of the real stake, by its queue.
pub(crate) fn sample(queue: &str) -> Value {
    let all: Value = serde_json::from_str(include_str!("sample.json")).expect("JSON");
    all[queue].clone()
}

/// The parameters that the real stake was made under.
pub(crate) fn params() -> Value {
    let covenant: Vec<String> = COVENANT.iter().rev().map(|key| format!("02{key}")).collect();
    json!({ "versions": [{
        "version": 0, "activation_height": 100, "staking_cap": 50_000_000_000_u64,
        "tag": "01020304", "covenant_pks": covenant, "covenant_quorum": 3, "unbonding_time": 1_000,
        "unbonding_fee": 10_000, "max_staking_amount": 10_000_000, "min_staking_amount": 100_000,
        "max_staking_time": 60_000, "min_staking_time": 100, "confirmation_depth": 10,
    }] })
}

/// A finality provider of the operator's file.
pub(crate) fn listed(name: &str, key: &str) -> Value {
    json!({
        "description": {
            "moniker": name, "identity": "", "website": "https://example.org",
            "security_contact": "", "details": "",
        },
        "commission": "0.050000000000000000", "btc_pk": key,
    })
}
