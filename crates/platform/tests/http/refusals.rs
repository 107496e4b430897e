//! Every refusal is a problem with the right status and code.

use std::time::Duration;

use platform::http::Settings;

use crate::common::{Answer, JSON, ask, built, get_of, request, shell, small};

async fn refused(line: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    ask(&built().router, request(line, headers, body)).await
}

#[tokio::test]
async fn what_axum_refuses_comes_out_as_a_problem() {
    let text = ("content-type", "text/plain");
    for (line, headers, body, status, code) in [
        ("GET /api/nothing", &[][..], "", 404, "no-route"),
        ("GET /nothing", &[], "", 404, "no-route"),
        ("GET /api/things/9", &[], "", 404, "not-found"),
        ("GET /api/things/x", &[], "", 400, "bad-path"),
        ("GET /api/things/%ff", &[], "", 400, "bad-path"),
        ("PUT /api/things", &[], "", 405, "no-method"),
        ("BREW /api/things", &[], "", 405, "no-method"),
        ("GET /api/strict", &[], "", 400, "missing-parameter"),
        ("GET /api/strict?height=x", &[], "", 400, "bad-query"),
        ("GET /api/strict?height=1&hieght=2", &[], "", 400, "unknown-parameter"),
        ("GET /api/strict?height=1&height=2", &[], "", 400, "bad-query"),
        ("GET /api/things?limit=0", &[], "", 400, "bad-limit"),
        ("GET /api/things?chian=x", &[], "", 400, "unknown-parameter"),
        ("POST /api/things", &[text], "{}", 415, "not-json"),
        ("POST /api/things", &[], "{}", 415, "not-json"),
        ("POST /api/things", &[JSON], "{", 400, "bad-json"),
        ("POST /api/things", &[JSON], "{}", 422, "bad-body"),
        ("POST /api/things", &[JSON, ("idempotency-key", "a b")], "{}", 400, "bad-idempotency-key"),
        ("GET /panic", &[], "", 500, "internal"),
        ("GET /api/x/..%2f..%2fetc", &[], "", 400, "bad-target"),
        ("GET /api//things", &[], "", 400, "bad-target"),
        ("GET http://evil.example/api/things", &[("host", "a.example")], "", 400, "bad-target"),
    ] {
        let answer = refused(line, headers, body).await;
        let problem = answer.problem(status, code);
        assert!(!problem.to_string().contains("a handler's mistake"), "{line}");
    }
}

#[tokio::test]
async fn problems_name_the_place_and_the_way_out() {
    let answer = refused("PUT /api/things", &[], "").await;
    answer.problem(405, "no-method");
    let allowed = answer.header("allow");
    assert!(allowed.contains("GET") && allowed.contains("POST"), "{allowed}");

    let answer = refused("GET /api/strict?hieght=2", &[], "").await;
    let problem = answer.problem(400, "unknown-parameter");
    assert_eq!(problem["field"], "hieght");
    assert!(problem["detail"].as_str().expect("text").contains("`height`"), "{problem}");

    let body = r#"{"name":"a","count":-1}"#;
    let problem = refused("POST /api/things", &[JSON], body).await.problem(422, "bad-body");
    assert_eq!(problem["field"], "count");
}

#[tokio::test]
async fn bodies_are_limited_by_bytes_for_every_reader() {
    let long = "x".repeat(2000);
    for path in ["/api/things", "/api/foreign"] {
        let answer = refused(&format!("POST {path}"), &[JSON], &long).await;
        let problem = answer.problem(413, "body-too-large");
        assert_eq!(problem["limit"], 1024, "{path}");
    }
    let answer = refused("POST /api/large", &[], &long).await;
    assert_eq!(answer.text(), "2000", "the route has a limit of its own");
    let answer = refused("POST /api/large", &[], &"x".repeat(5000)).await;
    assert_eq!(answer.problem(413, "body-too-large")["limit"], 4096);
}

#[tokio::test]
async fn an_answer_that_takes_too_long_is_given_up() {
    let settings = Settings { answer_time: Duration::from_millis(50), ..small() };
    let answer = get_of(&shell(settings).finish().router, "/slow").await;
    answer.problem(503, "too-slow");
    assert_eq!(answer.header("retry-after"), "1");
}

#[tokio::test]
async fn more_than_the_capacity_is_told_to_come_again_and_health_still_answers() {
    let settings = Settings { concurrency: 1, answer_time: Duration::from_secs(600), ..small() };
    let built = shell(settings).finish();
    let router = built.router.clone();
    let waiting = tokio::spawn(async move { get_of(&router, "/slow").await });
    while !built.measured.text().contains("requests_in_flight 1") {
        tokio::task::yield_now().await;
    }
    let answer = get_of(&built.router, "/api/things/1").await;
    answer.problem(503, "overloaded");
    assert_eq!(answer.header("retry-after"), "1");
    assert_eq!(get_of(&built.router, "/health").await.status, 200);
    assert_eq!(get_of(&built.router, "/ready").await.status, 200);
    waiting.abort();
    let _ = waiting.await;
    assert_eq!(get_of(&built.router, "/api/things/1").await.status, 200, "the place is free");
}

#[tokio::test]
async fn people_see_a_page_and_programs_json() {
    let accept = ("accept", "text/html,application/xhtml+xml,*/*;q=0.8");
    let page = refused("GET /nothing", &[accept], "").await;
    assert_eq!(page.status, 404);
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    assert!(page.text().contains(page.header("x-request-id")), "{}", page.text());
    refused("GET /api/nothing", &[accept], "").await.problem(404, "no-route");
}

#[tokio::test]
async fn a_method_cannot_be_overridden() {
    let tricks = [("x-http-method-override", "DELETE"), ("x-method-override", "DELETE")];
    let answer = refused("POST /api/who?_method=DELETE", &tricks, "").await;
    assert_eq!(answer.text(), "nobody", "it is a POST");
}
