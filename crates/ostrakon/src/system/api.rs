//! Answers to HTTP: status, shard report, measurements, health.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use base64::Engine as _;
use maud::{Markup, html};
use sha2::{Digest as _, Sha256};
use tower_http::set_header::SetResponseHeaderLayer;
use web::{Frame, Language, assets};

use super::{ingest, query};
use crate::metrics::{self, Exposition};
use crate::pages::status;
use crate::server::App;

/// Starts that the status page lists.
const STARTS: usize = 5;
/// How long the status page waits for rows to be counted, and the shard page for its report.
const STATUS_PATIENCE: Duration = Duration::from_millis(700);
const SHARDS_PATIENCE: Duration = Duration::from_secs(10);
/// Only what this server serves: no inline script, no inline style, no framing, nothing from
/// elsewhere.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; \
                      img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; \
                      frame-ancestors 'none'";

type Shared = State<Arc<App>>;

/// All routes.
pub(crate) fn router(app: Arc<App>) -> Router {
    let header = |name: HeaderName, value: &'static str| {
        SetResponseHeaderLayer::if_not_present(name, HeaderValue::from_static(value))
    };
    let mut router = Router::new();
    for asset in assets::ALL {
        router = router.route(asset.path, get(move || async move { serve(asset) }));
    }
    router
        .route("/", get(status_page))
        .route("/shards", get(shards_page))
        .route("/metrics", get(metrics_text))
        .route("/health", get(health))
        .fallback(not_found)
        .with_state(app)
        .layer(axum::middleware::from_fn(keep_language))
        .layer(header(header::CONTENT_SECURITY_POLICY, POLICY))
        .layer(header(header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .layer(header(header::REFERRER_POLICY, "no-referrer"))
        .layer(header(header::CACHE_CONTROL, "no-store"))
}

/// The language a request asks for.
struct Asked(Language);

impl<S: Sync> axum::extract::FromRequestParts<S> for Asked {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(
        parts: &mut axum::http::request::Parts,
        _: &S,
    ) -> Result<Self, Self::Rejection> {
        let header = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let cookies = header(header::COOKIE).unwrap_or_default();
        let accepted = header(header::ACCEPT_LANGUAGE).unwrap_or_default();
        Ok(Self(Language::choose(parts.uri.query(), cookies, accepted)))
    }
}

/// Keeps a language that was chosen by its link, for a year.
async fn keep_language(request: axum::extract::Request, next: axum::middleware::Next) -> Response {
    let tag = request.uri().query().and_then(|query| {
        let value = query.split('&').find_map(|pair| pair.strip_prefix("lang="))?;
        Language::from_tag(value)
    });
    let mut response = next.run(request).await;
    if let Some(language) = tag {
        let cookie = format!(
            "{}={}; Path=/; Max-Age=31536000; SameSite=Lax",
            Language::COOKIE,
            language.tag()
        );
        if let Ok(value) = HeaderValue::from_str(&cookie) {
            response.headers_mut().append(header::SET_COOKIE, value);
        }
    }
    response
}

async fn status_page(State(app): Shared, Asked(language): Asked) -> Result<Response, Failed> {
    let words = language.words();
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
    let frame = Frame { language, title: words.status, here: "/" };
    Ok(page(StatusCode::OK, &frame.page(&status.content())))
}

/// The report as it is written to a file, with a way back. Its own style is allowed by its hash.
async fn shards_page(State(app): Shared, Asked(language): Asked) -> Response {
    let words = language.words();
    let Some(made) = app.reports.get(SHARDS_PATIENCE).await else {
        let advice = html! { p.lead { (words.report_advice) } };
        return message(language, "/shards", StatusCode::ACCEPTED, words.report_coming, &advice);
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
    let link = html! { p.note { a href="/" { "← " (words) } } }.into_string();
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

async fn metrics_text(State(app): Shared) -> Response {
    let start = &app.start.start;
    let text = Exposition::default()
        .label("ostrakon_build_info", "The running program.", "version", &start.version)
        .gauge("ostrakon_start_time_seconds", "Unix second of the start.", start.at as f64)
        .gauge("ostrakon_start_number", "Starts on this store so far.", app.start.number.0 as f64)
        .stats("ostrakon_store", &app.opened.engine.stats())
        .text();
    ([(header::CONTENT_TYPE, metrics::MEDIA_TYPE)], text).into_response()
}

/// Healthy is a store that answers a read.
async fn health(State(app): Shared) -> Response {
    match query::instance(&app.opened.store).await {
        Ok(_) => "ok\n".into_response(),
        Err(error) => {
            (StatusCode::SERVICE_UNAVAILABLE, format!("the store fails: {error}\n")).into_response()
        }
    }
}

/// Answers with a file of the pages.
fn serve(asset: &'static assets::Asset) -> Response {
    let keep = "public, max-age=31536000, immutable";
    ([(header::CONTENT_TYPE, asset.kind), (header::CACHE_CONTROL, keep)], asset.text)
        .into_response()
}

async fn not_found(Asked(language): Asked) -> Response {
    let words = language.words();
    let advice = html! { p.lead { (words.not_found_advice) } };
    message(language, "", StatusCode::NOT_FOUND, words.not_found, &advice)
}

/// A page that could not be made.
struct Failed(String);

impl<E: std::error::Error> From<E> for Failed {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        tracing::error!(error = self.0, "a page could not be made");
        // Whoever asked is not known here; most read this.
        let language = Language::default();
        let words = language.words();
        let more = html! { p.lead { (words.failed_advice) } p { code { (self.0) } } };
        message(language, "", StatusCode::INTERNAL_SERVER_ERROR, words.failed, &more)
    }
}

fn message(
    language: Language,
    here: &str,
    status: StatusCode,
    title: &str,
    more: &Markup,
) -> Response {
    let content = html! { h1 { (title) } (more) };
    page(status, &Frame { language, title, here }.page(&content))
}

fn page(status: StatusCode, markup: &Markup) -> Response {
    html_response(status, markup.0.clone())
}

fn html_response(status: StatusCode, text: String) -> Response {
    (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opening::OpenStore;
    use crate::server::reports::Reports;
    use axum::body::Body;
    use axum::http::Request;
    use tower::ServiceExt as _;

    async fn ask(path: &str) -> (StatusCode, axum::http::HeaderMap, String) {
        let opened = Arc::new(OpenStore::model().await);
        let start = ingest::register(&opened.store).await.expect("registered");
        let reports = Reports::new(opened.clone());
        let router = router(Arc::new(App { opened, start, reports }));
        let request = Request::get(path).body(Body::empty()).expect("a request");
        let response = router.oneshot(request).await.expect("answered");
        let (head, body) = response.into_parts();
        let body = axum::body::to_bytes(body, 1 << 22).await.expect("a body");
        (head.status, head.headers, String::from_utf8(body.to_vec()).expect("text"))
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn every_page_answers_with_a_strict_policy() {
        for (path, status, text) in [
            ("/", StatusCode::OK, "system.settings"),
            ("/shards", StatusCode::OK, "Shard report"),
            ("/metrics", StatusCode::OK, "ostrakon_start_number 1"),
            ("/health", StatusCode::OK, "ok"),
            (assets::STYLE_SHEET.path, StatusCode::OK, "color-scheme"),
            (assets::SCRIPT_FILE.path, StatusCode::OK, "datetime"),
            (assets::ICON_FILE.path, StatusCode::OK, "<svg"),
            ("/nothing", StatusCode::NOT_FOUND, web::ENGLISH.not_found),
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
        let (_, headers, body) = ask("/?lang=zh").await;
        assert!(body.contains("服务中"), "{body}");
        let cookie = headers[header::SET_COOKIE].to_str().expect("text");
        assert!(cookie.starts_with("lang=zh; Path=/"), "{cookie}");
        let (_, headers, body) = ask("/?lang=klingon").await;
        assert!(body.contains("Serving") && !headers.contains_key(header::SET_COOKIE));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_shard_page_leads_back_and_its_style_is_allowed() {
        let (_, headers, body) = ask("/shards").await;
        assert!(body.contains("<a href=\"/\">← Ostrakon status</a>"), "{body}");
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
