//! What every answer carries: ids, tags, headers, compression, measurements.

use std::sync::{Arc, Mutex};

use crate::common::{ask, built, get_of, request};

#[tokio::test]
async fn an_unchanged_answer_is_not_sent_again() {
    let router = built().router;
    let first = get_of(&router, "/api/things/1").await;
    let tag = first.header("etag").to_owned();
    assert!(tag.starts_with('"'), "{tag}");
    assert_eq!(first.header("cache-control"), "no-cache");
    for known in [tag.clone(), format!("\"x\", W/{tag}"), "*".to_owned()] {
        let known = [("if-none-match", known.as_str())];
        let answer = ask(&router, request("GET /api/things/1", &known, "")).await;
        assert_eq!((answer.status.as_u16(), answer.body.len()), (304, 0), "{known:?}");
        assert_eq!(answer.header("etag"), tag);
        for kept in ["cache-control", "x-request-id", "content-security-policy", "vary"] {
            assert_eq!(
                answer.headers.contains_key(kept),
                kept != "vary" || first.headers.contains_key("vary"),
                "{kept}"
            );
        }
    }
    let other = [("if-none-match", "\"other\"")];
    assert_eq!(ask(&router, request("GET /api/things/1", &other, "")).await.status, 200);
}

#[tokio::test]
async fn head_is_get_without_a_body() {
    let router = built().router;
    for path in ["/api/things/1", "/api/things", "/api/openapi.json", "/health", "/metrics"] {
        let get = get_of(&router, path).await;
        let head = ask(&router, request(&format!("HEAD {path}"), &[], "")).await;
        assert_eq!((head.status, head.body.len()), (get.status, 0), "{path}");
        if path != "/metrics" {
            assert_eq!(head.header("etag"), get.header("etag"), "{path}");
            assert_eq!(head.header("content-length"), get.body.len().to_string(), "{path}");
        }
    }
    let head = ask(&router, request("HEAD /api/nothing", &[], "")).await;
    assert_eq!((head.status.as_u16(), head.body.len()), (404, 0));
}

#[tokio::test]
async fn large_answers_are_compressed_and_small_ones_are_not() {
    let router = built().router;
    let plain = get_of(&router, "/api/things/2").await;
    assert!(!plain.headers.contains_key("content-encoding"));
    for coding in ["gzip", "br"] {
        let accept = [("accept-encoding", coding)];
        let answer = ask(&router, request("GET /api/things/2", &accept, "")).await;
        assert_eq!(answer.header("content-encoding"), coding);
        assert!(answer.body.len() < plain.body.len() / 4);
        assert_eq!(answer.header("etag"), format!("W/{}", plain.header("etag")));
        assert!(answer.header("vary").to_ascii_lowercase().contains("accept-encoding"));
        let known = [accept[0], ("if-none-match", answer.header("etag"))];
        let again = ask(&router, request("GET /api/things/2", &known, "")).await;
        assert_eq!(again.status, 304, "{coding}");
        let small = ask(&router, request("GET /api/things/1", &accept, "")).await;
        assert!(!small.headers.contains_key("content-encoding"));
        let refused = ask(&router, request("GET /api/nothing", &accept, "")).await;
        refused.problem(404, "no-route");
    }
}

#[tokio::test]
async fn browsers_are_told_what_they_may_do() {
    let router = built().router;
    for path in ["/api/things/1", "/api/nothing", "/client", "/panic", "/api/docs"] {
        let answer = get_of(&router, path).await;
        let policy = answer.header("content-security-policy");
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{path}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("referrer-policy"), "same-origin", "{path}");
        assert_eq!(answer.header("cross-origin-opener-policy"), "same-origin", "{path}");
        assert!(!answer.header("permissions-policy").is_empty(), "{path}");
        let open = path.starts_with("/api");
        assert_eq!(answer.header("access-control-allow-origin") == "*", open, "{path}");
        assert!(!answer.headers.contains_key("access-control-allow-credentials"), "{path}");
    }
}

#[tokio::test]
async fn another_origin_may_ask_before_it_sends() {
    let router = built().router;
    let asks = [("origin", "https://b.example"), ("access-control-request-method", "POST")];
    let answer = ask(&router, request("OPTIONS /api/things", &asks, "")).await;
    assert_eq!(answer.status, 204);
    assert_eq!(answer.header("access-control-allow-origin"), "*");
    assert!(answer.header("access-control-allow-headers").contains("idempotency-key"));
    let answer = ask(&router, request("OPTIONS /form", &asks, "")).await;
    answer.problem(405, "no-method");
    assert!(!answer.headers.contains_key("access-control-allow-origin"));
}

#[tokio::test]
async fn the_request_id_is_the_clients_when_it_is_safe() {
    let router = built().router;
    let answer = ask(&router, request("GET /health", &[("x-request-id", "job-7")], "")).await;
    assert_eq!(answer.header("x-request-id"), "job-7");
    let answer = ask(&router, request("GET /health", &[("x-request-id", "a b")], "")).await;
    assert_eq!(answer.header("x-request-id").len(), 24);
}

#[tokio::test]
async fn requests_are_measured_by_template() {
    let router = built().router;
    for path in ["/api/things/1", "/api/things/77", "/api/secret-in-path", "/api/who?key=key"] {
        get_of(&router, path).await;
    }
    let text = get_of(&router, "/metrics").await;
    let text = text.text();
    for line in [
        "ostrakon_http_requests_total{route=\"/api/things/{id}\",method=\"GET\",status=\"2xx\"} 1",
        "ostrakon_http_requests_total{route=\"/api/things/{id}\",method=\"GET\",status=\"4xx\"} 1",
        "ostrakon_http_requests_total{route=\"unmatched\",method=\"GET\",status=\"4xx\"} 1",
        "ostrakon_http_requests_in_flight 1",
        "ostrakon_events_streams 0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
    }
    assert!(!text.contains("secret-in-path") && !text.contains("things/77"));
}

/// The log of all tests of this program goes to memory: a log of one thread can miss lines whose
/// place was first passed by another thread.
#[tokio::test]
async fn no_secret_and_no_query_is_logged() {
    let kept = Kept::default();
    let writer = kept.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::DEBUG)
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::set_global_default(subscriber).expect("the only one");
    let router = built().router;
    let headers = [("x-request-id", "seen-7"), ("authorization", "Bearer sesame-1")];
    ask(&router, request("GET /api/things?chain=sesame-2", &headers, "")).await;
    get_of(&router, "/api/things/1?key=sesame-3").await;
    ask(&router, request("GET /api/sesame-4", &[("cookie", "ostrakon=sesame-5")], "")).await;
    let bytes = kept.0.lock().expect("not poisoned").clone();
    let text = String::from_utf8(bytes).expect("text");
    assert!(text.contains("seen-7") && text.contains("/api/things/{id}"), "{text}");
    assert!(!text.contains("sesame"), "{text}");
}

/// A log that is kept in memory.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("not poisoned").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
