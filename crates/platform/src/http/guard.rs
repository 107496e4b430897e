//! What every request passes before its handler: target, capacity, body, credential, time.
//!
//! The order is by cost. What can be refused by looking at the head is refused before anything is
//! read or looked up, and a place is taken before the store is asked.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::{Body, HttpBody as _};
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http_body_util::BodyExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::auth::{Authority, Resolved};
use super::body::{self, Fate};
use super::credentials::{self, CookieJar};
use super::csrf::{self, From, Home};
use super::extract::{read_body, too_large};
use super::problem::Problem;
use super::settings::{RouteLimits, Settings};
use super::target::{self, Asked, Peer};
use super::{etag, headers, kinds};

/// Paths that must answer under load: without them an overload looks like a crash.
const ALWAYS: [&str; 3] = ["/health", "/ready", "/metrics"];
/// Seconds after which to try again.
const RETRY: u32 = 1;

/// What the guard knows.
pub(crate) struct Guard {
    settings: Settings,
    jar: CookieJar,
    home: Home,
    authority: Arc<dyn Authority>,
    permits: Arc<Semaphore>,
    routes: HashMap<String, RouteLimits>,
}

impl Guard {
    /// A guard of an installation.
    pub(crate) fn new(
        settings: Settings,
        authority: Arc<dyn Authority>,
        routes: HashMap<String, RouteLimits>,
    ) -> Self {
        Self {
            jar: CookieJar::new(settings.encrypted),
            home: Home { origin: settings.origin.clone(), encrypted: settings.encrypted },
            permits: Arc::new(Semaphore::new(settings.concurrency)),
            settings,
            authority,
            routes,
        }
    }

    fn limits(&self, request: &Request) -> RouteLimits {
        let route = request.extensions().get::<MatchedPath>();
        route.and_then(|route| self.routes.get(route.as_str())).copied().unwrap_or_default()
    }

    fn place(&self, path: &str) -> Result<Option<OwnedSemaphorePermit>, Problem> {
        if ALWAYS.contains(&path) {
            return Ok(None);
        }
        match self.permits.clone().try_acquire_owned() {
            Ok(permit) => Ok(Some(permit)),
            Err(_) => {
                let limit = self.settings.concurrency as u64;
                Err(Problem::of(&kinds::OVERLOADED).limit(limit).retry_after(RETRY))
            }
        }
    }
}

/// The middleware.
pub(crate) async fn guard(
    State(guard): State<Arc<Guard>>,
    request: Request,
    next: Next,
) -> Response {
    match pass(&guard, request, next).await {
        Ok(response) => response,
        Err(problem) => problem.into_response(),
    }
}

async fn pass(guard: &Guard, mut request: Request, next: Next) -> Result<Response, Problem> {
    target::plain(request.uri(), request.headers())?;
    let path = request.uri().path();
    if let Some(answer) = headers::preflight(request.method(), path, request.headers()) {
        return Ok(answer);
    }
    let _place = guard.place(path)?;
    let peer = request.extensions().get::<Peer>().copied();
    let client = target::client(peer, request.headers(), &guard.settings.trusted_proxies);
    let asked = Asked(request.uri().clone());
    request.extensions_mut().insert(client);
    request.extensions_mut().insert(asked);
    let limits = guard.limits(&request);
    let (request, fate) = bounded(guard, limits, request)?;
    let time = limits.answer_time.unwrap_or(guard.settings.answer_time);
    let answer = Box::pin(answer(guard, limits, request, next));
    let response = match tokio::time::timeout(time, answer).await {
        Ok(answered) => answered?,
        Err(_) => return Err(Problem::of(&kinds::TOO_SLOW).retry_after(RETRY)),
    };
    Ok(corrected(response, &fate, guard, limits))
}

/// Puts the body within its limits; refuses at once what says that it is larger.
fn bounded(
    guard: &Guard,
    limits: RouteLimits,
    request: Request,
) -> Result<(Request, Fate), Problem> {
    let bytes = limits.body_bytes.unwrap_or(guard.settings.body_bytes);
    if request.body().size_hint().lower() > bytes as u64 {
        return Err(too_large(bytes));
    }
    let time = limits.body_time.unwrap_or(guard.settings.body_time);
    let (head, body) = request.into_parts();
    let (body, fate) = body::limited(body, bytes, time);
    Ok((Request::from_parts(head, body), fate))
}

/// An extractor that does not know our limits calls every broken body a bad request.
fn corrected(response: Response, fate: &Fate, guard: &Guard, limits: RouteLimits) -> Response {
    let failed = response.status().is_client_error() || response.status().is_server_error();
    if failed && fate.too_large() {
        return too_large(limits.body_bytes.unwrap_or(guard.settings.body_bytes)).into_response();
    }
    if failed && fate.too_slow() {
        return Problem::of(&kinds::SLOW_BODY).into_response();
    }
    response
}

/// Finds out who asks, lets the handler answer, and tags the answer.
async fn answer(
    guard: &Guard,
    limits: RouteLimits,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let method = request.method().clone();
    let known = request.headers().clone();
    let (request, resolved) = identified(guard, limits, request).await?;
    let response = next.run(request).await;
    let mut response = etag::tagged(&method, &known, response).await;
    if resolved.who.is_some() {
        // Nothing that depends on who asks may lie in a cache.
        let keep = HeaderValue::from_static("no-store");
        response.headers_mut().insert(header::CACHE_CONTROL, keep);
    }
    let forget = resolved.ended.then(|| guard.jar.forget());
    // A handler that logs in or out has the last word.
    if let Some(cookie) = resolved.cookie.or(forget)
        && !sets_session(guard.jar, &response)
    {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

fn sets_session(jar: CookieJar, response: &Response) -> bool {
    let name = jar.name().as_bytes();
    let mut cookies = response.headers().get_all(header::SET_COOKIE).iter();
    cookies.any(|cookie| cookie.as_bytes().starts_with(name))
}

async fn identified(
    guard: &Guard,
    limits: RouteLimits,
    request: Request,
) -> Result<(Request, Resolved), Problem> {
    let (mut head, body) = request.into_parts();
    let reads = [Method::GET, Method::HEAD, Method::OPTIONS, Method::TRACE].contains(&head.method);
    let credential = credentials::find(guard.jar, &head)?;
    let resolved = match credential {
        Some(credential) => {
            credentials::resolve(guard.authority.as_ref(), guard.jar, credential, reads).await?
        }
        None => Resolved::default(),
    };
    let for_programs = limits.for_programs || headers::is_for_programs(head.uri.path());
    if resolved.ended && for_programs {
        return Err(Problem::of(&kinds::BAD_CREDENTIAL));
    }
    let mut request = if reads {
        head.extensions.insert(resolved.clone());
        return Ok((Request::from_parts(head, body), resolved));
    } else {
        Request::from_parts(head, body)
    };
    let from = guard.home.comes_from(request.headers(), request.uri());
    match &resolved.csrf {
        Some(_) if from != From::Here => return Err(csrf::refused()),
        Some(token) => request = with_token(request, token).await?,
        None if resolved.who.is_none() && !for_programs && from == From::Elsewhere => {
            return Err(csrf::refused());
        }
        None => {}
    }
    request.extensions_mut().insert(resolved.clone());
    Ok((request, resolved))
}

/// Refuses a write without the token of its session. A form carries it in its body, which is read
/// here and given on.
async fn with_token(request: Request, token: &str) -> Result<Request, Problem> {
    let mut sent = request.headers().get_all(csrf::HEADER).iter();
    if let Some(value) = sent.next() {
        let right = value.to_str().is_ok_and(|value| csrf::matches(token, value));
        return if right && sent.next().is_none() { Ok(request) } else { Err(csrf::refused()) };
    }
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    if !kind.is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded")) {
        return Err(csrf::refused());
    }
    let (head, body) = request.into_parts();
    let bytes = read_body(Request::new(body)).await?;
    let right = csrf::in_form(&bytes).is_some_and(|sent| csrf::matches(token, &sent));
    if !right {
        return Err(csrf::refused());
    }
    Ok(Request::from_parts(head, Body::from(bytes)))
}

/// The text of a plain refusal that is not ours, if it is short.
pub(crate) async fn short_text(body: Body) -> Option<String> {
    if body.size_hint().exact().is_none_or(|size| size == 0 || size > 512) {
        return None;
    }
    let bytes = body.collect().await.ok()?.to_bytes();
    String::from_utf8(bytes.to_vec()).ok()
}
