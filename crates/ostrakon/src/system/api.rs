//! Answers to HTTP: status and shard report.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::get;
use base64::Engine as _;
use maud::html;
use platform::http::{POLICY, Problem};
use sha2::{Digest as _, Sha256};

use super::{ingest, query};
use crate::pages::{Visitor, answer, html_response, message, status};
use crate::server::App;

/// Starts that the status page lists.
const STARTS: usize = 5;
/// How long the status page waits for rows to be counted, and the shard page for its report.
const STATUS_PATIENCE: Duration = Duration::from_millis(700);
const SHARDS_PATIENCE: Duration = Duration::from_secs(10);

type Shared = State<Arc<App>>;

/// The routes.
pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new().route("/status", get(status_page)).route("/shards", get(shards_page))
}

async fn status_page(State(app): Shared, visitor: Visitor) -> Result<Response, Problem> {
    let words = visitor.words();
    let now = ingest::now();
    let store = &app.opened.store;
    let number = app.start.number;
    let counted = app.reports.get(STATUS_PATIENCE).await;
    let status = status::Status {
        words,
        now,
        instance: query::instance(store).await?,
        info: app.opened.engine.info().await?,
        stats: app.opened.engine.stats(),
        start: (number, &app.start.start),
        starts: query::latest_starts(store, number, STARTS).await?,
        samples: query::recent_samples(store, now).await?,
        counted: counted.as_deref(),
    };
    Ok(answer(&visitor, StatusCode::OK, (words.status, "/status"), &status.content()))
}

/// The report as it is written to a file, with a way back. Its own style is allowed by its hash.
async fn shards_page(State(app): Shared, visitor: Visitor) -> Response {
    let words = visitor.words();
    let Some(made) = app.reports.get(SHARDS_PATIENCE).await else {
        let title = (words.report_coming, "/shards");
        return message(&visitor, StatusCode::ACCEPTED, title, words.report_advice);
    };
    let text = with_way_back(&placement::render::html(&made.report), words.back);
    let policy = policy_for(&text);
    let mut response = html_response(StatusCode::OK, text);
    if let Ok(value) = HeaderValue::from_str(&policy) {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, value);
    }
    response
}

/// The report is a page of its own, made to be mailed and archived; here it is one of several.
fn with_way_back(text: &str, words: &str) -> String {
    let link = html! { p.note { a href="/status" { "← " (words) } } }.into_string();
    text.replacen("<header>", &format!("<header>{link}"), 1)
}

/// The policy of a page that carries one style sheet inside.
fn policy_for(page: &str) -> String {
    let inside = page.split_once("<style>").and_then(|(_, rest)| rest.split_once("</style>"));
    let Some((style, _)) = inside else { return POLICY.to_owned() };
    let digest = Sha256::digest(style.as_bytes());
    let digest = base64::engine::general_purpose::STANDARD.encode(digest);
    POLICY.replace("style-src 'self'", &format!("style-src 'self' 'sha256-{digest}'"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;
    use crate::opening::OpenStore;
    use crate::server::served;
    use axum::body::Body;
    use axum::http::Request;
    use tower::ServiceExt as _;
    use web::assets;

    async fn ask(path: &str) -> (StatusCode, axum::http::HeaderMap, String) {
        let opened = Arc::new(OpenStore::model().await);
        let settings = Settings::defaults("data".into());
        let (_, built) = served(opened, &settings).await.expect("opens");
        let request = Request::get(path).header("accept", "text/html").body(Body::empty());
        let response = built.router.oneshot(request.expect("a request")).await.expect("answered");
        let (head, body) = response.into_parts();
        let body = axum::body::to_bytes(body, 1 << 22).await.expect("a body");
        (head.status, head.headers, String::from_utf8(body.to_vec()).expect("text"))
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn every_page_answers_with_a_strict_policy() {
        for (path, status, text) in [
            ("/", StatusCode::OK, web::ENGLISH.hero),
            ("/status", StatusCode::OK, "system.settings"),
            ("/chains", StatusCode::OK, web::ENGLISH.no_chains),
            ("/login", StatusCode::OK, "current-password"),
            ("/register", StatusCode::OK, "new-password"),
            ("/search?q=zzz", StatusCode::OK, web::ENGLISH.search_none),
            ("/account", StatusCode::SEE_OTHER, ""),
            ("/api/docs", StatusCode::OK, "/api/openapi.json"),
            ("/shards", StatusCode::OK, "Shard report"),
            ("/metrics", StatusCode::OK, "ostrakon_start_number 1"),
            ("/health", StatusCode::OK, "\"alive\":true"),
            ("/ready", StatusCode::OK, "\"ready\":true"),
            (assets::STYLE_SHEET.path, StatusCode::OK, "color-scheme"),
            (assets::SCRIPT_FILE.path, StatusCode::OK, "datetime"),
            (assets::ICON_FILE.path, StatusCode::OK, "<svg"),
            ("/nothing", StatusCode::NOT_FOUND, "Nothing is served under this path"),
        ] {
            let (found, headers, body) = ask(path).await;
            assert_eq!(found, status, "{path}");
            assert!(body.contains(text), "{path}: {body}");
            let policy = headers[header::CONTENT_SECURITY_POLICY].to_str().expect("text");
            assert!(policy.starts_with("default-src 'none'"), "{path}: {policy}");
            assert!(!policy.contains("unsafe"), "{path}: {policy}");
            assert_eq!(headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_chosen_language_is_kept() {
        let (_, headers, body) = ask("/status?lang=zh").await;
        assert!(body.contains("服务中"), "{body}");
        let cookie = headers[header::SET_COOKIE].to_str().expect("text");
        assert!(cookie.starts_with("lang=zh; Path=/"), "{cookie}");
        let (_, headers, body) = ask("/status?lang=klingon").await;
        assert!(body.contains("Serving") && !headers.contains_key(header::SET_COOKIE));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_shard_page_leads_back_and_its_style_is_allowed() {
        let (_, headers, body) = ask("/shards").await;
        assert!(body.contains("<a href=\"/status\">← Ostrakon status</a>"), "{body}");
        let policy = headers[header::CONTENT_SECURITY_POLICY].to_str().expect("text");
        assert!(policy.contains("style-src 'self' 'sha256-"), "{policy}");
        assert!(!body.contains("style=\""), "attributes are not covered by the hash");
    }

    #[test]
    fn the_hash_is_the_one_browsers_compute() {
        let policy = policy_for("<style>\na\n</style>");
        // printf '\na\n' | openssl dgst -sha256 -binary | base64
        let expected = "sha256-bbqdgNXDrCk/GUfBRX6ol4aeu1VgRQlf+z8GsU2i9/A=";
        assert!(policy.contains(expected), "{policy}");
        assert_eq!(policy_for("no style"), POLICY);
    }
}
