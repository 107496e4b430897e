//! Requests that another site makes a browser send.

use serde_json::{Value, json};

use crate::common::{Answer, Place, Server};
use crate::people::{FORM, Person, origin};

/// Everything that a form with a session can do.
const FORMS: [(&str, &str); 6] = [
    ("/account/projects", "chain=devnet&name=theirs"),
    ("/account/tokens", "name=theirs&read=on&write=on"),
    ("/account/webhooks", "url=https%3A%2F%2Fevil.example%2F"),
    ("/account/password", "old=ann+knows+the+way&new=now+it+is+mine"),
    ("/accounts/ann", "role=operator"),
    ("/logout", ""),
];

fn refused(answer: &Answer, what: &str) {
    assert_eq!((answer.status, &*answer.code()), (403, "cross-site"), "{what}: {answer:?}");
    assert_eq!(answer.cookie(), None, "{what}");
}

/// What no page of ours would say about where a request comes from.
fn elsewhere(demo: &Server) -> Vec<Vec<(&'static str, String)>> {
    let own = origin(demo);
    let fetch = |site: &str| vec![("Sec-Fetch-Site", site.to_owned())];
    let from = |origin: &str| vec![("Origin", origin.to_owned())];
    vec![
        vec![],
        from("http://evil.example"),
        from("null"),
        from(&own.replace("http:", "https:")),
        from(&format!("{own}.evil.example")),
        from(&own.replace("127.0.0.1", "localhost")),
        fetch("cross-site"),
        fetch("same-site"),
        fetch("none"),
        vec![("Origin", own.clone()), ("Sec-Fetch-Site", "cross-site".into())],
        vec![("Origin", own.clone()), ("Origin", "http://evil.example".into())],
        vec![("Origin", "http://evil.example".into()), ("Sec-Fetch-Site", "same-origin".into())],
    ]
}

fn with<'a>(
    first: &[(&'a str, &'a str)],
    more: &'a [(&'a str, String)],
) -> Vec<(&'a str, &'a str)> {
    let more = more.iter().map(|(name, value)| (*name, value.as_str()));
    first.iter().copied().chain(more).collect()
}

#[test]
fn a_form_that_is_not_ours_does_nothing() {
    let place = Place::new();
    let demo = place.demo("data");
    let (ann, eve) = (Person::registers(&demo, "ann"), Person::registers(&demo, "eve"));
    let own = origin(&demo);
    let cookie = ("Cookie", &*ann.cookie);
    for (path, body) in FORMS {
        let right = format!("{body}&csrf={}", ann.csrf);
        for from in elsewhere(&demo) {
            let headers = with(&[FORM, cookie], &from);
            refused(&demo.send("POST", path, &headers, &right), &format!("{path} {from:?}"));
        }
        let here = [FORM, cookie, ("Origin", &*own), ("Sec-Fetch-Site", "same-origin")];
        for token in [
            String::new(),
            "csrf=".into(),
            format!("csrf={}", eve.csrf),
            format!("csrf={}x", ann.csrf),
            format!("csrf={}", &ann.csrf[1..]),
            format!("csrf={0}&csrf={0}", ann.csrf),
        ] {
            let body = format!("{body}&{token}");
            refused(&demo.send("POST", path, &here, &body), &format!("{path} {token}"));
        }
        // A token in the address, in a cookie, or in a body that is no form, is none.
        let query = format!("{path}?csrf={}", ann.csrf);
        refused(&demo.send("POST", &query, &here, body), &query);
        let plain = [("Content-Type", "text/plain"), cookie, ("Origin", &own)];
        refused(&demo.send("POST", path, &plain, &right), "text/plain");
        let two = format!("{}; csrf={}", ann.cookie, ann.csrf);
        let headers = [FORM, ("Cookie", &*two), ("Origin", &own)];
        refused(&demo.send("POST", path, &headers, body), "a token in a cookie");
    }
    for path in ["/api/projects", "/api/webhooks", "/api/account/tokens"] {
        let list = ann.asks(&demo, "GET", path, &Value::Null).json();
        assert_eq!(list["items"], json!([]), "{path}");
    }
    // The same forms, sent by our own page: they would have done it.
    let here = [FORM, cookie, ("Origin", &*own), ("Sec-Fetch-Site", "same-origin")];
    for ((path, body), status) in FORMS.into_iter().zip([200, 200, 200, 303, 403]) {
        let answer = demo.send("POST", path, &here, &format!("{body}&csrf={}", ann.csrf));
        // After the new password the old session is none.
        let status = if path == "/accounts/ann" { 401 } else { status };
        assert_eq!(answer.status, status, "{path}: {answer:?}");
    }
    assert!(demo.terminate().success());
}

#[test]
fn nobody_is_logged_in_by_another_site() {
    let place = Place::new();
    let demo = place.demo("data");
    let eve = Person::registers(&demo, "eve");
    let body = format!("name=eve&password={}", eve.password.replace(' ', "+"));
    for from in elsewhere(&demo).into_iter().skip(1) {
        for (path, body) in [("/login", &*body), ("/register", "name=more&password=a+long+word")] {
            let headers = with(&[FORM], &from);
            refused(&demo.send("POST", path, &headers, body), &format!("{path} {from:?}"));
        }
    }
    let own = origin(&demo);
    let answer = demo.send("POST", "/login", &[FORM, ("Origin", &own)], &body);
    assert_eq!(answer.status, 303, "our own page may: {answer:?}");
    assert!(demo.terminate().success());
}

#[test]
fn a_cookie_alone_writes_nothing_through_the_api() {
    let place = Place::new();
    let demo = place.demo("data");
    let (ann, eve) = (Person::registers(&demo, "ann"), Person::registers(&demo, "eve"));
    let own = origin(&demo);
    let body = json!({ "chain": "devnet", "name": "theirs" }).to_string();
    let post = |headers: &[(&str, &str)]| demo.send("POST", "/api/projects", headers, &body);
    let cookie = ("Cookie", &*ann.cookie);
    refused(&post(&[cookie]), "nothing but the cookie");
    refused(&post(&[cookie, ("Origin", &own)]), "no token");
    refused(&post(&[cookie, ("Origin", &own), ("X-CSRF-Token", &eve.csrf)]), "Eve's token");
    let twice = [cookie, ("Origin", &*own), ("X-CSRF-Token", &*ann.csrf), ("X-CSRF-Token", "x")];
    refused(&post(&twice), "two tokens");
    for from in elsewhere(&demo) {
        let headers = with(&[cookie, ("X-CSRF-Token", &ann.csrf)], &from);
        refused(&post(&headers), &format!("{from:?}"));
    }
    for (method, path) in [
        ("DELETE", "/api/session"),
        ("PUT", "/api/account/password"),
        ("POST", "/api/account/tokens"),
        ("POST", "/api/webhooks"),
        ("PATCH", "/api/projects/00000000000000000000000000000000"),
    ] {
        refused(&demo.send(method, path, &[cookie, ("Origin", &own)], "{}"), path);
    }
    assert_eq!(
        ann.asks(&demo, "GET", "/api/projects/count?owner=ann", &Value::Null).json()["count"],
        0
    );
    // Another origin may read what is public, and a browser gives it nothing that is not.
    let headers = [cookie, ("Origin", "http://evil.example")];
    let read = demo.send("GET", "/api/account", &headers, "");
    assert_eq!(read.header("access-control-allow-origin"), Some("*"), "so not with cookies");
    assert_eq!(read.header("access-control-allow-credentials"), None);
    let ask = [("Origin", "http://evil.example"), ("Access-Control-Request-Method", "POST")];
    let asked = demo.send("OPTIONS", "/api/projects", &ask, "");
    assert_eq!((asked.status, asked.header("access-control-allow-credentials")), (204, None));
    let allowed = asked.header("access-control-allow-headers").expect("a list");
    assert!(!allowed.contains("csrf"), "{allowed}");
    let page = demo.send("OPTIONS", "/login", &ask, "");
    assert_eq!(page.header("access-control-allow-origin"), None, "{page:?}");
    assert!(demo.terminate().success());
}
