//! What surrounds every request: its id, its log line, its measurements, and the form of problems.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use axum::body::{Body, HttpBody as _};
use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use maud::{Markup, html};
use tracing::Instrument as _;

use super::guard::short_text;
use super::measure::{Measured, UNMATCHED, method_label};
use super::problem::{MEDIA_TYPE, Problem};
use super::{etag, headers, kinds};

/// The header of the request id.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Characters of a request id that is taken from a client.
const LONGEST: usize = 64;

/// The product's page around a title and a content.
pub type Frame = Arc<dyn Fn(&str, &Markup) -> Markup + Send + Sync>;

/// The id of a request. It stands in the log, in the answer and in every problem.
#[derive(Clone, Debug)]
pub struct RequestId(Arc<str>);

impl RequestId {
    /// As text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The client's id when it is one short safe word, else a new one: what a client sends ends up
    /// in logs and answers.
    fn of(headers: &HeaderMap) -> Self {
        let mut sent = headers.get_all(&REQUEST_ID).iter();
        let only = match (sent.next(), sent.next()) {
            (Some(value), None) => value.to_str().ok(),
            _ => None,
        };
        let safe = |text: &&str| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            (1..=LONGEST).contains(&text.len()) && text.bytes().all(plain)
        };
        only.filter(safe).map_or_else(Self::fresh, |text| Self(Arc::from(text)))
    }

    fn fresh() -> Self {
        let mut bytes = [0; 12];
        // An id that is not unique misleads a reader of logs; it is no reason to refuse a request.
        let _ = getrandom::fill(&mut bytes);
        let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Self(Arc::from(text))
    }
}

impl<S: Sync> FromRequestParts<S> for RequestId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Ok(parts.extensions.get().cloned().unwrap_or_else(Self::fresh))
    }
}

/// Marks an error answer that speaks another protocol: the shell leaves its body as it is.
/// Compatible APIs insert it into the extensions of their answers.
#[derive(Clone, Copy, Debug)]
pub struct AsIs;

/// What the observer knows.
pub(crate) struct Observer {
    pub(crate) measured: Arc<Measured>,
    pub(crate) frame: Option<Frame>,
    pub(crate) encrypted: bool,
}

/// The middleware.
pub(crate) async fn observe(
    State(observer): State<Arc<Observer>>,
    mut request: Request,
    next: Next,
) -> Response {
    let begun = Instant::now();
    let in_flight = observer.measured.begin();
    let id = RequestId::of(request.headers());
    let method = method_label(request.method());
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map_or(UNMATCHED, MatchedPath::as_str);
    let path = request.uri().path().to_owned();
    let as_page = observer.frame.is_some()
        && !headers::is_for_programs(&path)
        && accepts_pages(request.headers());
    request.extensions_mut().insert(id.clone());

    let span = tracing::info_span!("request", id = id.as_str());
    let answered = AssertUnwindSafe(next.run(request)).catch_unwind().instrument(span).await;
    let response = answered.unwrap_or_else(|_| {
        observer.measured.panicked();
        tracing::error!(id = id.as_str(), route, "a handler panicked");
        Problem::of(&kinds::INTERNAL).into_response()
    });
    let response = as_problem(response).await;
    let frame = observer.frame.as_ref().filter(|_| as_page);
    let mut response = spoken(response, &id, frame);
    headers::protect(&path, observer.encrypted, response.headers_mut());
    etag::weaken(response.headers_mut());
    if let Ok(value) = HeaderValue::from_str(id.as_str()) {
        response.headers_mut().insert(REQUEST_ID, value);
    }

    let took = begun.elapsed();
    let bytes = response.body().size_hint().exact().unwrap_or(0);
    observer.measured.answered(route, method, response.status(), took, bytes);
    // The template and never the path: paths and queries may hold keys.
    tracing::info!(
        target: "access",
        id = id.as_str(),
        method,
        route,
        status = response.status().as_u16(),
        micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        bytes,
    );
    drop(in_flight);
    response
}

/// Whether the client is a browser that wants to show something.
fn accepts_pages(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accepted.is_some_and(|accepted| accepted.contains("text/html"))
}

/// Turns an error that is no problem yet into one: an empty or plain text answer of a part that
/// knows nothing of problems.
async fn as_problem(response: Response) -> Response {
    let status = response.status();
    let failed = status.is_client_error() || status.is_server_error();
    let ours = response.extensions().get::<Problem>().is_some();
    if !failed || ours || response.extensions().get::<AsIs>().is_some() {
        return response;
    }
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    if kind.is_some_and(|kind| !kind.starts_with("text/plain")) {
        return response;
    }
    let (head, body) = response.into_parts();
    let text = if status.is_client_error() { short_text(body).await } else { None };
    let kind = kinds::by_status(status.as_u16());
    let problem = match text {
        Some(text) => Problem::new(kind, text),
        None => Problem::of(kind),
    };
    let mut response = problem.into_response();
    for (name, value) in &head.headers {
        if ![header::CONTENT_TYPE, header::CONTENT_LENGTH].contains(name) {
            response.headers_mut().append(name.clone(), value.clone());
        }
    }
    response
}

/// Writes a problem with its request id, as JSON or as a page. Its headers stay.
fn spoken(mut response: Response, id: &RequestId, frame: Option<&Frame>) -> Response {
    let Some(problem) = response.extensions_mut().remove::<Problem>() else { return response };
    let problem = problem.instance(id.as_str());
    let (kind, body) = match frame {
        Some(frame) => ("text/html; charset=utf-8", page(&problem, id, frame).into_bytes()),
        None => (MEDIA_TYPE, serde_json::to_vec(&problem).unwrap_or_default()),
    };
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().remove(header::CONTENT_LENGTH);
    *response.body_mut() = Body::from(body);
    response
}

fn page(problem: &Problem, id: &RequestId, frame: &Frame) -> String {
    let kind = problem.kind();
    let content = html! {
        h1 { (kind.title) }
        p.lead { (problem.detail()) }
        p.note { code { (kind.code) } " · " code { (id.as_str()) } }
    };
    frame(kind.title, &content).into_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::StatusCode;

    #[test]
    fn an_id_is_taken_only_when_it_is_a_short_safe_word() {
        let id = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(REQUEST_ID, HeaderValue::from_str(value).expect("a value"));
            }
            RequestId::of(&headers).as_str().to_owned()
        };
        assert_eq!(id(&["job-7_a.b"]), "job-7_a.b");
        let long = "a".repeat(LONGEST + 1);
        for odd in [&["a b"][..], &["<script>"], &[""], &[&long], &["a", "b"], &[]] {
            let fresh = id(odd);
            assert_eq!(fresh.len(), 24, "{odd:?} gives {fresh}");
            assert_ne!(fresh, id(odd), "each one is new");
        }
    }

    #[tokio::test]
    async fn plain_errors_become_problems_and_marked_ones_stay() {
        let plain = (StatusCode::UNPROCESSABLE_ENTITY, "expected a number").into_response();
        let found = as_problem(plain).await;
        let problem = found.extensions().get::<Problem>().expect("a problem");
        assert_eq!((problem.code(), problem.detail()), ("bad-body", "expected a number"));
        let failed = (StatusCode::BAD_GATEWAY, "10.0.0.7 refused").into_response();
        let found = as_problem(failed).await;
        let problem = found.extensions().get::<Problem>().expect("a problem");
        assert!(!problem.detail().contains("10.0.0.7"), "the inside is told");
        let mut marked = (StatusCode::NOT_FOUND, "Block not found").into_response();
        marked.extensions_mut().insert(AsIs);
        assert!(as_problem(marked).await.extensions().get::<Problem>().is_none());
    }
}
