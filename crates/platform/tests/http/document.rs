//! The document and the router say the same.

use std::collections::BTreeSet;
use std::sync::Arc;

use platform::http::search::{Finder, Hit};
use platform::http::{
    Built, Check, CheckState, Lag, Problem, Promise, Settings, Shell, Who, kinds,
};
use serde_json::Value;

use crate::common::{api, ask, get_of, request};
use crate::events::Ring;

struct Everywhere;

impl Finder for Everywhere {
    fn find<'a>(
        &'a self,
        text: &'a str,
        _: Option<&'a Who>,
        _: usize,
    ) -> Promise<'a, Result<Vec<Hit>, Problem>> {
        Box::pin(async move {
            let (kind, title, page) = ("block".to_owned(), text.to_owned(), "/x".to_owned());
            Ok(vec![Hit { kind, title, page, chain: None, exact: true }])
        })
    }
}

struct Tip(bool);

impl Check for Tip {
    fn name(&self) -> &str {
        "btc tip"
    }

    fn state(&self) -> Promise<'_, CheckState> {
        let lag = Some(Lag { units: 3, seconds: 1800 });
        let detail = "The node is asked again.".to_owned();
        Box::pin(async move { CheckState { ok: self.0, detail, lag } })
    }
}

fn whole(well: bool) -> Built {
    Shell::new(Settings::default())
        .api(api())
        .feed(Arc::new(Ring::new(16)))
        .finder(Arc::new(Everywhere))
        .check(Arc::new(Tip(well)))
        .finish()
}

/// The templates of a router. Axum lists them nowhere but in its debug output, where `/` and a
/// wildcard are its fallback.
fn templates(router: &axum::Router) -> BTreeSet<String> {
    let text = format!("{router:?}");
    let quoted = text.split('"').skip(1).step_by(2);
    let routes = quoted.filter(|text| text.len() > 1 && text.starts_with('/'));
    routes.filter(|text| !text.contains('*')).map(str::to_owned).collect()
}

fn documented(document: &Value) -> BTreeSet<(String, String)> {
    let paths = document["paths"].as_object().expect("paths");
    let operations = paths.iter().flat_map(|(path, item)| {
        let methods = item.as_object().expect("an item").keys();
        methods.map(move |method| (path.clone(), method.to_uppercase()))
    });
    operations.collect()
}

#[tokio::test]
async fn the_document_lists_every_route_that_is_answered_and_no_other() {
    let built = whole(true);
    let mut answered = BTreeSet::new();
    for path in templates(&built.router) {
        let plain = path.replace("{id}", "1");
        let answer = ask(&built.router, request(&format!("BREW {plain}"), &[], "")).await;
        answer.problem(405, "no-method");
        for method in answer.header("allow").split(',').filter(|method| *method != "HEAD") {
            answered.insert((path.clone(), method.trim().to_owned()));
        }
    }
    assert_eq!(answered, documented(&built.document));
    assert!(answered.len() >= 12, "{answered:?}");
}

#[tokio::test]
async fn the_document_is_complete() {
    let built = whole(true);
    let served = get_of(&built.router, "/api/openapi.json").await;
    assert_eq!(served.json(), built.document);
    let document = &built.document;
    assert_eq!(document["openapi"], "3.1.0");
    assert!(document["components"]["schemas"]["Problem"]["properties"]["code"].is_object());
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("an item") {
            for status in ["400", "401", "404", "413", "500", "503"] {
                assert!(operation["responses"][status].is_object(), "{method} {path} {status}");
            }
            assert!(operation["operationId"].is_string(), "{method} {path}");
        }
    }
    let make = &document["paths"]["/api/things"]["post"]["responses"];
    assert!(make["415"].is_object() && make["422"].is_object());
    let ready = &document["paths"]["/ready"]["get"]["responses"]["503"]["content"];
    assert!(ready["application/json"].is_object(), "its own answer stays");
    assert!(ready["application/problem+json"].is_object());
    // Every reference leads somewhere.
    let text = document.to_string();
    for reference in text.split("\"$ref\":\"#").skip(1) {
        let pointer = reference.split('"').next().expect("a pointer");
        assert!(document.pointer(pointer).is_some(), "{pointer} leads nowhere");
    }
}

#[tokio::test]
async fn the_page_has_every_operation_and_every_code_and_needs_no_script() {
    let built = whole(true);
    let page = get_of(&built.router, "/api/docs").await;
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    let page = page.text();
    for (path, method) in documented(&built.document) {
        assert!(page.contains(&format!("{method} {path}")), "{method} {path}");
    }
    for kind in kinds::ALL {
        assert!(page.contains(&format!("id=\"problem-{}\"", kind.code)), "{}", kind.code);
    }
    for link in page.split("href=\"#").skip(1) {
        let anchor = link.split('"').next().expect("an anchor");
        assert!(page.contains(&format!("id=\"{anchor}\"")), "#{anchor} leads nowhere");
    }
    assert!(!page.contains("<script") && !page.contains("style="));
    assert!(page.contains("curl -X POST"));
}

#[tokio::test]
async fn readiness_lists_the_lag_of_each_tip() {
    let answer = get_of(&whole(true).router, "/ready").await;
    assert_eq!(answer.status, 200);
    let answer = get_of(&whole(false).router, "/ready").await;
    assert_eq!(answer.status, 503);
    let ready = answer.json();
    assert_eq!(ready["ready"], false);
    assert_eq!(ready["checks"][0]["name"], "btc tip");
    assert_eq!(ready["checks"][0]["lag"]["units"], 3);
}

#[tokio::test]
async fn a_question_is_bounded() {
    let router = whole(true).router;
    let answer = get_of(&router, "/api/search?q=+abc+").await;
    assert_eq!(answer.json()["hits"][0]["title"], "abc");
    get_of(&router, "/api/search").await.problem(400, "missing-parameter");
    for bad in ["", "%20", "%00", &"x".repeat(257)] {
        get_of(&router, &format!("/api/search?q={bad}")).await.problem(400, "bad-query");
    }
}
