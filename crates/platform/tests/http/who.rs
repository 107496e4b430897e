//! Credentials: taken where they may stand, refused where they are wrong, and never across sites.

use platform::http::csrf;

use crate::common::{Answer, ask, built, request};

const COOKIE: (&str, &str) = ("cookie", "ostrakon=session");
const HERE: (&str, &str) = ("origin", "http://a.example");
const HOST: (&str, &str) = ("host", "a.example");
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

async fn sent(line: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    ask(&built().router, request(line, headers, body)).await
}

#[tokio::test]
async fn each_credential_is_taken_where_it_may_stand() {
    for (line, headers, name) in [
        ("GET /api/who", &[COOKIE][..], "account:ann"),
        ("GET /api/who", &[("authorization", "Bearer token")], "account:ann"),
        ("GET /api/who", &[("authorization", "Bearer key")], "project:p1"),
        ("GET /api/who", &[("x-api-key", "key")], "project:p1"),
        ("GET /api/who?key=key", &[], "project:p1"),
        ("POST /api/who", &[("x-api-key", "key")], "project:p1"),
        ("POST /api/who", &[], "nobody"),
        ("DELETE /api/who", &[("authorization", "Bearer operator")], "account:root"),
    ] {
        let answer = sent(line, headers, "").await;
        assert_eq!((answer.status.as_u16(), answer.text()), (200, name), "{line} {headers:?}");
        let cached = answer.header("cache-control");
        assert_eq!(cached == "no-store", name != "nobody", "{line}: {cached}");
    }
}

#[tokio::test]
async fn a_wrong_credential_is_never_taken_for_none() {
    for (line, headers, status, code) in [
        ("GET /api/who", &[][..], 401, "unauthenticated"),
        ("GET /api/things/1", &[("authorization", "Bearer wrong")], 401, "bad-credential"),
        ("GET /api/things/1", &[("authorization", "Basic YTpi")], 401, "bad-credential"),
        ("GET /api/things/1", &[("x-api-key", "token")], 401, "bad-credential"),
        ("GET /api/things/1?key=wrong", &[], 401, "bad-credential"),
        ("GET /api/things/1?key=", &[], 401, "bad-credential"),
        ("GET /api/things/1", &[("cookie", "ostrakon=old")], 401, "bad-credential"),
        ("GET /api/things/1", &[COOKIE, ("x-api-key", "key")], 400, "ambiguous-credentials"),
        ("GET /api/things/1?key=key", &[("x-api-key", "key")], 400, "ambiguous-credentials"),
        ("POST /api/who?key=key", &[], 400, "key-in-url"),
        ("DELETE /api/who", &[("authorization", "Bearer token")], 403, "forbidden"),
        ("DELETE /api/who", &[("x-api-key", "key")], 403, "forbidden"),
    ] {
        let answer = sent(line, headers, "").await;
        answer.problem(status, code);
        let challenged = answer.headers.contains_key("www-authenticate");
        assert_eq!(challenged, status == 401, "{line} {headers:?}");
        assert!(!answer.text().contains("wrong"), "the credential is told back");
    }
}

#[tokio::test]
async fn a_session_that_has_ended_is_removed_and_a_page_still_opens() {
    let answer = sent("GET /client", &[("cookie", "ostrakon=old")], "").await;
    assert_eq!(answer.status, 200);
    assert!(answer.header("set-cookie").contains("Max-Age=0"), "{answer:?}");
}

#[tokio::test]
async fn a_write_with_a_cookie_needs_this_origin_and_the_token() {
    let token = csrf::token("session");
    let token = ("x-csrf-token", token.as_str());
    let other = csrf::token("other");
    let fetch = |site| ("sec-fetch-site", site);
    for (headers, allowed) in [
        (&[HERE, token][..], true),
        (&[fetch("same-origin"), token], true),
        (&[HERE, fetch("same-origin"), token], true),
        (&[token], false),
        (&[HERE], false),
        (&[HERE, ("x-csrf-token", &other)], false),
        (&[HERE, token, token], false),
        (&[("origin", "http://evil.example"), token], false),
        (&[("origin", "null"), token], false),
        (&[HERE, fetch("cross-site"), token], false),
        (&[("referer", "http://a.example/"), token], false),
        (&[("origin", "http://evil.example"), ("x-forwarded-host", "evil.example"), token], false),
    ] {
        let headers: Vec<_> = [HOST, COOKIE].into_iter().chain(headers.iter().copied()).collect();
        let answer = sent("POST /api/who", &headers, "").await;
        if allowed {
            assert_eq!(answer.text(), "account:ann", "{headers:?}");
        } else {
            answer.problem(403, "cross-site");
        }
    }
}

#[tokio::test]
async fn a_form_carries_the_token_in_its_body_and_arrives_whole() {
    let form = format!("name=x&csrf={}", csrf::token("session"));
    let answer = sent("POST /form", &[HOST, COOKIE, HERE, FORM], &form).await;
    assert_eq!(answer.text(), form);
    let answer = sent("POST /form", &[HOST, COOKIE, HERE, FORM], "name=x&csrf=wrong").await;
    answer.problem(403, "cross-site");
    let long = "x".repeat(2000);
    let answer = sent("POST /form", &[HOST, COOKIE, HERE, FORM], &long).await;
    answer.problem(413, "body-too-large");
}

#[tokio::test]
async fn nobody_is_logged_in_from_another_site() {
    let elsewhere = ("origin", "http://evil.example");
    let answer = sent("POST /form", &[HOST, elsewhere, FORM], "name=x").await;
    answer.problem(403, "cross-site");
    let answer = sent("POST /form", &[HOST, HERE, FORM], "name=x").await;
    assert_eq!(answer.text(), "name=x");
    let answer = sent("POST /api/who", &[HOST, elsewhere], "").await;
    assert_eq!(answer.text(), "nobody", "programs of any origin may use the API without a cookie");
}

#[tokio::test]
async fn an_old_session_gets_a_new_secret_when_it_reads_and_not_when_it_writes() {
    let old = ("cookie", "ostrakon=old-session");
    let answer = sent("GET /api/who", &[old], "").await;
    assert!(answer.header("set-cookie").starts_with("ostrakon=new-session; Path=/; Max-Age=60"));
    let token = csrf::token("old-session");
    let answer = sent("POST /api/who", &[old, HERE, HOST, ("x-csrf-token", &token)], "").await;
    assert_eq!((answer.status.as_u16(), answer.header("set-cookie")), (200, ""));
    let answer = sent("GET /api/who", &[COOKIE], "").await;
    assert_eq!(answer.header("set-cookie"), "", "a young one stays");
}
