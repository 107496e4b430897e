//! The platform's API, through the shell, on a whole platform.

mod common;

use std::sync::Arc;

use axum::body::Body;
use axum::http::Request;
use common::{Home, PASSWORD, chain, op, schema};
use http_body_util::BodyExt as _;
use platform::api::{Api, routes};
use platform::bridge::{LiveEvents, StoreCheck};
use platform::http::{CookieJar, Settings, Shell};
use platform::{Options, Platform};
use serde_json::{Value, json};
use store::Store;
use tower::ServiceExt as _;

struct World {
    platform: Arc<Platform>,
    router: axum::Router,
}

/// What was answered.
struct Answer {
    status: u16,
    cookie: String,
    body: Value,
}

impl World {
    async fn new() -> Self {
        let store = Store::new(Home::model().engine, 0);
        let options = Options { chains: vec![chain("conflux")], ..Options::default() };
        let platform = Platform::open(store, schema(), options).await.expect("opens").shared();
        let live = LiveEvents::follow(platform.events.clone()).await.expect("follows");
        let api = Api { platform: platform.clone(), jar: CookieJar::new(false) };
        let shell = Shell::new(Settings::default())
            .api(routes(api))
            .authority(platform.clone())
            .finder(platform.clone())
            .feed(live)
            .check(Arc::new(StoreCheck(platform.clone())));
        Self { platform, router: shell.finish().router }
    }

    async fn ask(&self, line: &str, headers: &[(&str, &str)], body: Option<Value>) -> Answer {
        let (method, path) = line.split_once(' ').expect("a method and a path");
        let mut request = Request::builder().method(method).uri(path).header("host", "a.example");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = match body {
            Some(body) => {
                request = request.header("content-type", "application/json");
                Body::from(body.to_string())
            }
            None => Body::empty(),
        };
        let answered = self.router.clone().oneshot(request.body(body).expect("a request"));
        let answered = answered.await.expect("answered");
        let status = answered.status().as_u16();
        let cookie = answered.headers().get("set-cookie").map(|it| it.to_str().expect("text"));
        let cookie = cookie.and_then(|it| it.split(';').next()).unwrap_or_default().to_owned();
        let bytes = answered.into_body().collect().await.expect("a body").to_bytes();
        Answer { status, cookie, body: serde_json::from_slice(&bytes).unwrap_or_default() }
    }

    /// Registers somebody and makes a token with these scopes.
    async fn token(&self, name: &str, scopes: &[&str]) -> String {
        let credentials = json!({ "name": name, "password": PASSWORD });
        let made = self.ask("POST /api/accounts", &[], Some(credentials.clone())).await;
        assert!([201, 409].contains(&made.status), "{}", made.body);
        let opened = self.ask("POST /api/session", &[], Some(credentials)).await;
        let csrf = opened.body["csrf"].as_str().expect("a token").to_owned();
        let headers = [
            ("cookie", opened.cookie.as_str()),
            ("x-csrf-token", &csrf),
            ("origin", "http://a.example"),
        ];
        let wanted = json!({ "name": scopes.join("-"), "scopes": scopes });
        let made = self.ask("POST /api/account/tokens", &headers, Some(wanted)).await;
        assert_eq!(made.status, 201, "{}", made.body);
        format!("Bearer {}", made.body["token"].as_str().expect("shown once"))
    }
}

#[tokio::test]
async fn a_project_is_made_used_renamed_rotated_and_deleted() {
    let world = World::new().await;
    let token = world.token("ann", &["read", "write"]).await;
    let me = [("authorization", token.as_str())];
    let wanted = json!({ "chain": "conflux", "name": "wallet" });
    let twice = [me[0], ("idempotency-key", "one")];
    let made = world.ask("POST /api/projects", &twice, Some(wanted.clone())).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let again = world.ask("POST /api/projects", &twice, Some(wanted)).await;
    assert_eq!(again.body["project"], made.body["project"], "one operation, one project");
    assert!(again.body.get("key").is_none(), "a key is shown once");
    let id = made.body["project"]["id"].as_str().expect("an id").to_owned();
    let key = made.body["key"].as_str().expect("a key").to_owned();
    let list = world.ask("GET /api/projects?chain=conflux&limit=1", &me, None).await;
    assert_eq!(list.body["items"][0]["id"], id.as_str());
    for (query, count) in
        [("", 1), ("?chain=conflux", 1), ("?chain=eth", 0), ("?owner=ann&chain=conflux&from=0", 1)]
    {
        let counted = world.ask(&format!("GET /api/projects/count{query}"), &me, None).await;
        assert_eq!(counted.body["count"], count, "{query}: {}", counted.body);
    }
    let others = world.ask("GET /api/projects?owner=bob", &me, None).await;
    assert_eq!(others.status, 403, "what others have is for operators");
    assert_eq!(world.ask("GET /api/chains/conflux/projects", &me, None).await.status, 403);
    let hits = world.ask(&format!("GET /api/search?q={id}"), &me, None).await;
    assert_eq!(hits.body["hits"][0]["title"], "wallet");
    // The key opens what is public and stands for its project, not for its owner.
    let with_key = [("x-api-key", key.as_str())];
    assert_eq!(world.ask("GET /api/chains", &with_key, None).await.status, 200);
    assert_eq!(world.ask("GET /api/projects", &with_key, None).await.status, 403);
    let path = format!("/api/projects/{id}");
    let renamed = json!({ "name": "purse" });
    let renamed = world.ask(&format!("PATCH {path}"), &me, Some(renamed)).await;
    assert_eq!((renamed.status, &renamed.body["name"]), (200, &"purse".into()));
    let rotated = world.ask(&format!("POST {path}/key"), &me, None).await;
    assert_ne!(rotated.body["key"].as_str().expect("a key"), key);
    let stranger = world.token("bob", &["read", "write"]).await;
    let stranger = [("authorization", stranger.as_str())];
    for line in [format!("GET {path}"), format!("DELETE {path}"), format!("POST {path}/key")] {
        assert_eq!(world.ask(&line, &stranger, None).await.status, 404, "{line}");
    }
    assert_eq!(world.ask(&format!("DELETE {path}"), &me, None).await.status, 204);
    assert_eq!(world.ask(&format!("GET {path}"), &me, None).await.status, 404);
    let count = world.ask("GET /api/projects/count?owner=ann&from=0", &me, None).await;
    assert_eq!(count.body["count"], 0);
}

#[tokio::test]
async fn a_credential_does_no_more_than_its_scopes_say() {
    let world = World::new().await;
    let token = world.token("ann", &["read"]).await;
    let reader = [("authorization", token.as_str())];
    assert_eq!(world.ask("GET /api/account", &reader, None).await.body["name"], "ann");
    let wanted = json!({ "chain": "conflux", "name": "x" });
    assert_eq!(world.ask("POST /api/projects", &reader, Some(wanted)).await.status, 403);
    let more = json!({ "name": "more", "scopes": ["write"] });
    assert_eq!(world.ask("POST /api/account/tokens", &reader, Some(more)).await.status, 403);
    let token = world.token("ann", &["write"]).await;
    let writer = [("authorization", token.as_str())];
    let more = json!({ "name": "more", "scopes": ["read"] });
    let refused = world.ask("POST /api/account/tokens", &writer, Some(more)).await;
    assert_eq!(refused.status, 403, "a token makes none that may do more than itself");
    let list = world.ask("GET /api/account/tokens", &reader, None).await;
    let id = list.body["items"][0]["id"].as_str().expect("an id");
    let revoked = world.ask(&format!("DELETE /api/account/tokens/{id}"), &writer, None).await;
    assert_eq!(revoked.status, 204);
    assert_eq!(world.ask("GET /api/account", &reader, None).await.status, 401, "at once");
}

#[tokio::test]
async fn operators_change_chains_and_everybody_hears_of_it() {
    let world = World::new().await;
    world.platform.accounts.make_operator("root", PASSWORD, op()).await.expect("made");
    let operator = world.token("root", &["read", "write", "operator"]).await;
    let operator = [("authorization", operator.as_str())];
    let user = world.token("ann", &["read", "write"]).await;
    let user = [("authorization", user.as_str())];
    let node = json!({ "name": "one", "http": "http://u:secret@10.0.0.7:8545/key" });
    let eth = json!({ "name": "eth", "kind": "evm", "network": "1", "nodes": [] });
    assert_eq!(world.ask("POST /api/chains", &user, Some(eth.clone())).await.status, 403);
    let added = world.ask("POST /api/chains", &operator, Some(eth.clone())).await;
    assert_eq!(added.status, 201, "{}", added.body);
    let version = added.body["version"].as_u64().expect("a version");
    let bad = json!({ "name": "eth", "kind": "evm", "network": "1", "nodes": [node] });
    let refused = world.ask("PUT /api/chains/eth", &operator, Some(bad)).await;
    assert_eq!((refused.status, &refused.body["field"]), (422, &"nodes[0].http".into()));
    let mut better = eth.clone();
    better["nodes"] = json!([{ "name": "one", "http": "http://10.0.0.7:8545/key" }]);
    let line = format!("PUT /api/chains/eth?version={version}");
    assert_eq!(world.ask(&line, &operator, Some(better.clone())).await.status, 200);
    better["enabled"] = json!(false);
    let stale = world.ask(&line, &operator, Some(better)).await;
    assert_eq!(stale.status, 409, "it was decided on an older version: {}", stale.body);
    let shown = world.ask("GET /api/chains/eth", &operator, None).await;
    assert_eq!(shown.body["nodes"][0]["http"], "http://10.0.0.7:8545/key");
    let shown = world.ask("GET /api/chains/eth", &user, None).await;
    assert!(shown.body["nodes"][0].get("http").is_none(), "addresses may hold secrets");
    let wanted = json!({ "chain": "conflux", "name": "hers" });
    let hers = world.ask("POST /api/projects", &user, Some(wanted)).await;
    let id = hers.body["project"]["id"].as_str().expect("an id");
    let seen = world.ask(&format!("GET /api/projects/{id}"), &operator, None).await;
    assert_eq!(seen.body["name"], "hers", "operators see what others have");
    let line = format!("DELETE /api/projects/{id}");
    assert_eq!(world.ask(&line, &operator, None).await.status, 404, "and change nothing of it");
    for path in ["chains/conflux/projects?order=updated&direction=asc", "projects?owner=ann"] {
        let seen = world.ask(&format!("GET /api/{path}"), &operator, None).await;
        assert_eq!(seen.body["items"][0]["name"], "hers", "{}", seen.body);
    }
    let first = world.ask("GET /api/chains?limit=1", &user, None).await;
    assert_eq!(first.body["items"][0]["name"], "conflux");
    let next = first.body["next"].as_str().expect("there is more");
    let second = world.ask(&format!("GET /api/chains?limit=1&cursor={next}"), &user, None).await;
    assert_eq!(second.body["items"][0]["name"], "eth");
    assert!(second.body.get("next").is_none());
    let foreign = world.ask(&format!("GET /api/projects?cursor={next}"), &user, None).await;
    assert_eq!((foreign.status, &foreign.body["code"]), (400, &"bad-cursor".into()));
    let configured = json!({ "name": "conflux", "kind": "evm", "network": "1" });
    let refused = world.ask("PUT /api/chains/conflux", &operator, Some(configured)).await;
    assert_eq!(refused.status, 409, "the configuration wins");
    assert_eq!(world.ask("DELETE /api/chains/eth", &operator, None).await.status, 200);
    let told = world.platform.events.read_after(0, &Default::default(), 10).await.expect("read");
    let kinds: Vec<_> = told.events.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["chain.added", "chain.changed", "chain.removed"]);
}

#[tokio::test]
async fn bodies_that_do_not_fit_are_refused_with_the_place() {
    let world = World::new().await;
    for (line, body, status, field) in [
        ("POST /api/accounts", json!(["ann", PASSWORD]), 422, None),
        ("POST /api/accounts", json!({ "name": "ann" }), 422, None),
        ("POST /api/accounts", json!({ "name": "a", "password": PASSWORD }), 422, Some("name")),
        ("POST /api/accounts", json!({ "name": "ann", "password": "x" }), 422, Some("password")),
        ("POST /api/session", json!({ "name": "ann", "password": PASSWORD }), 401, None),
        (
            "POST /api/session",
            json!({ "name": "ann", "password": PASSWORD, "x": 1 }),
            422,
            Some("x"),
        ),
    ] {
        let answer = world.ask(line, &[], Some(body.clone())).await;
        assert_eq!(answer.status, status, "{body}: {}", answer.body);
        assert_eq!(answer.body["field"].as_str(), field, "{body}");
    }
}
